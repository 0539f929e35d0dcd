"""Delimited text in DuckDB: its cells are read as `tables.delimited` reads those of a file in memory.

DuckDB splits the lines only. Its own detection would keep spaces, take 00123 for a number, and look at the first rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logiclens.tables.delimited import NUMBER, SPACES, FileHead
from logiclens.tables.dtypes import DECIMAL_COMMA, checked_names

if TYPE_CHECKING:
    import ibis.expr.types as ir

MISSING = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Texts that mean a missing value in a text file, as in pandas; the empty text is one too."""
LOOKED_AT = 20_480
"""Number of first rows that tell which forms the cells of a column may have; all rows decide."""


CELL = "@cell"
"""What stands for the cell in the SQL of a form."""


@dataclass(frozen=True)
class _Form:
    """A form that all cells of a column may have: a test, and the value of a cell, in SQL with `CELL` for the cell.

    The test is never false of a null, so that a filter, which takes as long as a test, is not needed.
    """

    test: str
    value: str


def _dates(separator: str, *, day_first: bool) -> _Form:
    """Return dates such as 20.09.2022 8:30; `tables.dtypes` says which two-digit years are clear."""
    order = r"\2-\1" if day_first else r"\1-\2"
    start = f"^([0-9]{{1,2}})[{separator}]([0-9]{{1,2}})[{separator}]"
    iso = f"regexp_replace(@cell, '{start}([0-9]{{4}})', '\\3-{order}')"
    if separator != "-":
        for years, century in (("[012][0-9]", "20"), ("69|[789][0-9]", "19")):
            iso = f"regexp_replace({iso}, '{start}({years})([T ]|$)', '{century}\\3-{order}\\4')"
    time = "([ T]([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?)?"
    moment = f"CASE WHEN regexp_full_match({iso}, '[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}{time}') THEN {iso} END"
    return _Form(_in_calendar(f"try_cast({moment} AS TIMESTAMP)"), f"CAST({iso} AS TIMESTAMP)")


def _in_calendar(date: str) -> str:
    """Return the SQL for whether a date is one, in a year that Python has too; a gap passes."""
    return f"(@cell IS NULL OR coalesce(year({date}) BETWEEN 1 AND 9999, false))"


_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HOUR = "([01][0-9]|2[0-3])"
_CLOCK = f"[T ]{_HOUR}(:[0-9]{{2}}){{1,2}}([.][0-9]{{1,9}})?"
_OFFSET = f"(Z|[+-]{_HOUR}:?[0-5][0-9])"
# A cast to a timestamp would ignore the offset.
_ZONED = (
    r"make_timestamp(epoch_us(try_cast(regexp_replace(regexp_replace(@cell, '([+-][0-9]{2})([0-9]{2})$', '\1:\2'), "
    r"'([T ][0-9]{2}:[0-9]{2})([Z+-])', '\1:00\2') AS TIMESTAMPTZ)))"
)
_IS_NUMBER = f"regexp_full_match(@cell, '{NUMBER}') AND NOT regexp_full_match(@cell, '0[0-9]+')"
_FORMS: Mapping[str, _Form] = {
    "truth": _Form("lower(@cell) IN ('true', 'false')", "CAST(@cell AS BOOLEAN)"),
    "whole": _Form(
        f"regexp_full_match(@cell, '[+-]?[0-9]+') AND {_IS_NUMBER} "
        "AND (@cell IS NULL OR try_cast(@cell AS BIGINT) IS NOT NULL)",
        "CAST(@cell AS BIGINT)",
    ),
    "number": _Form(_IS_NUMBER, "CAST(@cell AS DOUBLE)"),
    "decimal comma": _Form(
        f"regexp_full_match(@cell, '{DECIMAL_COMMA.pattern}')", "CAST(replace(@cell, ',', '.') AS DOUBLE)"
    ),
    "day": _Form(
        f"regexp_full_match(@cell, '{_DAY}') AND {_in_calendar('try_cast(@cell AS DATE)')}",
        "CAST(@cell AS DATE)",
    ),
    "moment": _Form(
        f"regexp_full_match(@cell, '{_DAY}({_CLOCK})?') AND {_in_calendar('try_cast(@cell AS TIMESTAMP)')}",
        "CAST(@cell AS TIMESTAMP)",
    ),
    "zoned": _Form(f"regexp_full_match(@cell, '{_DAY}{_CLOCK}{_OFFSET}') AND {_in_calendar(_ZONED)}", _ZONED),
    "d.m.y": _dates(".", day_first=True),
    "d/m/y": _dates("/", day_first=True),
    "m/d/y": _dates("/", day_first=False),
    "d-m-y": _dates("-", day_first=True),
    "m-d-y": _dates("-", day_first=False),
}
"""What the cells of a column may be; the first form that all of them have is taken, and text if there is none."""
_EITHER = ({"d/m/y", "m/d/y"}, {"d-m-y", "m-d-y"})
"""Forms of dates that are ambiguous if all cells have both."""


def delimited_in_duckdb(
    connection: Any, files: list[str], head: FileHead, name: str, options: Mapping[str, Any], *, besides: Sequence[str]
) -> ir.Table:
    """Open delimited text files as a table of DuckDB, the view `name`.

    Args:
        connection: the connection of Ibis.
        files: the patterns that name the files.
        head: delimiter and header of the first file.
        name: the name of the view.
        options: further options of DuckDB's reader.
        besides: columns that come from no file, which stay as they are.
    """
    lines = connection.read_csv(
        files, table_name=f"{name}_lines", all_varchar=True, header=True, delim=head.delimiter, quote='"', escape='"',
        skip=head.n_blank, nullstr=["", *MISSING], **options,
    )  # fmt: skip
    columns = [column for column in lines.columns if column not in besides]
    names = checked_names([column.strip() for column in columns], files[0])
    others = [_name(column) for column in lines.columns if column in besides]
    cells = [f"{_cell(column)} AS {_name(renamed)}" for column, renamed in zip(columns, names, strict=True)]
    texts = f"{name}_cells"
    _view(connection, texts, [*cells, *others], f"{name}_lines")
    possible = [form for form in _FORMS if form != "decimal comma" or head.delimiter == ";"]
    forms = dict.fromkeys(names, possible)
    for rows in (f"FROM {_name(texts)} LIMIT {LOOKED_AT}", f"FROM {_name(texts)}"):
        forms = _forms_of(connection, rows, forms)
    values = [f"{_value(column, forms[column])} AS {_name(column)}" for column in names]
    _view(connection, name, [*values, *others], texts)
    return connection.table(name)


def _cell(column: str) -> str:
    """Return the SQL of a cell without the spaces at its ends; a gap is null."""
    # A column that a folder such as year=2026 defines is no text.
    text = f"CAST({_name(column)} AS VARCHAR)"
    # Trimming costs more than finding out that few cells need it.
    outer, gaps = _text(f"^[{SPACES}]|[{SPACES}]$"), ", ".join(map(_text, ("", *MISSING)))
    trimmed = f"trim({text}, {_text(SPACES)})"
    return (
        f"CASE WHEN regexp_matches({text}, {outer}) THEN CASE WHEN {trimmed} NOT IN ({gaps}) THEN {trimmed} END "
        f"ELSE {text} END"
    )


def _forms_of(connection: Any, rows: str, possible: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return which of the possible forms all cells of each column have; all of them if a column has no cell."""
    asked = [(column, form) for column, forms in possible.items() for form in forms]
    if not asked:
        return dict(possible)
    tests = ", ".join(f"coalesce(bool_and({_of(column, _FORMS[form].test)}), true)" for column, form in asked)
    answers = connection.raw_sql(f"SELECT {tests} FROM ({rows})").fetchone()  # noqa: S608
    passed: dict[str, list[str]] = {column: [] for column in possible}
    for (column, form), answer in zip(asked, answers, strict=True):
        passed[column] += [form] if answer else []
    return passed


def _value(column: str, forms: list[str]) -> str:
    """Return the value of a cell in SQL; `forms` are those that all cells of the column have."""
    # A column without a cell has all forms, and is one of numbers.
    if len(forms) >= len(_FORMS) - 1:
        forms = ["number"]
    clear = [form for form in forms if not any(form in pair and pair <= set(forms) for pair in _EITHER)]
    return _of(column, _FORMS[clear[0]].value) if clear else _name(column)


def _of(column: str, sql: str) -> str:
    """Return the SQL of a cell for a column."""
    return sql.replace(CELL, _name(column))


def _view(connection: Any, name: str, columns: Sequence[str], rows: str) -> None:
    # S608: names and texts are quoted.
    connection.raw_sql(f"CREATE TEMPORARY VIEW {_name(name)} AS SELECT {', '.join(columns)} FROM {_name(rows)}")  # noqa: S608


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
