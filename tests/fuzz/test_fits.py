"""Labels, columns and settings of every kind are fitted or refused in one sentence; answers are those of the rules."""

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
from hypothesis import given
from hypothesis import strategies as st

from logiclens.estimator import EntropyClassifier
from logiclens.export import to_dict
from tests.fuzz import hostile
from tests.fuzz.judge import Place, Refused, attempt, hostile_examples, judged
from tests.fuzz.models import decided, record_of, rows_of

Document = dict[str, Any]

FAST: Document = {"epochs": 2, "max_literals": 3}
FORMS = (
    "pandas", "object", "nullable", "arrow", "category", "polars", "lazy", "pyarrow", "dict", "records", "lists",
    "array",
)  # fmt: skip
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
    }


ODD = (
    None, "", "x", "1", "search", math.nan, math.inf, -math.inf, -1, 0, 1, 2, 0.5, 1.5, -0.0, True, False, [], [1], [0],
    [-1], ["a"], [0.5, 2.0], {}, {"a": 1}, 1e-300, np.array([1.0, 2.0]), np.array([]), object(), {1}, b"x", 1j,
    decimal.Decimal("0.5"), np.int64(2), np.float32(0.5), pd.DataFrame({"a": [1]}), EntropyClassifier, np.True_,
    date(2021, 1, 1),
)  # fmt: skip
ENDLESS = ("epochs", "hidden", "max_distinct")
"""Settings whose large values are meant: the work would take as long as it takes."""
USUAL: dict[str, list[Any]] = {
    "booleanise": ["round", "quantile", "uniform", "soft", None, {"age": [30, 50]}], "exact": [True, False, None],
    "hidden": [[5], [3, 2]], "temperature": [0.5, 2], "penalty_weight": [0, 0.01], "epochs": [1, 3],
    "learning_rate": [0.01, 0.1], "validation": [0.1, 0.3], "set_aside": [0, 0.25], "max_distinct": [1000],
    "class_weight": [None, "balanced", [1, 2], {"ill": 2}], "method": ["search", "paper"],
    "max_literals": [None, 1, 4], "min_support": [None, 2], "resolve": ["order", "confidence", "none"],
    "random_state": [None, 0, 7], "verbose": [True, False],
}  # fmt: skip
"""Values that a setting may have; the others stay as they are by default."""


@st.composite
def settings_cases(draw: st.DrawFn) -> Document:
    """Draw one to four settings of the estimator: usual values, and in half of the cases one of any type."""
    names = sorted(EntropyClassifier().get_params(deep=False))
    chosen: Document = {}
    odd = draw(st.none() | st.sampled_from(names))
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        if name in USUAL:
            chosen[name] = draw(st.sampled_from(USUAL[name]))
    if odd is not None:
        value = st.sampled_from(ODD)
        if odd not in ENDLESS:
            value |= st.sampled_from([1e300, 10**400, 2**63]) | hostile.texts()
        chosen[odd] = draw(value)
    return chosen


# Checks --------------------------------------------------------------------------------------------------------------


@given(cases())
@hostile_examples(300)
def test_any_table_with_any_labels(case: Document) -> None:
    rng, n_rows = np.random.default_rng(case["seed"]), case["rows"]
    try:
        frame = pd.concat(
            [pd.Series(_column(kind, n_rows, rng), name=name) for name, kind in case["columns"]], axis=1
        )  # fmt: skip
        rows = as_form(frame, case["form"])
    except Exception:
        # pandas, polars or pyarrow cannot hold these cells.
        return
    labels = _labels(case["labels"], n_rows)
    held = {None: None, "one": (rows, labels), "text": "rows", "pair": ([1], [2]), "wrong": 3}[case["held_out"]]
    model = EntropyClassifier(**{**FAST, **case["settings"]})
    states: list[Any] = []
    shown = {None: None, "collect": states.append, "text": "bar", "arguments": 3}[case["progress"]]
    with judged() as place:
        fitted = attempt(model.fit, rows, labels, _weights(case["weights"], n_rows), held_out=held, progress=shown)
        if isinstance(fitted, Refused):
            return
        check_fitted(fitted, rows, labels if case["labels"] != "name" else None, place)
    assert shown is None or (states and all(0 <= state.share <= 1 for state in states))


@given(settings_cases())
@hostile_examples(200)
def test_any_value_of_any_setting(settings: Document) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(20, 90, 30), "unit": rng.choice(["x", "y"], 30)})
    labels = np.where((rows["age"] > 50) & (rows["unit"] == "x"), "ill", "well")
    if settings.get("booleanise", "round") is None:
        rows = pd.DataFrame({"old": rows["age"] > 50, "x": rows["unit"] == "x"}).astype(float)
    model = EntropyClassifier(**{**FAST, **settings})
    with judged() as place:
        fitted = attempt(model.fit, rows, labels)
        if not isinstance(fitted, Refused):
            check_fitted(fitted, rows, labels, place)


def check_fitted(model: EntropyClassifier, rows: Any, labels: Any, place: Place) -> None:
    """Fail unless the answers are classes, the score is their share, and a saved model answers alike."""
    answers = model.predict(rows)
    others = [None] if model.resolve == "none" else []
    allowed = [0, 1] if answers.ndim == 2 else [*model.classes_.tolist(), *others]
    assert all(answer in allowed for answer in answers.ravel().tolist())
    trust = model.predict_proba(rows)
    assert ((trust >= 0) & (trust <= 1)).all()
    if labels is not None:
        check_score(model, rows, labels, answers)
    folder = attempt(model.save, place.outputs / "model")
    if isinstance(folder, Refused):
        return
    loaded = EntropyClassifier.load(folder)
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert np.array_equal(loaded.predict(rows), answers)
    record = record_of(place.outputs / "model")
    assert record == json.loads(json.dumps(to_dict(model.rules_)))
    if model.exact and isinstance(rows, pd.DataFrame):
        check_rules(record, rows, answers)


def check_score(model: EntropyClassifier, rows: Any, labels: Any, answers: Any) -> None:
    truth = labels.tolist() if hasattr(labels, "tolist") else labels.to_list() if hasattr(labels, "to_list") else labels
    if isinstance(labels, pyarrow.Array):
        truth = labels.to_pylist()
    if isinstance(labels, pd.DataFrame):
        truth = labels.to_numpy().tolist()
    if answers.ndim == 1 and truth and isinstance(truth[0], list | tuple):
        truth = [entry[0] for entry in truth]
    score = attempt(model.score, rows, labels)
    share = sum(said == is_so for said, is_so in zip(answers.tolist(), truth, strict=True)) / len(truth)
    assert not isinstance(score, Refused)
    assert math.isclose(score, share)


def check_rules(record: Any, rows: pd.DataFrame, answers: Any) -> None:
    try:
        expected = [decided(record, row) for row in rows_of(rows)]
    except (TypeError, ValueError, KeyError):
        # Cells of kinds that plain Python does not compare, such as durations.
        return
    assert answers.tolist() == expected


# Values of every kind ------------------------------------------------------------------------------------------------


def as_form(frame: pd.DataFrame, form: str) -> Any:
    """Return a frame of pandas in another form."""
    if form == "object":
        return frame.astype(object).where(frame.notna(), None)
    if form == "nullable":
        return frame.convert_dtypes()
    if form == "arrow":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    if form == "category":
        texts = [name for name in frame if isinstance(frame[name].iloc[0], str)]
        return frame.astype(dict.fromkeys(texts, "category"))
    if form in ("polars", "lazy"):
        made = polars.DataFrame({name: polars.Series(_gaps(frame[name]), strict=False) for name in frame})
        return made.lazy() if form == "lazy" else made
    if form == "pyarrow":
        return pyarrow.Table.from_pandas(frame, preserve_index=False)
    if form == "dict":
        return {name: frame[name].tolist() for name in frame}
    if form == "records":
        return [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False, name=None)]
    if form == "lists":
        return frame.to_numpy(dtype=object).tolist()
    return frame.to_numpy(dtype=object) if form == "array" else frame


def _gaps(column: pd.Series) -> list[Any]:
    return [None if cell is None or cell is pd.NaT or cell != cell else cell for cell in column.tolist()]


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
