"""Columns of a file: valid names, types recognised from the cells (also dates in CSV texts), and doubtful columns."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted

_DIGITS = re.compile(r"[+-]?[0-9]{300,}")
CODE = re.compile(r"\s*0[0-9]+\s*")
# Of all white space only that which no cell of a file has at its ends, as engines read these patterns differently.
DECIMAL_COMMA = re.compile(" *[+-]?(([0-9]+,[0-9]*|,[0-9]+|0|[1-9][0-9]*)([eE][+-]?[0-9]+)?|inf) *")
_OFFSET = "(Z|[+-][0-9]{2}:?[0-9]{2})"
_ISO = re.compile(rf"[0-9]{{4}}(-[0-9]{{2}}){{2}}([T ][0-9]{{2}}(:[0-9]{{2}}){{1,2}}([.][0-9]{{1,9}})?{_OFFSET}?)?")
_TIME = r"(?:[ T]([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?)?"
# A two-digit year after a dash is not a date: 20-09-22 is as often a code, or starts with the year.
_DAY = re.compile(rf" *([0-9]{{1,2}})([./-])([0-9]{{1,2}})\2([0-9]{{4}}|(?<!-)[0-9]{{2}}){_TIME} *")
_MONEY = r"(?:[$€£¥₹]|EUR|USD|GBP|CHF)"
_UNIT = rf"(?:{_MONEY}|%|‰|°[CF]?|[kmµ]?g|[kcm]?m|m?l)"
_GROUPS = r"[1-9][0-9]{0,2}(?P<mark>[.,'’\s])[0-9]{3}(?:(?P=mark)[0-9]{3})*"
_MARKED = re.compile(
    rf"\s*(?:{_MONEY}\s?)?(?P<sign>[+-]?)(?:{_MONEY}\s?)?"
    rf"(?P<whole>{_GROUPS}|[0-9]+)(?:(?!(?P=mark))[.,](?P<part>[0-9]+))?(?:\s?{_UNIT})?\s*"
)
_LIKE_THIS = "write dates as 2022-09-20"


def checked_names(
    names: list[str], name: str, *, first_may_lack: bool = False, twice: str = "rename one."
) -> list[str]:
    """Return the names if none is empty or repeated. The first may be empty; `twice` ends the error."""
    seen: dict[str, int] = {}
    for place, column in enumerate(names, 1):
        if not column.strip() and not (first_may_lack and place == 1):
            raise no_name(place, name)
        if column in seen:
            raise LogicLensError(
                f"columns {seen[column]} and {place} of {name} are both named {quoted(column)}: {twice}"
            )
        seen[column] = place
    return names


def no_name(place: int, name: str) -> LogicLensError:
    """Return the error for a column without a name."""
    return LogicLensError(f"column {place} of {name} has no name: name it, or leave it out if it only counts rows.")


def kind_of(column: pd.Series[Any]) -> str:
    """Return what a column of a file holds: "number", "text", "flag", "mixed" or "other"."""
    if column.dtype.kind in "iuf":
        return "number"
    if column.dtype.kind != "O":
        return "other"
    kinds = {"string": "text", "boolean": "flag", "integer": "number", "floating": "number", "empty": "other"}
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    return kinds.get(inferred, "number" if inferred == "mixed-integer-float" else "mixed")


def typed(frame: pd.DataFrame, *, decimal_comma: bool = False) -> pd.DataFrame:
    """Convert text columns that hold only dates or, with `decimal_comma`, only numbers with a decimal comma."""
    for name, column in frame.items():
        kind = kind_of(column)
        if kind == "number" and column.dtype == object:
            # Whole numbers beyond 64 bits.
            frame[name] = as_floats(column)
        cells = column.dropna() if kind == "text" else column[:0]
        if cells.empty:
            continue
        if decimal_comma and _all_match(cells, DECIMAL_COMMA):
            frame[name] = _numbers(column.str.replace(",", ".", regex=False))
        elif _all_match(cells, _ISO):
            frame[name] = _iso_dates(column)
        elif _DAY.fullmatch(cells.iloc[0]):
            frame[name] = _day_dates(column)
    return frame


def are_iso_dates(texts: Sequence[Any]) -> bool:
    """Return whether `typed` would turn a column of these texts into dates because all are ISO dates or date-times.

    >>> are_iso_dates(["2022-09-20", "2022-10-01 08:30"]), are_iso_dates(["2022-02-30"]), are_iso_dates([])
    (True, False, False)
    """
    # The first text nearly always decides.
    if not texts or not isinstance(texts[0], str) or not _ISO.fullmatch(texts[0]):
        return False
    column = pd.Series(texts, dtype=object)
    return kind_of(column) == "text" and _all_match(column, _ISO) and _iso_dates(column).dtype.kind == "M"


def is_date_or_decimal(text: str) -> bool:
    """Return whether `typed` may turn a column whose first text this is into dates or numbers."""
    return any(pattern.fullmatch(text) for pattern in (_ISO, _DAY, DECIMAL_COMMA))


def order_of_dates(texts: pd.Series[Any]) -> pd.Series[Any]:
    """Return a few texts of a column of dates that settle the order of day and month for all others."""
    known = texts.dropna()
    parts = known.str.extract(r"^\s*([0-9]{1,2})[./-]([0-9]{1,2})[./-]").apply(pd.to_numeric)
    settle = [known.index[0], *(part[part > 12].index[0] for _, part in parts.items() if (part > 12).any())]
    return known.loc[settle]


def _numbers(texts: pd.Series[Any]) -> pd.Series[Any]:
    try:
        numbers: pd.Series[Any] = pd.to_numeric(texts)
    except ValueError:
        # pandas reads no integers of thousands of digits; as floats they are infinite.
        return texts.astype(object).astype(float)
    return as_floats(numbers) if numbers.dtype == object else numbers


def as_floats(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return whole numbers of any size as floats; one beyond the largest float is infinite.

    >>> as_floats(pd.Series([10**400, -(10**400), 2**70])).tolist()
    [inf, -inf, 1.1805916207174113e+21]
    """
    return pd.Series([_as_float(cell) for cell in column], index=column.index, name=column.name, dtype=np.float64)


def _as_float(cell: Any) -> float:
    try:
        return float("nan") if cell is None else float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def mixed_columns(frame: pd.DataFrame) -> dict[str, tuple[str, int]]:
    """Return the text columns in which most cells are numbers: the first other cell, and its row counted from 1.

    More than half of the present cells must be numbers, with a decimal point or a decimal comma. A column with codes
    such as 00123 is text on purpose and is not returned.

    >>> mixed_columns(pd.DataFrame({"age": ["31", "about 40", "52"], "who": ["Ann", "Bo", "Cy"]}))
    {'age': ('about 40', 2)}
    >>> mixed_columns(pd.DataFrame({"weight": ["88,2", "71", "unbekannt"]}))
    {'weight': ('unbekannt', 3)}
    """
    mixed = {}
    for name, column in frame.items():
        if kind_of(column) not in ("text", "mixed"):
            continue
        there = column.notna().to_numpy()
        number = pd.to_numeric(column, errors="coerce").notna().to_numpy()
        codes, texts = _distinct(column.where(there & ~number).astype(str))
        number = number | np.append(_matches(texts, DECIMAL_COMMA), False)[codes]
        if not there.sum() / 2 < number.sum() < there.sum():
            continue
        if not column[number].astype(str).str.fullmatch(CODE.pattern).any():
            row = int(np.flatnonzero(there & ~number)[0])
            mixed[str(name)] = (str(column.iloc[row]), row + 1)
    return mixed


def doubtful_columns(frame: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Return the text columns that look like dates or numbers but are ambiguous or invalid.

    For each: a cell, and what is doubtful about it, worded to follow the column name in a sentence.

    >>> doubtful_columns(pd.DataFrame({"day": ["03/04/2022", "05/06/2022"], "pay": ["$45,000", "$9,500"]}))
    {'day': ('03/04/2022', 'could be day/month or month/day: write dates as 2022-09-20'),
     'pay': ('$45,000', 'looks like numbers with thousands marks or units: write 45000')}
    """
    doubtful = {}
    for name, column in frame.items():
        if kind_of(column) != "text":
            continue
        codes, texts = _distinct(column)
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        doubt = _doubt_of_dates(texts, counts) or _doubt_of_numbers(texts, counts)
        if doubt:
            doubtful[str(name)] = doubt
    return doubtful


def _distinct(column: pd.Series[Any]) -> tuple[NDArray[np.intp], list[str]]:
    """Return for each cell the index of its text, −1 if it is missing; and the distinct texts."""
    codes, texts = pd.factorize(column)
    return codes, np.asarray(texts, dtype=object).tolist()


def _matches(texts: Sequence[str], pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    return np.array([pattern.fullmatch(text) is not None for text in texts], dtype=bool)


def _all_match(cells: pd.Series[Any], pattern: re.Pattern[str]) -> bool:
    # The first cell nearly always decides.
    return bool(pattern.fullmatch(cells.iloc[0])) and bool(cells.str.fullmatch(pattern.pattern).all())


def _first(texts: Sequence[str], which: NDArray[np.bool_]) -> str:
    return texts[int(np.argmax(which))]


# Dates ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Dates:
    """Dates read from texts, NaT for an impossible day; and an example with the reason if they are ambiguous."""

    found: NDArray[np.datetime64]
    doubt: tuple[str, str] | None


def _iso_dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return dates from ISO texts; the texts themselves if one is not a day of the calendar."""
    offset = column.dropna().str.fullmatch(f".*{_OFFSET}")
    if offset.any() and not offset.all():
        return column
    try:
        dates = pd.to_datetime(column, format="ISO8601", utc=bool(offset.any()))
    except ValueError:
        return column
    return dates if _in_calendar(dates.dropna()).all() else column


def _in_calendar(dates: pd.Series[Any]) -> pd.Series[bool]:
    """Return which dates have a year that Python and engines have too; pandas also reads the year 0000."""
    inside: pd.Series[bool] = dates.dt.year.between(1, 9999)
    return inside


def _day_dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return dates from texts such as 20.09.2022; the texts themselves if they are ambiguous."""
    codes, texts = _distinct(column)
    if len({_form(text) for text in texts}) > 1 or (dates := _dates(texts)).doubt:
        return column
    return pd.Series(np.append(dates.found, np.datetime64("NaT"))[codes], index=column.index)


def _form(text: str) -> str:
    """Return how a date is written: its separator, "iso", or "" if the text is not a date."""
    day = _DAY.fullmatch(text)
    return day[2] if day else "iso" * bool(_ISO.fullmatch(text))


def _dates(texts: Sequence[str]) -> _Dates:
    """Read dates of one form. Dots mean day.month.year; with other separators numbers above 12 show the day."""
    if _form(texts[0]) == "iso":
        utc = pd.to_datetime(pd.Series(texts), format="ISO8601", errors="coerce", utc=True)
        utc = utc.where(_in_calendar(utc))
        zoned = np.array([bool(re.search(f":.*{_OFFSET}$", text)) for text in texts])
        mixed = (_first(texts, ~zoned), "mixes times with and without a zone: write them all alike")
        return _checked(texts, utc.dt.tz_localize(None).to_numpy(), mixed if zoned.any() and not zoned.all() else None)
    parts = [match for text in texts if (match := _DAY.fullmatch(text))]
    first, second = (np.array([int(part[place]) for part in parts]) > 12 for place in (1, 3))
    if parts[0][2] != "." and first.any() == second.any():
        rare = first if first.sum() < second.sum() else second
        reason = "mixes day/month and month/day" if rare.any() else "could be day/month or month/day"
        either = [_moment(part, day=1, month=3) or _moment(part, day=3, month=1) for part in parts]
        return _Dates(np.array(either, "datetime64[us]"), (_first(texts, rare), f"{reason}: {_LIKE_THIS}"))
    day, month = (1, 3) if parts[0][2] == "." or first.any() else (3, 1)
    # Spreadsheets read 45 as 1945 and C as 2045; only the user knows which is meant.
    unclear = np.array([len(part[4]) == 2 and 30 <= int(part[4]) < 69 for part in parts])
    year = parts[int(np.argmax(unclear))][4]
    century = (_first(texts, unclear), f"has years that could be 19{year} or 20{year}: {_LIKE_THIS}")
    found = np.array([_moment(part, day=day, month=month) for part in parts], "datetime64[us]")
    return _checked(texts, found, century if unclear.any() else None)


def _moment(part: re.Match[str], *, day: int, month: int) -> datetime | None:
    year = int(part[4]) + (len(part[4]) == 2) * (2000 if int(part[4]) < 69 else 1900)
    hour, minute, second = (int(part[place] or 0) for place in (5, 6, 7))
    try:
        return datetime(year, int(part[month]), int(part[day]), hour, minute, second)
    except ValueError:
        return None


def _checked(texts: Sequence[str], found: NDArray[Any], doubt: tuple[str, str] | None) -> _Dates:
    """Return dates with the doubt; a date that is not in the calendar takes precedence as the doubt."""
    never = np.isnat(found)
    if never.any():
        doubt = (_first(texts, never), f"holds dates, but this is not a date: {_LIKE_THIS}")
    return _Dates(found, doubt)


def _doubt_of_dates(texts: Sequence[str], counts: NDArray[np.intp]) -> tuple[str, str] | None:
    """Return what is doubtful about texts if more than half are dates of one form."""
    forms = np.array([_form(text) for text in texts])
    for form in ("iso", ".", "/", "-"):
        own = forms == form
        if 2 * counts[own].sum() <= counts.sum():
            continue
        dates = _dates([text for text, is_own in zip(texts, own, strict=True) if is_own])
        # If many are not days of the calendar, they are not dates: 12.40.99 may be a code.
        if 2 * counts[own][~np.isnat(dates.found)].sum() <= counts.sum():
            return None
        if not own.all():
            return _first(texts, ~own), f"holds dates and other text: {_LIKE_THIS}, and leave a cell without one empty"
        return dates.doubt
    return None


# Numbers -------------------------------------------------------------------------------------------------------------


def _doubt_of_numbers(texts: Sequence[str], counts: NDArray[np.intp]) -> tuple[str, str] | None:
    """Return what is doubtful about texts if more than half are numbers with a comma, separators or units."""
    number = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").notna().to_numpy()
    # Thousands of digits are no number for pandas, but have no comma or mark either.
    number = number | _matches(texts, _DIGITS)
    comma = _matches(texts, DECIMAL_COMMA) & ~number
    marked = _matches(texts, _MARKED) & ~number & ~comma
    if 2 * counts[number | comma | marked].sum() <= counts.sum() or _matches(texts, CODE).any():
        return None
    if marked.any():
        text = _first(texts, marked)
        return text, f"looks like numbers with thousands marks or units: write {_plainly(text)}"
    # Numbers among other words are a mixed column, which `mixed_columns` reports.
    if not comma.any() or not (number | comma).all():
        return None
    text = _first(texts, comma)
    point = text.strip().replace(",", ".")
    if all((match := _MARKED.fullmatch(text)) and match["mark"] for text in texts if "," in text):
        return text, f"could have decimal commas or thousands marks: write {point} or {_plainly(text)}"
    return text, f"looks like numbers with a decimal comma: write {point}"


def _plainly(text: str) -> str:
    """Return a number without separators and units: 45000 for $45,000."""
    if (match := _MARKED.fullmatch(text)) is None:
        return text
    whole = "".join(re.findall("[0-9]", match["whole"]))
    return match["sign"].strip("+") + whole + (f".{match['part']}" if match["part"] else "")
