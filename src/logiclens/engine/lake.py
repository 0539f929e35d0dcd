"""Lakes: many or large files opened as one table of an engine (DuckDB or Spark), which reads them in place."""

from __future__ import annotations

import errno
import glob
import gzip
import importlib
import io
import os
import re
import shutil
import socket
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from logiclens.engine.delimited import delimited_in_duckdb
from logiclens.engine.failures import cannot_read, in_a_line, remember, stop
from logiclens.engine.query import TEXT_TABLE
from logiclens.errors import LogicLensError, named, quoted, require_extra
from logiclens.storage import scratch_folder
from logiclens.tables.delimited import FileHead, head_of
from logiclens.tables.formats import BLOCK, DATABASES, is_engine_table
from logiclens.tables.formats import is_lake as is_lake

if TYPE_CHECKING:
    import ibis.expr.types as ir


Engine: TypeAlias = Literal["duckdb", "spark"]
Format: TypeAlias = Literal["parquet", "csv", "json"]
FILE = "__logiclens_file__"
"""Name of the column with the file of each row, in a table opened with `per_file`."""
_PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class Reader:
    """How an engine reads files of one format.

    Attributes:
        engine: the engine.
        format: the format of all files.
        per_file: whether rows keep the name of their file.
        unite: whether column types are inferred from all files instead of the first one.
    """

    engine: Engine
    format: Format
    per_file: bool = False
    unite: bool = False

    def table(self, connection: Any, files: list[str]) -> ir.Table:
        """Open all files as one table; errors, now or later, name the broken file."""
        try:
            table = self._opened(connection, files)
        except Exception as error:
            raise cannot_read(self.engine, files, error, lambda file: self._opened(connection, [file])) from None
        return remember(table, files, self.scan)

    def scan(self, connection: Any, file: str) -> None:
        """Read every value of a file and discard it."""
        if self.engine == "spark":
            self._frame(connection, [file]).write.format("noop").mode("overwrite").save()
            return
        table = self._in_duckdb(connection, [file])
        # S608: the name is made by `_name`, of letters and digits.
        connection.raw_sql(f'SELECT count(hash(r)) FROM "{table.get_name()}" AS r').fetchall()  # noqa: S608

    @property
    def _opened(self) -> Callable[[Any, list[str]], ir.Table]:
        return self._in_spark if self.engine == "spark" else self._in_duckdb

    def _name(self) -> str:
        return f"{'logiclens_' if self.format == 'parquet' else TEXT_TABLE}{os.urandom(6).hex()}"

    def _in_duckdb(self, connection: Any, files: list[str]) -> ir.Table:
        # DuckDB treats file names as patterns.
        named = [glob.escape(file) for file in files]
        options: dict[str, Any] = {"filename": FILE} if self.per_file else {}
        if self.unite:
            options["union_by_name"] = True
        if self.format == "csv":
            head = _head(files[0])
            return delimited_in_duckdb(connection, named, head, self._name(), options, besides=[FILE])
        read = connection.read_json if self.format == "json" else connection.read_parquet
        return read(named, table_name=self._name(), **options)

    def _in_spark(self, connection: Any, files: list[str]) -> ir.Table:
        frame = self._frame(connection, files)
        if self.per_file:
            from pyspark.sql.functions import input_file_name

            frame = frame.withColumn(FILE, input_file_name())
        name = self._name()
        frame.createOrReplaceTempView(name)
        return connection.table(name)

    def _frame(self, connection: Any, files: list[str]) -> Any:
        """Return the files as a Spark DataFrame that fails on rows it cannot parse instead of returning nulls."""
        session = connection.raw_sql("SELECT 1").sparkSession
        read = session.read.option("mode", "FAILFAST").option("mergeSchema", self.unite)
        # A server has another working directory.
        files = [os.path.abspath(file) for file in files]
        parts = Path(files[0]).parts
        keyed = [place for place, part in enumerate(parts) if "=" in part]
        if keyed:
            # A folder such as year=2026 defines a column.
            read = read.option("basePath", str(Path(*parts[: keyed[0]])))
        # Spark treats file names as patterns, too, with other escapes.
        named = [re.sub(r"([][{}*?\\])", r"\\\1", file) for file in files]
        if self.format == "csv":
            separator = "\t" if kind_of_file(files[0]) == ".tsv" else ","
            return read.csv(
                named, sep=separator, header=True, inferSchema=True, escape='"', multiLine=True, nullValue="NA",
                ignoreLeadingWhiteSpace=True, ignoreTrailingWhiteSpace=True,
            )  # fmt: skip
        return read.json(named) if self.format == "json" else read.parquet(*named)


def _head(file: str) -> FileHead:
    """Return the delimiter and the place of the header of a delimited text file."""
    try:
        with _opened(file) as lines:
            sample = lines.read(BLOCK).decode("utf-8-sig", errors="replace")
    except (OSError, EOFError, zlib.error) as error:
        raise LogicLensError(f"{named(file)} cannot be read: {in_a_line(error)}") from None
    return head_of(sample, named(file), "\t" if kind_of_file(file) == ".tsv" else None)


def kind_of_file(file: str) -> str:
    """Return the file extension without the extension of a compression."""
    path = Path(file)
    return (Path(path.stem) if path.suffix in _PACKED else path).suffix.lower()


_PARTITIONS = "spark.sql.shuffle.partitions"
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def spark_session() -> Any:
    """Return the Spark session that a program or `spark-submit` has started, or start one."""
    from pyspark.sql import SparkSession

    remote = os.environ.get("SPARK_REMOTE", "")
    _check_remote(remote)
    try:
        if active := SparkSession.getActiveSession():
            return active
        # `spark-submit` has already started the Java process.
        if remote or "PYSPARK_GATEWAY_PORT" in os.environ:
            return SparkSession.builder.getOrCreate()
        _check_java()
        local = SparkSession.builder.appName("logiclens").config("spark.ui.showConsoleProgress", "false").getOrCreate()
        # Errors are reported by us, in one sentence.
        local.sparkContext.setLogLevel("OFF")
        if str(local.sparkContext.master).startswith("local") and local.conf.get(_PARTITIONS) == "200":
            # Spark's default is made for clusters; on one machine most of the time went there.
            local.conf.set(_PARTITIONS, str(4 * local.sparkContext.defaultParallelism))
        return local
    except LogicLensError:
        raise
    except Exception as error:
        stop(error)
        raise LogicLensError(f"Spark does not start: {in_a_line(error)}") from None


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is None:
        where = f"JAVA_HOME is {home}" if home else "there is no java on the PATH"
        raise LogicLensError(
            f"Spark on this machine needs Java 17 or later, and {where}: install it, or name a server in SPARK_REMOTE."
        )


def _check_remote(remote: str) -> None:
    """Raise if no server answers; Spark itself would retry for minutes without a message."""
    if not remote.startswith("sc://") or any(name in os.environ for name in (*_PROXIES, *map(str.upper, _PROXIES))):
        return
    try:
        named = urlsplit(remote)
        socket.create_connection((named.hostname or "localhost", named.port or 15002), timeout=20).close()
    except (OSError, ValueError) as error:
        raise LogicLensError(f"no Spark answers at {remote}, which SPARK_REMOTE names: {in_a_line(error)}") from None


def connected(connect: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """Connect with a temporary folder that is removed with the connection, or at exit at the latest.

    Folders left by killed processes are removed, too. If no folder can be created, DuckDB chooses one.
    """
    scratch = ExitStack()
    try:
        folder = scratch.enter_context(scratch_folder())
    except OSError:
        return connect(**settings)
    try:
        connection = connect(temp_directory=str(folder), **settings)
    except BaseException:
        scratch.close()
        raise
    weakref.finalize(connection, _close, scratch)
    return connection


def _close(scratch: ExitStack) -> None:
    """Remove a temporary folder; if the process is told to stop meanwhile, the next one removes the rest."""
    # Python ignores what is raised here, but would print it.
    with suppress(KeyboardInterrupt, SystemExit):
        scratch.close()


ENGINES: tuple[Engine, ...] = ("duckdb", "spark")
_FORMATS: dict[str, Format] = {
    ".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json",
    ".ndjson": "json",
}  # fmt: skip


def in_engine(
    source: Any,
    engine: Engine = "duckdb",
    *,
    memory: str | None = None,
    threads: int | None = None,
    per_file: bool = False,
) -> Any:
    """Open a source as an Ibis table; an Ibis table is returned as it is.

    Args:
        source: a file name, a pattern, a folder with files of one kind, or an Ibis table.
        engine: `"duckdb"`, which runs in this process, or `"spark"`: the active session, else the server in
            `SPARK_REMOTE`, else a local session.
        memory: the memory that DuckDB may use before it writes to disk, such as `"4GB"`.
        threads: number of DuckDB threads; default: one per core.
        per_file: whether rows keep the name of their file, as `statistics(table, target, per_file=True)` requires.
    """
    if is_engine_table(source):
        return source
    if engine not in ENGINES:
        raise LogicLensError(f"engine must be one of {', '.join(ENGINES)}, got {quoted(engine)}.")
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
    for file in files if _FORMATS[kind] == "json" else ():
        check_depth(file)
    unite = kind == ".parquet" and check_parquet(files)
    return Reader(engine, _FORMATS[kind], per_file, unite).table(connection, files)


MOST_NESTED = 100
"""The deepest nesting of JSON that an engine gets; DuckDB crashes on very deep one."""
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*"|([\[{])|([\]}])', re.DOTALL)


def check_depth(file: str) -> None:
    """Raise for JSON that is nested too deeply. A flat object on a line is only searched for brackets."""
    depth = 0
    try:
        with _opened(file) as lines:
            for number, line in enumerate(lines, 1):
                opened = line.count(b"[") + line.count(b"{")
                if depth == 0 and opened <= MOST_NESTED and opened == line.count(b"]") + line.count(b"}"):
                    continue
                depth, deepest = _nesting(line, depth)
                if deepest > MOST_NESTED:
                    raise LogicLensError(f"line {number} of {named(file)} is nested too deeply: expected flat objects.")
    except (OSError, EOFError, zlib.error) as error:
        raise LogicLensError(f"{named(file)} cannot be read: {in_a_line(error)}") from None


def _opened(file: str) -> IO[bytes]:
    """Open a file for reading lines, decompressed as its name says."""
    if file.endswith(".gz"):
        return gzip.open(file)  # type: ignore[return-value]
    if file.endswith(".zst"):
        import pyarrow as pa

        return io.BufferedReader(pa.input_stream(file, compression="zstd"))
    return open(file, "rb")


def _nesting(line: bytes, depth: int) -> tuple[int, int]:
    """Return how deep the brackets outside of strings are nested at the end of a line, and at the deepest place.

    >>> _nesting(b'{"a": [1, [2]], "b": "[[[["', 0)
    (1, 3)
    """
    deepest = depth
    for found in _BRACKETS.finditer(line):
        depth = max(0, depth + bool(found[1]) - bool(found[2]))
        deepest = max(deepest, depth)
    return depth, deepest


def check_parquet(files: list[str]) -> bool:
    """Raise for a file that is not Parquet, or whose columns differ from those of the first file.

    Return whether some columns have no type in some files because they have no values there.
    """
    from pyarrow import parquet

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
                raise LogicLensError(f"{file} lacks the column {quoted(name)} that {files[0]} has.")
            unite = unite or types[name] != first[name]
            if first[name] == "null" and types[name] != "null":
                first[name], typed[name] = types[name], file
            if types[name] not in (first[name], "null"):
                other = typed.get(name, files[0])
                raise LogicLensError(
                    f"the column {quoted(name)} holds {types[name]} in {file} and {first[name]} in {other}: write it "
                    "as one type."
                )
        if new := [name for name in types if name not in first]:
            raise LogicLensError(f"{file} has a column {quoted(new[0])} that {files[0]} lacks.")
    return unite


def _plain(kind: Any) -> str:
    """Return an Arrow type as text, independent of its memory layout."""
    return str(kind.value_type if str(kind).startswith("dictionary") else kind).removeprefix("large_")


def files_of(source: str | os.PathLike[str]) -> list[str]:
    """Return the files of a source, sorted."""
    return _files(os.fspath(source))[0]


def _files(source: str) -> tuple[list[str], str]:
    """Return the files of a source, sorted, and their extension."""
    path = Path(source)
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise LogicLensError(f"{named(source)} is longer than the name of a file can be.") from None
    if path.is_dir():
        found = [str(file) for file in sorted(path.rglob("*")) if file.is_file() and not _is_hidden(file, path)]
    else:
        found = sorted(glob.glob(source, recursive=True)) if glob.has_magic(source) and not path.is_file() else [source]
        found = [file for file in found if os.path.isfile(file)]
    if not found:
        if path.is_dir():
            raise LogicLensError(f"{named(source)} is a folder without files.")
        pattern = glob.has_magic(source)
        raise LogicLensError(f"no file matches {named(source)}." if pattern else f"there is no file {named(source)}.")
    if path.is_dir() and (path / "model.json").is_file():
        raise LogicLensError(
            f"{named(source)} is a saved model, not a table; a command that takes both takes the model first."
        )
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
    """Test whether a file or one of its folders has a name that marks it as not data, such as `_logs` or `.cache`."""
    return any(part[0] in "._" for part in file.relative_to(folder).parts)


def short_names(files: Sequence[str]) -> dict[str, str]:
    """Return the name of each file relative to their common folder; an engine may report files as URLs.

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
            f"{file} must hold one table, got {listed}: pass ibis.sqlite.connect({quoted(file)}).table(...) instead."
        )
    return database.table(names[0])


def _duckdb(memory: str | None, threads: int | None) -> Any:
    ibis = _imported("ibis", "scale", "counting in DuckDB")
    _imported("duckdb", "scale", "counting in DuckDB")
    # DuckDB does not cache files: the operating system does, and frees that memory when needed.
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
    with require_extra(extra, purpose):
        return importlib.import_module(name)
