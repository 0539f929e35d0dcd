"""The studio in a real browser: from an empty start to an exported model that `verify` accepts."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from logiclens import Knowledge
from logiclens.studio.server import Studio
from tests.cli_runs import logiclens
from tests.studio.conftest import Tab, patients
from tests.studio.test_knowledge import wards, written_model

PHONE = {"viewport": {"width": 390, "height": 844}}
LEARNS = 90_000


@dataclass
class Visit:
    """A page of a studio that was opened, and everything it complained of."""

    page: Any
    tab: Tab
    errors: list[str] = field(default_factory=list)


@pytest.fixture
def visits(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Open the page of a new studio; it may complain of nothing, and ask nobody else."""
    made: list[Visit] = []

    def visit(**context: Any) -> Visit:
        tab = Tab.of(Studio(tmp_path / "works"))
        here = Visit(browser.new_context(**context).new_page(), tab)
        here.page.set_default_timeout(20_000)
        here.page.on("console", lambda message: here.errors.append(message.text))
        here.page.on("pageerror", lambda error: here.errors.append(str(error)))
        here.page.on(
            "request",
            lambda request: None if request.url.startswith(tab.base) else here.errors.append(f"asked {request.url}"),
        )
        here.page.goto(tab.base)
        made.append(here)
        return here

    yield visit
    for here in made:
        here.page.context.close()
        here.tab.ends()
        assert here.errors == []


def check_exported(page: Any, tmp_path: Path, *, by_key: bool = False) -> None:
    """Save the model folder as the page offers it, and let the checker judge it."""
    with page.expect_download() as saving:
        if by_key:
            tab_to(page, "a[href='export/model']")
            page.keyboard.press("Enter")
        else:
            page.get_by_role("link", name="Model folder").click()
    saving.value.save_as(tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as packed:
        packed.extractall(tmp_path / "saved")
    run = logiclens("verify", str(tmp_path / "saved" / "model"))
    assert run.returncode == 0, run.stdout + run.stderr


def check_accessible(page: Any, axe: str) -> None:
    """Let axe-core look for violations."""
    # The policy of the page runs no script of others, which is why axe is not added to the page as an element.
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found["violations"]] == []


def pictured(page: Any, name: str) -> None:
    """Keep a picture where $LOGICLENS_PICTURES says."""
    if folder := os.environ.get("LOGICLENS_PICTURES"):
        page.screenshot(path=f"{folder}/studio-{name}.png", full_page=True)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    path.write_text(patients().to_csv(index=False), encoding="utf-8")
    return path


def figure(page: Any) -> str:
    return page.locator("#figures .big").first.inner_text()


@pytest.mark.parametrize("context", [{}, PHONE], ids=["desk", "phone"])
def test_by_mouse_from_a_file_to_a_verified_model(visits, axe, table, tmp_path, context):
    from playwright.sync_api import expect

    here = visits(**context)
    page = here.page
    kind = "phone" if context else "desk"
    check_accessible(page, axe)
    pictured(page, f"start-{kind}")
    page.locator("#file").set_input_files(table)
    page.get_by_role("heading", name="patients.csv").wait_for()
    assert page.locator("#target").evaluate("box => box.selectedOptions[0].textContent") == "died"
    check_accessible(page, axe)
    pictured(page, f"columns-{kind}")
    page.locator("#by").select_option(label="sex")
    page.get_by_role("button", name="Learn the rules").click()
    page.get_by_role("heading", name="Learning from patients.csv").wait_for()
    check_accessible(page, axe)
    page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    before = figure(page)
    changes = page.locator("details.edit").first
    changes.locator("summary").click()
    check_accessible(page, axe)
    threshold = changes.locator("input[name=value]").first
    threshold.fill("30")
    changes.get_by_role("button", name="Move threshold").first.click()
    page.get_by_text("Version 2").first.wait_for()
    assert figure(page) != before
    pictured(page, f"rules-{kind}")
    check_accessible(page, axe)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#figures .big").first).to_have_text(before)
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("#figures .big").first).not_to_have_text(before)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_text("They answer differently on").wait_for()
    page.get_by_role("button", name="What do the rules say?").click()
    page.locator("#tried .said").wait_for()
    page.get_by_role("button", name="Measure on the held-out rows").click()
    expect(page.locator("#figures .big").nth(1)).to_have_text(re.compile(r"%$"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_accessible(page, axe)
    check_exported(page, tmp_path)


def test_a_wrong_threshold_is_told_and_the_rules_stay(visits, table):
    here = visits()
    page = here.page
    page.locator("#file").set_input_files(table)
    page.get_by_role("button", name="Learn the rules").click()
    page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
    before = figure(page)
    changes = page.locator("details.edit").first
    changes.locator("summary").click()
    changes.locator("input[name=value]").first.fill("seventy")
    changes.get_by_role("button", name="Move threshold").first.click()
    page.locator("#problem").get_by_text("seventy").wait_for()
    assert figure(page) == before
    # Chromium notes every refused request; the page must say nothing else.
    here.errors[:] = [one for one in here.errors if "400 (Bad Request)" not in one]


def opened_rules(here: Visit, table: Path) -> Any:
    """Learn from a table, and return the page of its rules."""
    here.page.locator("#file").set_input_files(table)
    here.page.get_by_role("button", name="Learn the rules").click()
    here.page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
    return here.page


def move_threshold(page: Any, value: str) -> None:
    """Move the threshold of the first condition that has one."""
    changes = page.locator("details.edit").first
    if changes.get_attribute("open") is None:
        changes.locator("summary").click()
    changes.locator("input[name=value]").first.fill(value)
    changes.get_by_role("button", name="Move threshold").first.click()


def test_what_was_typed_stays_when_rules_change(visits, table):
    from playwright.sync_api import expect

    here = visits()
    page = opened_rules(here, table)
    field = page.locator("#try input").first
    field.fill("50")
    page.get_by_role("button", name="What do the rules say?").click()
    said = page.locator("#tried .said")
    before = said.inner_text()
    move_threshold(page, "10" if "no" in before else "90")
    page.get_by_text("Version 2").first.wait_for()
    # The values stay, and the answer is that of the edited rules.
    expect(field).to_have_value("50")
    expect(said).not_to_have_text(before)
    other = page.context.new_page()
    other.goto(here.tab.base)
    other.locator("#why-1").fill("half a comm")
    move_threshold(page, "55")
    other.get_by_text("Version 3").first.wait_for()
    expect(other.locator("#why-1")).to_have_value("half a comm")
    # A value that is refused leaves no answer behind.
    page.locator("#try input").first.fill("old")
    page.get_by_role("button", name="What do the rules say?").click()
    page.locator("#problem").get_by_text("must be a number").wait_for()
    assert page.locator("#tried .said").count() == 0
    here.errors[:] = [one for one in here.errors if "400 (Bad Request)" not in one]


def test_undo_pressed_twice_takes_two_edits_back(visits, table):
    from playwright.sync_api import expect

    here = visits()
    page = opened_rules(here, table)
    for number, value in ((2, "55"), (3, "60")):
        move_threshold(page, value)
        page.get_by_text(f"Version {number}").first.wait_for()
    shown = page.locator("ol.versions li[aria-current] strong")
    # The second time comes before the answer to the first.
    twice = "(id) => { for (const _ of [1, 2]) document.getElementById(id).click(); }"
    page.evaluate(twice, "undo")
    expect(shown).to_have_text("Version 1")
    page.evaluate(twice, "redo")
    expect(shown).to_have_text("Version 3")
    # Another rule may have taken the place of the removed one meanwhile: this is done once.
    page.evaluate(twice, page.locator("button[id^=remove-]").first.get_attribute("id"))
    expect(shown).to_have_text("Version 4")
    page.locator("#undo").click()
    expect(shown).to_have_text("Version 3")
    assert len(here.tab.studio.session.editor().versions) == 4


def test_edits_are_not_discarded_without_a_question(visits, table):
    here = visits()
    page = opened_rules(here, table)
    move_threshold(page, "55")
    page.get_by_text("Version 2").first.wait_for()
    page.get_by_role("button", name="Choose other columns and learn again").click()
    learn = page.get_by_role("button", name="Learn the rules")
    learn.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Learning again discards 1 edit of the rules").wait_for()
    # The first button keeps the edits.
    assert page.evaluate("document.activeElement.id") == "ask-no"
    page.keyboard.press("Enter")
    assert here.tab.studio.session.stage == "columns"
    page.get_by_role("button", name="Back to the rules").click()
    page.get_by_text("Version 2").first.wait_for()


def test_a_refused_export_is_told_on_the_page(visits, table, monkeypatch):
    from logiclens.errors import LogicLensError
    from logiclens.studio.session import Session

    here = visits()
    page = opened_rules(here, table)

    def refused(session: Session, name: str) -> None:
        raise LogicLensError("the knowledge of the model forbids it.")

    monkeypatch.setattr(Session, "export", refused)
    page.locator("a[href='export/model']").click()
    page.locator("#problem").get_by_text("The knowledge of the model forbids it.").wait_for()
    here.errors[:] = [one for one in here.errors if "400 (Bad Request)" not in one]


def tab_to(page: Any, matches: str, most: int = 200) -> None:
    """Press the tabulator key until the element that has the focus matches."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(css) => document.activeElement.matches(css)", matches):
            return
    raise AssertionError(f"{matches} cannot be reached from the keyboard")


def test_by_keyboard_alone_from_the_example_to_a_verified_model(visits, tmp_path):
    here = visits()
    page = here.page
    tab_to(page, "form[data-verb=example] button")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="tumours.csv").wait_for()
    tab_to(page, "button.primary")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
    tab_to(page, "details.edit > summary")
    page.keyboard.press("Enter")
    tab_to(page, "details.edit input[name=value]")
    page.keyboard.press("Control+a")
    page.keyboard.type("0.01")
    page.keyboard.press("Enter")
    page.get_by_text("Version 2").first.wait_for()
    # Whoever edits stays where they were.
    assert page.evaluate("document.activeElement.name") == "value"
    page.keyboard.press("Shift+Tab")
    check_exported(page, tmp_path, by_key=True)


def press(page: Any, matches: str, *keys: str) -> None:
    """Go to an element by the tabulator key, and press keys there."""
    tab_to(page, matches)
    for key in keys:
        page.keyboard.press(key)


@pytest.mark.parametrize("context", [{}, PHONE], ids=["desk", "phone"])
def test_by_keyboard_alone_from_a_file_to_a_verified_model(visits, axe, table, tmp_path, context):
    from playwright.sync_api import expect

    page = visits(**context).page
    is_narrow = "document.documentElement.scrollWidth <= innerWidth"
    with page.expect_file_chooser() as choosing:
        press(page, "#file", "Enter")
    choosing.value.set_files(table)
    page.get_by_role("heading", name="patients.csv").wait_for()
    # Letters and arrows choose: first another column, then the target.
    tab_to(page, "#target")
    page.keyboard.type("sex")
    expect(page.locator("#target")).to_have_value("2")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#target")).to_have_value("3")
    press(page, "input[name=use]", "Space")
    assert not page.evaluate("document.activeElement.checked")
    page.keyboard.press("Space")
    assert page.evaluate(is_narrow)
    press(page, "button.primary", "Enter")
    page.get_by_role("heading", name="The rules", exact=True).wait_for(timeout=LEARNS)
    before = figure(page)
    press(page, "details.edit > summary", "Enter")
    tab_to(page, "details.edit input[name=value]")
    page.keyboard.press("Control+a")
    page.keyboard.type("30")
    page.keyboard.press("Enter")
    page.get_by_text("Version 2").first.wait_for()
    assert figure(page) != before
    # The page is read from its top again, as after a reload.
    page.evaluate("document.activeElement.blur()")
    press(page, "#undo", "Enter")
    expect(page.locator("#figures .big").first).to_have_text(before)
    press(page, "#redo", "Enter")
    expect(page.locator("#figures .big").first).not_to_have_text(before)
    press(page, "#look", "Enter")
    expect(page.locator("#figures .big").nth(1)).to_have_text(re.compile(r"%$"))
    tab_to(page, "#why-1")
    page.keyboard.type("too old")
    page.keyboard.press("Enter")
    expect(page.locator("#why-1")).to_have_attribute("value", "too old")
    press(page, "#compare", "Enter")
    page.get_by_text("They answer differently on").wait_for()
    press(page, "form[data-verb=try] button", "Enter")
    page.locator("#tried .said").wait_for()
    assert page.evaluate(is_narrow)
    check_accessible(page, axe)
    check_exported(page, tmp_path, by_key=True)


@pytest.mark.parametrize("context", [{}, PHONE], ids=["desk", "phone"])
def test_a_model_with_protected_columns_is_edited_on_its_table(visits, axe, tmp_path, context):
    here = visits(**context)
    page = here.page
    here.tab.studio.session.open_model(
        written_model(Knowledge(protected_columns=("sex", "age"), forbidden=("age >= 90",)), tmp_path / "model")
    )
    path = tmp_path / "patients.csv"
    path.write_text(wards().to_csv(index=False), encoding="utf-8")
    page.get_by_text("To edit the rules, choose the table of this model").wait_for()
    page.locator("#file").set_input_files(path)
    page.get_by_role("heading", name="History").wait_for()
    move_threshold(page, "50")
    page.get_by_text("Version 2").first.wait_for()
    page.get_by_role("heading", name="Protected column sex").wait_for()
    assert page.locator("#protected table").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    pictured(page, f"protected-{'phone' if context else 'desk'}")
    check_accessible(page, axe)


def test_a_second_tab_follows_the_first(visits):
    here = visits()
    other = here.page.context.new_page()
    other.goto(here.tab.base)
    here.page.get_by_role("button", name="Use the example").click()
    other.get_by_role("heading", name="tumours.csv").wait_for()
    other.get_by_role("button", name="Close this work and remove the file").click()
    other.keyboard.press("Escape")
    assert here.tab.studio.session.work is not None
    other.get_by_role("button", name="Close this work and remove the file").click()
    other.get_by_role("button", name="Close this work and remove it").click()
    here.page.get_by_role("heading", name="Which table?").wait_for()


def test_learning_is_cancelled_by_its_button(visits):
    here = visits()
    here.page.get_by_role("button", name="Use the example").click()
    here.page.get_by_role("button", name="Learn the rules").click()
    here.page.get_by_role("button", name="Cancel").click()
    here.page.get_by_text("Learning was cancelled.").wait_for()


def test_markup_of_an_upload_runs_nowhere(visits, tmp_path):
    here = visits()
    name = "<img src=x onerror=window.hacked=1>"
    frame = patients().rename(columns={"sex": name}).replace("man", "<script>window.hacked=1</script>")
    path = tmp_path / "patients.csv"
    path.write_text(frame.to_csv(index=False), encoding="utf-8")
    here.page.locator("#file").set_input_files(path)
    here.page.locator("th label").get_by_text(name).wait_for()
    here.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked=1\">')")
    assert here.page.evaluate("window.hacked") is None
    # The policy refuses what this test itself has put into the page, and says so.
    assert any("Content Security Policy" in one or "Content-Security-Policy" in one for one in here.errors)
    here.errors.clear()
