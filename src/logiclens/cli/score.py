"""`logiclens score`: how good a saved model and its rules are on a table with known classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.cli.options import TableSource
from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json
from logiclens.cli.saved_model import SavedModel
from logiclens.cli.sheet import (
    READ_RULES,
    decision_line,
    print_confusions,
    print_rules,
    print_subgroup,
    read_measures,
    rules_first,
)
from logiclens.cli.tables import Counting, check_column, check_columns, labelled, told_apart
from logiclens.codec import to_plain
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.dnf import Literal
from logiclens.formula.english import gap_words, literal_words
from logiclens.formula.packed_rows import PackedRows, equals
from logiclens.formula.predicate import label_array
from logiclens.formula.rule_set import RulesRecord, who_decides
from logiclens.metrics.rule_statistics import (
    Confusion,
    RuleStatistics,
    Share,
    ShareRecord,
    StatisticsRecord,
    confusion,
    rule_statistics,
)
from logiclens.report.rules import read_rules
from logiclens.words import percent


@dataclass(frozen=True, eq=False)
class ScoredTable:
    """Rows with known classes, and the answers of the model.

    Attributes:
        data: the name of the table.
        sha256: the hash of the file; None if the table is not a file.
        target: the column of the classes.
        labels: the class of each row.
        answers: the answers of the model.
        by_rules: the answers of its rules.
        weight: how many rows each row stands for.
        left_out: how many rows have no class.
        statistics: the statistics of the rules.
    """

    data: str
    sha256: str | None
    target: str
    labels: NDArray[Any]
    answers: NDArray[Any]
    by_rules: NDArray[Any]
    weight: NDArray[np.float64]
    left_out: int
    statistics: RuleStatistics


@dataclass(frozen=True)
class Words:
    """A concept and its negation in words."""

    words: str
    words_not: str


@dataclass(frozen=True)
class Score:
    """How good a model and its rules are on rows with known classes, as `--json` writes it."""

    model: str
    data: str
    sha256: str | None
    target: str
    rows: int
    left_out: int
    is_training_file: bool
    exact: bool
    accuracy: ShareRecord
    accuracy_of_the_rules: ShareRecord | None
    most_frequent: ShareRecord
    agreement: ShareRecord | None
    macro_f1: float | None
    f1: Mapping[str, float | None]
    confusion: Confusion
    confusion_of_rules: Confusion
    statistics: StatisticsRecord
    rules: RulesRecord
    words: Mapping[str, Words]


def score_table(
    folder: Path, reading: TableSource, *, target: str | None, by: str | None, json: str | None, quiet: bool
) -> None:
    """Score a model on a table in memory; print the score and write it as JSON."""
    check_outputs(json, data=reading.source)
    _tell(score(SavedModel(folder), reading, target=target, by=by), json, by, quiet=quiet)


def score_lake(
    folder: Path, asked: Counting, *, target: str | None, by: str | None, per_file: bool, json: str | None, quiet: bool
) -> None:
    """Score a model on a table that an engine counts; print the score and write it as JSON."""
    check_outputs(json, data=asked.source)
    model = SavedModel(folder)
    known = counted(model, asked, target=target, by=by, per_file=per_file)
    _tell(_content(model, known), json, "the file" if per_file else by, quiet=quiet)


def score(model: SavedModel, reading: TableSource, *, target: str | None = None, by: str | None = None) -> Score:
    """Score a model on a table in memory."""
    wanted = _target(model, target)
    file = reading.table()
    frame = file.frame
    check_columns(frame, [wanted], file.name, ", the target" if target is None else "")
    check_columns(frame, [] if by is None else [by], file.name)
    kept = frame[frame[wanted].notna()]
    if kept.empty:
        raise LogicLensError(f"the target {quoted(wanted)} has no value in any row.")
    rows, labels = model.rows(frame, file.name).loc[kept.index], model.labels(kept[wanted])
    values, source = None if by is None else told_apart(kept[by]).to_numpy(), f"{len(rows):,} rows of {file.name}"
    statistics = rule_statistics(model.rules, rows, labels, by=values, by_name=by, source=source)
    known = ScoredTable(
        file.name, file.sha256, wanted, labels, model.predict(rows), model.rules.predict(rows),
        np.ones(len(rows)), len(frame) - len(rows), statistics,
    )  # fmt: skip
    return _content(model, known)


def counted(model: SavedModel, asked: Counting, *, target: str | None, by: str | None, per_file: bool) -> ScoredTable:
    """Return the distinct rows of a table that an engine counts, with the answers of the model."""
    if per_file and by is not None:
        raise LogicLensError("rows are told apart by a column or by their files: leave out --by or --per-file.")
    if model.target_cuts is not None:
        raise LogicLensError("this model cuts a target of numbers, which an engine does not do: score one file.")
    wanted, table = _target(model, target), asked.table(per_file=per_file)
    check_column(table, wanted, asked.source, ", the target" if target is None else "")
    if by is not None:
        check_column(table, by, asked.source)
    # Imported after the table was checked, because they load slowly.
    from logiclens.engine.lake import FILE
    from logiclens.estimator.on_engine import concepts_of, counted_lake, lake_statistics
    from logiclens.progress import Progress, working

    apart, concepts = FILE if per_file else by, None if model.has_network else model.rules.concepts
    with working(), Progress(2, "counting rows") as progress:
        progress.update(0, "classes")
        table, left_out = labelled(table, wanted)
        table = _in_labels(model, table, wanted)
        progress.update(1, "distinct rows")
        lake = counted_lake(model.network, table, wanted, concepts=concepts, by=apart)
    rows, labels = PackedRows.of(lake.bits, lake.names), model.network.classes_[lake.codes]
    by_rules, source = model.rules.predict(rows), f"{lake.n_rows:,} rows of {asked.source}"
    answers = model.network.predict(concepts_of(model.network, lake, None)) if model.has_network else by_rules
    statistics = lake_statistics(model.rules, lake, labels, by=apart, source=source)
    return ScoredTable(
        asked.source, None, wanted, labels, answers, by_rules, lake.weight, left_out,
        statistics,
    )  # fmt: skip


def _in_labels(model: SavedModel, table: Any, target: str) -> Any:
    """Return the table with its classes as labels of the model: 7 may become "7", and any other "not 7"."""
    import ibis

    from logiclens.engine.count import classes_of

    classes, _ = classes_of(table, target, least=1)
    labels = [model.label(value, f" of {quoted(target)}") for value in classes]
    if labels == classes:
        return table
    each = [(table[target] == value, label) for value, label in zip(classes, labels, strict=True)]
    return table.mutate(**{target: ibis.cases(*each)})


def _target(model: SavedModel, target: str | None) -> str:
    """Return the column of the classes: the one named, or that of training."""
    if model.rules.multilabel:
        raise LogicLensError("this model gives several labels a row: score it in Python, with statistics(X, y).")
    wanted = target or model.target
    if wanted is None:
        raise LogicLensError("the model does not know the name of its target: say --target COLUMN.")
    return wanted


def _content(model: SavedModel, known: ScoredTable) -> Score:
    def right(answers: NDArray[Any], labels: NDArray[Any]) -> ShareRecord:
        return Share(float(known.weight[np.equal(answers, labels)].sum()), float(known.weight.sum())).record()

    labels, place = known.labels, {rule.label: at for at, rule in enumerate(model.rules.rules)}

    def places(answers: NDArray[Any]) -> NDArray[np.intp]:
        return np.array([-1 if label is None else place[label] for label in answers.tolist()], dtype=np.intp)

    def confused(answers: NDArray[Any], of: str) -> Confusion:
        return confusion(model.rules.names, places(labels), places(answers), known.weight, of)

    statistics = known.statistics.record()
    most = max(dict.fromkeys(labels.tolist()), key=lambda label: known.weight[equals(labels, label)].sum())
    return Score(
        model=str(model.folder),
        data=known.data,
        sha256=known.sha256,
        target=known.target,
        rows=int(known.weight.sum()),
        left_out=known.left_out,
        is_training_file=known.sha256 is not None and known.sha256 == model.training_sha256,
        exact=model.exact,
        accuracy=right(known.answers, labels),
        accuracy_of_the_rules=None if model.exact else right(known.by_rules, labels),
        # The score of giving every row the most frequent class.
        most_frequent=right(label_array([most] * len(labels)), labels),
        agreement=None if model.exact else right(known.by_rules, known.answers),
        macro_f1=statistics.macro_f1,
        f1={told.name: told.decision.f1 for told in statistics.classes},
        confusion=confused(known.answers, "the rules" if model.exact else "the network"),
        confusion_of_rules=confused(known.by_rules, "the rules"),
        statistics=statistics,
        rules=model.rules,
        words=_words(model),
    )


def _tell(score: Score, json: str | None, by: str | None, *, quiet: bool) -> None:
    write_json(to_plain(score), json)
    printer = Printer(quiet=quiet or json == STANDARD)
    printer.say(f"{score.data}: {score.rows:,} rows; target {quoted(score.target)}")
    if score.left_out:
        printer.say(f"note: {score.left_out:,} rows have no value of {quoted(score.target)} and are left out.")
    if score.is_training_file:
        printer.say(
            "note: the model was made from this very file: most of these rows trained it, so the figures flatter it; "
            "score it on rows that it has not seen."
        )
    printer.say()
    for share, name in (
        (score.accuracy, "accuracy of the model"),
        (score.accuracy_of_the_rules, "accuracy of the rules"),
        (score.most_frequent, "always the same answer"),
        (score.agreement, "rules and network agree"),
    ):
        if share is not None:
            printer.say(f"  {name:<25}{Share(share.hits, share.total)}")
    if score.macro_f1 is not None:
        printer.say(f"  {'macro-F1 of the rules':<25}{percent(score.macro_f1, 1)}")
    for told in rules_first(score.statistics.classes, score.rules):
        prevalence = told.prevalence
        printer.say(
            f"\n{score.rules.class_words(told.name)}: {prevalence.hits:,.0f} of {prevalence.total:,.0f} rows",
            style="bold",
        )
        print_rules(printer, read_rules(score.rules, told))
        printer.say(f"  {decision_line(told.decision)}", hang=0)
    for group in score.statistics.subgroups:
        print_subgroup(printer, group, str(by), score.rules)
    print_confusions(printer, score.confusion, score.confusion_of_rules, score.target)
    printer.say(f"\n{who_decides(score.rules)}", hang=0)
    for sentence in gap_words(score.rules.formulas, score.rules.predicates):
        printer.say(sentence, hang=0)
    printer.say()
    printer.prose(f"{READ_RULES} {read_measures(['macro-F1'] if score.macro_f1 is not None else [])}")


def _words(model: SavedModel) -> dict[str, Words]:
    """Return each concept and its negation in words."""
    return {
        concept: Words(
            literal_words(Literal(concept), model.rules.predicates, model.rules.facts),
            literal_words(Literal(concept, positive=False), model.rules.predicates, model.rules.facts),
        )
        for concept in model.rules.concepts
    }
