"""Doors of pages: reports and notebook fragments with hostile names hold no script and no handler from data."""

from __future__ import annotations

import json
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
from hypothesis import strategies as st

from logiclens.formula.rule_set import RuleSet
from logiclens.render.html import rules_html
from logiclens.report import read_result, render
from logiclens.words import readable
from tests.fuzz import exports, hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.report_cases import Case, result_of

Document = dict[str, Any]
ACTIVE = ("src", "srcset", "action", "formaction", "data", "xlink:href", "href", "srcdoc")

# Cases ---------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw rules of two classes over three columns, and the texts around them, all of them hostile."""
    texts = draw(st.lists(hostile.names(), min_size=9, max_size=9, unique=True))
    return {"texts": texts, "seed": draw(st.integers(0, 1000)), "cubes": draw(st.integers(1, 7))}


def notebook_cases() -> st.SearchStrategy[Document]:
    """Draw a rule set as the door of exports does."""
    return exports.cases()


# Checks --------------------------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The tags of a page, its event handlers, what its attributes load, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self.loads: list[str] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        active = [value or "" for name, value in attrs if name in ACTIVE]
        self.loads += [value for value in active if not value.startswith(("#", "data:image/"))]
        if tag == "script":
            self.scripts.append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[-1] += data


def _record(texts: list[str], n_cubes: int) -> Document:
    """Rules of two classes over a number, a text and a column of its own, named by the texts."""
    number, word, bare, value, *concepts, first, second = texts[:8]
    predicates = {
        concepts[0]: {"column": number, "operator": ">=", "value": 2.5},
        concepts[1]: {"column": word, "operator": "==", "value": value},
    }
    cubes = [{concepts[0]: True}, {concepts[1]: False, bare: True}, {bare: False}][: 1 + n_cubes % 3]
    return {
        "kind": "logiclens rules", "schema": 2, "predicates": predicates, "exclusive": [], "implied": [],
        "classes": [
            {"class": first, "cubes": [{"if": cube, "confidence": 0.5} for cube in cubes]},
            {"class": second, "complement_of": 0, "confidence": 0.5} if n_cubes > 3 else
            {"class": second, "cubes": [{"if": {concepts[0]: False}, "confidence": 0.75}]},
        ],
        "resolve": "order", "otherwise": 1, "multilabel": False, "order": [0] if n_cubes > 3 else [1, 0],
    }  # fmt: skip


def _result(texts: list[str], seed: int, n_cubes: int) -> Document | Refused:
    rules = attempt(RuleSet.from_dict, _record(texts, n_cubes))
    if isinstance(rules, Refused):
        return rules
    rng, (number, word, bare, value) = np.random.default_rng(seed), texts[:4]
    table = {
        number: rng.integers(0, 6, 12).astype(float).tolist(),
        word: rng.choice(np.array([value, "other"], dtype=object), 12).tolist(),
        bare: rng.integers(0, 2, 12).tolist(),
    }
    labels = rng.choice(np.array(rules.names, dtype=object), 12).tolist()
    made = result_of(Case(rules, table, labels, labels))
    made["title"] = made["command"] = made["data"]["name"] = made["data"]["target"] = texts[8]
    made["data"]["dropped"] = [{"column": texts[8], "reason": texts[7]}]
    content: Document = json.loads(json.dumps(made))
    return content


@cache
def _plain() -> Page:
    """The page of the same result with harmless names: no other page has other tags."""
    content = _result([f"name{at}" for at in range(9)], 0, 3)
    assert isinstance(content, dict)
    return Page(render(read_result(content)))


def check(case: Document, place: Place) -> Outcome:
    """Render the report and compare its tags, scripts and data with those of a harmless one."""
    content = _result(case["texts"], case["seed"], case["cubes"])
    result = content if isinstance(content, Refused) else attempt(read_result, content)
    if isinstance(result, Refused):
        return Outcome.refused
    text = attempt(render, result)
    if isinstance(text, Refused):
        return Outcome.refused
    check_page(text, _plain())
    page = Page(text)
    island, script = page.scripts
    data = json.loads(island)
    if script != _plain().scripts[1]:
        raise Failure("the script of a report depends on its data")
    # What the script shows is escaped as the rest of the page is: it must not reverse the order of a sentence.
    if not set(map(readable, case["texts"][6:8])) <= {*_texts(data)}:
        raise Failure("the data of a report lacks the name of a class")
    return Outcome.agreed


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in (*value, *value.values()) for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def check_page(text: str, plain: Page) -> None:
    """Fail if a page has tags, handlers, scripts or control characters that a harmless one does not have."""
    page = Page(text)
    if page.handlers:
        raise Failure("a page has an event handler", str(page.handlers))
    if extra := page.tags - plain.tags - {"ul", "ol", "li", "p", "em", "strong", "code", "span", "br", "details"}:
        raise Failure("a page has tags from its data", str(sorted(extra)))
    if len(page.scripts) != len(plain.scripts):
        raise Failure("a page has a script from its data")
    if extra_loads := set(page.loads) - set(plain.loads):
        raise Failure("a page loads what its data names", str(sorted(extra_loads)[:3]))
    raw = [character for character in text if (character < " " and character not in "\t\n\r") or character == "\x7f"]
    if raw:
        raise Failure("a page holds a raw control character", repr(raw[0]))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Failure("a page cannot be written as UTF-8", str(error)) from None


@cache
def _plain_notebook() -> Page:
    rules = RuleSet.from_dict(_record([f"name{at}" for at in range(9)], 3))
    return Page(rules_html(rules))


def check_notebook(case: Document, place: Place) -> Outcome:
    """Render a rule set as a notebook shows it."""
    rules = attempt(RuleSet.from_dict, case["rules"])
    text = rules if isinstance(rules, Refused) else attempt(rules_html, rules)
    if isinstance(text, Refused):
        return Outcome.refused
    check_page(text, _plain_notebook())
    return Outcome.agreed
