"""Matplotlib figures and axes, made by pure functions from values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.dnf import DNF
from logiclens.formula.english import category_unions, union_words
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rules import DecisionRules
from logiclens.words import percent

if TYPE_CHECKING:
    # Drawing rules needs no torch.
    from matplotlib.axes import Axes as Axes

    from logiclens.train.config import History

MOST_BARS = 15
"""So many concepts of a class are drawn, the most relevant ones."""
LEAST_RELEVANCE = 0.005
"""A concept below this would be printed as 0.00: it is drawn only where the formula uses it."""
MOST_RULES = 30
"""So many rules are drawn, those that cover the most rows."""
MEMORABLE = 9
"""The most literals that a person can hold in mind."""
LINE = 36
"""Letters of a name on one line; a wide one, such as a Chinese letter, counts twice."""
MOST_LINES = 3
"""The most lines of the label of a rule; words in its middle are left out of a longer one."""
MOST_INSIDE = 4
"""With more curves than this, the legend stands beside the axes."""


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure of pyplot, which `plt.show()` and notebooks display."""
    import matplotlib.pyplot as plt

    axes: Axes = plt.subplots(figsize=(width, height), layout="constrained")[1]
    return axes


def checked_axes(axes: Axes | None) -> Axes | None:
    """Return the axes to draw on; None if a figure is to be made. Refuse anything else."""
    from matplotlib.axes import Axes

    if axes is not None and not isinstance(axes, Axes):
        raise LogicLensError(f"ax must be axes of Matplotlib, such as plt.gca(), got {quoted(axes)}.")
    return axes


def plot_history(history: History, axes: Axes | None = None) -> Axes:
    """Draw loss and accuracy over epochs and mark the restored epoch."""
    if (axes := checked_axes(axes)) is None:
        axes = new_axes(6.4, 3.8)
    curves = history.columns()
    axes.plot(curves["epoch"], curves["loss"], label="training loss", color="tab:blue")
    if not np.isnan(curves["validation_loss"]).all():
        axes.plot(curves["epoch"], curves["validation_loss"], label="validation loss", color="tab:orange")
        axes.plot(curves["epoch"], curves["validation_accuracy"], label="validation accuracy", color="tab:green")
    axes.plot(curves["epoch"], curves["train_accuracy"], label="training accuracy", color="tab:gray")
    axes.axvline(history.best_epoch, color="black", linewidth=0.8, linestyle=":", label="kept epoch")
    axes.set_xlabel("epoch")
    axes.set_ylim(bottom=0)
    axes.legend()
    return axes


def plot_relevance(
    relevance: Mapping[str, Mapping[str, float]], used: Mapping[str, Collection[str]], axes: Axes | None = None
) -> Axes:
    """Draw the relevance of the concepts of each class as bars, the most relevant first.

    A full bar is a concept that the formula of the class uses, a hatched bar one that it does not use.
    """
    from matplotlib.patches import Patch

    shown = {klass: _most_relevant(shares, used[klass]) for klass, shares in relevance.items()}
    short = short_names([*shown, *(concept for bars in shown.values() for concept in bars)], 2 * LINE)
    written = {name: _on_two_lines(line) for name, line in short.items()}
    if (axes := checked_axes(axes)) is None:
        width, tall = (7.4, 0.36) if any("\n" in label for label in written.values()) else (6.4, 0.25)
        axes = new_axes(width, 1.0 + tall * sum(1 + len(bars) for bars in shown.values()))
    full: dict[str, Any] = {"facecolor": "C0", "edgecolor": "C0"}
    hatched: dict[str, Any] = {"facecolor": "none", "edgecolor": "C0", "hatch": "////"}
    labels: list[str] = []
    headings = set()
    for klass, bars in shown.items():
        headings.add(len(labels))
        labels.append(written[klass] if bars else f"{written[klass]}: no concept")
        for concept in bars:
            share = relevance[klass].get(concept, 0.0)
            axes.barh(len(labels), share, height=0.7, **(full if concept in used[klass] else hatched))
            axes.text(share + 0.01, len(labels), f"{share:.2f}", va="center", fontsize="small")
            labels.append(written[concept])
    # A name with two dollar signs is not mathematics.
    axes.set_yticks(range(len(labels)), labels, parse_math=False)
    for place, label in enumerate(axes.get_yticklabels()):
        label.set_fontweight("bold" if place in headings else "normal")
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, 1.12)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.set_xlabel("relevance to the network")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        handles=[Patch(**full, label="used in the formula"), Patch(**hatched, label="not used")],
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False,
    )  # fmt: skip
    return axes


def plot_pareto(
    curves: Mapping[str, Sequence[tuple[int, float]]],
    chosen: Mapping[str, tuple[int, float]],
    score: str,
    axes: Axes | None = None,
) -> Axes:
    """Draw the score against the number of literals, one curve per class, with a ring around the chosen formula.

    Points are pairs of literals and score. A dotted line marks the most literals that a person can keep in mind.
    """
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    if (axes := checked_axes(axes)) is None:
        axes = new_axes(6.4, 4.2)
    ring: dict[str, Any] = {"marker": "o", "markersize": 15, "linestyle": "none", "fillstyle": "none"}
    named: list[tuple[Any, str]] = []
    # Lines and marks as well as colours tell the classes apart, also where two curves are one.
    looks = zip(short_names(list(curves)).items(), cycle("osD^vPX"), cycle(["-", "--", "-.", ":"]), strict=False)
    for place, ((klass, name), mark, dashes) in enumerate(looks):
        literals, scores = zip(*curves[klass], strict=True)
        look: dict[str, Any] = {"color": f"C{place % 10}", "marker": mark, "linestyle": dashes, "fillstyle": "none"}
        named.append((axes.plot(literals, scores, **look, markersize=5 + 2 * (place % 3))[0], name))
        axes.plot(*chosen[klass], **ring, color=f"C{place % 10}")
    named.append((Line2D([], [], **ring, color="gray"), "the formula chosen"))
    mark_of_nine = axes.axvline(MEMORABLE, color="gray", linewidth=1.0, linestyle=":")
    named.append((mark_of_nine, f"{MEMORABLE} literals: what a person can hold"))
    longest = max(literals for literals, _ in (*(p for curve in curves.values() for p in curve), *chosen.values()))
    axes.set_xlim(-0.5, max(longest, MEMORABLE) + 0.9)
    axes.margins(y=0.12)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("literals in the formula")
    axes.set_ylabel(score)
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(curves) > MOST_INSIDE else {"loc": "best"}
    legend = axes.legend(*zip(*named, strict=True), **beside)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return axes


@dataclass(frozen=True)
class RuleOverlap:
    """Where one rule fires, as shares of the rows.

    Attributes:
        label: the class and the conditions in words.
        alone: rows on which no other rule fires.
        same_class: rows on which others of its class fire too, and none of another class.
        other_class: rows on which a rule of another class fires too.
    """

    label: str
    alone: float
    same_class: float = 0.0
    other_class: float = 0.0

    @property
    def coverage(self) -> float:
        """All rows on which it fires."""
        return self.alone + self.same_class + self.other_class


def rule_overlaps(rules: DecisionRules, rows: PackedRows) -> list[RuleOverlap]:
    """Return for each rule where it fires alone and with others; last the rows on which none fires.

    Cubes that differ in one category only are one rule.
    """
    read = [
        (place, union)
        for place, rule in enumerate(rules.rules)
        for union in category_unions(rule.cubes, rules.predicates)
    ]
    fired = [rows.unpack(DNF(union).evaluate_packed(rows)) for _, union in read]
    owner = np.array([place for place, _ in read], dtype=np.intp)
    fires = np.array(fired, dtype=np.bool_).reshape(len(owner), rows.n_rows)
    of_class = np.array([fires[owner == place].sum(axis=0) for place in range(len(rules.rules))])
    any_class = of_class.sum(axis=0)
    found = []
    for mine, (place, union) in zip(fires, read, strict=True):
        abroad = mine & (any_class > of_class[place])
        shared = mine & ~abroad & (of_class[place] > 1)
        words = union_words(union, rules.predicates, rules.facts)
        found.append(
            RuleOverlap(
                f"{rules.class_heading(rules.rules[place].label)}: {words}",
                float((mine & ~abroad & ~shared).mean()),
                float(shared.mean()),
                float(abroad.mean()),
            )
        )
    other = [rules.class_heading(rule.label) for rule in rules.rules if rule.is_complement]
    return [*found, RuleOverlap(f"{other[0]}: otherwise" if other else "no rule fires", float((any_class == 0).mean()))]


def plot_rules(rules: DecisionRules, rows: PackedRows, axes: Axes | None = None) -> Axes:
    """Draw a bar for each rule: the rows it covers, split by whether others fire there too."""
    overlaps = rule_overlaps(rules, rows)
    left_out = len(overlaps) - 1 - MOST_RULES
    if left_out > 0:
        ranked = sorted(overlaps[:-1], key=lambda one: -one.coverage)[:MOST_RULES]
        overlaps = [one for one in overlaps[:-1] if one in ranked][:MOST_RULES] + overlaps[-1:]
    written = [_in_words(one.label) for one in overlaps]
    if (axes := checked_axes(axes)) is None:
        lines = max(label.count("\n") + 1 for label in written)
        axes = new_axes(7.4, 1.6 + max(0.42, 0.19 * lines) * len(overlaps))
    # Hatches as well as colours tell the parts apart; the colours are those of Okabe and Ito.
    looks: list[tuple[str, dict[str, Any]]] = [
        ("alone", {"facecolor": "#0072B2", "label": "no other rule fires"}),
        ("same_class", {"facecolor": "#56B4E9", "hatch": "//", "label": "others of its class fire too"}),
        ("other_class", {"facecolor": "#E69F00", "hatch": "xx", "label": "rules of other classes fire too"}),
    ]
    places, start = np.arange(len(overlaps)), np.zeros(len(overlaps))
    for part, look in looks:
        width = np.array([getattr(one, part) for one in overlaps])
        axes.barh(places, width, left=start, height=0.7, edgecolor="white", **look)
        start = start + width
    for place, one in enumerate(overlaps):
        axes.text(one.coverage + 0.01, place, percent(one.coverage, 1), va="center", fontsize="small")
    axes.set_yticks(places, written, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(overlaps) - 0.4, -0.6)
    axes.set_xlim(0, 1.12)
    axes.set_xticks(np.linspace(0, 1, 6), [percent(share) for share in np.linspace(0, 1, 6)])
    more = f"; {left_out} rules that cover less are left out" if left_out > 0 else ""
    axes.set_xlabel(f"share of {rows.n_rows:,} rows{more}")
    axes.spines[["top", "right"]].set_visible(False)
    # One below the other, because side by side they are wider than narrow axes.
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize="small")
    return axes


def _on_two_lines(line: str) -> str:
    """Break a long name where it was shortened, or else at the blank nearest to its middle."""
    if _width(line) <= LINE:
        return line
    middle = len(line) / 2
    breaks = [i + 1 for i, letter in enumerate(line) if letter == "…"] or [
        i for i, letter in enumerate(line) if letter == " " and abs(i - middle) <= LINE / 3
    ]
    place = min(breaks, key=lambda i: abs(i - middle), default=round(middle))
    return f"{line[:place]}\n{line[place:].lstrip()}"


def _in_words(label: str) -> str:
    """Break the label of a rule between words; leave words in the middle out of one that has too many lines."""
    words = [_cut_middle(word, LINE) for word in _on_one_line(label).split()]
    lines, begin, end = _wrapped(words), (len(words) + 1) // 2, (len(words) + 1) // 2
    while len(lines) > MOST_LINES:
        begin, end = (begin - 1, end) if begin > len(words) - end else (begin, end + 1)
        lines = _wrapped([*words[:begin], "…", *words[end:]])
    return "\n".join(lines)


def _wrapped(words: Sequence[str]) -> list[str]:
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".lstrip()
        if _width(longer) <= LINE:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _on_one_line(name: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in name).split())


def short_names(names: Sequence[str], length: int = LINE) -> dict[str, str]:
    """Shorten long names in the middle, since beginnings and ends tell most.

    Names that would then be equal are shortened less.

    >>> short_names(["mean corpuscular haemoglobin concentration >= 33.25", "age"], 24)
    {'mean corpuscular haemoglobin concentration >= 33.25': 'mean corpusc…on >= 33.25', 'age': 'age'}
    """
    lines = {name: _on_one_line(name) for name in names}
    lengths = dict.fromkeys(lines, length)
    while True:
        short = {name: _cut_middle(line, lengths[name]) for name, line in lines.items()}
        times = Counter(short.values())
        # Names that differ in blanks only cannot be told apart by showing more.
        alike = [name for name in short if times[short[name]] > 1 and lengths[name] < _width(lines[name])]
        if not alike:
            return short
        lengths.update({name: lengths[name] + 8 for name in alike})


def _most_relevant(shares: Mapping[str, float], used: Collection[str]) -> list[str]:
    """Return the concepts to draw: those that the formula uses, then the most relevant others, by relevance."""
    seen = [concept for concept, share in shares.items() if share >= LEAST_RELEVANCE and concept not in used]
    ranked = sorted({*used, *seen}, key=lambda concept: (concept not in used, -shares.get(concept, 0.0), concept))
    return sorted(ranked[:MOST_BARS], key=lambda concept: (-shares.get(concept, 0.0), concept))


def _cut_middle(line: str, length: int) -> str:
    if _width(line) <= length:
        return line
    end = _fitting(line[::-1], (length - 1) // 2)
    start = _fitting(line, length - 1 - (length - 1) // 2)
    return f"{line[:start].rstrip()}…{line[len(line) - end :].lstrip()}"


def _width(line: str) -> int:
    return sum(2 if east_asian_width(letter) in "FW" else 1 for letter in line)


def _fitting(line: str, width: int) -> int:
    """Return how many letters of the beginning of a line fit into a width."""
    return sum(place <= width for place in accumulate(map(_width, line)))
