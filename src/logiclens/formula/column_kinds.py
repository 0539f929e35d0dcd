"""Kinds of columns: one entry per kind says everything that the rest of the library asks about it.

An entry is one subclass of `ColumnKind` and its line in `KINDS`. It says how the kind is recognised, how its values
become comparable arrays and numbers, how a threshold is rounded and written, and how a value is written in Python, SQL,
PMML, JSON and English. Kinds with a text form, such as dates, are stored and printed as that text, so that a model
folder loses nothing.

What pandas, narwhals and Ibis give is used through its own methods, and Ibis is imported inside the methods that need
it: this module loads NumPy only. Texts of a CSV file are recognised in `tables/dtypes.py`, which needs pandas.

The independent checker `logiclens.verify` does not use this module. It shares no code with the rest by design and has
its own reading of numbers, texts and dates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from numbers import Real
from typing import Any, ClassVar, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted
from logiclens.formula.packed_rows import as_array

Operator: TypeAlias = OneOf[">=", ">", "<=", "<", "==", "missing"]
Scalar: TypeAlias = float | int | bool | str
Kind: TypeAlias = str
"""The name of a kind, as a model folder stores it."""

ORDERS: tuple[Operator, ...] = (">=", ">", "<=", "<")


@dataclass(frozen=True)
class SqlBound:
    """The value of a comparison in SQL.

    Attributes:
        text: the value as a text.
        type: the SQL type that the text is cast to; None compares texts.
        padded: whether the column holds ISO texts of any length that must be padded before they are compared.
        function: the SQL function whose results on both sides are compared; None compares the sides themselves.
    """

    text: str
    type: str | None = None
    padded: bool = False
    function: str | None = None


class ColumnKind:
    """One kind of column. A subclass fills in what differs from a column of numbers.

    Attributes:
        name: the name that a model folder stores.
        plural: what the values are called in messages.
        operators: how predicates compare the values; each kind also has `missing`.
        dtype_letters: the NumPy type codes (`dtype.kind`) of arrays of this kind.
        narwhals_types: the narwhals type names of series of this kind.
        ibis_type: the Ibis type of a missing value of this kind.
        accepts: other kinds whose columns may stand in for this one after training.
        is_nominal: whether values are categories without an order.
        reads_text: whether a text column may stand in, read value by value.
        can_be_target: whether values can be class labels.
        text_form: the pattern of the texts that stand for values and are compared by order; None: values are no texts.
        json_form: that pattern for the JSON schema, which knows no `\\d`.
        json_words: what the JSON schema says about it.
        called: what one such value is called, with an example; for messages.
        period_format: how rows are grouped by a column of this kind, as a `strftime` pattern; None: by value.
        sentences: how each operator and its negation are said of a value, which takes the place of `{}`.
        python_helper: the source of the function that an exported Python function reads a cell with.
        pmml_form: how PMML holds a column: "number", "iso text", or None where it cannot.
    """

    name: ClassVar[Kind]
    plural: ClassVar[str]
    operators: ClassVar[tuple[Operator, ...]] = (*ORDERS, "==")
    dtype_letters: ClassVar[str] = ""
    narwhals_types: ClassVar[tuple[str, ...]] = ()
    ibis_type: ClassVar[str] = "float64"
    accepts: ClassVar[tuple[Kind, ...]] = ()
    is_nominal: ClassVar[bool] = False
    reads_text: ClassVar[bool] = False
    can_be_target: ClassVar[bool] = True
    text_form: ClassVar[re.Pattern[str] | None] = None
    json_form: ClassVar[str] = ""
    json_words: ClassVar[str] = ""
    called: ClassVar[str] = ""
    period_format: ClassVar[str | None] = None
    sentences: ClassVar[Mapping[str, tuple[str, str]]] = {
        ">=": ("at least {}", "below {}"),
        ">": ("above {}", "at most {}"),
        "<=": ("at most {}", "above {}"),
        "<": ("below {}", "at least {}"),
    }
    python_helper: ClassVar[str] = ""
    pmml_form: ClassVar[str | None] = "number"

    # Recognition -----------------------------------------------------------------------------------------------------

    def is_narwhals(self, dtype: Any) -> bool:
        """Return whether a narwhals type is of this kind."""
        return type(dtype).__name__ in self.narwhals_types

    def is_ibis(self, dtype: Any, engine: str) -> bool:
        """Return whether an Ibis type is of this kind and the engine can compare it."""
        raise NotImplementedError

    def is_cell(self, cell: Any) -> bool:
        """Return whether a single Python value, which is not missing, is of this kind."""
        raise NotImplementedError

    def is_text_form(self, text: str) -> bool:
        """Return whether a text stands for a value that is compared by order."""
        if self.text_form is None or not self.text_form.fullmatch(text):
            return False
        try:
            self.point(text)
        except (ValueError, OverflowError):
            return False
        return True

    # Arrays ----------------------------------------------------------------------------------------------------------

    def array(self, values: Any, column: str) -> NDArray[Any]:
        """Return the values of a column as an array that compares with `bound`; missing ones compare as false."""
        return numbers_of(values, column)

    def series_array(self, series: Any, column: str) -> NDArray[Any]:
        """Return the values of a narwhals series as `array` does."""
        import narwhals.stable.v2 as nw

        try:
            values: NDArray[np.float64] = series.cast(nw.Float64).to_numpy().astype(np.float64)
        except ValueError:
            # Arrow refuses whole numbers that a float does not hold to the last digit.
            return numbers_of(np.array(series.to_list(), dtype=object), column)
        return values

    def missing(self, array: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which entries of an array of this kind are missing."""
        return np.asarray(np.isnan(array))

    def nothing(self, n_rows: int) -> NDArray[Any]:
        """Return an array of missing values."""
        return np.full(n_rows, np.nan)

    def numbers(self, array: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values as floats in the same order; NaN where missing."""
        return array

    def bits(self, array: NDArray[Any]) -> NDArray[np.uint64]:
        """Return 64 bits per value that are equal where values are equal."""
        # + 0.0 makes −0.0 equal to 0.0.
        return np.where(np.isnan(array), np.nan, array + 0.0).view(np.uint64)

    def plain(self, value: Any) -> Scalar:
        """Return one entry of an array, which must not be missing, as a plain value for messages."""
        return float(value)

    # Values of predicates --------------------------------------------------------------------------------------------

    def point(self, value: Scalar) -> Any:
        """Return the point on the line of this kind that the value of a predicate stands for."""
        return float(value)

    def bound(self, value: Scalar) -> Any:
        """Return what an array is compared with."""
        return value

    def number(self, value: Scalar) -> float:
        """Return the value of a predicate as one of `numbers`."""
        return float(value)

    def threshold(self, low: float, high: float, near: float | None = None) -> Scalar:
        """Return the value in (low, high], both of `numbers`, that a person would write; if possible around `near`."""
        return short_number(low, high, near)

    def given_threshold(self, cut: Any, column: str) -> Scalar:
        """Return the threshold that a user asked for."""
        try:
            if isinstance(cut, Real) and not isinstance(cut, bool):
                return float(cut)
        except OverflowError:
            pass
        raise LogicLensError(f"the cuts of {quoted(column)} must be {self.plural}, got {quoted(cut)}.")

    def shown(self, value: Scalar) -> str:
        """Return the value of a predicate as it is printed; it reads back as the same value."""
        if isinstance(value, float):
            return min((text for text in (f"{value:g}", repr(value)) if float(text) == value), key=len)
        return str(value)

    # The line between thresholds -------------------------------------------------------------------------------------

    def inside(self, low: Any, high: Any) -> Any:
        """Return a point between two, or one beyond the one that is given; None where there is none."""
        if low is None or high is None:
            near, toward = (high or 0.0, -math.inf) if low is None else (low, math.inf)
            far = near + math.copysign(1, toward)
            return far if far != near else math.nextafter(near, toward)
        middle = low / 2 + high / 2
        if not low < middle < high:
            middle = math.nextafter(low, high)
        return middle if middle < high else None

    def written(self, point: Any) -> Scalar:
        """Return a point as a cell of the column."""
        return float(point)

    # Cells -----------------------------------------------------------------------------------------------------------

    def shown_cell(self, cell: Any) -> str:
        """Return a cell of a row as it is printed."""
        if isinstance(cell, float | np.floating) and math.isfinite(cell):
            return self.shown(float(cell))
        return str(cell)

    def json_cell(self, cell: Any) -> Any:
        """Return a cell as a value that JSON knows."""
        return cell.item() if hasattr(cell, "item") else str(cell)

    # Other languages -------------------------------------------------------------------------------------------------

    def python_condition(self, column: str, operator: Operator, value: Scalar) -> str:
        """Return a comparison in Python; `column` is its name as Python writes it."""
        return f"number({column}) {operator} {value!r}"

    def sql_bound(self, value: Scalar, operator: Operator, dialect: str) -> SqlBound:
        """Return the value of a comparison in a dialect of SQL; refuse where the dialect cannot hold it."""
        raise NotImplementedError

    def ibis_column(self, column: Any) -> Any:
        """Return a column of an engine as it is compared with `ibis_bound`."""
        return column

    def ibis_bound(self, value: Scalar) -> Any:
        """Return the value of a predicate for a comparison in an engine."""
        return value

    def ibis_ordered(self, column: Any) -> Any:
        """Return a column of an engine so that its smallest and largest values can be fetched."""
        return column

    def ibis_comparable(self, column: Any) -> Any:
        """Return a column of an engine as it is grouped in histograms."""
        # + 0.0 makes −0.0 equal to 0.0.
        return column.cast("float64") + 0.0

    def ibis_position(self, comparable: Any) -> Any:
        """Return the floats by which an engine sorts comparable values into bins."""
        return comparable

    def ibis_step(self, dtype: Any) -> float | None:
        """Return the smallest distance between values of an Ibis type, as numbers; None where it is not known."""
        return 1.0 if dtype.is_integer() else None

    def arrow_numbers(self, values: Any) -> NDArray[np.float64]:
        """Return a column of Arrow that an engine gave, as `numbers`."""
        return np.asarray(values.cast("float64", safe=False).to_numpy() + 0.0)

    def bin_start(self, low: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where bins start whose smallest value is `low`."""
        return low


class Number(ColumnKind):
    """Numbers, whole or not."""

    name = "number"
    plural = "numbers"
    dtype_letters = "iuf"
    accepts = ("boolean",)
    python_helper = """\
    def number(column):
        # A missing value becomes NaN, with which every comparison is false.
        cell = row[column]
        if missing(column):
            return float("nan")
        try:
            # What `float` would take for a number, though it is none.
            if type(cell).__name__ in ("bytearray", "complex64", "complex128", "datetime64", "timedelta64"):
                raise TypeError
            return float(cell)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(column + " holds " + str(cell) + " where a number is needed") from None

"""

    def is_narwhals(self, dtype: Any) -> bool:
        """Return whether narwhals calls the type numeric."""
        return bool(dtype.is_numeric())

    def is_ibis(self, dtype: Any, engine: str) -> bool:
        """Return whether Ibis calls the type numeric."""
        return bool(dtype.is_numeric())

    def is_cell(self, cell: Any) -> bool:
        """Return whether a cell is a number of Python or NumPy, or a decimal."""
        return isinstance(cell, Real | Decimal)


class TruthValue(Number):
    """Truth values, held as 0 and 1."""

    name = "boolean"
    plural = "truth values"
    operators = ("==",)
    dtype_letters = "b"
    narwhals_types = ("Boolean",)
    ibis_type = "boolean"
    accepts = ("number",)

    def is_narwhals(self, dtype: Any) -> bool:
        """Return whether the type is narwhals' own."""
        return ColumnKind.is_narwhals(self, dtype)

    def is_ibis(self, dtype: Any, engine: str) -> bool:
        """Return whether Ibis calls the type Boolean."""
        return bool(dtype.is_boolean())

    def is_cell(self, cell: Any) -> bool:
        """Return whether a cell is true or false."""
        return isinstance(cell, bool | np.bool_)

    def plain(self, value: Any) -> Scalar:
        """Return true or false."""
        return bool(value)

    def arrow_numbers(self, values: Any) -> NDArray[np.float64]:
        """Return 0 and 1."""
        return super().arrow_numbers(values.cast("int8"))


class Category(ColumnKind):
    """Texts without an order. Arrays hold the place of each text among the categories, −1 where missing."""

    name = "text"
    plural = "text"
    operators = ("==",)
    narwhals_types = ("String",)
    ibis_type = "string"
    is_nominal = True
    pmml_form = "text"
    python_helper = """\
    def text(column):
        # What is no text equals none.
        return row[column] if isinstance(row[column], str) else None

"""

    def is_ibis(self, dtype: Any, engine: str) -> bool:
        """Return whether Ibis calls the type a string."""
        return bool(dtype.is_string())

    def is_cell(self, cell: Any) -> bool:
        """Return whether a cell is a text."""
        return isinstance(cell, str)

    def missing(self, array: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which places are −1."""
        return np.asarray(array < 0)

    def nothing(self, n_rows: int) -> NDArray[Any]:
        """Return places that are all −1."""
        return np.full(n_rows, -1)

    def array(self, values: Any, column: str) -> NDArray[Any]:
        """Return the cells as objects; what is no text stays what it is and equals no text."""
        cells = one_dimensional(np.asarray(values, dtype=object), column)
        made = np.empty(len(cells), dtype=object)
        made[:] = [cell if isinstance(cell, str) else None for cell in cells]
        return made

    def python_condition(self, column: str, operator: Operator, value: Scalar) -> str:
        """Return a comparison of texts."""
        return f"text({column}) == {str(value)!r}"


class _Clock(ColumnKind):
    """What dates and durations share: arrays in microseconds, and a text form that is compared by order."""

    unit: ClassVar[str]
    operators = ORDERS
    reads_text = True
    can_be_target = False

    def cell_value(self, cell: Any, column: str) -> Any:
        """Return one cell, which is not missing, as NumPy's value in microseconds."""
        raise NotImplementedError

    def array(self, values: Any, column: str) -> NDArray[Any]:
        """Return the values in microseconds, missing ones as NaT."""
        array = one_dimensional(cells_array(values), column)
        if array.dtype.kind == self.dtype_letters:
            return array.astype(self.unit)
        # Values repeat in texts: each is read once.
        read: dict[str, Any] = {}
        made = []
        for cell in array.tolist():
            if not isinstance(cell, str):
                made.append(np.array("NaT", self.unit)[()] if is_missing(cell) else self.cell_value(cell, column))
                continue
            if cell not in read:
                read[cell] = self.cell_value(cell, column)
            made.append(read[cell])
        return np.array(made, dtype=self.unit)

    def series_array(self, series: Any, column: str) -> NDArray[Any]:
        """Return the values of a narwhals series in microseconds."""
        return self.array(series.to_numpy(), column)

    def missing(self, array: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which entries are NaT."""
        return np.asarray(np.isnat(array))

    def nothing(self, n_rows: int) -> NDArray[Any]:
        """Return an array of NaT."""
        return np.full(n_rows, "NaT", self.unit)

    def numbers(self, array: NDArray[Any]) -> NDArray[np.float64]:
        """Return seconds."""
        seconds = array.astype(self.unit).astype(np.int64) / 1e6
        return np.where(self.missing(array), np.nan, seconds)

    def bits(self, array: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the microseconds."""
        return array.astype(self.unit).view(np.uint64)

    def number(self, value: Scalar) -> float:
        """Return seconds."""
        return float(self.bound(value).astype(np.int64)) / 1e6

    def written(self, point: Any) -> Scalar:
        """Return the text form."""
        return self.shown_cell(point)

    def json_cell(self, cell: Any) -> Any:
        """Return the text form."""
        return self.shown_cell(cell)


class Date(_Clock):
    """Dates, with or without a time of day; with a time zone they are taken in universal time."""

    name = "date"
    plural = "dates"
    unit = "datetime64[us]"
    dtype_letters = "M"
    narwhals_types = ("Date", "Datetime")
    ibis_type = "timestamp"
    text_form = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)
    json_form = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?$"
    json_words = "a date: 2021-03-01, with a time 2021-03-01T12:30"
    called = "a date such as '2021-03-01'"
    period_format = "%Y-%m"
    sentences: ClassVar[Mapping[str, tuple[str, str]]] = {
        ">=": ("{} or later", "before {}"),
        ">": ("after {}", "{} or earlier"),
        "<=": ("{} or earlier", "after {}"),
        "<": ("before {}", "{} or later"),
    }
    pmml_form = "iso text"
    python_helper = f"""\
    from datetime import date, datetime, timezone

    def moment(column):
        # A date of Python, NumPy or pandas, or a text such as 2021-03-01T12:30, as a datetime in universal time.
        import re

        cell = row[column]
        form = r"{text_form.pattern}"
        try:
            if isinstance(cell, str) and re.fullmatch(form, cell.strip(), re.ASCII):
                text = cell.strip()
                cell = datetime.fromisoformat(text + "T00:00:00.000000"[len(text) - 10:])
            elif type(cell).__name__ == "datetime64":
                cell = cell.astype("datetime64[us]").item()
            if isinstance(cell, datetime):
                if cell.tzinfo is not None:
                    cell = cell.astimezone(timezone.utc)
                return datetime(cell.year, cell.month, cell.day, cell.hour, cell.minute, cell.second, cell.microsecond)
            if isinstance(cell, date):
                return datetime(cell.year, cell.month, cell.day)
        except (ValueError, OverflowError):
            pass
        raise ValueError(column + " holds " + str(row[column]) + " where a date such as 2021-03-01 is needed")

"""

    def is_ibis(self, dtype: Any, engine: str) -> bool:
        """Return whether Ibis calls the type a date or a timestamp."""
        return bool(dtype.is_date() or dtype.is_timestamp())

    def is_cell(self, cell: Any) -> bool:
        """Return whether a cell is a date of Python or pandas."""
        return isinstance(cell, date)

    def array(self, values: Any, column: str) -> NDArray[Any]:
        """Return points in time, with a time zone in universal time."""
        if getattr(getattr(values, "dtype", None), "tz", None) is not None and hasattr(values, "dt"):
            # A column of pandas with a time zone would become objects, to be read one by one.
            values = values.dt.tz_convert(None)
        return super().array(values, column)

    def series_array(self, series: Any, column: str) -> NDArray[Any]:
        """Return points in time, with a time zone in universal time."""
        if getattr(series.dtype, "time_zone", None) is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return super().series_array(series, column)

    def cell_value(self, cell: Any, column: str) -> Any:
        """Return a point in time."""
        if isinstance(cell, str) and self.is_text_form(cell.strip()):
            return np.datetime64(cell.strip(), "us")
        if isinstance(cell, np.datetime64):
            return cell.astype("datetime64[us]")
        if isinstance(cell, datetime):
            try:
                cell = cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
            except OverflowError:
                raise LogicLensError(
                    f"the column {quoted(column)} holds {quoted(str(cell))}, which in universal time is outside of the "
                    "years 1 to 9999."
                ) from None
            return np.datetime64(cell.isoformat(timespec="microseconds"), "us")
        if isinstance(cell, date):
            return np.datetime64(cell.isoformat(), "us")
        raise LogicLensError(f"the column {quoted(column)} holds {quoted(cell)} where {self.called} is needed.")

    def plain(self, value: Any) -> Scalar:
        """Return the ISO text to the second."""
        return str(value.astype("datetime64[s]"))

    def point(self, value: Scalar) -> datetime:
        """Return the point in time."""
        return datetime.fromisoformat(str(value))

    def bound(self, value: Scalar) -> Any:
        """Return the point in time for NumPy."""
        return np.datetime64(str(value), "us")

    def threshold(self, low: float, high: float, near: float | None = None) -> Scalar:
        """Return the start of a year, month, day, …."""
        return short_date(low, high)

    def given_threshold(self, cut: Any, column: str) -> Scalar:
        """Return the ISO text."""
        if not isinstance(cut, str | date | np.datetime64):
            raise LogicLensError(f"the cuts of {quoted(column)} must be {self.plural}, got {quoted(cut)}.")
        return cut.isoformat() if isinstance(cut, date) else str(cut)

    def inside(self, low: datetime | None, high: datetime | None) -> datetime | None:
        """Return the middle, or a day beyond; time begins with the year 1 and ends with the year 9999."""
        if low is not None and high is not None:
            middle = low + (high - low) // 2
            return middle if low < middle else None
        day = timedelta(days=1)
        try:
            return low + day if low is not None else high - day if high is not None else None
        except OverflowError:
            end = datetime.min if low is None else datetime.max
            return end if end not in (low, high) else None

    def shown_cell(self, cell: Any) -> str:
        """Return the day, and the time where there is one.

        >>> Date().shown_cell(datetime(2021, 3, 1)), Date().shown_cell(datetime(2021, 3, 1, 12, 30))
        ('2021-03-01', '2021-03-01 12:30')
        """
        if isinstance(cell, np.datetime64):
            cell = cell.astype("datetime64[us]").item()
        if not isinstance(cell, datetime):
            return str(cell.isoformat())
        if (cell.hour, cell.minute, cell.second, cell.microsecond) == (0, 0, 0, 0) and cell.tzinfo is None:
            return cell.date().isoformat()
        return cell.isoformat(" ", timespec="auto" if cell.second or cell.microsecond else "minutes")

    def json_cell(self, cell: Any) -> Any:
        """Return the ISO text."""
        return cell.isoformat()

    def python_condition(self, column: str, operator: Operator, value: Scalar) -> str:
        """Return a comparison of datetimes."""
        bound = repr(self.point(value)).removeprefix("datetime.")
        return f"not missing({column}) and moment({column}) {operator} {bound}"

    def sql_bound(self, value: Scalar, operator: Operator, dialect: str) -> SqlBound:
        """Return a DATE or a TIMESTAMP; a text in SQLite, which has neither."""
        point = self.point(value)
        is_day = point == datetime(point.year, point.month, point.day)
        if dialect != "sqlite":
            return SqlBound(point.date().isoformat(), "DATE") if is_day else SqlBound(point.isoformat(" "), "TIMESTAMP")
        if is_day and operator in (">=", "<"):
            # However its time is written, a text of that day comes behind the day alone.
            return SqlBound(point.date().isoformat())
        return SqlBound(point.isoformat(" ", timespec="microseconds"), padded=True)

    def ibis_column(self, column: Any) -> Any:
        """Return timestamps."""
        return column.cast("timestamp")

    def ibis_bound(self, value: Scalar) -> Any:
        """Return a timestamp."""
        import ibis

        return ibis.literal(self.point(value), "timestamp")

    def ibis_comparable(self, column: Any) -> Any:
        """Return timestamps."""
        return column.cast("timestamp")

    def ibis_position(self, comparable: Any) -> Any:
        """Return whole seconds."""
        return comparable.epoch_seconds().cast("float64")

    def ibis_step(self, dtype: Any) -> float | None:
        """Return a day for a type without a time."""
        return 86_400.0 if dtype.is_date() else None

    def arrow_numbers(self, values: Any) -> NDArray[np.float64]:
        """Return seconds."""
        return self.numbers(values.to_numpy())

    def bin_start(self, low: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return whole seconds: the first one may have begun before the first value."""
        return np.floor(low)


class Duration(_Clock):
    """Durations, written as pandas writes them: `2 days 06:00:00`; six hours less than nothing is `-1 days +18:00:00`.

    A text of a CSV file is not taken for a duration unless the column held durations in training.
    """

    name = "timedelta"
    plural = "durations"
    unit = "timedelta64[us]"
    dtype_letters = "m"
    narwhals_types = ("Duration",)
    ibis_type = "interval('us')"
    text_form = re.compile(r"(-?\d{1,8}) days?(?: \+?([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,6}))?)?", re.ASCII)
    json_form = "^-?[0-9]{1,8} days?( [+]?([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?)?$"
    json_words = "a duration: 2 days, with a time 2 days 06:00:00"
    called = "a duration such as '2 days 06:00:00'"
    pmml_form = None
    python_helper = f"""\
    from datetime import timedelta

    def duration(column):
        # A timedelta of Python, NumPy or pandas, or a text such as 2 days 06:00:00, to the microsecond.
        import re

        cell, microsecond = row[column], timedelta(microseconds=1)
        form = r"{text_form.pattern}"
        if type(cell).__name__ == "timedelta64":
            cell = cell.astype("timedelta64[us]").item()
        elif isinstance(cell, str):
            parts = re.fullmatch(form, re.sub(r"([.]\\d{{6}})\\d{{1,3}}$", r"\\1", cell.strip()), re.ASCII)
            if parts:
                days, hours, minutes, seconds = (int(parts[place] or 0) for place in (1, 2, 3, 4))
                cell = timedelta(days, seconds, int((parts[5] or "").ljust(6, "0")), 0, minutes, hours)
        if not isinstance(cell, timedelta) or not -(2**63) < cell // microsecond < 2**63:
            raise ValueError(column + " holds " + str(cell) + " where a duration such as 2 days 06:00:00 is needed")
        return cell // microsecond * microsecond

"""
    _SQL_DIALECTS = ("duckdb", "postgres")
    _MICROSECOND = timedelta(microseconds=1)
    _STEPS: ClassVar[tuple[int, ...]] = (
        *(days * 86_400_000_000 for days in (1000, 100, 10, 1)),
        *(hours * 3_600_000_000 for hours in (12, 6, 1)),
        *(minutes * 60_000_000 for minutes in (30, 10, 1)),
        *(seconds * 1_000_000 for seconds in (30, 10, 1)),
        *(10**digits for digits in (5, 4, 3, 2, 1, 0)),
    )
    """What thresholds are multiples of, in microseconds, if possible of the first."""

    def is_ibis(self, dtype: Any, engine: str) -> bool:
        """Return whether the type is an interval of DuckDB, the one engine that tells its microseconds."""
        return bool(dtype.is_interval()) and engine == "duckdb"

    def is_cell(self, cell: Any) -> bool:
        """Return whether a cell is a timedelta of Python, NumPy or pandas."""
        return isinstance(cell, timedelta | np.timedelta64)

    def cell_value(self, cell: Any, column: str) -> Any:
        """Return a duration; nanoseconds are cut off."""
        if isinstance(cell, np.timedelta64):
            return cell.astype(self.unit)
        if isinstance(cell, timedelta):
            try:
                return np.timedelta64(cell // self._MICROSECOND, "us")
            except OverflowError:
                raise LogicLensError(
                    f"the column {quoted(column)} holds a duration of {cell.days:,} days: it is too long to compare."
                ) from None
        text = re.sub(r"(\.\d{6})\d{1,3}$", r"\1", cell.strip()) if isinstance(cell, str) else ""
        if not self.is_text_form(text):
            raise LogicLensError(f"the column {quoted(column)} holds {quoted(cell)} where {self.called} is needed.")
        return self.bound(text)

    def plain(self, value: Any) -> Scalar:
        """Return the text form."""
        return self.shown_cell(value)

    def point(self, value: Scalar) -> timedelta:
        """Return the duration."""
        if self.text_form is None or (parts := self.text_form.fullmatch(str(value))) is None:
            raise ValueError(f"{quoted(value)} is no duration.")
        days, hours, minutes, seconds = (int(parts[place] or 0) for place in (1, 2, 3, 4))
        return timedelta(days, seconds, int((parts[5] or "").ljust(6, "0")), 0, minutes, hours)

    def bound(self, value: Scalar) -> Any:
        """Return the duration for NumPy."""
        return np.timedelta64(self.point(value) // self._MICROSECOND, "us")

    def threshold(self, low: float, high: float, near: float | None = None) -> Scalar:
        """Return a multiple of as many days, hours, minutes or seconds as possible.

        >>> [Duration().threshold(*gap) for gap in ((190_000, 200_000), (80_000, 180_000), (1.2, 1.4))]
        ['2 days 06:00:00', '2 days', '0 days 00:00:01.300000']
        """
        if low < 0 <= high and near is None:
            return self._text(0)
        middle = low + (high - low) / 2
        for step in self._STEPS:
            for target in (middle, high) if near is None else (near,):
                whole = microseconds(target)
                for candidate in (round(whole / step) * step, whole // step * step):
                    if low < candidate / 1e6 <= high:
                        return self._text(candidate)
        return self._text(microseconds(high))

    def given_threshold(self, cut: Any, column: str) -> Scalar:
        """Return the text form."""
        if not isinstance(cut, str | timedelta | np.timedelta64):
            raise LogicLensError(f"the cuts of {quoted(column)} must be {self.plural}, got {quoted(cut)}.")
        return cut if isinstance(cut, str) else self.shown_cell(cut)

    def inside(self, low: timedelta | None, high: timedelta | None) -> timedelta | None:
        """Return the middle, or a day beyond."""
        if low is not None and high is not None:
            middle = low + (high - low) // 2
            return middle if low < middle else None
        day = timedelta(days=1)
        return low + day if low is not None else high - day if high is not None else None

    def shown_cell(self, cell: Any) -> str:
        """Return the text form.

        >>> Duration().shown_cell(timedelta(hours=54)), Duration().shown_cell(timedelta(hours=-6))
        ('2 days 06:00:00', '-1 days +18:00:00')
        """
        if isinstance(cell, np.timedelta64):
            cell = cell.astype(self.unit).item()
        return self._text(cell // self._MICROSECOND)

    def python_condition(self, column: str, operator: Operator, value: Scalar) -> str:
        """Return a comparison of timedeltas."""
        bound = repr(self.point(value)).removeprefix("datetime.")
        return f"not missing({column}) and duration({column}) {operator} {bound}"

    def sql_bound(self, value: Scalar, operator: Operator, dialect: str) -> SqlBound:
        """Return an INTERVAL; refuse dialects in which none can be compared."""
        if dialect not in self._SQL_DIALECTS:
            raise LogicLensError(
                f"the SQL of {dialect} cannot compare durations such as {quoted(value)}: export the rules for duckdb "
                "or postgres, or as Python (--to python)."
            )
        point = self.point(value)
        sign = "-" if point < timedelta(0) else ""
        # The sign of the days does not reach the time in SQL.
        days, _, clock = self._text(abs(point) // self._MICROSECOND).partition(" day")
        clock = clock.lstrip("s").strip()
        text = f"{sign}{days} days" + (f" {sign}{clock}" if clock else "")
        # DuckDB takes -1 days 18:00:00 for less than -06:00:00, which is as long.
        return SqlBound(text, "INTERVAL", function="EPOCH_US" if dialect == "duckdb" else None)

    def ibis_column(self, column: Any) -> Any:
        """Return whole microseconds."""
        return _epoch_us()(column)

    def ibis_bound(self, value: Scalar) -> Any:
        """Return whole microseconds."""
        return self.point(value) // self._MICROSECOND

    def ibis_ordered(self, column: Any) -> Any:
        """Return seconds, since Arrow cannot hold DuckDB's intervals as durations."""
        return self.ibis_comparable(column)

    def ibis_comparable(self, column: Any) -> Any:
        """Return seconds."""
        return self.ibis_column(column).cast("float64") / 1e6

    def _text(self, count: int) -> str:
        """Return so many microseconds in text form."""
        point = timedelta(microseconds=count)
        days = f"{point.days} day" + "s" * (point.days != 1)
        if not point.seconds and not point.microseconds:
            return days
        minutes, seconds = divmod(point.seconds, 60)
        clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"
        part = f".{point.microseconds:06}" if point.microseconds else ""
        return f"{days} {'+' * (point.days < 0)}{clock}{part}"


@cache
def _epoch_us() -> Any:
    """Return DuckDB's function from intervals to microseconds."""
    import ibis

    def epoch_us(value: Any) -> int:
        raise NotImplementedError("the engine runs this")

    epoch_us.__annotations__ = {"return": int}
    return ibis.udf.scalar.builtin(epoch_us)


NUMBER, TRUTH_VALUE, CATEGORY = Number(), TruthValue(), Category()
KINDS: Mapping[Kind, ColumnKind] = {kind.name: kind for kind in (TRUTH_VALUE, CATEGORY, Date(), Duration(), NUMBER)}
"""The kinds of columns by name; where several recognise something, the first decides."""
TEXT_FORMS: tuple[ColumnKind, ...] = tuple(kind for kind in KINDS.values() if kind.text_form is not None)
"""The kinds whose values are texts that are compared by order."""


def kind_of_dtype(letter: str) -> ColumnKind | None:
    """Return the kind of a NumPy or pandas array by its `dtype.kind`; None where the cells must tell."""
    return next((kind for kind in KINDS.values() if letter in kind.dtype_letters), None)


def kind_of_narwhals(dtype: Any) -> ColumnKind | None:
    """Return the kind of a narwhals series by its type; None where the cells must tell."""
    return next((kind for kind in KINDS.values() if kind.is_narwhals(dtype)), None)


def kind_of_ibis(dtype: Any, engine: str) -> ColumnKind | None:
    """Return the kind of a column of an engine by its Ibis type; None where it cannot be compared."""
    return next((kind for kind in KINDS.values() if kind.is_ibis(dtype, engine)), None)


def kind_of_cell(cell: Any) -> ColumnKind | None:
    """Return the kind of a Python value that is not missing; None where it cannot be compared."""
    return next((kind for kind in KINDS.values() if kind.is_cell(cell)), None)


def kind_of_value(value: Any, operator: str) -> ColumnKind | None:
    """Return the kind that a predicate compares; None where the operator cannot compare the value.

    >>> [kind_of_value(*asked).name for asked in ((5, ">="), (True, "=="), ("A", "=="), ("2021-03-01", "<"))]
    ['number', 'boolean', 'text', 'date']
    """
    if operator == "==":
        return CATEGORY if isinstance(value, str) else TRUTH_VALUE if isinstance(value, bool | np.bool_) else NUMBER
    if isinstance(value, str):
        return next((kind for kind in TEXT_FORMS if kind.is_text_form(value)), None)
    return None if isinstance(value, bool | np.bool_) else NUMBER


def text_forms_called() -> str:
    """Return what texts compared by order may be, for a message."""
    return " or ".join(kind.called for kind in TEXT_FORMS)


# Thresholds ----------------------------------------------------------------------------------------------------------


def short_number(low: float, high: float, near: float | None = None) -> float:
    """Return a number in (low, high] with as few digits as possible: what a person would write for the cut.

    With `near`, the number there, rounded as far as it stays between them.

    >>> short_number(13.0425, 13.1083)
    13.1
    >>> short_number(0, 1), short_number(0, 1, near=0.5)
    (1.0, 0.5)
    """
    if not low < high:
        raise LogicLensError(f"there is no number above {low} and up to {high}.")
    if low < 0 <= high and near is None:
        return 0.0
    # Halves first: the difference of two large numbers may be infinite.
    middle = low + (high / 2 - low / 2)
    magnitude = math.floor(math.log10(max(abs(low), abs(high))))
    for digits in range(17):
        # The middle where it can be had as short, else whatever lies below the upper end.
        for target in (middle, high) if near is None else (near,):
            try:
                candidate = round(target, digits - magnitude)
            except OverflowError:
                # Beyond the largest number.
                continue
            if low < candidate <= high:
                return float(candidate)
    return high if near is None or not low < near <= high else near


def short_date(low: float, high: float) -> str:
    """Return a date in (low, high], both in seconds since 1970, as coarse as possible: the start of a year, a month, ….

    >>> day = 86400.0
    >>> short_date(0.0, 500 * day), short_date(40.2 * day, 41.5 * day), short_date(0.0, 7200.0)
    ('1971-01-01', '1970-02-11', '1970-01-01T02:00')
    """
    moment = np.datetime64(microseconds(high), "us")
    for unit in ("Y", "M", "D", "h", "m", "s"):
        start = moment.astype(f"datetime64[{unit}]")
        if start.astype("datetime64[us]").astype(np.int64) / 1e6 > low:
            return str(
                start.astype("datetime64[D]")
                if unit in "YMD"
                else start.astype("datetime64[s]" if unit == "s" else "datetime64[m]")
            )
    return str(moment)


def microseconds(seconds: float) -> int:
    """Return the whole microseconds that seconds were made of."""
    near = round(seconds * 1e6)
    # A century from 0 on, seconds are hardly finer than the microseconds that they were made of.
    return next((us for us in (near, near - 1, near + 1) if us / 1e6 == seconds), near)


# Cells ---------------------------------------------------------------------------------------------------------------


def is_missing(value: Any) -> bool:
    """Return whether a single value stands for none: None, NaN, or the markers of pandas.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    # The markers of pandas are known by name, since nothing here imports it; comparing NA gives NA, not an answer.
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        # A signalling NaN cannot be compared.
        return value.is_nan()
    return isinstance(value, Real) and bool(value != value)


def missing_of(values: Any, column: str) -> NDArray[np.bool_]:
    """Return on which rows a column has no value."""
    array = one_dimensional(cells_array(values), column)
    if array.dtype.kind == "O":
        return np.fromiter(map(is_missing, array), np.bool_, len(array))
    missing: NDArray[np.bool_] = np.zeros(len(array), dtype=np.bool_)
    if array.dtype.kind in "fmM":
        # Nothing but NaN and NaT is unequal to itself.
        missing = array != array
    return missing


def numbers_of(values: Any, column: str) -> NDArray[np.float64]:
    """Return the values of a column as numbers, missing ones as NaN."""
    try:
        if hasattr(values, "isna") and not isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf":
            # The nullable columns of pandas would become objects, to be looked at one by one.
            values = values.to_numpy(dtype=np.float64, na_value=math.nan)
        array = one_dimensional(as_array(values), column)
        if array.dtype.kind in "cmM":
            # NumPy would take a date for the count of its days, and drop the imaginary part of a complex number.
            raise TypeError
        if array.dtype == object:
            # A cell may be a list.
            return one_dimensional(np.array([math.nan if is_missing(v) else v for v in array], float), column)
        return np.array(array, float)
    except LogicLensError:
        raise
    except OverflowError:
        raise LogicLensError(
            f"the column {quoted(column)} holds a number that is too large: at most 1.8e308."
        ) from None
    except (TypeError, ValueError):
        raise LogicLensError(f"the column {quoted(column)} is not numeric.") from None


def cells_array(values: Any) -> NDArray[Any]:
    """Return the values as an array. In a list with texts NumPy would make a text of NaN too."""
    array = as_array(values)
    return array if array.dtype.kind not in "US" else np.asarray(values, dtype=object)


def one_dimensional(array: NDArray[Any], column: str) -> NDArray[Any]:
    """Return an array of one dimension; refuse any other."""
    if array.ndim != 1:
        raise LogicLensError(f"the column {quoted(column)} needs a list of values, got {array.ndim} dimension(s).")
    return array
