"""Charts of the benchmark report: literals against error, times, and heat maps. Equal data give equal bytes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lab.pages.document import Chart
from lab.pages.names import METHODS, TASKS, columns_of_paper, method_title, task_title
from lab.pages.summary import Estimate, Point, front
from lab.runs.paper_figures import paper_figures
from logiclens.render.figures import MEMORABLE, heat_map, new_figure
from logiclens.words import count_with_noun, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, LINE = "#1c2530", "#566170", "#d5dbe2"
"""Colours in files; the HTML page replaces them by its own."""
# Readable on white and on black pages. Markers distinguish what colours do not.
_COLOURS = ("#3b82c4", "#d9772b", "#2f9e5f", "#c2456b", "#8a63c9", "#a07a2c", "#2a9d9d", "#7d8794")
_MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
_WIDTH = 4.7
_NAME = 31
"""Characters of a name in a legend."""
_SPAN = 20.0
"""An axis is logarithmic if its largest value is more than this many times the smallest."""
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none", "text.color": INK, "axes.labelcolor": MUTED, "axes.edgecolor": LINE, "axes.linewidth": 1.0,
    "xtick.color": MUTED, "ytick.color": MUTED, "font.size": 9.0, "axes.facecolor": "none", "axes.titlesize": 10.0,
    "figure.facecolor": "none", "savefig.facecolor": "none", "legend.frameon": False, "text.parse_math": False,
    "legend.fontsize": 7.5, "axes.titlecolor": INK,
}  # fmt: skip


def pareto_chart(task: str, protocol: str, points: Sequence[Point], caption: str) -> Chart:
    """Draw literals against error of every method, and join the methods that no other dominates."""
    best = front(points)
    literals = [point.literals.mean for point in points]
    errors = [point.error.mean for point in points]
    hollow = _published_points(task)

    def draw() -> Figure:
        figure = new_figure(_WIDTH, 3.3 + 0.085 * (len(points) + 4))
        axes = figure.add_subplot()
        _scales(axes, [*literals, *(x for _, x, _ in hollow)], [*errors, *(y for _, _, y in hollow)])
        axes.axvline(MEMORABLE, color=MUTED, linewidth=1.0, linestyle="--", label=f"{MEMORABLE} literals", zorder=1)
        steps: dict[str, Any] = {
            "drawstyle": "steps-post",
            "linestyle": ":",
            "linewidth": 1.4,
            "color": INK,
            "label": "not dominated",
        }
        axes.plot([p.literals.mean for p in best], [p.error.mean for p in best], zorder=2, **steps)
        for point in points:
            bars: dict[str, Any] = {"xerr": point.literals.standard_error, "yerr": point.error.standard_error}
            axes.errorbar(point.literals.mean, point.error.mean, **bars, **_look(point.method, METHODS), elinewidth=0.8,
                          linestyle="none", label=shortened(method_title(point.method), _NAME), zorder=3)  # fmt: skip
        for method, x, y in hollow:
            axes.plot(x, y, **_look(method, METHODS), linestyle="none", fillstyle="none", zorder=4)
        if hollow:
            axes.plot([], [], marker="o", color=MUTED, linestyle="none", fillstyle="none", label="hollow: the paper")
        axes.set_xlabel("literals, mean over classes")
        axes.set_ylabel("explanation error (%)")
        axes.set_title(task_title(task))
        _plain(axes)
        legend = figure.legend(loc="outside lower center", ncols=2, handlelength=1.6, columnspacing=1.0)
        kept = {shortened(method_title(point.method), _NAME) for point in best}
        for text in legend.get_texts():
            text.set_fontweight("bold" if text.get_text() in kept else "normal")
        return figure

    methods = count_with_noun(len(points), "method")
    label = f"Literals against explanation error on {task_title(task)} under {protocol}: {methods}"
    return chart(draw, key=f"pareto-{protocol}-{task}", caption=caption, label=label)


def time_chart(protocol: str, times: Mapping[str, Mapping[str, Estimate]], caption: str) -> Chart:
    """Draw the seconds of every method on every task, on a logarithmic scale."""
    tasks = [task for task in _ordered_tasks(times) if any(task in held for held in times.values())]

    def draw() -> Figure:
        from matplotlib.lines import Line2D

        figure = new_figure(_WIDTH, 0.9 + 0.38 * len(times) + 0.085 * (len(tasks) + 2))
        axes = figure.add_subplot()
        axes.set_xscale("log")
        for place, (method, held) in enumerate(times.items()):
            axes.axhline(place, color=LINE, linewidth=0.8, zorder=1)
            axes.annotate(method_title(method), (0, place), xycoords=("axes fraction", "data"), xytext=(0, 5),
                          textcoords="offset points", fontsize=8, va="bottom", ha="left")  # fmt: skip
            for task, estimate in held.items():
                look = _look(task, TASKS)
                axes.plot(max(estimate.mean, 1e-6), place + _off(task, tasks), **look, linestyle="none", zorder=3)
            for task, seconds in _published_times(method, held):
                look = {**_look(task, TASKS), "fillstyle": "none"}
                axes.plot(seconds, place + _off(task, tasks), **look, linestyle="none", zorder=2)
        axes.set_ylim(len(times) - 0.5, -0.75)
        axes.set_yticks([])
        axes.set_xlabel("seconds")
        axes.xaxis.set_major_formatter(_number)
        axes.tick_params(labeltop=True)
        _plain(axes)
        axes.spines["left"].set_visible(False)
        marks = [
            Line2D([], [], **_look(t, TASKS), linestyle="none", label=shortened(task_title(t), _NAME)) for t in tasks
        ]
        marks.append(Line2D([], [], marker="o", color=MUTED, linestyle="none", fillstyle="none", label="the paper"))
        figure.legend(handles=marks, loc="outside lower center", ncols=2, handlelength=1.2, columnspacing=1.0)
        return figure

    size = f"{count_with_noun(len(times), 'method')} on {count_with_noun(len(tasks), 'task')}"
    label = f"Seconds of {size} under {protocol}, on a logarithmic scale"
    return chart(draw, key=f"time-{protocol}", caption=caption, label=label)


def heat_map_chart(
    matrix: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str], *, key: str, title: str, caption: str
) -> Chart:
    """Draw a matrix with its numbers."""

    def draw() -> Figure:
        return heat_map(
            matrix, [shortened(row, 20) for row in rows], [shortened(column, 12) for column in columns], title
        )

    return chart(draw, key=key, caption=caption, label=f"{caption} {len(rows)} rows and {len(columns)} columns.")


def chart(draw: Callable[[], Figure], *, key: str, caption: str, label: str) -> Chart:
    """Render a figure as SVG and PNG; `key` keeps its ids distinct from those of other charts on a page."""
    import matplotlib

    svg, png = io.StringIO(), io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The page uses the reader's fonts, so letters that matplotlib's font lacks do not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # Ignore the user's settings, so that equal data give the same chart everywhere.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, "svg.hashsalt": key})
        figure = draw()
        figure.savefig(svg, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        figure.savefig(png, format="png", dpi=200, facecolor="white", metadata={"Software": None})
    return Chart(key, caption, label, svg.getvalue(), png.getvalue())


def _look(name: str, known: Mapping[str, str]) -> dict[str, Any]:
    """Return the colour and marker of a method or task, the same in every chart."""
    names = list(known)
    # The look of an unknown name depends on the name only.
    place = names.index(name) if name in names else len(names) + sum(name.encode("utf-8"))
    return {
        "color": _COLOURS[place % len(_COLOURS)],
        "marker": next(islice(cycle(_MARKS), place, None)),
        "markersize": 6.0,
    }


def _off(task: str, tasks: Sequence[str]) -> float:
    """Return the vertical offset of a marker, so that equal times do not hide each other."""
    return 0.3 * (tasks.index(task) / max(len(tasks) - 1, 1) - 0.5)


def _scales(axes: Axes, literals: Sequence[float], errors: Sequence[float]) -> None:
    """Use logarithmic axes for values over several orders of magnitude, linear below the least positive value."""
    from matplotlib.ticker import NullFormatter

    if _spans(literals):
        axes.set_xscale("symlog", linthresh=1.0, linscale=0.4)
        least = min(value for value in literals if value > 0)
        axes.set_xlim(-0.15 if min(literals) == 0 else 0.8 * least, 1.6 * max(*literals, MEMORABLE))
        axes.xaxis.set_major_formatter(_number)
    else:
        axes.set_xlim(-0.5, max([*literals, MEMORABLE]) * 1.08 + 0.5)
    if _spans(errors):
        axes.set_yscale("symlog", linthresh=min(value for value in errors if value > 0), linscale=0.4)
        axes.yaxis.set_major_formatter(_number)
        axes.yaxis.set_minor_formatter(NullFormatter())


def _spans(values: Sequence[float]) -> bool:
    some = [value for value in values if value > 0]
    return bool(some) and max(some) / min(some) > _SPAN


def _number(value: float, _: object) -> str:
    # matplotlib writes powers as mathematics, which is switched off because names may contain dollar signs.
    return f"{value:g}"


def _plain(axes: Axes) -> None:
    axes.grid(color=LINE, linewidth=0.5, axis="both" if axes.get_ylabel() else "x")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=0, which="both")


def _published_points(task: str) -> list[tuple[str, float, float]]:
    """Return method, literals and error of the paper's own figures."""
    found = []
    for column, method in columns_of_paper(task).items():
        length = paper_figures().figure("complexity", task, column)
        accuracy = paper_figures().figure("explanation_accuracy", task, column)
        if length and accuracy:
            found.append((method, length.mean, 100.0 - accuracy.mean))
    return found


def _published_times(method: str, tasks: Mapping[str, object]) -> list[tuple[str, float]]:
    found = []
    for task in tasks:
        for column, own in columns_of_paper(task).items():
            figure = paper_figures().figure("seconds", task, column) if own == method else None
            if figure:
                found.append((task, figure.mean))
    return found


def _ordered_tasks(times: Mapping[str, Mapping[str, Estimate]]) -> list[str]:
    seen = dict.fromkeys(task for held in times.values() for task in held)
    return sorted(seen, key=lambda task: list(TASKS).index(task) if task in TASKS else len(TASKS))
