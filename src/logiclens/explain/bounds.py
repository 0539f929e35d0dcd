"""Knowledge in the search: which literals and cubes the formula of a class may have, and what a formula is worth.

`RuleBounds` holds what binds each class by the meaning of concepts, because folds have other thresholds than all rows.
`RuleBounds.of_class` gives it as the literal codes of one table, which `search` respects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from logiclens.formula.knowledge import PREFERRED, BoundKnowledge, Costs, Meant, implies_condition
from logiclens.formula.predicate import Predicate

Codes = tuple[int, ...]
TINY = 1e-12
"""Lower bound of a divisor that could be 0."""


@dataclass(frozen=True, eq=False)
class Bound:
    """What binds the formula of a class, as literal codes of one table (2 j for concept j, 2 j + 1 for its negation).

    Attributes:
        barred: literals that no cube may have, `[literals]`; None if all are allowed.
        forbidden: for each forbidden conjunction, for each of its conditions the literals that imply it.
        left: the same for the class that is all the rest: the literals whose negations imply the conditions.
        base: literals that every cube must have, or imply.
        fixed: cubes that the formula must have.
        prices: price of each literal as a share of the usual one; None if all cost the same.
        costs: what false alarms and misses cost; None if macro-F1 is the score.
        stateable: whether the concepts of `base` and `fixed` are there; without them no formula keeps to the bounds.
    """

    barred: NDArray[np.bool_] | None = None
    forbidden: tuple[tuple[frozenset[int], ...], ...] = ()
    left: tuple[tuple[frozenset[int], ...], ...] = ()
    base: Codes = ()
    fixed: tuple[Codes, ...] = ()
    prices: NDArray[np.float64] | None = None
    costs: Costs | None = None
    stateable: bool = True

    @property
    def adds_cubes(self) -> bool:
        """Whether formulas have literals or cubes that the search does not choose."""
        return bool(self.base or self.fixed) or not self.stateable

    def forbids(self, cube: Sequence[int]) -> bool:
        """Return whether a cube has a barred literal or implies a forbidden conjunction."""
        if self.barred is not None and any(self.barred[code] for code in cube):
            return True
        return any(all(not part.isdisjoint(cube) for part in parts) for parts in self.forbidden)

    def forbids_rest(self, cubes: Sequence[Codes]) -> bool:
        """Return whether a cube of the rows that a formula leaves may imply a forbidden conjunction.

        A cube of the rest negates one literal of each cube of the formula, and each of these literals is needed: some
        cube of the formula has no other one of them.
        """
        whole = [set(cube) for cube in self.whole(cubes)] if self.left else []
        for parts in self.left:
            for chosen in product(*([code for code in part if any(code in cube for cube in whole)] for part in parts)):
                codes = set(chosen)
                if all(any(cube & codes == {code} for cube in whole) for code in codes):
                    return True
        return False

    def bare(self, cube: Codes) -> Codes:
        """Return a cube without the literals that every cube has."""
        return tuple(code for code in cube if code not in self.base) if self.base else cube

    def whole(self, cubes: Sequence[Codes]) -> tuple[Codes, ...]:
        """Return the cubes of the search as those of the formula."""
        if not self.adds_cubes:
            return tuple(cubes)
        return (*self.fixed, *(tuple(sorted((*cube, *self.base))) for cube in cubes))

    def price(self, cube: Sequence[int]) -> float:
        """Return the sum of the prices of the literals of a cube, in usual literals."""
        return float(len(cube)) if self.prices is None else float(sum(self.prices[code] for code in cube))


FREE = Bound()
"""The bound of a class about which nothing is known."""


@dataclass(frozen=True, eq=False)
class RuleBounds:
    """What binds the rules of each class.

    Attributes:
        bound: the knowledge on the table.
        predicates: meaning of the concepts; a concept without one is a column.
        opposites: the other value of concepts of columns with two values.
    """

    bound: BoundKnowledge
    predicates: Mapping[str, Predicate]
    opposites: Mapping[str, Predicate] = field(default_factory=dict)

    @property
    def stated(self) -> int | None:
        """Of two classes the one whose formula must be stated; None if either may be."""
        return self.bound.stated

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the concepts that required rules need."""
        wanted = set(self.bound.concepts)
        return tuple(name for name, predicate in self.predicates.items() if predicate in wanted)

    def of_class(self, klass: int, names: Sequence[str]) -> Bound:
        """Return what binds the formula of a class over some concepts.

        Args:
            klass: the class.
            names: names of the concepts, in the order of the codes.
        """
        known = self.bound.classes[klass]
        literals = [(self._meaning(name), holds) for name in names for holds in (True, False)]
        forms = [self._forms(name, holds) for name in names for holds in (True, False)]
        barred = np.array([any(known.bars(form) for form in own) for own in forms], dtype=np.bool_)
        several = [cube for cube in known.forbidden if len(cube) > 1]
        forbidden = tuple(tuple(_codes_of(forms, no) for no in cube) for cube in several)
        left: tuple[tuple[frozenset[int], ...], ...] = ()
        if self.bound.table.is_binary:
            # One formula states both classes: what it negates is a rule of the other class.
            negated = [self._forms(name, not holds) for name in names for holds in (True, False)]
            for cube in known.forbidden:
                if len(cube) == 1:
                    barred[list(_codes_of(negated, cube[0]))] = True
            left = tuple(tuple(_codes_of(negated, no) for no in cube) for cube in several)
        # What required conditions imply is in every cube, and the rest of a forbidden conjunction must not be.
        forbidden = tuple(
            tuple(part for part, no in zip(parts, cube, strict=True) if not _implied(known.required, no))
            for parts, cube in zip(forbidden, several, strict=True)
        )
        place = {literal: code for code, literal in enumerate(literals)}
        base = [place.get(one) for one in known.required]
        fixed = [[place.get(one) for one in rule] for rule in known.rules]
        stateable = None not in base and all(None not in rule for rule in fixed)
        prices = None
        if known.preferred:
            is_cheap = [not known.preferred.isdisjoint(meant.sources) for meant, _ in literals]
            prices = np.where(is_cheap, PREFERRED, 1.0)
        return Bound(
            barred if barred.any() else None,
            forbidden,
            left,
            _codes(base) if stateable else (),
            tuple(dict.fromkeys(map(_codes, fixed))) if stateable else (),
            prices,
            known.costs,
            stateable,
        )

    def kept(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Return which concepts the network of each class may use, `[classes, concepts]`: none of forbidden columns."""
        sources = [self._meaning(name).sources for name in names]
        return np.array([[known.columns.isdisjoint(own) for own in sources] for known in self.bound.classes])

    def _meaning(self, name: str) -> Predicate:
        return self.predicates.get(name) or Predicate(name, ">=", 0.5)

    def _forms(self, name: str, holds: bool) -> tuple[Meant, ...]:
        """Return what a literal says: of a column with two values, "is not woman" says "is man" too."""
        told = self.bound.table.forms((self._meaning(name), holds))
        return told if name not in self.opposites else (*told, (self.opposites[name], not holds))


def _codes_of(literals: Sequence[Sequence[Meant]], wanted: Meant) -> frozenset[int]:
    """Return the codes of the literals that imply a condition in one of their forms."""
    return frozenset(
        code for code, forms in enumerate(literals) if any(implies_condition(form, wanted) for form in forms)
    )


def _implied(given: Sequence[Meant], wanted: Meant) -> bool:
    return any(implies_condition(own, wanted) for own in given)


def _codes(found: Sequence[int | None]) -> Codes:
    return tuple(sorted({code for code in found if code is not None}))


def savings(
    hit: NDArray[np.floating] | float,
    wrong: NDArray[np.floating] | float,
    all_yes: float,
    all_no: float,
    costs: Costs,
) -> NDArray[np.float64]:
    """Return the share of cost that formulas save, against always or never deciding for the class; 1 at best.

    This is the score where costs are known. A formula that costs more than the cheaper constant answer is below 0.

    Args:
        hit: weight of the class that a formula covers.
        wrong: weight of other classes that it covers.
        all_yes: weight of the class.
        all_no: weight of other classes.
        costs: what a false alarm and a miss cost.

    >>> float(savings(4.0, 1.0, 5.0, 5.0, Costs(false_alarm=1, miss=4)))
    0.0
    >>> float(savings(5.0, 1.0, 5.0, 5.0, Costs(false_alarm=1, miss=4)))
    0.8
    """
    spent = costs.miss * (all_yes - np.asarray(hit, dtype=np.float64)) + costs.false_alarm * np.asarray(wrong)
    return np.asarray(1.0 - spent / _constant(all_yes, all_no, costs), dtype=np.float64)


def _constant(all_yes: float, all_no: float, costs: Costs) -> float:
    """Return the cost of the cheaper constant answer."""
    return max(min(costs.miss * all_yes, costs.false_alarm * all_no), TINY)


def savings_by_row(
    fires: NDArray[np.bool_], all_yes: NDArray[np.float64], all_no: NDArray[np.float64], costs: Sequence[Costs]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the change of each class's savings with the weight of each row, as a yes and as a no.

    Both are `[classes, rows]`; `all_yes` and `all_no` are the weights of each class and of all others.
    """
    scale = np.array([[_constant(float(y), float(n), c)] for y, n, c in zip(all_yes, all_no, costs, strict=True)])
    miss, alarm = np.array([[c.miss] for c in costs]), np.array([[c.false_alarm] for c in costs])
    return np.where(fires, 0.0, -miss / scale), np.where(fires, -alarm / scale, 0.0)
