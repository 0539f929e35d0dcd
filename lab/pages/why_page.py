"""The page docs/why.md, and the README's table of the same figures, from the runs side by side.

The advice is written by hand (`why_text.md`); every figure is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.pages.markdown import similarity
from lab.runs.results import Line
from lab.runs.side_by_side import METHODS

NAMES = {"logiclens": "logiclens, exact", "tree": "tree of depth 3", "ripper": "RIPPER", "figs": "FIGS", "ebm": "EBM",
         "shap": "forest with SHAP"}  # fmt: skip
READS = {"logiclens": "one rule", "tree": "a tree", "ripper": "a list of rules", "figs": "a sum of trees",
         "ebm": "a curve per column", "shap": "a number per column"}  # fmt: skip
COUNTED = {"logiclens": "literals", "tree": "splits", "ripper": "conditions", "figs": "splits", "ebm": "terms",
           "shap": "columns"}  # fmt: skip


@dataclass(frozen=True)
class Figures:
    """The figures of a method on a table, over folds. Shares are in per cent."""

    accuracy: float
    macro_f1: float
    length: float
    same_columns: float
    same_conditions: float | None
    seconds: float
    text: str


def figures(lines: Sequence[Line], table: str, method: str) -> Figures:
    runs = [line for line in lines if line["table"] == table and line["method"] == method]

    def mean(key: str) -> float:
        return float(sum(run[key] for run in runs) / len(runs))

    stated = [run["conditions"] for run in runs]
    return Figures(
        100 * mean("accuracy"),
        100 * mean("macro_f1"),
        mean("length"),
        similarity([run["columns"] for run in runs]),
        None if None in stated else similarity(stated),
        mean("seconds"),
        next(run["text"] for run in runs if run["text"] is not None),
    )


def page(lines: Sequence[Line]) -> str:
    names = list(dict.fromkeys(line["table"] for line in lines))
    packages = {line["method"]: line["package"] for line in lines}
    used = ", ".join(f"{METHODS[name][1]} {packages[name]}" for name in NAMES if name != "logiclens")
    text = Path(__file__).with_name("why_text.md").read_text(encoding="utf-8")
    tables = "\n".join(_table(lines, name).strip("\n") + "\n" for name in names)
    return text.replace("{used}", used).replace("{tables}\n", tables)


def _table(lines: Sequence[Line], table: str) -> str:
    first = next(line for line in lines if line["table"] == table)
    constant = 100 * first["majority"]
    about = f"{first['rows']:,} rows, {first['n_columns']} columns. A constant answer is right on {constant:.1f}%."
    out = [f"### {table[0].upper()}{table[1:]}", "", about, ""]
    out += ["| | accuracy | macro-F1 | to read | same columns | same conditions | seconds |", "| --- " * 7 + "|"]
    for method in NAMES:
        of = figures(lines, table, method)
        cells = [
            f"{of.accuracy:.1f}", f"{of.macro_f1:.1f}", f"{of.length:.1f} {COUNTED[method]}",
            f"{of.same_columns:.0f}%", "–" if of.same_conditions is None else f"{of.same_conditions:.0f}%",
            _seconds(of.seconds),
        ]  # fmt: skip
        out.append(f"| {NAMES[method]} | " + " | ".join(cells) + " |")
    out += ["", _verdict(lines, table), "", "What each prints on the first fold:", ""]
    for method in NAMES:
        out += [f"**{NAMES[method]}**", "", "```text", figures(lines, table, method).text, "```", ""]
    return "\n".join(out)


def _verdict(lines: Sequence[Line], table: str) -> str:
    all_figures = {method: figures(lines, table, method) for method in NAMES}
    constant = 100 * next(line["majority"] for line in lines if line["table"] == table)
    ours, tree = all_figures["logiclens"], all_figures["tree"]
    best = max(all_figures, key=lambda method: all_figures[method].accuracy)
    shortest = min(all_figures, key=lambda method: all_figures[method].length)
    steadiest = max(all_figures, key=lambda method: all_figures[method].same_columns)
    words = [f"Most accurate: {NAMES[best]}. Least to read: {NAMES[shortest]}. Steadiest columns: {NAMES[steadiest]}."]
    if best != "logiclens":
        gap = all_figures[best].accuracy - ours.accuracy
        words.append(f"Our rule is {gap:.1f} points of accuracy behind the best.")
    if ours.accuracy < constant:
        words.append("It is less accurate than a constant answer, which says nothing about the rare class.")
    if tree.accuracy > ours.accuracy:
        words.append(f"The tree is {tree.accuracy - ours.accuracy:.1f} points more accurate.")
    return " ".join(words)


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value < 1 else f"{value:.1f}"


TERMS = """Macro-F1: the mean of F1 over the classes. A literal: one condition or its negation. Same columns: of the
columns that two folds name, the share that both name. Seconds: processor time to learn and to explain."""


def readme_table(lines: Sequence[Line]) -> str:
    """Return the table of the README: one row per method, with a figure for each of the three tables in a cell."""
    names = list(dict.fromkeys(line["table"] for line in lines))
    heads = ["you read", "accuracy, %", "macro-F1, %", "how much to read", "same columns next time, %", "seconds"]
    out = ["| | " + " | ".join(heads) + " |", "| --- " * (len(heads) + 1) + "|"]
    for method, name in NAMES.items():
        each = [figures(lines, table, method) for table in names]
        cells = [
            READS[method],
            " · ".join(f"{one.accuracy:.0f}" for one in each),
            " · ".join(f"{one.macro_f1:.0f}" for one in each),
            " · ".join(f"{one.length:.0f}" for one in each) + f" {COUNTED[method]}",
            " · ".join(f"{one.same_columns:.0f}" for one in each),
            " · ".join(_seconds(one.seconds) for one in each),
        ]
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    shares = [next(line["majority"] for line in lines if line["table"] == table) for table in names]
    # F1 of the class that is always said, and 0 for the others; each table has two classes.
    means = [share / (1 + share) for share in shares]
    right, macro_f1 = (" · ".join(f"{100 * one:.0f}" for one in values) for values in (shares, means))
    out.append(f"| always the most frequent class | nothing | {right} | {macro_f1} | | | |")
    about = f"Mean over five folds of unseen rows, on {', '.join(names[:-1])} and {names[-1]} in this order."
    return "\n".join([*out, "", about, TERMS])
