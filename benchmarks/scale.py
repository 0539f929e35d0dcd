"""Counting rows where they are: rows a second and peak memory, beside a plain GROUP BY, pandas and polars.

    .venv/bin/python benchmarks/scale.py --rows 1e6 1e7 --json benchmarks/results/scale.json

Parquet files of 30 columns are made once, drawn from a stated number of distinct rows (or, `--worst`, with none twice).
Each measurement is a process of its own: `ours` is all that `fit` does before it trains, tallies of every column and
the counted rows; `count` is the counting alone, which a plain GROUP BY of the same columns in DuckDB is the floor of.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from layout import aligned

COLUMNS = 30
PART = 1_000_000
DISTINCT = 10_000
FLOOR = 1.5
"""The most times a plain GROUP BY that counting may take."""


def generate(folder: Path, n_rows: int, *, worst: bool) -> None:
    """Parquet files of a million rows: 20 columns of few values, 10 of truth values, and a target."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    numbers = rng.integers(0, 6, (DISTINCT, 20)).astype(np.int16)
    flags = rng.random((DISTINCT, 10)) < 0.3
    ill = (numbers[:, 0] > 3) & flags[:, 0] | (numbers[:, 1] > 4)
    for part in range(-(-n_rows // PART)):
        n = min(PART, n_rows - part * PART)
        place = rng.integers(0, DISTINCT, n)
        columns: dict[str, Any] = {f"n{j:02}": numbers[place, j] for j in range(20)}
        columns |= {f"f{j:02}": flags[place, j] for j in range(10)}
        if worst:
            columns = {name: rng.integers(0, 6, n).astype(np.int16) if name[0] == "n" else rng.random(n) < 0.3
                       for name in columns}  # fmt: skip
            answer = (columns["n00"] > 3) & columns["f00"] | (columns["n01"] > 4)
        else:
            answer = ill[place]
        columns["y"] = np.where(answer ^ (rng.random(n) < 0.05), "ill", "well")
        pq.write_table(pa.table(columns), folder / f"part{part:04}.parquet")


def ours(pattern: str, threads: int, engine: str) -> int:
    from logiclens.data.booleanise import Booleaniser
    from logiclens.data.condensing import kept
    from logiclens.data.engine import classes_of, count_rows
    from logiclens.data.lake import in_engine
    from logiclens.data.tallying import tallies

    table = in_engine(pattern, engine, threads=threads)
    classes, n_of_class = classes_of(table, "y")
    names = [name for name in table.columns if name != "y"]
    with kept(table, [*names, "y"]) as rows:
        found = Booleaniser().fit_tallies(list(tallies(rows, names, "y", classes, n_of_class)))
        return len(count_rows(rows, found.cutting_, "y", classes))


def count(pattern: str, threads: int, engine: str) -> int:
    """Counting alone, with cuts that were found on the first file."""
    import pandas as pd

    from logiclens.data.booleanise import Booleaniser
    from logiclens.data.engine import count_rows
    from logiclens.data.lake import in_engine

    first = pd.read_parquet(sorted(Path(pattern).parent.glob("*.parquet"))[0]).head(20_000)
    found = Booleaniser().fit(first.drop(columns="y"), first["y"])
    global begun
    begun = clocks()
    table = in_engine(pattern, engine, threads=threads)
    return len(count_rows(table, found.cutting_, "y", ["ill", "well"]))


def group_by(pattern: str, threads: int, engine: str) -> int:
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    return len(connection.execute(f"SELECT *, count(*) AS n FROM '{pattern}' GROUP BY ALL").fetch_arrow_table())


def by_pandas(pattern: str, threads: int, engine: str) -> int:
    import pandas as pd

    whole = pd.concat([pd.read_parquet(file) for file in sorted(Path(pattern).parent.glob("*.parquet"))])
    return len(whole.groupby(list(whole.columns), sort=False).size())


def by_polars(pattern: str, threads: int, engine: str) -> int:
    import polars as pl

    lazy = pl.scan_parquet(pattern)
    return len(lazy.group_by(pl.all()).len().collect(engine="streaming"))


WORK: dict[str, Callable[[str, int, str], int]] = {
    "ours": ours, "count": count, "group by": group_by, "pandas": by_pandas, "polars": by_polars,
}  # fmt: skip
begun: tuple[float, float] = (0.0, 0.0)


def clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def work(name: str, pattern: str, threads: int, engine: str) -> None:
    """One measurement, told on the last line of output."""
    global begun
    begun = clocks()
    distinct = WORK[name](pattern, threads, engine)
    wall, cpu = (now - then for now, then in zip(clocks(), begun, strict=True))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"distinct": distinct, "wall_s": wall, "cpu_s": cpu, "peak_mb": peak}))


def measured(name: str, pattern: str, threads: int, engine: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--work", name, pattern, str(threads), engine]
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        return {"failed": (done.stderr.strip().splitlines() or ["ended"])[-1][:200]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def markdown(found: list[dict[str, Any]]) -> str:
    """One row for each measurement, with its ratio to the plain GROUP BY of the same rows and threads."""
    floors = {(one["rows"], one["worst"], one["threads"]): one for one in found if one["what"] == "group by"}
    rows = [["rows", "distinct", "engine", "threads", "what", "wall s", "rows a second", "of a GROUP BY", "peak MB"]]
    for one in found:
        told = [f"{one['rows']:.0e}", "", one["engine"], str(one["threads"]), one["what"]]
        if "failed" in one:
            rows.append([*told, one["failed"], "", "", ""])
            continue
        floor = floors.get((one["rows"], one["worst"], one["threads"]), {}).get("wall_s")
        told[1] = f"{one['distinct']:,}"
        ratio = "" if floor is None else f"{one['wall_s'] / floor:.2f}x"
        rows.append(
            [*told, f"{one['wall_s']:.2f}", f"{one['rows'] / one['wall_s']:,.0f}", ratio, f"{one['peak_mb']:.0f}"]
        )
    return aligned(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--worst", type=float, nargs="*", default=[1e6], help="rows of which none is there twice")
    parser.add_argument("--spark", action="store_true", help="local Spark too")
    parser.add_argument("--folder", type=Path, help="where the files are made and kept; a temporary one if not said")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.work:
        name, pattern, threads, engine = given.work
        work(name, pattern, int(threads), engine)
        return
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for n_rows, worst in [*((int(n), False) for n in given.rows), *((int(n), True) for n in given.worst)]:
            folder = (given.folder or Path(scratch)) / f"{'worst' if worst else 'rows'}{n_rows}"
            if not folder.exists():
                generate(folder, n_rows, worst=worst)
            pattern = str(folder / "*.parquet")
            jobs = [(name, threads, "duckdb") for threads in (1, 2) for name in WORK]
            jobs += [(name, 2, "spark") for name in ("ours", "count")] if given.spark else []
            for name, threads, engine in jobs:
                if name == "pandas" and n_rows > 10_000_000:
                    continue
                one = measured(name, pattern, threads, engine)
                found.append(
                    {"rows": n_rows, "worst": worst, "what": name, "threads": threads, "engine": engine, **one}
                )
                print(found[-1], file=sys.stderr, flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(markdown(found))


if __name__ == "__main__":
    main()
