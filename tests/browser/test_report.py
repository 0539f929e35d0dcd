"""The report page in a real browser: its answers, its safety, and its accessibility."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from logiclens.formula.column_states import units_of
from logiclens.formula.date_parts import PART_KINDS
from logiclens.formula.english import category_unions, union_conditions
from logiclens.formula.english import conditions as conditions_of
from logiclens.formula.flip import Flip, flip, parts_of
from logiclens.formula.predicate import OPERATORS, Predicate
from logiclens.report import read_result, render
from logiclens.words import readable
from tests.report_cases import CASES, MARKUP, Case

INTERACTIVE = [
    "patients", "certified", "several_labels", "hostile", "one_formula", "in_order", "kinds", "dates", "categories",
]  # fmt: skip
MISSING, OTHER = "missing", "another value"
UNSEEN = "never seen before"

# Enters raw values, one text for each field, and reads what the panel says.
ENTER = """(texts) => {
  const fields = [...document.querySelectorAll("[data-column]")];
  const read = () => fields.map((field) =>
    field.tagName === "SELECT" ? field.selectedOptions[0].textContent : field.value);
  const enter = (values) => {
    fields.forEach((field, i) => {
      if (field.tagName === "SELECT") {
        field.value = [...field.options].find((option) => option.textContent === values[i]).value;
      } else {
        field.value = values[i];
      }
    });
    fields[0].dispatchEvent(new Event("input", { bubbles: true }));
  };
  const answer = () => document.getElementById("answer-class").textContent;
  enter(texts);
  const lines = [...document.querySelectorAll("#cubes > li")].sort((a, b) => a.dataset.rule - b.dataset.rule);
  const said = {
    entered: read(), answer: answer(), why: document.getElementById("answer-why").textContent,
    states: lines.map((line) => line.querySelector(".state").textContent),
    conditions: lines.map((line) => [...line.querySelectorAll("ul li")].map((item) => item.textContent)),
    flips: [],
  };
  const items = () => [...document.querySelectorAll("#flips li")];
  for (let i = 0; i < items().length; i++) {
    const told = items()[i].querySelector("strong").textContent, words = items()[i].textContent;
    items()[i].querySelector("button").click();
    said.flips.push({ told, words, values: read(), answer: answer() });
    enter(texts);
  }
  return said;
}"""


def raw_rows(case: Case, many: int, seed: int) -> list[dict[str, Any]]:
    """Rows of raw values drawn at random: at, beside and far from every cut, categories, unseen texts, and gaps."""
    random = np.random.default_rng(seed)
    drawn: dict[str, list[Any]] = {}
    for column in case.rules.columns:
        values: list[Any] = [None]
        for concept in case.concepts:
            predicate = case.rules.predicate(concept)
            if predicate.origin is not None and column in predicate.sources:
                values += _days()
            elif predicate.column == column and predicate.operator != "missing":
                values += VALUES[predicate.kind.name](predicate.value)
        asked = _asked_of(case, column)
        if any(p.origin is not None for p in asked):
            has_clock = any(
                (isinstance(p.value, str) and "T" in p.value) or p.column.startswith("hour of") for p in asked
            ) or any("T" in text for text in case.table[column] if text is not None)
            values = [v and (v if "T" in v else f"{v}T00:00:00") if has_clock else v and v[:10] for v in values]
        # A column that the rules only look at to see whether it is missing.
        drawn[column] = [1, *values] if values == [None] else values
    return [{column: v[int(random.integers(len(v)))] for column, v in drawn.items()} for _ in range(many)]


def _moments(value: str) -> list[Any]:
    at = datetime.fromisoformat(value)
    if len(value) == len("2021-03-01"):
        return [(at + timedelta(days=step)).date().isoformat() for step in (-400, -1, 0, 1, 500)]
    return [(at + timedelta(seconds=step)).isoformat() for step in (-90000, -1, 0, 1, 90000)]


def _days() -> list[Any]:
    """Moments at the edges of weekdays, months and days between dates, and one long ago."""
    edges = [datetime(2021, 12, 24, 17, 30) + timedelta(days=step) for step in (-30, -29, -3, -2, 0, 1, 2, 3, 8)]
    hours = [datetime(2021, 2, 27, hour) for hour in (0, 17, 18, 23)]
    return [at.isoformat() for at in (*edges, *hours, datetime(1, 1, 1), datetime(2024, 2, 29, 23, 59, 59))]


VALUES: dict[str, Any] = {
    "number": lambda value: [value, value - 0.25, value + 0.25, value - 20.0, value + 20.0],
    "boolean": lambda value: [1, 0],
    "text": lambda value: [value, UNSEEN],
    "date": _moments,
    "timedelta": lambda value: [
        value,
        "2 days 05:59:59.999999",
        "-1 days +18:00:00",
        "2 days 06:00:00.000001",
        "9 days",
    ],
}


def text_of(case: Case, column: str, value: Any) -> str:
    """What is entered for a value: the words of a list, or the text of a field."""
    predicates = _asked_of(case, column)
    if any(p.origin is not None for p in predicates):
        # The page asks for a day where no rule looks at a time of day.
        hours = any(p.origin is not None and p.origin.kind == "hour" for p in predicates)
        times = any(p.origin is None and p.operator != "missing" and "T" in str(p.value) for p in predicates)
        return "" if value is None else str(value) if hours or times else str(value)[:10]
    compared = [p for p in predicates if p.operator != "missing"]
    if not compared:
        return MISSING if value is None else "not missing"
    if compared[0].kind.name == "text":
        return MISSING if value is None else OTHER if value == UNSEEN else readable(str(value))
    if compared[0].kind.name == "boolean" or compared[0].column not in {
        p.column for p in case.rules.predicates.values()
    }:
        return MISSING if value is None else "true" if value >= 0.5 else "false"
    return "" if value is None else str(value)


def value_of(case: Case, column: str, text: str) -> Any:
    """The value of what is entered: the inverse of `text_of`."""
    if text in (MISSING, ""):
        return None
    if text in ("true", "false", "not missing"):
        return int(text != "false")
    kinds = [p for p in _asked_of(case, column) if p.origin is None]
    if any(p.kind.name == "text" for p in kinds):
        return next((p.value for p in kinds if readable(str(p.value)) == text), UNSEEN)
    return float(text) if any(p.operator != "missing" and p.kind.name == "number" for p in kinds) else text


def _asked_of(case: Case, column: str) -> list[Predicate]:
    return [p for concept in case.concepts if column in (p := case.rules.predicate(concept)).sources]


def entered(case: Case, row: dict[str, Any]) -> list[str]:
    # A 0/1 column that is true from 0.5 on is entered as true or false.
    return [text_of(case, column, row[column]) for column in case.rules.columns]


def row_of(case: Case, texts: list[str]) -> dict[str, Any]:
    return {column: value_of(case, column, text) for column, text in zip(case.rules.columns, texts, strict=True)}


def answer_of(case: Case, row: dict[str, Any]) -> Any:
    """What `RuleSet.predict` says of one row."""
    said = case.rules.predict({name: np.array([value], dtype=object) for name, value in row.items()})[0]
    return tuple(map(bool, said)) if case.rules.multilabel else said


def shown(case: Case, result: dict[str, Any], answer: Any) -> str:
    """An answer as the panel prints it."""
    if not case.rules.multilabel:
        return "undecided" if answer is None else readable(f"{result['data']['target']} is {answer}")
    given = [name for name, yes in zip(case.rules.names, answer, strict=True) if yes]
    return "none" if not given else given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"


def bits_of(case: Case, row: dict[str, Any]) -> list[bool]:
    columns = {name: np.array([value], dtype=object) for name, value in row.items()}
    return [bool(case.rules.holds(concept, columns)[0]) for concept in case.concepts]


def cost_of(found: Flip) -> tuple[int, int]:
    """How many columns and how many conditions a change changes."""
    return len(found.changes), sum(len(change.concepts) for change in found.changes)


# What it answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INTERACTIVE)
def test_raw_values_are_answered_as_the_rules_answer_them(opened, name):
    here = opened(name)
    said = set()
    for row in raw_rows(here.case, 150, seed=1):
        got = here.page.evaluate(ENTER, entered(here.case, row))
        # Of a time, the browser leaves out seconds that are none.
        short = [re.sub(r"(T\d\d:\d\d):00$", r"\1", text) for text in entered(here.case, row)]
        assert [re.sub(r"(T\d\d:\d\d):00$", r"\1", text) for text in got["entered"]] == short
        assert got["answer"] == shown(here.case, here.result, answer_of(here.case, row)), row
        said.add(got["answer"])
    assert len(said) > 1


@pytest.mark.parametrize("name", INTERACTIVE)
def test_changes_are_as_small_as_the_integer_program_finds(opened, name):
    here = opened(name)
    case, rules = here.case, here.case.rules
    for row in raw_rows(case, 100 if name in ("kinds", "dates") else 25, seed=2):
        before = answer_of(case, row)
        wanted, expected = {}, {}
        for place, rule in enumerate(rules.rules):
            if rules.multilabel:
                found = flip(rules, row, of=rule.label)
                told = f"{rule.name}: {'no' if before[place] else 'yes'}"
            elif rule.label == before:
                continue
            else:
                found, told = flip(rules, row, to=rule.label), shown(case, here.result, rule.label)
            if found.possible:
                wanted[told], expected[told] = cost_of(found), found
        got = here.page.evaluate(ENTER, entered(case, row))["flips"]
        costs = []
        for change in got:
            after = row_of(case, change["values"])
            assert change["answer"] == shown(case, here.result, answer_of(case, after))
            bits = zip(bits_of(case, row), bits_of(case, after), strict=True)
            concepts = [name for name, (was, now) in zip(case.concepts, bits, strict=True) if was != now]
            units = units_of(rules, case.concepts)
            parts = [part for part in parts_of(rules, units) if {c for u in part for c in u.concepts} & set(concepts)]
            costs.append((len(parts), len(concepts)))
            # The same change is told in the same words.
            same = expected.get(change["told"])
            if same is not None and {c for part in same.changes for c in part.concepts} == set(concepts):
                assert all(readable(part.wanted) in change["words"] for part in same.changes)
            if not rules.multilabel:
                assert change["answer"] == change["told"]
                was, now = rules.groups.allows(np.array([bits_of(case, row), bits_of(case, after)]), case.concepts)
                assert now or not was
        assert (
            dict(
                zip(
                    [c["told"] for c in got if c["told"] != "undecided"],
                    [cost for c, cost in zip(got, costs, strict=True) if c["told"] != "undecided"],
                    strict=True,
                )
            )
            == wanted
        )
        assert costs == sorted(costs)
        if not rules.multilabel and got:
            assert costs[0] == cost_of(flip(rules, row))


@pytest.mark.parametrize("name", INTERACTIVE)
def test_each_condition_and_rule_says_whether_it_holds(opened, name):
    here = opened(name)
    case, rules = here.case, here.case.rules
    unions = [(rule, union) for rule in rules.rules for union in category_unions(rule.cubes, rules.predicates)]
    for row in raw_rows(case, 25, seed=3):
        got = here.page.evaluate(ENTER, entered(case, row))
        held = dict(zip(case.concepts, bits_of(case, row), strict=True))
        cubes = [cube for rule in rules.rules for cube in rule.cubes]
        fired = {cube for cube in cubes if all(held[lit.concept] == lit.positive for lit in cube)}
        for (rule, union), state, told in zip(unions, got["states"], got["conditions"], strict=True):
            conditions = [
                (readable(text), any(all(held[lit.concept] == lit.positive for lit in one) for one in alternatives))
                for text, alternatives in union_conditions(union, rules.predicates, rules.facts)
            ]
            assert told == [f"{'✓ true' if true else '✗ false'}: {text}" for text, true in conditions]
            assert state.startswith("Fires") == bool(fired.intersection(union))
            if state == "Fires and decides":
                assert rule.label == answer_of(case, row)
                [cube] = fired.intersection(union)
                assert all(readable(text) in got["why"] for text in conditions_of(cube, rules.predicates, rules.facts))
        decided = [state for state in got["states"] if state == "Fires and decides"]
        fires = (
            any(rule.cubes and rule.label == answer_of(case, row) for rule in rules.rules)
            if not rules.multilabel
            else False
        )
        if fires and any(state.startswith("Fires") for state in got["states"]):
            assert len(decided) == 1


def test_what_is_no_value_gets_no_answer(opened):
    page = opened("kinds").page
    page.get_by_label("stay").fill("soon")
    assert page.text_content("#answer-class") == "no answer"
    assert page.text_content("#answer-why") == "Correct stay first."
    assert page.get_by_label("stay").get_attribute("aria-invalid") == "true"
    page.get_by_label("stay").fill("3 days")
    assert page.get_by_label("stay").get_attribute("aria-invalid") is None
    assert page.text_content("#answer-class") != "no answer"
    page.get_by_label("age", exact=True).fill("")
    assert page.text_content("#hint-0").startswith("Missing. ")


def test_each_kind_of_column_has_its_own_field(opened):
    page = opened("kinds").page
    types = {
        name: page.get_by_label(name, exact=True).get_attribute("type")
        for name in ("age", "admitted", "seen", "stay", "unit", "smoker")
    }
    assert types == {
        "age": "number", "admitted": "date", "seen": "datetime-local", "stay": "text", "unit": None, "smoker": None,
    }  # fmt: skip
    assert page.get_by_label("unit", exact=True).locator("option").all_text_contents() == [
        "north ward", "south", "west", OTHER, MISSING,
    ]  # fmt: skip


def test_the_script_knows_every_operator_of_predicates(pages):
    script = re.search(r"const OPERATORS = \{(.*?)\n  \};", pages("kinds")[2].read_text(), re.DOTALL).group(1)
    assert re.findall(r'^    "?([a-z<>=]+)"?:', script, re.MULTILINE) == [*OPERATORS]
    parts = re.search(r"const PARTS = \{(.*?)\n  \};", pages("kinds")[2].read_text(), re.DOTALL).group(1)
    assert re.findall(r"^    ([a-z]+):", parts, re.MULTILINE) == [*PART_KINDS]
    # A new part of a predicate must reach the script before a page is made of it.
    assert [part.name for part in fields(Predicate)] == ["column", "operator", "value", "origin"]


# Rows --------------------------------------------------------------------------------------------------------------


def test_a_page_without_raw_values_starts_from_typical_ones(browser, pages, tmp_path):
    result = pages("dates")[1]
    path = tmp_path / "page.html"
    path.write_text(render(read_result(result)), encoding="utf-8")
    page = browser.new_context().new_page()
    page.goto(path.as_uri())
    assert page.text_content("#answer-class") in {f"died is {row['rules']}" for row in result["rows"]}
    page.context.close()


def test_typical_values_are_values_that_the_table_has(browser, pages, tmp_path):
    def filled(name: str, inputs: list[dict[str, Any]]) -> dict[str, str]:
        result = pages(name)[1]
        path = tmp_path / "page.html"
        path.write_text(render(read_result({**result, "inputs": inputs})), encoding="utf-8")
        page = browser.new_context().new_page()
        page.goto(path.as_uri())
        shown = page.evaluate(
            """[...document.querySelectorAll("[data-column]")].map((field) =>
              field.tagName === "SELECT" ? field.selectedOptions[0].textContent : field.value)"""
        )
        page.context.close()
        return dict(zip(pages(name)[0].rules.columns, shown, strict=True))

    assert filled("patients", pages("patients")[1]["inputs"])["unit"] in {"MICU", "CCU", "SICU"}
    days = [{"column": column, "categories": [], "day": "2019-08-01"} for column in ("begun", "ended")]
    shown = filled("dates", days)
    assert shown["begun"][:4] == "2019"


# For everyone ------------------------------------------------------------------------------------------------------


def test_the_panel_works_from_the_keyboard_alone(opened):
    here = opened("patients")
    page = here.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the rules"
    box = page.evaluate(
        "(() => { const r = document.activeElement.getBoundingClientRect(); return [r.left, r.top]; })()"
    )
    assert min(box) >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    columns = [f"field-{i}" for i in range(len(here.case.rules.columns))]
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if seen[-1] == columns[-1]:
            break
    assert [name for name in seen if name.startswith("field")] == columns
    page.locator("#field-0").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("101")
    assert page.text_content("#answer-class") == "died is died"
    page.get_by_role("button", name="Try this").first.focus()
    page.keyboard.press("Enter")
    assert page.text_content("#answer-class") == "died is survived"


@pytest.mark.parametrize("name", CASES)
def test_structure_names_and_headings(opened, name):
    page = opened(name).page
    assert page.locator("h1").count() == 1
    levels = [int(tag[1]) for tag in page.eval_on_selector_all("h1,h2,h3,h4", "all => all.map(h => h.tagName)")]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.get_attribute("html", "lang") == "en"
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1
    ids = page.eval_on_selector_all("[id]", "all => all.map(node => node.id)")
    assert len(ids) == len(set(ids))
    targets = page.eval_on_selector_all("a", "all => all.map(a => a.getAttribute('href'))")
    assert all(target.startswith("#") and target[1:] in ids for target in targets)
    pointed = page.eval_on_selector_all(
        "[aria-labelledby], label[for]",
        "all => all.map(n => n.getAttribute('aria-labelledby') || n.getAttribute('for'))",
    )
    assert set(pointed) <= set(ids)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, summary, a")].filter((node) => {
          const labels = node.labels ? [...node.labels].map((label) => label.textContent).join("") : "";
          return !(labels || node.textContent || node.getAttribute("aria-label") || "").trim();
        }).length"""
    )
    assert nameless == 0
    for table in page.locator("table").all():
        assert table.locator("caption").count() == 1
        assert table.locator("thead th:not([scope=col])").count() == 0
        assert table.locator("tbody tr").count() == table.locator("tbody th[scope=row]").count()
    assert page.locator("svg:not([role=img]), svg:not([aria-label]), .bar:not([aria-label])").count() == 0
    if name in INTERACTIVE:
        assert page.get_attribute("#answer", "aria-live") == "polite"


CONTRAST = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = rgb(getComputedStyle(node).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    throw new Error("no background");
  };
  const worst = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const front = rgb(node.tagName === "text" ? style.fill : style.color);
    const [a, b] = [light(front), light(behind(node))].sort((x, y) => y - x);
    worst.push([(a + 0.05) / (b + 0.05), walker.currentNode.data.trim().slice(0, 30)]);
  }
  return worst.sort((x, y) => x[0] - y[0])[0];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["patients", "certified", "bare"])
def test_text_stands_out_in_light_and_dark(opened, name, scheme):
    page = opened(name, color_scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    ratio, text = page.evaluate(CONTRAST)
    assert ratio >= 4.5, text
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("name", CASES)
def test_a_phone_needs_no_sideways_scrolling(opened, name):
    page = opened(name, viewport={"width": 360, "height": 740}).page
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    outside = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((node) => node.checkVisibility()
          && !node.closest(".scroll") && node.getBoundingClientRect().right > 361)
          .map((node) => node.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    # A table wider than the screen can be reached from the keyboard.
    page.wait_for_timeout(50)
    boxes = page.eval_on_selector_all(
        ".scroll", "all => all.map(box => [box.scrollWidth > box.clientWidth + 1, box.tabIndex === 0])"
    )
    assert all(wide == reached for wide, reached in boxes)


def test_on_a_phone_the_answer_stays_visible_beside_the_focus(opened):
    page = opened("patients", viewport={"width": 360, "height": 740}).page
    boxes = page.locator("[data-column]")
    for i in range(boxes.count()):
        boxes.nth(i).focus()
        page.wait_for_timeout(50)
        answer, focused = page.locator("#answer").bounding_box(), boxes.nth(i).bounding_box()
        assert answer["y"] >= 0
        assert answer["y"] + answer["height"] <= 741
        assert focused["y"] >= 0
        assert focused["y"] + focused["height"] <= answer["y"] or focused["y"] >= answer["y"] + answer["height"]


def test_on_paper_the_panel_is_gone_and_details_are_unfolded(opened):
    page = opened("patients").page
    assert page.locator("#class-0 .formal").is_hidden()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#try").is_hidden()
    assert page.get_by_role("navigation").is_hidden()
    assert page.locator("#class-0 .formal").is_visible()
    # Lists of rows would fill pages.
    assert page.locator("#rows .numbers-list").first.is_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0
    page.emulate_media(media="screen")
    assert page.locator("#try").is_visible()


@pytest.mark.parametrize("name", CASES)
def test_the_summary_fits_on_one_printed_page(opened, name):
    # A4 less the margins of the page, in CSS pixels.
    page = opened(name, viewport={"width": 688, "height": 1002}).page
    page.emulate_media(media="print")
    assert page.evaluate("document.getElementById('summary').getBoundingClientRect().bottom") <= 1002
    assert page.evaluate("getComputedStyle(document.getElementById('summary')).breakAfter") == "page"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_without_javascript_everything_but_the_panel_is_there(opened):
    page = opened("patients", java_script_enabled=False).page
    assert page.locator("#panel").is_hidden()
    assert "needs JavaScript" in page.inner_text("#try")
    assert page.locator(".card").count() == 5
    assert all(card.is_visible() for card in page.locator(".card").all())
    page.locator("#class-0 summary").click()
    assert page.locator("#class-0 table").first.is_visible()


def test_the_navigation_stays_and_marks_where_one_is(opened):
    page = opened("patients").page
    for name in ("rules", "try", "measured"):
        page.click(f"nav a[href='#{name}']")
        page.wait_for_selector(f"nav a[href='#{name}'][aria-current]")
        bar = page.get_by_role("navigation").bounding_box()
        assert bar["y"] == 0
        assert page.locator(f"#{name} h2").bounding_box()["y"] >= bar["height"]


def test_on_a_phone_the_navigation_shows_where_one_is(opened):
    page = opened("certified", viewport={"width": 390, "height": 844}).page
    names = page.eval_on_selector_all("nav a", "links => links.map((link) => link.hash.slice(1))")
    for name in (*names, *reversed(names)):
        page.evaluate("name => document.getElementById(name).scrollIntoView()", name)
        page.wait_for_timeout(60)
        marked = page.locator("nav a[aria-current]").bounding_box()
        assert marked["x"] >= 0
        assert marked["x"] + marked["width"] <= 390


@pytest.mark.parametrize("width", [360, 700, 1000, 1280])
def test_a_date_with_a_time_is_not_cut_off(opened, width):
    page = opened("dates", viewport={"width": width, "height": 900}).page
    # As wide as the text of the browser, which no script can read: 12/24/2021, 05:30:00 PM.
    for field in page.locator("[type=datetime-local]").all():
        assert field.bounding_box()["width"] >= 252
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_what_belongs_together_is_not_divided(opened):
    page = opened("certified").page
    page.emulate_media(media="print")

    def style(selector: str, name: str) -> set[str]:
        read = f"all => all.map((node) => getComputedStyle(node).{name})"
        return set(page.eval_on_selector_all(selector, read))

    assert style("h2, h3, h4, caption, thead, summary", "breakAfter") == {"avoid"}
    assert style("tbody tr:first-child", "breakBefore") == {"avoid"}
    assert style(".card, .tile, .chart, #training, pre, tr", "breakInside") == {"avoid"}


@pytest.mark.parametrize("name", CASES)
def test_tables_stack_on_a_phone(opened, name):
    page = opened(name, viewport={"width": 390, "height": 844}).page
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    bare = page.evaluate(
        """() => [...document.querySelectorAll("td")].filter((cell) => !cell.dataset.label
          || getComputedStyle(cell).display !== "flex").map((cell) => cell.outerHTML)"""
    )
    assert bare == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", CASES)
def test_axe_finds_nothing(opened, axe, name, scheme):
    page = opened(name, color_scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    assert [(violation["id"], violation["nodes"][0]["html"]) for violation in found] == []


# Machado, Oliveira and Fernandes (2009): what the three kinds of the colour-blind see, in linear RGB.
SEEN = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_class_colours_differ_for_the_colour_blind_and_stand_out(opened, scheme):
    page = opened("patients", color_scheme=scheme).page
    read = """() => ["paper", "raised", ...[...Array(8).keys()].map((i) => "c" + i)].map((name) =>
      getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim())"""
    texts = page.evaluate(read)
    channels = np.array([[int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)] for text in texts])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    light = linear @ [0.2126, 0.7152, 0.0722]
    for ground in light[:2]:
        ratio = (np.maximum(light[2:], ground) + 0.05) / (np.minimum(light[2:], ground) + 0.05)
        assert ratio.min() >= 3
    for seen in SEEN.values():
        lab = _lab(np.clip(linear[2:7] @ np.array(seen).T, 0, 1))
        apart = np.linalg.norm(lab[:, None] - lab[None], axis=2)
        assert apart[~np.eye(5, dtype=bool)].min() >= 10


def _lab(linear: Any) -> Any:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(linear @ to_xyz.T / [0.9505, 1.0, 1.089]).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


# Harm --------------------------------------------------------------------------------------------------------------


def test_markup_in_names_and_values_is_shown_and_never_run(opened):
    here = opened("hostile")
    page = here.page
    for row in raw_rows(here.case, 16, seed=5):
        page.evaluate(ENTER, entered(here.case, row))
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("svg[onload], [onerror]").count() == 0
    text = page.evaluate("document.body.textContent")
    for markup in map(readable, MARKUP):
        assert markup in text
        assert page.locator("li", has_text=markup).count() >= 1
    assert page.title() == here.result["title"]


def test_a_script_that_is_not_the_pages_own_is_refused(opened):
    here, blocked = opened("patients"), []
    here.page.on("requestfailed", lambda request: blocked.append((request.url, request.failure)))
    here.page.evaluate(
        """() => { const added = document.createElement("script"); added.textContent = "window.pwned = 3";
        document.body.append(added); const image = new Image(); image.src = "https://example.org/x.png"; }"""
    )
    here.page.wait_for_timeout(100)
    assert here.page.evaluate("window.pwned") is None
    assert any("Content Security Policy" in error for error in here.errors)
    assert blocked == [("https://example.org/x.png", "csp")]
    here.errors.clear()
    here.requests.clear()
