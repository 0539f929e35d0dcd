"""Groups: which Boolean rows are possible at all, because concepts exclude or imply each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.bits import unknown_concept
from logiclens.formula.dnf import Cube


@dataclass(frozen=True)
class Groups:
    """What is known about concepts before any row is seen.

    Of an exclusive group at most one concept is true (`unit is MICU`, `unit is CCU`). In an implied chain each concept
    implies the one before it (`age >= 60`, `age >= 72.5`).

    >>> groups = Groups(implied=[["age >= 60", "age >= 72.5"]])
    >>> groups.allows(np.array([[True, False], [False, True]]), ["age >= 60", "age >= 72.5"])
    array([ True, False])
    """

    exclusive: tuple[tuple[str, ...], ...] = ()
    implied: tuple[tuple[str, ...], ...] = ()

    def __init__(self, exclusive: Sequence[Sequence[str]] = (), implied: Sequence[Sequence[str]] = ()) -> None:
        """Take lists of lists of names; a text in place of a list is a slip."""
        for kind, groups in (("exclusive", exclusive), ("implied", implied)):
            for group in groups:
                if isinstance(group, str):
                    raise LogicLensError(f"an {kind} group is a list of concepts, got the text {group!r}.")
            object.__setattr__(self, kind, tuple(tuple(group) for group in groups))

    @property
    def is_empty(self) -> bool:
        """Whether nothing is ruled out."""
        return not (self.exclusive or self.implied)

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts that any group names."""
        return tuple(dict.fromkeys(concept for group in (*self.exclusive, *self.implied) for concept in group))

    def check(self, names: Sequence[str]) -> Groups:
        """Refuse a concept that is not among `names`, and one that a group names twice."""
        for group in (*self.exclusive, *self.implied):
            for name in group:
                if name not in names:
                    raise unknown_concept(name, names)
            if len(set(group)) < len(group):
                twice = next(name for i, name in enumerate(group) if name in group[:i])
                raise LogicLensError(f"a group cannot hold {twice!r} twice.")
        return self

    def among(self, names: Sequence[str]) -> Groups:
        """What each group still says when only some of the concepts are looked at.

        What two groups say together only through a concept that is left out is not kept.
        """
        known = set(names)
        restricted = (
            [[name for name in group if name in known] for group in groups] for groups in (self.exclusive, self.implied)
        )
        return Groups(*([group for group in groups if len(group) > 1] for groups in restricted))

    def allows(self, bits: NDArray[np.bool_], names: Sequence[str]) -> NDArray[np.bool_]:
        """Which rows of a Boolean matrix are possible."""
        place = {name: i for i, name in enumerate(names)}
        possible = np.ones(len(bits), dtype=np.bool_)
        here = self.among(names)
        for group in here.exclusive:
            possible &= bits[:, [place[name] for name in group]].sum(axis=1) <= 1
        for chain in here.implied:
            columns = [place[name] for name in chain]
            possible &= (bits[:, columns[1:]] <= bits[:, columns[:-1]]).all(axis=1)
        return possible

    def apart(self, left: Cube, right: Cube) -> bool:
        """Whether no possible row satisfies both cubes."""
        if left.excludes(right):
            return True
        sign = {literal.concept: literal.positive for literal in (*left, *right)}
        true = {concept for concept, positive in sign.items() if positive}
        # What is true makes more true along the chains. What is not made true can be false, so nothing else can clash.
        grown = True
        while grown:
            made = {
                name for chain in self.implied for i, after in enumerate(chain) if after in true for name in chain[:i]
            }
            grown = not made <= true
            true |= made
        if any(not sign.get(concept, True) for concept in true):
            return True
        return any(len(true.intersection(group)) > 1 for group in self.exclusive)


NO_GROUPS = Groups()
"""Every row is possible."""
