"""Cases for all exports: a table with boundary and missing values, and rule sets of every kind."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from logiclens.formula import DNF, Complement, Cube, Literal
from logiclens.formula.date_parts import DatePart
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.rules import FoundAgain
from tests.strategies import dnfs

CUTS = (0.1, 0.7, 1 / 3, 72.5, -0.0, -1.25, 1e-7, 1e22, 0.30000000000000004, 16777217.0, 2.0**-14 * (1 + 2.0**-23))
NASTY = 'x"; DROP TABLE t;--'
NASTY_TEXT = "it's; DROP\\ \n%s ? :name $1 年"

PREDICATES = {
    "old": Predicate("age", ">=", 72.5),
    "older": Predicate("age", ">", 72.5),
    "young": Predicate("age", "<=", 72.5),
    "child": Predicate("age", "<", 60),
    "sixty": Predicate("age", "==", 60),
    "dosed": Predicate("dose", ">=", 0.1),
    "over a third": Predicate("dose", ">", 1 / 3),
    "traces": Predicate("dose", "<", 1e-7),
    "absurd": Predicate("dose", ">=", 1e22),
    "none": Predicate("dose", "<=", -0.0),
    "a tenth": Predicate("dose", "==", 0.1),
    "many": Predicate("count", ">", 3),
    "few": Predicate("count", "<=", 2.5),
    "flag": Predicate("flag", "==", True),
    "no flag": Predicate("flag", "==", False),
    "in MICU": Predicate("unit", "==", "MICU"),
    "in a nasty unit": Predicate("unit", "==", NASTY_TEXT),
    "nasty": Predicate(NASTY, "<", 0.5),
    "from March": Predicate("admitted", ">=", "2021-03-01"),
    "after its first midnight": Predicate("admitted", ">", "2021-03-01"),
    "up to half past twelve": Predicate("admitted", "<=", "2021-03-01T12:30"),
    "before half a second past": Predicate("admitted", "<", "2021-03-01 12:30:00.5"),
    "before April": Predicate("admitted", "<", "2021-04-01T00:00"),
    "born on a leap day or later": Predicate("born", ">=", "2000-02-29"),
    "born up to a leap day": Predicate("born", "<=", "2000-02-29"),
    "born past noon": Predicate("born", ">", "2000-02-29 12:00"),
    "no age": Predicate("age", "missing"),
    "no count": Predicate("count", "missing"),
    "flag unknown": Predicate("flag", "missing"),
    "no unit": Predicate("unit", "missing"),
    "no date": Predicate("admitted", "missing"),
    "no lab": Predicate("lab", "missing"),
    "no note": Predicate("note", "missing"),
    "no smoker": Predicate("smoker", "missing"),
}
CONCEPTS = (*PREDICATES, "smoker", "\\ % ? :name 年\n'")
"""The last two are columns themselves."""


def around(*cuts: float) -> list[float]:
    """Each cut, the float64 before and after it, and the float32 nearest to it."""
    return [
        value
        for cut in cuts
        for value in (cut, math.nextafter(cut, math.inf), math.nextafter(cut, -math.inf), float(np.float32(cut)))
    ]


VALUES: dict[str, list[Any]] = {
    "age": [*around(72.5, 60.0), 12.0, math.inf, -math.inf, None, None, math.nan],
    "dose": [*around(0.1, 1 / 3, 1e-7, 1e22), 0.0, -0.0, -5e-324, None, math.nan],
    "count": [0, 2, 3, 4, 1_000_000, None],
    "flag": [True, False, None],
    "unit": ["MICU", NASTY_TEXT, "micu", "MICU ", "CCU", None],
    NASTY: [*around(0.5), None, math.nan],
    "admitted": [
        "2021-02-28",
        "2021-02-28 23:59:59.999999",
        "2021-03-01",
        "2021-03-01 00:00",
        "2021-03-01T00:00:00.000001",
        "2021-03-01T12:30",
        "2021-03-01 12:30:00",
        "2021-03-01T12:30:00.000001",
        "2021-03-01 12:30:00.5",
        "2021-03-01T12:30:00.500000",
        "2021-03-01 12:30:00.51",
        "2021-03-31T23:59",
        "2021-04-01",
        "1969-07-20T20:17",
        None,
    ],
    "born": ["2000-02-28", "2000-02-29", "2000-03-01", "1899-12-31", None],
    "lab": [0.0, -1.5, math.inf, None, math.nan],
    "note": ["", "missing", "None", "x", None],
    "smoker": [*around(0.5), 0.0, 1.0, None, math.nan],
    CONCEPTS[-1]: [0.0, 1.0, None],
}


def table(n_rows: int) -> dict[str, list[Any]]:
    """Rows in which every value of a column meets many of the others'."""
    draw = random.Random(7)
    return {
        column: [values[row] if row < len(values) else draw.choice(values) for row in range(n_rows)]
        for column, values in VALUES.items()
    }


def rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


LABELS: tuple[tuple[Any, ...], ...] = (
    ("ill", "it's; DROP\\ \n%s ? :name 年", "well", "'"),
    (0, 1, -2, 10**12),
    (True, False),
    (0.1, -1.5, 1 / 3, 1e22),
)


@st.composite
def rule_sets(draw: st.DrawFn, concepts: tuple[str, ...] = CONCEPTS, multilabel: bool | None = None) -> RuleSet:
    """Formulas that are often true together, constants, equal confidences, counted or not, every way to resolve."""
    labels = draw(st.sampled_from(LABELS))
    used = draw(st.lists(st.sampled_from(concepts), min_size=1, max_size=5, unique=True))
    rules, bags = [], draw(st.sampled_from([0, 10]))
    for label in labels[: draw(st.integers(1, len(labels)))]:
        formula = draw(dnfs(used, max_cubes=3) | st.sampled_from([DNF.true, DNF.false]))
        confidence = draw(st.lists(st.sampled_from([0.5, 0.8, 0.9]), min_size=len(formula), max_size=len(formula)))
        counts = draw(st.lists(st.integers(0, bags), min_size=len(formula), max_size=len(formula))) if bags else []
        again = dict(zip(formula, map(FoundAgain, counts), strict=False))
        rules.append(Rule(label, formula, tuple(confidence), again, bags))
    resolve = draw(st.sampled_from(["order", "confidence", "none"]))
    several = draw(st.booleans()) if multilabel is None else multilabel
    if not several and draw(st.sampled_from([False, False, True])):
        place = draw(st.integers(0, 1))
        pair = [rules[0], Rule(labels[1], Complement(rules[0].formula), (draw(st.sampled_from([0.1, 0.9])),))]
        return RuleSet(tuple(pair if place else reversed(pair)), PREDICATES, resolve=resolve, otherwise=place)
    ordered = resolve == "order" and not several
    return RuleSet(
        tuple(rules),
        PREDICATES,
        resolve=resolve,
        otherwise=draw(st.none() | st.integers(0, len(rules) - 1)),
        multilabel=several,
        order=tuple(draw(st.permutations(range(len(rules))))) if ordered else (),
    )


@dataclass(frozen=True)
class Typed:
    """A value beside its type, since 1, 1.0 and True are equal."""

    value: Any
    kind: str

    @classmethod
    def of(cls, value: Any) -> Typed:
        return cls(value, type(value).__name__)


def expected_classes(rules: RuleSet, columns: dict[str, list[Any]]) -> list[Any]:
    """The classes that the rules predict, as Python's own values."""
    return [getattr(label, "tolist", lambda label=label: label)() for label in rules.predict(columns)]


def _dates(n_rows: int) -> dict[str, list[Any]]:
    """Pairs of dates as texts: some missing, before 1970, in leap years, at the ends of days, months and years."""
    rng = random.Random(5)
    edges = ["1600-02-29 23:59:59.999999", "1899-12-31 00:00:00", "1969-12-31 23:59:59", "1970-01-01 00:00:00",
             "2000-02-29 12:00:00", "2024-02-29 18:00:00", "2023-12-31 23:00:00", "2024-03-02 05:59:59"]  # fmt: skip
    begun: list[str | None] = [*edges, None]
    begun += [
        f"{rng.randint(1800, 2100)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02} {rng.randint(0, 23):02}:30:00"
        for _ in range(n_rows)
    ]
    ended = []
    for cell in begun:
        day = np.datetime64("2024-02-28" if cell is None else cell[:10]) + rng.choice(
            [-400, -1, 0, 1, 2, 3, 4, 31, 366]
        )
        ended.append(None if rng.random() < 0.1 else str(day))
    return {"begun": begun, "ended": ended}


DATES = _dates(200)
PART_PREDICATES = tuple(
    Predicate(part.name, operator, value, part)
    for part, values in (
        (DatePart("month", ("begun",)), (1, 2, 3, 12)),
        (DatePart("weekday", ("begun",)), (1, 2, 6, 7)),
        (DatePart("weekday", ("ended",)), (6,)),
        (DatePart("hour", ("begun",)), (0, 6, 18, 23.0)),
        (DatePart("days", ("begun", "ended")), (-1, 0, 2.5, 3, 366)),
        (DatePart("days", ("ended", "begun")), (-2, 1)),
    )
    for value in values
    for operator in (">=", ">", "<=", "<", "==")
)


DATE_TEXTS = [
    "2021-03-01", "2020-02-29", " 2021-03-01 ", "2021-03-01\n", "2021-03-01T12:30", "2021-03-01 12:30:00.5",
    "2021-13-45", "2021-02-29", "2021-02-30", "0000-01-01", "2021-03-01t12:30", "2021-03-01T12:30Z",
    "2021-03-01T00:30+01:00", "2021-02-28T23:30-05:00", "2021-03-01T00:30:00.5+02:00", "2021-03-01T00:30 UTC",
    "2021-03-01T25:00", "2021-03-01T12:60", "2021-03-01T12:30:60", "2021-03-01T12:30:59.1234567",
    "2021-03-01T12:30:59.", "2021-03-01T12", "2021-03-01T", "2021-03-01  12:30", "２０２１-03-01", "20210301",
    "2021-W09-1", "2021-3-1", "2021-03", "2021/03/01", "2021-03-01x", "2021-03-0111", "2021-03-01T1:30",
    "12021-03-01", "2021-03--1", "2021-+3-01",
]  # fmt: skip
"""Texts that look like dates, of which few are some."""


def one_predicate(predicate: Predicate) -> RuleSet:
    """Rules that say yes exactly where a predicate holds."""
    formula = DNF([Cube([Literal("c")])])
    return RuleSet(
        (Rule("yes", formula, (0.9,)), Rule("no", Complement(formula), (0.8,))), {"c": predicate}, otherwise=1
    )
