"""Doors of `fit`: labels, columns and settings of every kind; few rows and few epochs."""

from __future__ import annotations

import decimal
import json
import math
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
from hypothesis import strategies as st

from logiclens.estimator import EntropyClassifier
from logiclens.export import to_dict
from tests.fuzz import hostile
from tests.fuzz.frames import FORMS, as_form
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.fuzz.samples import decided

Document = dict[str, Any]

FAST: Document = {"committee": 1, "epochs": 2, "max_literals": 3}
LABELS = (
    "text", "integer", "uint64", "large", "bool", "float", "half", "object", "mixed", "category", "nullable", "arrow",
    "polars", "pyarrow", "dates", "bytes", "matrix", "matrix_of_3", "text_columns", "no_columns", "dicts", "ragged",
    "missing", "nan", "column", "cube", "short", "one", "complex", "decimal", "tuple", "hostile", "masked", "name",
)  # fmt: skip
KINDS = (
    "number", "integer", "large", "text", "hostile", "flag", "date", "duration", "missing", "constant", "decimal",
    "mixed", "int64_arrow", "uint64", "string_view", "nested", "huge", "complex", "time", "infinite", "dates",
    "extreme dates", "zoned dates", "dates with gaps", "hours",
)  # fmt: skip

# Cases ---------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw a table, labels, a form, and perhaps weights."""
    names = draw(st.lists(hostile.names(lone=True) | st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
    return {
        "columns": [[name, draw(st.sampled_from(KINDS))] for name in names],
        "labels": draw(st.sampled_from(LABELS)),
        "form": draw(st.sampled_from(FORMS) | st.just("pandas")),
        "rows": draw(st.sampled_from([1, 2, 3, 8, 20, 40])),
        "seed": draw(st.integers(0, 50)),
        "weights": draw(st.sampled_from([None, None, None, "ones", "tiny", "huge", "mixed", "zeros", "text", "short"])),
        "settings": draw(
            st.sampled_from([{}, {}, {"exact": True}, {"booleanise": None}, {"method": "paper"}, {"set_aside": 0.99}])
        ),
        "held_out": draw(st.sampled_from([None, None, None, None, "one", "text", "pair", "wrong"])),
        "progress": draw(st.sampled_from([None, None, "collect", "text", "arguments"])),
        "split_by_time": draw(st.sampled_from([None, None, None, None, names[0], "nothing"])),
    }


ODD = (
    None, "", "x", "1", "search", math.nan, math.inf, -math.inf, -1, 0, 1, 2, 0.5, 1.5, -0.0, True, False, [], [1], [0],
    [-1], ["a"], [0.5, 2.0], {}, {"a": 1}, 1e-300, {"make": "array"}, {"make": "empty"}, {"make": "object"},
    {"make": "set"}, {"make": "bytes"}, {"make": "complex"}, {"make": "decimal"}, {"make": "int64"},
    {"make": "float32"},
    {"make": "frame"}, {"make": "class"}, {"make": "bool_"}, {"make": "generator"}, {"make": "date"},
)  # fmt: skip
ENDLESS = ("epochs", "committee", "hidden", "max_distinct")
"""Settings whose large values are meant: the work would take as long as it takes."""


USUAL: dict[str, list[Any]] = {
    "booleanise": ["supervised", "quantile", "uniform", "soft", None, {"age": [30, 50]}], "exact": [True, False],
    "committee": [None, 1, 2, 3], "teacher": [None], "hidden": [[5], [3, 2]],
    "temperature": [0.5, 2], "penalty_weight": [0, 0.01], "epochs": [1, 3],
    "learning_rate": [0.01, 0.1], "validation": [0.1, 0.3], "set_aside": [0, 0.25], "cuts_on": ["train", "all"],
    "max_distinct": [1000], "class_weight": [None, "balanced", [1, 2], {"ill": 2}], "method": ["search", "paper"],
    "max_literals": [None, 1, 4],
    "min_support": [None, 2], "resolve": ["order", "confidence", "none"],
    "random_state": [None, 0, 7], "split_by_time": [None, "age"], "verbose": [True, False],
}  # fmt: skip
"""Values that each setting may have."""


@st.composite
def settings_cases(draw: st.DrawFn) -> Document:
    """Draw one to four settings of the estimator: usual values, and in half of the cases one of any type."""
    names = sorted(EntropyClassifier().get_params(deep=False))
    chosen: Document = {}
    odd = draw(st.none() | st.sampled_from(names))
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        chosen[name] = draw(st.sampled_from(USUAL.get(name, [None])))
    if odd is not None:
        value = st.sampled_from(ODD)
        if odd not in ENDLESS:
            value |= st.sampled_from([1e300, 10**400, 2**63]) | hostile.texts()
        chosen[odd] = draw(value)
    return {"settings": chosen}


# Checks --------------------------------------------------------------------------------------------------------------


def _column(kind: str, n_rows: int, rng: Any) -> Any:
    """Return the cells of a column as a list or a series."""
    numbers = rng.integers(0, 9, n_rows)
    made: dict[str, Any] = {
        "number": lambda: rng.normal(size=n_rows).tolist(),
        "integer": numbers.tolist,
        "large": lambda: (numbers + 2**62).tolist(),
        "text": lambda: rng.choice(["x", "y", "z"], n_rows).tolist(),
        "hostile": lambda: [hostile.EVERY[at] for at in rng.integers(0, len(hostile.EVERY), n_rows)],
        "flag": lambda: (numbers > 4).tolist(),
        "date": lambda: [pd.Timestamp("2021-01-01") + pd.Timedelta(days=int(day)) for day in numbers],
        "duration": lambda: [pd.Timedelta(hours=int(hours)) for hours in numbers],
        "missing": lambda: [None] * n_rows,
        "constant": lambda: [1] * n_rows,
        "decimal": lambda: [decimal.Decimal("sNaN") if n == 8 else decimal.Decimal(int(n)) for n in numbers],
        "mixed": lambda: [int(n) if n % 2 else str(n) for n in numbers],
        "int64_arrow": lambda: pd.array([None, *(numbers[1:] + 2**53).tolist()], dtype=pd.ArrowDtype(pyarrow.int64())),
        "uint64": lambda: (numbers.astype(np.uint64) + np.uint64(2**63)).tolist(),
        "string_view": lambda: pd.array(list("xyz" * n_rows)[:n_rows], dtype=pd.ArrowDtype(pyarrow.string_view())),
        "nested": lambda: [[int(n)] for n in numbers],
        "huge": lambda: [10**400 * int(n) for n in numbers],
        "complex": lambda: (numbers + 1j).tolist(),
        "time": lambda: [(pd.Timestamp("2021-01-01") + pd.Timedelta(hours=int(n))).time() for n in numbers],
        "dates": lambda: [date(2021, 1, 1) + timedelta(days=int(day)) for day in numbers],
        "extreme dates": lambda: [
            (pd.Timestamp.min.ceil("s"), pd.Timestamp.max.floor("s"), pd.Timestamp(2021, 1, 1))[n % 3] for n in numbers
        ],
        "zoned dates": lambda: [
            pd.Timestamp("2021-03-28", tz="Europe/Rome") + pd.Timedelta(hours=int(n)) for n in numbers
        ],
        "dates with gaps": lambda: [pd.NaT if n % 3 == 0 else pd.Timestamp(2021, int(n), 1) for n in numbers],
        "hours": lambda: [pd.Timestamp("2024-02-29") + pd.Timedelta(hours=5 * int(n)) for n in numbers],
        "infinite": lambda: [math.inf if n > 6 else float(n) for n in numbers],
    }  # fmt: skip
    return made[kind]()


def _labels(kind: str, n_rows: int) -> Any:
    """Return labels of a kind; the classes alternate."""
    half = [place % 2 for place in range(n_rows)]
    words = np.array(["no", "yes"], dtype=object)[half].tolist()
    made: dict[str, Any] = {
        "text": lambda: words, "integer": lambda: half, "bool": lambda: [bool(n) for n in half],
        "uint64": lambda: np.array(half, dtype=np.uint64) + np.uint64(2**64 - 2),
        "large": lambda: [n + 2**70 for n in half], "float": lambda: [float(n) for n in half],
        "half": lambda: [n + 0.5 for n in half], "object": lambda: np.array(words, dtype=object),
        "mixed": lambda: [n if place < 2 else str(n) for place, n in enumerate(half)],
        "category": lambda: pd.Series(words, dtype="category"), "nullable": lambda: pd.array(half, dtype="Int64"),
        "arrow": lambda: pd.Series(half, dtype="int64[pyarrow]"), "polars": lambda: polars.Series(words),
        "pyarrow": lambda: pyarrow.array(words), "bytes": lambda: [word.encode() for word in words],
        "dates": lambda: [date(2021, 1, 1) + timedelta(days=n) for n in half],
        "matrix": lambda: np.array([[n, 1 - n] for n in half]), "matrix_of_3": lambda: np.array([[n, 2] for n in half]),
        "text_columns": lambda: pd.DataFrame({"a": words, "b": words}), "no_columns": lambda: np.empty((n_rows, 0)),
        "dicts": lambda: [{"a": n} for n in half], "ragged": lambda: [[n] * (n + 1) for n in half],
        "missing": lambda: [None, *words[1:]], "nan": lambda: [math.nan, *map(float, half[1:])],
        "column": lambda: [[n] for n in half], "cube": lambda: np.zeros((n_rows, 1, 1)), "short": lambda: words[:-1],
        "one": lambda: ["same"] * n_rows, "complex": lambda: [n + 1j for n in half],
        "decimal": lambda: [decimal.Decimal(n) for n in half], "tuple": lambda: [(n,) for n in half],
        "hostile": lambda: [hostile.MARKUP[n] if place % 3 else hostile.ESCAPES[n] for place, n in enumerate(half)],
        "masked": lambda: np.ma.masked_array(half, mask=[place == 0 for place in range(n_rows)]),
        "name": lambda: "a",
    }  # fmt: skip
    return made[kind]()


def _weights(kind: str | None, n_rows: int) -> Any:
    made = {
        "ones": [1.0] * n_rows, "tiny": [1e-300] * n_rows, "huge": [1e300] * n_rows, "zeros": [0.0] * n_rows,
        "mixed": [1e-300 if place % 2 else 1e300 for place in range(n_rows)], "text": ["1"] * n_rows,
        "short": [1.0] * (n_rows - 1),
    }  # fmt: skip
    return None if kind is None else made[kind]


def check(case: Document, place: Place) -> Outcome:
    """Fit, and check what a fitted model must satisfy."""
    rng, n_rows = np.random.default_rng(case["seed"]), case["rows"]
    try:
        frame = pd.concat(
            [pd.Series(_column(kind, n_rows, rng), name=name) for name, kind in case["columns"]], axis=1
        )  # fmt: skip
        rows = as_form(frame, case["form"])
    except Exception:
        # pandas, polars or pyarrow cannot hold these cells.
        return Outcome.agreed
    labels = _labels(case["labels"], n_rows)
    held = {
        None: None, "one": (rows, labels), "text": "rows", "pair": ([1], [2]), "wrong": 3,
    }[case["held_out"]]  # fmt: skip
    model = EntropyClassifier(**{**FAST, **case["settings"], "split_by_time": case.get("split_by_time")})
    states: list[Any] = []
    shown = {None: None, "collect": states.append, "text": "bar", "arguments": 3}[case.get("progress")]
    fitted = attempt(model.fit, rows, labels, _weights(case["weights"], n_rows), held_out=held, progress=shown)
    if isinstance(fitted, Refused):
        return Outcome.refused
    if shown is not None and not (states and all(0 <= state.share <= 1 for state in states)):
        raise Failure("the progress of a fit is not told, or is no share")
    return check_fitted(fitted, rows, labels if case["labels"] != "name" else None, place)


def check_fitted(model: EntropyClassifier, rows: Any, labels: Any, place: Place) -> Outcome:
    """Fail unless the answers are classes, the score is their share, and a saved model answers alike."""
    answers = attempt(model.predict, rows)
    if isinstance(answers, Refused):
        raise Failure("a fitted model refuses the rows that it was fitted on", answers.message)
    is_matrix = answers.ndim == 2
    allowed = [0, 1] if is_matrix else [*model.classes_.tolist(), *([None] if model.resolve == "none" else [])]
    if not all(answer in allowed for answer in answers.ravel().tolist()):
        raise Failure("an answer is no class")
    trust = attempt(model.predict_proba, rows)
    if isinstance(trust, Refused) or not ((trust >= 0) & (trust <= 1)).all():
        raise Failure("a probability is not from 0 to 1")
    if labels is not None:
        _check_score(model, rows, labels, answers)
    saved = attempt(model.save, place.outputs / "model")
    if isinstance(saved, Refused):
        return Outcome.agreed
    loaded = EntropyClassifier.load(saved)
    if loaded.classes_.tolist() != model.classes_.tolist() or not np.array_equal(loaded.predict(rows), answers):
        raise Failure("a loaded model answers differently")
    record = json.loads((place.outputs / "model" / "model.json").read_text("utf-8"))["rules"]
    if model.exact and isinstance(rows, pd.DataFrame):
        _check_rules(record, rows, answers)
    if record != json.loads(json.dumps(to_dict(model.rules_))):
        raise Failure("other rules are saved")
    return Outcome.agreed


def _check_score(model: EntropyClassifier, rows: Any, labels: Any, answers: Any) -> None:
    truth = labels.tolist() if hasattr(labels, "tolist") else labels.to_list() if hasattr(labels, "to_list") else labels
    if isinstance(labels, pyarrow.Array):
        truth = labels.to_pylist()
    if isinstance(labels, pd.DataFrame):
        truth = labels.to_numpy().tolist()
    if answers.ndim == 1 and truth and isinstance(truth[0], list | tuple):
        truth = [entry[0] for entry in truth]
    score = attempt(model.score, rows, labels)
    share = sum(said == is_so for said, is_so in zip(answers.tolist(), truth, strict=True)) / len(truth)
    if isinstance(score, Refused) or not math.isclose(score, share):
        raise Failure("the score is not the share of right answers", f"{score} instead of {share}")


def _check_rules(record: Document, rows: pd.DataFrame, answers: Any) -> None:
    plain = [{str(name): _cell(value) for name, value in row.items()} for row in rows.to_dict("records")]
    try:
        wanted = [decided(record, row) for row in plain]
    except (TypeError, ValueError, KeyError):
        # Cells of kinds that plain Python does not compare, such as durations.
        return
    if answers.tolist() != wanted:
        raise Failure("the answers of an exact model are not those of its rules")


def _cell(value: Any) -> Any:
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    return value.isoformat() if isinstance(value, pd.Timestamp) else value


def built(value: Any) -> Any:
    """Return the value of a setting; a dictionary with the key `make` stands for an object that JSON does not have."""
    if not isinstance(value, dict) or "make" not in value:
        return value
    return {
        "array": np.array([1.0, 2.0]), "empty": np.array([]), "object": object(), "set": {1}, "bytes": b"x",
        "complex": 1j, "decimal": decimal.Decimal("0.5"), "int64": np.int64(2), "float32": np.float32(0.5),
        "frame": pd.DataFrame({"a": [1]}), "class": EntropyClassifier, "bool_": np.True_,
        "generator": (n for n in [1]), "date": date(2021, 1, 1),
    }[value["make"]]  # fmt: skip


def check_settings(case: Document, place: Place) -> Outcome:
    """Fit a small table with odd settings."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(20, 90, 30), "unit": rng.choice(["x", "y"], 30)})
    labels = np.where((rows["age"] > 50) & (rows["unit"] == "x"), "ill", "well")
    if case["settings"].get("booleanise", "supervised") is None:
        rows = pd.DataFrame({"old": rows["age"] > 50, "x": rows["unit"] == "x"}).astype(float)
    model = EntropyClassifier(**{**FAST, **{name: built(value) for name, value in case["settings"].items()}})
    fitted = attempt(model.fit, rows, labels)
    if isinstance(fitted, Refused):
        return Outcome.refused
    return check_fitted(fitted, rows, labels, place)
