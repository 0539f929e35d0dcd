"""Rows a second that a formula is evaluated on: packed columns, a plain NumPy expression, and a copy of the memory.

    .venv/bin/python benchmarks/throughput.py

One formula of 5 cubes of 4 literals over 20 concepts. NumPy gets each concept as a contiguous Boolean column, which is
its best case, and evaluates `(a & ~b & …) | …` column by column. Packing is shown apart: it is paid once for a table,
not once for a formula. The copy moves as many bytes as the packed columns of the formula have; nothing that reads them
all can be faster. All take turns in one process, on one thread.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import numpy as np
from measure import cpu_seconds

from logiclens.formula.bits import PackedRows, pack_columns
from logiclens.formula.dnf import DNF, Cube, Literal

N_CONCEPTS, N_CUBES, CUBE = 20, 5, 4


def formula() -> DNF:
    """Five cubes that between them use all twenty concepts."""
    return DNF(Cube(Literal(f"c{CUBE * k + i}", positive=(k + i) % 3 > 0) for i in range(CUBE)) for k in range(N_CUBES))


def plain(wanted: DNF, columns: dict[str, np.ndarray]) -> np.ndarray:
    """What one would write in NumPy."""
    fires = None
    for cube in wanted:
        held = None
        for literal in cube:
            column = columns[literal.concept] if literal.positive else ~columns[literal.concept]
            held = column if held is None else held & column
        fires = held if fires is None else fires | held
    return fires


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 1_000_000, 20_000_000])
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    wanted = formula()
    names = [f"c{j}" for j in range(N_CONCEPTS)]
    print("| rows | what | median, M rows/s | min-max | against NumPy |\n| --- | --- | --- | --- | --- |")
    for n_rows in arguments.rows:
        matrix = np.random.default_rng(0).random((N_CONCEPTS, n_rows), dtype=np.float32) < 0.5
        columns = {name: np.ascontiguousarray(matrix[j]) for j, name in enumerate(names)}
        packed = PackedRows(pack_columns(matrix), n_rows, tuple(names))
        target = np.empty_like(packed.words)
        if not (packed.unpack(wanted.evaluate_packed(packed)) == plain(wanted, columns)).all():
            raise SystemExit("the two evaluations differ: a defect.")
        actions: dict[str, Callable[[], object]] = {
            "NumPy Boolean expression": lambda: plain(wanted, columns),  # noqa: B023
            "packed, answer packed": lambda: wanted.evaluate_packed(packed),  # noqa: B023
            "packed, answer as Booleans": lambda: wanted.evaluate(packed),  # noqa: B023
            "packing alone": lambda: pack_columns(matrix),  # noqa: B023
            "copy of the packed columns": lambda: np.copyto(target, packed.words),  # noqa: B023
        }
        # Short actions are called so often that the clock can see them.
        calls = {name: max(1, round(0.02 / max(cpu_seconds(action), 1e-6))) for name, action in actions.items()}
        rates: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(arguments.repeats):
            for name, action in actions.items():
                seconds = cpu_seconds(lambda a=action, n=calls[name]: [a() for _ in range(n)]) / calls[name]
                rates[name].append(n_rows / seconds / 1e6)
        base = statistics.median(rates["NumPy Boolean expression"])
        for name, values in rates.items():
            middle = statistics.median(values)
            print(
                f"| {n_rows:,} | {name} | {middle:,.0f} | {min(values):,.0f}-{max(values):,.0f} "
                f"| {middle / base:.1f}x |",
                flush=True,
            )


if __name__ == "__main__":
    main()
