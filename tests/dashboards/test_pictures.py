"""Each dashboard becomes a picture from its own definition and what its own queries answer."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from headcount_dashboards.panels import Json
from tests.dashboards.asked import DASHBOARDS, panels
from tests.dashboards.conftest import Database
from tests.dashboards.pictures import picture

SVG = "{http://www.w3.org/2000/svg}"
by_uid = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=[d["uid"] for d in DASHBOARDS])


def words(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@by_uid
def test_a_dashboard_is_drawn_with_every_panel_and_its_data(dashboard: Json, played: Database) -> None:
    shown = words(picture(dashboard, played.store, played.scene))
    for panel in dashboard["panels"]:
        assert panel["title"] in shown
    assert len(shown) > 3 * len(dashboard["panels"])


@by_uid
def test_a_dashboard_over_nothing_says_so_in_words(dashboard: Json, empty: Database) -> None:
    shown = words(picture(dashboard, empty.store, empty.scene))
    silent = [panel for panel in panels(dashboard) if panel["type"] != "stat"]
    said = [panel["fieldConfig"]["defaults"]["noValue"] for panel in silent]
    assert sum(text in shown for text in said) >= len(said) - 2
    assert "No data" not in shown


def test_the_fleet_shows_how_many_results_lie_undelivered(played: Database) -> None:
    fleet = DASHBOARDS[0]
    shown = words(picture(fleet, played.store, played.scene))
    ((lying,),) = played.store.query(
        "SELECT count() FROM verdict FINAL WHERE status = 'done_but_not_forwarded'"
    )
    assert str(lying) in shown
    assert "done, not delivered" in shown
