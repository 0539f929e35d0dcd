"""Make the pictures in the documentation: the report of the bundled example, and the studio in which it is edited.

Run: python -m lab.scripts.pictures.py [FOLDER]; it needs playwright, and Chromium on the path or named by
$LOGICLENS_CHROMIUM. It writes report.png and studio.png into the folder, by default docs.
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

LEARNS = 300_000
"""Milliseconds to wait for the rules."""


def rounded(threshold: float) -> str:
    """Return the nearest number whose second digit is 0 or 5, such as 0.15 for 0.14."""
    step = 5 * 10.0 ** (math.floor(math.log10(threshold)) - 1)
    return f"{round(threshold / step) * step:g}"


def rounded_threshold(page: Any) -> None:
    """Round the first threshold that is not round, with a reason."""
    fields = page.locator("input[id^=cut]").all()
    field = next(one for one in fields if rounded(float(one.input_value())) != one.input_value())
    page.locator("details.edit", has=page.locator(f"#{field.get_attribute('id')}")).locator("summary").click()
    field.fill(rounded(float(field.input_value())))
    field.press("Enter")
    page.get_by_text("Version 2").first.wait_for()
    page.locator("#why-1").fill("a round number is easier to remember")
    page.locator("#comment-1").click()
    page.locator("#why-1[value]:not([value=''])").wait_for()


def take_report(browser: Any, picture: Path, place: Path) -> None:
    """Keep the first screen of the report of the bundled example."""
    started = [sys.executable, "-c", "from logiclens.cli import main; main()"]
    subprocess.run([*started, "explain", "--quiet", "--report", str(place / "rules.html")], check=True)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((place / "rules.html").as_uri())
    page.screenshot(path=str(picture))
    page.close()


def take_studio(browser: Any, picture: Path, place: Path) -> None:
    """Start a studio, learn the example, round a threshold, and keep the page."""
    studio = Studio(place / "works")
    server, bound = bound_server(studio)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    page = browser.new_page(viewport={"width": 1100, "height": 1250})
    page.goto(studio.address)
    page.get_by_role("button", name="Use the example").click()
    page.get_by_role("button", name="Learn the rules").click()
    page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
    rounded_threshold(page)
    page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=str(picture))
    page.close()
    studio.ends.set()
    server.should_exit = True
    thread.join()
    bound.close()


def main() -> None:
    """Take both pictures."""
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    chromium = os.environ.get("LOGICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        take_report(browser, folder / "report.png", Path(place))
        take_studio(browser, folder / "studio.png", Path(place))
        browser.close()


if __name__ == "__main__":
    main()
