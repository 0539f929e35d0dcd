"""Search the formula of one class: local search over candidate cubes, along a path of falling prices.

The value of a formula is its score minus a price for each literal. The score is macro-F1 on weighted rows whose target
may lie between 0 and 1 (a mix of label and teacher probability). `candidates` finds the cubes that the search starts
from; `length` and `choice` run the search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from logiclens.explain.bounds import FREE, Bound
from logiclens.explain.candidates import (
    DEPTH,
    PRIOR_ROWS,
    Codes,
    Floats,
    SearchRows,
    Support,
    beam_cubes,
    extended_weights,
    plainness,
    weight_of_either,
    wilson_lower,
    with_literal,
)

POOL = 400
"""Maximum number of candidate cubes in the pool."""
MOST_PURE = 20
"""Maximum number of cubes of a cover by pure cubes."""
MOST_PARTS = 5
"""Maximum number of parts that a cube is split into at a time."""
MOST_SPLIT = 400
"""Maximum number of concepts with which cubes are split, because a split tries all pairs of literals."""
GAIN = 1e-9
"""Minimum gain of a move; with less, rounding could send the search in circles."""


@dataclass(frozen=True)
class Limits:
    """Upper limits on a formula; None is no limit."""

    max_literals: int | None = None
    per_cube: int = 0
    """Literals that each cube has beside those that are counted."""

    def beside(self, bound: Bound) -> Limits:
        """Return what is left beside required cubes and literals."""
        if not bound.adds_cubes:
            return self
        n_literals = sum(map(len, bound.fixed))
        return Limits(None if self.max_literals is None else max(0, self.max_literals - n_literals), len(bound.base))

    def allow(self, literals: NDArray[np.intp] | int, cubes: int) -> NDArray[np.bool_] | bool:
        """Return whether this number of literals in this number of cubes is allowed."""
        return True if self.max_literals is None else literals + self.per_cube * cubes <= self.max_literals


@dataclass(frozen=True)
class Point:
    """One step of a path: the best formula found at a price."""

    price: float
    cubes: tuple[Codes, ...]
    score: float

    @property
    def n_literals(self) -> int:
        """Number of literals in all cubes."""
        return sum(map(len, self.cubes))


@dataclass(eq=False)
class _State:
    """A formula with the rows on which each cube fires."""

    cubes: list[Codes]
    fires: NDArray[np.bool_]

    @property
    def n_literals(self) -> int:
        return sum(map(len, self.cubes))

    @cached_property
    def times(self) -> NDArray[np.int16]:
        """Number of cubes that fire on each row."""
        times: NDArray[np.int16] = self.fires.sum(axis=0, dtype=np.int16)
        return times

    @cached_property
    def others(self) -> NDArray[np.bool_]:
        """For each cube, the rows on which another cube fires."""
        return (self.times[None] - self.fires) > 0

    @cached_property
    def fired(self) -> NDArray[np.bool_]:
        return self.times > 0


@dataclass(eq=False)
class FormulaSearch:
    """Search the best formulas of one class along a path of prices.

    Args:
        rows: rows that score the formulas.
        support: requirements for each cube.
        limits: upper limits on a formula. Default: no limits.
        thorough: whether to also remove each cube in turn and build the formula again without it. Default: True.
        depth: maximum number of literals of a candidate cube. Default: `DEPTH`.
        bound: what knowledge asks of the formula; `rows` and `limits` are those that it leaves. Default: nothing.
    """

    rows: SearchRows
    support: Support
    limits: Limits = Limits()
    thorough: bool = True
    depth: int = DEPTH
    bound: Bound = FREE
    pool: dict[Codes, NDArray[np.bool_]] = field(default_factory=dict, init=False)
    _by_rows: dict[bytes, Codes] = field(default_factory=dict, init=False)
    _pure: list[Codes] = field(default_factory=list, init=False)
    _asked: set[tuple[Codes, ...]] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        """Start without candidates; the first step searches them."""
        self._matrix: Floats | None = None
        self._lengths = np.zeros(0, dtype=np.intp)
        self._prices = np.zeros(0)
        self._has_begun = False
        n_literals = 2 * len(self.rows.names)
        self._each = np.ones(n_literals) if self.bound.prices is None else self.bound.prices
        self._barred = np.zeros(n_literals, dtype=np.bool_) if self.bound.barred is None else self.bound.barred.copy()
        for code in self.bound.base:
            self._barred[[code & ~1, code | 1]] = True

    def path(self, prices: Sequence[float]) -> list[Point]:
        """Return the best formula found at each price.

        Args:
            prices: the prices, the highest first.
        """
        points: list[Point] = []
        for place, price in enumerate(prices):
            points.append(self.step(price, points[-1].cubes if points else (), cover=place > 0))
        return self.pruned(points)

    def step(self, price: float, start: Sequence[Codes] = (), *, cover: bool = True) -> Point:
        """Return the best formula found at a price.

        The search starts from the formula of a higher price and from a cover by pure cubes. Short formulas grow from
        the first. The second finds formulas that cannot grow this way, because a cube that stands for two true ones is
        hard to split.

        Args:
            price: the price of a literal.
            start: cubes of the formula of a higher price. Default: none.
            cover: whether to also start from a cover by pure cubes. Default: True.
        """
        if not self._has_begun:
            self._has_begun = True
            self._add_candidates(self._beam())
            if self.bound.base and len(self.rows.yes):
                # The required literals alone are a cube.
                self._add_candidates({(): np.ones(len(self.rows.yes), dtype=np.bool_)})
        grown = self._climbed(self._state(start), price)
        if cover:
            pure = self._climbed(self._pure_cover(price), price)
            grown = max((grown, pure), key=lambda state: self._value(state, price))
        return self._point(self._improved(grown, price), price)

    def pruned(self, points: Sequence[Point]) -> list[Point]:
        """Return the path with each formula replaced if the formula of a lower price can be pruned to a better one."""
        best = list(points)
        for place in range(len(points) - 2, -1, -1):
            price, lower = best[place].price, best[place + 1]
            if lower.cubes == best[place].cubes:
                continue
            state = self._climbed(self._state(lower.cubes), price)
            if self._value(state, price) > best[place].score - price * self.price(best[place].cubes) + GAIN:
                best[place] = self._point(state, price)
        return best

    def allows(self, cubes: Sequence[Codes]) -> bool:
        """Return whether a formula is within the limits and all of its cubes have support."""
        state = self._state(tuple(cubes))
        few = self.limits.allow(state.n_literals, len(state.cubes))
        return bool(few) and self._feasible(state)

    def score(self, cubes: Sequence[Codes]) -> float:
        """Return the score of a formula."""
        return self._score(self._state(tuple(cubes)))

    @property
    def _empty(self) -> _State:
        return _State([], np.zeros((0, len(self.rows.yes)), dtype=np.bool_))

    def _state(self, cubes: Sequence[Codes]) -> _State:
        if self.bound.adds_cubes:
            # The search is about the other cubes and literals.
            cubes = list(dict.fromkeys(self.bound.bare(cube) for cube in cubes if cube not in self.bound.fixed))
        if not cubes:
            return self._empty
        return _State(list(cubes), np.stack([self._fires(cube) for cube in cubes]))

    def price(self, cubes: Sequence[Codes]) -> float:
        """Return the price of a formula in usual literals, without what knowledge requires."""
        if not self.bound.adds_cubes and self.bound.prices is None:
            return sum(map(len, cubes))
        own = [self.bound.bare(cube) for cube in cubes if cube not in self.bound.fixed]
        return sum(map(self.bound.price, own))

    def _fires(self, cube: Codes) -> NDArray[np.bool_]:
        known = self.pool.get(cube)
        return self.rows.fires(cube) if known is None else known

    def _point(self, state: _State, price: float) -> Point:
        return Point(price, self.bound.whole(state.cubes), self._score(state))

    def _score(self, state: _State) -> float:
        covered = self.rows.targets @ state.fired.astype(np.float32)
        return float(self.rows.scores(covered[:1], covered[1:])[0])

    def _value(self, state: _State, price: float) -> float:
        return self._score(state) - price * self.price(state.cubes)

    def _feasible(self, state: _State) -> bool:
        """Return whether every cube alone is right on enough weight, more precise than chance, and allowed."""
        if not state.cubes:
            return True
        if self.bound is not FREE and (
            any(map(self.bound.forbids, state.cubes)) or self.bound.forbids_rest(state.cubes)
        ):
            return False
        alone = state.fires & (state.times == 1)
        if (alone.astype(np.float32) @ self.rows.right < self.support.unique - 1e-6).any():
            return False
        fires = state.fires.astype(np.float32)
        return bool((wilson_lower(fires @ self.rows.right, fires @ self.rows.weight) >= self.support.share).all())

    def _add_candidates(self, cubes: Mapping[Codes, NDArray[np.bool_]]) -> bool:
        """Add cubes to the pool. Of cubes that cover the same rows, keep the shortest with the fewest negations."""
        new = {cube: fires for cube, fires in cubes.items() if cube not in self.pool}
        if not new:
            return False
        packed = np.packbits(np.stack(list(new.values())), axis=1)
        added = False
        for cube, key in zip(new, map(bytes, packed), strict=True):
            known = self._by_rows.get(key)
            if known is None or plainness(cube) < plainness(known):
                self._by_rows[key] = cube
                added = True
        if not added:
            return False
        fires = {**self.pool, **new}
        kept = list(self._by_rows.values())
        if len(kept) > POOL:
            kept = self._most_useful(kept, fires)
            useful = set(kept)
            self._by_rows = {key: cube for key, cube in self._by_rows.items() if cube in useful}
        self.pool = {cube: fires[cube] for cube in sorted(kept, key=plainness)}
        self._matrix = np.stack(list(self.pool.values())).astype(np.float32)
        self._lengths = np.array([len(cube) for cube in self.pool], dtype=np.intp)
        self._prices = np.array([self.bound.price(cube) for cube in self.pool])
        return True

    def _beam(self, uncovered: NDArray[np.bool_] | None = None) -> dict[Codes, NDArray[np.bool_]]:
        bound = self.bound if not self.bound.base else replace(self.bound, barred=self._barred)
        return beam_cubes(self.rows, self.support, uncovered, self.depth, bound)

    def _most_useful(self, cubes: list[Codes], found: Mapping[Codes, NDArray[np.bool_]]) -> list[Codes]:
        """Return the cubes with the best score alone, and the purest cubes for their size."""
        fires = np.stack([found[cube] for cube in cubes]).astype(np.float32)
        yes, no = fires @ self.rows.yes, fires @ self.rows.no
        total_yes, total_no = self.rows.totals
        prior = total_yes / (total_yes + total_no)
        criteria = (
            (yes + PRIOR_ROWS * prior) / (yes + no + PRIOR_ROWS),
            yes - prior * (yes + no),
            yes - no,
        )
        kept: dict[int, None] = {}
        for values in criteria:
            kept.update(dict.fromkeys(np.argsort(-values, kind="stable")[: POOL // 3].tolist()))
        return [cubes[place] for place in kept]

    def _improved(self, state: _State, price: float) -> _State:
        """Climb; if that ends, search cubes on uncovered rows, split a cube, or remove a cube and build again."""
        state = self._climbed(state, price)
        while True:
            value = self._value(state, price)
            if self._more_candidates(state):
                better = self._climbed(state, price)
                if self._value(better, price) > value + GAIN:
                    state = better
                    continue
            split = self._split_move(state, price, value)
            if split is not None:
                state = self._climbed(split[0], price)
                continue
            rebuilt = self._rebuilt(state, price, value) if self.thorough else None
            if rebuilt is None:
                return state
            state = rebuilt

    def _more_candidates(self, state: _State) -> bool:
        """Search cubes on the rows that a formula does not cover, once for each formula."""
        asked = tuple(sorted(state.cubes))
        if not state.cubes or asked in self._asked:
            return False
        self._asked.add(asked)
        return self._add_candidates(self._beam(~state.fired))

    def _pure_cover(self, price: float) -> _State:
        """Cover the class cube by cube with the purest cube on the uncovered rows, while each cube pays its price.

        Cubes that were found at a higher price also come first at a lower price.
        """
        while self._next_pure(price):
            pass
        state = self._state(self._pure)
        return state if self._feasible(state) else self._empty

    def _next_pure(self, price: float) -> bool:
        """Add one cube to the cover, if one pays."""
        state = self._state(self._pure)
        found = self._beam(~state.fired) if len(self._pure) < MOST_PURE else {}
        if not found or not self.limits.allow(state.n_literals + 1, len(state.cubes) + 1):
            return False
        cubes, fires = list(found), np.stack(list(found.values()))
        left = (~state.fired).astype(np.float32)
        yes, no = (fires.astype(np.float32) @ (self.rows.targets * left).T).T
        prior = self.rows.totals[0] / sum(self.rows.totals)
        purity = (yes + PRIOR_ROWS * prior) / (yes + no + PRIOR_ROWS)
        covered = self.rows.targets @ state.fired.astype(np.float32)
        lengths = np.array([len(cube) for cube in cubes])
        prices = np.array([self.bound.price(cube) for cube in cubes])
        gains = self.rows.scores(covered[0] + yes, covered[1] + no) - self._score(state)

        def build(place: int) -> _State:
            return _State([*state.cubes, cubes[place]], np.concatenate([state.fires, fires[place][None]]))

        pays = (gains > price * prices + GAIN) & self.limits.allow(state.n_literals + lengths, len(state.cubes) + 1)
        taken = self._first_feasible(np.where(pays, purity, -np.inf), -1.0, build)
        if taken is None:
            return False
        self._pure.append(taken[0].cubes[-1])
        self._add_candidates({self._pure[-1]: taken[0].fires[-1]})
        return True

    def _rebuilt(self, state: _State, price: float, value: float) -> _State | None:
        """Remove each cube in turn and climb without it; return the first formula that is better."""
        if len(state.cubes) < 2:
            return None
        for place in range(len(state.cubes)):
            rest = self._without(state, place)
            gone = state.cubes[place]
            again = self._climbed(rest, price, barred=gone)
            if self._value(again, price) > value + GAIN:
                return again
        return None

    def _without(self, state: _State, place: int) -> _State:
        return _State(state.cubes[:place] + state.cubes[place + 1 :], np.delete(state.fires, place, axis=0))

    def _climbed(self, state: _State, price: float, barred: Codes | None = None) -> _State:
        """Take the best move within the limits until none gains; try moves of literals before moves of cubes."""
        value = self._value(state, price)
        while True:
            moved = self._literal_move(state, price, value) or self._cube_move(state, price, value, barred)
            if moved is None:
                return state
            state, value = moved
            barred = None

    def _first_feasible(
        self, values: NDArray[np.float64], value: float, build: _Builder, most: int = 8
    ) -> tuple[_State, float] | None:
        """Return the best move that gains and leaves a formula whose cubes all have support."""
        order = np.flatnonzero(values > value + GAIN)
        order = order[np.argsort(-values[order], kind="stable")][:most]
        for place in order.tolist():
            state = build(place)
            if self._feasible(state):
                return state, float(values[place])
        return None

    def _cube_move(
        self, state: _State, price: float, value: float, barred: Codes | None
    ) -> tuple[_State, float] | None:
        """Add a candidate, replace a cube by a candidate, or drop a cube."""
        if self._matrix is None:
            return None
        n, names = len(state.cubes), list(self.pool)
        values, drops = self._with_candidates(state, price)
        for cube in (*state.cubes, barred):
            if cube in self.pool:
                values[:, names.index(cube)] = -np.inf
        flat = np.concatenate([drops, values.ravel()])

        def build(place: int) -> _State:
            if place < n:
                return self._without(state, place)
            out, candidate = divmod(place - n, len(names))
            return self._exchanged(state, out - 1, names[candidate])

        return self._first_feasible(flat, value, build)

    def _with_candidates(self, state: _State, price: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the values with each candidate added (row 0) or replacing cube k (row k + 1), and with cube k dropped.

        A formula beyond the limits has the value minus infinity.
        """
        n, rows = len(state.cubes), self.rows
        matrix = self._matrix if self._matrix is not None else np.zeros((0, len(rows.yes)), dtype=np.float32)
        covered = np.concatenate([state.fired[None], state.others]) if n else state.fired[None]
        left = (~covered).astype(np.float32)
        weights = np.concatenate([left * rows.yes, left * rows.no])
        base = covered.astype(np.float32) @ rows.targets.T
        added = matrix @ weights.T
        yes, no = added[:, : n + 1].T + base[:, :1], added[:, n + 1 :].T + base[:, 1:]
        kept = state.n_literals - np.array([0, *map(len, state.cubes)], dtype=np.intp)
        literals = kept[:, None] + self._lengths[None]
        each = [0.0, *map(self.bound.price, state.cubes)]
        paid = sum(each) - np.array(each)
        values = rows.scores(yes, no) - price * (paid[:, None] + self._prices[None])
        allowed = np.broadcast_to(self.limits.allow(literals, n), values.shape).copy()
        allowed[0] &= np.broadcast_to(self.limits.allow(literals[0], n + 1), literals[0].shape)
        drops = rows.scores(base[1:, 0], base[1:, 1]) - price * paid[1:]
        return np.where(allowed, values, -np.inf), drops

    def _exchanged(self, state: _State, out: int, cube: Codes) -> _State:
        """Replace cube `out` by a candidate; if `out` is negative, add the candidate."""
        rest = state if out < 0 else self._without(state, out)
        return _State([*rest.cubes, cube], np.concatenate([rest.fires, self._fires(cube)[None]]))

    def plainest(self, point: Point) -> Point:
        """Return the formula with plainer cubes of at least the same value.

        A plainer cube is shorter, has fewer negations, or has earlier columns; see `plainness`.
        """
        state, changed = self._state(point.cubes), True
        for cube, others in zip(state.cubes, state.others if state.cubes else (), strict=True):
            if any(code & 1 for code in cube):
                self._add_candidates(self._beam(~others))
        while changed and self._matrix is not None:
            changed = False
            value = self._value(state, point.price)
            values, _ = self._with_candidates(state, point.price)
            names = list(self.pool)
            for k, cube in enumerate(state.cubes):
                good = np.flatnonzero(values[k + 1] >= value - GAIN)
                plainer = [names[p] for p in good if plainness(names[p]) < plainness(cube)]
                swapped = (self._exchanged(state, k, other) for other in sorted(plainer, key=plainness))
                better = next((option for option in swapped if self._feasible(option)), None)
                if better is not None:
                    state, changed = better, True
                    break
        return self._point(state, point.price)

    def _split_move(self, state: _State, price: float, value: float) -> tuple[_State, float] | None:
        """Split a cube into two or more, each with one more literal."""
        if not state.cubes or not self.limits.allow(1, len(state.cubes) + 1) or len(self.rows.names) > MOST_SPLIT:
            return None
        best: tuple[float, int, list[int]] | None = None
        for k, cube in enumerate(state.cubes):
            if 1.0 - price * (self.price(state.cubes) + self.bound.price(cube) + 2 * self._each.min()) <= value:
                continue
            worth, literals = self._parted(state, k, price)
            if worth > value + GAIN and (best is None or worth > best[0]):
                best = (worth, k, literals)
        if best is None:
            return None
        worth, k, literals = best
        rest = self._without(state, k)
        parts = [with_literal(state.cubes[k], literal) for literal in literals]
        split = _State([*rest.cubes, *parts], np.concatenate([rest.fires, [self._fires(part) for part in parts]]))
        return (split, worth) if self._feasible(split) else None

    def _parted(self, state: _State, k: int, price: float) -> tuple[float, list[int]]:
        """Return the best value of the formula with cube k split, and the literals of the parts.

        The parts are the two that are best together, or the purest ones, each on the rows that the earlier parts leave.
        """
        rows, cube = self.rows, state.cubes[k]
        alone = (state.fires[k] & ~state.others[k]).astype(np.float32)
        fixed = rows.targets @ state.others[k].astype(np.float32)
        taken = [code & ~1 for code in cube] + [code | 1 for code in cube]
        yes, no = (fixed[i] + weight_of_either(alone * rows.targets[i], rows.columns) for i in (0, 1))
        paid, own = self.price(state.cubes), self.bound.price(cube)
        values = rows.scores(yes, no) - price * (paid + own + self._each[:, None] + self._each[None])
        values[taken] = values[:, taken] = -np.inf
        values[self._barred] = values[:, self._barred] = -np.inf
        place = int(np.argmax(values))
        best, parts = float(values.flat[place]), list(divmod(place, values.shape[1]))
        left, covered, pure = alone, fixed, list[int]()
        while len(pure) < MOST_PARTS:
            hit, wrong = (sums[0] for sums in extended_weights(left[None], rows.targets, rows.columns))
            purity = (hit + PRIOR_ROWS * 0.5) / (hit + wrong + PRIOR_ROWS)
            purity[taken + pure] = -np.inf
            purity[self._barred] = -np.inf
            literal = int(np.argmax(purity))
            if hit[literal] <= 0 or purity[literal] == -np.inf:
                break
            pure.append(literal)
            covered = covered + np.array([hit[literal], wrong[literal]])
            left = left * (1 - rows.fires((literal,)))
            n_paid = paid - own + len(pure) * own + float(self._each[pure].sum())
            value = float(rows.scores(covered[:1], covered[1:])[0]) - price * n_paid
            if len(pure) > 1 and value > best:
                best, parts = value, list(pure)
        n_literals = state.n_literals - len(cube) + len(parts) * (len(cube) + 1)
        within = self.limits.allow(n_literals, len(state.cubes) + len(parts) - 1)
        return (best if within else -np.inf), parts

    def _literal_move(self, state: _State, price: float, value: float) -> tuple[_State, float] | None:
        """Drop, add or replace one literal of a cube."""
        if not state.cubes:
            return None
        rows = self.rows
        bases: list[tuple[int, int | None]] = []
        held: list[NDArray[np.bool_]] = []
        for k, cube in enumerate(state.cubes):
            columns = [rows.columns[:, code >> 1] == (1 - (code & 1)) for code in cube]
            bases.append((k, None))
            held.append(state.fires[k])
            for place in range(len(cube)):
                rest = columns[:place] + columns[place + 1 :]
                bases.append((k, place))
                held.append(np.logical_and.reduce(rest) if rest else np.ones(len(rows.yes), dtype=np.bool_))
        owner = np.array([k for k, _ in bases])
        removed = np.array([place is not None for _, place in bases])
        others = state.others[owner]
        fires = (np.stack(held) & ~others).astype(np.float32)
        fixed = (others.astype(np.float32) @ rows.targets.T)[:, :, None]
        extended = extended_weights(fires, rows.targets, rows.columns)
        yes, no = extended[0] + fixed[:, 0], extended[1] + fixed[:, 1]
        literals = state.n_literals - removed.astype(np.intp) + 1
        gone = np.array([0.0 if place is None else self._each[state.cubes[k][place]] for k, place in bases])
        paid = self.price(state.cubes) - gone
        values = rows.scores(yes, no) - price * (paid[:, None] + self._each[None])
        values[:, self._barred] = -np.inf
        values[~np.broadcast_to(self.limits.allow(literals, len(state.cubes)), literals.shape)] = -np.inf
        for row, (k, out) in enumerate(bases):
            for p, code in enumerate(state.cubes[k]):
                if p == out:
                    values[row, code] = -np.inf
                else:
                    values[row, [code & ~1, code | 1]] = -np.inf
        # A cube keeps its last literal: without it the formula would be True.
        plain = fires @ rows.targets.T
        drops = rows.scores(plain[:, 0] + fixed[:, 0, 0], plain[:, 1] + fixed[:, 1, 0]) - price * paid
        least = 1 if self.bound.base else 2
        long = np.array([len(state.cubes[k]) >= least and place is not None for k, place in bases])
        drops = np.where(long, drops, -np.inf)
        flat = np.concatenate([drops, values.ravel()])
        width = values.shape[1]

        def build(place: int) -> _State:
            row, literal = (place, -1) if place < len(bases) else divmod(place - len(bases), width)
            k, left_out = bases[row]
            cube = [code for p, code in enumerate(state.cubes[k]) if p != left_out]
            changed = tuple(sorted(cube if literal < 0 else [*cube, literal]))
            cubes, fired = list(state.cubes), state.fires.copy()
            cubes[k], fired[k] = changed, self._fires(changed)
            return _State(cubes, fired)

        return self._first_feasible(flat, value, build)


_Builder: TypeAlias = "Callable[[int], _State]"
