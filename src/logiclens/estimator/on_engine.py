"""A fitted classifier on tables in an engine: rows are counted or answered there and never collected."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.concept_table import ConceptTable
from logiclens.engine.count import classes_of, count_groups, period
from logiclens.engine.failures import failed
from logiclens.engine.lake import FILE, files_of, in_engine, short_names
from logiclens.engine.query import fetched, fitted, kind_of
from logiclens.errors import LogicLensError
from logiclens.export.sql import to_sql
from logiclens.formula.column_kinds import KINDS, NUMBER, TRUTH_VALUE
from logiclens.formula.counted_rows import CountedRows
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.metrics.rule_statistics import MAX_SUBGROUPS, RuleStatistics, rule_statistics
from logiclens.storage import replacing
from logiclens.tables.formats import is_engine_table

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier


@dataclass(frozen=True, eq=False)
class CountedLake:
    """Distinct rows of concepts with one class each, the number of table rows each stands for, and their subgroup."""

    names: tuple[str, ...]
    bits: NDArray[np.bool_]
    codes: NDArray[np.intp]
    weight: NDArray[np.float64]
    by: NDArray[np.object_] | None

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        return int(self.weight.sum())


def counted_lake(
    model: EntropyClassifier,
    source: Any,
    target: Any,
    *,
    concepts: tuple[str, ...] | None = None,
    by: str | None = None,
) -> CountedLake:
    """Count the rows of a table in an engine, by class if a target is named, and for each value of `by`.

    With `by=FILE` the subgroups are the files, by their short names.
    """
    cutting = model.schema_.cutting
    if cutting is None:
        raise LogicLensError("a table in an engine holds raw columns, and this model was fitted on concepts.")
    if target is not None and not isinstance(target, str):
        raise LogicLensError("a table in an engine needs the name of its target, not the labels.")
    table = in_engine(source, per_file=by == FILE)
    if by is not None:
        _check_subgroups(table, by)
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
    if by == FILE:
        short = short_names(list(dict.fromkeys(values)))
        values = np.array([short[file] for file in values], dtype=object)
    return CountedLake(names, bits, codes, weight, None if by is None else values)


def _check_subgroups(table: Any, by: str) -> None:
    """Refuse a column of subgroups that does not exist or has too many values, before any query."""
    if by == FILE and FILE not in table.columns:
        raise LogicLensError(
            "a table of Ibis has no files to tell apart: name the files instead, or a column with by='column'."
        )
    rows = table.select(g=period(table, by))
    [n] = fetched(rows.agg(n=rows.g.nunique()))["n"].to_pylist()
    if n > MAX_SUBGROUPS:
        what, hint = ("these are", "files: name fewer") if by == FILE else (f"{by!r} has", "values: cut it into ranges")
        raise LogicLensError(f"{what} {n:,} {hint}, since at most {MAX_SUBGROUPS:,} subgroups are told apart.")


def _flat(counted: CountedRows) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.float64]]:
    place, codes = np.nonzero(counted.counts)
    return counted.bits()[place], codes, counted.counts[place, codes]


def table_in_engine(model: EntropyClassifier, source: Any, target: Any) -> ConceptTable:
    """Return the counted rows as a table of concepts with weights."""
    lake = counted_lake(model, source, target)
    return concepts_of(model, lake, None if target is None else lake.codes)


def concepts_of(model: EntropyClassifier, lake: CountedLake, codes: NDArray[np.intp] | None) -> ConceptTable:
    """Return counted rows of all concepts as the input of the network."""
    schema = model.schema_
    groups, literals = schema.groups, schema.literals
    return ConceptTable(
        lake.bits, lake.names, codes, schema.class_names, groups.exclusive, lake.weight, groups.implied, literals
    )


def score_in_engine(model: Any, source: Any, target: Any) -> float:
    """Return the accuracy on a table in an engine."""
    if not isinstance(target, str):
        raise LogicLensError("a table in an engine needs the name of its target: score(table, 'column').")
    table = table_in_engine(model, source, target)
    right = model.predict(table) == model.classes_[np.asarray(table.labels)]
    return float(table.weight[right].sum() / table.weight.sum())


def statistics_in_engine(model: Any, source: Any, target: Any, by: Any, *, per_file: bool = False) -> RuleStatistics:
    """Return the statistics of the rules on a table in an engine; only concepts that the rules use are counted."""
    if not isinstance(target, str):
        raise LogicLensError("a table in an engine needs the name of its target: statistics(table, 'column').")
    if by is not None and not isinstance(by, str):
        raise LogicLensError("subgroups of a table in an engine are told apart by a column: by='column'.")
    rules: RuleSet = model.rules_
    by = FILE if per_file else by
    lake = counted_lake(model, source, target, concepts=rules.concepts, by=by)
    told = f"{lake.n_rows:,} rows in an engine, which must not be among those that the model was fitted on"
    return lake_statistics(rules, lake, model.classes_[lake.codes], by=by, source=told)


def lake_statistics(
    rules: RuleSet, lake: CountedLake, labels: NDArray[Any], *, by: str | None, source: str
) -> RuleStatistics:
    """Return the statistics of rules on counted rows."""
    rows, name = PackedRows.of(lake.bits, lake.names), "file" if by == FILE else by
    found = rule_statistics(rules, rows, labels, weight=lake.weight, by=lake.by, by_name=name, source=source)
    # The rows of the table, not the distinct ones.
    return replace(found, n_rows=lake.n_rows)


def predict_into(
    rules: RuleSet,
    source: Any,
    out: str | os.PathLike[str],
    *,
    name: str = "prediction",
    keep: Sequence[str] | None = None,
) -> Path | str:
    """Let the engine write a table with one more column, the answer of the rules for each row.

    `out` is a Parquet file (a folder of files with Spark), or the name of a new table in the engine. `keep` are the
    columns of the table to write; default: all.
    """
    path = Path(out)
    if path.suffix == ".parquet" and not path.absolute().parent.is_dir():
        raise LogicLensError(f"{path} was not written: there is no folder {path.parent}.")
    if path.suffix != ".parquet" and not is_engine_table(source):
        raise LogicLensError(f"answers go into a Parquet file: call it {path.with_suffix('.parquet')}.")
    if path.suffix == ".parquet":
        _check_free(path, source)
    table = in_engine(source)
    engine = table.get_backend()
    if path.suffix == ".parquet" and engine.name == "pyspark" and path.exists():
        raise LogicLensError(f"{path} is there already, and Spark writes a folder: give the answers another name.")
    answers = rules.names if rules.multilabel else (name,)
    known = {column.casefold() for column in table.columns}
    if taken := [column for column in answers if column.casefold() in known]:
        raise LogicLensError(f"the table has a column {taken[0]!r} already: give the prediction another name.")
    for predicate in map(rules.predicate, rules.concepts):
        if predicate.column not in table.columns:
            raise LogicLensError(f"the table lacks the column {predicate.column!r} that the rules are about.")
        kind = NUMBER if predicate.kind is TRUTH_VALUE else predicate.kind
        nominal_now = KINDS[kind_of(table, predicate.column)].is_nominal
        if predicate.operator != "missing" and kind.is_nominal != nominal_now:
            table = fitted(table, {predicate.column: kind.name})
    boolean = [column for column in rules.columns if table.schema()[column].is_boolean()]
    rows = f"logiclens_rows_{os.urandom(6).hex()}"
    select = to_sql(rules, table=rows, dialect=_dialect(engine), name=name, boolean=boolean)
    try:
        answered = engine.sql(f"WITH {rows} AS ({engine.compile(table)})\n{select}")
        answered = answered if keep is None else answered.select(*keep, *answers)
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
    """Refuse to replace a folder or a file that is read."""
    if path.is_dir():
        raise LogicLensError(f"{path} is a folder already: give the answers another name.")
    if not is_engine_table(source) and path.resolve() in [Path(file).resolve() for file in files_of(source)]:
        raise LogicLensError(f"{path} is among the files that are read: give the answers another name.")


def _dialect(engine: Any) -> str:
    return "spark" if engine.name == "pyspark" else str(engine.name)


def _written(engine: Any, answered: Any, path: Path) -> None:
    """Write Parquet: a file, or the folder of files that Spark makes."""
    with replacing(path) as part:
        if engine.name == "pyspark":
            engine.raw_sql(answered.compile()).write.parquet(str(part.absolute()))
        else:
            answered.to_parquet(part)
