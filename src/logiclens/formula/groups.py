"""Groups: concepts that exclude or imply each other, and the Boolean rows that they make impossible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.dnf import Cube
from logiclens.formula.packed_rows import unknown_concept


@dataclass(frozen=True)
class Groups:
    """What is known about concepts before any row is seen.

    Of an exclusive group at most one concept is true (`unit is MICU`, `unit is CCU`). In an implied chain each concept
    implies the one before it (`age >= 60`, `age >= 72.5`).

    Args:
        exclusive: groups of concepts of which at most one is true. Default: none.
        implied: chains of concepts, each of which implies the one before it. Default: none.

    >>> groups = Groups(implied=[["age >= 60", "age >= 72.5"]])
    >>> groups.allows(np.array([[True, False], [False, True]]), ["age >= 60", "age >= 72.5"])
    array([ True, False])
    """

    exclusive: tuple[tuple[str, ...], ...] = ()
    implied: tuple[tuple[str, ...], ...] = ()

    def __init__(self, exclusive: Sequence[Sequence[str]] = (), implied: Sequence[Sequence[str]] = ()) -> None:
        """Take lists of lists of names. Raise `LogicLensError` for a text in place of a list."""
        for kind, groups in (("exclusive", exclusive), ("implied", implied)):
            for group in groups:
                if isinstance(group, str):
                    raise LogicLensError(f"an {kind} group is a list of concepts, got the text {quoted(group)}.")
            object.__setattr__(self, kind, tuple(tuple(group) for group in groups))

    @property
    def is_empty(self) -> bool:
        """Whether there are no groups."""
        return not (self.exclusive or self.implied)

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts that any group names."""
        return tuple(dict.fromkeys(concept for group in (*self.exclusive, *self.implied) for concept in group))

    def check(self, names: Sequence[str]) -> Groups:
        """Return the groups. Raise `LogicLensError` if a concept is unknown or twice in a group.

        Args:
            names: names of all concepts.
        """
        for group in (*self.exclusive, *self.implied):
            for name in group:
                if name not in names:
                    raise unknown_concept(name, names)
            if len(set(group)) < len(group):
                twice = next(name for i, name in enumerate(group) if name in group[:i])
                raise LogicLensError(f"a group cannot hold {quoted(twice)} twice.")
        return self

    def among(self, names: Sequence[str]) -> Groups:
        """Return what the groups say about some of the concepts.

        A concept of an exclusive group that is left out is replaced by the concepts that imply it: if `age >= 60`
        excludes `age is missing`, so does `age >= 72.5`.

        Args:
            names: names of these concepts.
        """
        known = set(names)
        implied = [[name for name in chain if name in known] for chain in self.implied]
        exclusive: list[list[str]] = []
        for group in self.exclusive:
            stand = [[name] if name in known else self._next(name, known) for name in group]
            if all(len(names) <= 1 for names in stand):
                exclusive.append([name for names in stand for name in names])
            else:
                # Two concepts that imply the same one need not exclude each other, so groups are made of pairs.
                pairs = combinations(stand, 2)
                exclusive += [[one, other] for left, right in pairs for one in left for other in right if one != other]
        kept = ([list(dict.fromkeys(group)) for group in groups] for groups in (exclusive, implied))
        return Groups(*([group for group in groups if len(group) > 1] for groups in kept))

    def _next(self, name: str, known: set[str]) -> list[str]:
        """Return, from each chain, the nearest known concept that implies an unknown one."""
        found = []
        for chain in self.implied:
            if name in chain:
                after = (concept for concept in chain[chain.index(name) + 1 :] if concept in known)
                found += [concept for concept in [next(after, None)] if concept is not None]
        return list(dict.fromkeys(found))

    def allows(self, bits: NDArray[np.bool_], names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which rows of a Boolean matrix are possible.

        Args:
            bits: the matrix `[rows, concepts]`.
            names: the names of its columns.
        """
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
        """Return whether no possible row satisfies both cubes.

        Args:
            left: a cube.
            right: another cube.
        """
        if left.excludes(right):
            return True
        sign = {literal.concept: literal.positive for literal in (*left, *right)}
        true = {concept for concept, positive in sign.items() if positive}
        # True concepts make others true along the chains. All others can be false, so only these can clash.
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
"""No groups: every row is possible."""
