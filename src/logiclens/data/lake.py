"""Lakes: files too many or too large to be read, as a table of an engine that looks into them where they are."""

from __future__ import annotations

import glob
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from logiclens.data.asking import is_engine_table
from logiclens.data.faults import in_a_line, stop
from logiclens.data.names import DATABASES, names_several
from logiclens.data.readers import Engine, Format, Reader, kind_of_file
from logiclens.data.sessions import spark_session
from logiclens.data.spill import connected
from logiclens.errors import LogicLensError

if TYPE_CHECKING:
    import ibis.expr.types as ir

ENGINES: tuple[Engine, ...] = ("duckdb", "spark")
_FORMATS: dict[str, Format] = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json",
    ".ndjson": "json",
}  # fmt: skip


def is_lake(source: Any) -> bool:
    """Whether rows are to be counted where they are: a table of Ibis, a folder, or a pattern such as `2026/*.parquet`.

    A single file is read.
    """
    if is_engine_table(source):
        return True
    return isinstance(source, str | os.PathLike) and names_several(os.fspath(source))


def in_engine(
    source: Any,
    engine: Engine = "duckdb",
    *,
    memory: str | None = None,
    threads: int | None = None,
    per_file: bool = False,
) -> Any:
    """A source as a table of Ibis; one that is a table already stays where it is.

    Args:
        source: the name of a file, a pattern, a folder of files of one kind, or a table of Ibis.
        engine: `"duckdb"`, in this process, or `"spark"`: the session that is there, or that `SPARK_REMOTE` names, or
            a local one.
        memory: the most that DuckDB may take before it uses the disk, such as `"4GB"`.
        threads: of DuckDB; one for each core if not said.
        per_file: whether rows keep the name of their file, which `statistics(table, target, per_file=True)` asks for.
    """
    if is_engine_table(source):
        return source
    if engine not in ENGINES:
        raise LogicLensError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}.")
    if engine == "spark" and (memory is not None or threads is not None):
        raise LogicLensError("memory and threads are told to DuckDB; Spark has settings of its own for them.")
    files, kind = _files(os.fspath(source))
    if kind in DATABASES:
        if per_file:
            raise LogicLensError(f"{files[0]} is a database, whose rows come from no files to tell apart.")
        if memory is not None or engine == "spark":
            raise LogicLensError(f"{files[0]} is a database, which SQLite counts itself: leave out memory and Spark.")
        return _of_sqlite(files[0])
    connection = _duckdb(memory, threads) if engine == "duckdb" else _spark()
    unite = kind == ".parquet" and check_parquet(files)
    return Reader(engine, _FORMATS[kind], per_file, unite).table(connection, files)


def check_parquet(files: list[str]) -> bool:
    """Refuse a file that is no Parquet, or in which a column has another type than in the first, by its name.

    Returns whether some columns have no type in some files, because they have no values there.
    """
    parquet = importlib.import_module("pyarrow.parquet")
    first: dict[str, str] = {}
    typed: dict[str, str] = {}
    unite = False
    for file in files:
        try:
            schema = parquet.read_schema(file)
        except Exception as error:
            raise LogicLensError(f"{file} cannot be read as Parquet: {in_a_line(error)}") from None
        types = {name: _plain(kind) for name, kind in zip(schema.names, schema.types, strict=True)}
        if len({name.casefold() for name in types}) < len(types):
            raise LogicLensError(f"{file} has columns whose names differ in case alone, which engines take for one.")
        first = first or types
        for name in first:
            if name not in types:
                raise LogicLensError(f"{file} lacks the column {name!r} that {files[0]} has.")
            unite = unite or types[name] != first[name]
            if first[name] == "null" and types[name] != "null":
                first[name], typed[name] = types[name], file
            if types[name] not in (first[name], "null"):
                other = typed.get(name, files[0])
                raise LogicLensError(
                    f"the column {name!r} holds {types[name]} in {file} and {first[name]} in {other}: write it as "
                    "one type."
                )
        if new := [name for name in types if name not in first]:
            raise LogicLensError(f"{file} has a column {new[0]!r} that {files[0]} lacks.")
    return unite


def _plain(kind: Any) -> str:
    """A type of Arrow, whichever way its values are laid out."""
    return str(kind.value_type if str(kind).startswith("dictionary") else kind).removeprefix("large_")


def files_of(source: str | os.PathLike[str]) -> list[str]:
    """The files of a source, in order."""
    return _files(os.fspath(source))[0]


def _files(source: str) -> tuple[list[str], str]:
    """The files of a source, in order, and what kind they are."""
    path = Path(source)
    if path.is_dir():
        found = [str(file) for file in sorted(path.rglob("*")) if file.is_file() and not _is_hidden(file, path)]
    else:
        found = sorted(glob.glob(source, recursive=True)) if glob.has_magic(source) and not path.is_file() else [source]
        found = [file for file in found if os.path.isfile(file)]
    if not found:
        raise LogicLensError(f"{source} is a folder without files." if path.is_dir() else f"{source} names no file.")
    kinds = {kind_of_file(file) for file in found}
    if len(kinds) > 1:
        listed = ", ".join(sorted(kind or "none" for kind in kinds))
        folder, one = path if path.is_dir() else path.parent, next((kind for kind in _FORMATS if kind in kinds), ".csv")
        raise LogicLensError(
            f"{source} holds files of several kinds ({listed}): name those of one, as in '{folder / '*'}{one}'."
        )
    kind = kinds.pop()
    if kind not in _FORMATS and kind not in DATABASES:
        known = ", ".join((*_FORMATS, *DATABASES))
        raise LogicLensError(f"{found[0]} is of no kind that an engine reads ({known}).")
    if kind in DATABASES and len(found) > 1:
        raise LogicLensError(f"{source} holds several databases: name one of them.")
    return found, ".parquet" if kind == ".pq" else kind


def _is_hidden(file: Path, folder: Path) -> bool:
    """Whether a file, or a folder that it is in, is no part of the data, as the names of notebooks' and logs' say."""
    return any(part[0] in "._" for part in file.relative_to(folder).parts)


def short_names(files: Sequence[str]) -> dict[str, str]:
    """What files are called in the folder that they have in common; an engine may name them as addresses.

    >>> short_names(["/lake/2026/01.parquet", "/lake/2027/01.parquet"])
    {'/lake/2026/01.parquet': '2026/01.parquet', '/lake/2027/01.parquet': '2027/01.parquet'}
    """
    paths = {file: unquote(urlsplit(file).path) if "://" in file else file for file in files}
    common = os.path.commonpath([os.path.dirname(path) for path in paths.values()]) if paths else ""
    return {file: os.path.relpath(path, common or None) for file, path in paths.items()}


def _of_sqlite(file: str) -> ir.Table:
    database = _imported("ibis", "scale", "counting in SQLite").sqlite.connect(file)
    names = database.list_tables()
    if len(names) != 1:
        listed = ", ".join(repr(name) for name in names) or "none"
        raise LogicLensError(
            f"{file} must hold one table, got {listed}: pass ibis.sqlite.connect({file!r}).table(...) instead."
        )
    return database.table(names[0])


def _duckdb(memory: str | None, threads: int | None) -> Any:
    ibis = _imported("ibis", "scale", "counting in DuckDB")
    _imported("duckdb", "scale", "counting in DuckDB")
    # Files are not kept in memory once they are read: the system does that, and takes it back.
    settings: dict[str, Any] = {"enable_external_file_cache": False}
    if threads is not None:
        settings["threads"] = threads
    if memory is not None:
        settings["memory_limit"] = memory
    try:
        return connected(ibis.duckdb.connect, settings)
    except Exception as error:
        stop(error)
        raise LogicLensError(f"DuckDB does not take these settings: {in_a_line(error)}") from None


def _spark() -> Any:
    ibis = _imported("ibis", "spark", "counting in Spark")
    _imported("pyspark", "spark", "counting in Spark")
    return ibis.pyspark.connect(spark_session())


def _imported(name: str, extra: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise LogicLensError(f"{purpose} needs {name}: pip install 'logiclens[{extra}]'.") from None
