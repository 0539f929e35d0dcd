"""What predicates of one column say about each other, whichever rules they come from."""

from __future__ import annotations

from collections.abc import Mapping

from logiclens.formula.groups import Groups
from logiclens.formula.predicate import Predicate


def groups_of(predicates: Mapping[str, Predicate]) -> Groups:
    """Cuts of a column as a chain, its categories and gaps as exclusive.

    >>> cuts = {f"age >= {cut}": Predicate("age", ">=", cut) for cut in (72, 60)}
    >>> groups_of({**cuts, "age is missing": Predicate("age", "missing")})
    Groups(exclusive=(('age >= 60', 'age is missing'),), implied=(('age >= 60', 'age >= 72'),))
    """
    exclusive, implied = [], []
    columns = dict.fromkeys(predicate.column for predicate in predicates.values())
    for column in columns:
        own = {name: predicate for name, predicate in predicates.items() if predicate.column == column}
        cuts = [name for name, predicate in own.items() if predicate.operator == ">="]
        chain = sorted(cuts, key=lambda name: own[name].value)
        others = [name for name, predicate in own.items() if predicate.operator in ("==", "missing")]
        gaps = [name for name in others if own[name].operator == "missing"]
        if len(chain) > 1:
            implied.append(chain)
        if len(others) > 1:
            exclusive.append(others)
        if chain and gaps:
            exclusive.append([chain[0], *gaps])
    return Groups(exclusive, implied)
