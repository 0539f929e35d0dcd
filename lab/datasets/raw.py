"""Small raw tables: those of the data folder, and those of scikit-learn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from lab.datasets.catalogue import load
from lab.runs.results import data_folder

PLACES = tuple(f"{row} {column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right"))
"""The places of tic-tac-toe, in the order of its columns."""
CREDIT: dict[str, list[str]] = json.loads(Path(__file__).with_name("credit.json").read_text(encoding="utf-8"))
"""The categories of German credit in the order of their codes, by the documentation of UCI (DM for amounts)."""


@dataclass(frozen=True, eq=False)
class RawTable:
    """A raw table with labels, and where it matters the name of its target and the class that is asked about."""

    name: str
    frame: pd.DataFrame
    labels: NDArray[Any]
    target: str = ""
    positive: str = ""


def raw_tables() -> Iterator[RawTable]:
    folder = data_folder() / "tabular"
    for name, file in (("breast cancer, Ljubljana", "breast_cancer_ljubljana"), ("German credit", "german_credit")):
        frame = pd.read_csv(folder / f"{file}.csv.gz")
        yield RawTable(name, frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy())
    for problem, rows in pd.read_csv(folder / "monks.csv.gz").groupby("problem"):
        # The published test part holds every possible row once.
        rows = rows[rows["split"] == "test"]
        yield RawTable(f"MONK's {problem}", rows.drop(columns=["problem", "split", "class"]), rows["class"].to_numpy())
    frame = pd.read_csv(folder / "mushroom_agaricus-lepiota.data.gz")
    yield RawTable("mushroom", frame.drop(columns="edibility"), frame["edibility"].to_numpy())
    frame = pd.read_csv(folder / "tic-tac-toe.data.gz", header=None, names=[*PLACES, "won"])
    yield RawTable("tic-tac-toe", frame[list(PLACES)], frame["won"].to_numpy())
    own = {"iris": load_iris, "wine": load_wine, "breast cancer, Wisconsin": load_breast_cancer, "digits": load_digits}
    for name, load_table in own.items():
        bunch = load_table(as_frame=True)
        yield RawTable(name, bunch.data, bunch.target.to_numpy())


def side_tables() -> Iterator[RawTable]:
    cancer = load_breast_cancer(as_frame=True)
    labels = np.where(cancer.target == 0, "malignant", "benign")
    yield RawTable("breast cancer", cancer.data, labels, "diagnosis", "malignant")
    credit = pd.read_csv(data_folder() / "tabular" / "german_credit.csv.gz")
    labels = np.where(credit.pop("good") == 1, "good", "bad")
    yield RawTable("German credit", joined_categories(credit), labels, "risk", "bad")
    early = load("mimic2-early", data_folder())
    assert isinstance(early.inputs, pd.DataFrame)
    yield RawTable("MIMIC-II", early.inputs, np.where(early.labels == 1, "yes", "no"), "died", "yes")


def joined_categories(wide: pd.DataFrame) -> pd.DataFrame:
    frame = wide.copy()
    for column, words in CREDIT.items():
        parts = [str(name) for name in wide if str(name).startswith(f"{column}_")]
        codes = wide[parts].to_numpy().argmax(axis=1)
        numbers = [int(float(name.removeprefix(f"{column}_"))) for name in parts]
        frame = frame.drop(columns=parts).assign(**{column: [words[numbers[code]] for code in codes]})
    return frame
