"""Small fitted models and their folders, made once, and the answers of rules recomputed from their JSON."""

from __future__ import annotations

import atexit
import json
import math
import operator
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from logiclens.errors import LogicLensWarning
from logiclens.estimator import EntropyClassifier
from logiclens.report import Source, result_of

Row = Mapping[str, Any]
Record = Mapping[str, Any]
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}
HOSTILE_NAMES = {"unit": '"; DROP TABLE rows;--', "age": "<script>alert(1)</script>", "dose": "=1+1 & 年\\"}
HOSTILE_UNITS = {"CCU": 'it\'s "so"', "MICU": "<b>\u202e%s ? :x", "SICU": "−1"}


@dataclass(frozen=True)
class Model:
    """A saved model, the rows to ask it about, its labels and its answers to the rows as Python values."""

    name: str
    folder: Path
    frame: pd.DataFrame
    labels: Any
    answers: list[Any]

    @property
    def is_exact(self) -> bool:
        """Whether the model answers as its rules."""
        return bool(SETTINGS[self.name].get("exact", False))

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the folder by name."""
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}


SETTINGS: dict[str, dict[str, Any]] = {
    "exact": {"exact": True, "epochs": 2},
    "three": {"exact": True, "epochs": 2},
    "confident": {"exact": True, "epochs": 2, "resolve": "confidence"},
    "labels": {"exact": True, "epochs": 2},
    "soft": {"epochs": 20, "resolve": "none"},
    "hostile": {"exact": True, "epochs": 2},
}
NAMES = tuple(SETTINGS)


def table(n_rows: int = 80) -> pd.DataFrame:
    """Columns of every kind, not in sorted order, with gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "unit": rng.choice(["CCU", "MICU", "SICU"], n_rows),
            "age": rng.integers(20, 95, n_rows).astype(float),
            "flag": rng.random(n_rows) < 0.5,
            "dose": rng.integers(0, 9, n_rows),
            "admitted": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 400, n_rows), unit="D"),
        }
    )
    frame.loc[rng.random(n_rows) < 0.1, "age"] = np.nan
    return frame


def labels_of(frame: pd.DataFrame, name: str) -> Any:
    """The labels of a model: texts, integers, a matrix of several, or hostile texts."""
    ill = ((frame["age"] >= 60) & (frame["unit"] == "MICU")) | (frame["flag"] & (frame["dose"] > 4))
    late = frame["admitted"] >= pd.Timestamp("2021-08-01")
    if name in ("three", "confident"):
        return pd.Series(np.select([ill, late], [7, -2], 30), name="state")
    if name == "labels":
        return pd.DataFrame({"ill": ill.astype(int), "late": late.astype(int)})
    words = ("ill", "well") if name != "hostile" else ("</script>\x1b[31m", "=cmd")
    return pd.Series(np.where(ill, *words), name="died")


@cache
def place() -> Path:
    """A folder that is gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="logiclens-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def model(name: str) -> Model:
    """Fit and save the model of this name."""
    frame = table()
    labels = labels_of(frame, name)
    if name == "hostile":
        frame["unit"] = frame["unit"].map(HOSTILE_UNITS)
        frame = frame.rename(columns=HOSTILE_NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        fitted = EntropyClassifier(**SETTINGS[name], set_aside=0.25).fit(frame, labels)
        result = None
        if name != "labels":
            source = Source("rows.csv", len(frame), frame.shape[1], str(labels.name))
            result = result_of(fitted, fitted.explain(), source)
        fitted.save(place() / name, result)
    return Model(name, place() / name, frame, labels, fitted.predict(frame).tolist())


def fit_all() -> None:
    """Fit the models before a case is drawn, because a fit draws random numbers and leaves files of its own."""
    for name in NAMES:
        model(name)


# What rules answer ---------------------------------------------------------------------------------------------------


def record_of(folder: Path) -> Record:
    """The record of the rules in a folder."""
    rules: Record = json.loads((folder / "model.json").read_text("utf-8"))["rules"]
    return rules


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Rows as dictionaries, with None for a missing value and text for a date."""

    def cell(value: Any) -> Any:
        if value is None or value is pd.NaT or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
            return None
        return value.isoformat() if isinstance(value, pd.Timestamp) else value

    return [{str(name): cell(value) for name, value in row.items()} for row in frame.to_dict("records")]


def date_part(origin: Record, row: Row) -> int | None:
    """The number that is taken from the dates of a row, which are ISO texts."""
    cells = [row[column] for column in origin["columns"]]
    if None in cells:
        return None
    moments = [datetime.fromisoformat(cell) for cell in cells]
    if origin["part"] == "days":
        return (moments[1].date() - moments[0].date()).days
    return {"month": moments[0].month, "weekday": moments[0].isoweekday(), "hour": moments[0].hour}[origin["part"]]


def literal_holds(rules: Record, concept: str, row: Row) -> bool:
    """Whether a concept of rules is true of a raw row; one without a predicate is a column, true from 0.5 on."""
    meant = rules["predicates"].get(concept, {"column": concept, "operator": ">=", "value": 0.5})
    cell = date_part(meant["origin"], row) if "origin" in meant else row[meant["column"]]
    sign, value = meant["operator"], meant["value"]
    missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    if sign == "missing" or missing:
        return sign == "missing" and missing
    if isinstance(value, str) and sign != "==":
        return bool(COMPARE[sign](datetime.fromisoformat(cell), datetime.fromisoformat(value)))
    return bool(COMPARE[sign](cell, value))


def cube_holds(rules: Record, cube: Record, row: Row) -> bool:
    """Whether all conditions of one rule hold of a raw row."""
    return all(literal_holds(rules, concept, row) == positive for concept, positive in cube["if"].items())


def decided(rules: Record, row: Row) -> Any:
    """The answer of rules to a raw row, read off their JSON: a label, None, or 0 and 1 for each of several labels."""
    classes = rules["classes"]
    names = [entry["class"] for entry in classes]

    def fires(entry: Record) -> bool:
        if "complement_of" in entry:
            return not fires(classes[entry["complement_of"]])
        return any(cube_holds(rules, cube, row) for cube in entry["cubes"])

    firing = [fires(entry) for entry in classes]
    if rules["multilabel"]:
        return [int(fire) for fire in firing]
    if any("complement_of" in entry for entry in classes):
        return names[firing.index(True)]
    if rules["resolve"] == "none":
        return names[firing.index(True)] if sum(firing) == 1 else None
    if rules["resolve"] == "order":
        places = [place for place in rules["order"] if firing[place]]
    else:
        trust = [
            (-cube["confidence"], place)
            for place, entry in enumerate(classes)
            for cube in entry["cubes"]
            if cube_holds(rules, cube, row)
        ]
        places = [place for _, place in sorted(trust)]
    chosen = places[0] if places else rules["otherwise"]
    return None if chosen is None else names[chosen]
