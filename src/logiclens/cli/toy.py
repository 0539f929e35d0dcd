"""Printing of `logiclens toy`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from logiclens.errors import LogicLensError
from logiclens.experiments import toy
from logiclens.render.figures import heat_map, network_diagram, require_matplotlib, save_png

FIGURES = ("model_a_weights.png", "model_b_relevance.png", "model_c_relevance.png", "model_c_network.png")


def run_toy(console: Console, *, out: Path, n_seeds: int, epochs: int) -> None:
    """Train, draw into `out`, and print formulas and counts."""
    require_matplotlib()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogicLensError(f"cannot write into {str(out)!r}: {error.strerror}.") from None
    for name in FIGURES:
        # Better to know before the training than after it.
        if (out / name).is_dir():
            raise LogicLensError(f"cannot write {str(out / name)!r}: there is a folder of that name.")
    runs = []
    for seed in range(n_seeds):
        runs.append(toy.train_c(seed, epochs))
        _print_seed(console, runs[-1])
    first = runs[0]
    weights = toy.weights(toy.train_a(0, epochs), toy.train_b(0, epochs), first.network)
    hidden = [f"h{i + 1}" for i in range(len(weights.plain))]
    captions = [str(explained) for explained in first.explanations["minimal"]]
    figures = (
        heat_map(weights.plain, hidden, toy.CONCEPTS, "A: plain layer, L1: weights W"),
        heat_map(weights.l1, toy.CLASSES, toy.CONCEPTS, "B: entropy layer, L1: relevance"),
        heat_map(weights.entropy, toy.CLASSES, toy.CONCEPTS, "C: entropy layer, entropy loss: relevance"),
        network_diagram(first.network, toy.CONCEPTS, toy.CLASSES, captions),
    )
    for name, figure in zip(FIGURES, figures, strict=True):
        save_png(figure, out / name)
    console.print("\nThe four formulas of model C, seed 0:\n")
    for method in toy.METHODS:
        for explained in first.explanations[method]:
            console.print(f"  {method:<8}{explained}")
    console.print(f"\nSeeds of 0 to {n_seeds - 1} in which all four formulas are recovered:\n")
    for method in toy.METHODS:
        whole = sum(run.recovered(method) == len(toy.TRUTH) for run in runs)
        console.print(f"  {method:<8}{whole} of {n_seeds}")
    console.print(f"\nDrawn into {out}: {', '.join(FIGURES)}")


def _print_seed(console: Console, run: toy.ToyRun) -> None:
    found = ", ".join(f"{method} {run.recovered(method)} of {len(toy.TRUTH)}" for method in toy.METHODS)
    relevant = run.network.entropy.relevant().sum(dim=1).tolist()
    console.print(f"seed {run.seed}: relevant concepts a head {relevant}; formulas recovered: {found}")
