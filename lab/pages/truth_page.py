"""The page docs/truth.md, and the small tables of docs/comparison.md, from the runs on planted and real tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.pages.markdown import mean_text, table
from lab.runs.domination import comparisons
from lab.runs.planted import PEERS

EXACT_SEEDS = 0.9
"""The share of seeds in which a formula without noise must be found exactly."""
MARGINS = {**dict.fromkeys(PEERS, 0.0), "boosting": 0.01}
"""By how much macro-F1 may be below that of a peer."""
SHOWN = {"ours": "ours", "ripper": "RIPPER", "figs": "FIGS", "boosting": "boosted trees"}
SMALL = ("network", "ours", "tree, depth 5", "tree, 4 leaves", "one literal")


def page(planted: pd.DataFrame, domination: pd.DataFrame) -> str:
    text = Path(__file__).with_name("truth_text.md").read_text(encoding="utf-8")
    n_seeds, first, last = planted["seed"].nunique(), planted["seed"].min(), planted["seed"].max()
    parts = {"planted": "\n\n".join(_planted(planted)), "domination": "\n\n".join(_domination(domination))}
    return text.format(n_seeds=n_seeds, first=first, last=last, **parts)


def verdicts(family: pd.DataFrame) -> list[tuple[bool, str]]:
    ours, n_seeds = family[family["method"] == "ours"], family["seed"].nunique()
    targets = []
    if family["noise"].iloc[0] == 0:
        n_exact = int(ours["exact"].sum())
        targets.append((n_exact >= EXACT_SEEDS * n_seeds, f"exact in {n_exact} of {n_seeds} seeds"))
    for peer, margin in MARGINS.items():
        theirs = family[family["method"] == peer]
        if len(theirs):
            gain = ours["macro_f1"].mean() - theirs["macro_f1"].mean()
            allowed = f", {100 * margin:.0f} allowed below" if margin else ""
            words = f"{100 * gain:+.2f} points of macro-F1 against {peer}{allowed}"
            targets.append((bool(gain >= -margin - 1e-12), words))
    return targets


def _planted(runs: pd.DataFrame) -> list[str]:
    rows = [["family", "exact", "RIPPER exact", *SHOWN.values(), "literals", "CPU s", "RIPPER CPU s"]]
    judged: list[tuple[str, bool, str]] = []
    for family, lines in runs.groupby("family", sort=False):
        best = {name: _best(lines, name) for name in SHOWN}
        exact = [lines.loc[lines["method"] == name, "exact"].astype(bool) for name in ("ours", "ripper")]
        rows.append([
            str(family), *(f"{int(each.sum())} of {lines['seed'].nunique()}" for each in exact),
            *(mean_text(100 * of["macro_f1"]) for of in best.values()), f"{best['ours']['literals'].mean():.1f}",
            *(f"{best[name]['seconds'].mean():.1f}" for name in ("ours", "ripper")),
        ])  # fmt: skip
        judged += [(str(family), *verdict) for verdict in verdicts(lines)]
    missed = [f"- {family}: {words}" for family, is_met, words in judged if not is_met]
    targets = (
        f"Targets: exact in {EXACT_SEEDS:.0%} of the seeds without noise, macro-F1 not below that of RIPPER and FIGS, "
        f"and\nat most one point below that of boosted trees. {len(judged) - len(missed)} of {len(judged)} targets are "
        f"met.{' The others:' if missed else ''}"
    )
    return [
        table(rows),
        targets,
        *["\n".join(missed)] * bool(missed),
    ]


def _best(lines: pd.DataFrame, method: str) -> pd.DataFrame:
    kinds = [rows for name, rows in lines.groupby("method", sort=False) if name in (method, f"{method}-raw")]
    return max(kinds, key=lambda rows: rows["macro_f1"].mean())


def _domination(runs: pd.DataFrame) -> list[str]:
    rows = [["table", "macro-F1", "literals", "dominated by"]]
    for name, lines in runs.groupby("table", sort=False):
        ours = lines[lines["method"] == "ours"]
        better = [each for each in comparisons(lines) if each.dominates(ours["literals"].mean())]
        words = ", ".join(f"{each.peer} ({100 * each.gain:+.1f} ± {100 * each.error:.1f})" for each in better)
        rows.append(
            [str(name), mean_text(100 * ours["macro_f1"]), f"{ours['literals'].mean():.1f}", words or "no peer"]
        )
    n_free = sum(row[-1] == "no peer" for row in rows[1:])
    return [table(rows), f"Not dominated on {n_free} of {len(rows) - 1} tables."]


def small_tables(domination: pd.DataFrame) -> str:
    raw = domination[~domination["table"].str.startswith("bench: ") & domination["method"].isin(SMALL)]
    means = raw.groupby(["table", "method"])[["accuracy", "macro_f1", "literals"]].mean().groupby("method").mean()
    rows = [["", "accuracy, %", "macro-F1, %", "literals"]]
    for name in (name for name in SMALL if name in means.index):
        accuracy, macro_f1, literals = (float(value) for value in means.loc[name].to_numpy())
        shown = "our rules" if name == "ours" else name
        rows.append([shown, f"{100 * accuracy:.1f}", f"{100 * macro_f1:.1f}", f"{literals:.1f}"])
    return table(rows)
