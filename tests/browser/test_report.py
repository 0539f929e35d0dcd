"""The report page in a real browser: its answers, its safety, and its accessibility."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from logiclens.formula.groups import Groups
from tests.report_cases import CASES, MARKUP, Case

INTERACTIVE = ["patients", "certified", "several_labels", "hostile", "one_formula", "in_order"]

# Reaches a pattern through the page's own boxes: all off, then on, in chains the weaker condition first.
SWITCH = """(order) => {
  document.getElementById("clear").click();
  for (const place of order) {
    const box = document.querySelector(`input[data-concept="${place}"]`);
    if (!box.checked) box.click();
  }
  const items = (block) => block.tagName === "OL" ? [...block.children].map((item) => item.textContent) : [];
  return {
    bits: [...document.querySelectorAll("input[data-concept]")]
      .sort((a, b) => a.dataset.concept - b.dataset.concept).map((box) => box.checked),
    answer: document.getElementById("answer-class").textContent,
    why: document.getElementById("answer-why").textContent,
    states: [...document.querySelectorAll("#cubes .state")].map((state) => state.textContent),
    flips: [...document.getElementById("flips").children].filter((block) => block.tagName !== "H4").map(items),
  };
}"""


def patterns(case: Case, many: int, seed: int) -> Any:
    """Possible rows, drawn at random."""
    drawn = np.random.default_rng(seed).integers(0, 2, (40 * many, len(case.concepts))).astype(bool)
    return np.unique(drawn[case.rules.groups.allows(drawn, case.concepts)], axis=0)[:many]


def order_of(row: Any, case: Case) -> list[int]:
    place = {name: i for i, name in enumerate(case.concepts)}
    rank = {name: i for chain in case.rules.groups.implied for i, name in enumerate(chain)}
    return sorted((place[n] for n in case.concepts if row[place[n]]), key=lambda i: rank.get(case.concepts[i], 0))


def answers_of(case: Case, rows: Any) -> list[Any]:
    """What the rules say of Boolean rows: a name, or for several labels a row the tuple of them."""
    table = {name: column.astype(float) for name, column in zip(case.concepts, rows.T, strict=True)}
    rules = replace(case.rules, predicates={})
    said = rules.predict(table)
    if rules.multilabel:
        return [tuple(map(bool, row)) for row in said]
    return ["undecided" if answer is None else str(answer) for answer in said]


def shown(case: Case, answer: Any) -> str:
    """An answer as the panel prints it."""
    if not case.rules.multilabel:
        return str(answer)
    given = [name for name, yes in zip(case.rules.names, answer, strict=True) if yes]
    return "none" if not given else given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"


def words(result: dict[str, Any], place: int, holds: bool) -> str:
    return str(result["concepts"][place]["words" if holds else "words_not"])


def said_by(one: tuple[int, bool], other: tuple[int, bool], names: tuple[str, ...], groups: Groups) -> bool:
    """Whether a change follows from another: tried on every row of the two concepts that the groups allow."""
    (i, held), (j, wanted) = one, other
    grid = np.array([[a, b] for a in (False, True) for b in (False, True)])
    allowed = grid[groups.allows(grid, [names[i], names[j]])]
    return bool((allowed[allowed[:, 0] == held][:, 1] == wanted).all())


def flips_of(case: Case, result: dict[str, Any], row: Any, of: int | None) -> list[str]:
    """By brute force: the minimal sets of up to three changes, fewest first, as sentences."""
    names, found = case.concepts, []

    def answer(rows: Any) -> list[Any]:
        said = answers_of(case, rows)
        return said if of is None else ["yes" if labels[of] else "no" for labels in said]

    before = answer(row[None])[0]
    for many in (1, 2, 3):
        if len(found) >= 5:
            break
        sets = list(combinations(range(len(names)), many))
        changed = np.array([[bit ^ (i in chosen) for i, bit in enumerate(row)] for chosen in sets]).reshape(
            -1, len(names)
        )
        after, allowed = answer(changed), case.rules.groups.allows(changed, names)
        found += [
            (set(chosen), told)
            for chosen, told, fine in zip(sets, after, allowed, strict=True)
            if fine and told != before and not any(smaller <= set(chosen) for smaller, _ in found)
        ]
    sentences = []
    for chosen, told in found[:5]:
        changes = [(i, not row[i]) for i in sorted(chosen)]
        kept = [c for c in changes if not any(said_by(o, c, names, case.rules.groups) for o in changes if o != c)]
        sentences.append(f"If {' and '.join(words(result, i, bool(held)) for i, held in kept)}: {told}")
    return sentences


# What it answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INTERACTIVE)
def test_switching_conditions_answers_as_the_rules_do(opened, name):
    here = opened(name)
    rows = patterns(here.case, 60, seed=1)
    for row, answer in zip(rows, answers_of(here.case, rows), strict=True):
        got = here.page.evaluate(SWITCH, order_of(row, here.case))
        assert got["bits"] == row.tolist()
        assert got["answer"] == shown(here.case, answer)


@pytest.mark.parametrize("name", [*INTERACTIVE, "large"])
def test_what_would_change_the_answer_is_what_brute_force_finds(opened, name):
    here = opened(name)
    multilabel = here.case.rules.multilabel
    for row in patterns(here.case, 5 if name == "large" else 25, seed=2):
        got = here.page.evaluate(SWITCH, order_of(row, here.case))["flips"]
        heads = range(len(here.case.rules.rules)) if multilabel else [None]
        assert got == [flips_of(here.case, here.result, row, of) for of in heads]


@pytest.mark.parametrize("name", INTERACTIVE)
def test_each_cube_says_whether_it_fires_and_what_it_lacks(opened, name):
    here = opened(name)
    place = {concept: i for i, concept in enumerate(here.case.concepts)}
    rules = here.case.rules
    cubes = [(k, cube) for k, rule in enumerate(rules.rules) for cube in rule.cubes]
    # A complement has a confidence and no cube.
    trust = [c for rule in rules.rules for _, c in zip(rule.cubes, rule.confidence, strict=False)]
    for row in patterns(here.case, 25, seed=3):
        got = here.page.evaluate(SWITCH, order_of(row, here.case))
        lacks = [[lit for lit in cube if row[place[lit.concept]] != lit.positive] for _, cube in cubes]
        fired = [i for i, failing in enumerate(lacks) if not failing]
        decides = [i for i in fired if trust[i] == max(trust[j] for j in fired)][:1]
        if rules.resolve == "order":
            decides = sorted(fired, key=lambda i: rules.order.index(cubes[i][0]))[:1]
        if rules.resolve == "none":
            decides = fired[:1] if len({cubes[i][0] for i in fired}) == 1 else []
        if here.case.rules.multilabel:
            decides = []
        for i, (state, failing) in enumerate(zip(got["states"], lacks, strict=True)):
            if failing:
                assert state.startswith("✗ does not fire: ")
                for literal in failing:
                    assert words(here.result, place[literal.concept], not literal.positive) in state
            else:
                assert state == ("✓ fires and decides" if i in decides else "✓ fires")
        if decides and not here.case.rules.multilabel:
            for literal in cubes[decides[0]][1]:
                assert words(here.result, place[literal.concept], literal.positive) in got["why"]


def test_an_impossible_combination_is_put_right_and_said(opened):
    here = opened("patients")
    page = here.page
    page.click("#clear")
    page.get_by_label("age is at least 78").check()
    assert page.get_by_label("age is at least 66").is_checked()
    assert page.text_content("#fixed") == "So that such a row can exist, also: age is at least 66."
    page.get_by_label("age is at least 66").uncheck()
    assert not page.get_by_label("age is at least 78").is_checked()
    assert page.text_content("#fixed") == "So that such a row can exist, also: age is below 78 (or missing)."
    page.get_by_label("smoker is true").check()
    assert page.text_content("#fixed") == ""


def test_of_an_exclusive_group_one_condition_goes_when_another_comes(opened):
    from logiclens.report import read_result, render
    from tests.report_cases import patients, result_of

    here = opened("several_labels")
    result = result_of(patients(30))
    result["exclusive"] = [["unit is CCU", "smoker", "sepsis"]]
    # Beyond what a chain says, it now also makes two excluded conditions true at once.
    result["implied"] = [["age >= 66", "age >= 78"], ["unit is CCU", "bmi >= 30"], ["smoker", "bmi >= 30"]]
    page = here.page
    here.url = "about:blank"
    here.requests.clear()
    page.set_content(render(read_result(result)))
    page.click("#clear")
    page.get_by_label("unit is CCU").check()
    page.get_by_label("smoker is true").check()
    assert not page.get_by_label("unit is CCU").is_checked()
    assert page.text_content("#fixed") == "So that such a row can exist, also: unit is not CCU."
    page.get_by_label("bmi is at least 30").click()
    assert not page.get_by_label("bmi is at least 30").is_checked()
    assert page.text_content("#fixed").startswith("Nothing was changed: bmi is at least 30 contradicts")


# Rows --------------------------------------------------------------------------------------------------------------


def test_a_row_is_picked_by_its_number_and_told(opened):
    here = opened("patients")
    page = here.page
    for entry in here.result["rows"][40:80:7]:
        page.fill("#row-search", str(entry["row"]))
        page.select_option("#row-select", label=page.locator("#row-select option").first.text_content())
        assert f"Row {entry['row']} is truly {entry['label']}." in page.text_content("#row-info")
        assert f"The network says {entry['network']}, the rules say {entry['rules']}." in page.text_content("#row-info")
        assert page.text_content("#answer-class") == entry["rules"]
        checked = page.eval_on_selector_all(
            "input[data-concept]",
            "boxes => boxes.sort((a, b) => a.dataset.concept - b.dataset.concept).map(b => +b.checked).join('')",
        )
        assert checked == entry["bits"]


def test_every_row_gets_the_answer_that_the_rules_gave_it(opened):
    for name in INTERACTIVE:
        here = opened(name)
        said = here.page.evaluate(
            """() => [...document.getElementById("row-select").options].map((option) => {
              const list = document.getElementById("row-select");
              list.value = option.value;
              list.dispatchEvent(new Event("change"));
              return document.getElementById("answer-class").textContent;
            })"""
        )
        assert [text.replace(" and ", ", ") for text in said] == [row["rules"] for row in here.result["rows"]]


def test_rows_can_be_filtered_and_return_after_a_change(opened):
    here = opened("patients")
    page, rows = here.page, here.result["rows"]

    def numbers() -> list[int]:
        texts = page.locator("#row-select option").all_text_contents()
        return [int(re.match(r"row (\d+):", text).group(1)) for text in texts]

    assert numbers() == [row["row"] for row in rows]
    page.select_option("#row-kind", "wrong")
    wrong = [row["row"] for row in rows if row["label"] != row["rules"]]
    assert numbers() == wrong
    assert page.text_content("#row-found") == f"{len(wrong)} rows found"
    assert page.text_content("#row-info").startswith(f"Row {wrong[0]} ")
    page.select_option("#row-kind", "differ")
    assert numbers() == [row["row"] for row in rows if row["network"] != row["rules"]]
    page.select_option("#row-kind", "all")
    page.fill("#row-search", "12")
    assert numbers() == [row["row"] for row in rows if str(row["row"]).startswith("12")]
    before = page.text_content("#answer-why")
    page.click("#clear")
    assert "You have changed" in page.text_content("#row-info")
    page.click("#reset")
    assert "You have changed" not in page.text_content("#row-info")
    assert page.text_content("#answer-why") == before
    page.fill("#row-search", "no such row")
    assert page.text_content("#row-found") == "0 rows found"
    assert page.locator("#row-select").is_disabled()


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
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.dataset.concept || ''"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if seen[-1] == "0":
            break
    assert [name for name in ("row-search", "row-kind", "row-select", "reset", "clear") if name in seen] == [
        "row-search", "row-kind", "row-select", "reset", "clear",
    ]  # fmt: skip
    before = page.locator("input[data-concept='0']").is_checked()
    page.keyboard.press("Space")
    assert page.locator("input[data-concept='0']").is_checked() != before
    assert "You have changed" in page.text_content("#row-info")
    page.locator("#row-select").focus()
    page.keyboard.press("ArrowDown")
    assert page.text_content("#row-info").startswith(f"Row {here.result['rows'][1]['row']} ")


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
    boxes = page.locator("input[data-concept]")
    for i in range(1, boxes.count()):
        # The box comes up at the lower edge of the screen, where the answer is.
        boxes.nth(i - 1).evaluate("box => box.focus({ preventScroll: true })")
        boxes.nth(i).evaluate("box => window.scrollBy(0, box.getBoundingClientRect().bottom - innerHeight + 4)")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.wait_for_timeout(50)
        answer, focused = page.locator("#answer").bounding_box(), boxes.nth(i).bounding_box()
        assert answer["y"] >= 0
        assert answer["y"] + answer["height"] <= 741
        assert focused["y"] >= 0
        assert focused["y"] + focused["height"] <= answer["y"]


def test_on_paper_the_panel_is_gone_and_everything_is_unfolded(opened):
    page = opened("patients").page
    assert page.locator("#rows .numbers-list").first.is_hidden()
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#try").is_hidden()
    assert page.get_by_role("navigation").is_hidden()
    assert page.locator("#rows .numbers-list").first.is_visible()
    assert page.locator("#relevance details").first.is_hidden()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.querySelectorAll('details[open]').length") == 0
    page.emulate_media(media="screen")
    assert page.locator("#try").is_visible()
    paper = page.pdf(format="A4")
    assert paper.startswith(b"%PDF")


def test_without_javascript_everything_but_the_panel_is_there(opened):
    page = opened("patients", java_script_enabled=False).page
    assert page.locator("#panel").is_hidden()
    assert "needs JavaScript" in page.inner_text("#try")
    assert page.locator("#class-0 table").first.is_visible()


# Harm --------------------------------------------------------------------------------------------------------------


def test_markup_in_names_and_values_is_shown_and_never_run(opened):
    here = opened("hostile")
    page = here.page
    for row in patterns(here.case, 16, seed=5):
        page.evaluate(SWITCH, order_of(row, here.case))
    page.wait_for_timeout(100)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("svg[onload], [onerror]").count() == 0
    text = page.evaluate("document.body.textContent")
    for markup in MARKUP:
        assert markup in text
        assert page.locator("li", has_text=markup).count() >= 1
    assert page.title() == here.result["title"]
    # Also where matplotlib draws: neither TeX nor markup.
    drawn = page.locator(".chart text").all_text_contents()
    assert MARKUP[0] in drawn
    assert any("$\\frac{1}{0}$" in label for label in drawn)


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
