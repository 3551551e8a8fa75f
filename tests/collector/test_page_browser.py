"""The page in a real browser: every page, light and dark, at phone width, by keyboard, live, with ten thousand runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from tests.collector.page_evidence import HOSTILE, commit, hostile, many, record, story
from tests.collector.running import Running, eventually, running_collector

pytest.importorskip("selenium", reason="the browser is driven by selenium, of the group dev")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.collector.browser import CHROMIUM, DESK, DRIVER, PHONE, Browser, browsing

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs chromium and chromedriver: apt-get install chromium chromium-driver",
)

HOSTILE_RUN = "/runs/" + quote(HOSTILE + "#run", safe="")
PAGES = {
    "now": "/",
    "filtered": "/?status=active&order=oldest",
    "run": "/runs/reviewer-7",
    "waiting": "/runs/asker-1?evidence=true",
    "below": "/runs/below-1",
    "hostile": HOSTILE_RUN,
    "hostile-session": "/sessions/" + quote(HOSTILE, safe=""),
    "session": "/sessions/s1",
    "search": "/search?q=c-migrator-2",
    "nothing": "/search?q=nothing-like-it",
    "unknown": "/runs/nobody",
    "incidents": "/incidents",
    "policy": "/policy?agent=reviewer",
    "health": "/health",
}
PICTURES = ("now", "run", "session")
"""Pages that the README shows, light at the desk and dark on the phone; written where HEADCOUNT_PICTURES says."""
CROWD = 10_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running_collector(
        tmp_path_factory.mktemp("data"), tick_s=0.5, capture_content=True, log_level="error"
    ) as found:
        commit(found.collector, story())
        eventually(lambda: found.get("/api/v1/runs?session=s1").json["total"] == 6)
        yield found


@pytest.fixture(scope="module")
def crowded(running: Running) -> Running:
    """The same collector with hostile texts in it."""
    commit(running.collector, hostile(HOSTILE))
    query = urlencode({"session": HOSTILE})
    eventually(lambda: running.get(f"/api/v1/runs?{query}").json["total"] == 1)
    return running


@pytest.fixture(scope="module")
def window(running: Running) -> Iterator[Browser]:
    with browsing(running.url) as browser:
        yield browser


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    return Path(os.environ.get("HEADCOUNT_PICTURES", tmp_path))


def incident_of(running: Running, run: str) -> str:
    found = eventually(lambda: running.get(f"/api/v1/incidents?run={run}").json["incidents"])
    return str(found[0]["id"])


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_of_these_pages(name: str, window: Browser, running: Running, pictures: Path) -> None:
    incident_of(running, "reviewer-7")
    for size, dark, suffix, most in ((DESK, False, "", 1080), (PHONE, True, "-phone", 1100)):
        window.set(size, dark=dark)
        window.open(PAGES[name])
        window.until(lambda: "live" in window.text())
        window.picture(pictures / f"page-{name}{suffix}.png", most=most)
        assert (pictures / f"page-{name}{suffix}.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_fits_the_phone(name: str, window: Browser, crowded: Running) -> None:
    expected = ["404"] if name == "unknown" else []
    for size, dark in ((DESK, False), (PHONE, True)):
        window.set(size, dark=dark)
        window.open(PAGES[name])
        assert window.violations() == []
        assert window.overflow() <= 0
        complaints = window.complaints()
        assert [said for said in complaints if not any(status in said for status in expected)] == []


def test_an_incident_is_accessible_too(window: Browser, running: Running) -> None:
    number = incident_of(running, "reviewer-7")
    for size, dark in ((DESK, True), (PHONE, False)):
        window.set(size, dark=dark)
        window.open(f"/incidents/{number}")
        assert window.violations() == []
        assert window.overflow() <= 0
        assert window.complaints() == []


def test_hostile_text_runs_nothing(window: Browser, crowded: Running) -> None:
    window.set()
    for path in (HOSTILE_RUN, PAGES["hostile-session"], "/"):
        window.open(path)
        assert "<script>alert(1)</script>" in window.text()
        assert window.run("return document.querySelectorAll('main img, main script').length") == 0
        assert window.complaints() == []


def test_everything_can_be_read_without_javascript(window: Browser, running: Running) -> None:
    window.set(script=False)
    try:
        window.open("/runs/reviewer-7")
        text = window.text()
        for said in (
            "Do not dispatch again",
            "What happened",
            "child ended: ok, 5120 bytes",
            "Not live: reload",
        ):
            assert said in text
        assert window.driver.find_element(By.CSS_SELECTOR, "svg.picture .gap").is_displayed()
    finally:
        window.set()


def test_news_come_without_reloading(window: Browser, running: Running) -> None:
    window.set()
    window.open("/?session=live")
    window.until(lambda: window.driver.find_element(By.CSS_SELECTOR, "[data-live=on]"))
    window.run("window.stays = true")
    commit(running.collector, [record("dispatch", "live-1", 2000, "live", agent="worker", mode="background")])
    window.until(lambda: "live-1" in window.text())
    commit(running.collector, [record("completion_forwarded", "live-1", 0, "live", forwarded=True)])
    window.until(lambda: "recovered" in window.text())
    assert window.run("return window.stays")


def test_from_the_link_in_the_chat_to_acknowledged_by_keyboard(window: Browser, running: Running) -> None:
    number = incident_of(running, "migrator-2")
    window.set(PHONE)
    window.open(f"/incidents/{number}")
    for _ in range(40):
        window.driver.switch_to.active_element.send_keys(Keys.TAB)
        if window.driver.switch_to.active_element.get_attribute("name") == "by":
            break
    window.driver.switch_to.active_element.send_keys("anna", Keys.ENTER)
    window.until(lambda: "anna is on it" in window.text())
    assert running.get(f"/api/v1/incidents/{number}").json["acknowledged"]["by"] == "anna"


def test_a_run_is_dismissed_by_keyboard_with_a_name(window: Browser, running: Running) -> None:
    commit(running.collector, [record("dispatch", "void-1", 5000, "s2", agent="worker", mode="background")])
    eventually(lambda: running.get("/api/v1/runs/void-1").status == 200)
    window.set()
    window.open("/runs/void-1")
    window.driver.find_element(By.CSS_SELECTOR, ".actions summary").send_keys(Keys.ENTER)
    window.driver.find_element(By.NAME, "reason").send_keys("asked twice")
    fields = window.driver.find_elements(By.CSS_SELECTOR, ".actions details [name=by]")
    fields[0].clear()
    fields[0].send_keys("anna", Keys.ENTER)
    window.until(lambda: "dismissed" in window.driver.find_element(By.TAG_NAME, "h1").text)


def test_the_recover_command_is_copied(window: Browser, running: Running) -> None:
    window.set()
    window.open("/runs/reviewer-7")
    copy = window.driver.find_element(By.CSS_SELECTOR, "button[data-copy=recover]")
    copy.click()
    window.until(lambda: copy.text == "Copied")
    assert window.clipboard() == "headcount recover reviewer-7"
    window.open(f"/incidents/{incident_of(running, 'reviewer-7')}")
    window.driver.find_element(By.CSS_SELECTOR, "button[data-copy^=recover]").send_keys(Keys.ENTER)
    window.until(lambda: "Copied" in window.text())
    assert window.clipboard() == "headcount recover reviewer-7"


def test_an_incident_is_silenced_with_a_name_and_a_reason(window: Browser, running: Running) -> None:
    commit(running.collector, [record("dispatch", "late-1", 5000, "s3", agent="worker", mode="background")])
    number = incident_of(running, "late-1")
    window.set(PHONE, dark=True)
    window.open(f"/incidents/{number}")
    window.driver.find_element(By.CSS_SELECTOR, ".actions summary").send_keys(Keys.ENTER)
    form = window.driver.find_element(By.CSS_SELECTOR, "form[action$=silence]")
    window.until(form.is_displayed)
    assert window.violations() == []
    form.find_element(By.NAME, "duration").send_keys("8h")
    form.find_element(By.NAME, "reason").send_keys("the provider is down")
    by = form.find_element(By.NAME, "by")
    by.clear()
    by.send_keys("anna", Keys.ENTER)
    window.until(lambda: "Silenced" in window.text())
    (silence,) = running.get("/api/v1/silences").json["silences"]
    assert silence["matchers"] == ['owner=""', 'session="s3"']
    assert (silence["by"], silence["reason"]) == ("anna", "the provider is down")
    window.open("/incidents")
    assert "by anna: the provider is down" in window.text()


def test_ten_thousand_open_runs_come_in_pages(window: Browser, running: Running) -> None:
    commit(running.collector, many(CROWD))
    eventually(lambda: running.get("/api/v1/runs?agent=kind-0&limit=1").json["total"] == -(-CROWD // 7))
    total = eventually(
        lambda: (found := running.get("/api/v1/runs?open=true&limit=1").json["total"]) >= CROWD and found
    )
    assert total >= CROWD
    window.set()
    for path in ("/", "/sessions/crowd-3", "/runs/crowd-00042", "/?section=open&order=oldest"):
        window.open(path)
        print(f"\n{total} open runs, {path}: first paint after {first_paint_ms(window)} ms", end="")
    assert len(window.driver.find_elements(By.CSS_SELECTOR, "li.line")) == 50
    window.driver.find_element(By.CSS_SELECTOR, "a[rel=next]").send_keys(Keys.ENTER)
    window.until(lambda: "51 to 100 of" in window.text())
    window.open("/?agent=kind-3&session=crowd-3")
    assert "crowd-" in window.text()
    assert "kind-4" not in window.text()


def first_paint_ms(window: Browser) -> int:
    """Return when the browser first painted, counted from the click."""
    return int(
        window.until(
            lambda: window.run(
                "return Math.round((performance.getEntriesByType('paint')[0] || {}).startTime)"
            )
        )
    )
