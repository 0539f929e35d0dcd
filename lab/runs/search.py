"""A search of the settings of a task with Optuna: high model accuracy, high explanation accuracy, few literals.

Optuna's own storage keeps the trials, so a stopped search goes on and several processes may share one study.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lab.datasets.dataset import BinnedConcepts
from lab.runs.fold_data import FoldData, Source, fold_data
from lab.runs.ours import with_settings
from lab.runs.paper import measured, settled
from lab.runs.tasks import Protocol, Task
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.concept_table import ConceptTable

OBJECTIVES: dict[str, Any] = {
    "model_accuracy": "maximize",
    "explanation_accuracy": "maximize",
    "complexity": "minimize",
}
"""The objectives, on validation rows, as the mean over folds."""
HEARTBEAT = 60
"""Seconds after which a trial without a sign of life is run again."""


def search(task: Task, protocol: Protocol, source: Source, trials: int, storage: str) -> Any:
    """Run trials until the study has so many complete ones, and return it; `study.best_trials` is its Pareto front."""
    import optuna
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
    from optuna.study import MaxTrialsCallback
    from optuna.trial import TrialState

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # Optuna calls what it has had for years experimental.
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    again = RetryHeartbeatStaleTrialCallback()
    database = RDBStorage(storage, heartbeat_interval=HEARTBEAT, heartbeat_stale_trial_callback=again)
    study = optuna.create_study(
        storage=database,
        study_name=f"{task.name}, {protocol}, {source.n_folds} folds, seed {source.seed}",
        directions=list(OBJECTIVES.values()),
        load_if_exists=True,
    )
    # Another start must not draw the same again.
    study.sampler = optuna.samplers.TPESampler(seed=source.seed + len(study.trials))
    folds = [fold_data(source, task.name, protocol, number) for number in range(source.n_folds)]

    def objective(trial: Any) -> tuple[float, ...]:
        return judged([changed(fold, trial) for fold in folds])

    complete = (TrialState.COMPLETE,)
    if len(study.get_trials(deepcopy=False, states=complete)) < trials:
        study.optimize(objective, callbacks=[MaxTrialsCallback(trials, states=complete)])
    return study


def judged(folds: list[FoldData]) -> tuple[float, ...]:
    lines = [measured(settled(fold), fold.validation) for fold in folds]
    return tuple(float(np.mean([line[name] for line in lines])) for name in OBJECTIVES)


def changed(fold: FoldData, trial: Any) -> FoldData:
    hidden = trial.suggest_categorical("hidden", ("10", "20", "50", "20-20"))
    made = with_settings(
        fold,
        temperature=trial.suggest_float("tau", 0.3, 10.0, log=True),
        penalty_weight=trial.suggest_float("lambda", 1e-7, 1e-2, log=True),
        hidden=tuple(int(width) for width in hidden.split("-")),
    )
    # The concepts of the authors' scripts, and annotated ones, are fixed.
    if fold.protocol == "paper" or not isinstance(fold.dataset.concepts, BinnedConcepts):
        return made
    if (cuts := trial.suggest_categorical("cuts", ("task", "quantile", "uniform"))) == "task":
        return made
    dataset, rows = fold.dataset, fold.rows
    assert isinstance(dataset.inputs, pd.DataFrame)
    booleaniser = Booleaniser(cuts, n_cuts=trial.suggest_int("n_cuts", 1, 5))
    with warnings.catch_warnings():
        # A column that cannot be cut on these rows is left out.
        warnings.simplefilter("ignore")
        booleaniser.fit(dataset.inputs.iloc[rows.train], dataset.labels[rows.train])
    names = [str(name) for name in booleaniser.get_feature_names_out()]
    table = ConceptTable(booleaniser.transform(dataset.inputs), names, dataset.labels, dataset.class_names)
    train, validation, test = (table.take(part) for part in (rows.train, rows.validation, rows.test))
    return replace(made, train=train, validation=validation, test=test)
