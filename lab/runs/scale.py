"""Counting in engines: rows per second and peak memory, beside a plain GROUP BY, pandas and polars.

Parquet files of 30 columns and a target are made once, in three forms:

- `few`: drawn from 10,000 distinct rows, with 5% of the labels flipped, which gives about 20,000 distinct rows;
- `measured`: the same with noise on ten columns of floats, so that no row repeats, but concepts do;
- `worst`: independent columns, so that no two rows have the same concepts.

Each measurement has its own process, and starts after libraries and Spark are loaded. Measurements take turns.
`prepare` is everything that `fit` does before training: ranges, counts, cuts and counted rows. `count` is `count_rows`
alone, with the cuts of all rows. Both are compared with a plain GROUP BY of the same columns in DuckDB.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from lab.pages.markdown import read_json, write
from lab.pages.scale_page import FORMS
from lab.runs.results import RESULTS, ROOT

PART, DISTINCT, NOISE = 1_000_000, 10_000, 0.01
MOST_OF_PANDAS = 10_000_000
"""More rows than this might not fit into memory."""
PACKAGES = ("duckdb", "ibis-framework", "pandas", "polars", "pyspark")
OURS = ("ibis", "ibis.backends.duckdb", "logiclens.estimator.classifier")


def generate(folder: Path, n_rows: int, form: str) -> None:
    """Write Parquet files of a million rows: 10 columns of floats, 10 of small integers, 10 of Booleans, a target."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    few: dict[str, Any] = {f"n{j:02}": rng.integers(0, 6, DISTINCT).astype(np.int16) for j in range(10)}
    few |= {f"m{j:02}": rng.integers(0, 6, DISTINCT) / 2 for j in range(10)}
    few |= {f"f{j:02}": rng.random(DISTINCT) < 0.3 for j in range(10)}
    for part in range(-(-n_rows // PART)):
        n = min(PART, n_rows - part * PART)
        place = rng.integers(0, DISTINCT, n)
        columns: dict[str, Any] = {
            name: rng.permutation(np.resize(values, n)) if form == "worst" else values[place]
            for name, values in few.items()
        }
        answer = (columns["n00"] > 3) & columns["f00"] | (columns["m01"] > 2)
        if form == "measured":
            columns |= {name: columns[name] + rng.normal(0, NOISE, n) for name in columns if name[0] == "m"}
        columns["y"] = np.where(answer ^ (rng.random(n) < 0.05), "ill", "well")
        pq.write_table(pa.table(columns), folder / f"part{part:04}.parquet")


def opened(pattern: str, threads: int, engine: Any) -> Any:
    from logiclens.engine.lake import in_engine

    return in_engine(pattern, engine, threads=threads if engine == "duckdb" else None)


def prepare(pattern: str, threads: int, engine: str) -> Callable[[], int]:
    from logiclens import EntropyClassifier

    def work() -> int:
        begun = EntropyClassifier()._begin_counting(opened(pattern, threads, engine), "y", None, None)
        return len(begun.ready.table.counted())

    return work


def count(pattern: str, threads: int, engine: str) -> Callable[[], int]:
    from logiclens import Booleaniser
    from logiclens.engine.count import classes_of, count_rows
    from logiclens.engine.histogram import tallies
    from logiclens.engine.query import kept

    table = opened(pattern, threads, engine)
    classes, n_of_class = classes_of(table, "y")
    names = [name for name in table.columns if name != "y"]
    with kept(table, [*names, "y"]) as rows:
        cuts = Booleaniser().fit_tallies(list(tallies(rows, names, float(n_of_class.sum()))))
    return lambda: len(count_rows(table, cuts.cutting_, "y", classes))


def group_by(pattern: str, threads: int, engine: str) -> Callable[[], int]:
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    # The result stays in the engine: fetching every row is no part of a GROUP BY.
    query = f"SELECT count(*), max(n) FROM (SELECT *, count(*) AS n FROM '{pattern}' GROUP BY ALL)"
    return lambda: int(connection.execute(query).fetchall()[0][0])


def by_pandas(pattern: str, threads: int, engine: str) -> Callable[[], int]:
    import pandas as pd

    def work() -> int:
        whole = pd.concat([pd.read_parquet(file) for file in sorted(Path(pattern).parent.glob("*.parquet"))])
        return len(whole.groupby(list(whole.columns), sort=False).size())

    return work


def by_polars(pattern: str, threads: int, engine: str) -> Callable[[], int]:
    import polars as pl

    return lambda: len(pl.scan_parquet(pattern).group_by(pl.all()).len().collect(engine="streaming"))


WORK: dict[str, tuple[Callable[[str, int, str], Callable[[], int]], tuple[str, ...]]] = {
    "group by": (group_by, ("duckdb", "pyarrow")), "count": (count, OURS), "prepare": (prepare, OURS),
    "pandas": (by_pandas, ("pandas", "pyarrow.parquet")), "polars": (by_polars, ("polars",)),
}  # fmt: skip
"""What is measured, and the libraries that are loaded before."""


def peak_mb() -> float:
    pids, total = [os.getpid()], 0.0
    while pids:
        pid = pids.pop()
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split())
        except OSError:
            continue
        # A process that has ended has no memory.
        total += float(status.split("VmHWM:")[1].split()[0]) / 1024 if "VmHWM:" in status else 0.0
    return total


def once(name: str, pattern: str, threads: str, engine: str) -> None:
    make, libraries = WORK[name]
    for module in libraries:
        importlib.import_module(module)
    if engine == "spark":
        importlib.import_module("logiclens.engine.lake").spark_session()
    before = peak_mb()
    work = make(pattern, int(threads), engine)
    begun = time.perf_counter(), time.process_time()
    distinct = work()
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    print(json.dumps({"distinct": distinct, "wall_s": wall, "cpu_s": cpu, "peak_mb": peak_mb(), "before_mb": before}))


def measured(name: str, pattern: str, threads: int, engine: str, limit: float) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "lab.runs.scale", name, pattern, str(threads), engine]
    limits = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "ARROW_IO_THREADS"), str(threads))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **limits}, cwd=ROOT, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"ended after {limit:.0f} s"}
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no word"])[-1][:120]
        return {"failed": f"killed by signal {-done.returncode}" if done.returncode < 0 else reason}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def merged(runs: list[dict[str, Any]]) -> dict[str, Any]:
    done = [run for run in runs if "failed" not in run]
    if not done:
        return runs[0]
    medians = {key: statistics.median(run[key] for run in done) for key in done[0]}
    walls = [run["wall_s"] for run in done]
    return {**medians, "distinct": done[0]["distinct"], "fastest_s": min(walls), "slowest_s": max(walls)}


def one_table(form: str, n_rows: int, folder: Path, *, spark: bool, repeats: int, limit: float) -> list[dict[str, Any]]:
    jobs = [(name, threads, "duckdb") for threads in (1, 2) for name in WORK if not spark]
    jobs = [job for job in jobs if job[0] != "pandas" or (job[1] == 1 and n_rows <= MOST_OF_PANDAS)]
    jobs += [(name, 2, "spark") for name in ("count", "prepare") if spark]
    # Warm the file cache, so that the first measurement does not pay for the others.
    n_bytes = sum(len(file.read_bytes()) for file in folder.iterdir())
    runs: dict[tuple[str, int, str], list[dict[str, Any]]] = {job: [] for job in jobs}
    for _ in range(repeats):
        for job, seen in runs.items():
            if not seen or "failed" not in seen[-1]:
                seen.append(measured(job[0], str(folder / "*.parquet"), job[1], job[2], limit))
                print(form, n_rows, *job, seen[-1], file=sys.stderr, flush=True)
    return [
        {"form": form, "rows": n_rows, "bytes": n_bytes, "what": name, "threads": threads,
         "engine": name if name in ("pandas", "polars") else engine, **merged(seen)}
        for (name, threads, engine), seen in runs.items()
    ]  # fmt: skip


def measure(tables: Iterable[list[str]], repeats: int, limit: float) -> None:
    """Measure tables, given as form and rows; spark is `few` on Spark. Write `lab/results/scale.json` after each."""
    result: Any = read_json("scale.json")
    lines: list[dict[str, Any]] = result.get("measurements", [])
    with tempfile.TemporaryDirectory() as scratch:
        for name, n_rows in ((name, int(float(rows))) for name, rows in tables):
            form, folder = "few" if name == "spark" else name, Path(scratch) / f"{name}{n_rows}"
            generate(folder, n_rows, form)
            new = one_table(form, n_rows, folder, spark=name == "spark", repeats=repeats, limit=limit)
            taken = {(one["form"], one["rows"], one["what"], one["engine"], one["threads"]) for one in new}
            lines = [
                one for one in lines
                if (one["form"], one["rows"], one["what"], one["engine"], one["threads"]) not in taken
            ] + new  # fmt: skip
            lines.sort(key=lambda one: (FORMS.index(one["form"]), one["rows"]))
            result = {
                "date": datetime.now(UTC).date().isoformat(),
                "machine": f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})",
                "versions": {package: version(package) for package in PACKAGES}, "measurements": lines,
            }  # fmt: skip
            write(RESULTS / "scale.json", json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    once(*sys.argv[1:])
