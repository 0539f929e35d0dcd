"""Measure parsing of long formulas, and questions about adversarial formulas with and without a SAT solver.

    python -m lab.scripts.logic_limits.py

Prints seconds of CPU time and the memory that parsing needs; then the seconds of `minimise` on the truth tables of the
same formulas, whose rows are those that make it hard. "too large" means that the question ended with
`FormulaTooLarge` at its limit of steps, which is the same on every machine.
"""

from __future__ import annotations

import itertools
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import FormulaTooLarge
from logiclens.formula import DNF, Cube, Literal, TruthTable, minimise, parse
from logiclens.formula.minimisation import simplify


def main() -> None:
    """Print the two tables."""
    print(f"{'parse':32} {'literals':>10} {'seconds':>8} {'MB':>6}")
    for size in (10**4, 10**5, 10**6):
        for name, text in texts(size).items():
            print(f"{name:32} {size:>10,} {cpu_seconds(lambda text=text: parse(text)):8.2f} {megabytes(text):6.0f}")
    print(f"\n{'question':32} {'python-sat':>22} {'without':>22}")
    for name, formula in hard_formulas().items():
        for asked, ask in QUESTIONS.items():
            with_solver = answer(ask, formula)
            with no_solver():
                without = answer(ask, formula)
            print(f"{name + ': ' + asked:32} {with_solver:>22} {without:>22}", flush=True)
    print(f"\n{'minimise':32} {'rows':>10} {'concepts':>8} {'found':>22}")
    for name, table in hard_tables().items():
        found = answer(lambda table: f"{len(minimise(table).formula):,} cubes", table)
        print(f"{name:32} {len(table.on) + len(table.off):>10,} {len(table.names):>8} {found:>22}", flush=True)


def texts(size: int) -> dict[str, str]:
    """Return texts of `size` literals in several shapes."""
    draw = random.Random(0)
    long = (
        " & ".join(f"{draw.choice(('', '~'))}x{j}" for j in draw.sample(range(1_000), 10)) for _ in range(size // 10)
    )
    return {
        "cubes of 10 literals": " | ".join(f"({cube})" for cube in long),
        "cubes of 1 literal": " | ".join(f"x{j}" for j in range(size)),
        "one cube": " & ".join(f"x{j}" for j in range(size)),
        "a parenthesis and literals": "(a | b) & " + " & ".join(f"x{j % 1_000}" for j in range(size)),
    }


def hard_formulas() -> dict[str, DNF]:
    """Return formulas on which counting through cubes takes exponential time."""
    draw = random.Random(0)
    threes = [[Literal(f"x{j}", draw.random() < 0.5) for j in draw.sample(range(200), 3)] for _ in range(880)]
    homeless = [[Literal(f"p{p} in {h}", False) for h in range(10)] for p in range(11)]
    pairs = itertools.product(range(10), itertools.combinations(range(11), 2))
    crowded = [[Literal(f"p{p} in {h}"), Literal(f"p{q} in {h}")] for h, (p, q) in pairs]
    odd = (bits for bits in itertools.product((False, True), repeat=16) if sum(bits) % 2)
    names = [f"x{j}" for j in range(16)]
    return {
        "880 random cubes": DNF(map(Cube, threes)),
        "pigeonhole 11": DNF(map(Cube, homeless + crowded)),
        "parity 16": DNF(Cube(map(Literal, names, bits)) for bits in odd),
    }


def hard_tables() -> dict[str, TruthTable]:
    """Return truth tables without a short formula, or of formulas that are hard to decide."""
    draw = np.random.default_rng(0)
    formulas = hard_formulas()
    pigeons, threes = formulas["pigeonhole 11"], DNF(formulas["880 random cubes"].cubes[:8])
    parities = {f"parity {n}": _every_row(n) for n in (10, 12, 13, 16)}
    tables = {
        name: TruthTable.of(rows, [f"x{j}" for j in range(rows.shape[1])], answers=rows.sum(axis=1) % 2 == 1)
        for name, rows in parities.items()
    }
    for n in (11, 12, 15, 16):
        noise = _every_row(n)
        tables[f"noise on every row of {n}"] = _table(noise, draw.random(len(noise)) < 0.5)
    third = _every_row(18)[draw.random(1 << 18) < 0.3]
    tables["noise on a third of 18"] = _table(third, draw.random(len(third)) < 0.5)
    for n_rows in (1_000, 10_000):
        # At most one hole for each pigeon: the formula then fails on some rows.
        seats = np.zeros((n_rows, 11, 10), dtype=np.bool_)
        np.put_along_axis(seats, draw.integers(0, 10, (n_rows, 11, 1)), True, axis=2)
        for row in seats[: n_rows // 2]:
            # A row without crowded holes leaves one pigeon without a hole.
            row[:] = False
            row[draw.permutation(11)[:10], np.arange(10)] = True
        rows = seats.reshape(n_rows, -1) ^ (draw.random((n_rows, 110)) < 0.003)
        names = [f"p{p} in {h}" for p in range(11) for h in range(10)]
        tables[f"pigeonhole 11, {n_rows:,} rows"] = TruthTable.of(
            rows, names, answers=DNF(pigeons.cubes[11:]).evaluate(rows, names)
        )
        rows = draw.random((n_rows, 200)) < 0.5
        tables[f"noise on 200, {n_rows:,} rows"] = _table(rows, draw.random(n_rows) < 0.5)
        names = [f"x{j}" for j in range(200)]
        tables[f"8 random cubes, {n_rows:,} rows"] = _table(rows, threes.evaluate(rows, names))
    return tables


def _every_row(n: int) -> NDArray[np.bool_]:
    return (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.bool_)


def _table(rows: NDArray[np.bool_], answers: NDArray[np.bool_]) -> TruthTable:
    return TruthTable.of(rows, [f"x{j}" for j in range(rows.shape[1])], answers=answers)


QUESTIONS: dict[str, Callable[[DNF], object]] = {
    "always true": lambda formula: DNF.true.implies(formula),
    "less a cube": lambda formula: formula.equivalent(DNF(formula.cubes[1:])),
    "simplify": lambda formula: f"{len(simplify(formula).formula):,} cubes",
    "negate": lambda formula: f"{len(~formula):,} cubes",
}


def answer(ask: Callable[[Any], object], formula: Any) -> str:
    """Return the answer and the seconds it took."""
    start = time.process_time()
    try:
        found = str(ask(formula))
    except FormulaTooLarge:
        found = "too large"
    return f"{found} {time.process_time() - start:7.2f} s"


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def megabytes(text: str) -> float:
    """Return the largest memory that parsing a text takes, without the text."""
    tracemalloc.start()
    parse(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


@contextmanager
def no_solver() -> Iterator[None]:
    """Act as if python-sat was not installed."""
    before = sys.modules.get("pysat.solvers")
    sys.modules["pysat.solvers"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if before is None:
            del sys.modules["pysat.solvers"]
        else:
            sys.modules["pysat.solvers"] = before


if __name__ == "__main__":
    main()
