"""Take the pictures of the documentation: the report of the bundled example, and the studio in which it is edited.

Run `python docs/pictures.py`; it needs playwright and Chromium.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from logiclens.studio.server import Studio, bound_server

DOCS = Path(__file__).parent
LEARNS = 300_000
"""Milliseconds to wait for the rules."""


def take_pictures() -> None:
    """Write docs/report.png and docs/studio.png with Chromium, on the path or named by $LOGICLENS_CHROMIUM."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("LOGICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        report = Path(place) / "rules.html"
        command = [sys.executable, "-m", "logiclens", "explain", "--quiet", "--report", str(report)]
        subprocess.run(command, check=True)  # noqa: S603 (the command is made here)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(report.as_uri())
        page.screenshot(path=str(DOCS / "report.png"))
        take_studio(browser, Path(place))
        browser.close()


def take_studio(browser: Any, place: Path) -> None:
    """Start a studio, learn the example, round the first threshold that is not round, and take the page."""
    studio = Studio(place / "works")
    server, bound = bound_server(studio)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    page = browser.new_page(viewport={"width": 1100, "height": 1250})
    page.goto(studio.address)
    page.get_by_role("button", name="Use the example").click()
    page.get_by_role("button", name="Learn the rules").click()
    page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
    fields = page.locator("input[id^=cut]").all()
    for field in [each for each in fields if rounded(float(each.input_value())) != each.input_value()][:1]:
        page.locator("details.edit", has=page.locator(f"#{field.get_attribute('id')}")).locator("summary").click()
        field.fill(rounded(float(field.input_value())))
        field.press("Enter")
        page.get_by_text("Version 2").first.wait_for()
        page.locator("#why-1").fill("a round number is easier to remember")
        page.locator("#comment-1").click()
        page.locator("#why-1[value]:not([value=''])").wait_for()
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=str(DOCS / "studio.png"))
    studio.ends.set()
    server.should_exit = True
    thread.join()
    bound.close()


def rounded(threshold: float) -> str:
    """Return the nearest number whose second digit is 0 or 5, such as 0.15 for 0.14."""
    step = 5 * 10.0 ** (math.floor(math.log10(threshold)) - 1)
    return f"{round(threshold / step) * step:g}"


if __name__ == "__main__":
    take_pictures()
