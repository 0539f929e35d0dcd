"""Small fitted models and their folders, made once, and the answers of rules recomputed from their JSON."""

from __future__ import annotations

import atexit
import json
import math
import operator
import shutil
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from logiclens.errors import LogicLensWarning
from logiclens.estimator import EntropyClassifier
from logiclens.report import Source, result_of

Row = dict[str, Any]
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}
HOSTILE_NAMES = {"unit": '"; DROP TABLE rows;--', "age": "<script>alert(1)</script>", "dose": "=1+1 & 年\\"}
HOSTILE_UNITS = {"CCU": 'it\'s "so"', "MICU": "<b>\u202e%s ? :x", "SICU": "−1"}

_ROOT = tempfile.gettempdir()  # Cases have a temporary folder of their own.


@dataclass(frozen=True)
class Sample:
    """A saved model, the rows to ask it about, and its answers to them as Python values."""

    name: str
    folder: Path
    frame: pd.DataFrame
    answers: list[Any]
    exact: bool

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the folder by name."""
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}

    @property
    def rules(self) -> dict[str, Any]:
        """The record of the rules in `model.json`."""
        rules: dict[str, Any] = json.loads((self.folder / "model.json").read_text("utf-8"))["rules"]
        return rules


SAMPLES = ("exact", "three", "confident", "labels", "soft", "team", "hostile")
SETTINGS: dict[str, dict[str, Any]] = {
    "exact": {"exact": True, "committee": 1, "epochs": 2},
    "three": {"exact": True, "committee": 1, "epochs": 2},
    "confident": {"exact": True, "committee": 1, "epochs": 2, "resolve": "confidence"},
    "labels": {"exact": True, "committee": 1, "epochs": 2},
    "soft": {"committee": 1, "epochs": 60},
    "team": {"committee": 3, "epochs": 20, "resolve": "none"},
    "hostile": {"exact": True, "committee": 1, "epochs": 2},
}


def table(n_rows: int = 80, seed: int = 0) -> pd.DataFrame:
    """Columns of every kind, not in sorted order, with gaps."""
    rng = np.random.default_rng(seed)
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


def target(frame: pd.DataFrame, name: str) -> Any:
    """The labels of a sample: texts, integers, a matrix of several, or hostile texts."""
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
    folder = Path(tempfile.mkdtemp(prefix="logiclens-fuzz-", dir=_ROOT))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def sample(name: str) -> Sample:
    """Fit and save the model of this name."""
    frame = table()
    labels = target(frame, name)
    if name == "hostile":
        frame["unit"] = frame["unit"].map(HOSTILE_UNITS)
        frame = frame.rename(columns=HOSTILE_NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        model = EntropyClassifier(**SETTINGS[name], set_aside=0.25).fit(frame, labels)
        result = None
        if name != "labels":
            source = Source("rows.csv", len(frame), frame.shape[1], str(labels.name))
            result = result_of(model, model.explain(), source)
        model.save(place() / name, result)
    return Sample(name, place() / name, frame, model.predict(frame).tolist(), SETTINGS[name].get("exact", False))


@cache
def fitted(name: str) -> EntropyClassifier:
    """The model of a sample as it is loaded from its folder."""
    return EntropyClassifier.load(sample(name).folder)


def rows_of(frame: pd.DataFrame) -> list[Row]:
    """Rows as dictionaries, with None for a missing value and text for a date."""

    def cell(value: Any) -> Any:
        if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
            return None
        return value.isoformat() if isinstance(value, pd.Timestamp) else value

    return [{name: cell(value) for name, value in row.items()} for row in frame.to_dict("records")]


def date_part(origin: Mapping[str, Any], row: Mapping[str, Any]) -> int | None:
    """The number that is taken from the dates of a row, which are ISO texts."""
    cells = [row[column] for column in origin["columns"]]
    if None in cells:
        return None
    moments = [datetime.fromisoformat(cell) for cell in cells]
    if origin["part"] == "days":
        return (moments[1].date() - moments[0].date()).days
    return {"month": moments[0].month, "weekday": moments[0].isoweekday(), "hour": moments[0].hour}[origin["part"]]


def literal_holds(rules: Mapping[str, Any], concept: str, row: Mapping[str, Any]) -> bool:
    """Whether a concept of rules is true of a raw row; one without a predicate is a column, true from 0.5 on."""
    meant = rules["predicates"].get(concept, {"column": concept, "operator": ">=", "value": 0.5})
    if "origin" in meant:
        return predicate_holds(meant, date_part(meant["origin"], row))
    return predicate_holds(meant, row[meant["column"]])


def cube_holds(rules: Mapping[str, Any], cube: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether all conditions of one rule hold of a raw row."""
    return all(literal_holds(rules, concept, row) == positive for concept, positive in cube["if"].items())


def fired(rules: Mapping[str, Any], row: Mapping[str, Any]) -> list[bool]:
    """Whether the formula of each class holds of a raw row."""
    classes = rules["classes"]

    def fires(place: int) -> bool:
        if "complement_of" in classes[place]:
            return not fires(classes[place]["complement_of"])
        return any(cube_holds(rules, cube, row) for cube in classes[place]["cubes"])

    return [fires(place) for place in range(len(classes))]


def decided(rules: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    """The answer of rules to a raw row, read off their JSON: a label, None, or 0 and 1 for each of several labels."""
    firing = fired(rules, row)
    if rules["multilabel"]:
        return [int(fire) for fire in firing]
    return _resolved(rules, firing, lambda cube: cube_holds(rules, cube, row))


def _resolved(rules: Mapping[str, Any], firing: Sequence[bool], holds: Any) -> Any:
    classes = rules["classes"]
    names = [entry["class"] for entry in classes]
    if any("complement_of" in entry for entry in classes):
        return names[list(firing).index(True)]
    if rules["resolve"] == "none":
        return names[list(firing).index(True)] if sum(firing) == 1 else None
    if rules["resolve"] == "order":
        places = [place for place in rules["order"] if firing[place]]
    else:
        cubes = [
            (-cube["confidence"], place)
            for place, entry in enumerate(classes)
            for cube in entry["cubes"]
            if holds(cube)
        ]
        places = [place for _, place in sorted(cubes)]
    chosen = places[0] if places else rules["otherwise"]
    return None if chosen is None else names[chosen]


UNREAD = ("logiclens", "metrics", "data_sha256", "target", "rules", "weights_sha256", "content_sha256", "settings")
"""Fields of `model.json` that the network does not read."""


def by_network(origin: Sample, content: Mapping[str, Any], rows: Sequence[Row]) -> list[Any] | None:
    """The answers of the network of a sample, with its own weights, to what the predicates of a `model.json` say.

    None if the file has other concepts, another network or other groups, whose answers are not known here.
    """
    known = json.loads((origin.folder / "model.json").read_text("utf-8"))
    other = {name for name in {*known, *content} if known.get(name) != content.get(name)}
    if other - {*UNREAD, "predicates", "labels", "class_names"}:
        return None
    meant = [content["predicates"][concept] for concept in content["concepts"]]
    try:
        inputs = [[predicate_holds(one, row[one["column"]]) for one in meant] for row in rows]
    except (KeyError, TypeError, ValueError):
        return None
    network = fitted(origin.name).network_.eval()
    dtype = next(network.parameters()).dtype
    with torch.no_grad():
        logits = network(torch.tensor(inputs, dtype=dtype))
    return [content["labels"][place] for place in logits.argmax(dim=1).tolist()]


def predicate_holds(meant: Mapping[str, Any], cell: Any) -> bool:
    """Whether a predicate of a rule record holds of a cell, compared by Python itself."""
    sign, value = meant["operator"], meant["value"]
    missing = cell is None or (isinstance(cell, float) and math.isnan(cell))
    if sign == "missing" or missing:
        return sign == "missing" and missing
    if isinstance(value, str) and sign != "==":
        return bool(COMPARE[sign](datetime.fromisoformat(cell), datetime.fromisoformat(value)))
    return bool(COMPARE[sign](cell, value))
