"""Excel workbooks: a sheet is read as the CSV that it would be saved as, and a table is written as a sheet."""

from __future__ import annotations

import csv
import re
import warnings
import zipfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

import pandas as pd

from logiclens.errors import LogicLensError, nearest, quoted, quoted_names
from logiclens.storage import scratch_folder
from logiclens.tables.formats import BLOCK, begins_a_formula, sentence
from logiclens.words import readable, shortened

MOST_ROWS, LONGEST_TEXT = 1_048_576, 32_767
"""The most rows of a sheet, and the most characters of a cell."""
MOST_BYTES, MOST_CELLS = 2**31, 100_000_000
"""The most bytes of a workbook that is unpacked, and the most cells from the first to the last used one."""


def sheet_to_csv(path: Path, name: str, sheet: str | None, out: Path) -> None:
    """Write a sheet of a workbook, by default the first, as CSV in UTF-8, so that it is read as such a file is.

    Formulas have the values that the workbook keeps of them. Dates become ISO texts, whole numbers have no point.
    """
    with _opened(path, name, sheet) as (rows, where):
        _write(_used(rows, where), where, out)


def sheet_cells(path: Path, name: str, sheet: str | None = None) -> dict[tuple[int, int], str]:
    """Return the texts of the cells of a sheet that are not empty, by row (from 1) and column (from 0).

    A formula is refused, because what it shows is not what somebody wrote.

    Args:
        path: the workbook.
        name: what messages call it.
        sheet: the name of the sheet. Default: the first.
    """
    with _opened(path, name, sheet, values=False) as (rows, where):
        return {
            (row.number, row.column - 1 + at): text
            for row in _used(rows, where)
            for at, text in enumerate(row.texts)
            if text
        }


@contextmanager
def _opened(path: Path, name: str, sheet: str | None, *, values: bool = True) -> Iterator[tuple[Iterable[Any], str]]:
    """Open a sheet; give its rows, with the `values` of formulas or with these, and how messages call the sheet."""
    with path.open("rb") as file, warnings.catch_warnings():
        # About styles and extensions, which are no part of the table.
        warnings.simplefilter("ignore")
        try:
            with zipfile.ZipFile(file) as archive:
                _check_parts(archive, name)
            reader = _reader(file)
            chosen = _chosen(list(reader.parts), sheet, name)
            where = f"of the sheet {quoted(chosen)} of {name}"
            with reader.archive, reader.archive.open(reader.parts[chosen]) as part:
                yield reader.rows(part, values), where
        except (LogicLensError, MemoryError):
            raise
        except Exception as error:
            # A damaged file fails in the reader of zip, of XML or of one of the parts.
            raise LogicLensError(f"{name} is not a whole Excel workbook: {sentence(error)}.") from None


def _check_parts(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse a workbook that unpacks to more than can be meant, or declares entities, which grow while they are read.

    The reader of zip gives no more of a part than the size that it declares.
    """
    parts = archive.infolist()
    unpacked = sum(part.file_size for part in parts)
    if unpacked > MOST_BYTES:
        raise LogicLensError(
            f"{name} unpacks to {unpacked:,} bytes, and at most {MOST_BYTES:,} are read: save the sheet as CSV (UTF-8)."
        )
    for part in parts:
        with archive.open(part) as file:
            if _declares_a_type(file):
                raise LogicLensError(
                    f"{name} has a document type declaration in {quoted(part.filename)}, which no workbook needs: "
                    "save it again in Excel."
                )


def _declares_a_type(file: IO[bytes]) -> bool:
    """Whether an XML part has a document type declaration, which can only stand before its first element."""
    seen: list[bool] = []
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = lambda *_: seen.append(True)
    parser.StartElementHandler = lambda *_: seen.append(False)
    try:
        while not seen and (block := file.read(BLOCK)):
            parser.Parse(block)
    except expat.ExpatError:
        # Not XML, or damaged: whoever needs the part says so.
        pass
    return bool(seen) and seen[0]


def _reader(file: IO[bytes]) -> Any:
    """Open a workbook. The reader has the parts of its sheets by their names, and reads the rows of a part.

    openpyxl's own sheets fill every gap between cells, lose rows that are out of order, and cannot tell `_x0041_`,
    which stands for the letter A, from a text with these seven letters.
    """
    # Imported here, because only workbooks need it.
    from openpyxl.cell.text import Text  # type: ignore[import-untyped]
    from openpyxl.reader.excel import ExcelReader  # type: ignore[import-untyped]
    from openpyxl.worksheet._reader import WorkSheetParser  # type: ignore[import-untyped]
    from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS  # type: ignore[import-untyped]
    from openpyxl.xml.functions import iterparse  # type: ignore[import-untyped]

    class Reader(ExcelReader):  # type: ignore[misc]
        def read_strings(self) -> None:
            part = self.package.find(SHARED_STRINGS)
            if part is None:
                return
            with self.archive.open(part.PartName[1:]) as source:
                for _, node in iterparse(source):
                    if node.tag == f"{{{SHEET_MAIN_NS}}}si":
                        self.shared_strings.append(Text.from_tree(node).content)
                        node.clear()

        def read_worksheets(self) -> None:
            self.parts = {
                sheet.name: relation.target
                for sheet, relation in self.parser.find_sheets()
                if relation.target in self.valid_files and "chartsheet" not in relation.Type
            }

        def rows(self, part: IO[bytes], values: bool) -> Iterator[tuple[int, list[dict[str, Any]]]]:
            book = self.wb
            yield from WorkSheetParser(
                part, self.shared_strings, data_only=values, epoch=book.epoch,
                date_formats=book._date_formats, timedelta_formats=book._timedelta_formats,
            ).parse()  # fmt: skip

    reader = Reader(file, read_only=True, data_only=True, keep_links=False)
    reader.read()
    return reader


def _chosen(names: Sequence[str], sheet: str | None, name: str) -> str:
    if not names:
        raise LogicLensError(f"{name} has no sheet.")
    if sheet is None:
        return names[0]
    if sheet not in names:
        near = nearest(sheet, names)
        hint = f"did you mean {quoted(near)}?" if near else f"its sheets are {quoted_names(names)}."
        raise LogicLensError(f"{name} has no sheet {quoted(sheet)}; {hint}")
    return sheet


@dataclass(frozen=True)
class _Row:
    """The texts of a row from its first used cell to its last; row and column count from 1."""

    number: int
    column: int
    texts: Sequence[str]


def _used(rows: Iterable[tuple[int, list[dict[str, Any]]]], where: str) -> list[_Row]:
    """Return the rows that have a text."""
    table: list[_Row] = []
    last_row = n_cells = 0
    for number, cells in rows:
        if not last_row < number <= MOST_ROWS:
            raise LogicLensError(
                f"row {number} {where} follows row {last_row}, but rows are numbered upwards to {MOST_ROWS}: "
                "save it again in Excel."
            )
        last_row = number
        texts = {cell["column"]: text for cell in cells if (text := _text(cell, where))}
        if not texts:
            continue
        if len({cell["column"] for cell in cells}) < len(cells):
            raise LogicLensError(f"row {number} {where} has two cells in one place: save it again in Excel.")
        columns = range(min(texts), max(texts) + 1)
        table.append(_Row(number, columns[0], [texts.get(column, "") for column in columns]))
        n_cells += len(columns)
        _check_size(n_cells, where)
    if not table:
        raise LogicLensError(f"no cell {where} has a value: is it another sheet?")
    return table


def _write(table: Sequence[_Row], where: str, out: Path) -> None:
    """Write the cells from the first used row and column on to the last."""
    first, last = min(row.column for row in table), max(row.column + len(row.texts) for row in table)
    _check_size((last - first) * (table[-1].number + 1 - table[0].number), where)
    _write_table(table, range(first, last), where, out)


def _check_size(n_cells: int, where: str) -> None:
    if n_cells > MOST_CELLS:
        raise LogicLensError(
            f"more than {MOST_CELLS:,} cells {where} lie between the first and the last used one: is a cell far off "
            "the table?"
        )


def _write_table(table: Sequence[_Row], columns: range, where: str, out: Path) -> None:
    above, n_bytes = table[0].number - 1, 0
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        # An empty line would be skipped.
        empty = "," * (len(columns) - 1) + "\n" if len(columns) > 1 else '""\n'
        for row in table:
            file.write(empty * (row.number - 1 - above))
            end = row.column + len(row.texts)
            before, after = row.column - columns.start, columns.stop - end
            n_bytes += writer.writerow([*[""] * before, *row.texts, *[""] * after])
            above = row.number
            if n_bytes > MOST_BYTES:
                raise LogicLensError(f"the texts {where} need more than {MOST_BYTES:,} bytes: leave out long texts.")


def _text(cell: Mapping[str, Any], where: str) -> str:
    """Return a cell as a CSV file has it."""
    value = cell["value"]
    if cell["data_type"] == "f":
        raise LogicLensError(
            f"cell {address(cell['column'] - 1, cell['row'])} {where} holds a formula: write a text or a number there."
        )
    if value is None:
        return ""
    if cell["data_type"] == "e" and value != "#N/A":
        raise LogicLensError(
            f"cell {address(cell['column'] - 1, cell['row'])} {where} holds the error "
            f"{shortened(readable(str(value)), 40)}: mend its formula, or leave the cell empty."
        )
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(pd.Timedelta(value))
    return _ESCAPED.sub(_unescaped, value).replace("\0", "") if isinstance(value, str) else str(value)


_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
"""How a workbook writes a character that XML does not have, and the first letter of what would be read as such."""


def _unescaped(found: re.Match[str]) -> str:
    letter = chr(int(found[1], 16))
    # Half of a surrogate pair is no character.
    return found[0] if "\ud800" <= letter <= "\udfff" else letter


def address(column: int, row: int) -> str:
    """Return the address of a cell; columns count from 0, rows from 1.

    >>> address(0, 1), address(27, 3)
    ('A1', 'AB3')
    """
    letters = ""
    while column >= 0:
        letters, column = chr(ord("A") + column % 26) + letters, column // 26 - 1
    return f"{letters}{row}"


def sheet_writer(out: Any, *, keep_formulas: bool = False) -> Generator[None, pd.DataFrame, None]:
    """Write the chunks that are sent as one sheet, the names of the columns first.

    Texts are written as texts. Those that begin as formulas do are also marked as by an apostrophe that somebody types,
    so that they stay texts when they are edited; with `keep_formulas` they are formulas.
    """
    import xlsxwriter  # type: ignore[import-untyped]
    from xlsxwriter.exceptions import FileCreateError  # type: ignore[import-untyped]

    with scratch_folder() as scratch:
        options = {
            "constant_memory": True,
            # Not that of the system, where a program that is stopped would leave its files.
            "tmpdir": str(scratch),
            "strings_to_formulas": keep_formulas,
            "strings_to_urls": False,
            "strings_to_numbers": False,
            "default_date_format": "yyyy-mm-dd hh:mm:ss",
        }
        book = xlsxwriter.Workbook(out, options)
        # The same table gives the same bytes.
        book.set_properties({"created": datetime(2000, 1, 1)})
        marked = None if keep_formulas else book.add_format({"quote_prefix": True})
        sheet, row = book.add_worksheet("rows"), 0
        try:
            while True:
                frame = yield
                if row == 0:
                    _write_row(sheet, 0, [str(column) for column in frame.columns], marked)
                    row = 1
                if row + len(frame) > MOST_ROWS:
                    raise LogicLensError(
                        f"a sheet holds at most {MOST_ROWS - 1:,} rows: write .csv or .parquet instead."
                    )
                cells = frame.astype(object)
                for line in cells.where(cells.notna(), None).itertuples(index=False, name=None):
                    _write_row(sheet, row, line, marked)
                    row += 1
        except GeneratorExit:
            try:
                book.close()
            except FileCreateError as error:
                # What the system said, such as a full disk.
                raise error.args[0] from None
            raise


def _write_row(sheet: Any, row: int, cells: Sequence[Any], marked: Any) -> None:
    """Write a row; `marked` is the format of texts that begin as formulas do."""
    for column, cell in enumerate(cells):
        if cell is None:
            continue
        value = _plain(cell)
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            raise LogicLensError(
                f"a cell of a sheet holds at most {LONGEST_TEXT:,} characters, {address(column, row + 1)} needs "
                f"{len(value):,}: write .csv or .parquet instead."
            )
        shown = marked if isinstance(value, str) and begins_a_formula(value) else None
        if sheet.write(row, column, value, shown) != 0:
            raise LogicLensError(f"the cell {address(column, row + 1)} does not fit into a sheet: write .csv instead.")


def _plain(cell: Any) -> Any:
    """Return a value that a sheet can hold; what it cannot hold becomes a text."""
    if isinstance(cell, pd.Timestamp):
        plain = cell.tz_convert("UTC").tz_localize(None) if cell.tzinfo is not None else cell
        return plain.to_pydatetime(warn=False) if 1900 < plain.year < 9999 else plain.isoformat()
    if isinstance(cell, pd.Timedelta):
        return str(cell)
    plain = cell.item() if hasattr(cell, "item") else cell
    if isinstance(plain, int) and not isinstance(plain, bool) and abs(plain) >= 2**53:
        return str(plain)
    if isinstance(plain, float) and (plain != plain or abs(plain) == float("inf")):
        return str(plain)
    return plain if isinstance(plain, str | int | float | bool) else str(plain)
