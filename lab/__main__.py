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

from lab.pages.markdown import DOCS, table, write, write_part
from lab.pages.summary import Bench
from lab.peers.raw import METHODS
from lab.runs import ablation, domination, paper, planted, side_by_side
from lab.runs.fold_data import Source
from lab.runs.methods import named_methods
from lab.runs.results import RESULTS, ROOT, Job, Results, carry_out, data_folder
from lab.runs.tasks import PROTOCOLS, TASKS, USUAL, named_tasks
from logiclens.errors import LogicLensError, unknown

Given = argparse.Namespace


def run_paper(given: Given) -> None:
    """Run methods on tasks, on the grid of settings (sweep:TASK) and on the toy task, as far as they are named."""
    names, source = given.names or [*USUAL, "sweep:vdem", "toy"], _source(given)
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
    _carry_out(paper.paper_results(given.file or RESULTS / "paper.jsonl", source), jobs, given)


def run_search(given: Given) -> None:
    """Search the settings of a task with Optuna and print the Pareto front; several processes may share a study."""
    from lab.runs.search import OBJECTIVES, search

    source, (task,) = _source(given), named_tasks(given.names or ["iris"])
    source.cache.mkdir(parents=True, exist_ok=True)
    study = search(task, given.protocol, source, given.trials, f"sqlite:///{given.file or source.cache / 'search.db'}")
    rows = [[str(t.number), *(f"{v:.4f}" for v in t.values), json.dumps(t.params)] for t in study.best_trials]
    print(table([["trial", *OBJECTIVES, "settings"], *rows]))


def run_planted(given: Given) -> None:
    """Count how often the rules equal a planted formula, beside RIPPER, FIGS and boosting."""
    methods = _chosen(given.methods or ["ours", *planted.PEERS], METHODS)
    jobs = planted.planted_jobs(given.names, methods, given.seeds, given.seeds_from)
    _carry_out(Results(given.file or RESULTS / "planted.jsonl", planted.KEYS), jobs, given)


def run_domination(given: Given) -> None:
    """Check whether a simple peer dominates our rules on any table."""
    methods = _chosen(given.methods or ["ours", "network", "tree, depth 5", *domination.SIMPLE], METHODS)
    jobs = domination.domination_jobs(given.names, methods, given.partitions)
    _carry_out(Results(given.file or RESULTS / "domination.jsonl", domination.KEYS), jobs, given)


def run_ablation(given: Given) -> None:
    """Change each part of the defaults alone; the methods are the variants."""
    variants = _chosen(given.methods or [*ablation.VARIANTS], ablation.VARIANTS)
    jobs = ablation.ablation_jobs(given.names, variants, given.folds, given.seeds)
    _carry_out(Results(given.file or RESULTS / "ablation.jsonl", ablation.KEYS), jobs, given)


def run_side_by_side(given: Given) -> None:
    """Run five other ways to explain a table beside ours."""
    methods = _chosen(given.methods or [*side_by_side.METHODS], side_by_side.METHODS)
    jobs = side_by_side.side_jobs(given.names, methods)
    _carry_out(Results(given.file or RESULTS / "side_by_side.jsonl", side_by_side.KEYS), jobs, given)


def run_speed(given: Given) -> None:
    """Measure speed (peers, sweep, evaluation, growth) beside torch_explain; `gpu` measures a CUDA device."""
    from lab.speed import page as speed
    from lab.speed.sizes import measure_gpu

    if given.names == ["gpu"]:
        write(RESULTS / "gpu.json", json.dumps(measure_gpu(), indent=1) + "\n")
        return
    parts = _chosen(given.names or [*speed.PARTS], speed.PARTS)
    speed.measure(parts, given.repeats, given.limit or 150, given.concepts, quick=given.quick)


def run_scale(given: Given) -> None:
    """Count in engines beside a GROUP BY, pandas and polars: forms of tables with rows, such as few:1e6 spark:1e6."""
    from lab.runs.scale import measure

    usual = ["few:1e6", "few:1e7", "few:1e8", "measured:1e6", "measured:1e7", "worst:1e6", "spark:1e6", "spark:1e8"]
    measure([name.split(":") for name in given.names or usual], given.repeats, given.limit or 900)


def run_check(given: Given) -> None:
    """Print a check of the paper's own claims."""
    from lab.runs import checks

    work: dict[str, Callable[[], str]] = {
        "xor": checks.xor_listing, "psi-epochs": checks.psi_epochs, "vdem-inputs": checks.vdem_inputs,
    }  # fmt: skip
    print(work[given.command]())


def run_pages(given: Given) -> None:
    """Write every page from the results that are there; no page trains anything."""
    from lab.pages import ablation_page, report, results_page, scale_page, truth_page, why_page
    from lab.speed import page as speed

    def lines(name: str, keys: tuple[str, ...]) -> list[dict[str, Any]]:
        return list(Results(RESULTS / f"{name}.jsonl", keys))

    bench, runs = Bench.read(RESULTS / "paper.jsonl"), pd.DataFrame(lines("domination", domination.KEYS))
    report.write_report(bench, RESULTS / "report")
    write(DOCS / "results.md", results_page.page(bench))
    write(DOCS / "truth.md", truth_page.page(pd.DataFrame(lines("planted", planted.KEYS)), runs))
    write(DOCS / "ablation.md", ablation_page.page(lines("ablation", ablation.KEYS)))
    side = lines("side_by_side", side_by_side.KEYS)
    write(DOCS / "why.md", why_page.page(side))
    write_part(ROOT / "README.md", "side by side", why_page.readme_table(side))
    write_part(DOCS / "comparison.md", "exact", results_page.exact_cost(bench))
    if "accuracy" in runs:
        write_part(DOCS / "comparison.md", "small tables", truth_page.small_tables(runs))
    measured = json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))
    speed.write_page(measured, bench)
    write_part(DOCS / "comparison.md", "speed", speed.comparison_table(measured, bench))
    counted = json.loads((RESULTS / "scale.json").read_text(encoding="utf-8"))
    write_part(DOCS / "scale.md", "scale", scale_page.measured_part(counted))


def _source(given: Given) -> Source:
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


def _carry_out(results: Results, jobs: Iterable[Job], given: Given) -> None:
    results.drop(given.again)
    carry_out(results, jobs, limit=given.limit, n_jobs=given.jobs)


COMMANDS: dict[str, Callable[[Given], None]] = {
    "paper": run_paper, "search": run_search, "planted": run_planted, "domination": run_domination,
    "ablation": run_ablation, "side-by-side": run_side_by_side, "speed": run_speed, "scale": run_scale,
    "xor": run_check, "psi-epochs": run_check, "vdem-inputs": run_check, "pages": run_pages,
}  # fmt: skip


def parser() -> argparse.ArgumentParser:
    words = "\n".join(f"  {name:<14}{work.__doc__}" for name, work in COMMANDS.items())
    made = argparse.ArgumentParser(
        prog="python -m lab", description=f"{__doc__}\n\ncommands:\n{words}\n\ntasks of paper: {', '.join(TASKS)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    made.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    made.add_argument("names", nargs="*", help="tasks, or how the names of tables, families or parts begin")
    made.add_argument("--methods", nargs="*", help="methods, groups of methods, or variants")
    made.add_argument("--file", type=Path, help="file of the results; an existing one is continued")
    made.add_argument("--again", nargs="*", default=[], help="repeat runs with this name or status")
    made.add_argument("--jobs", type=int, default=1, help="runs at a time")
    made.add_argument("--limit", type=float, help="seconds after which a run is stopped")
    made.add_argument("--folds", type=int, default=5)
    made.add_argument("--seed", type=int, default=42, help="of the folds of the paper's tasks")
    made.add_argument("--seeds", type=int, default=10, help="of planted families: how many")
    made.add_argument("--seeds-from", type=int, default=500, help="of planted families: the first")
    made.add_argument("--partitions", type=int, default=1, help="of domination: how often the five folds are drawn")
    made.add_argument("--protocol", default="clean", choices=(*PROTOCOLS, "both"))
    made.add_argument("--concepts", type=Path, default=Path("concepts"), help="folder of predicted concepts")
    made.add_argument("--encode", action="store_true", help="of paper: only train the encoders")
    made.add_argument("--epochs", type=int, help="of paper: epochs of the toy networks")
    made.add_argument("--trials", type=int, default=30, help="of search: complete trials in all")
    made.add_argument("--repeats", type=int, default=3, help="of speed and scale")
    made.add_argument("--quick", action="store_true", help="of speed: small sizes, to see that everything runs")
    return made


def main(words: list[str] | None = None) -> int:
    given = parser().parse_intermixed_args(words)
    try:
        COMMANDS[given.command](given)
    except LogicLensError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
