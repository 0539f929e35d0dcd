"""The documentation in a real browser: search, navigation, links, and a narrow screen. `make docs` builds it first."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest

REPOSITORY = "https://github.com/logiclens/logiclens"
SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
MAIN = ["getting_started", "guides", "why", "method", "results_overview", "glossary", "api", "faq", "contributing"]
NARROW = {"width": 390, "height": 844}

LINKS = """() => [...document.querySelectorAll("a[href]")].map((link) => link.href)"""
ANCHORS = """() => [...document.querySelectorAll("[id]")].map((element) => element.id)"""
# The theme lets the box of the article scroll before the page does, so both are asked.
TOO_WIDE = """() => [document.scrollingElement, document.querySelector(".bd-article-container")]
  .filter((box) => box && box.scrollWidth > box.clientWidth + 1).map((box) => box.scrollWidth)"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the built site on a server of this process."""
    if not (SITE / "index.html").exists():
        if os.environ.get("LOGICLENS_BROWSER") == "required":
            pytest.fail("the documentation is not built: run make docs.")
        pytest.skip("needs the built documentation: run make docs")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def page(browser: Any, site: str) -> Iterator[Any]:
    """A page; at the end none may have complained, nor asked another host for anything."""
    opened = browser.new_context().new_page()
    requests: list[str] = []
    errors: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("response", lambda answer: errors.append(answer.url) if answer.status >= 400 else None)
    yield opened
    opened.context.close()
    assert errors == []
    assert [url for url in requests if not url.startswith((site, "data:"))] == []


def pages() -> list[str]:
    """Every page of the site, relative to its root."""
    return sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if "_static" not in path.parts)


def test_every_internal_link_leads_to_a_page_and_place(page, site):
    anchors, links = {}, []
    for name in pages():
        page.goto(site + name, wait_until="domcontentloaded")
        anchors[site + name] = set(page.evaluate(ANCHORS))
        links += [(name, link) for link in page.evaluate(LINKS) if link.startswith(site)]
    broken = []
    for name, link in links:
        address, anchor = urldefrag(link)
        target = address.split("?")[0]
        target = f"{target}index.html" if target.endswith("/") else target
        is_file = (SITE / target.removeprefix(site)).is_file()
        if not is_file or (anchor and target in anchors and anchor not in anchors[target]):
            broken.append((name, link))
    assert broken == []
    assert len(links) > 1000


def test_every_link_to_the_repository_names_a_file_of_it(page, site):
    missing, found = [], 0
    for name in pages():
        page.goto(site + name, wait_until="domcontentloaded")
        for link in page.evaluate(LINKS):
            kind, _, path = urldefrag(link)[0].partition(f"{REPOSITORY}/")[2].partition("/main/")
            found += kind in ("blob", "tree")
            if kind in ("blob", "tree") and not (Path(__file__).parents[2] / path).exists():
                missing.append((name, link))
    assert missing == []
    assert found > 5


def test_the_navigation_opens_every_main_page(page, site):
    page.goto(site)
    for name in MAIN:
        link = page.locator(f".bd-header a[href$='{name}.html']").first
        if not link.is_visible():
            page.locator(".bd-header .nav-item.dropdown > button").first.click()
        link.click()
        page.wait_for_url(f"**/{name}.html")
        assert page.locator("article h1").count() == 1
        page.go_back()


@pytest.mark.parametrize(("asked", "found"), [("certificate", "exact.html"), ("EntropyClassifier", "generated/")])
def test_search_finds_the_page_of_a_word(page, site, asked, found):
    page.goto(f"{site}search.html?q={asked}")
    page.wait_for_selector("#search-results ul.search li a")
    links = page.locator("#search-results ul.search li a").evaluate_all("links => links.map((link) => link.href)")
    assert any(f"/{found}" in link for link in links)


def test_search_opens_from_the_header(page, site):
    page.goto(site)
    page.keyboard.press("Control+k")
    page.keyboard.type("glossary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results ul.search li a")


@pytest.mark.parametrize("width", [1000, 1200])
def test_the_header_is_one_line(page, site, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(site)
    shown = page.locator(".bd-header .nav-link:visible, .bd-header .search-button:visible")
    boxes = [shown.nth(i).bounding_box() for i in range(shown.count())]
    assert len(boxes) > 5
    assert max(box["y"] for box in boxes) < min(box["y"] + box["height"] for box in boxes)


def test_no_page_scrolls_sideways_on_a_phone(page, site):
    page.set_viewport_size(NARROW)
    wide = {}
    for name in pages():
        page.goto(site + name)
        if found := page.evaluate(TOO_WIDE):
            wide[name] = found
    assert wide == {}


@pytest.mark.parametrize("name", ["clinical", "credit", "social_science", "images", "black_box", "lake"])
def test_notebooks_show_what_they_printed(page, site, name):
    page.goto(f"{site}notebooks/{name}.html")
    assert page.locator(".cell_output").count() >= 3
    assert "Traceback" not in page.locator("article").inner_text()
