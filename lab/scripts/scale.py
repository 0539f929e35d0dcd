"""Time counting in engines: rows per second and peak memory, against a plain GROUP BY, pandas and polars.

    .venv/bin/python -m lab.scripts.scale.py --few 1e6 1e7 1e8 --measured 1e6 1e7 --worst 1e6 1e7 --spark 1e7 \\
        --json lab/results/scale.json

Parquet files of 30 columns and a target are made once, in three forms:

- `few`: drawn from 10,000 distinct rows, with 5% of the labels flipped, which gives about 20,000 distinct rows;
- `measured`: the same with noise on ten columns of floats, so that no row repeats, but concepts do;
- `worst`: independent columns, so that no two rows have the same concepts.

Each measurement has its own process, and starts after libraries and Spark are loaded. Measurements take turns,
`--repeats` times; the median is printed with the spread. `prepare` is everything that `fit` does before training:
ranges, counts, cuts and counted rows, and in the worst case the choice of concepts. `count` is `count_rows` alone,
with the cuts of all rows. Both are compared with a plain GROUP BY of the same columns in DuckDB.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lab.scripts.scale_page import FORMS, table_of, verdict

PART = 1_000_000
DISTINCT = 10_000
NOISE = 0.01
MOST_OF_PANDAS = 10_000_000
"""More rows than this might not fit into memory."""
LIBRARIES = {
    "prepare": ("ibis", "ibis.backends.duckdb", "logiclens.estimator.classifier"),
    "count": ("ibis", "ibis.backends.duckdb", "logiclens.estimator.classifier"),
    "group by": ("duckdb", "pyarrow"),
    "pandas": ("pandas", "pyarrow.parquet"),
    "polars": ("polars",),
}


def generate(folder: Path, n_rows: int, form: str) -> None:
    """Write Parquet files of a million rows: 10 columns of floats, 10 of small integers, 10 of Booleans, a target."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    few = {f"n{j:02}": rng.integers(0, 6, DISTINCT).astype(np.int16) for j in range(10)}
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


class Table:
    """The files, the engine and the number of threads."""

    def __init__(self, pattern: str, threads: int, engine: str) -> None:
        self.pattern, self.threads, self.engine = pattern, threads, engine

    def opened(self) -> Any:
        """Open it as an Ibis table."""
        from logiclens.engine.lake import in_engine

        return in_engine(self.pattern, self.engine, threads=self.threads if self.engine == "duckdb" else None)


def prepare(table: Table) -> Callable[[], int]:
    """Run everything that `fit` does before it trains."""
    from logiclens.estimator.classifier import EntropyClassifier

    return lambda: len(EntropyClassifier()._begin_counting(table.opened(), "y", None, None).ready.table.counted())


def count(table: Table) -> Callable[[], int]:
    """Count only, with cuts that were found before."""
    from logiclens.concepts.booleaniser import Booleaniser
    from logiclens.engine.count import classes_of, count_rows
    from logiclens.engine.histogram import tallies
    from logiclens.engine.query import kept

    there = table.opened()
    classes, n_of_class = classes_of(there, "y")
    names = [name for name in there.columns if name != "y"]
    with kept(there, [*names, "y"]) as rows:
        found = Booleaniser().fit_tallies(list(tallies(rows, names, "y", classes, n_of_class)))
    return lambda: len(count_rows(there, found.cutting_, "y", classes))


def group_by(table: Table) -> Callable[[], int]:
    """Run a plain GROUP BY of all columns."""
    import duckdb

    connection = duckdb.connect(config={"threads": table.threads})
    # The result stays in the engine: fetching every row is no part of a GROUP BY.
    query = f"SELECT count(*), max(n) FROM (SELECT *, count(*) AS n FROM '{table.pattern}' GROUP BY ALL)"
    return lambda: int(connection.execute(query).fetchall()[0][0])


def by_pandas(table: Table) -> Callable[[], int]:
    """Read everything, then group."""
    import pandas as pd

    def work() -> int:
        whole = pd.concat([pd.read_parquet(file) for file in sorted(Path(table.pattern).parent.glob("*.parquet"))])
        return len(whole.groupby(list(whole.columns), sort=False).size())

    return work


def by_polars(table: Table) -> Callable[[], int]:
    """Scan lazily, and group while streaming."""
    import polars as pl

    return lambda: len(pl.scan_parquet(table.pattern).group_by(pl.all()).len().collect(engine="streaming"))


WORK: dict[str, Callable[[Table], Callable[[], int]]] = {
    "group by": group_by, "count": count, "prepare": prepare, "pandas": by_pandas, "polars": by_polars,
}  # fmt: skip


def peak_mb() -> float:
    """Return the sum of the peak memory of this process and of those that it started."""
    pids, total = [os.getpid()], 0.0
    while pids:
        pid = pids.pop()
        try:
            told = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split())
        except OSError:
            continue
        if "VmHWM:" not in told:
            # It has ended.
            continue
        total += float(told.split("VmHWM:")[1].split()[0]) / 1024
    return total


def work(name: str, table: Table) -> None:
    """Measure once and print the result on the last line."""
    for module in LIBRARIES[name]:
        importlib.import_module(module)
    if table.engine == "spark":
        importlib.import_module("logiclens.engine.lake").spark_session()
    before = peak_mb()
    todo = WORK[name](table)
    begun = time.perf_counter(), time.process_time()
    distinct = todo()
    wall, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    print(json.dumps({"distinct": distinct, "wall_s": wall, "cpu_s": cpu, "peak_mb": peak_mb(), "before_mb": before}))


def measured(name: str, table: Table, limit: float) -> dict[str, Any]:
    """Run one measurement in its own process."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        __file__,
        "--work",
        name,
        table.pattern,
        str(table.threads),
        table.engine,
    ]
    threads = str(table.threads)
    environment = {**os.environ, "POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads, "ARROW_IO_THREADS": threads}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"ended after {limit:.0f} s"}
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no word"])[-1][:120]
        return {"failed": f"killed by signal {-done.returncode}" if done.returncode < 0 else reason}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the median of several runs, with the spread of their times."""
    done = [run for run in runs if "failed" not in run]
    if not done:
        return runs[0]
    merged = {key: statistics.median(run[key] for run in done) for key in done[0]}
    walls = [run["wall_s"] for run in done]
    return {**merged, "distinct": done[0]["distinct"], "fastest_s": min(walls), "slowest_s": max(walls)}


def made_with() -> dict[str, Any]:
    """Return the versions and the machine that the numbers depend on."""
    versions = {
        name: importlib.metadata.version(name) for name in ("duckdb", "ibis-framework", "pandas", "polars", "pyspark")
    }
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})",
        "versions": versions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    for form, default in (("few", [1e6, 1e7]), ("measured", [1e6]), ("worst", [1e6])):
        parser.add_argument(f"--{form}", type=float, nargs="*", default=default, metavar="ROWS")
    parser.add_argument("--spark", type=float, nargs="*", default=[], metavar="ROWS", help="of `few`, on Spark too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=900, help="seconds that one measurement may take")
    parser.add_argument("--folder", type=Path, help="where the files are made and kept; a temporary one if not said")
    parser.add_argument("--json", type=Path, help="write the measurements, in place of those of the same form and rows")
    given = parser.parse_args()
    if given.work:
        name, pattern, threads, engine = given.work
        work(name, Table(pattern, int(threads), engine))
        return
    found: list[dict[str, Any]] = []
    if given.json is not None and given.json.exists():
        found = json.loads(given.json.read_text(encoding="utf-8"))["measurements"]
    with tempfile.TemporaryDirectory() as scratch:
        for form in FORMS:
            for n_rows in map(int, getattr(given, form)):
                folder = (given.folder or Path(scratch)) / f"{form}{n_rows}"
                if not folder.exists():
                    generate(folder, n_rows, form)
                on_spark = form == "few" and n_rows in map(int, given.spark)
                new = one_table(form, n_rows, folder, on_spark=on_spark, repeats=given.repeats, limit=given.limit)
                found = [one for one in found if (one["form"], one["rows"]) != (form, n_rows)] + new
                found.sort(key=lambda one: (FORMS.index(one["form"]), one["rows"]))
                if given.json is not None:
                    told = {**made_with(), "measurements": found}
                    given.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(table_of(found))
    print(verdict(found))


def one_table(
    form: str, n_rows: int, folder: Path, *, on_spark: bool, repeats: int, limit: float
) -> list[dict[str, Any]]:
    """Take every measurement of one table, in turns."""
    jobs = [
        (name, threads, "duckdb")
        for threads in (1, 2)
        for name in WORK
        if name != "pandas" or (threads == 1 and n_rows <= MOST_OF_PANDAS)
    ]
    jobs += [(name, 2, "spark") for name in ("count", "prepare") if on_spark]
    # Warm the file cache, so that the first measurement does not pay for the others.
    n_bytes = sum(len(file.read_bytes()) for file in folder.iterdir())
    runs: dict[tuple[str, int, str], list[dict[str, Any]]] = {job: [] for job in jobs}
    for _ in range(repeats):
        for job, seen in runs.items():
            if not seen or "failed" not in seen[-1]:
                name, threads, engine = job
                seen.append(measured(name, Table(str(folder / "*.parquet"), threads, engine), limit))
                print(form, n_rows, *job, seen[-1], file=sys.stderr, flush=True)
    return [
        {"form": form, "rows": n_rows, "bytes": n_bytes, "what": name, "threads": threads,
         "engine": name if name in ("pandas", "polars") else engine, **together(seen)}
        for (name, threads, engine), seen in runs.items()
    ]  # fmt: skip


if __name__ == "__main__":
    main()
