"""docs/truth.md from the results of `planted.py` and `domination.py`: are the rules true, does a simple peer beat them?

.venv/bin/python benchmarks/truth_page.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from domination import comparisons
from layout import aligned
from planted import EXACT_SEEDS, verdicts

from logiclens.metrics.scores import standard_error

ROOT = Path(__file__).parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results", ROOT / "docs" / "truth.md"
PEERS = {"ours": "ours", "ripper": "RIPPER", "figs": "FIGS", "boosting": "boosted trees"}
INTRO = """# Do the rules tell the truth?

Written by `benchmarks/truth_page.py` from `benchmarks/results/planted.json` and `benchmarks/results/domination.json`,
which `make bench-planted` and `make bench-domination` fill. One set of defaults: `EntropyClassifier(exact=True)`.
"""
PLANTED = """## Planted formulas

Labels come from a known formula. {n_seeds} seeds a family, {first} to {last}; a seed draws the data, or the split of
a fixed table (MONK's, tic-tac-toe). Two thirds of the rows train. *Exact*: the formula has the same answer as the
truth on every possible row; on floats also where it has the literals of the truth and its answer on every training
row. Macro-F1 is on unseen rows, in per cent, mean ± standard error. RIPPER and FIGS see the same concepts as ours;
where raw columns give them more, that is shown. CPU seconds were taken beside other work: read ratios.
"""
TARGETS = """Targets: without noise exact in {share:.0%} of the seeds; macro-F1 not below RIPPER's and FIGS's, and not
more than one point below boosted trees'. {met} of {all} are met."""
DOMINATION = """## Simple peers

A peer dominates where it has no more literals and a higher macro-F1 by more than one standard error of the paired
difference over five folds. Peers: one literal, trees of 2 to 8 leaves (plain and balanced), RIPPER, FIGS and column
generation, on concepts and, where they can, on raw columns. Where two methods differ in one fold only, that fold
decides. With so many peers and tables some such folds come by chance: `benchmarks/domination.py --partitions 4` draws
the folds again.
"""


def page() -> str:
    """The whole page."""
    parts = [INTRO.rstrip()]
    for name, told in (("planted", _planted), ("domination", _domination)):
        file = RESULTS / f"{name}.json"
        if file.exists():
            parts += ["", *told(pd.DataFrame(json.loads(file.read_text(encoding="utf-8"))))]
        else:
            print(f"{file.relative_to(ROOT)} is not there: its part of the page is left out.")
    return "\n".join(parts) + "\n"


def _planted(runs: pd.DataFrame) -> list[str]:
    rows = [["family", "exact", "RIPPER exact", *PEERS.values(), "literals", "CPU s", "RIPPER CPU s"]]
    judged: list[tuple[str, bool, str]] = []
    for family, table in runs.groupby("family", sort=False):
        of = {name: _best(table, name) for name in PEERS}
        ours, n_seeds = of["ours"], table["seed"].nunique()
        found = [table.loc[table["method"] == name, "exact"].astype(bool).sum() for name in ("ours", "ripper")]
        exact = [f"{int(n_found)} of {n_seeds}" for n_found in found]
        scores = [_estimate(100 * one["macro_f1"]) for one in of.values()]
        seconds = [f"{of[name]['seconds'].mean():.1f}" for name in ("ours", "ripper")]
        rows.append([str(family), *exact, *scores, f"{ours['literals'].mean():.1f}", *seconds])
        judged += [(str(family), *verdict) for verdict in verdicts(table)]
    n_seeds, first, last = runs["seed"].nunique(), runs["seed"].min(), runs["seed"].max()
    met = sum(is_met for _, is_met, _ in judged)
    return [
        PLANTED.format(n_seeds=n_seeds, first=first, last=last),
        aligned(rows),
        "",
        TARGETS.format(share=EXACT_SEEDS, met=met, all=len(judged)) + (" Missed:" if met < len(judged) else ""),
        "",
        *(f"- {family}: {told}" for family, is_met, told in judged if not is_met),
    ]


def _best(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """The runs of a method, on raw columns where that is better."""
    kinds = [rows for name, rows in table.groupby("method", sort=False) if name in (method, f"{method}-raw")]
    return max(kinds, key=lambda rows: rows["macro_f1"].mean())


def _estimate(values: pd.Series) -> str:
    return f"{values.mean():.1f} ± {standard_error(values):.1f}"


def _domination(runs: pd.DataFrame) -> list[str]:
    rows = [["table", "macro-F1", "literals", "dominated by"]]
    for name, table in runs.groupby("table", sort=False):
        ours = table[table["method"] == "ours"]
        if ours.empty:
            continue
        better = [each for each in comparisons(table) if each.dominates(ours["literals"].mean())]
        told = ", ".join(f"{each.peer} ({100 * each.gain:+.1f} ± {100 * each.error:.1f})" for each in better)
        rows.append([str(name), _estimate(100 * ours["macro_f1"]), f"{ours['literals'].mean():.1f}", told or "no peer"])
    n_free = sum(row[-1] == "no peer" for row in rows[1:])
    return [DOMINATION, aligned(rows), "", f"Not dominated on {n_free} of {len(rows) - 1} tables."]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
