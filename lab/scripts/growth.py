"""Measure how fit and explanation grow with the rows of a table of 30 columns: wall time, CPU time and peak memory.

    python -m lab.scripts.growth.py [--rows 1000 10000 ...] [--repeats 3] [--classes 3]

Every run has its own process. The table is generated from a seed: 20 numbers (one with gaps), 6 categories, 2
Booleans, a date and a flag. The target is a rule of four columns that is wrong in one row of ten. No row repeats, so
counting before the cuts saves nothing. The exponent is the slope of log time over log rows, between neighbouring
sizes and over all sizes. The last part gives the time to make the report, and its size.

With `--classes 3` the table has 26 columns and three classes, and the rules are exact.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd

PARTS = ("fit", "explain", "statistics", "report")


def table(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Make 30 columns and the class of each row."""
    rng = np.random.default_rng(seed)
    columns: dict[str, object] = {f"number {i}": rng.normal(50, 15, n_rows) for i in range(20)}
    columns["number 3"] = np.where(rng.random(n_rows) < 0.05, np.nan, columns["number 3"])
    for i in range(6):
        columns[f"category {i}"] = rng.choice([f"kind {k}" for k in range(3 + i)], n_rows)
    for i in range(2):
        columns[f"flag {i}"] = rng.random(n_rows) < 0.3
    columns["date"] = np.datetime64("2020-01-01") + rng.integers(0, 1500, n_rows).astype("timedelta64[D]")
    columns["count"] = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame(columns)
    ill = (frame["number 0"] >= 60) & (frame["category 1"] != "kind 0") | (frame["number 1"] < 40) & frame["flag 0"]
    return frame, np.where(ill ^ (rng.random(n_rows) < 0.1), "ill", "well")


def three_classes(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Make 26 columns and one of three classes per row: two rules, the first before the second."""
    frame, _ = table(n_rows, seed)
    frame = frame[[f"number {i}" for i in range(18)] + [f"category {i}" for i in range(6)] + ["flag 0", "flag 1"]]
    ill = (frame["number 0"] >= 60) & (frame["category 1"] != "kind 0") | (frame["number 1"] < 40) & frame["flag 0"]
    frail = (frame["number 2"] >= 55) & (frame["category 2"] == "kind 1") | (frame["number 4"] < 35)
    labels = np.where(ill, "ill", np.where(frail, "frail", "well"))
    rng = np.random.default_rng([seed, 3])
    wrong = rng.random(n_rows) < 0.1
    labels[wrong] = rng.choice(["ill", "frail", "well"], wrong.sum())
    return frame, labels


def one(n_rows: int, n_classes: int) -> dict[str, float]:
    """Measure the seconds of each part and the peak memory of the process."""
    from logiclens import EntropyClassifier
    from logiclens.report import Source, render, result_of

    warnings.simplefilter("ignore")
    made_of = table if n_classes == 2 else three_classes
    frame, labels = made_of(n_rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    taken: dict[str, float] = {"memory before": before}

    def timed(name: str, work):
        wall, cpu = time.perf_counter(), time.process_time()
        made = work()
        taken[name], taken[f"{name}, CPU"] = time.perf_counter() - wall, time.process_time() - cpu
        return made

    model = timed("fit", lambda: EntropyClassifier(set_aside=0.25, exact=n_classes > 2).fit(frame, labels))
    explanation = timed("explain", model.explain)
    timed("statistics", model.statistics)
    result = result_of(model, explanation, Source("generated", n_rows, frame.shape[1], "state"))
    taken["page, bytes"] = len(timed("report", lambda: render(result)).encode())
    unseen, truth = made_of(20_000, seed=1)
    taken["accuracy"] = float(np.mean(model.predict(unseen) == truth))
    taken["literals"] = float(np.mean([formula.n_literals for formula in explanation.formulas]))
    taken["distinct rows"] = len(model.table_.counted())
    taken["peak memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--classes", type=int, choices=(2, 3), default=2)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(one(asked.one, asked.classes)))
        return
    print("| rows | distinct | fit s | explain s | CPU s (min-max) | peak MB | grown MB | accuracy % | literals |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    medians: list[tuple[int, float]] = []
    for n_rows in asked.rows:
        runs = []
        for _ in range(asked.repeats):
            command = [sys.executable, __file__, "--one", str(n_rows), "--classes", str(asked.classes)]
            with tempfile.TemporaryDirectory() as scratch:
                done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=scratch)
            runs.append(json.loads(done.stdout))
        middle = {name: float(np.median([run[name] for run in runs])) for name in runs[0]}
        cpu = [sum(run[f"{part}, CPU"] for part in PARTS[:2]) for run in runs]
        medians.append((n_rows, float(np.median(cpu))))
        print(
            f"| {n_rows:,} | {middle['distinct rows']:,.0f} | {middle['fit']:.2f} | {middle['explain']:.2f} | "
            f"{np.median(cpu):.2f} ({min(cpu):.2f}-{max(cpu):.2f}) | {middle['peak memory']:,.0f} | "
            f"{middle['peak memory'] - middle['memory before']:,.0f} | {100 * middle['accuracy']:.1f} | "
            f"{middle['literals']:.1f} |",
            flush=True,
        )
        print(f"  report: {middle['report']:.2f} s, {middle['page, bytes'] / 1e6:.2f} MB", file=sys.stderr)
    if len(medians) > 1:
        rows, seconds = np.log([n for n, _ in medians]), np.log([s for _, s in medians])
        steps = ", ".join(f"{slope:.2f}" for slope in np.diff(seconds) / np.diff(rows))
        print(f"\nexponent of CPU time: {np.polyfit(rows, seconds, 1)[0]:.2f} over all sizes; step by step {steps}")
    print(f"report: {middle['report']:.2f} s, {middle['page, bytes'] / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
