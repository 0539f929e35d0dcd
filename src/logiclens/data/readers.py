"""Files as tables of an engine, of whatever format; and one by one, to find the file that is broken."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from logiclens.data.faults import cannot_read, remember

if TYPE_CHECKING:
    import ibis.expr.types as ir

Engine: TypeAlias = Literal["duckdb", "spark"]
Format: TypeAlias = Literal["parquet", "csv", "json"]
MISSING = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""What a text file writes for a missing value, as pandas knows it, beside nothing at all."""
TRUTH_VALUES = ("true", "True", "TRUE", "false", "False", "FALSE")
"""What a text file writes for truth values, as pandas knows them; DuckDB would take yes and no for these too."""
LOOKED_AT = 20_480
"""Rows that tell what the texts of a column are, as many as DuckDB looks at to tell its type."""
FILE = "__logiclens_file__"
"""The column that says which file a row came from, in a table that was opened with `per_file`."""
_TEXT = "logiclens_text_"
_PACKED = (".gz", ".zst")


@dataclass(frozen=True)
class Reader:
    """How an engine reads files of one format.

    Attributes:
        engine: which one.
        format: of all files.
        per_file: whether rows keep the name of their file.
        unite: whether the types of columns are told by all files together, and not by the first alone.
    """

    engine: Engine
    format: Format
    per_file: bool = False
    unite: bool = False

    def table(self, connection: Any, files: list[str]) -> ir.Table:
        """All files as one table; what fails now or later is told with the name of its file."""
        try:
            table = self._opened(connection, files)
        except Exception as error:
            raise cannot_read(self.engine, files, error, lambda file: self._opened(connection, [file])) from None
        return remember(table, files, self.scan)

    def scan(self, connection: Any, file: str) -> None:
        """Read every value of a file, and keep none."""
        if self.engine == "spark":
            self._frame(connection, [file]).write.format("noop").mode("overwrite").save()
            return
        table = self._in_duckdb(connection, [file])
        connection.raw_sql(f'SELECT count(hash(r)) FROM "{table.get_name()}" AS r').fetchall()

    @property
    def _opened(self) -> Callable[[Any, list[str]], ir.Table]:
        return self._in_spark if self.engine == "spark" else self._in_duckdb

    def _name(self) -> str:
        return f"{'logiclens_' if self.format == 'parquet' else _TEXT}{os.urandom(6).hex()}"

    def _in_duckdb(self, connection: Any, files: list[str]) -> ir.Table:
        # Names are patterns to DuckDB.
        named = [glob.escape(file) for file in files]
        options: dict[str, Any] = {"filename": FILE} if self.per_file else {}
        if self.unite:
            options["union_by_name"] = True
        if self.format == "csv":
            return self._csv_in_duckdb(connection, named, {**options, "nullstr": ["", *MISSING], "header": True})
        read = connection.read_json if self.format == "json" else connection.read_parquet
        return read(named, table_name=self._name(), **options)

    def _csv_in_duckdb(self, connection: Any, files: list[str], options: Mapping[str, Any]) -> ir.Table:
        """Columns have the kinds that they have in memory, where yes and no are texts, and hours."""
        table = connection.read_csv(files, table_name=self._name(), **options)
        kinds = table.schema()
        texts = {name: "VARCHAR" for name in table.columns if kinds[name].is_boolean() or kinds[name].is_time()}
        if not texts:
            return table
        looked_at = connection.read_csv(files, types=texts, **options).select(*texts).limit(LOOKED_AT).to_pyarrow()
        for name, column in zip(looked_at.column_names, looked_at.columns, strict=True):
            if kinds[name].is_boolean() and {*column.to_pylist()} <= {None, *TRUTH_VALUES}:
                del texts[name]
        return connection.read_csv(files, table_name=self._name(), types=texts, **options) if texts else table

    def _in_spark(self, connection: Any, files: list[str]) -> ir.Table:
        frame = self._frame(connection, files)
        if self.per_file:
            from pyspark.sql.functions import input_file_name

            frame = frame.withColumn(FILE, input_file_name())
        name = self._name()
        frame.createOrReplaceTempView(name)
        return connection.table(name)

    def _frame(self, connection: Any, files: list[str]) -> Any:
        """Files as a frame of Spark, which is to refuse rows that it cannot read and not to take them for gaps."""
        read = connection._session.read.option("mode", "FAILFAST").option("mergeSchema", self.unite)
        # A server has another folder than we.
        files = [os.path.abspath(file) for file in files]
        parts = Path(files[0]).parts
        keyed = [place for place, part in enumerate(parts) if "=" in part]
        if keyed:
            # Folders such as year=2026 hold a column.
            read = read.option("basePath", str(Path(*parts[: keyed[0]])))
        # Names are patterns to Spark too, with other escapes.
        named = [re.sub(r"([][{}*?\\])", r"\\\1", file) for file in files]
        if self.format == "csv":
            separator = "\t" if kind_of_file(files[0]) == ".tsv" else ","
            return read.csv(
                named, sep=separator, header=True, inferSchema=True, escape='"', multiLine=True, nullValue="NA"
            )  # fmt: skip
        return read.json(named) if self.format == "json" else read.parquet(*named)


def is_text(table: ir.Table) -> bool:
    """Whether each look at a table reads text files from their beginning."""
    import ibis.expr.operations as ops

    return any(node.name.startswith(_TEXT) for node in table.op().find(ops.DatabaseTable))


def kind_of_file(file: str) -> str:
    """How the name of a file ends, without how it is packed."""
    path = Path(file)
    return (Path(path.stem) if path.suffix in _PACKED else path).suffix.lower()
