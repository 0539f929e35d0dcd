"""Measure how the formulas of psi networks depend on the number of epochs, which the paper does not give.

    LOGICLENS_DATA=... .venv/bin/python -m lab.scripts.psi_epochs.py

Protocol 'paper', five folds, mean ± standard error. The paper prints explanation accuracies of 49.51 ± 3.91 on MIMIC-II
and 67.08 ± 9.68 on V-Dem.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from lab.peers.psi import Psi
from lab.runs.fold_data import Source, fold_data
from lab.runs.plan import measured
from lab.scripts.tables import data_folder
from logiclens.metrics.scores import standard_error

METRICS = ("model_accuracy", "explanation_accuracy", "fidelity")


def main() -> None:
    print("| | epochs | model accuracy | explanation accuracy | fidelity |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as cache:
        source = Source(data_folder(), Path(cache))
        for task in ("mimic2", "vdem"):
            folds = [fold_data(source, task, "paper", number) for number in range(source.n_folds)]
            for epochs in (200, 1_000, 3_000):
                found: dict[str, list[float]] = {metric: [] for metric in METRICS}
                for fold in folds:
                    learned = Psi(epochs=epochs)(fold.train.hard(), fold.validation.hard(), seed=fold.seed)
                    scores = dict(measured(learned, fold.test.hard()))
                    for metric in METRICS:
                        found[metric].append(100 * float(scores[metric]))
                cells = [f"{sum(v) / len(v):.1f} ± {standard_error(v):.1f}" for v in found.values()]
                print(f"| {task} | {epochs:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
