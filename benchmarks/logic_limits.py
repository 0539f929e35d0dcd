"""Measure parsing of long formulas, and questions about adversarial formulas with and without a SAT solver.

    python benchmarks/logic_limits.py

Prints seconds of CPU time and the memory that parsing needs. "too large" means that the question ended with
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

from logiclens.errors import FormulaTooLarge
from logiclens.formula import DNF, Cube, Literal, parse
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


QUESTIONS: dict[str, Callable[[DNF], object]] = {
    "always true": lambda formula: DNF.true.implies(formula),
    "less a cube": lambda formula: formula.equivalent(DNF(formula.cubes[1:])),
    "simplify": lambda formula: f"{len(simplify(formula).formula):,} cubes",
    "negate": lambda formula: f"{len(~formula):,} cubes",
}


def answer(ask: Callable[[DNF], object], formula: DNF) -> str:
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
