"""Measure rows per second of evaluating a formula: packed columns, a NumPy expression, and a memory copy.

    .venv/bin/python -m lab.scripts.throughput.py

The formula has 10 cubes of 4 literals. The rows have 100 concepts, of which only the 40 that it uses are made. NumPy
gets each concept as a contiguous Boolean column, its best case, and evaluates `(a & ~b & …) | …` column by column.
Packing is timed separately, because it is done once per table, not once per formula. The copy moves as many bytes as
the packed columns of the formula have, which is a lower bound. All take turns in one process, on one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lab.scripts.layout import aligned
from lab.scripts.measure import cpu_seconds
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.packed_rows import PackedRows, pack_columns

N_CUBES, CUBE = 10, 4
NUMPY, PACKED, COPY = "NumPy Boolean expression", "packed, answer packed", "copy of the packed columns"
ASKED, SHARE = 5.0, 0.3
"""The least gain over NumPy, and the least share of the copy's speed, at 10^7 rows."""


def formula() -> DNF:
    """Return a formula whose cubes share no concept."""
    return DNF(Cube(Literal(f"c{CUBE * k + i}", positive=(k + i) % 3 > 0) for i in range(CUBE)) for k in range(N_CUBES))


def plain(wanted: DNF, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Evaluate the formula in plain NumPy."""
    fires = None
    for cube in wanted:
        held = None
        for literal in cube:
            column = columns[literal.concept] if literal.positive else ~columns[literal.concept]
            held = column if held is None else held & column
        fires = held if fires is None else fires | held
    return fires


def measure(sizes: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """Return the rows per second of every method at every size."""
    wanted = formula()
    names = list(wanted.concepts)
    found = []
    for n_rows in sizes:
        rng = np.random.default_rng(0)
        matrix = np.stack([rng.integers(0, 2, n_rows, dtype=np.uint8).view(np.bool_) for _ in names])
        columns = {name: matrix[j] for j, name in enumerate(names)}
        packed = PackedRows(pack_columns(matrix), n_rows, tuple(names))
        target = np.empty_like(packed.words)
        if not (packed.unpack(wanted.evaluate_packed(packed)) == plain(wanted, columns)).all():
            raise SystemExit("the two evaluations differ: a defect.")
        actions: dict[str, Callable[[], object]] = {
            NUMPY: lambda: plain(wanted, columns),  # noqa: B023
            PACKED: lambda: wanted.evaluate_packed(packed),  # noqa: B023
            "packed, answer as Booleans": lambda: wanted.evaluate(packed),  # noqa: B023
            "packing alone": lambda: pack_columns(matrix),  # noqa: B023
            COPY: lambda: np.copyto(target, packed.words),  # noqa: B023
        }
        # Repeat short actions until the clock can measure them.
        calls = {name: max(1, round(0.02 / max(cpu_seconds(action), 1e-6))) for name, action in actions.items()}
        rates: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(repeats):
            for name, action in actions.items():
                seconds = cpu_seconds(lambda a=action, n=calls[name]: [a() for _ in range(n)]) / calls[name]
                rates[name].append(n_rows / seconds)
        found += [{"rows": n_rows, "what": name, "rows_a_second": values} for name, values in rates.items()]
    return found


def markdown(found: list[dict[str, Any]]) -> str:
    """Return one row per method and size; two of them have a verdict."""
    rows = [["rows", "what", "median, M rows/s", "min-max", "against NumPy", "of the copy", "verdict"]]
    for line in found:
        middle = {one["what"]: statistics.median(one["rows_a_second"]) for one in found if one["rows"] == line["rows"]}
        mine = middle[line["what"]]
        gain, share = mine / middle[NUMPY], mine / middle[COPY]
        asked = line["what"] == PACKED and line["rows"] == 10_000_000
        verdict = ("holds" if gain >= ASKED and share >= SHARE else "does not hold") if asked else ""
        low, high = min(line["rows_a_second"]) / 1e6, max(line["rows_a_second"]) / 1e6
        rows.append(
            [f"{line['rows']:,}", line["what"], f"{mine / 1e6:,.0f}", f"{low:,.0f}-{high:,.0f}", f"{gain:.1f}x",
             f"{share:.0%}", verdict]
        )  # fmt: skip
    return aligned(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    found = measure(given.rows, given.repeats)
    print(markdown(found))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
