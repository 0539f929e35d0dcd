"""Peak memory and time of `logiclens predict` on tables of 10^5 and 10^6 rows of about 236 bytes.

    python -m lab.scripts.predict_memory.py [ROWS ...]

Each command runs in a process of its own. A table is made in chunks, so that this script itself needs little memory.
Printed per size and kind of model: size of the table, peak resident memory in MB, and seconds of processor time.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

CHUNK = 50_000
SIZES = (100_000, 1_000_000)
TRAINING_ROWS = 600
"""Rows that the models are trained on."""


def rows(n_rows: int, seed: int) -> pd.DataFrame:
    """Return rows of numbers, categories, dates and a long text; two columns decide the class."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"number {i}": rng.normal(0, 10, n_rows).round(6) for i in range(14)})
    frame["age"] = rng.integers(20, 95, n_rows)
    frame["unit"] = rng.choice(["CCU", "MICU", "SICU"], n_rows)
    frame["admitted"] = (pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")).date
    text = "a text of some length, which the rules do not use, as tables often have: "
    frame["note"] = np.char.add(text, rng.integers(0, 999, n_rows).astype(str))
    frame.loc[rng.random(n_rows) < 0.05, "number 3"] = np.nan
    frame["died"] = np.where((frame["age"] >= 60) & (frame["unit"] == "MICU"), "yes", "no")
    return frame


def write(path: Path, n_rows: int) -> None:
    """Write a table of so many rows."""
    for start in range(0, n_rows, CHUNK):
        part = rows(min(CHUNK, n_rows - start), seed=start)
        part.to_csv(path, mode="a" if start else "w", header=not start, index=False)


def measured(arguments: Sequence[str]) -> tuple[float, float]:
    """Run a command; return its peak memory in MB and its seconds of processor time."""
    child = os.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", "from logiclens.cli import main; main()", *arguments])
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"failed: logiclens {' '.join(arguments)}")
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main(sizes: Sequence[int]) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write(folder / "train.csv", TRAINING_ROWS)
        train = [
            "explain",
            str(folder / "train.csv"),
            "--target",
            "died",
            "--drop",
            "note",
            "-q",
            "--max-literals",
            "2",
        ]
        for model, options in (("exact", ["--exact"]), ("network", [])):
            measured([*train, *options, "--save", str(folder / model)])
        print(f"{'model':<9}{'rows':>10}{'table MB':>10}{'peak MB':>9}{'seconds':>9}")
        for n_rows in sizes:
            write(folder / "new.csv", n_rows)
            size = (folder / "new.csv").stat().st_size / 1e6
            for model in ("exact", "network"):
                out = str(folder / "out.csv")
                peak, seconds = measured(["predict", str(folder / model), str(folder / "new.csv"), "-q", "-o", out])
                print(f"{model:<9}{n_rows:>10,}{size:>10.0f}{peak:>9.0f}{seconds:>9.1f}", flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or SIZES)
