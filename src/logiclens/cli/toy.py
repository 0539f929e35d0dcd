"""Printing of `logiclens toy`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json
from logiclens.errors import LogicLensError

if TYPE_CHECKING:
    from logiclens.bench.runs.toy import ToyRun
    from logiclens.explain.classwise import Method

FIGURES = ("model_a_weights.png", "model_b_relevance.png", "model_c_relevance.png", "model_c_network.png")


def run_toy(*, out: Path, n_seeds: int, epochs: int, json: str | None, quiet: bool) -> None:
    """Train, draw into `out`, and print formulas and counts."""
    check_outputs(json)
    _check_folder(out)
    # After what can be refused at once: torch takes its time to load.
    from logiclens.bench.runs import toy
    from logiclens.render.figures import heat_map, network_diagram, require_matplotlib, save_png

    require_matplotlib()
    printer = Printer(quiet=quiet or json == STANDARD)
    runs = []
    for seed in range(n_seeds):
        runs.append(toy.train_c(seed, epochs))
        printer.say(_seed(runs[-1], toy.METHODS, len(toy.TRUTH)))
    first = runs[0]
    weights = toy.weights(toy.train_a(0, epochs), toy.train_b(0, epochs), first.network)
    hidden = [f"h{i + 1}" for i in range(len(weights.plain))]
    captions = [str(explained) for explained in first.explanations["search"]]
    figures = (
        heat_map(weights.plain, hidden, toy.CONCEPTS, "A: plain layer, L1: weights W"),
        heat_map(weights.l1, toy.CLASSES, toy.CONCEPTS, "B: entropy layer, L1: relevance"),
        heat_map(weights.entropy, toy.CLASSES, toy.CONCEPTS, "C: entropy layer, entropy loss: relevance"),
        network_diagram(first.network, toy.CONCEPTS, toy.CLASSES, captions),
    )
    for name, figure in zip(FIGURES, figures, strict=True):
        save_png(figure, out / name)
    write_json(
        {"figures": [str(out / name) for name in FIGURES], "seeds": [_told(run, toy.METHODS) for run in runs]}, json
    )
    printer.say("\nThe four formulas of model C, seed 0:\n")
    for method in toy.METHODS:
        for explained in first.explanations[method]:
            printer.say(f"  {method:<8}{explained}")
    printer.say(f"\nSeeds of 0 to {n_seeds - 1} in which all four formulas are recovered:\n")
    for method in toy.METHODS:
        whole = sum(run.recovered(method) == len(toy.TRUTH) for run in runs)
        printer.say(f"  {method:<8}{whole} of {n_seeds}")
    printer.note(f"Drawn into {out}: {', '.join(FIGURES)}")


def _check_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LogicLensError(f"cannot write into {str(out)!r}: {error.strerror}.") from None
    for name in FIGURES:
        # Better to know before the training than after it.
        if (out / name).is_dir():
            raise LogicLensError(f"cannot write {str(out / name)!r}: there is a folder of that name.")


def _told(run: ToyRun, methods: Sequence[Method]) -> dict[str, Any]:
    return {
        "seed": run.seed,
        "recovered": {method: run.recovered(method) for method in methods},
        "formulas": {method: [str(one) for one in run.explanations[method]] for method in methods},
    }


def _seed(run: ToyRun, methods: Sequence[Method], n_formulas: int) -> str:
    found = ", ".join(f"{method} {run.recovered(method)} of {n_formulas}" for method in methods)
    relevant = run.network.entropy.relevant().sum(dim=1).tolist()
    return f"seed {run.seed}: relevant concepts a head {relevant}; formulas recovered: {found}"
