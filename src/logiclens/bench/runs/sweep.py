"""The grid of temperature τ and penalty λ: chosen by model and explanation accuracy together, as the paper did."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from logiclens.bench.runs.fold_data import FoldData
from logiclens.bench.runs.measurement import measured, stated
from logiclens.bench.runs.ours import Authors, Ours, with_settings
from logiclens.bench.runs.results import SWEEP, Run
from logiclens.bench.runs.tasks import Protocol, Task, has_protocol
from logiclens.errors import LogicLensError

TEMPERATURES = (4.0, 5.0, 6.0)
PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3)
"""The paper's grid for V-Dem."""
_SETTING = re.compile(r"tau=(\S+) lambda=(\S+)")


def sweep_runs(
    task: Task, protocols: Sequence[Protocol], n_folds: int, temperatures: Sequence[float], penalties: Sequence[float]
) -> tuple[Run, ...]:
    """One run for each setting and fold."""
    return tuple(
        Run(f"{SWEEP}{task.name}", protocol, f"tau={tau:g} lambda={penalty:g}", fold)
        for protocol, tau, penalty, fold in product(protocols, temperatures, penalties, range(n_folds))
        if has_protocol(task, protocol)
    )


def sweep_run(fold: FoldData, setting: str, grid: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Train with a setting, and measure on validation rows, which choose the setting, and on test rows.

    The networks of all settings in `grid`, on all folds, are trained in one pass, which the first run of them does.
    """
    changed = _set(fold, setting)
    family = partial(_family, fold, tuple(dict.fromkeys([setting, *grid])))
    begun, cpu = time.perf_counter(), time.process_time()
    learned = (Authors(top_k=10) if fold.protocol == "paper" else Ours("search"))(replace(changed, family=family))
    seconds, cpu_seconds = learned.elsewhere
    yield "seconds", f"{time.perf_counter() - begun + seconds:.4f}"
    yield "cpu_seconds", f"{time.process_time() - cpu + cpu_seconds:.4f}"
    yield from measured(learned, fold.test)
    chosen_by = dict(measured(learned, fold.validation))
    yield "validation_accuracy", chosen_by["model_accuracy"]
    yield "validation_explanation_accuracy", chosen_by["explanation_accuracy"]
    yield from stated(learned, fold.test)


def _set(fold: FoldData, setting: str) -> FoldData:
    read = _SETTING.fullmatch(setting)
    if read is None:
        raise LogicLensError(f"a setting of a sweep is written 'tau=5 lambda=1e-05', got {setting!r}.")
    return with_settings(fold, temperature=float(read[1]), penalty_weight=float(read[2]))


def _family(fold: FoldData, grid: Sequence[str]) -> list[FoldData]:
    """Every fold with every setting."""
    return [_set(one, setting) for one in fold.siblings() for setting in grid]
