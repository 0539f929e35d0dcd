"""The commands of `python -m lab` with their options and help texts. Each calls `lab.commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from logiclens.cli.options import Command, Json, Quiet, WithDefault

bench_app = typer.Typer(
    cls=WithDefault,
    rich_markup_mode=None,
    short_help="Compare methods on the paper's tasks, fold by fold.",
    help="""Compare methods on the paper's tasks, fold by fold.

\b
Run methods on tasks (the word `run` may be omitted), then make the tables:
  python -m lab --quick --data DATA --out quick
  python -m lab mimic2 vdem --data DATA --methods ours,tree,brl --out results
  python -m lab sweep vdem --data DATA --out results
  python -m lab sweep iris --search optuna --trials 30 --out results
  python -m lab report results

\b
Tasks:    mimic2 mimic2-early vdem vdem-given vdem-countries mnist cub, breast-cancer wine iris
          digits-parity (in scikit-learn), xor parity random-dnf (made), toy (the paper's appendix)
Methods:  the names of `python -m lab run --help`, or ours, simplest, rules, black-box, reference, all""",
)

BenchData: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", envvar="LOGICLENS_DATA", help="Folder that holds the data files. Example: --data ~/data"
    ),
]
Out: TypeAlias = Annotated[
    Path, typer.Option(metavar="DIR", help="Folder for the results; an existing one is continued.")
]
Protocol: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="clean (no leaks), paper (like the authors' scripts), or both.")
]
Folds: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=2, max=20, help="Number of folds, or of seeds where the protocol has one split.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(metavar="N", min=0, help="Random seed for the folds and the weight initialisation.")
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Number of runs at a time. Default: one per core.")
]
Limit: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=1,
        help="Stop a run after so many seconds and record it as stopped. Default: no limit. Example: --limit 600",
    ),
]
Retry: TypeAlias = Annotated[bool, typer.Option("--retry", help="Repeat runs that failed or were stopped.")]
Cache: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder for predicted concepts. Default: OUT/concepts.")
]
Epochs: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Training epochs of image encoders. Default: each encoder's own number."),
]
OUT = Path("bench")
TAUS, LAMBDAS = "4,5,6", "1e-6,1e-5,1e-4,1e-3"
"""The paper's grid for V-Dem."""


@bench_app.command(cls=Command, short_help="Run methods on tasks.")
def run(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TASKS]...",
            show_default=False,
            help="Tasks of `python -m lab --help`. Default: the tables of the paper. Example: mimic2 iris",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES", help="Methods or groups, separated by commas. Default: all. Example: --methods ours,tree"
        ),
    ] = None,
    data: BenchData = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Jobs = None,
    limit: Limit = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A short comparison: MIMIC-II and V-Dem, our methods and the simplest rules."),
    ] = False,
    retry: Retry = False,
    cache: Cache = None,
    epochs: Epochs = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Run methods on tasks and append every measurement to OUT/results.csv.

    A run is one method on one fold. Runs that are in the table already are not repeated, so a stopped bench continues
    where it was. A method that fails, or whose package is missing, is recorded as failed; the others continue.

    \b
    Methods: minimal exact labels paper authors soft joint · oner stump tree-2 … tree-8 best-3 · tree brl psi
    ripper column-generation figs rule-list rrl · torch_explain · forest logistic mlp ebm direct
    """
    from lab.commands import BenchOptions, run_bench

    asked = BenchOptions(out, protocol, data, cache, folds, seed, jobs, limit, retry, epochs)
    run_bench(asked, tasks or (), methods or (), quick=quick, quiet=quiet)


@bench_app.command(cls=Command, short_help="Try a grid of temperature and penalty, or search.")
def sweep(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task of `python -m lab --help`. Example: iris")] = "vdem",
    data: BenchData = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    taus: Annotated[str, typer.Option(metavar="NUMBERS", help="Temperatures to try, separated by commas.")] = TAUS,
    lambdas: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Weights of the entropy loss to try, separated by commas.")
    ] = LAMBDAS,
    search: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Search the settings instead of trying a grid. Example: --search optuna"),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="With --search: total number of trials, earlier ones included. Default: 30."
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="With --search: database of the trials, sqlite:///FILE or postgresql://... Default: OUT/search.db.",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="With --search: name of the study in its database. Default: derived from the task."
        ),
    ] = None,
    folds: Folds = 5,
    jobs: Jobs = None,
    limit: Limit = None,
    retry: Retry = False,
    cache: Cache = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Train with every temperature and penalty of a grid; the report marks the best pair.

    The best pair has the largest sum of model accuracy and explanation accuracy on validation rows, as in the paper.
    Test rows only measure it.

    With --search optuna, temperature, penalty, hidden widths and cuts are searched for high model accuracy, high
    explanation accuracy and few literals, on validation rows only. Several processes may share one study, and a stopped
    study continues where it was.
    """
    from lab.commands import BenchOptions, SearchOptions, numbers, run_search, run_sweep

    wanted = SearchOptions(search, trials, storage, study, grid=(taus, lambdas) != (TAUS, LAMBDAS), retry=retry)
    wanted.check()
    asked = BenchOptions(out, protocol, data, cache, folds, seed, jobs, limit, retry)
    if search is not None:
        run_search(asked, task, wanted, quiet=quiet)
        return
    run_sweep(asked, task, numbers("--taus", taus), numbers("--lambdas", lambdas), quiet=quiet)


@bench_app.command(cls=Command, short_help="Predict the concepts of image tasks.")
def encode(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TASKS]...",
            show_default=False,
            help="Tasks with an encoder. Default: all of them. Example: mnist cub",
        ),
    ] = None,
    data: BenchData = None,
    cache: Annotated[Path, typer.Option(metavar="DIR", help="Folder for predicted concepts.")] = OUT / "concepts",
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of encoders trained at a time. Default: 1.")
    ] = None,
    epochs: Epochs = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Train the encoders from inputs to concepts (vdem, vdem-countries, mnist, cub) and save their predictions.

    A GPU is used if there is one. `bench` does this itself when needed; use this command to do it on another machine.
    A stopped run continues from its last epoch.
    """
    from lab.commands import BenchOptions, run_encode

    run_encode(
        BenchOptions(cache.parent, protocol, data, cache, folds, seed, jobs, epochs=epochs), tasks or (), quiet=quiet
    )


@bench_app.command("report", cls=Command, short_help="Make tables and figures from results.")
def bench_report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that `python -m lab` wrote. Example: results")],
    quiet: Quiet = False,
) -> None:
    """Make the paper's tables and figures from the results in a folder, as Markdown, LaTeX and one HTML page."""
    from lab.commands import write_report

    write_report(folder, quiet=quiet)


@bench_app.command(cls=Command, short_help="Repeat the paper's toy comparison of the entropy loss with L1.")
def toy(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the four PNG files.")] = Path("toy"),
    seeds: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Number of random seeds for model C.")] = 5,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Training epochs; the paper uses 18000.")] = 18_000,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Train the paper's toy models A, B and C, draw them, and count over seeds how many formulas are recovered."""
    from lab.commands import run_toy

    run_toy(out=out, n_seeds=seeds, epochs=epochs, json=json, quiet=quiet)


if __name__ == "__main__":
    bench_app()
