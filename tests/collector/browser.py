"""Debian's chromium, driven as a person would use it: light or dark, desk or phone, with or without JavaScript."""

from __future__ import annotations

import base64
import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from tests.collector.running import eventually

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
AXE = Path(__file__).with_name("axe.min.js")
DESK, PHONE = (1280, 900), (390, 844)
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--proxy-server=direct://",
)


class Browser:
    """One window on one collector."""

    def __init__(self, driver: webdriver.Chrome, url: str) -> None:
        self.driver = driver
        self._url = url

    def set(self, size: tuple[int, int] = DESK, *, dark: bool = False, script: bool = True) -> None:
        """Choose the device from the next page on."""
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        self._cdp("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._cdp("Emulation.setEmulatedMedia", features=[scheme])
        self._cdp("Emulation.setScriptExecutionDisabled", value=not script)

    def open(self, path: str) -> None:
        self.driver.get(self._url + path)

    def text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "body").text

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """Return what the browser logged since it was last asked: errors of scripts, broken policies, missing files."""
        return [entry["message"] for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]  # as above

    def violations(self) -> list[str]:
        """Return what axe-core has against the page: WCAG 2.2 A and AA, and its best practices."""
        self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run(document).then(found => done(found.violations), e => done([{id: String(e)}]))"
        )
        return [
            f"{one['id']}: {node['html']} {node.get('failureSummary', '')}"
            for one in found
            for node in one.get("nodes", [{"html": ""}])
        ]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(self.run("return document.documentElement.scrollWidth - window.innerWidth"))

    def picture(self, path: Path, *, most: int = 1600) -> None:
        """Write the page as a PNG, down to `most` pixels."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, most), "scale": 1}
        shot = self._cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def until(self, holds: Callable[[], Any]) -> Any:
        """Wait until something holds; what is not there yet does not."""
        from selenium.common.exceptions import WebDriverException

        def tried() -> Any:
            try:
                return holds()
            except WebDriverException:
                return None

        return eventually(tried)

    def clipboard(self) -> str:
        """Return what lies on the browser's clipboard; pasting is what takes leave, copying takes none."""
        self._cdp("Browser.grantPermissions", origin=self._url, permissions=["clipboardReadWrite"])
        found = self.driver.execute_async_script(
            "const done = arguments[0]; navigator.clipboard.readText().then(done, e => done(String(e)))"
        )
        self._cdp("Browser.resetPermissions")
        return str(found)

    def _cdp(self, command: str, **parameters: object) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)


@contextlib.contextmanager
def browsing(url: str) -> Iterator[Browser]:
    """Open a browser; its window and processes end with the context."""
    assert CHROMIUM is not None
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in _ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.set_script_timeout(120)
        yield Browser(driver, url)
    finally:
        driver.quit()
