"""Door of frames: the same rows in every form that a caller may hold them in get the same answers."""

from __future__ import annotations

import decimal
import math
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import scipy.sparse
from hypothesis import strategies as st

from logiclens.errors import LogicLensWarning
from logiclens.estimator import EntropyClassifier
from logiclens.export import to_dict
from tests.fuzz import hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.fuzz.samples import decided, fitted, rows_of, sample, table, target

Document = dict[str, Any]

FORMS = (
    "pandas",
    "object",
    "nullable",
    "arrow",
    "category",
    "polars",
    "lazy",
    "pyarrow",
    "dict",
    "records",
    "lists",
    "array",
)
MATRICES = (
    "float64", "float32", "float16", "int64", "uint64", "object", "masked", "csr", "csc", "coo", "dok",
    "lists", "tuples", "fortran", "strided", "read_only", "matrix", "big_endian", "longdouble", "complex", "text",
    "bytes", "flat", "cube", "empty", "structured", "decimal", "bool", "frame", "series",
)  # fmt: skip
NAMED = ("exact", "three", "confident", "labels", "soft", "team")

# Cases ---------------------------------------------------------------------------------------------------------------


def named_rows() -> st.SearchStrategy[list[Document]]:
    """Rows of the columns of the samples."""
    days = st.sampled_from(["2021-03-01", "2021-07-31T23:59:59", "2021-08-01", "1900-01-01", "2200-12-31T12:30:00"])
    row = st.fixed_dictionaries(
        {
            "unit": st.sampled_from(["CCU", "MICU", "SICU", "micu", "MICU ", None]) | hostile.texts(),
            "age": st.sampled_from([None, 56.0, 55.5, 60.0, math.nextafter(60.0, 0), 20.0, 94.0, -1.0, 1e300]),
            "flag": st.sampled_from([True, False]),
            "dose": st.integers(0, 9) | st.sampled_from([-1, 5, 2**53]),
            "admitted": days,
        }
    )
    return st.lists(row, min_size=1, max_size=4)


@st.composite
def named_cases(draw: st.DrawFn) -> Document:
    """Draw rows for a sample, in a form, with columns in another order and others beside them."""
    return {
        "kind": "named", "sample": draw(st.sampled_from(NAMED)), "form": draw(st.sampled_from(FORMS)),
        "rows": draw(named_rows()), "order": draw(st.permutations(range(5))), "extra": draw(st.booleans()),
    }  # fmt: skip


@st.composite
def matrix_cases(draw: st.DrawFn) -> Document:
    """Draw numbers in a form of NumPy or SciPy, and what to weigh them by."""
    number = st.sampled_from([0.0, 1.0, 2.5, 4.5, 5.0, 5.5, 60.0, 61.0, -1.0]) | hostile.floats()
    rows = draw(st.lists(st.lists(number, min_size=3, max_size=3), min_size=1, max_size=4))
    masked = draw(st.lists(st.booleans(), min_size=3 * len(rows), max_size=3 * len(rows)))
    return {"kind": "matrix", "form": draw(st.sampled_from(MATRICES)), "rows": rows, "masked": masked}


@st.composite
def weight_cases(draw: st.DrawFn) -> Document:
    """Draw weights of every kind for the score on the rows of a sample."""
    value = draw(st.sampled_from([hostile.floats() | st.floats(0, 5), st.integers(0, 3)]))
    values = draw(st.lists(value, min_size=1, max_size=4))
    kinds = ["list", "array", "series", "short", "long", "column", "text", "complex", "dates", "negative", "zeros",
             "bool", "object", "none", "scalar", "masked", "polars"]  # fmt: skip
    return {
        "kind": "weights", "sample": draw(st.sampled_from(NAMED)), "values": values,
        "form": draw(st.sampled_from(kinds)),
    }  # fmt: skip


def cases() -> st.SearchStrategy[Document]:
    """Draw a case of any kind."""
    return named_cases() | matrix_cases() | weight_cases()


# Checks --------------------------------------------------------------------------------------------------------------


def check(case: Document, place: Place) -> Outcome:
    """Predict or score, and compare with the same computation in plain Python."""
    return {"named": _check_named, "matrix": _check_matrix, "weights": _check_weights}[case["kind"]](case)


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


def _check_named(case: Document) -> Outcome:
    origin, model = sample(case["sample"]), fitted(case["sample"])
    frame = pd.DataFrame(case["rows"])
    frame["age"] = frame["age"].astype(float)
    frame["admitted"] = pd.to_datetime(frame["admitted"], format="ISO8601").astype("datetime64[us]")
    plain = frame[list(origin.frame.columns)]
    wanted = [decided(origin.rules, row) for row in rows_of(plain)]
    if not origin.exact:
        expected = attempt(model.predict, plain)
        wanted = None if isinstance(expected, Refused) else expected.tolist()
    if case["form"] not in ("lists", "array"):
        # Columns without a name are taken by their place.
        plain = plain[[plain.columns[at] for at in case["order"]]]
        plain = plain.assign(other=[object] * len(plain) if case["form"] == "object" else 1) if case["extra"] else plain
    answers = attempt(model.predict, as_form(plain, case["form"]))
    if isinstance(answers, Refused):
        usual = case["order"] == sorted(case["order"]) and not case["extra"] and wanted is not None
        if case["form"] in ("pandas", "polars", "pyarrow") and usual:
            raise Failure(f"rows of {case['form']} are refused", answers.message)
        return Outcome.refused
    if answers.tolist() != wanted:
        raise Failure(f"rows of another form get other answers ({case['form']})")
    return Outcome.agreed


@cache
def matrix_model() -> tuple[EntropyClassifier, Document]:
    """An exact model of three columns without names, and its rules."""
    frame = table()
    rows = np.column_stack([frame["age"].fillna(0), frame["dose"], frame["flag"]]).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        model = EntropyClassifier(exact=True, committee=1, epochs=2).fit(rows, target(frame, "exact").to_numpy())
    return model, to_dict(model)


def as_matrix(case: Document) -> Any:
    """Return the numbers of a case in its form; forms that cannot hold them get what they make of them."""
    rows, form = np.array(case["rows"], dtype=np.float64), case["form"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        # The warnings of this module are not those of the product.
        warnings.simplefilter("ignore")
        return _converted(rows, form, case["masked"])


def _converted(rows: Any, form: str, masked: list[bool]) -> Any:
    if form in ("float64", "float32", "float16", "int64", "uint64", "object", "longdouble", "bool"):
        return rows.astype(form)
    if form == "masked":
        return np.ma.masked_array(rows, mask=np.array(masked).reshape(rows.shape))
    if form in ("csr", "csc", "coo", "dok"):
        return getattr(scipy.sparse, f"{form}_matrix")(np.nan_to_num(rows, posinf=9, neginf=-9))
    made = {
        "lists": rows.tolist, "tuples": lambda: tuple(map(tuple, rows)), "fortran": lambda: np.asfortranarray(rows),
        "strided": lambda: np.repeat(rows, 2, axis=0)[::2], "matrix": lambda: np.matrix(rows),
        "big_endian": lambda: rows.astype(">f8"), "complex": lambda: rows + 1j, "text": lambda: rows.astype(str),
        "bytes": lambda: rows.astype(bytes), "flat": rows.ravel, "cube": lambda: rows[None], "empty": lambda: rows[:0],
        "structured": lambda: np.array([tuple(row) for row in rows], dtype=[("a", float), ("b", float), ("c", float)]),
        "decimal": lambda: [[decimal.Decimal(str(cell)) for cell in row] for row in rows.tolist()],
        "frame": lambda: pd.DataFrame(rows), "series": lambda: pd.Series(rows.ravel()), "read_only": lambda: rows,
    }[form]()  # fmt: skip
    if form == "read_only":
        made.flags.writeable = False
    return made


MUST_REFUSE = ("complex", "flat", "cube", "empty")


def _check_matrix(case: Document) -> Outcome:
    model, rules = matrix_model()
    given = as_matrix(case)
    before = repr(given)
    answers = attempt(model.predict, given)
    if repr(given) != before:
        raise Failure("an input was changed")
    if isinstance(answers, Refused):
        return Outcome.refused
    if case["form"] in MUST_REFUSE:
        raise Failure(f"a matrix that is no table is accepted ({case['form']})")
    if case["form"] in ("structured", "series"):
        return Outcome.agreed
    dense = given.toarray() if scipy.sparse.issparse(given) else given
    cells = np.asarray(dense if not isinstance(dense, pd.DataFrame) else dense.to_numpy()).astype(object)
    if isinstance(given, np.ma.MaskedArray):
        cells = np.where(np.ma.getmaskarray(given), None, cells)
    names = list(model.schema_.columns)
    rows = [dict(zip(names, map(_number, row), strict=True)) for row in cells.tolist()]
    if answers.tolist() != [decided(rules, row) for row in rows]:
        raise Failure(f"a matrix of another form gets other answers ({case['form']})")
    return Outcome.agreed


def _number(cell: Any) -> Any:
    if cell is None:
        return None
    number = float(cell)
    return None if math.isnan(number) else number


def as_weights(values: list[Any], form: str) -> Any:
    """Return weights in a form; some forms are no weights."""
    numbers = np.array(values, dtype=float)
    made: dict[str, Any] = {
        "list": values, "array": numbers, "series": pd.Series(values), "short": values[:-1], "long": [*values, 1],
        "column": numbers[:, None], "text": [str(value) for value in values], "complex": numbers + 1j,
        "dates": np.array(["2021-03-01"] * len(values), dtype="datetime64[D]"), "negative": [-1, *values[1:]],
        "zeros": [0] * len(values), "bool": [bool(value) for value in values], "object": np.array(values, dtype=object),
        "none": [None, *values[1:]], "scalar": 1.0, "masked": np.ma.masked_array(numbers, mask=[True] + [False] * 79),
        "polars": polars.Series(values, strict=False),
    }  # fmt: skip
    return made[form]


NO_WEIGHTS = ("short", "long", "column", "complex", "dates", "negative", "zeros", "none", "scalar", "masked")


def _check_weights(case: Document) -> Outcome:
    origin, model = sample(case["sample"]), fitted(case["sample"])
    frame, labels = table(), target(table(), case["sample"])
    values = [case["values"][row % len(case["values"])] for row in range(len(frame))]
    score = attempt(model.score, frame, labels, as_weights(values, case["form"]))
    if isinstance(score, Refused):
        return Outcome.refused
    if case["form"] in NO_WEIGHTS:
        raise Failure(f"weights that mean nothing are accepted ({case['form']})")
    weight = [float(bool(value)) if case["form"] == "bool" else float(value) for value in values]
    if not all(math.isfinite(value) and value >= 0 for value in weight) or not sum(weight):
        raise Failure("weights that are negative, missing or infinite are accepted")
    truth = labels.to_numpy().tolist()
    right = sum(w for w, said, is_so in zip(weight, origin.answers, truth, strict=True) if said == is_so)
    if not math.isclose(score, right / sum(weight), rel_tol=1e-9):
        raise Failure("the score is wrong", f"{score} instead of {right / sum(weight)}")
    return Outcome.agreed
