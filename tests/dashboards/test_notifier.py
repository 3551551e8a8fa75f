"""One setting says whether Grafana or headcount tells people: whatever it says, exactly one of them does."""

from __future__ import annotations

import pytest

from headcount_alerts.errors import AlertsConfigError
from headcount_alerts.routing import Routing
from headcount_alerts.settings import NOTIFIER, load_alerts
from headcount_dashboards.rules import rule_groups
from headcount_dashboards.settings import NOTIFIER as OURS
from headcount_dashboards.settings import load_settings

ALERTS = {
    "receivers": {"team": {"channels": [{"type": "webhook", "url": "http://127.0.0.1:9/"}]}},
    "route": {"receiver": "team"},
}


@pytest.mark.parametrize("said", [None, "headcount", "grafana"])
def test_exactly_one_tells_of_runs(said: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert NOTIFIER == OURS
    monkeypatch.delenv(NOTIFIER, raising=False)
    if said is not None:
        monkeypatch.setenv(NOTIFIER, said)
    headcount = Routing(load_alerts(ALERTS)).configured
    rules = [
        rule for group in rule_groups(load_settings(email="a@example.org"), "f") for rule in group["rules"]
    ]
    awake = {not rule["isPaused"] for rule in rules if not rule["uid"].startswith("hc-observer")}
    assert awake == {said == "grafana"}
    assert headcount is (said != "grafana")


def test_another_word_is_refused_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NOTIFIER, "both")
    with pytest.raises(AlertsConfigError, match="HEADCOUNT_NOTIFIER=both"):
        load_alerts(ALERTS)
