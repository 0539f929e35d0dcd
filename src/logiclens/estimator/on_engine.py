"""Tables in an engine: a classifier is fitted on counted rows, and predicts and scores where the rows are.

Cuts are found by counting how often each value of a column occurs with each class, with one query per column. The rows
are then counted as concepts, and the counted rows are split in an order of their own. So cuts depend on the held-out
rows too, but only through these counts. Rows are never collected.
"""

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
from logiclens.errors import LogicLensError, quoted
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
from collections.abc import Callable, Mapping

from logiclens.concepts.booleaniser import Booleaniser, Cutting, in_order
from logiclens.concepts.cuts import Tally
from logiclens.concepts.splits import Copies, row_hashes, set_apart
from logiclens.engine.count import TooManyRows, count_rows
from logiclens.engine.histogram import date_spans, tallies
from logiclens.engine.query import kept, with_parts
from logiclens.estimator.inputs import Labels, Prepared, Schema, SetAside, split_note
from logiclens.formula.counted_rows import counting_weight
from logiclens.formula.groups import Groups
from logiclens.progress import Progress
from logiclens.tables.frames import Column
from logiclens.words import percent, readable

COUNTING = "counting rows"
"""What progress calls the queries of an engine."""
SAMPLE = 50_000
"""The approximate number of rows on which concepts are chosen."""
RESAMPLES = 10
"""The number of resamples of these rows, to see which concepts recur."""


@dataclass(frozen=True, eq=False)
class Within:
    """Counted rows within the budget, how their concepts are cut, and notes about what was left out.

    `seen` are the rows on which concepts were chosen, if they had to be chosen.
    """

    counted: CountedRows
    cutting: Cutting
    seen: CountedRows | None = None
    note: str | None = None


def within_budget(
    table: Any,
    cutting: Cutting,
    target: str,
    classes: Sequence[Any],
    *,
    n_rows: int,
    budget: int,
    most: float,
    recurring: Callable[[CountedRows], Mapping[str, float]],
    seed: int,
) -> Within:
    """Count all rows of a table, with fewer concepts if there would be more distinct rows than the budget.

    `recurring` returns how often each concept is chosen on resamples of counted rows of a sample; the sample is at
    most the share `most` of the rows.
    """
    try:
        return Within(count_rows(table, cutting, target, classes, at_most=budget), cutting)
    except TooManyRows:
        pass
    looked_at = count_rows(_sampled(table, most, seed), cutting, target, classes)
    frequency = recurring(looked_at)
    places = {name: place for place, name in enumerate(cutting.names)}
    chosen = sorted((name for name in places if frequency.get(name, 0) > 0), key=lambda name: -frequency[name])
    # A network needs at least one input.
    kept = chosen or list(places)[:1]
    while True:
        names = tuple(sorted(kept, key=places.__getitem__))
        fewer = only(cutting, names)
        try:
            counted = count_rows(table, fewer, target, classes, at_most=budget)
            break
        except TooManyRows:
            kept = kept[: max(1, len(kept) * 2 // 3)]
    told = ", ".join(f"{name} {percent(frequency.get(name, 0))}" for name in chosen) or "none is"
    note = (
        f"the table has more than {budget:,} distinct rows of {len(places)} concepts: concepts were chosen on a sample "
        f"of {int(looked_at.total.sum()):,} of its {n_rows:,} rows, by how often each is used in {RESAMPLES} resamples "
        f"of it ({told}); kept are {', '.join(names)}, and of these all {n_rows:,} rows are counted. No row of the "
        "sample is held out."
    )
    return Within(counted, fewer, looked_at.project(names), note)


def _sampled(table: Any, most: float, seed: int) -> Any:
    """Return a share of the rows with their weights; not every engine accepts a seed."""
    import ibis.expr.operations as ops
    from ibis.common.exceptions import IbisError

    share = min(SAMPLE / max(1, fetched(table.agg(n=table.count()))["n"][0].as_py()), most)
    if share >= 1:
        return table
    seeded = table.sample(share, seed=seed)
    try:
        table.get_backend().compile(seeded)
    except IbisError:
        return table.sample(share) if table.get_backend().has_operation(ops.RandomScalar) else table.limit(SAMPLE)
    return seeded


def only(cutting: Cutting, names: Sequence[str]) -> Cutting:
    """Return a cutting with some of its concepts only."""
    predicates = {name: cutting.predicates[name] for name in names if name in cutting.predicates}
    columns = {column for name in names for column in (cutting.column_of(name), *cutting.sources_of(name))}
    kinds = {column: kind for column, kind in cutting.kinds.items() if column in columns}
    groups = cutting.groups.among(names)
    return replace(cutting, kinds=kinds, predicates=predicates, groups=groups)


ALMOST_ALL = 0.999
"""The largest share of the rows not used for choosing that is held out."""


def prepare_in_engine(
    table: Any,
    target: str | None,
    *,
    booleaniser: Booleaniser | None,
    share: float,
    seed: int,
    budget: int,
    recurring: Callable[[ConceptTable], Mapping[str, float]],
) -> Prepared:
    """Count a table of Ibis, as `prepare_counted` counts rows in memory.

    With more than `budget` distinct rows, concepts are chosen on a sample by `recurring`: how often each is chosen on
    resamples.
    """
    if not isinstance(target, str):
        raise LogicLensError("a table in an engine needs the name of its target: fit(table, target=...).")
    cuts = countable(booleaniser)
    classes, n_of_class = classes_of(table, target)
    # Their order in the table must not matter.
    columns = sorted(name for name in table.columns if name != target)
    if not columns:
        raise LogicLensError(f"the table has no column beside the target {quoted(target)}.")
    given = table.columns
    for name in columns:
        kind_of(table, name)
    found: list[Tally] = []
    parts = {part.name: part for part in cuts.parts(date_spans(table, columns), columns, int(n_of_class.sum()))}
    asked = [*columns, *parts]
    table = with_parts(table, parts.values())
    with Progress(len(asked) + 1, COUNTING) as progress, kept(table, [*asked, target]) as table:
        for tally in tallies(table, asked, n_of_class.sum()):
            found.append(replace(tally, origin=parts.get(tally.name)))
            progress.update(len(found), readable(tally.name))
        fitted = cuts.fit_tallies(in_order(found[: len(columns)], found[len(columns) :]))
        progress.update(len(asked), "distinct rows")
        known = Labels(np.zeros(0, dtype=np.intp), np.array(classes), tuple(str(value) for value in classes))
        within = within_budget(
            table, fitted.cutting_, target, classes, n_rows=int(n_of_class.sum()), budget=budget, most=1 - share,
            seed=seed,
            recurring=lambda counted: recurring(_as_table(counted, fitted.groups_, known)[0]),
        )  # fmt: skip
    fitted.cutting_ = within.cutting
    if within.note is not None:
        fitted.notes_ = (*fitted.notes_, within.note)
    return split_counted(
        within.counted,
        fitted,
        known,
        tuple(name for name in given if name != target),
        share=share,
        seed=seed,
        seen=within.seen,
    )


def prepare_counted(
    columns: Sequence[Column],
    known: Labels,
    weight: NDArray[np.float64],
    *,
    booleaniser: Booleaniser | None,
    share: float,
    seed: int,
    names: tuple[str, ...],
    positional: bool = False,
) -> Prepared:
    """Find cuts on all rows in memory, count the rows, and split the counted rows.

    `names` are the columns in the order of the table.
    """
    cuts = countable(booleaniser)
    if known.codes.ndim == 2:
        raise LogicLensError('cuts_on="all" counts rows of one class each: several labels need cuts_on="train".')
    there = weight > 0
    parts = [column.take(there) for column in columns]
    codes, n_classes = known.codes[there], len(known.classes)
    each = counting_weight(weight[there])
    fitted = cuts.fit_tallies([Tally.of(part, each) for part in cuts.with_parts(parts)])
    counts = np.eye(n_classes)[codes] * weight[there][:, None]
    counted = CountedRows.of(fitted.cutting_.values(parts), fitted.cutting_.names, counts, weight[there])
    return split_counted(counted, fitted, known, names, share=share, seed=seed, positional=positional)


def countable(booleaniser: Booleaniser | None) -> Booleaniser:
    """Return the booleaniser. Refuse one whose concepts are not Boolean, because such rows cannot be counted."""
    if booleaniser is None:
        raise LogicLensError("rows are counted as concepts, which raw columns have to be cut into: set booleanise.")
    given = booleaniser.cuts.values() if isinstance(booleaniser.cuts, Mapping) else [booleaniser.cuts]
    if any(isinstance(how, str) and how == "soft" for how in given):
        raise LogicLensError('rows of "soft" concepts differ all, so that there is nothing to count: cut the columns.')
    return booleaniser


def split_counted(
    counted: CountedRows,
    fitted: Booleaniser,
    known: Labels,
    columns: tuple[str, ...],
    *,
    share: float,
    seed: int,
    positional: bool = False,
    seen: CountedRows | None = None,
) -> Prepared:
    """Split counted rows into training and held-out rows; the split depends only on the counts.

    Rows that were `seen` when concepts were chosen are not held out.
    """
    everything, keys = _as_table(counted, fitted.groups_, known)
    codes, weight = np.asarray(everything.labels), everything.weight
    order = np.argsort(row_hashes([], *keys.T, codes, seed=seed), kind="stable")
    everything, codes, weight = everything.take(order), codes[order], weight[order]
    unseen = weight if seen is None else weight - _among(counted, seen)[np.nonzero(counted.counts)][order]
    aside = set_apart(codes, unseen, min(share * weight.sum() / unseen.sum(), ALMOST_ALL) if share else 0.0)
    note = split_note(codes, weight, aside, share, known.names)
    cutting = fitted.cutting_
    schema = Schema(
        counted.names, known.names, cutting.groups, False, cutting.predicates, cutting, columns, positional
    )  # fmt: skip
    none = np.zeros(0, dtype=np.intp)
    kept_aside = SetAside(everything.weighing(aside), (), Copies(none, none, np.zeros(0))) if aside.any() else None
    return Prepared(everything.weighing(weight - aside), None, kept_aside, known.classes, schema, fitted, note=note)


def _among(counted: CountedRows, some: CountedRows) -> NDArray[np.float64]:
    """Return the counts of some of the counted rows, at the positions these have among all."""
    places = {key.tobytes(): place for place, key in enumerate(counted.keys)}
    counts = np.zeros_like(counted.counts)
    counts[[places[key.tobytes()] for key in some.keys]] = some.counts
    return counts


def _as_table(counted: CountedRows, groups: Groups, known: Labels) -> tuple[ConceptTable, NDArray[np.int64]]:
    """Return counted rows as rows of one class each with their weight, and the packed concepts of each."""
    place, codes = np.nonzero(counted.counts)
    weight = counted.counts[place, codes]
    bits = counted.bits()[place]
    table = ConceptTable(bits, counted.names, codes, known.names, groups.exclusive, weight, groups.implied)
    return table, counted.keys[place].view(np.int64)


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
            raise LogicLensError(f"the label {quoted(unknown[0])} was not among the training labels.")
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
        what, hint = (
            ("these are", "files: name fewer") if by == FILE else (f"{quoted(by)} has", "values: cut it into ranges")
        )
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
    groups = schema.groups
    return ConceptTable(lake.bits, lake.names, codes, schema.class_names, groups.exclusive, lake.weight, groups.implied)


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
        raise LogicLensError(f"the table has a column {quoted(taken[0])} already: give the prediction another name.")
    for predicate in map(rules.predicate, rules.concepts):
        if lacking := [name for name in predicate.sources if name not in table.columns]:
            raise LogicLensError(f"the table lacks the column {quoted(lacking[0])} that the rules are about.")
        if predicate.origin is not None:
            table = fitted(table, dict.fromkeys(predicate.sources, "date"))
            continue
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
