"""Charts as SVG elements of a page: drawn by matplotlib, coloured by the page, with the same bytes every time."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from logiclens.report.result import Curves
from logiclens.words import readable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# matplotlib draws in placeholder colours, which the page replaces with those of its light or dark theme.
_INK, _MUTED, _ACCENT, _SECOND, _LINE = (f"#01020{i}" for i in range(1, 6))
_OF_PAGE = {
    _INK: "var(--ink)",
    _MUTED: "var(--muted)",
    _ACCENT: "var(--accent)",
    _SECOND: "var(--second)",
    _LINE: "var(--line)",
}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "logiclens", "path.simplify": True,
    "text.color": _INK, "axes.labelcolor": _MUTED, "axes.edgecolor": _LINE, "axes.linewidth": 1.0,
    "xtick.color": _MUTED, "ytick.color": _MUTED, "font.size": 9.0, "axes.facecolor": "none",
    "figure.facecolor": "none", "savefig.facecolor": "none", "legend.frameon": False,
}  # fmt: skip
_WIDTH = 3.9  # inches: 374 px, about the width of a phone
_PER_LINE = 20  # icons
_NAMESPACE = re.compile(r"\{[^}]*\}")


def icon_count(share: float) -> int:
    """Return how many of a hundred icons are full; all or none only if the share is 1 or 0."""
    return round(100 * share) if share in (0.0, 1.0) else min(99, max(1, round(100 * share)))


def icon_array(full: int, total: int, *, label: str) -> str:
    """Draw dots, of which the first are full, as an SVG element of a page."""
    # A dash of no length with round ends is a dot: one path draws them all.
    paths = "".join(
        f'<path class="{kind}" d="{"".join(f"M{10 * x + 5} {10 * y + 5}h{10 * many - 9}" for x, y, many in lines)}"/>'
        for kind, lines in (("full", _lines(0, full)), ("hollow", _lines(full, total)))
        if lines
    )
    box = f"0 0 {10 * _PER_LINE} {10 * -(-total // _PER_LINE)}"
    return f'<svg class="icons" viewBox="{box}" role="img" aria-label="{escape(readable(label))}">{paths}</svg>'


def _lines(first: int, last: int) -> list[tuple[int, int, int]]:
    """Return the icons from the first to below the last as lines: column, row, and how many."""
    lines = []
    while first < last:
        y, x = divmod(first, _PER_LINE)
        many = min(_PER_LINE - x, last - first)
        lines.append((x, y, many))
        first += many
    return lines


def loss_chart(history: Curves, *, key: str, label: str) -> str:
    """Draw the loss per epoch, on the training rows and on the validation rows."""
    curves = [("training", history.loss), ("validation", history.validation_loss)]
    return _curves(curves, history.best_epoch, "loss", key=key, label=label)


def accuracy_chart(history: Curves, *, key: str, label: str) -> str:
    """Draw the accuracy per epoch, on the training rows and on the validation rows."""
    curves = [("training", history.train_accuracy), ("validation", history.validation_accuracy)]
    return _curves(curves, history.best_epoch, "accuracy", key=key, label=label)


def _curves(
    curves: Sequence[tuple[str, Sequence[float | None]]], best: int, quantity: str, *, key: str, label: str
) -> str:
    def draw(axes: Axes) -> None:
        # Dashes distinguish the curves without colour, for example in print.
        for (name, values), color, dashes in zip(curves, (_ACCENT, _SECOND), ("-", "--"), strict=True):
            points = [(epoch, value) for epoch, value in enumerate(values) if value is not None]
            if points:
                axes.plot(*zip(*points, strict=True), color=color, linestyle=dashes, linewidth=1.6, label=name)
        axes.axvline(best, color=_MUTED, linewidth=1.0, linestyle=":", label="epoch kept")
        axes.set_xlabel("epoch")
        axes.set_ylabel(quantity)
        axes.set_ylim(0, 1.02 if quantity == "accuracy" else None)
        axes.grid(axis="y", color=_LINE, linewidth=0.6)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=1.8, columnspacing=1.2)

    return _svg(draw, height=2.3, key=key, label=label, margins=(0.15, 0.19, 0.98, 0.87))


def _svg(
    draw: Callable[[Axes], None], *, height: float, key: str, label: str, margins: tuple[float, float, float, float]
) -> str:
    """Return what `draw` draws as an SVG element. `key` makes its ids unique on the page."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        # Ignore the user's matplotlib settings: the same result gives the same page everywhere.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(_WIDTH, height))
        left, bottom, right, top = margins
        draw(figure.add_axes((left, bottom, right - left, top - bottom)))
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    # S314: the XML is what matplotlib wrote a line above; it escapes names, and no entity can be declared in it.
    return _for_page(ElementTree.fromstring(drawn.getvalue()), key, label)  # noqa: S314


def _for_page(root: ElementTree.Element, key: str, label: str) -> str:
    """Return the drawing without what only a standalone file needs, with a label for screen readers."""
    used = set(re.findall(r"#(\w+)", " ".join(v for node in root.iter() for v in node.attrib.values())))
    for node in root.iter():
        for child in [child for child in node if _NAMESPACE.sub("", child.tag) in ("style", "metadata")]:
            node.remove(child)
        node.tag = _NAMESPACE.sub("", node.tag)
        attributes = {_NAMESPACE.sub("", name): value for name, value in node.attrib.items()}
        node.attrib.clear()
        for name, value in attributes.items():
            if name == "id" and value not in used:
                continue
            node.set(name, _attribute(name, value, key))
        if node.tag != "text" and node.text:
            node.text = node.text.strip() or None
        node.tail = None
    _, _, width, tall = map(float, root.get("viewBox", "0 0 1 1").split())
    for name, value in (("width", f"{width * 4 / 3:.0f}"), ("height", f"{tall * 4 / 3:.0f}"), ("role", "img")):
        root.set(name, value)
    root.set("aria-label", readable(label))
    return ElementTree.tostring(root, encoding="unicode")


def _attribute(name: str, value: str, key: str) -> str:
    if name == "id":
        return f"{key}-{value}"
    if name in ("href", "clip-path"):
        return value.replace("#", f"#{key}-")
    if name == "d":
        return " ".join(value.split())
    if name == "style":
        value = re.sub(r"font-family: [^;]*", "font-family: inherit", value)
        for drawn, of_page in _OF_PAGE.items():
            value = value.replace(drawn, of_page)
    return value
