"""Which cubes a linear program lacks: conjunctions of literals sought by what the rows that they cover are worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logiclens.baselines.one_against_rest import Items

BEAM = 50
"""How many cubes of one width the quick search extends."""

HELPS = 1e-6
"""A cube that changes the linear program by less helps by rounding errors only."""


@dataclass(frozen=True, eq=False)
class Cubes:
    """Columns of the program: numbered literals, and which rows they cover, `[rows, cubes]`."""

    items: tuple[Items, ...]
    covers: NDArray[np.bool_]

    @classmethod
    def of(cls, items: Iterable[Items], literals: NDArray[np.bool_]) -> Cubes:
        """These cubes on rows of literals."""
        listed = tuple(items)
        covers = np.ones((len(literals), len(listed)), dtype=np.bool_)
        for k, each in enumerate(listed):
            covers[:, k] = literals[:, each].all(axis=1)
        return cls(listed, covers)

    def __len__(self) -> int:
        """The number of cubes."""
        return len(self.items)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """1 for the cube and 1 for each literal."""
        return np.array([1 + len(items) for items in self.items], dtype=np.intp)

    def take(self, chosen: NDArray[np.intp]) -> Cubes:
        """Some of the cubes."""
        return Cubes(tuple(self.items[k] for k in chosen), self.covers[:, chosen])

    def join(self, other: Cubes) -> Cubes:
        """These cubes, and behind them the others that are not among them."""
        known = set(self.items)
        new = [k for k, items in enumerate(other.items) if items not in known]
        return Cubes((*self.items, *(other.items[k] for k in new)), np.hstack([self.covers, other.covers[:, new]]))


@dataclass(frozen=True, eq=False)
class Prices:
    """What a solved linear program says of cubes that it does not have.

    Args:
        value: for each row, what covering it costs; negative where it is worth more.
        size: what each cube and each literal costs.
        least: the value of the linear program.
    """

    value: NDArray[np.float64]
    size: float
    least: float

    def of(self, cubes: Cubes) -> NDArray[np.float64]:
        """What each cube costs: by how much one of it changes the linear program, at first."""
        cost: NDArray[np.float64] = self.value @ cubes.covers + self.size * cubes.sizes
        return cost


@dataclass(frozen=True)
class Search:
    """How far to look: the widest cube, the most cubes to extend in a search with proof, and the most cubes wanted."""

    max_width: int
    nodes: int
    at_most: int


def best_cubes(literals: NDArray[np.bool_], prices: Prices, search: Search) -> list[Items]:
    """Cubes that help the linear program, by a beam search: quick, and without a proof where it finds none."""
    columns, n_literals = literals.astype(np.float64), literals.shape[1]
    beam: list[Items] = [()]
    covers, found = np.ones((1, len(literals))), dict[Items, float]()
    for width in range(1, search.max_width + 1):
        costs = (covers * prices.value) @ columns + prices.size * (1 + width)
        for i, items in enumerate(beam):
            costs[i, list(items)] = np.inf
        children: dict[Items, tuple[float, int, int]] = {}
        for flat in np.argsort(costs, axis=None, kind="stable")[: BEAM * width].tolist():
            i, j = divmod(flat, n_literals)
            # The same cube is reached once from each of its literals.
            children.setdefault(tuple(sorted((*beam[i], j))), (float(costs[i, j]), i, j))
        children = dict(list(children.items())[:BEAM])
        found |= {items: cost for items, (cost, _, _) in children.items() if cost < -HELPS}
        covers = np.stack([covers[i] * columns[:, j] for _, i, j in children.values()])
        beam = list(children)
    return sorted(found, key=lambda items: (found[items], items))[: search.at_most]


def cubes_below(literals: NDArray[np.bool_], prices: Prices, limit: float, search: Search) -> tuple[list[Items], bool]:
    """Cubes that cost less than `limit`, and whether these are all there are: the search met neither of its limits.

    A literal is added only where it takes rows away: otherwise the cube without it covers the same rows and is smaller,
    so every cube left out has a smaller twin that is found. A cube is extended only where some extension can cost less
    than the limit: at best it keeps every row worth covering and loses every other.
    """
    columns, worth = literals.astype(np.float64), np.minimum(prices.value, 0)
    found: list[Items] = [()] if float(prices.value.sum()) + prices.size < limit else []
    waiting: list[tuple[Items, NDArray[np.intp]]] = [((), np.arange(len(literals)))]
    for _ in range(search.nodes):
        if not waiting:
            return found, True
        items, covered = waiting.pop()
        # Literals in rising order: every cube is met once.
        start = items[-1] + 1 if items else 0
        part, size = columns[covered, start:], 2 + len(items)
        count, cost, at_best = part.sum(axis=0), prices.value[covered] @ part, worth[covered] @ part
        changes = (count > 0) & (count < len(covered))
        found += [(*items, start + j) for j in np.flatnonzero(changes & (cost + prices.size * size < limit)).tolist()]
        if len(found) > search.at_most:
            return found[: search.at_most], False
        if len(items) + 1 < search.max_width:
            extended = np.flatnonzero(changes & (at_best + prices.size * (size + 1) < limit))
            # The most promising is put last, and so taken first.
            for j in extended[np.argsort(-at_best[extended], kind="stable")].tolist():
                waiting.append(((*items, start + j), covered[literals[covered, start + j]]))
    return found, not waiting
