"""Write docs/truth.md from the results of `planted.py` and `domination.py`.

.venv/bin/python -m lab.scripts.truth_page.py
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from lab.scripts.domination import comparisons
from lab.scripts.layout import aligned
from lab.scripts.planted import EXACT_SEEDS, verdicts
from logiclens.metrics.scores import standard_error

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "lab" / "results", ROOT / "docs" / "truth.md"
PEERS = {"ours": "ours", "ripper": "RIPPER", "figs": "FIGS", "boosting": "boosted trees"}
INTRO = """# Do the rules tell the truth?

`lab/scripts/truth_page.py` writes this page from `lab/results/planted.json` and
`lab/results/domination.json`; `make bench-planted` and `make bench-domination` fill these files. Our rules are
those of `EntropyClassifier(exact=True)` with its defaults.
"""
PLANTED = """## Planted formulas

A known formula gives the labels. Each family has {n_seeds} random seeds, {first} to {last}. A seed draws the data, or
the split of a fixed table (MONK's, tic-tac-toe). Two thirds of the rows train.

A formula is *exact* if it answers like the truth on every possible row. On floats it is also exact if it has the
literals of the truth and answers like it on every training row. Macro-F1 is measured on unseen rows, in per cent, mean
± standard error. RIPPER and FIGS see the same concepts as our method; where they do better on raw columns, that
figure is shown. Other work shared the machine, so compare ratios of CPU seconds.
"""
TARGETS = """Targets: exact in {share:.0%} of the seeds without noise, macro-F1 not below that of RIPPER and FIGS, and
at most one point below that of boosted trees. {met} of {all} targets are met."""
DOMINATION = """## Simple peers

A peer dominates our rules if it has no more literals, and its macro-F1 is higher by more than one standard error of the
paired difference over five folds. The peers are one literal, trees of 2 to 8 leaves (plain and balanced), RIPPER,
FIGS and column generation, on concepts and, where possible, on raw columns. Where two methods differ in one fold
only, that fold decides. With so many peers and tables this also happens by chance;
`lab/scripts/domination.py --partitions 4` draws new folds to check.
"""


def page() -> str:
    """Return the whole page."""
    parts = [INTRO.rstrip()]
    for name, told in (("planted", _planted), ("domination", _domination)):
        file = RESULTS / f"{name}.json"
        if file.exists():
            parts += ["", *told(pd.DataFrame(json.loads(file.read_text(encoding="utf-8"))))]
        else:
            print(f"{file.relative_to(ROOT)} is missing: its section is left out.")
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
        TARGETS.format(share=EXACT_SEEDS, met=met, all=len(judged)) + (" The others:" if met < len(judged) else ""),
        "",
        *(f"- {family}: {told}" for family, is_met, told in judged if not is_met),
    ]


def _best(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the runs of a method, on raw columns where that is better."""
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
