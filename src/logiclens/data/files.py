"""Tables in files: delimited text, JSON lines and Parquet, read whole or refused in one sentence."""

from __future__ import annotations

import codecs
import contextlib
import csv
import difflib
import gzip
import hashlib
import importlib
import io
import json
import os
import re
import secrets
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logiclens.errors import LogicLensError

TEXT, PARQUET, JSON = (".csv", ".tsv", ".txt", ".data"), (".parquet", ".pq"), (".jsonl", ".ndjson", ".json")
WRITTEN = (".csv", ".tsv", ".jsonl", ".ndjson")
DELIMITERS = (",", ";", "\t", "|")

_BLOCK = 1 << 20
_CODE = re.compile(r"\s*0[0-9]+\s*")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?(([0-9]+,[0-9]*|,[0-9]+|0|[1-9][0-9]*)([eE][+-]?[0-9]+)?|inf)\s*")
_OFFSET = "(Z|[+-][0-9]{2}:?[0-9]{2})"
_DATE = re.compile(rf"[0-9]{{4}}(-[0-9]{{2}}){{2}}([T ][0-9]{{2}}(:[0-9]{{2}}){{1,2}}([.][0-9]{{1,9}})?{_OFFSET}?)?")


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table and where it came from.

    Args:
        frame: the table.
        name: the name of the file, or "standard input".
        sha256: of the bytes as they are, compressed if they are.
        n_bytes: how many bytes that are.
    """

    frame: pd.DataFrame
    name: str
    sha256: str
    n_bytes: int


def read_table(
    source: str | Path, *, delimiter: str | None = None, missing: Sequence[str] = (), stream: BinaryIO | None = None
) -> TableFile:
    """Read a table from a file, or from standard input (`stream`) if the source is "-".

    The suffix names the format (`.csv .tsv .txt .data`, `.parquet .pq`, `.jsonl .ndjson .json`, any of them with
    `.gz`); standard input is looked at. The delimiter of a text is found if it is not given, and spaces before a field
    are dropped. `missing` are texts that mean a missing value, beside those that pandas knows.
    """
    given = None if delimiter is None else _checked_delimiter(delimiter)
    absent = frozenset([missing] if isinstance(missing, str) else missing)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "input" if str(source) == "-" else Path(source)
        name = "standard input" if str(source) == "-" else path.name
        try:
            if str(source) == "-":
                with path.open("wb") as copy:
                    shutil.copyfileobj(stream or sys.stdin.buffer, copy)
            suffix = "" if str(source) == "-" else _checked_suffix(path)
            with path.open("rb") as file:
                sha256, n_bytes = hashlib.file_digest(file, "sha256").hexdigest(), file.seek(0, os.SEEK_END)
            path = _plain(path, Path(scratch), name)
            frame = _frame(path, name, suffix or _sniffed(path), given, absent)
        except UnicodeDecodeError:
            raise _not_utf8(path, name) from None
        except OSError as error:
            raise LogicLensError(f"cannot read {source}: {error.strerror or error}.") from None
    return TableFile(frame, name, sha256, n_bytes)


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table as its suffix says: `.csv`, `.tsv` or `.jsonl`, each also with `.gz`, or `.parquet`.

    The file appears when it is whole; until then an older one stays as it is.
    """
    # A link is written through, not replaced.
    target = Path(os.path.realpath(path))
    suffix, packed = _suffix(target), target.suffix.lower() == ".gz"
    if suffix not in WRITTEN and (packed or suffix not in PARQUET):
        raise LogicLensError(
            f"cannot write {path}: its name must end in .csv, .tsv, .jsonl (or that and .gz) or .parquet."
        )
    if target.is_dir():
        raise LogicLensError(f"cannot write {path}: it is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise LogicLensError(f"cannot write {path}: there is no folder {target.parent}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise LogicLensError(f"cannot write {path}: the file that is there may not be changed.")
    _checked_names([str(column) for column in frame.columns], f"the table for {path}")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file, _packed(file) if packed else contextlib.nullcontext(file) as out:
            _write(frame, out, suffix)
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    except OSError as error:
        raise LogicLensError(f"cannot write {path}: {error.strerror or error}.") from None
    except LogicLensError:
        raise
    except (ValueError, TypeError, NotImplementedError) as error:
        # What the format cannot hold; the errors of json and pyarrow are of these kinds.
        raise LogicLensError(f"cannot write {path}: {_sentence(error)}.") from None
    finally:
        part.unlink(missing_ok=True)


def mixed_columns(frame: pd.DataFrame) -> dict[str, tuple[str, int]]:
    """Text columns that are numbers but for some cells: the first such cell, and its row counted from 1.

    More than half of the cells that are not missing must be numbers. A column with codes such as 00123 is text on
    purpose and is not named.

    >>> mixed_columns(pd.DataFrame({"age": ["31", "about 40", "52"], "who": ["Ann", "Bo", "Cy"]}))
    {'age': ('about 40', 2)}
    """
    mixed = {}
    for name, column in frame.items():
        if _kind(column) not in ("text", "mixed"):
            continue
        there = column.notna().to_numpy()
        number = pd.to_numeric(column, errors="coerce").notna().to_numpy()
        if not there.sum() / 2 < number.sum() < there.sum():
            continue
        if not column[number].astype(str).str.fullmatch(_CODE.pattern).any():
            row = int(np.flatnonzero(there & ~number)[0])
            mixed[str(name)] = (str(column.iloc[row]), row + 1)
    return mixed


# Which file, which format --------------------------------------------------------------------------------------------


def _suffix(path: Path) -> str:
    """What the name ends in, `.gz` left aside."""
    return os.path.splitext(path.name.lower().removesuffix(".gz"))[1]


def _checked_suffix(path: Path) -> str:
    """The suffix of a file that is there and of a known format."""
    if path.is_dir():
        raise LogicLensError(f"{path} is a folder: name a file in it.")
    if not path.exists():
        if not path.parent.is_dir():
            raise LogicLensError(f"there is no file {path}, and no folder {path.parent} either.")
        near = difflib.get_close_matches(path.name, sorted(os.listdir(path.parent)), n=1)
        raise LogicLensError(f"there is no file {path}" + (f"; did you mean {near[0]}?" if near else "."))
    if _suffix(path) not in TEXT + PARQUET + JSON:
        known = " ".join(TEXT + PARQUET + JSON)
        raise LogicLensError(
            f"{path.name} is of no known format: its name must end in one of {known}, or that and .gz."
        )
    return _suffix(path)


def _plain(path: Path, scratch: Path, name: str) -> Path:
    """The same table uncompressed and, if it is text, in UTF-8, so that all that follows has one case."""
    if _head(path) == b"\x1f\x8b":
        try:
            with gzip.open(path, "rb") as packed, (scratch / "plain").open("wb") as copy:
                shutil.copyfileobj(packed, copy, _BLOCK)
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise LogicLensError(f"{name} is a damaged or cut-off gz file: copy it again.") from None
        path = scratch / "plain"
    if _head(path) not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return path
    try:
        with path.open(encoding="utf-16", newline="") as wide, (scratch / "utf8").open("wb") as narrow:
            shutil.copyfileobj(wide, codecs.getwriter("utf-8")(narrow), _BLOCK)
    except UnicodeError:
        raise LogicLensError(f"{name} starts as UTF-16 but cannot be decoded: save it as UTF-8.") from None
    return scratch / "utf8"


def _head(path: Path, size: int = 2) -> bytes:
    with path.open("rb") as file:
        return file.read(size)


def _sniffed(path: Path) -> str:
    """The suffix that standard input would have as a file."""
    head = _head(path, _BLOCK)
    if head.startswith(b"PAR1"):
        return ".parquet"
    return ".json" if re.match(rb"\s*(\{|\[\s*\{)", head.removeprefix(codecs.BOM_UTF8)) else ".txt"


def _frame(path: Path, name: str, suffix: str, delimiter: str | None, missing: frozenset[str]) -> pd.DataFrame:
    """The table in a plain file."""
    if not _head(path, _BLOCK).removeprefix(codecs.BOM_UTF8).strip():
        raise LogicLensError(f"{name} is empty.")
    if suffix in PARQUET:
        frame = _read_parquet(path, name, missing)
    elif suffix in JSON:
        frame = _read_json(path, name, missing)
    else:
        # The csv module would refuse a long text in a cell that pandas reads.
        limit = csv.field_size_limit(2**31 - 1)
        try:
            layout = _layout(path, name, delimiter or ("\t" if suffix == ".tsv" else None))
            frame = _read_text(layout, missing)
        finally:
            csv.field_size_limit(limit)
    if len(frame) == 0:
        raise LogicLensError(f"{name} has no rows.")
    return frame


def _text(path: Path) -> TextIO:
    return path.open(encoding="utf-8-sig", newline="")


def _not_utf8(path: Path, name: str) -> LogicLensError:
    """The error for another encoding. The whole is decoded again, because pandas counts from the start of a cell."""
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return LogicLensError(f"{name} is not UTF-8: byte 0x{byte:02x} at position {error.start}; save it as UTF-8.")
    return LogicLensError(f"{name} is not UTF-8: save it as UTF-8.")


def _checked_names(names: list[str], name: str) -> list[str]:
    """Names that are there and differ."""
    seen: dict[str, int] = {}
    for place, column in enumerate(names, 1):
        if not column.strip():
            raise LogicLensError(
                f"column {place} of {name} has no name: name it, or leave it out if it only counts rows."
            )
        if column in seen:
            raise LogicLensError(f"columns {seen[column]} and {place} of {name} are both named {column!r}: rename one.")
        seen[column] = place
    return names


def _sentence(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".")


# Types ---------------------------------------------------------------------------------------------------------------


def _kind(column: pd.Series[Any]) -> str:
    """Whether a column holds numbers, text, flags, a mix of them, or something else."""
    if column.dtype.kind in "iuf":
        return "number"
    if column.dtype.kind != "O":
        return "other"
    kinds = {"string": "text", "boolean": "flag", "integer": "number", "floating": "number", "empty": "other"}
    inferred = pd.api.types.infer_dtype(column, skipna=True)
    return kinds.get(inferred, "number" if inferred == "mixed-integer-float" else "mixed")


def _typed(frame: pd.DataFrame, *, decimal_comma: bool = False) -> pd.DataFrame:
    """Text that is dates or, if asked for, numbers with a decimal comma throughout a column becomes that."""
    for name, column in frame.items():
        kind = _kind(column)
        if kind == "number" and column.dtype == object:
            # Whole numbers beyond 64 bits.
            frame[name] = column.astype(float)
        elif kind == "text" and decimal_comma and _all_match(column, _DECIMAL_COMMA):
            frame[name] = pd.to_numeric(column.str.replace(",", ".", regex=False))
        elif kind == "text" and _all_match(column, _DATE):
            frame[name] = _dates(column)
    return frame


def _all_match(column: pd.Series[Any], pattern: re.Pattern[str]) -> bool:
    cells = column.dropna()
    # The first cell nearly always decides, at no cost.
    return bool(pattern.fullmatch(cells.iloc[0])) and bool(cells.str.fullmatch(pattern.pattern).all())


def _dates(column: pd.Series[Any]) -> pd.Series[Any]:
    """Dates from their ISO texts; the texts themselves where one is no day of the calendar."""
    offset = column.dropna().str.fullmatch(f".*{_OFFSET}")
    if offset.any() and not offset.all():
        return column
    try:
        return pd.to_datetime(column, format="ISO8601", utc=bool(offset.any()))
    except ValueError:
        return column


# Delimited text ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layout:
    """How a delimited text is laid out."""

    path: Path
    name: str
    delimiter: str
    columns: tuple[str, ...]


def _checked_delimiter(delimiter: str) -> str:
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum() or delimiter in '"\r\n':
        raise LogicLensError(f"the delimiter must be one character such as ',' ';' '|' or a tab, got {delimiter!r}.")
    return delimiter


def _shown(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else repr(delimiter)


def _records(text: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a text, each with the line it starts on; blank lines are no records."""
    reader, line = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter != " "), 1
    for fields in reader:
        if len(fields) > 1 or "".join(fields).strip(" \t"):
            yield line, fields
        line = reader.line_num + 1


def _layout(path: Path, name: str, wanted: str | None) -> _Layout:
    """Delimiter and header, from the first lines."""
    with _text(path) as text:
        sample = text.read(_BLOCK)
    if "\0" in sample:
        raise LogicLensError(f"{name} is not text, as it holds zero bytes: save it as UTF-8.")
    if not sample.strip():
        raise LogicLensError(f"{name} is empty.")
    widths = {mark: _widths(sample, mark) for mark in {*DELIMITERS, wanted or ","}}
    splits = [mark for mark in DELIMITERS if widths[mark][0] > 1]
    clear = [mark for mark in splits if len(set(widths[mark])) == 1]
    found = max(clear or splits, key=lambda mark: widths[mark][0], default=",")
    delimiter = wanted or found
    if widths[delimiter][0] == 1 and clear:
        raise LogicLensError(
            f"with the delimiter {_shown(delimiter)} {name} has one column, "
            f"but {_shown(found)} splits it into {widths[found][0]}: use that."
        )
    with _text(path) as text:
        _, header = next(_records(text, delimiter))
    layout = _Layout(path, name, delimiter, tuple(cell.strip() for cell in header))
    if set(widths[delimiter]) != {len(header)}:
        _refuse_bad_line(layout)
    _checked_names(list(layout.columns), name)
    return layout


def _widths(sample: str, delimiter: str) -> list[int]:
    """How many fields the first records have."""
    widths = [len(fields) for _, fields in islice(_records(io.StringIO(sample, newline=""), delimiter), 100)]
    # The last may have been cut off.
    return (widths[:-1] if len(sample) == _BLOCK and 1 < len(widths) < 100 else widths) or [1]


def _read_text(layout: _Layout, missing: frozenset[str]) -> pd.DataFrame:
    """Let pandas read; what it would pass over in silence is looked for, line by line only if the bytes give cause."""
    try:
        frame = _parse(layout, missing)
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _refuse_bad_line(layout)
        raise LogicLensError(f"{layout.name} cannot be read: {_sentence(error)}.") from None
    n_columns = len(layout.columns)
    n_delimiters, quotes = _count_marks(layout)
    # A row that is too short is padded. Without quotes, the number of delimiters tells whether there is one.
    if frame.iloc[:, -1].isna().any() if quotes else n_delimiters != (n_columns - 1) * (len(frame) + 1):
        _refuse_bad_line(layout)
    kinds = [_kind(frame[place]) for place in range(n_columns)]
    texts = {place for place, kind in enumerate(kinds) if kind == "mixed"}
    texts |= _code_columns(layout, [place for place, kind in enumerate(kinds) if kind == "number"], quotes=quotes)
    if texts:
        again = _parse(layout, missing, usecols=sorted(texts), dtype=str)
        for place in texts:
            frame[place] = again[place]
    frame.columns = pd.Index(layout.columns)
    return _typed(frame, decimal_comma=layout.delimiter == ";")


def _parse(layout: _Layout, missing: frozenset[str], **options: Any) -> pd.DataFrame:
    """What pandas makes of the rows; columns are numbered, as pandas would rename those of one name."""
    options |= {"names": range(len(layout.columns)), "header": 0, "index_col": False, "na_values": sorted(missing)}
    options |= {"sep": layout.delimiter, "skipinitialspace": layout.delimiter != " ", "compression": None}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
        # Before, pandas took the last digit of a number lightly; since, it warns of this option.
        options["float_precision"] = "round_trip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        warnings.simplefilter("error", pd.errors.ParserWarning)
        # By its path, because pandas reads a file that it opened itself in several threads.
        frame: pd.DataFrame = pd.read_csv(layout.path, **options)
    return frame


def _count_marks(layout: _Layout) -> tuple[int, bool]:
    """How many delimiters the bytes hold, and whether there is a quote."""
    n_delimiters, quotes = 0, False
    with layout.path.open("rb") as file:
        while block := file.read(_BLOCK):
            n_delimiters += int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(layout.delimiter)))
            quotes = quotes or b'"' in block
    return n_delimiters, quotes


def _code_columns(layout: _Layout, places: list[int], *, quotes: bool) -> set[int]:
    """Which of some columns have a cell such as 00123: not a number, as its zeros count."""
    ends = b'[\r\n"' + re.escape(layout.delimiter).encode() + b"]"
    code = re.compile(ends + b" *0[0-9]+ *" + ends)
    codes: set[int] = set()
    if not quotes:
        for block, zeros in _leading_zeros(layout):
            columns, before = _columns_at(block, zeros, ord(layout.delimiter))
            for place in set(places).intersection(columns.tolist()) - codes:
                if any(code.match(block, start) for start in before[columns == place]):
                    codes.add(place)
    elif any(code.search(block) for block, _ in _leading_zeros(layout)):
        with _text(layout.path) as text:
            for _, fields in islice(_records(text, layout.delimiter), 1, None):
                codes.update(place for place in places if fields[place][:1] in "0 " and _CODE.fullmatch(fields[place]))
    return codes


def _leading_zeros(layout: _Layout) -> Iterator[tuple[bytes, NDArray[np.intp]]]:
    """Blocks of whole lines, and where in each a 0 before another digit follows a delimiter, a quote or a space."""
    with layout.path.open("rb") as file:
        while content := file.read(_BLOCK):
            block = b"\n" + content + file.readline() + b"\n"
            cells = np.frombuffer(block, np.uint8)
            before, digit, after = cells[:-2], cells[1:-1], cells[2:]
            found = digit == ord("0")
            found &= (before <= ord('"')) | (before == ord(layout.delimiter))
            found &= (after - ord("0")) < 10
            zeros = np.flatnonzero(found) + 1
            if file.tell() == len(block) - 2:
                # The header may hold what it likes.
                header = re.search(rb"\S[^\r\n]*", block)
                zeros = zeros[zeros > (header.end() if header else 0)]
            if len(zeros):
                yield block, zeros


def _columns_at(block: bytes, places: NDArray[np.intp], mark: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """In which column of a text without quotes some bytes stand, and the last byte before their cell."""
    cells = np.frombuffer(block, np.uint8)
    ends, marks = np.flatnonzero((cells == ord("\n")) | (cells == ord("\r"))), np.flatnonzero(cells == mark)
    line = ends[np.searchsorted(ends, places) - 1]
    n_before = np.searchsorted(marks, places)
    columns = n_before - np.searchsorted(marks, line)
    return columns, np.where(columns > 0, marks[n_before - 1] if len(marks) else line, line)


def _refuse_bad_line(layout: _Layout) -> None:
    """Raise for the first line that has too many fields or too few, or whose quote stays open."""
    with _text(layout.path) as text:
        reader, line = csv.reader(text, delimiter=layout.delimiter, skipinitialspace=True, strict=True), 1
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise LogicLensError(f"line {line} of {layout.name} opens a quote that is never closed.") from None
    with _text(layout.path) as text:
        for line, fields in _records(text, layout.delimiter):
            if len(fields) != len(layout.columns):
                found = f"{len(fields)} field" + "s" * (len(fields) != 1)
                hint = f": a field with {_shown(layout.delimiter)} inside must be in quotes."
                raise LogicLensError(
                    f"line {line} of {layout.name} has {found}, but the header has {len(layout.columns)}"
                    + (hint if len(fields) > len(layout.columns) else ".")
                )


# JSON and Parquet ----------------------------------------------------------------------------------------------------


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it is written, so that a name that comes twice is not lost."""


def _read_json(path: Path, name: str, missing: frozenset[str]) -> pd.DataFrame:
    """JSON lines, or an array of flat objects."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    with _text(path) as text:
        for where, record in _json_records(text, name):
            if not isinstance(record, _Pairs):
                raise LogicLensError(f'{where} is not an object such as {{"age": 31}}.')
            if len(dict(record)) < len(record):
                _checked_names([key for key, _ in record], where)
            for key, value in record:
                if isinstance(value, list):
                    raise LogicLensError(
                        f"the field {key!r} in {where} holds a list or an object: a cell must be one value."
                    )
                cells = columns.setdefault(key, [])
                if len(cells) < n_rows:
                    cells.extend([None] * (n_rows - len(cells)))
                cells.append(value)
            n_rows += 1
    _checked_names(list(columns), name)
    if n_rows and not columns:
        raise LogicLensError(f"the objects of {name} have no fields.")
    return _typed(pd.DataFrame({key: _json_column(cells, n_rows, missing) for key, cells in columns.items()}))


def _json_records(text: TextIO, name: str) -> Iterator[tuple[str, Any]]:
    """The values of a text, each with where it stands."""
    array = text.read(_BLOCK).lstrip().startswith("[")
    text.seek(0)
    line = 1
    try:
        if array:
            for place, value in enumerate(json.loads(text.read(), object_pairs_hook=_Pairs), 1):
                yield f"object {place} of {name}", value
            return
        for line, content in enumerate(text, 1):
            if content.strip():
                yield f"line {line} of {name}", json.loads(content, object_pairs_hook=_Pairs)
    except RecursionError:
        raise LogicLensError(f"line {line} of {name} is nested too deeply: expected flat objects.") from None
    except json.JSONDecodeError as error:
        line = error.lineno if array else line
        raise LogicLensError(
            f"line {line} of {name} is not JSON ({error.msg}): expected one object on each line, or an array of them."
        ) from None


def _json_column(cells: list[Any], n_rows: int, missing: frozenset[str]) -> pd.Series[Any]:
    """A column from JSON values; numbers among texts become texts."""
    cells = [None if isinstance(cell, str) and cell in missing else cell for cell in cells]
    cells.extend([None] * (n_rows - len(cells)))
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {int, float}:
        column = pd.Series(cells)
        return column.astype(float) if column.dtype == object else column
    return pd.Series(cells if len(kinds) == 1 else [None if cell is None else str(cell) for cell in cells])


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise LogicLensError("Parquet needs pyarrow: pip install 'logiclens[parquet]'.") from None


def _read_parquet(path: Path, name: str, missing: frozenset[str]) -> pd.DataFrame:
    """Parquet, with each column as the plain type that pandas has for it."""
    arrow, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
    try:
        with path.open("rb") as file:
            table = parquet.ParquetFile(file).read()
    except (arrow.ArrowException, OSError) as error:
        raise LogicLensError(f"{name} is not a whole Parquet file: {_sentence(error)}.") from None
    # What pandas writes for an index without a name is not a column of the table.
    kept = [place for place, key in enumerate(table.column_names) if not re.fullmatch("__index_level_[0-9]+__", key)]
    table = table.select(kept)
    columns = {}
    for key, cells in zip(_checked_names(table.column_names, name), table.columns, strict=True):
        try:
            columns[key] = cells.cast(_plain_type(cells.type, arrow)).to_pandas()
        except arrow.ArrowException:
            raise LogicLensError(
                f"the column {key!r} of {name} holds {cells.type}: a cell must be one value."
            ) from None
        if missing and _kind(columns[key]) == "text":
            columns[key] = columns[key].mask(columns[key].isin(missing))
    return _typed(pd.DataFrame(columns))


def _plain_type(kind: Any, arrow: Any) -> Any:
    """The type to read an Arrow type as."""
    types = arrow.types
    if types.is_dictionary(kind):
        return _plain_type(kind.value_type, arrow)
    if types.is_decimal(kind) or types.is_null(kind):
        return arrow.float64()
    if types.is_date(kind):
        return arrow.timestamp("ms")
    plain = types.is_primitive(kind) and not types.is_time(kind)
    # Bytes that are text were written so by older tools; what cannot become text is refused by the cast.
    return kind if plain else arrow.string()


# Writing -------------------------------------------------------------------------------------------------------------


def _packed(file: BinaryIO) -> gzip.GzipFile:
    """Compressed with no name and no time inside, so that the same table gives the same bytes."""
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


def _write(frame: pd.DataFrame, out: Any, suffix: str) -> None:
    if suffix in PARQUET:
        _pyarrow("pyarrow")
        frame.to_parquet(out, engine="pyarrow", index=False)
    elif suffix in JSON:
        for start in range(0, len(frame), 10_000):
            part = frame.iloc[start : start + 10_000].astype(object)
            for row in part.where(part.notna(), None).itertuples(index=False, name=None):
                record = dict(zip(map(str, frame.columns), row, strict=True))
                out.write(json.dumps(record, ensure_ascii=False, allow_nan=False, default=_json_value).encode() + b"\n")
    else:
        sep = "\t" if suffix == ".tsv" else ","
        frame.to_csv(out, sep=sep, index=False, mode="wb", encoding="utf-8", lineterminator="\n")


def _json_value(value: Any) -> Any:
    """A date as its ISO text; what else json does not know as the number or text it stands for."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else str(value)
