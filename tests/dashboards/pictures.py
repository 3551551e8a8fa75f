"""Draws every dashboard over a played world into docs/pictures: `python -m tests.dashboards.pictures [FOLDER]`."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

from headcount_collector.judge.policy import SECOND
from headcount_collector.store.client import Store
from headcount_collector.store.migrate import migrate
from headcount_dashboards.links import RUN
from headcount_dashboards.panels import Json
from tests.dashboards import world
from tests.dashboards.asked import DASHBOARDS, ask_panel, panels
from tests.dashboards.macros import ALL, Scene
from tests.dashboards.picture import draw

_SHOWN = {RUN: ("70-waiting-for-approval/s1", "r1")}
"""Session and run to show where another than the world's own shows more."""
_PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def picture(dashboard: Json, store: Store, scene: Scene) -> str:
    """Return a dashboard as SVG, from what its own queries answer."""
    frames = {
        panel["id"]: [ask_panel(store, target, scene) for target in panel["targets"]]
        for panel in panels(dashboard)
    }
    return draw(dashboard, frames, scene.start_s, scene.end_s)


def main(folder: Path) -> None:
    """Play a world and draw it."""
    end_s = int(time.time())
    with contextlib.closing(Store.open(":memory:")) as store, tempfile.TemporaryDirectory() as cases:
        migrate(store, retention_days=3650)
        world.play(store, end_s * SECOND, Path(cases), tick_ns=20 * SECOND)
        world.write_messages(store, end_s * SECOND)
        for dashboard in DASHBOARDS:
            session, run = _SHOWN.get(dashboard["uid"], (world.SESSION, world.RUN))
            variables = {
                "environment": [ALL],
                "service": [ALL],
                "agent": [ALL],
                "owner": [ALL],
                "session": session,
                "run": run,
            }
            scene = Scene(end_s - 1800, end_s, 30, variables)
            path = folder / f"grafana-{dashboard['uid'].removeprefix('headcount-')}.svg"
            path.write_text(picture(dashboard, store, scene), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _PICTURES)
