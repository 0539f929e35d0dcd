"""Possible rows of rules, listed one by one, and what sentences of the product say of them.

Every column takes each value that some condition tells apart, so that a property of rules holds on all rows if it holds
on these. That is slow, needs no solver, and shares no code with the product.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tests.fuzz.samples import COMPARE, Row, cube_holds, fired, literal_holds

Record = Mapping[str, Any]
MOST_ROWS = 20_000


def conditions(rules: Record) -> dict[str, Record]:
    """The predicate of each concept that the rules know or their formulas use."""
    used = (concept for entry in rules["classes"] for cube in entry.get("cubes", ()) for concept in cube["if"])
    own = {concept: {"column": concept, "operator": ">=", "value": 0.5, "bare": True} for concept in used}
    return {**own, **rules["predicates"]}


def columns(rules: Record) -> list[str]:
    """The raw columns that the rules know."""
    named = (name for meant in conditions(rules).values() for name in sources(meant))
    return list(dict.fromkeys(named))


def sources(meant: Record) -> list[str]:
    """The raw columns of a predicate."""
    return list(meant["origin"]["columns"]) if "origin" in meant else [meant["column"]]


def asks_parts(rules: Record) -> bool:
    """Whether rules ask for parts of dates, of which `rows` lists not all."""
    return any("origin" in meant for meant in conditions(rules).values())


def values(rules: Record, column: str, *, missing: bool = True) -> list[Any]:
    """The values of a column that its conditions tell apart; a missing one if a condition asks for it."""
    about = [meant for meant in conditions(rules).values() if column in sources(meant)]
    compared = [meant["value"] for meant in about if meant["operator"] != "missing" and "origin" not in meant]
    found: list[Any] = []
    if any(meant.get("bare") for meant in about) or any(isinstance(value, bool) for value in compared):
        found = [False, True]
    elif any("origin" in meant for meant in about) or any(
        isinstance(meant["value"], str) and meant["operator"] in (">=", ">", "<=", "<") for meant in about
    ):
        moments = [datetime.fromisoformat(value) for value in compared] or [datetime(2021, 5, 14)]
        steps = (timedelta(days=-40), timedelta(seconds=-1), timedelta(), timedelta(seconds=1), timedelta(days=3))
        found = [moment.isoformat() for moment in sorted({one + step for one in moments for step in steps})]
    elif any(isinstance(value, str) for value in compared):
        found = [*dict.fromkeys(compared), "".join(map(str, compared)) + "?"]
    elif compared:
        found = sorted({value + step for value in compared for step in (-0.25, 0, 0.25)})
    else:
        found = ["any"]
    return [*found, *[None] * (missing and any(meant["operator"] == "missing" for meant in about))]


def rows(rules: Record, *, also: Sequence[str] = ()) -> tuple[list[Row], bool]:
    """Rows that are possible, and whether these are all that can be told apart.

    Args:
        rules: the record of the rules.
        also: further columns that are true or false.
    """
    cells = {column: values(rules, column) for column in columns(rules)}
    cells |= {column: [False, True] for column in also if column not in cells}
    total = 1
    for some in cells.values():
        total *= len(some)
    if total <= MOST_ROWS:
        made = [dict(zip(cells, row, strict=True)) for row in itertools.product(*cells.values())]
    else:
        chosen = random.Random(0)
        made = [{column: chosen.choice(some) for column, some in cells.items()} for _ in range(1000)]
    return [row for row in made if allowed(rules, row)], total <= MOST_ROWS and not asks_parts(rules)


def allowed(rules: Record, row: Row) -> bool:
    """Whether the groups that the rules declare allow a row."""

    def holds(concept: str) -> bool:
        try:
            return literal_holds(rules, concept, row)
        except KeyError:
            return False

    if any(sum(map(holds, group)) > 1 for group in rules["exclusive"]):
        return False
    chains = [[holds(concept) for concept in chain] for chain in rules["implied"]]
    return all(before or not after for chain in chains for before, after in itertools.pairwise(chain))


def cubes_of(rules: Record, place: int) -> list[Record]:
    """The rules of a class; those of the other class if it is the complement of one."""
    entry = rules["classes"][place]
    return list(rules["classes"][entry.get("complement_of", place)]["cubes"])


# Properties ----------------------------------------------------------------------------------------------------------


def mentions(rules: Record, place: int, name: str) -> bool:
    """Whether a rule of a class mentions a column or a concept."""
    known = conditions(rules)
    used = {concept for cube in cubes_of(rules, place) for concept in cube["if"]}
    return any(name == concept or name in sources(known[concept]) for concept in used)


def rises(rules: Record, place: int, column: str, *, increasing: bool = True) -> bool:
    """Whether a higher value of a column, or a lower one, never makes the formula of a class fail that held."""
    steps = values(rules, column, missing=False) if column in columns(rules) else []
    steps = steps if increasing else steps[::-1]
    for row in rows(rules)[0]:
        ladder = [{**row, column: value} for value in steps]
        answers = [fired(rules, one)[place] for one in ladder if allowed(rules, one)]
        if answers != sorted(answers):
            return False
    return True


def implied(rules: Record, place: int, formula: Sequence[Mapping[str, bool]]) -> bool:
    """Whether a formula, given as cubes, holds wherever that of a class does."""
    known = conditions(rules)
    also = [concept for cube in formula for concept in cube if concept not in known]
    return all(
        any(cube_holds(rules, {"if": cube}, row) for cube in formula)
        for row in rows(rules, also=also)[0]
        if fired(rules, row)[place]
    )


def meet(rules: Record, places: Sequence[int]) -> bool:
    """Whether the formulas of two of these classes hold of one row."""
    return any(sum(fired(rules, row)[place] for place in places) > 1 for row in rows(rules)[0])


# Sentences -----------------------------------------------------------------------------------------------------------

_NUMBER = r"-?[0-9][0-9.,]*(?:e[+-]?[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9:.]+)?"
_FORMS = (
    (rf"at least ({_NUMBER}|{_DATE})", ">="), (rf"below ({_NUMBER}|{_DATE})", "<"),
    (rf"above ({_NUMBER}|{_DATE})", ">"), (rf"at most ({_NUMBER}|{_DATE})", "<="),
    (rf"({_DATE}) or later", ">="), (rf"before ({_DATE})", "<"), (rf"after ({_DATE})", ">"),
    (rf"({_DATE}) or earlier", "<="),
)  # fmt: skip


class Unreadable(ValueError):
    """A sentence that is not of a form which the product has."""


def says(sentence: str, row: Row) -> bool:
    """Whether what a sentence such as `unit is not MICU and age is at least 60` says is so in a row."""
    column, holds = None, True
    for part in sentence.split(" and "):
        named = next((name for name in sorted(row, key=len, reverse=True) if part.startswith(f"{name} is ")), None)
        ranged = next((name for name in row if part.startswith(f"{name} from ")), None)
        column = named or ranged or column
        if column is None:
            raise Unreadable(sentence)
        said = part if not (named or ranged) else part[len(column) + (4 if named else 1) :]
        holds &= _said(said, row[column])
    return holds


def _said(said: str, cell: Any) -> bool:
    if said in ("missing", "not missing"):
        return (cell is None) == (said == "missing")
    if said.endswith(" (or missing)"):
        return cell is None or _said(said.removesuffix(" (or missing)"), cell)
    if said.startswith("not "):
        return not _said(said.removeprefix("not "), cell)
    if said.startswith("neither "):
        return not any(_said(one, cell) for one in re.split(", | nor ", said.removeprefix("neither ")))
    for form, sign in _FORMS:
        if match := re.fullmatch(form, said):
            return cell is not None and bool(COMPARE[sign](*_both(cell, match[1])))
    if match := re.fullmatch(r"from (.+) to (below )?(.+)", said):
        ends = (f"at least {match[1]}", f"{'below' if match[2] else 'at most'} {match[3]}")
        return all(_said(end, cell) for end in ends)
    if cell is None:
        return False
    if isinstance(cell, bool):
        if said not in ("true", "false"):
            raise Unreadable(said)
        return cell == (said == "true")
    if isinstance(cell, str):
        return cell == said or (re.fullmatch(_DATE, said) is not None and _moment(cell) == _moment(said))
    return bool(float(cell) == float(said.replace(",", "")))


def _both(cell: Any, told: str) -> tuple[Any, Any]:
    return (_moment(cell), _moment(told)) if isinstance(cell, str) else (float(cell), float(told.replace(",", "")))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def changed_rows(rules: Record, row: Row, names: Sequence[str]) -> Iterator[Row]:
    """Every row that differs from a row in some of these columns only; none of them becomes missing."""
    cells = [[row[name], *values(rules, name, missing=False)] for name in names]
    for chosen in itertools.product(*cells):
        yield {**row, **dict(zip(names, chosen, strict=True))}
