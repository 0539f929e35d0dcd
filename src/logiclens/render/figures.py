"""Figures: functions from values to matplotlib figures and axes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.nn.networks import EntropyNet
from logiclens.train.history import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def require_matplotlib() -> None:
    """Say plainly what is missing, before any long work starts."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise LogicLensError("drawing needs matplotlib: pip install 'logiclens[report]'.") from None


def new_figure(width: float, height: float) -> Figure:
    """A figure that needs no screen and leaves the caller's pyplot state alone."""
    require_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def heat_map(matrix: NDArray[np.float64], rows: Sequence[str], columns: Sequence[str], title: str) -> Figure:
    """A matrix with its numbers; 0 is white, and the scale is symmetric where there are negative entries."""
    figure = new_figure(1.8 + 0.8 * len(columns), 1.4 + 0.32 * max(len(rows), 4))
    axes = figure.add_subplot()
    limit = max(float(np.abs(matrix).max()), 1e-12)
    signed = bool((matrix < 0).any())
    image = axes.imshow(
        matrix, aspect="auto", cmap="RdBu_r" if signed else "Greys", vmin=-limit if signed else 0.0, vmax=limit
    )
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title)
    for (r, c), value in np.ndenumerate(matrix):
        dark = abs(value) > 0.6 * limit
        # + 0.0 turns a rounded −0.00 into 0.00.
        axes.text(
            c,
            r,
            f"{round(value, 2) + 0.0:.2f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark else "black",
        )
    figure.colorbar(image, ax=axes)
    return figure


def network_diagram(
    network: EntropyNet, concepts: Sequence[str], classes: Sequence[str], captions: Sequence[str]
) -> Figure:
    """Every head as layers of neurons: inputs shaded by relevance (black 1, white 0), edges by weight."""
    n_heads = len(classes)
    n_columns = min(2, n_heads)
    n_rows = -(-n_heads // n_columns)
    figure = new_figure(6.5 * n_columns, 4.2 * n_rows)
    relevance = network.entropy.relevance().detach().double().numpy()
    for head in range(n_heads):
        axes = figure.add_subplot(n_rows, n_columns, head + 1)
        _draw_head(axes, _head_weights(network, head), relevance[head], concepts, classes[head])
        axes.set_title(captions[head], fontsize=10)
    return figure


def plot_history(history: History, axes: Axes | None = None) -> Axes:
    """Loss and accuracy over epochs, with the restored epoch marked."""
    if axes is None:
        axes = new_figure(6.4, 3.8).add_subplot()
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


def save_png(figure: Figure, path: Path) -> None:
    """Write a PNG under a temporary name, then rename: an interrupted run leaves no broken file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        figure.savefig(temporary, format="png", dpi=150)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _head_weights(network: EntropyNet, head: int) -> list[NDArray[np.float64]]:
    """The weight matrices `[out, in]` of one head, from the concepts to the output."""
    matrices = [network.entropy.weight[head]]
    for layer in network.tail:
        weight = getattr(layer, "weight", None)
        if weight is not None:
            matrices.append(weight[head] if weight.ndim == 3 else weight)
    return [matrix.detach().double().numpy() for matrix in matrices]


def _draw_head(
    axes: Any,
    matrices: list[NDArray[np.float64]],
    relevance: NDArray[np.float64],
    concepts: Sequence[str],
    klass: str,
) -> None:
    from matplotlib.collections import LineCollection

    sizes = [matrices[0].shape[1], *(matrix.shape[0] for matrix in matrices)]
    places = [np.linspace(1, 0, size + 2)[1:-1] for size in sizes]
    for layer, matrix in enumerate(matrices):
        # What flows along an edge of the first layer is the weight times the relevance of its concept.
        flow = np.abs(matrix * relevance) if layer == 0 else np.abs(matrix)
        shade = flow / max(float(flow.max()), 1e-12)
        ends = [
            [(layer, places[layer][i]), (layer + 1, places[layer + 1][o])]
            for o in range(matrix.shape[0])
            for i in range(matrix.shape[1])
        ]
        axes.add_collection(
            LineCollection(ends, colors=[(0, 0.3, 0.6, 0.7 * s) for s in shade.ravel()], linewidths=0.8)
        )
    for layer, place in enumerate(places):
        fill = 1 - relevance if layer == 0 else np.ones(len(place))
        axes.scatter(
            np.full(len(place), layer), place, s=160 if layer == 0 else 40, zorder=2,
            c=np.repeat(fill[:, None], 3, axis=1), edgecolors="black",
        )  # fmt: skip
    for concept, place, share in zip(concepts, places[0], relevance, strict=True):
        axes.text(-0.12, place, f"{concept}  {share:.2f}", ha="right", va="center", fontsize=9)
    axes.text(len(matrices) + 0.1, places[-1][0], klass, ha="left", va="center", fontsize=11)
    axes.set_xlim(-0.9, len(matrices) + 0.5)
    axes.axis("off")
