"""Lakes: files too many or too large to be read, as a table of an engine that looks into them where they are."""

from __future__ import annotations

import glob
import importlib
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from logiclens.data.engine import is_engine_table
from logiclens.data.faults import cannot_read, in_a_line, remember, stop
from logiclens.data.names import names_several
from logiclens.data.sessions import spark_session
from logiclens.data.spill import connected
from logiclens.errors import LogicLensError

if TYPE_CHECKING:
    import ibis.expr.types as ir

Engine: TypeAlias = Literal["duckdb", "spark"]
ENGINES: tuple[Engine, ...] = ("duckdb", "spark")
_READERS = {
    ".parquet": "read_parquet", ".pq": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv", ".json": "read_json",
    ".jsonl": "read_json", ".ndjson": "read_json",
}  # fmt: skip
_PACKED = (".gz", ".zst")
MISSING = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What a text file writes for a missing value, as pandas knows it, beside nothing at all."""
_SQLITE = (".sqlite", ".sqlite3", ".db")


def is_lake(source: Any) -> bool:
    """Whether rows are to be counted where they are: a table of Ibis, a folder, or a pattern such as `2026/*.parquet`.

    A single file is read.
    """
    if is_engine_table(source):
        return True
    return isinstance(source, str | os.PathLike) and names_several(os.fspath(source))


def in_engine(source: Any, engine: Engine = "duckdb", *, memory: str | None = None, threads: int | None = None) -> Any:
    """A source as a table of Ibis; one that is a table already stays where it is.

    Args:
        source: the name of a file, a pattern, a folder of files of one kind, or a table of Ibis.
        engine: `"duckdb"`, in this process, or `"spark"`: the session that is there, or that `SPARK_REMOTE` names, or
            a local one.
        memory: the most that DuckDB may take before it uses the disk, such as `"4GB"`.
        threads: of DuckDB; one for each core if not said.
    """
    if is_engine_table(source):
        return source
    if engine not in ENGINES:
        raise LogicLensError(f"engine must be one of {', '.join(ENGINES)}, got {engine!r}.")
    files, kind = _files(os.fspath(source))
    connection = _duckdb(memory, threads) if engine == "duckdb" else _spark()
    if kind in _SQLITE:
        return _of_sqlite(connection, files[0], engine)
    if kind == ".parquet":
        check_parquet(files)
    return _read(connection, _READERS[kind], files, engine)


def check_parquet(files: list[str]) -> None:
    """Refuse a file that is no Parquet, or in which a column has another type than in the first, by its name."""
    parquet = importlib.import_module("pyarrow.parquet")
    first: dict[str, str] = {}
    for file in files:
        try:
            schema = parquet.read_schema(file)
        except Exception as error:
            raise LogicLensError(f"{file} cannot be read as Parquet: {in_a_line(error)}") from None
        types = {name: _plain(kind) for name, kind in zip(schema.names, schema.types, strict=True)}
        first = first or types
        for name in first:
            if name not in types:
                raise LogicLensError(f"{file} lacks the column {name!r} that {files[0]} has.")
            if types[name] != first[name] and "null" not in (types[name], first[name]):
                raise LogicLensError(
                    f"the column {name!r} holds {types[name]} in {file} and {first[name]} in {files[0]}: write it as "
                    "one type."
                )
        if new := [name for name in types if name not in first]:
            raise LogicLensError(f"{file} has a column {new[0]!r} that {files[0]} lacks.")


def _plain(kind: Any) -> str:
    """A type of Arrow, whichever way its values are laid out."""
    return str(getattr(kind, "value_type", kind)).removeprefix("large_")


def files_of(source: str | os.PathLike[str]) -> list[str]:
    """The files of a source, in order."""
    return _files(os.fspath(source))[0]


def _files(source: str) -> tuple[list[str], str]:
    """The files of a source, in order, and what kind they are."""
    path = Path(source)
    if path.is_dir():
        found = [str(file) for file in sorted(path.rglob("*")) if file.is_file() and file.name[0] not in "._"]
    else:
        found = sorted(glob.glob(source, recursive=True)) if glob.has_magic(source) and not path.is_file() else [source]
        found = [file for file in found if os.path.isfile(file)]
    if not found:
        raise LogicLensError(f"{source} names no file.")
    kinds = {_kind(file) for file in found}
    if len(kinds) > 1:
        raise LogicLensError(f"{source} holds files of several kinds ({', '.join(sorted(kinds))}): name one of them.")
    kind = kinds.pop()
    if kind not in _READERS and kind not in _SQLITE:
        known = ", ".join((*_READERS, *_SQLITE))
        raise LogicLensError(f"{found[0]} is of no kind that an engine reads ({known}).")
    if kind in _SQLITE and len(found) > 1:
        raise LogicLensError(f"{source} holds several databases: name one of them.")
    return found, ".parquet" if kind == ".pq" else kind


def _kind(file: str) -> str:
    path = Path(file)
    return (Path(path.stem) if path.suffix in _PACKED else path).suffix.lower()


def _read(connection: Any, reader: str, files: list[str], engine: Engine) -> ir.Table:
    opened = _of_spark if engine == "spark" else _of_duckdb
    try:
        table = opened(connection, reader, files)
    except Exception as error:
        raise cannot_read(engine, files, error, lambda file: opened(connection, reader, [file])) from None
    return remember(table, files, partial(_scan, reader, engine))


def _scan(reader: str, engine: Engine, connection: Any, file: str) -> None:
    """Read every value of a file, and keep none."""
    if engine == "spark":
        _frame(connection, reader, [file]).write.format("noop").mode("overwrite").save()
        return
    table = _of_duckdb(connection, reader, [file])
    connection.raw_sql(f'SELECT count(hash(r)) FROM "{table.get_name()}" AS r').fetchall()


def _of_duckdb(connection: Any, reader: str, files: list[str]) -> ir.Table:
    # Names are patterns to DuckDB.
    named = [glob.escape(file) for file in files]
    if reader == "read_csv":
        return connection.read_csv(named, nullstr=["", *MISSING], header=True)
    return getattr(connection, reader)(named)


def _of_spark(connection: Any, reader: str, files: list[str]) -> ir.Table:
    name = f"logiclens_{os.urandom(6).hex()}"
    _frame(connection, reader, files).createOrReplaceTempView(name)
    return connection.table(name)


def _frame(connection: Any, reader: str, files: list[str]) -> Any:
    """Files as a frame of Spark, which is to refuse rows that it cannot read and not to take them for gaps."""
    read = connection._session.read.option("mode", "FAILFAST")
    # A server has another folder than we.
    files = [os.path.abspath(file) for file in files]
    parts = Path(files[0]).parts
    keyed = [place for place, part in enumerate(parts) if "=" in part]
    if keyed:
        # Folders such as year=2026 hold a column.
        read = read.option("basePath", str(Path(*parts[: keyed[0]])))
    if reader == "read_parquet":
        return read.parquet(*files)
    if reader == "read_csv":
        separator = "\t" if _kind(files[0]) == ".tsv" else ","
        return read.csv(
            files, sep=separator, header=True, inferSchema=True, escape='"', multiLine=True, nullValue="NA"
        )  # fmt: skip
    return read.json(files)


def _of_sqlite(connection: Any, file: str, engine: Engine) -> ir.Table:
    if engine != "duckdb":
        raise LogicLensError(f"{file} is a SQLite database, which DuckDB reads: use engine duckdb.")
    import ibis

    database = ibis.sqlite.connect(file)
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
    settings: dict[str, Any] = {} if threads is None else {"threads": threads}
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
