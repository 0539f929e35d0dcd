"""Measure what exact mode costs: accuracy and F1 on unseen rows against the soft network, by budget of literals.

    LOGICLENS_DATA=... .venv/bin/python -m lab.scripts.exact_accuracy.py

Figures are mean ± standard error over five clean folds. The first line of each table is the soft network with its
formulas; the others are exact mode with a maximum of literals per class. `--price 0` lets a formula use its whole
budget; the default price of 0.005 in F1 stops earlier.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from lab.scripts.tables import TABLES, Fold
from logiclens.errors import LogicLensWarning
from logiclens.estimator import EntropyClassifier
from logiclens.estimator.cross_validation import score_formulas
from logiclens.metrics.scores import accuracy, standard_error

BUDGETS = (1, 3, 5, 9, 20, 40)
COLUMNS = ("accuracy", "F1", "literals", "fidelity", "refitted", "several fire", "none fires", "CPU s")


def one_fold(fold: Fold, **settings: object) -> dict[str, float]:
    begun = time.process_time()
    model = EntropyClassifier(None, epochs=200, **settings)
    model.fit(fold.train.concepts, fold.train.labels, held_out=(fold.validation.concepts, fold.validation.labels))
    explanation = model.explain()
    seconds = time.process_time() - begun
    scores = score_formulas(explanation.formulas, model.read(fold.test.concepts, fold.test.labels))
    firing = explanation.firing(fold.test.concepts)
    refits = [head.refit is not None for head in explanation.certified]
    return {
        "accuracy": 100 * accuracy(fold.test.labels, model.predict(fold.test.concepts)),
        "F1": 100 * scores["explanation_accuracy"],
        "literals": scores["complexity"],
        "fidelity": 100 * scores["fidelity"],
        "refitted": 100 * float(np.mean(refits)) if refits else float("nan"),
        "several fire": 100 * firing.several / firing.total,
        "none fires": 100 * firing.none / firing.total,
        "CPU s": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--price", type=float, default=0.005, help="the F1 that a literal must earn")
    parser.add_argument("--json", type=Path, help="keep every value of every fold")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", LogicLensWarning)
    kept: dict[str, dict[str, list[dict[str, float]]]] = {}
    for table in arguments.tables:
        data = list(TABLES[table]())
        lines = {"soft": [one_fold(fold) for fold in data]}
        for budget in arguments.budgets:
            lines[f"exact, {budget} literals"] = [
                one_fold(fold, exact=True, max_literals=budget, price=arguments.price) for fold in data
            ]
        kept[table] = lines
        print(f"\n{table}, {len(data)} folds, price {arguments.price:g} a literal\n")
        print("| | " + " | ".join(COLUMNS) + " | accuracy lost |")
        print("| --- " * (len(COLUMNS) + 2) + "|")
        for name, results in lines.items():
            cells = []
            for column in COLUMNS:
                values = [result[column] for result in results]
                known = not np.isnan(values).all()
                cells.append(f"{np.mean(values):.1f} ± {standard_error(values):.1f}" if known else "–")
            # Paired by fold: both sides saw the same rows.
            lost = [soft["accuracy"] - exact["accuracy"] for soft, exact in zip(lines["soft"], results, strict=True)]
            cells.append(f"{np.mean(lost):+.1f} ± {standard_error(lost):.1f}" if name != "soft" else "–")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
