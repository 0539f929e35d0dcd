"""The page docs/why.md, and the README's table of the same figures, from the runs side by side.

The advice is written by hand (`ADVICE`); every figure is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.pages.markdown import similarity
from lab.runs.results import Line
from lab.runs.side_by_side import METHODS

NAMES = {"logiclens": "logiclens, exact", "tree": "tree of depth 3", "ripper": "RIPPER", "figs": "FIGS", "ebm": "EBM",
         "shap": "forest with SHAP"}  # fmt: skip
READS = {"logiclens": "one rule", "tree": "a tree", "ripper": "a list of rules", "figs": "a sum of trees",
         "ebm": "a curve per column", "shap": "a number per column"}  # fmt: skip
COUNTED = {"logiclens": "literals", "tree": "splits", "ripper": "conditions", "figs": "splits", "ebm": "terms",
           "shap": "columns"}  # fmt: skip

HEAD = """# Why and when (not)

Six ways to explain the same three tables, side by side: what each prints, how right it is on unseen rows, how much
there is to read, and whether the next sample would print the same. The short answer:

| if you need | use |
| --- | --- |
| a rule to remember, with its limits stated; a proof that it is the model; a rule in SQL | **logiclens** |
| the quickest look at a table; an answer in milliseconds | a **tree** of depth 3 |
| the most accurate model whose effects can still be plotted; smooth effects; a probability for each row | an **EBM** |
| reasons for single answers of a model that you must keep | **SHAP** |
| several small trees instead of one large one | **FIGS** |
| a rule list that grows with the table, with few settings | **RIPPER** |
"""

ADVICE = """## When each is the better choice

**Do not use logiclens** if

- **accuracy is all that counts.** The tables above show it: where many small effects add up, an EBM or a forest is
  more accurate. Short rules cannot follow them, and longer ones would no longer be read;
- **one class is rare and accuracy is your measure.** The search maximises macro-F1, in which both classes count the
  same. Its rule may then be less accurate than a constant answer;
- **effects are smooth.** "The risk rises with each year" is a curve, and a cut at 65 is a poor picture of it. Use an
  EBM or a logistic regression;
- **you need a probability for each row.** How often a rule is right is one share, the same for all rows on which it
  fires;
- **you want to know about single answers of an existing model.** SHAP is made for that. `teacher=` gives rules for
  the model as a whole;
- **the target is a number**, a time until an event, or a ranking;
- **seconds matter.** A tree is grown in less than a hundredth of the time. If the tree of four leaves, or the best
  single condition that the sheet prints, is good enough for you, use that;
- **you have a hundred rows or fewer.** Then a rule of any method is uncertain; the intervals on the sheet say how
  much.

**Use a tree of depth 3** to look at a table for the first time. Mind that it prints up to eight paths, that the same
class stands at several leaves, and that a small change of the rows may change the first split and all below it.

**Use an EBM** if the model will decide and people will study its curves with time and care. There is one curve per
column, so the whole is much more to read than a rule, and each part is simple.

**Use SHAP** if the model is given. Its numbers say how much a column moved an answer, not what the model does with
it: nobody can compute the answer from them. Columns that carry the same information share their value.

**Use FIGS** if a sum of a few small trees is still readable to you. It is quick, and on these tables about as
accurate as one tree.

**Use RIPPER** if you want a list of several rules, quickly, and may read more conditions for it.

**Use logiclens** if somebody has to read, check and sign what decides. The rule is the shortest that is not
measurably worse than the best rule found; its figures come from rows that chose nothing; in exact mode it *is* the
model, a checker proves that, and the same rule runs in a database.
"""


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
    """Return the figures of a method on a table."""
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
    """Return the whole page."""
    names = list(dict.fromkeys(line["table"] for line in lines))
    packages = {line["method"]: line["package"] for line in lines}
    used = ", ".join(f"{METHODS[name][1]} {packages[name]}" for name in NAMES if name != "logiclens")
    parts = [HEAD, _explained(used), *(_table(lines, name) for name in names), ADVICE]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _explained(used: str) -> str:
    return f"""## The three tables

One table that is easy for short rules (breast cancer), one that is hard for them (German credit), and one with gaps
(MIMIC-II, without columns that are known only after admission). Five folds, the same for all methods; every method
with its defaults, except that the tree has depth 3 and the EBM has no pairs of columns, which would be 90 more terms
on breast cancer and took 20 minutes on one of its folds. That was decided after four of its folds had run with pairs
and been seen, and those runs are not in the results. For RIPPER and FIGS the median stands for a gap, because they
take none. Programs: {used}.
`python -m lab side-by-side` repeats it.

- *accuracy* and *macro-F1*: of the predicted classes on unseen rows, in per cent.
- *to read*: how many things are printed. Literals, splits, conditions, terms or columns are not the same effort; the
  texts below show what they mean.
- *same columns*: how much two folds agree on the columns that they name: shared columns in per cent of all columns
  that either names, mean over pairs of folds. For EBM and SHAP, which name every column, the five most important.
- *same conditions*: the same for the printed conditions, thresholds included.
- *seconds*: CPU time of learning on four fifths of the rows, explanation included, on one core."""


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
    """Say who is ahead in what, and where a constant answer is more accurate than ours."""
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
