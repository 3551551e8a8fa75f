"""The page as an HTTP client sees it: what it shows, what it refuses, and that hostile text stays text."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from headcount_collector.dashboard_urls import run_dashboard
from headcount_collector.watch.observer import ASLEEP
from tests.collector.page_evidence import HOSTILE, commit, hostile, record, story
from tests.collector.running import Answer, Running, eventually, running_collector

HTML = {"Accept": "text/html"}
HOOKS = Path(__file__).parents[1] / "captures/claude-code/teammate-mute/hooks.jsonl"
TEAMMATE = "toolu_9106fea11ef1427aa9b2"
HOSTILE_RUN = "/runs/" + quote(HOSTILE + "#run", safe="")
GRAFANA = "http://grafana.example/g"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(
        tmp_path_factory.mktemp("data"),
        tick_s=0.2,
        capture_content=True,
        log_level="error",
        grafana_url=GRAFANA + "/",
    ) as found:
        commit(found.collector, [*story(), *hostile(HOSTILE)])
        eventually(lambda: found.get("/api/v1/runs?session=s1").json["total"] == 6)
        eventually(lambda: found.get(f"/api/v1/runs?{urlencode({'session': HOSTILE})}").json["total"] == 1)
        yield found


class Outline(HTMLParser):
    """Elements and attributes of a page: what a browser would act on."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page(running: Running, path: str, status: int = 200) -> str:
    answer = running.request("GET", path, None, HTML)
    assert answer.status == status, answer.body[:500]
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return answer.body.decode()


def token_of(text: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', text)
    assert found is not None
    return found[1]


def posted(running: Running, path: str, **fields: str) -> Answer:
    return running.post(path, urlencode(fields).encode(), FORM, **HTML)


def test_what_is_wrong_comes_first_and_says_why(running: Running) -> None:
    text = page(running, "/")
    wrong, _, rest = text.partition("Open and as it should be")
    for run in ("reviewer-7", "migrator-2", "asker-1"):
        assert run in wrong
    assert "done, not delivered" in wrong or "blocked" in wrong
    assert "file:///srv/out/review.md" in wrong
    assert "lead-1" in rest
    assert rest.index("lead-1") < rest.index("done-1")


def test_filters_are_in_the_address(running: Running) -> None:
    text = page(running, "/?agent=reviewer")
    assert "reviewer-7" in text
    assert "migrator-2" not in text
    assert "No run matches" in page(running, "/?agent=nobody")
    assert "status" in page(running, "/?status=unwell", 422)


def test_a_field_left_empty_is_no_filter(running: Running) -> None:
    assert "reviewer-7" in page(running, "/?status=&agent=reviewer&owner=")


def test_a_run_shows_verdict_course_and_evidence(running: Running) -> None:
    text = page(running, "/runs/reviewer-7")
    for said in (
        "Do not dispatch again",
        "ended, and its owner not told",
        "rule 3",
        "What would change it",
        "<svg",
    ):
        assert said in text
    assert "subagent.result.location=file:///srv/out/review.md" in page(
        running, "/runs/reviewer-7?evidence=true"
    )


def test_a_run_is_found_by_any_id_and_word(running: Running) -> None:
    for question in ("migrator-2", "toolu_0042", "c-migrator-2", "m2900", "MIGRAT"):
        assert "migrator-2" in page(running, f"/search?q={question}"), question
    assert "reviewer-7" in page(running, "/search?q=review+the+intake")
    trace = running.collector.store.query(
        "SELECT TraceId FROM otel_traces WHERE SpanAttributes['subagent.run.id'] = 'reviewer-7' LIMIT 1"
    )[0][0]
    assert "reviewer-7" in page(running, f"/search?q={trace}")
    assert "Nothing goes by that" in page(running, "/search?q=no-such-thing")


def test_a_session_shows_its_runs_below_their_owner(running: Running) -> None:
    text = page(running, "/sessions/s1")
    assert text.index("lead-1") < text.index("below-1")
    assert 'class="depth-1"' in text
    assert "ended and not delivered" in text


def test_policy_and_health_are_told(running: Running) -> None:
    assert "blocked, a page" in page(running, "/policy?agent=reviewer")
    assert "spans stored" in page(running, "/health")
    assert running.get("/api/v1/policy?agent=reviewer").json["agent"] == "reviewer"
    assert running.get("/api/v1/observer").json["unready"] == []


def test_what_is_not_there_is_a_page_for_people_and_a_problem_for_programs(running: Running) -> None:
    assert "no run goes by" in page(running, "/runs/nobody", 404)
    assert running.get("/runs/nobody").json["status"] == 404


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?" + urlencode({"session": HOSTILE}),
        HOSTILE_RUN,
        HOSTILE_RUN + "?evidence=true",
        "/sessions/" + quote(HOSTILE, safe=""),
        "/search?" + urlencode({"q": HOSTILE[:20]}),
        "/policy?" + urlencode({"agent": HOSTILE, "session": HOSTILE, "service": HOSTILE}),
        "/incidents",
    ],
)
def test_hostile_text_stays_text(path: str, running: Running) -> None:
    outline = Outline(page(running, path))
    assert outline.tags.count("img") == 0
    assert outline.tags.count("title") >= 1
    assert all(
        name == "src"
        for name, value in outline.attributes
        if value and "/static/" in value and ".js" in value
    )
    assert not [name for name, _ in outline.attributes if name.startswith("on") or name == "style"]
    assert not [
        value
        for name, value in outline.attributes
        if name == "href" and value and ":" in value.split("/")[0] and not value.startswith(GRAFANA + "/d/")
    ]
    assert "49" not in "".join(outline.text).split("alert(2)")[0][-6:]


def test_hostile_text_is_shown_as_it_is(running: Running) -> None:
    outline = Outline(page(running, HOSTILE_RUN))
    assert "<script>alert(1)</script>" in "".join(outline.text)


def test_no_name_turns_the_words_around_it(running: Running) -> None:
    shown = "".join(Outline(page(running, HOSTILE_RUN)).text)
    assert "\u202e" in HOSTILE
    assert "\\u202e" in shown
    assert shown.count("\u202e") == 1, "only the command that is copied has to be exact"


def test_an_incident_says_what_to_do_and_how_to_fetch_the_result(running: Running) -> None:
    found = eventually(lambda: running.get("/api/v1/incidents?run=reviewer-7").json["incidents"])
    shown = page(running, f"/incidents/{found[0]['id']}")
    assert "Fetch the result and give it to the owner" in shown
    assert shown.count("headcount recover reviewer-7") == 1
    assert "Nobody was told" in shown


def test_pages_lead_to_the_dashboards_of_grafana(running: Running) -> None:
    run = page(running, HOSTILE_RUN)
    began = datetime.fromisoformat(
        running.get("/api/v1" + HOSTILE_RUN).json["receipts"]["dispatchAt"]
    ).timestamp()
    address = html.escape(run_dashboard(GRAFANA, HOSTILE, HOSTILE + "#run", round(began * 1000) * 1_000_000))
    assert f'href="{address}"' in run
    assert "var-session=%3Cscript%3E" in address
    assert "/g/d/headcount-session?var-session=s1&amp;var-owner=$__all" in page(running, "/sessions/s1")


def test_a_form_without_its_token_changes_nothing(running: Running) -> None:
    answer = posted(running, "/runs/lead-1/dismiss", reason="no", by="mallory")
    assert answer.status == 403
    assert running.get("/api/v1/runs/lead-1").json["status"] == "active"
    foreign = running.request(
        "POST",
        "/api/v1/runs/lead-1/dismiss",
        b"{}",
        {"Content-Type": "text/plain", "Origin": "https://evil.example"},
    )
    assert foreign.status == 403


def test_a_dismissal_goes_the_way_of_all_evidence(running: Running) -> None:
    commit(running.collector, [record("dispatch", "void-1", 5000, "s2", agent="worker", mode="background")])
    eventually(lambda: running.get("/api/v1/runs/void-1").status == 200)
    csrf = token_of(page(running, "/runs/void-1"))
    answer = posted(running, "/runs/void-1/dismiss?session=s2", csrf=csrf, reason="asked twice", by="anna")
    assert answer.status == 200
    assert b"Dismissed" in answer.body
    run = running.get("/api/v1/runs/void-1").json
    assert (run["status"], run["outcome"]) == ("completed", "dismissed")
    assert "asked twice (by anna)" in [entry["text"] for entry in run["timeline"]][-1]


def test_silences_and_maintenance_windows_are_added_and_ended_on_the_page(running: Running) -> None:
    csrf = token_of(page(running, "/incidents"))
    said = {"csrf": csrf, "duration": "2h", "reason": "the move", "by": "anna"}
    assert posted(running, "/silences", matchers='service="none"\nagent=~"x.*"\n', **said).status == 200
    later = posted(running, "/silences", matchers="service=later", since="2099-01-01T00:00", **said)
    assert b"from " in later.body
    assert b"pending" in later.body
    assert posted(running, "/silences", matchers="colour=red", **said).status == 422
    assert posted(running, "/silences", **said).status == 422
    silences = running.get("/api/v1/silences").json["silences"]
    assert [s["matchers"] for s in silences] == [['service="none"', 'agent=~"x.*"'], ['service="later"']]
    for silence in silences:
        assert posted(running, f"/silences/{silence['id']}/end", csrf="forged").status == 403
        assert posted(running, f"/silences/{silence['id']}/end", csrf=csrf).status == 200
    assert running.get("/api/v1/silences").json["silences"] == []


def test_the_api_dismisses_too(running: Running) -> None:
    commit(running.collector, [record("dispatch", "void-2", 5000, "s2", agent="worker", mode="background")])
    eventually(lambda: running.get("/api/v1/runs/void-2").status == 200)
    answer = running.post("/api/v1/runs/void-2/dismiss?session=s2", b'{"reason": "no longer needed"}')
    assert answer.json["judged"] is True
    assert answer.json["run"]["outcome"] == "dismissed"


def test_an_exported_run_is_judged_the_same_elsewhere(running: Running, tmp_path: Path) -> None:
    """The file carries its own expectation: status, class, severity and signals of the run it was made from."""
    for line in HOOKS.read_text().splitlines()[:-1]:
        running.post("/hooks/claude-code", json.dumps(json.loads(line)["body"]).encode())
    eventually(lambda: running.get("/api/v1/runs?mode=teammate").json["total"])
    eventually(lambda: running.get(f"/api/v1/runs/{TEAMMATE}").json["clocks"]["last_progress_at"])
    for run in ("reviewer-7", "migrator-2", "asker-1", TEAMMATE):
        exported = running.get(f"/api/v1/runs/{run}/replay")
        assert '"expect"' in exported.body.decode().splitlines()[-1]
        (tmp_path / f"{run}.jsonl").write_bytes(exported.body)
    replayed(*tmp_path.glob("*.jsonl"))


def test_what_the_collector_did_not_see_is_exported_too(running: Running, tmp_path: Path) -> None:
    """A verdict that is held after an outage, and one that the sleep of the host explains, are the same elsewhere."""
    observer, now = running.collector.watch.tick.observer, time.time_ns()
    observer.was_blind(now - 1_000_000_000_000, now - 400_000_000_000, ASLEEP)
    commit(running.collector, [record("dispatch", "slept-1", 1200, "s4", agent="worker", mode="background")])

    def judged(path: str) -> dict[str, Any]:
        found: dict[str, Any] = eventually(
            lambda: (answer := running.get(path)).status == 200 and answer.json
        )
        return found

    slept = judged("/api/v1/runs/slept-1?session=s4")
    observer.was_blind(now - 30_000_000_000, time.time_ns())
    commit(running.collector, [record("dispatch", "held-1", 5000, "s5", agent="worker", mode="background")])
    held = judged("/api/v1/runs/held-1?session=s5")
    assert (held["status"], held["held"]) == ("active", True)
    assert slept["status"] == "active"
    spells = running.get("/api/v1/observer").json["blindness"]
    assert [spell["why"] for spell in spells] == ["away", "asleep"]
    assert "Silence counts again from" in (health := page(running, "/health"))
    assert health.index("<td>away</td>") < health.index("<td>asleep</td>")
    for run, says in (("slept-1", '"sleep_s": 600.0'), ("held-1", '"collector": "down"')):
        exported = running.get(f"/api/v1/runs/{run}/replay").body.decode()
        assert says in exported
        (tmp_path / f"{run}.jsonl").write_text(exported)
    replayed(*tmp_path.glob("*.jsonl"))


def replayed(*files: Path) -> None:
    """Have another process judge the files, and agree."""
    command = [sys.executable, "-m", "headcount.cli", "replay", "--check", *map(str, sorted(files))]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
