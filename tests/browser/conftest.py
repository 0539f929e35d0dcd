"""Start a real Chromium for the tests of pages, and fetch axe-core; skip them if there is none.

With LOGICLENS_BROWSER=required, which `make test-browser` sets, nothing is skipped: what is missing fails.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from logiclens.report import read_result, render
from tests.report_cases import CASES, Case, result_of

AXE_VERSION = "4.14.0"
CHROMIUM = os.environ.get("LOGICLENS_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass
class Opened:
    """A page that was opened, what it was made from, and everything it complained of or asked for."""

    page: Any
    case: Case
    result: dict[str, Any]
    url: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def is_required() -> bool:
    """Whether tests of pages must run."""
    return os.environ.get("LOGICLENS_BROWSER") == "required"


def lacking(what: str) -> NoReturn:
    """Skip a test that lacks something, or fail it where tests of pages must run."""
    if is_required():
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if not is_required():
        pytest.importorskip("playwright.sync_api", reason="needs playwright")
        if CHROMIUM is None:
            pytest.skip("needs Chromium, on the path or named by $LOGICLENS_CHROMIUM")
    import playwright.sync_api as playwright

    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> str:
    """The source of axe-core: the file that $LOGICLENS_AXE names, or the package, fetched once into pytest's cache."""
    named = os.environ.get("LOGICLENS_AXE")
    if named is not None:
        return Path(named).read_text(encoding="utf-8")
    with tarfile.open(axe_package(Path(request.config.cache.mkdir(f"axe-core-{AXE_VERSION}")))) as package:
        source = package.extractfile("package/axe.min.js")
        assert source is not None
        return source.read().decode("utf-8")


def axe_package(folder: Path) -> Path:
    """Return the npm package of axe-core in a folder, fetched if it is not there."""
    packed = folder / f"axe-core-{AXE_VERSION}.tgz"
    if packed.exists():
        return packed
    npm = shutil.which("npm")
    if npm is None:
        lacking("needs axe-core: install npm, or name its axe.min.js by $LOGICLENS_AXE")
    command = [npm, "pack", "--silent", f"axe-core@{AXE_VERSION}"]
    if subprocess.run(command, cwd=folder, capture_output=True, timeout=120).returncode:
        lacking("needs axe-core, which npm could not fetch")
    return packed


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Case, dict[str, Any], Path]]:
    """Cases rendered to files, each once."""
    made: dict[str, tuple[Case, dict[str, Any], Path]] = {}
    folder = tmp_path_factory.mktemp("pages")

    def page(name: str) -> tuple[Case, dict[str, Any], Path]:
        if name not in made:
            case = CASES[name]()
            result = json.loads(json.dumps(result_of(case), allow_nan=False))
            path = folder / f"{name}.html"
            path.write_text(render(read_result(result)), encoding="utf-8", newline="")
            made[name] = case, result, path
        return made[name]

    return page


@pytest.fixture
def opened(browser: Any, pages: Callable[[str], tuple[Case, dict[str, Any], Path]]) -> Iterator[Callable[..., Opened]]:
    """Open a case; at the end no page may have complained, nor asked for anything but itself."""
    all_opened: list[Opened] = []

    def open_case(name: str, **context: Any) -> Opened:
        case, result, path = pages(name)
        here = Opened(browser.new_context(**context).new_page(), case, result, path.as_uri())
        here.page.on("console", lambda message: here.errors.append(message.text))
        here.page.on("pageerror", lambda error: here.errors.append(str(error)))
        here.page.on("dialog", lambda dialog: (here.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        here.page.on("request", lambda request: here.requests.append(request.url))
        here.page.goto(here.url)
        all_opened.append(here)
        return here

    yield open_case
    for here in all_opened:
        here.page.context.close()
        assert here.errors == []
        assert set(here.requests) <= {here.url, *(url for url in here.requests if url.startswith(f"{here.url}#"))}
