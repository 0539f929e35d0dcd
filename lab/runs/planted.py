"""Planted formulas: how often the default rules equal the truth, beside RIPPER, FIGS and boosting.

A seed draws the data of a family, or the split of a fixed table. Each seed has one stratified split: two thirds of the
rows train, one third is unseen, the same rows for every method. The formula that is compared with the truth is the one
learned from the training rows. Another first seed draws data that were not used to choose defaults.

Exact means: the same answer on every possible row. A Boolean column can be 0 or 1, a category every value that the
table has, and a float every value of the training rows, so that no training value lies between the found and the true
threshold ("strict"). Near a threshold most training rows lie outside the rest of the cube and say nothing about it.
So on floats a formula is also exact if it has the literals of the truth and answers every training row as the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from lab.datasets.raw import PLACES
from lab.peers.raw import METHODS, RAW, Split
from lab.runs.results import Job, Line, data_folder
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.predicate import Predicate
from logiclens.formula.rule_set import RuleSet

KEYS = ("family", "seed", "method")
PEERS = ("ripper", "ripper-raw", "figs", "figs-raw", "boosting")
UNIQUE_SHARE = 0.02
"""The least share of rows on which a cube of a planted formula is the only one that is true."""


# Problems


@dataclass(frozen=True, eq=False)
class Problem:
    """A table whose labels (0 and 1) come from a known formula.

    Args:
        frame: the raw columns.
        labels: the class of each row, after noise.
        truth: the formula of class 1.
        predicates: what the concepts of `truth` mean on the raw columns; one without is a 0/1 column itself.
        domains: for each column that is not a float, all values that it can have.
        noise: the share of labels that are flipped.
    """

    frame: pd.DataFrame
    labels: NDArray[np.int64]
    truth: DNF
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    domains: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    noise: float = 0.0

    def split(self, seed: int) -> Split:
        rows = np.arange(len(self.labels))
        train, test = train_test_split(rows, test_size=1 / 3, stratify=self.labels, random_state=seed)
        return Split(self.frame.iloc[train], self.labels[train], self.frame.iloc[test], self.labels[test], seed)


def dnf_problem(n_cubes: int, width: int, n_rows: int, n_columns: int, noise: float, seed: int) -> Problem:
    """A random formula on Boolean columns; half of the columns that it does not use are noisy copies of some it uses.

    Formula, column frequencies and rows are drawn again until no literal can be dropped and each cube alone is true on
    2% of the rows. The rows of a seed are the same for every share of noise.
    """
    random = np.random.default_rng([seed, n_cubes, width])
    names = [f"x{number}" for number in range(1, n_columns + 1)]
    n_used = min(n_cubes * width, n_columns - max(6, n_columns // 4))
    while True:
        order = random.permutation(n_columns)
        cubes = []
        for _ in range(n_cubes):
            columns = random.choice(order[:n_used], width, replace=False)
            cubes.append(Cube(Literal(names[column], bool(random.integers(2))) for column in columns))
        formula = DNF(cubes)
        if not is_prime(formula):
            continue
        bits = _boolean_rows(random, _frequencies(random, formula, names, wide=width > 3), n_rows)
        _copy_columns(random, bits, [names.index(name) for name in formula.concepts])
        fired = formula.fired(bits, names)
        alone = fired & (fired.sum(axis=1) == 1)[:, None]
        if len(formula.cubes) == n_cubes and alone.mean(axis=0).min() >= UNIQUE_SHARE:
            return _boolean_problem(bits, names, formula, noise, seed)


def fixed_problem(
    cubes: Iterable[Mapping[int, bool]], n_bits: int, n_rows: int, n_columns: int, salt: Sequence[int], seed: int
) -> Problem:
    """A given formula over some of the columns; each cube says which of the chosen columns is true or false."""
    random = np.random.default_rng([seed, *salt])
    names = [f"x{number}" for number in range(1, n_columns + 1)]
    chosen = random.choice(n_columns, n_bits, replace=False)
    formula = DNF(Cube(Literal(names[chosen[bit]], value) for bit, value in cube.items()) for cube in cubes)
    bits = _boolean_rows(random, np.full(n_columns, 0.5), n_rows)
    _copy_columns(random, bits, list(chosen))
    return _boolean_problem(bits, names, formula, 0.0, seed)


def odd(n_bits: int) -> list[dict[int, bool]]:
    return [dict(enumerate(values)) for values in product([False, True], repeat=n_bits) if sum(values) % 2]


def boxes_problem(n_rows: int, decimals: int | None, seed: int) -> Problem:
    """Two boxes on two or three of eight float columns each; values rounded to `decimals`, or continuous with None."""
    random = np.random.default_rng([seed, 2, 8])
    names = [f"f{number}" for number in range(1, 9)]
    while True:
        values = np.concatenate([random.random((n_rows, 4)), random.normal(size=(n_rows, 4))], axis=1)
        order = random.permutation(8)
        boxes = [random.choice(order[:5], size, replace=False) for size in (2, int(random.integers(2, 4)))]
        used = sorted({int(column) for box in boxes for column in box})
        unused = [column for column in range(8) if column not in used]
        for column in unused[: len(unused) // 2]:
            source = values[:, random.choice(used)]
            values[:, column] = source + random.normal(scale=0.7 * source.std(), size=n_rows)
        if decimals is not None:
            values = values.round(decimals)
        predicates: dict[str, Predicate] = {}
        formula = DNF(_box(random, values, box, names, predicates) for box in boxes)
        frame = pd.DataFrame(values, columns=names)
        fired = np.stack([holds(DNF([cube]), predicates, frame) for cube in formula.cubes], axis=1)
        alone = fired & (fired.sum(axis=1) == 1)[:, None]
        if len(formula.cubes) == 2 and alone.mean(axis=0).min() >= 0.05 and fired.any(axis=1).mean() <= 0.6:
            return Problem(frame, np.asarray(fired.any(axis=1), np.int64), formula, predicates)


def rare_class_problem(n_rows: int, seed: int) -> Problem:
    """A class of 4% of the rows: two cubes of one category and two thresholds each, among floats and categories."""
    random = np.random.default_rng([seed, 4])
    categories = {"region": 6, "job": 8, "channel": 4, "plan": 3}
    floats = ["age", "income", "pressure", "score", "weight", "distance"]
    while True:
        frame = pd.DataFrame(
            {
                "age": random.integers(18, 91, n_rows).astype(float),
                "income": (random.lognormal(10, 0.6, n_rows) / 100).round() * 100,
                "pressure": random.normal(120, 18, n_rows).round(1),
                "score": random.random(n_rows).round(3),
            }
        )
        frame["weight"] = (frame["pressure"] / 2 + random.normal(20, 9, n_rows)).round(1)
        frame["distance"] = random.exponential(10, n_rows).round(2)
        for name, size in categories.items():
            share = random.dirichlet(np.full(size, 8.0))
            frame[name] = random.choice([f"{name}_{value}" for value in "abcdefgh"[:size]], n_rows, p=share)
        predicates: dict[str, Predicate] = {}
        formula = DNF(_rare_cube(random, frame, list(categories), floats, predicates) for _ in range(2))
        fired = np.stack([holds(DNF([cube]), predicates, frame) for cube in formula.cubes], axis=1)
        alone = fired & (fired.sum(axis=1) == 1)[:, None]
        if len(formula.cubes) == 2 and alone.mean(axis=0).min() >= 0.015 and 0.035 <= fired.any(axis=1).mean() <= 0.045:
            domains = {name: tuple(sorted(frame[name].unique())) for name in categories}
            return Problem(frame, np.asarray(fired.any(axis=1), np.int64), formula, predicates, domains)


def monks_problem(number: int, noise: float, seed: int, folder: Path) -> Problem:
    """MONK's problem 1 or 3 on all 432 possible rows, which are its published test part; the seed flips labels."""
    table = pd.read_csv(folder / "tabular" / "monks.csv.gz")
    table = table[(table["problem"] == number) & (table["split"] == "test")]
    frame = table.drop(columns=["problem", "split", "class"]).reset_index(drop=True)
    tests = {1: _MONK_1, 3: _MONK_3}[number]
    predicates = {f"{column} is {value}": Predicate(column, "==", value) for cube in tests for column, value, _ in cube}
    truth = DNF(Cube(Literal(f"{column} is {value}", positive) for column, value, positive in cube) for cube in tests)
    domains = {str(name): tuple(sorted(frame[name].unique().tolist())) for name in frame}
    labels = _turned_over(table["class"].to_numpy(dtype=np.int64), noise, seed)
    return Problem(frame, labels, truth, predicates, domains, noise)


def tic_tac_toe_problem(seed: int, folder: Path) -> Problem:
    table = pd.read_csv(folder / "tabular" / "tic-tac-toe.data.gz", header=None, names=[*PLACES, "won"])
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    truth = DNF(Cube(Literal(f"{PLACES[place]} is x") for place in line) for line in lines)
    predicates = {f"{place} is x": Predicate(place, "==", "x") for place in PLACES}
    labels = (table["won"] == "positive").to_numpy().astype(np.int64)
    return Problem(table[list(PLACES)], labels, truth, predicates, dict.fromkeys(PLACES, ("b", "o", "x")))


_MONK_1 = (
    *([("head_shape", value, True), ("body_shape", value, True)] for value in (1, 2, 3)),
    [("jacket_color", 1, True)],
)
_MONK_3 = ([("jacket_color", 3, True), ("holding", 1, True)], [("jacket_color", 4, False), ("body_shape", 3, False)])


def holds(formula: DNF, predicates: Mapping[str, Predicate], frame: pd.DataFrame) -> NDArray[np.bool_]:
    answers = np.zeros(len(frame), dtype=np.bool_)
    for cube in formula.cubes:
        fires = np.ones(len(frame), dtype=np.bool_)
        for literal in cube:
            predicate = _predicate(predicates, literal.concept)
            fires &= predicate.holds(frame[predicate.column]) == literal.positive
        answers |= fires
    return answers


def is_prime(formula: DNF) -> bool:
    return not any(DNF([cube.without(literal)]).implies(formula) for cube in formula.cubes for literal in cube)


def _predicate(predicates: Mapping[str, Predicate], concept: str) -> Predicate:
    return predicates.get(concept) or Predicate(concept, ">=", 0.5)


def _frequencies(random: np.random.Generator, formula: DNF, names: list[str], *, wide: bool) -> NDArray[np.float64]:
    signs = Counter(literal for cube in formula.cubes for literal in cube)
    low, high = (0.55, 0.75) if wide else (0.4, 0.6)
    frequency = random.uniform(0.3, 0.7, len(names))
    for column, name in enumerate(names):
        lean = np.sign(signs[Literal(name)] - signs[Literal(name, False)])
        if name in formula.concepts:
            often = random.uniform(low, high) if lean else random.uniform(0.45, 0.55)
            frequency[column] = often if lean >= 0 else 1 - often
    return frequency


def _boolean_rows(random: np.random.Generator, frequency: NDArray[np.float64], n_rows: int) -> NDArray[np.bool_]:
    return random.random((n_rows, len(frequency))) < frequency


def _copy_columns(random: np.random.Generator, bits: NDArray[np.bool_], used: list[int]) -> None:
    others = random.permutation([column for column in range(bits.shape[1]) if column not in used])
    for column in others[: (len(others) + 1) // 2]:
        bits[:, column] = bits[:, random.choice(used)] ^ (random.random(len(bits)) < random.uniform(0.2, 0.3))


def _boolean_problem(bits: NDArray[np.bool_], names: list[str], formula: DNF, noise: float, seed: int) -> Problem:
    labels = _turned_over(formula.evaluate(bits, names).astype(np.int64), noise, seed)
    frame = pd.DataFrame(bits.astype(np.int64), columns=names)
    return Problem(frame, labels, formula, domains=dict.fromkeys(names, (0, 1)), noise=noise)


def _turned_over(labels: NDArray[np.int64], noise: float, seed: int) -> NDArray[np.int64]:
    flipped: NDArray[np.int64] = labels ^ (np.random.default_rng([seed, 999]).random(len(labels)) < noise)
    return flipped


def _box(
    random: np.random.Generator,
    values: NDArray[np.float64],
    columns: Iterable[int],
    names: list[str],
    predicates: dict[str, Predicate],
) -> Cube:
    literals = []
    for column in columns:
        share, open_side = random.uniform(0.4, 0.7), int(random.integers(4))
        low = 0.0 if open_side == 0 else 1 - share if open_side == 1 else random.uniform(0.05, 0.95 - share)
        bounds = [(True, low)] * (open_side != 0) + [(False, low + share)] * (open_side != 1)
        for positive, quantile in bounds:
            cut = round(float(np.quantile(values[:, column], quantile)), 2)
            concept = f"{names[column]} >= {cut}"
            predicates[concept] = Predicate(names[column], ">=", cut)
            literals.append(Literal(concept, positive))
    return Cube(literals)


def _rare_cube(
    random: np.random.Generator,
    frame: pd.DataFrame,
    categories: list[str],
    floats: list[str],
    predicates: dict[str, Predicate],
) -> Cube:
    category = str(random.choice(categories))
    value = str(random.choice(frame[category].unique()))
    concept = f"{category} is {value}"
    predicates[concept] = Predicate(category, "==", value)
    literals = [Literal(concept)]
    share = min((0.0205 / (frame[category] == value).mean()) ** 0.5, 1.0)
    for column in random.choice(floats, 2, replace=False):
        above = bool(random.integers(2))
        cut = float(np.quantile(frame[column], 1 - share if above else share, method="nearest"))
        concept = f"{column} >= {cut}"
        predicates[concept] = Predicate(str(column), ">=", cut)
        literals.append(Literal(concept, above))
    return Cube(literals)


# The judge


@dataclass(frozen=True)
class Judgement:
    """Whether found rules are the truth: `strict` on every possible row, `exact` as far as training rows can tell."""

    exact: bool
    strict: bool


def judge(rules: RuleSet, problem: Problem, train: pd.DataFrame) -> Judgement:
    """Compare the formula of class 1 with the truth; for a complement, the negation of the other formula."""
    positive = rules.rule(1).formula
    negated = isinstance(positive, Complement)
    formula = positive.of if isinstance(positive, Complement) else positive
    strict = same_meaning(formula, rules.predicates, problem, train, negated=negated)
    if strict or negated or len(problem.domains) == problem.frame.shape[1]:
        return Judgement(strict, strict)
    shape = partial(literal_shape, domains=problem.domains)
    differs = holds(formula, rules.predicates, train) != holds(problem.truth, problem.predicates, train)
    same_literals = shape(formula, rules.predicates) == shape(problem.truth, problem.predicates)
    return Judgement(exact=bool(same_literals and not differs.any()), strict=False)


def same_meaning(
    formula: DNF, predicates: Mapping[str, Predicate], problem: Problem, train: pd.DataFrame, *, negated: bool = False
) -> bool:
    """Whether a formula, or with `negated` its negation, is the truth on every possible row.

    The values of each column are grouped into cells that no literal of either formula tells apart. Each cell gets a
    number, and both formulas are written over the bits of these numbers; numbers without a cell repeat the last one. A
    float can have every value of the training rows.
    """
    sides = (formula, predicates), (problem.truth, problem.predicates)
    used = {_predicate(meaning, concept) for side, meaning in sides for concept in side.concepts}
    over_bits: dict[Predicate, DNF] = {}
    for column in {predicate.column for predicate in used}:
        values = np.asarray(problem.domains[column]) if column in problem.domains else np.unique(train[column])
        tests = [predicate for predicate in used if predicate.column == column]
        cells = np.unique(np.stack([predicate.holds(values) for predicate in tests]), axis=1)
        n_bits = max(cells.shape[1] - 1, 1).bit_length()
        numbers = [(number, min(number, cells.shape[1] - 1)) for number in range(1 << n_bits)]
        for predicate, row in zip(tests, cells, strict=True):
            over_bits[predicate] = DNF(
                Cube(Literal(f"{column} bit {bit}", bool(number >> bit & 1)) for bit in range(n_bits))
                for number, cell in numbers
                if row[cell]
            )
    ours, true = (_over_bits(side, meaning, over_bits) for side, meaning in sides)
    return bool((Complement(ours) if negated else ours).equivalent(true))


def _over_bits(formula: DNF, predicates: Mapping[str, Predicate], over_bits: Mapping[Predicate, DNF]) -> DNF:
    cubes = DNF.false
    for cube in formula.cubes:
        rest = DNF.true
        for literal in cube:
            column = over_bits[_predicate(predicates, literal.concept)]
            rest = rest & (column if literal.positive else ~column)
        cubes = cubes | rest
    return cubes


def literal_shape(
    formula: DNF, predicates: Mapping[str, Predicate], domains: Mapping[str, tuple[Any, ...]]
) -> Counter[tuple[Any, ...]]:
    """The cubes without thresholds: for a float its column and direction, for another column the values allowed."""
    cubes: Counter[tuple[Any, ...]] = Counter()
    for cube in formula.cubes:
        shape: list[tuple[str, Any]] = []
        for literal in cube:
            predicate = _predicate(predicates, literal.concept)
            if predicate.column in domains:
                values = domains[predicate.column]
                allowed = predicate.holds(np.asarray(values)) == literal.positive
                shape.append((predicate.column, tuple(value for value, ok in zip(values, allowed, strict=True) if ok)))
            else:
                upwards = (predicate.operator in (">=", ">")) == literal.positive
                shape.append((predicate.column, "up" if upwards else "down"))
        cubes[tuple(sorted(shape, key=repr))] += 1
    return cubes


# The suite

Family = Callable[[int], Problem]
SIZES = ((2, 2, 1500, 15), (4, 3, 2000, 20), (3, 4, 2000, 30), (5, 3, 3000, 40), (8, 5, 5000, 25))
"""Cubes, literals in each, rows and columns."""


def families() -> dict[str, Family]:
    suite: dict[str, Family] = {}
    for n_cubes, width, n_rows, n_columns in SIZES:
        for noise in (0.0, 0.02, 0.05):
            name = f"dnf-{n_cubes}x{width}" + (f"-noise{100 * noise:.0f}" if noise else "")
            suite[name] = partial(dnf_problem, n_cubes, width, n_rows, n_columns, noise)
    three = [dict.fromkeys(chosen, True) for chosen in combinations(range(5), 3)]
    suite["xor-2"] = partial(fixed_problem, odd(2), 2, 1500, 15, (2, 15))
    suite["xor-3"] = partial(fixed_problem, odd(3), 3, 2000, 16, (3, 16))
    suite["3-of-5"] = partial(fixed_problem, three, 5, 2000, 15, (35,))
    suite["boxes-rounded"] = partial(boxes_problem, 2000, 2)
    suite["boxes-continuous"] = partial(boxes_problem, 2000, None)
    suite["rare-class"] = partial(rare_class_problem, 8000)
    place = data_folder()
    suite["monks-1"] = partial(monks_problem, 1, 0.0, folder=place)
    suite["monks-3"] = partial(monks_problem, 3, 0.0, folder=place)
    suite["monks-3-noise5"] = partial(monks_problem, 3, 0.05, folder=place)
    suite["tic-tac-toe"] = partial(tic_tac_toe_problem, folder=place)
    return suite


def planted_jobs(names: Sequence[str], methods: Sequence[str], n_seeds: int, first: int) -> Iterator[Job]:
    for family, make in families().items():
        if family.startswith(tuple(names) or ""):
            for seed in range(first, first + n_seeds):
                problem = make(seed)
                split = problem.split(seed)
                for method in methods:
                    if method not in RAW.values() or not split.is_boolean:
                        yield {"family": family, "seed": seed, "method": method}, planted_run, (problem, split, method)


def planted_run(problem: Problem, split: Split, method: str) -> Line:
    answer = METHODS[method](split)
    verdict = None if answer.rules is None else judge(answer.rules, problem, split.train)
    stated = "" if answer.rules is None else " | ".join(f"{rule.name}: {rule.formula}" for rule in answer.rules.rules)
    return {
        **answer.scores(split), "noise": problem.noise, "exact": verdict and verdict.exact,
        "strict": verdict and verdict.strict, "formula": stated, "truth": str(problem.truth),
    }  # fmt: skip
