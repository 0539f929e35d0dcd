"""Measure a tree of depth 5 and a forest on every form of V-Dem, because the paper's figures do not reproduce.

    LOGICLENS_DATA=... .venv/bin/python -m lab.scripts.vdem_inputs.py

Five stratified folds (seed 42), mean ± standard error. The paper prints 85.61 ± 0.57 for the tree, 93.08 ± 0.44 for the
forest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from lab.datasets.catalogue import load
from lab.scripts.tables import data_folder
from logiclens.metrics.scores import standard_error


def forms() -> Iterator[tuple[str, pd.DataFrame | np.ndarray, np.ndarray]]:
    """Yield name, inputs and labels of each form."""
    dataset, folder = load("vdem", data_folder()), data_folder() / "vdem"
    yield "the 14 annotated concepts", dataset.concepts(dataset.all_rows).values, dataset.labels
    inputs = dataset.inputs
    assert isinstance(inputs, pd.DataFrame)
    yield f"the {inputs.shape[1]} low-level indicators", inputs.fillna(inputs.median()), dataset.labels
    concepts = pd.read_csv(folder / "vdem_concepts_2001_2021.csv.gz")[["country_text_id", "year", "v2x_polyarchy"]]
    ordinal = pd.read_csv(folder / "vdem_v9_ordinal_2000_2018.csv.gz").merge(
        concepts.dropna(), on=["country_text_id", "year"]
    )
    democracy = (ordinal["v2x_polyarchy"] > 0.5).to_numpy().astype(int)
    columns = ordinal[[name for name in ordinal if str(name).endswith("_ord")]]
    yield f"the {columns.shape[1]} ordinal indicators of release v9", columns.fillna(columns.median()), democracy
    whole = columns.dropna(axis=1).astype(int).astype(str)
    yield f"the {whole.shape[1]} of them without gaps, one-hot", pd.get_dummies(whole), democracy


def main() -> None:
    folds = StratifiedKFold(5, shuffle=True, random_state=42)
    print("| | tree of depth 5 | random forest |\n| --- | --- | --- |")
    for name, inputs, labels in forms():
        cells = []
        for model in (DecisionTreeClassifier(max_depth=5, random_state=0), RandomForestClassifier(random_state=0)):
            scores = 100 * cross_val_score(model, inputs, labels, cv=folds)
            cells.append(f"{scores.mean():.1f} ± {standard_error(scores):.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
