"""Compare two folders of results, method by method: did a change of the code move a reported figure?

    logiclens bench mimic2 vdem --methods ours --out new
    .venv/bin/python -m lab.scripts.same_figures.py lab/results new

Differences are in standard errors over folds of the first folder; more than two is more than another seed would change.
CPU seconds are given as a ratio.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from lab.runs.results import read_results
from lab.scripts.layout import aligned
from logiclens.metrics.scores import standard_error

FIGURES = ("model_accuracy", "explanation_accuracy", "complexity", "fidelity")
FAR = 2.0


def figures(folder: Path) -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """Return the values of each metric, by task, protocol and method."""
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for run, metrics in read_results(folder).runs.items():
        for name in (*FIGURES, "cpu_seconds"):
            if name in metrics:
                kept = found.setdefault((run.task, run.protocol, run.method), {})
                kept.setdefault(name, []).append(float(metrics[name]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    given = parser.parse_args()
    before, after = figures(given.before), figures(given.after)
    rows, far = [["task", "protocol", "method", *FIGURES, "CPU"]], []
    for key in sorted(before.keys() & after.keys()):
        cells = []
        for name in FIGURES:
            if name not in before[key] or name not in after[key]:
                cells.append("")
                continue
            old, new = statistics.mean(before[key][name]), statistics.mean(after[key][name])
            error = standard_error(before[key][name])
            apart = (new - old) / error if error > 0 else 0.0 if abs(new - old) < 1e-9 else float("inf")
            cells.append(f"{old:.4f} -> {new:.4f} ({apart:+.1f})")
            if abs(apart) > FAR:
                far.append(f"{' '.join(key)}: {name}")
        times = [statistics.mean(found[key]["cpu_seconds"]) for found in (before, after) if "cpu_seconds" in found[key]]
        rows.append([*key, *cells, f"{times[0] / times[1]:.1f}x less" if len(times) == 2 else ""])
    print(aligned(rows))
    print(
        f"\n{len(rows) - 1} methods compared; moved by more than {FAR:g} standard errors: {'; '.join(far) or 'none'}."
    )
    sys.exit(1 if far else 0)


if __name__ == "__main__":
    main()
