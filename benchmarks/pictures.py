"""Make the picture of the studio in the documentation: the bundled example is learned, and one threshold is rounded.

Run: python benchmarks/pictures.py [FOLDER]; it needs playwright, and Chromium on the path or named by
$LOGICLENS_CHROMIUM. It writes studio.png into the folder, by default docs.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from logiclens.studio.server import Studio, bound_server

LEARNS = 300_000
"""Milliseconds to wait for the rules."""


def rounded_threshold(page: Any) -> None:
    """Round the first threshold to two digits, with a reason."""
    changes = page.locator("details.edit", has=page.locator("input[id^=cut]")).first
    changes.locator("summary").click()
    field = changes.locator("input[id^=cut]").first
    field.fill(f"{float(field.input_value()):.2g}")
    changes.get_by_role("button", name="Move threshold").first.click()
    page.get_by_text("Version 2").first.wait_for()
    page.locator("#why-1").fill("a round number is easier to remember")
    page.locator("#comment-1").click()
    page.locator("#why-1[value]:not([value=''])").wait_for()


def main() -> None:
    """Start a studio, edit a rule, and keep the picture."""
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    chromium = os.environ.get("LOGICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as works, sync_playwright() as started:
        studio = Studio(Path(works) / "works")
        server, bound = bound_server(studio)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 1250})
        page.goto(studio.address)
        page.get_by_role("button", name="Use the example").click()
        page.get_by_role("button", name="Learn the rules").click()
        page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
        rounded_threshold(page)
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=str(folder / "studio.png"))
        browser.close()
        studio.ends.set()
        server.should_exit = True
        thread.join()
        bound.close()


if __name__ == "__main__":
    main()
