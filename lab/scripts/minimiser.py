"""Measure the minimiser against sympy's SOPform and espresso (as pyeda ships it), and print three tables.

Each measurement has its own process with one thread; times are CPU seconds without start-up. Repeats are different
functions of the same kind; the median is printed, with the range in brackets. A peer that is stopped at its limit is
printed as '>'. A peer that is not installed is left out, with a note.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from logiclens.errors import FormulaTooLarge
from logiclens.formula import DNF, Cube, Literal, TruthTable, minimise
from logiclens.formula.minimisation import minimise_complete, row_bits

PEERS = {"sympy": "sympy", "espresso": "pyeda"}
OUR_LIMIT = 600
"""CPU seconds that our side may take: no effective limit."""
START_UP = 10
"""Extra CPU seconds for imports and for making the rows."""

Rows = tuple[np.ndarray, np.ndarray, DNF | None]


def names(n: int) -> list[str]:
    return [f"c{j}" for j in range(n)]


def planted(rng: np.random.Generator, n: int, n_cubes: int, length: int) -> DNF:
    return DNF(
        Cube(Literal(f"c{j}", bool(rng.integers(2))) for j in rng.choice(n, length, replace=False).tolist())
        for _ in range(n_cubes)
    )


def function(kind: str, n: int, seed: int) -> Rows:
    """Return all rows of a function: random, or a formula of six cubes."""
    rng, rows = np.random.default_rng(seed), row_bits(np.arange(1 << n), n)
    hidden = planted(rng, n, 6, min(4, n // 2)) if kind == "planted" else None
    return rows, hidden.evaluate(rows, names(n)) if hidden is not None else rng.random(1 << n) < 0.5, hidden


def observed(kind: str, n_rows: int, seed: int) -> Rows:
    """Return rows of 200 concepts, labelled by a formula of twenty cubes of five literals, or at random."""
    rng = np.random.default_rng(seed)
    hidden = planted(rng, 200, 20, 5) if kind == "planted" else None
    rows = rng.random((n_rows, 200)) < 0.5
    return rows, hidden.evaluate(rows, names(200)) if hidden is not None else rng.random(n_rows) < 0.5, hidden


def complete(kind: str, n: int, seed: int) -> tuple[np.ndarray, DNF | None]:
    """Return the answers on all 2^n rows: of a formula of ten cubes, or of a network of ten concepts."""
    rng = np.random.default_rng(seed)
    rows = row_bits(np.arange(1 << n), n)
    if kind == "planted":
        hidden = planted(rng, n, 10, 6)
        return hidden.evaluate(rows, names(n)), hidden
    weights = rng.normal(size=(n, 8)).astype(np.float32)
    weights[rng.permutation(n)[10:]] = 0
    output = np.maximum(rows.astype(np.float32) @ weights + rng.normal(size=8).astype(np.float32), 0)
    scores = output @ rng.normal(size=8).astype(np.float32)
    return scores > np.median(scores), None


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = action()
    return result, time.process_time() - start


def warm_up() -> None:
    """Minimise a small table first, so that importing the solver is not measured."""
    minimise_complete([False, True], ["c0"])


def ours(rows: np.ndarray, answers: np.ndarray, hidden: DNF | None) -> dict[str, Any]:
    warm_up()
    table = TruthTable.of(rows, names(rows.shape[1]), answers)
    found, seconds = timed(lambda: minimise(table))
    if not (found.formula.evaluate(table.rows) == table.outcome).all():
        raise SystemExit("the formula is wrong on a row.")
    recovered = hidden is not None and found.formula == hidden
    return {
        "seconds": seconds, "literals": found.formula.n_literals, "proved": found.proved, "recovered": recovered
    }  # fmt: skip


def espresso(rows: np.ndarray, answers: np.ndarray, hidden: DNF | None) -> dict[str, Any]:
    from pyeda.boolalg.espresso import FTYPE, RTYPE, espresso, set_config
    from pyeda.boolalg.minimization import CONFIG

    set_config(**CONFIG)
    # Its codes: 1 is false, 2 is true, 3 is absent.
    listed = {(tuple(row), (int(yes),)) for row, yes in zip((rows + 1).tolist(), answers, strict=True)}
    cover, seconds = timed(lambda: espresso(rows.shape[1], 1, listed, intype=FTYPE | RTYPE))
    cubes = [cube for cube, out in cover if out[0]]
    formula = DNF(Cube(Literal(f"c{j}", v == 2) for j, v in enumerate(cube) if v != 3) for cube in cubes)
    return {"seconds": seconds, "literals": formula.n_literals, "recovered": hidden is not None and formula == hidden}


def sympy(rows: np.ndarray, answers: np.ndarray, _: DNF | None) -> dict[str, Any]:
    from sympy import Symbol, preorder_traversal
    from sympy.logic import SOPform

    symbols, minterms = [Symbol(name) for name in names(rows.shape[1])], rows[answers].astype(int).tolist()
    formula, seconds = timed(lambda: SOPform(symbols, minterms))
    return {"seconds": seconds, "literals": sum(node.is_Symbol for node in preorder_traversal(formula))}


def whole(kind: str, n: int, seed: int) -> dict[str, Any]:
    warm_up()
    (answers, hidden), building = timed(lambda: complete(kind, n, seed))
    try:
        found, seconds = timed(lambda: minimise_complete(answers, names(n)))
    except FormulaTooLarge:
        return {"building": building, "seconds": float("nan"), "literals": None}
    return {
        "building": building, "seconds": seconds, "literals": found.formula.n_literals, "proved": found.proved,
        "recovered": hidden is not None and found.formula == hidden,
    }  # fmt: skip


def work(side: str, table: str, kind: str, size: int, seed: int, limit: int) -> None:
    """Measure once and print one line of JSON; the kernel stops it at its limit."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit + START_UP, limit + START_UP + 1))
    if table == "complete":
        result = whole(kind, size, seed)
    else:
        rows = function(kind, size, seed) if table == "function" else observed(kind, size, seed)
        result = {"ours": ours, "espresso": espresso, "sympy": sympy}[side](*rows)
    print(json.dumps(result))


def measure(side: str, table: str, kind: str, size: int, repeats: int, limit: int) -> dict[str, Any]:
    """Return the results of one side on several functions; `stopped` if one of them hit the limit."""
    runs: list[dict[str, Any]] = []
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    for seed in range(repeats):
        print(f"  {side:9}{table} {kind} {size} ({seed + 1} of {repeats})", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--work", side, table, kind, str(size), str(seed), str(limit)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return {"stopped": True, "limit": limit, "runs": runs}
        if done.returncode != 0:
            raise SystemExit(f"{side} {table} {kind} {size} failed:\n{done.stderr[-2000:]}")
        runs.append(json.loads(done.stdout.splitlines()[-1]))
        if runs[-1]["seconds"] > limit:
            return {"stopped": True, "limit": limit, "runs": runs}
    return {"stopped": False, "limit": limit, "runs": runs}


def cells(result: dict[str, Any] | None, *, building: bool = False) -> list[str]:
    """Format seconds and literals as median and range."""
    if result is None:
        return ["-", "-"]
    if result["stopped"]:
        return [f">{result['limit']} s", "-"]
    seconds = [run["seconds"] + (run["building"] if building else 0.0) for run in result["runs"]]
    literals = [run["literals"] for run in result["runs"] if run["literals"] is not None]
    return [spread(seconds, "{:.3g}"), spread(literals, "{:.0f}") if literals else "refused"]


def spread(values: list[float], style: str) -> str:
    low, middle, high = min(values), statistics.median(values), max(values)
    return style.format(middle) + (f" ({style.format(low)}-{style.format(high)})" if low < high else "")


def share(result: dict[str, Any], key: str) -> str:
    runs = [run for run in result["runs"] if not result["stopped"]]
    return f"{sum(bool(run.get(key)) for run in runs)} of {len(runs)}"


def aligned(rows: list[list[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    rows = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in rows)


def compared(table: str, sizes: list[int], peers: list[str], repeats: int, limit: int) -> tuple[str, list[Any]]:
    """Return one table of our figures and the peers'; our last column counts proofs or recovered formulas."""
    key = "proved" if table == "function" else "recovered"
    heads = [f"{side} {what}" for side in ("ours", *peers) for what in ("s", "literals")]
    rows, values = [["answers", "concepts" if table == "function" else "rows", *heads, key]], []
    for kind in ("planted", "random"):
        stopped: set[str] = set()
        for size in sizes:
            results: dict[str, Any] = {}
            for side in ("ours", *peers):
                # A peer that was stopped on a smaller table is not tried on a larger one.
                results[side] = (
                    None
                    if side in stopped
                    else measure(side, table, kind, size, repeats, limit if side in PEERS else OUR_LIMIT)
                )
                if side != "ours" and results[side] and results[side]["stopped"]:
                    stopped.add(side)
            values.append({"table": table, "kind": kind, "size": size, **results})
            rows.append([kind, f"{size:,}", *(c for side in results for c in cells(results[side]))])
            rows[-1].append(share(results["ours"], key))
    return aligned(rows), values


def complete_tables(sizes: list[int], repeats: int) -> tuple[str, list[Any]]:
    rows, values = [["answers", "rows", "building and minimising s", "literals", "proved", "recovered"]], []
    for kind in ("planted", "network"):
        for n in sizes:
            result = measure("ours", "complete", kind, n, repeats, OUR_LIMIT)
            values.append({"table": "complete", "kind": kind, "size": n, "ours": result})
            found = share(result, "recovered") if kind == "planted" else ""
            rows.append([kind, f"2^{n}", *cells(result, building=True), share(result, "proved"), found])
    return aligned(rows), values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="functions of each kind")
    parser.add_argument("--limit", type=int, default=20, help="CPU seconds that a peer may take for one function")
    parser.add_argument("--quick", action="store_true", help="one function of each kind, smaller sizes, a limit of 5 s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every value of every repeat")
    parser.add_argument("--work", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        side, table, kind, *numbers = given.work
        work(side, table, kind, *map(int, numbers))
        return
    repeats, limit = (1, 5) if given.quick else (given.repeats, given.limit)
    peers = [side for side, module in PEERS.items() if importlib.util.find_spec(module)]
    for side in PEERS.keys() - set(peers):
        print(f"{side} is left out: {PEERS[side]} is not installed (pip install {PEERS[side]}).")
    functions = [6, 8, 10] if given.quick else [6, 8, 10, 12]
    n_rows = [100, 1_000, 10_000] if given.quick else [100, 1_000, 10_000, 100_000]
    parts = [
        ("Functions, every row known", compared("function", functions, peers, repeats, limit)),
        (
            "Observed rows of 200 concepts",
            compared("observed", n_rows, [p for p in peers if p != "sympy"], repeats, limit),
        ),
        ("Complete tables", complete_tables([16] if given.quick else [16, 18, 20], repeats)),
    ]
    for title, (text, _) in parts:
        print(f"\n{title}\n\n{text}")
    if given.json:
        values = [value for _, (_, listed) in parts for value in listed]
        given.json.write_text(json.dumps({"repeats": repeats, "limit": limit, "values": values}, indent=2) + "\n")


if __name__ == "__main__":
    main()
