"""What a fitted classifier says of tables in an engine: counted there, or answered there, never collected."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.data.concepts import ConceptTable
from logiclens.data.engine import classes_of, count_groups, is_engine_table, kind_of
from logiclens.data.faults import failed
from logiclens.data.lake import files_of, in_engine
from logiclens.errors import LogicLensError
from logiclens.export.sql import to_sql
from logiclens.formula.bits import PackedRows
from logiclens.formula.counted import CountedRows
from logiclens.formula.ruleset import RuleSet
from logiclens.metrics.statistics import RuleStatistics, rule_statistics

if TYPE_CHECKING:
    from logiclens.estimators.fitted import Fitted


@dataclass(frozen=True, eq=False)
class CountedLake:
    """Distinct rows of concepts with one class each: how many rows of the table each stands for, and their subgroup."""

    names: tuple[str, ...]
    bits: NDArray[np.bool_]
    codes: NDArray[np.intp]
    weight: NDArray[np.float64]
    by: NDArray[np.object_] | None

    @property
    def n_rows(self) -> int:
        """The rows of the table."""
        return int(self.weight.sum())


def counted_lake(
    model: Fitted, source: Any, target: Any, *, concepts: tuple[str, ...] | None = None, by: str | None = None
) -> CountedLake:
    """The rows of a table in an engine, counted; by class where a target is named."""
    cutting = model.schema_.cutting
    if cutting is None:
        raise LogicLensError("a table in an engine holds raw columns, and this model was fitted on concepts.")
    if target is not None and not isinstance(target, str):
        raise LogicLensError("a table in an engine needs the name of its target, not the labels.")
    table = in_engine(source)
    known = model.classes_.tolist()
    if target is not None:
        found, _ = classes_of(table, target, least=1)
        if unknown := [label for label in found if label not in known]:
            raise LogicLensError(f"the label {unknown[0]!r} was not among the training labels.")
    names = model.schema_.names if concepts is None else concepts
    groups = count_groups(table, cutting, target, known if target else (), concepts=names, by=by)
    parts = [
        (*_flat(counted), np.full(int(np.count_nonzero(counted.counts)), value, object)) for value, counted in groups
    ]
    bits, codes, weight, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return CountedLake(names, bits, codes, weight, None if by is None else values)


def _flat(counted: CountedRows) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.float64]]:
    place, codes = np.nonzero(counted.counts)
    return counted.bits()[place], codes, counted.counts[place, codes]


def table_in_engine(model: Fitted, source: Any, target: Any) -> ConceptTable:
    """The counted rows as a table of concepts, with the weight of each."""
    lake, schema = counted_lake(model, source, target), model.schema_
    codes = None if target is None else lake.codes
    groups = schema.groups
    return ConceptTable(lake.bits, lake.names, codes, schema.class_names, groups.exclusive, lake.weight, groups.implied)


def score_in_engine(model: Any, source: Any, target: Any) -> float:
    """The share of the rows of a table that are classed right."""
    if not isinstance(target, str):
        raise LogicLensError("a table in an engine needs the name of its target: score(table, 'column').")
    table = table_in_engine(model, source, target)
    right = model.predict(table) == model.classes_[np.asarray(table.labels)]
    return float(table.weight[right].sum() / table.weight.sum())


def statistics_in_engine(model: Any, source: Any, target: Any, by: Any) -> RuleStatistics:
    """The statistics of the rules on every row of a table: only the concepts that rules use are counted."""
    if not isinstance(target, str):
        raise LogicLensError("a table in an engine needs the name of its target: statistics(table, 'column').")
    if by is not None and not isinstance(by, str):
        raise LogicLensError("subgroups of a table in an engine are told apart by a column: by='column'.")
    rules: RuleSet = model.rules_
    lake = counted_lake(model, source, target, concepts=rules.concepts, by=by)
    return rule_statistics(
        rules, PackedRows.of(lake.bits, lake.names), model.classes_[lake.codes], weight=lake.weight, by=lake.by,
        by_name=by, source=f"{lake.n_rows:,} rows in an engine, which must not be among those that the model was "
        "fitted on",
    )  # fmt: skip


def predict_into(rules: RuleSet, source: Any, out: str | os.PathLike[str], *, name: str = "prediction") -> Path | str:
    """Write a table with one column more, what the rules say of each row, by the engine that holds it.

    `out` is a Parquet file (a folder of them in Spark), or else the name of a new table in the engine.
    """
    path = Path(out)
    if path.suffix != ".parquet" and not is_engine_table(source):
        raise LogicLensError(f"answers go into a Parquet file: call it {path.with_suffix('.parquet')}.")
    if path.suffix == ".parquet":
        _check_free(path, source)
    table = in_engine(source)
    engine = table.get_backend()
    if name in table.columns:
        raise LogicLensError(f"the table has a column {name!r} already: give the prediction another name.")
    for predicate in map(rules.predicate, rules.concepts):
        if predicate.column not in table.columns:
            raise LogicLensError(f"the table lacks the column {predicate.column!r} that the rules are about.")
        text = isinstance(predicate.value, str) and not predicate.is_date
        if predicate.operator != "missing" and text != (kind_of(table, predicate.column) == "text"):
            raise LogicLensError(f"the column {predicate.column!r} holds other values than the rules are about.")
    boolean = [column for column in rules.columns if table.schema()[column].is_boolean()]
    rows = f"logiclens_rows_{os.urandom(6).hex()}"
    select = to_sql(rules, table=rows, dialect=_dialect(engine), name=name, boolean=boolean)
    try:
        answered = engine.sql(f"WITH {rows} AS ({engine.compile(table)})\n{select}")
        if path.suffix == ".parquet":
            _written(engine, answered, path)
            return path
        engine.create_table(os.fspath(out), answered)
    except LogicLensError:
        raise
    except Exception as error:
        raise failed(table, error, f"{os.fspath(out)} was not written") from error
    return os.fspath(out)


def _check_free(path: Path, source: Any) -> None:
    """Refuse to write over a folder, or over what is read."""
    if path.is_dir():
        raise LogicLensError(f"{path} is a folder already: give the answers another name.")
    if not is_engine_table(source) and path.resolve() in [Path(file).resolve() for file in files_of(source)]:
        raise LogicLensError(f"{path} is among the files that are read: give the answers another name.")


def _dialect(engine: Any) -> str:
    return "spark" if engine.name == "pyspark" else str(engine.name)


def _written(engine: Any, answered: Any, path: Path) -> None:
    """Write Parquet under another name first, so that nothing half-written is left."""
    aside = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    try:
        if engine.name == "pyspark":
            engine._session.sql(answered.compile()).write.parquet(str(aside.absolute()))
        else:
            answered.to_parquet(aside)
        os.replace(aside, path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True) if aside.is_dir() else aside.unlink(missing_ok=True)
        raise
