"""Charts of the report: literals against error, times, heat maps and ratios. Equal data give equal bytes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.pages.markdown import Estimate
from lab.pages.names import METHODS, TASKS, columns_of_paper, in_order, method_title, task_title
from lab.pages.summary import Point, front, published
from logiclens.words import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEMORABLE = 9
"""The most literals that a person can hold in mind."""
# Readable on white and on black pages. Markers distinguish what colours do not.
COLOURS = ("#3b82c4", "#d9772b", "#2f9e5f", "#c2456b", "#8a63c9", "#a07a2c", "#2a9d9d", "#7d8794")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
MUTED, LINE, WIDTH, NAME = "#566170", "#d5dbe2", 4.7, 31
SPAN = 20.0
"""An axis is logarithmic if its largest value is more than this many times the smallest."""


def save(figure: Figure, path: Path) -> None:
    """Write a figure as SVG, without the user's settings, so that equal data give the same file everywhere."""
    import matplotlib

    svg = io.StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": path.stem, "text.parse_math": False})
        figure.savefig(svg, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg.getvalue(), encoding="utf-8")


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def pareto_chart(task: str, points: Sequence[Point]) -> Figure:
    figure, axes = new_figure(WIDTH, 3.3 + 0.085 * (len(points) + 4))
    best = front(points)
    hollow = [
        (method, length.mean, 100.0 - accuracy.mean)
        for column, method in columns_of_paper(task).items()
        if (length := published("complexity", task, column))
        and (accuracy := published("explanation_accuracy", task, column))
    ]
    _log_if_wide(axes, "x", [*(point.literals.mean for point in points), *(x for _, x, _ in hollow), MEMORABLE])
    _log_if_wide(axes, "y", [*(point.error.mean for point in points), *(y for _, _, y in hollow)])
    axes.axvline(MEMORABLE, color=MUTED, linestyle="--", label=f"{MEMORABLE} literals", zorder=1)
    axes.plot(
        [p.literals.mean for p in best], [p.error.mean for p in best], drawstyle="steps-post", linestyle=":",
        color="black", label="not dominated", zorder=2,
    )  # fmt: skip
    for point in points:
        axes.errorbar(
            point.literals.mean, point.error.mean, xerr=point.literals.error, yerr=point.error.error, elinewidth=0.8,
            linestyle="none", label=shortened(method_title(point.method), NAME), **_look(point.method, METHODS),
        )  # fmt: skip
    for method, x, y in hollow:
        axes.plot(x, y, **_look(method, METHODS), linestyle="none", fillstyle="none", zorder=4)
    axes.set_xlabel("literals, mean over classes")
    axes.set_ylabel("explanation error (%)")
    axes.set_title(task_title(task))
    figure.legend(loc="outside lower center", ncols=2, fontsize=7.5, frameon=False)
    return figure


def time_chart(times: Mapping[str, Mapping[str, Estimate]]) -> Figure:
    from matplotlib.lines import Line2D

    tasks = in_order((task for of_method in times.values() for task in of_method), TASKS)
    figure, axes = new_figure(WIDTH, 0.9 + 0.38 * len(times) + 0.085 * (len(tasks) + 2))
    for place, (method, of_task) in enumerate(times.items()):
        axes.axhline(place, color=LINE, linewidth=0.8, zorder=1)
        for task, estimate in of_task.items():
            look, offset = _look(task, TASKS), 0.3 * (tasks.index(task) / max(len(tasks) - 1, 1) - 0.5)
            axes.plot(max(estimate.mean, 1e-6), place + offset, **look, linestyle="none", zorder=3)
            for column, own in columns_of_paper(task).items():
                if own == method and (theirs := published("seconds", task, column)):
                    axes.plot(theirs.mean, place + offset, **look, linestyle="none", fillstyle="none", zorder=2)
    axes.set_xscale("log")
    axes.set_ylim(len(times) - 0.5, -0.75)
    axes.set_yticks(range(len(times)), [method_title(method) for method in times], fontsize=8)
    axes.set_xlabel("seconds; hollow: the paper")
    marks = [Line2D([], [], **_look(t, TASKS), linestyle="none", label=shortened(task_title(t), NAME)) for t in tasks]
    figure.legend(handles=marks, loc="outside lower center", ncols=2, fontsize=7.5, frameon=False)
    return figure


def heat_map(matrix: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], title: str) -> Figure:
    """Draw a matrix with its numbers; 0 is white, and the scale is symmetric if there are negative entries."""
    values = np.array(matrix)
    figure, axes = new_figure(1.8 + 0.8 * len(columns), 1.4 + 0.32 * max(len(rows), 4))
    limit, signed = max(float(np.abs(values).max()), 1e-12), bool((values < 0).any())
    colours: dict[str, Any] = {
        "cmap": "RdBu_r" if signed else "Greys",
        "vmin": -limit if signed else 0.0,
        "vmax": limit,
    }
    image = axes.imshow(values, aspect="auto", **colours)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title)
    for (r, c), value in np.ndenumerate(values):
        colour = "white" if abs(value) > 0.6 * limit else "black"
        # + 0.0 turns a rounded −0.00 into 0.00.
        axes.text(c, r, f"{round(value, 2) + 0.0:.2f}", ha="center", va="center", fontsize=8, color=colour)
    figure.colorbar(image, ax=axes)
    return figure


def ratio_chart(ratios: Sequence[tuple[str, float, float, float]]) -> Figure:
    drawn = ratios[::-1]
    figure, axes = new_figure(8, 0.32 * len(drawn) + 1.2)
    places = np.arange(len(drawn))
    axes.barh(places, [ratio for _, ratio, _, _ in drawn], color="#4c78a8", height=0.6)
    axes.hlines(places, [low for *_, low, _ in drawn], [high for *_, high in drawn], color="black", linewidth=1)
    axes.set_yticks(places, [name for name, *_ in drawn])
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times less than torch_explain 1.5.1\n(bar: ratio of medians, line: spread of repeats)")
    return figure


def _look(name: str, listed: Mapping[str, str]) -> dict[str, Any]:
    names = list(listed)
    place = names.index(name) if name in names else len(names)
    mark = next(islice(cycle(MARKS), place, None))
    return {"color": COLOURS[place % len(COLOURS)], "marker": mark, "markersize": 6.0}


def _log_if_wide(axes: Axes, which: str, values: Sequence[float]) -> None:
    some = [value for value in values if value > 0]
    if some and max(some) / min(some) > SPAN:
        getattr(axes, f"set_{which}scale")("symlog", linthresh=min(some), linscale=0.4)
