"""`python -m lab` and `python -m lab toy`: turn options into a plan, run it, print progress and a short table."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json
from logiclens.errors import LogicLensError, quoted
from logiclens.words import percent

if TYPE_CHECKING:
    from lab.runs.fold_data import Source
    from lab.runs.plan import Plan, Step
    from lab.runs.results import Results, Run
    from lab.runs.study import SearchResult, Setting
    from lab.runs.tasks import Protocol, Task
    from lab.runs.toy import ToyRun
    from logiclens.explain.classwise import Method


COLUMNS = {
    "model_accuracy": ("accuracy %", 100.0),
    "explanation_accuracy": ("rules F1 %", 100.0),
    "fidelity": ("fidelity %", 100.0),
    "complexity": ("literals", 1.0),
    "seconds": ("seconds", 1.0),
}
"""The columns of the short table: metric, heading, factor."""


@dataclass(frozen=True)
class BenchOptions:
    """The options of a bench: where it reads and writes, and how it runs."""

    out: Path
    protocol: str
    data: Path | None = None
    cache: Path | None = None
    folds: int = 5
    seed: int = 42
    jobs: int | None = None
    limit: float | None = None
    retry: bool = False
    epochs: int | None = None

    @property
    def source(self) -> Source:
        """Return the source of the rows."""
        from lab.runs.fold_data import Source

        if self.data is not None and not self.data.is_dir():
            raise LogicLensError(f"there is no folder {self.data}: --data names the folder that holds the data files.")
        return Source(self.data, self.cache or self.out / "concepts", self.folds, self.seed, self.epochs)

    @property
    def protocols(self) -> tuple[Protocol, ...]:
        """Return the protocols: one of the two, or both."""
        from lab.runs.tasks import PROTOCOLS

        if self.protocol == "both":
            return PROTOCOLS
        if self.protocol not in PROTOCOLS:
            raise LogicLensError(f"there is no protocol {quoted(self.protocol)}; there are paper, clean and both.")
        return ("paper",) if self.protocol == "paper" else ("clean",)

    def plan(self, runs: tuple[Run, ...]) -> Plan:
        """Return the plan of all runs."""
        from lab.runs.plan import Plan

        if not runs:
            raise LogicLensError(
                "there is nothing to run: either none of these methods is for these tasks (soft, joint and direct need "
                "predicted concepts), or the paper has no such experiment and --protocol must be clean."
            )
        return Plan(runs, self.source, self.protocols, self.jobs, self.limit, self.retry)


def run_bench(asked: BenchOptions, tasks: Sequence[str], methods: Sequence[str], *, quick: bool, quiet: bool) -> None:
    """Run what has no result yet, then print the means."""
    from lab.runs.methods import named_methods
    from lab.runs.plan import runs_of, toy_runs
    from lab.runs.results import TOY
    from lab.runs.tasks import QUICK, USUAL, named_tasks
    from lab.runs.toy import N_SEEDS

    wanted = list(tasks) or list(QUICK if quick else USUAL)
    chosen = named_tasks(name for name in wanted if name != TOY)
    if methods and not _split(methods):
        raise LogicLensError("--methods names none: leave it out for all of them.")
    learners = named_methods(_split(methods) or (("ours", "simplest") if quick else ("all",)))
    runs = runs_of(chosen, learners, asked.protocols, asked.folds)
    plan = asked.plan(runs + (toy_runs(N_SEEDS) if TOY in wanted else ()))
    for left in _left_out(chosen, asked.protocols):
        Printer(quiet=quiet).note(left)
    _carry_out(plan, asked.out, quiet=quiet)


def run_sweep(
    asked: BenchOptions, task: str, temperatures: Sequence[float], penalties: Sequence[float], *, quiet: bool
) -> None:
    """Run the grid of one task."""
    from lab.runs.plan import sweep_runs
    from lab.runs.tasks import named_tasks

    (chosen,) = named_tasks([task])
    runs = sweep_runs(chosen, asked.protocols, asked.folds, temperatures, penalties)
    _carry_out(asked.plan(runs), asked.out, quiet=quiet)


def run_encode(asked: BenchOptions, tasks: Sequence[str], *, quiet: bool) -> None:
    """Predict the concepts of every fold and store them, without running a method."""
    from lab.datasets.catalogue import check
    from lab.runs.plan import prepare_all
    from lab.runs.tasks import TASKS, named_tasks

    chosen = named_tasks(tasks or [name for name, task in TASKS.items() if task.encoded])
    for task in chosen:
        if not task.encoded:
            raise LogicLensError(f"the concepts of {task.name} are given: there is nothing to predict.")
        check(task.dataset, asked.data)
    prepare_all(chosen, asked.protocols, asked.source, asked.jobs or 1, ProgressLine(quiet).tell)


def write_report(folder: Path, *, quiet: bool) -> None:
    """Write the report of a folder from its table alone."""
    from lab.pages.report import write_bench_report

    if not folder.is_dir():
        raise LogicLensError(f"there is no folder {folder}: name one that `python -m lab --out` wrote.")
    written = write_bench_report(folder)
    printer = Printer(quiet=quiet)
    for path in written:
        printer.say(str(path))


def _carry_out(plan: Plan, out: Path, *, quiet: bool) -> None:
    from lab.runs.plan import bench
    from lab.runs.results import Results

    shown = ProgressLine(quiet)
    try:
        results = bench(plan, out, shown.tell)
    finally:
        shown.clear()
    asked = set(plan.runs)
    printer = Printer(quiet=quiet)
    for line in short_table(Results(tuple(line for line in results if line.run in asked))):
        printer.say(line, hang=0)
    unwell = [run for run, metrics in results.runs.items() if run in asked and metrics["status"] != "ok"]
    if unwell:
        printer.note(f"{len(unwell)} of {len(asked)} runs did not end well; --retry runs those again.")
    printer.note(f"All measurements are in {out / 'results.csv'}; `python -m lab report {out}` makes the tables.")
    if len(unwell) == len(asked):
        raise typer.Exit(1)


def _left_out(tasks: Sequence[Task], protocols: Sequence[Protocol]) -> Iterable[str]:
    """Return what was requested but cannot run."""
    from lab.runs.tasks import has_protocol

    for task in tasks:
        for protocol in protocols:
            if not has_protocol(task, protocol):
                yield f"{task.name}, {protocol}: left out, the paper has no such experiment."


class ProgressLine:
    """Shows progress: one line that is redrawn on a terminal; in a pipe, a line for each run that failed."""

    def __init__(self, quiet: bool) -> None:
        """Start without a line."""
        self.printer = Printer(quiet=quiet)
        self.draws = sys.stderr.isatty() and not quiet

    def tell(self, step: Step) -> None:
        """Show that a run has ended."""
        if self.draws:
            left = "" if step.left is None else f", about {_duration(step.left)} left"
            sys.stderr.write(f"\r\x1b[2K{step.done} of {step.total} done{left}; last: {step.label}")
            sys.stderr.flush()
        if step.status != "ok":
            self.clear()
            self.printer.note(f"{step.label}: {step.status}")

    def clear(self) -> None:
        """Remove the line, so that other output can follow."""
        if self.draws:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def short_table(results: Results) -> Iterable[str]:
    """Return the means over folds per task, as lines of text."""
    values: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    for run, metrics in results.runs.items():
        row = values.setdefault((run.task, run.protocol), {}).setdefault(run.method, {})
        for metric in COLUMNS:
            if metric in metrics:
                row.setdefault(metric, []).append(float(metrics[metric]))
    for (task, protocol), every in values.items():
        methods = {method: row for method, row in every.items() if row}
        if not methods:
            continue
        yield f"\n{task}, protocol {protocol}"
        wide = max(18, *(len(method) + 1 for method in methods))
        yield f"  {'':<{wide}}" + "".join(f"{head:>12}" for head, _ in COLUMNS.values())
        for method, row in methods.items():
            cells = []
            for metric, (_, factor) in COLUMNS.items():
                found = row.get(metric)
                cells.append(f"{factor * sum(found) / len(found):>12.2f}" if found else f"{'–':>12}")
            yield f"  {method:<{wide}}" + "".join(cells)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _split(names: Iterable[str]) -> list[str]:
    """Return the names given as `--methods a,b --methods c` or `--methods a b`."""
    return [part for name in names for part in name.replace(",", " ").split()]


def numbers(option: str, text: str) -> tuple[float, ...]:
    """Return numbers that are separated by commas."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise LogicLensError(
            f"{option} takes numbers with commas between them, such as 4,5,6; got {quoted(text)}."
        ) from None
    if any(not 0 < number < float("inf") for number in found):
        raise LogicLensError(f"{option} takes numbers above 0, got {quoted(text)}.")
    return found


TRIALS = 30
"""The default number of trials in total."""


@dataclass(frozen=True)
class SearchOptions:
    """The options of a search; None and False if not given."""

    search: str | None
    trials: int | None = None
    storage: str | None = None
    study: str | None = None
    grid: bool = False
    retry: bool = False

    def check(self) -> None:
        """Refuse options that do not fit together."""
        if self.search is None:
            said = [name for name in ("trials", "storage", "study") if getattr(self, name) is not None]
            if said:
                raise LogicLensError(f"--{said[0]} is for a search: say --search optuna too.")
            return
        if self.search != "optuna":
            raise LogicLensError(f"--search must be optuna, got {quoted(self.search)}.")
        if self.grid:
            raise LogicLensError("--taus and --lambdas are a grid, and --search draws its own: leave one of them out.")
        if self.retry:
            raise LogicLensError("--retry is for a grid; a search goes on with more --trials.")


def run_search(asked: BenchOptions, task: str, wanted: SearchOptions, *, quiet: bool) -> None:
    """Run the missing trials, then print the Pareto front."""
    from lab.datasets.catalogue import check
    from lab.runs.results import STUDY
    from lab.runs.study import SearchPlan, search
    from lab.runs.tasks import has_protocol, named_tasks

    (chosen,) = named_tasks([task])
    if len(asked.protocols) != 1:
        raise LogicLensError("a search is under one protocol: --protocol clean, or --protocol paper.")
    (protocol,) = asked.protocols
    if not has_protocol(chosen, protocol):
        raise LogicLensError(f"the paper has no experiment {quoted(chosen.name)}: search under --protocol clean.")
    source = asked.source
    check(chosen.dataset, source.data)
    if asked.out.exists() and not asked.out.is_dir():
        raise LogicLensError(f"{asked.out} is a file: name a folder with --out, or a database with --storage.")
    storage = wanted.storage or f"sqlite:///{asked.out / STUDY}"
    study = wanted.study or f"{chosen.name}, {protocol}"
    shown = ProgressLine(quiet)
    if wanted.storage is None:
        asked.out.mkdir(parents=True, exist_ok=True)
    try:
        found = search(
            SearchPlan(
                chosen, protocol, source, wanted.trials or TRIALS, storage, study,
                n_workers=asked.jobs, limit=asked.limit,
            ),
            shown.tell,
        )  # fmt: skip
    finally:
        shown.clear()
    printer = Printer(quiet=quiet)
    for line in front_table(found, f"{chosen.name}, protocol {protocol}"):
        printer.say(line, hang=0)
    if found.n_failed:
        printer.note(f"{found.n_failed} of {found.n_tried + found.n_failed} trials did not end well.")
    if not found.front:
        raise typer.Exit(1)
    printer.note("No setting of the table is beaten by another in everything. Test rows were not looked at.")


def front_table(found: SearchResult, title: str) -> Iterable[str]:
    """Return the Pareto front as lines of text, the most accurate first."""
    from lab.runs.study import Setting

    if not found.front:
        return
    yield f"\n{title}: the front of {found.n_tried} trials, on validation rows"
    settings = [_words(Setting.of(one.params)) for one in found.front]
    wide = max(18, *(len(setting) + 1 for setting in settings))
    yield f"  {'':<{wide}}" + "".join(f"{head:>12}" for head in ("accuracy %", "rules F1 %", "literals", "trial"))
    ranked = sorted(zip(settings, found.front, strict=True), key=lambda pair: (-pair[1].values[0], pair[1].number))
    for setting, one in ranked:
        accuracy, explanation, literals = one.values
        shares = "".join(f"{percent(share, 2, sign=''):>12}" for share in (accuracy, explanation))
        cells = f"{shares}{literals:>12.2f}{one.number:>12}"
        yield f"  {setting:<{wide}}{cells}"


def _words(setting: Setting) -> str:
    hidden = ",".join(map(str, setting.hidden))
    cut = "" if setting.cuts == "task" else f" {setting.cuts}:{setting.n_cuts}"
    return f"tau={setting.temperature:.3g} lambda={setting.penalty_weight:.2g} hidden={hidden}{cut}"


FIGURES = ("model_a_weights.png", "model_b_relevance.png", "model_c_relevance.png", "model_c_network.png")


def run_toy(*, out: Path, n_seeds: int, epochs: int, json: str | None, quiet: bool) -> None:
    """Train, draw into `out`, and print formulas and counts."""
    check_outputs(json)
    _check_folder(out)
    # Imported after the checks, because torch loads slowly.
    from lab.runs import toy
    from logiclens.render.figures import heat_map, network_diagram, save_png

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
        raise LogicLensError(f"cannot write into {quoted(str(out))}: {error.strerror}.") from None
    for name in FIGURES:
        # Check before training.
        if (out / name).is_dir():
            raise LogicLensError(f"cannot write {quoted(str(out / name))}: there is a folder of that name.")


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
