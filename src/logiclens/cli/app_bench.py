"""`logiclens bench` and its commands, as `--help` shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from logiclens.cli.cluster import Backend, Scheduler
from logiclens.cli.options import Command, Quiet, WithDefault

bench_app = typer.Typer(
    cls=WithDefault,
    rich_markup_mode=None,
    short_help="Compare methods on the paper's tasks, fold by fold.",
    help="""Compare methods on the paper's tasks, fold by fold.

\b
Run methods on tasks (`run` need not be written), then make the tables:
  logiclens bench --quick --data DATA --out quick
  logiclens bench mimic2 vdem --data DATA --methods ours,tree,brl --out results
  logiclens bench sweep vdem --data DATA --out results
  logiclens bench sweep iris --search optuna --trials 30 --out results
  logiclens bench report results

\b
Tasks:    mimic2 mimic2-early vdem vdem-given vdem-countries mnist cub, breast-cancer wine iris
          digits-parity (in scikit-learn), xor parity random-dnf (made), toy (the paper's appendix)
Methods:  the names of `logiclens bench run --help`, or ours, simplest, rules, black-box, reference, all""",
)

Data: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", envvar="LOGICLENS_DATA", help="The folder of the data files.")
]
Out: TypeAlias = Annotated[Path, typer.Option(metavar="DIR", help="The folder of the results, begun or gone on with.")]
Protocol: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="clean (no leaks), paper (as the authors' scripts), or both.")
]
Folds: TypeAlias = Annotated[int, typer.Option(metavar="N", min=2, max=20, help="Folds, or seeds.")]
Seed: TypeAlias = Annotated[int, typer.Option(metavar="N", min=0, help="Of folds and initial weights.")]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Runs at a time; one for each core if not said.")
]
Limit: TypeAlias = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=1, help="Stop a run after so long, and write that down.")
]
Retry: TypeAlias = Annotated[bool, typer.Option("--retry", help="Run again what failed or was stopped before.")]
Cache: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where predicted concepts are kept; OUT/concepts if not said.")
]
Epochs: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Of image encoders, in place of their own number.")
]
OUT = Path("bench")
TAUS, LAMBDAS = "4,5,6", "1e-6,1e-5,1e-4,1e-3"
"""The paper's grid for V-Dem."""


@bench_app.command(cls=Command, short_help="Run methods on tasks.")
def run(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="[TASKS]...", show_default=False)] = None,
    methods: Annotated[
        list[str] | None, typer.Option(metavar="NAMES", help="Methods or groups, with commas; all if not said.")
    ] = None,
    data: Data = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Jobs = None,
    limit: Limit = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="MIMIC-II and V-Dem, our methods and the simplest rules.")
    ] = False,
    retry: Retry = False,
    cache: Cache = None,
    epochs: Epochs = None,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Run methods on tasks, and write every measurement into OUT/results.csv as it comes.

    A run is one method on one fold. What is in the table already is not run again, so a bench that was stopped goes on
    where it was. A method that fails, or whose package is not installed, is written down as such; the others go on.

    \b
    Methods: minimal exact labels paper authors soft joint · oner stump tree-2 … tree-8 best-3 · tree brl psi
    ripper column-generation figs rule-list rrl · torch_explain · forest logistic mlp ebm direct
    """
    from logiclens.cli.bench import Asked, run_bench

    asked = Asked(out, protocol, data, cache, folds, seed, jobs, limit, retry, epochs, backend, scheduler)
    run_bench(asked, tasks or (), methods or (), quick=quick, quiet=quiet)


@bench_app.command(cls=Command, short_help="Try a grid of temperature and penalty, or search.")
def sweep(
    task: Annotated[str, typer.Argument(metavar="TASK")] = "vdem",
    data: Data = None,
    out: Out = OUT,
    protocol: Protocol = "clean",
    taus: Annotated[str, typer.Option(metavar="NUMBERS", help="Temperatures, with commas.")] = TAUS,
    lambdas: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Weights of the entropy loss, with commas.")
    ] = LAMBDAS,
    search: Annotated[str | None, typer.Option(metavar="NAME", help="Search instead of a grid: optuna.")] = None,
    trials: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Of a search, in all, those done before too; 30 if not said.")
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Of a search: sqlite:///FILE, postgresql://...; OUT/search.db if not said."),
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a search in its storage; of the task if not said.")
    ] = None,
    folds: Folds = 5,
    jobs: Jobs = None,
    limit: Limit = None,
    retry: Retry = False,
    cache: Cache = None,
    backend: Backend = "local",
    scheduler: Scheduler = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Train with every temperature and penalty of a grid; the report marks the best of them.

    The best has the largest sum of model accuracy and explanation accuracy on validation rows, as in the paper; test
    rows only tell how good it is.

    With --search optuna temperature, penalty, hidden widths and cuts are searched, for model accuracy, explanation
    accuracy and few literals at once, on validation rows alone. Any number of processes may work on one study, and one
    that was stopped goes on where it was.
    """
    from logiclens.cli.bench import Asked, numbers, run_sweep
    from logiclens.cli.search import Wanted, run_search

    wanted = Wanted(search, trials, storage, study, grid=(taus, lambdas) != (TAUS, LAMBDAS), retry=retry)
    wanted.check()
    asked = Asked(out, protocol, data, cache, folds, seed, jobs, limit, retry, None, backend, scheduler)
    if search is not None:
        run_search(asked, task, wanted, quiet=quiet)
        return
    run_sweep(asked, task, numbers("--taus", taus), numbers("--lambdas", lambdas), quiet=quiet)


@bench_app.command(cls=Command, short_help="Predict the concepts of image tasks.")
def encode(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="[TASKS]...", show_default=False)] = None,
    data: Data = None,
    cache: Annotated[Path, typer.Option(metavar="DIR", help="Where predicted concepts are kept.")] = OUT / "concepts",
    protocol: Protocol = "clean",
    folds: Folds = 5,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Encoders at a time; 1 if not said.")] = None,
    epochs: Epochs = None,
    seed: Seed = 42,
    quiet: Quiet = False,
) -> None:
    """Train the encoders from inputs to concepts (vdem, vdem-countries, mnist, cub), and keep what they predict.

    On the GPU if there is one. `bench` does this by itself where it has to; here it is done alone, for another machine.
    A run that was stopped goes on from its last epoch.
    """
    from logiclens.cli.bench import Asked, run_encode

    run_encode(Asked(cache.parent, protocol, data, cache, folds, seed, jobs, epochs=epochs), tasks or (), quiet=quiet)


@bench_app.command(cls=Command, short_help="Make tables and figures from results.")
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `logiclens bench` wrote.")],
    quiet: Quiet = False,
) -> None:
    """Make the paper's tables and figures from the results in a folder, as Markdown, LaTeX and one HTML page."""
    from logiclens.cli.bench import write_report

    write_report(folder, quiet=quiet)
