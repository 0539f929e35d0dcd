"""`logiclens diff`: what changed between two saved models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from logiclens.cli.output import check_writable, write_json
from logiclens.errors import LogicLensError
from logiclens.formula.diff import Diff
from logiclens.formula.dnf import DNF, Cube
from logiclens.formula.groups import Groups
from logiclens.formula.implied import groups_of
from logiclens.formula.ruleset import RuleSet
from logiclens.formula.text import format_formula


def diff_models(console: Console, before: Path, after: Path, *, data: str | None, json: str | None) -> bool:
    """Print what changed, class by class, and on which rows of a table; whether anything did."""
    check_writable(json)
    old, new = RuleSet.load(before), RuleSet.load(after)
    if set(old.names) != set(new.names):
        raise LogicLensError(
            f"the models know other classes: {', '.join(old.names[:8])} and {', '.join(new.names[:8])}."
        )
    groups = groups_of({**old.predicates, **new.predicates})
    told = [_class(console, name, old, new, groups) for name in old.names]
    content: dict[str, Any] = {"before": str(before), "after": str(after), "classes": told}
    if data is not None:
        content["rows"] = _rows(console, old, new, data)
    write_json(content, json)
    return any(not entry["equivalent"] for entry in told) or bool(content.get("rows", {}).get("differing"))


def _class(console: Console, name: str, old: RuleSet, new: RuleSet, groups: Groups) -> dict[str, Any]:
    found = old.rule(name).formula.diff(new.rule(name).formula)
    gained, lost = _possible(found.gained, groups), _possible(found.lost, groups)
    same = found.equivalent or (gained == DNF.false and lost == DNF.false)
    console.print(name, style="bold")
    if found.before == found.after:
        console.print("  the same formula")
    elif same:
        console.print("  written differently, the same meaning")
    for change in found.changes if not same else ():
        console.print(f"  {change}")
    for word, formula in (("now also", gained), ("no longer", lost)):
        if formula is not None and len(formula):
            console.print(f"  {word} where {format_formula(formula, 'unicode')}")
    return {
        "class": name,
        "before": format_formula(found.before),
        "after": format_formula(found.after),
        "equivalent": same,
        "changes": [str(change) for change in found.changes],
        "gained": None if gained is None else format_formula(gained),
        "lost": None if lost is None else format_formula(lost),
        **_cuts(found, old, new),
    }


def _possible(formula: DNF | None, groups: Groups) -> DNF | None:
    """Without cubes that no row can satisfy, such as age >= 72 without age >= 60."""
    if formula is None:
        return None
    return DNF(cube for cube in formula if not groups.apart(cube, Cube([])))


def _cuts(found: Diff, old: RuleSet, new: RuleSet) -> dict[str, Any]:
    """The predicates that only one of the models uses."""
    before = {str(old.predicate(concept)) for concept in found.before.concepts}
    after = {str(new.predicate(concept)) for concept in found.after.concepts}
    return {"only_before": sorted(before - after), "only_after": sorted(after - before)}


def _rows(console: Console, old: RuleSet, new: RuleSet, source: str) -> dict[str, Any]:
    from logiclens.data.files import read_table

    file = read_table(source)
    first, second = old.predict(file.frame), new.predict(file.frame)
    differ = np.flatnonzero((first != second).reshape(len(first), -1).any(axis=1))
    console.print(f"\n{len(differ):,} of {len(first):,} rows of {file.name} get another answer.")
    if len(differ):
        shown = ", ".join(str(row + 1) for row in differ[:10])
        console.print(f"  rows {shown}" + (" …" if len(differ) > 10 else ""))
    return {"data": file.name, "total": len(first), "differing": (differ + 1).tolist()}
