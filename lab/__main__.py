"""`python -m lab COMMAND`: run an experiment into `lab/results`, and write the pages that show it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from lab.pages.markdown import DOCS, write, write_part
from lab.peers.raw import METHODS
from lab.runs import ablation, domination, paper, planted, side_by_side
from lab.runs.fold_data import Source
from lab.runs.methods import named_methods
from lab.runs.results import RESULTS, ROOT, Job, Results, carry_out, data_folder
from lab.runs.tasks import PROTOCOLS, TASKS, USUAL, named_tasks
from logiclens.errors import LogicLensError, unknown


def run_paper(given: argparse.Namespace) -> None:
    """Run methods on tasks, the grid of settings and the toy task, as far as they are named."""
    file = given.file or RESULTS / "paper.jsonl"
    names = given.names or [*USUAL, "sweep:vdem", "toy"]
    source = _source(given)
    results = paper.paper_results(file, source)
    tasks = named_tasks(name for name in names if name != "toy" and not name.startswith(paper.SWEEP))
    swept = named_tasks(name.removeprefix(paper.SWEEP) for name in names if name.startswith(paper.SWEEP))
    protocols = PROTOCOLS if given.protocol == "both" else (given.protocol,)
    encoders = Results(source.cache / "encoders.jsonl", ("task", "protocol", "fold"))
    carry_out(encoders, paper.encoder_jobs((*tasks, *swept), protocols, source), n_jobs=given.jobs)
    if given.encode:
        return
    jobs = list(paper.task_jobs(tasks, named_methods(given.methods or ["all"]), protocols, source))
    jobs += [job for task in swept for job in paper.sweep_jobs(task, protocols, source)]
    jobs += list(paper.toy_jobs(**({"epochs": given.epochs} if given.epochs else {}))) if "toy" in names else []
    _carry_out(results, jobs, given)


def run_search(given: argparse.Namespace) -> None:
    """Search the settings of a task with Optuna and print the Pareto front; several processes may share a study."""
    from lab.pages.markdown import table
    from lab.runs.search import OBJECTIVES, search

    source = _source(given)
    source.cache.mkdir(parents=True, exist_ok=True)
    storage = given.storage or f"sqlite:///{source.cache / 'search.db'}"
    (task,) = named_tasks(given.names or ["iris"])
    study = search(task, given.protocol, source, given.trials, storage)
    rows = [["trial", *OBJECTIVES, "settings"]]
    rows += [[str(t.number), *(f"{v:.4f}" for v in t.values), json.dumps(t.params)] for t in study.best_trials]
    print(table(rows))


def run_planted(given: argparse.Namespace) -> None:
    """Count how often the rules equal a planted formula, beside RIPPER, FIGS and boosting."""
    results = Results(given.file or RESULTS / "planted.jsonl", planted.KEYS)
    methods = _chosen(given.methods or ["ours", *planted.PEERS], METHODS)
    _carry_out(results, planted.planted_jobs(given.names, methods, given.seeds, given.seeds_from), given)


def run_domination(given: argparse.Namespace) -> None:
    """Check whether a simple peer dominates our rules on any table."""
    results = Results(given.file or RESULTS / "domination.jsonl", domination.KEYS)
    methods = _chosen(given.methods or ["ours", "network", "tree, depth 5", *domination.SIMPLE], METHODS)
    _carry_out(results, domination.domination_jobs(given.names, methods, given.partitions), given)


def run_ablation(given: argparse.Namespace) -> None:
    """Change each part of the defaults alone."""
    results = Results(given.file or RESULTS / "ablation.jsonl", ablation.KEYS)
    variants = _chosen(given.methods or list(ablation.VARIANTS), ablation.VARIANTS)
    _carry_out(results, ablation.ablation_jobs(given.names, variants, given.folds, given.seeds), given)


def run_side_by_side(given: argparse.Namespace) -> None:
    """Run five other ways to explain a table beside ours."""
    results = Results(given.file or RESULTS / "side_by_side.jsonl", side_by_side.KEYS)
    methods = _chosen(given.methods or list(side_by_side.METHODS), side_by_side.METHODS)
    _carry_out(results, side_by_side.side_jobs(given.names, methods), given)


def run_speed(given: argparse.Namespace) -> None:
    """Measure speed beside torch_explain, trees and rule learners; `--gpu` measures a GPU only."""
    if given.gpu:
        from lab.speed.gpu import measure as measure_gpu

        measure_gpu(RESULTS / "gpu.json")
        return
    from lab.speed import page as speed

    measured = speed.measure(
        given.names or speed.PARTS, given.repeats, given.limit or 150, given.concepts, quick=given.quick
    )
    speed.write_page(measured)
    write_part(DOCS / "comparison.md", "speed", speed.comparison_table(measured))


def run_scale(given: argparse.Namespace) -> None:
    """Count in engines beside a plain GROUP BY, pandas and polars; the full run takes an hour, and 4 GB of disk."""
    from lab.pages.scale_page import measured_part
    from lab.runs.scale import measure

    sizes = {"few": given.few, "measured": given.measured, "worst": given.worst}
    write_part(
        DOCS / "scale.md", "scale", measured_part(measure(sizes, given.spark, given.repeats, given.limit or 900))
    )


def run_check(given: argparse.Namespace) -> None:
    """Print a check of the paper's own claims."""
    from lab.runs import checks

    work: dict[str, Callable[[], str]] = {
        "xor": checks.xor_listing, "psi-epochs": checks.psi_epochs, "vdem-inputs": checks.vdem_inputs,
    }  # fmt: skip
    print(work[given.command]())


def run_mutation(given: argparse.Namespace) -> None:
    """Change the named modules in one place at a time, and count the changes that their tests notice."""
    from lab.runs.mutation import measure

    measure(given.names, given.tests, given.sample, given.seed, given.limit or 600)


def run_pages(given: argparse.Namespace) -> None:
    """Write every page from the results that are there; no page trains anything."""
    from lab.pages import ablation_page, results_page, scale_page, truth_page, why_page
    from lab.pages.report import write_report
    from lab.pages.summary import Bench
    from lab.speed import page as speed

    bench = Bench.read(RESULTS / "paper.jsonl")
    write_report(bench, RESULTS / "report")
    write(DOCS / "results.md", results_page.page(bench))
    write_part(DOCS / "comparison.md", "exact", results_page.exact_cost(bench))
    runs = pd.DataFrame(Results(RESULTS / "domination.jsonl", domination.KEYS))
    write(DOCS / "truth.md", truth_page.page(pd.DataFrame(Results(RESULTS / "planted.jsonl", planted.KEYS)), runs))
    if "accuracy" in runs:
        write_part(DOCS / "comparison.md", "small tables", truth_page.small_tables(runs))
    write(DOCS / "ablation.md", ablation_page.page(list(Results(RESULTS / "ablation.jsonl", ablation.KEYS))))
    side = list(Results(RESULTS / "side_by_side.jsonl", side_by_side.KEYS))
    write(DOCS / "why.md", why_page.page(side))
    write_part(ROOT / "README.md", "side by side", why_page.readme_table(side))
    speed_lines, scale_lines = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("speed", "scale"))
    write_part(DOCS / "comparison.md", "speed", speed.comparison_table(speed_lines))
    write_part(DOCS / "scale.md", "scale", scale_page.measured_part(scale_lines))


def run_pictures(given: argparse.Namespace) -> None:
    """Take the pictures of the documentation, with Chromium."""
    from lab.pages.pictures import take_pictures

    take_pictures()


def _source(given: argparse.Namespace) -> Source:
    folder = None
    # Tasks that need no files run without it.
    with suppress(LogicLensError):
        folder = data_folder()
    return Source(folder, given.concepts, given.folds, given.seed)


def _chosen(names: list[str], listed: Collection[str]) -> list[str]:
    for name in names:
        if name not in listed:
            raise LogicLensError(unknown("method", name, tuple(listed)))
    return names


def _carry_out(results: Results, jobs: Iterable[Job], given: argparse.Namespace) -> None:
    results.drop(given.again)
    carry_out(results, jobs, limit=given.limit, n_jobs=given.jobs)


COMMANDS: dict[str, Any] = {
    "paper": run_paper, "search": run_search, "planted": run_planted, "domination": run_domination,
    "ablation": run_ablation, "side-by-side": run_side_by_side, "speed": run_speed, "scale": run_scale,
    "xor": run_check, "psi-epochs": run_check, "vdem-inputs": run_check, "mutation": run_mutation,
    "pages": run_pages, "pictures": run_pictures,
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, work in COMMANDS.items():
        command = commands.add_parser(name, help=work.__doc__, description=work.__doc__)
        command.add_argument("names", nargs="*", help=f"what to run; tasks are {', '.join(TASKS)}, sweep:TASK, toy"
                             if name == "paper" else "what to run: names, or how they start")  # fmt: skip
        command.add_argument("--methods", nargs="*", help="methods, groups of methods, or variants")
        command.add_argument("--file", type=Path, help="file of the results; an existing one is continued")
        command.add_argument("--again", nargs="*", default=[], help="repeat runs with this name or status")
        command.add_argument("--jobs", type=int, default=1, help="runs at a time")
        command.add_argument("--limit", type=float, help="seconds after which a run is stopped")
        command.add_argument("--folds", type=int, default=5)
        command.add_argument("--seed", type=int, default=42)
        command.add_argument("--protocol", default="clean", choices=(*PROTOCOLS, "both"))
        command.add_argument("--concepts", type=Path, default=Path("concepts"), help="folder of predicted concepts")
        if name == "paper":
            command.add_argument("--encode", action="store_true", help="only train the encoders")
            command.add_argument("--epochs", type=int, help="epochs of the toy networks")
        if name == "search":
            command.add_argument("--trials", type=int, default=30, help="complete trials in all")
            command.add_argument("--storage", help="database of the study, such as sqlite:///study.db")
        if name in ("planted", "ablation"):
            command.add_argument("--seeds", type=int, default=10 if name == "planted" else 3)
        if name == "planted":
            command.add_argument("--seeds-from", type=int, default=500, help="the first seed")
        if name == "domination":
            command.add_argument("--partitions", type=int, default=1, help="how often the five folds are drawn")
        if name in ("speed", "scale"):
            command.add_argument("--repeats", type=int, default=5 if name == "speed" else 3)
        if name == "speed":
            command.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
            command.add_argument("--gpu", action="store_true", help="on a CUDA device, into gpu.json")
        if name == "scale":
            for form, rows in (("few", [1e6, 1e7, 1e8]), ("measured", [1e6, 1e7]), ("worst", [1e6]), ("spark", [])):
                command.add_argument(f"--{form}", type=float, nargs="*", default=rows, metavar="ROWS")
        if name == "mutation":
            command.add_argument("--tests", nargs="+", default=["tests"])
            command.add_argument("--sample", type=int, default=100, help="mutants per module")
    return made


def main(words: list[str] | None = None) -> int:
    """Run one command; an error that the user can fix is one sentence."""
    given = parser().parse_args(words)
    try:
        COMMANDS[given.command](given)
    except LogicLensError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
