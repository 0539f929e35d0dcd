"""Knowledge in `fit`: the table that is left to learn from, the concepts that it must have, what binds the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from logiclens.concepts.booleaniser import Booleaniser, Wanted
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, no_column, quoted
from logiclens.estimator.inputs import RecordedAnswers, bare_predicates
from logiclens.explain.bounds import RuleBounds
from logiclens.formula.column_kinds import CATEGORY, NUMBER, ORDERS, TRUTH_VALUE, Scalar
from logiclens.formula.knowledge import BoundKnowledge, Condition, Knowledge, Proof, TableColumns, prove
from logiclens.formula.predicate import Predicate
from logiclens.formula.target_cuts import TargetCuts, cut_at_quantiles
from logiclens.tables.frames import Column, column_names, columns_of, parted
from logiclens.words import enumeration

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier
    from logiclens.estimator.inputs import Schema
    from logiclens.formula.rule_set import RuleSet

MOST_GROUPS = 12
"""The most values of a protected column that are groups each; see `_groups` for more of them."""


def without_columns(rows: Any, removed: Sequence[str]) -> Any:
    """Return a table without those of some columns that it has."""
    known = column_names(rows) or ()
    if isinstance(rows, ConceptTable):
        return rows.with_columns([name for name in rows.names if name not in set(removed)])
    for name in removed:
        if name in known:
            rows, _ = parted(rows, name)
    return rows


def check_columns(knowledge: Knowledge, rows: Any, target: str | None) -> None:
    """Refuse columns that the table does not have, the target, and a table that names none."""
    names = rows.names if isinstance(rows, ConceptTable) else column_names(rows)
    if names is None:
        raise LogicLensError("knowledge names columns, and these rows have none: pass a table with names.")
    for place, name in knowledge.columns:
        if name == target and name not in names:
            raise LogicLensError(
                f"{place} of {knowledge.source} names {quoted(name)}, which is the target: knowledge is about the "
                "other columns."
            )
        if name not in names:
            why = f", which {place} of {knowledge.source} names"
            if place == "protected_columns":
                why = (
                    f", which --protected or {place} of {knowledge.source} names (one that must not be used stays in "
                    "the table, and is in forbidden_columns too)"
                )
            raise no_column(name, [str(one) for one in names], "the table", why)


def _pairs(categories: Mapping[str, Sequence[Scalar]]) -> dict[str, tuple[Scalar, ...]]:
    """Return the values of the columns that have two."""
    return {column: tuple(values) for column, values in categories.items() if len(values) == 2}


def learnable(model: EntropyClassifier, rows: Any, target: str | None) -> Any:
    """Return the table without the columns that knowledge removes."""
    knowledge = model.knowledge
    if knowledge is None:
        return rows
    check_columns(knowledge, rows, target)
    if knowledge.removed and model.teacher is not None and not isinstance(model.teacher, RecordedAnswers):
        raise LogicLensError(
            "a teacher answers whole rows, and the knowledge removes columns of them: leave out the teacher, or "
            "forbidden_columns and late_columns."
        )
    names = rows.names if isinstance(rows, ConceptTable) else column_names(rows) or ()
    if set(map(str, names)) <= set(knowledge.removed):
        raise LogicLensError(
            f"{knowledge.source} removes every column of the table by forbidden_columns and late_columns: leave one."
        )
    return without_columns(rows, knowledge.removed)


def bound_knowledge(
    knowledge: Knowledge, rows: Any, classes: Sequence[str], *, multilabel: bool, bare: bool, is_part: bool = False
) -> BoundKnowledge:
    """Return knowledge with its meaning on a table that `fit` was given, before columns are removed.

    With `is_part`, the rows are some of a table: a category that they lack is not refused.
    """
    if bare:
        meant = bare_predicates(rows)
        names = rows.names if isinstance(rows, ConceptTable) else [str(name) for name in column_names(rows) or ()]
        kinds = {name: TRUTH_VALUE.name if name in meant else NUMBER.name for name in names}
        return knowledge.bound_to(TableColumns(kinds, frozenset(), frozenset(), tuple(classes), multilabel, True))
    columns = columns_of(rows)
    numbers = [column for column in columns if column.kind == NUMBER.name]
    flags = [c.name for c in numbers if set(np.unique(c.values[~c.missing]).tolist()) <= {0.0, 1.0}]
    categories = {column.name: column.categories for column in columns if column.categories and not is_part}
    table = TableColumns(
        {column.name: column.kind for column in columns},
        frozenset(column.name for column in numbers if column.is_nominal),
        frozenset(flags),
        tuple(classes),
        multilabel,
        categories=categories,
        pairs=_pairs(categories),
    )
    return knowledge.bound_to(table)


def knowing(booleaniser: Booleaniser | None, bound: BoundKnowledge) -> Booleaniser | None:
    """Return a booleaniser that makes the concepts of required rules too."""
    if booleaniser is None:
        return None
    cuts = booleaniser.cuts
    for predicate in bound.concepts:
        how = cuts.get(predicate.column, "round") if isinstance(cuts, dict) else cuts
        if how == "soft" and predicate.operator == ">=":
            raise LogicLensError(
                f"the required condition {quoted(str(predicate))} is a cut, and {quoted(predicate.column)} is not cut "
                'but rescaled: leave out cuts="soft".'
            )
    preferred = frozenset(bound.knowledge.preferred_columns)
    return booleaniser.wanting(Wanted(bound.concepts, bound.ordered, preferred))


def bounds_of(bound: BoundKnowledge, schema: Schema) -> RuleBounds:
    """Return what binds the search for rules over the concepts of a schema."""
    opposites = {} if schema.cutting is None else schema.cutting.opposites
    bare = {name: Predicate(name, ">=", 0.5) for name in schema.names if name not in schema.predicates}
    return RuleBounds(bound, {**schema.predicates, **bare}, opposites)


def proofs_of(model: EntropyClassifier) -> tuple[Proof, ...]:
    """Prove that the rules of a fitted or loaded model keep to its knowledge; for none, nothing."""
    bound = model._bound if hasattr(model, "_bound") else stored_bound(model)
    return () if bound is None else prove(model.rules_, bound)


def stored_bound(model: EntropyClassifier) -> BoundKnowledge | None:
    """Return the knowledge of a loaded model on its columns.

    Of columns that have no concept, such as removed ones, the kind is not stored: it is the one of which the conditions
    on them speak, since `fit` has taken these.
    """
    knowledge, schema = model.knowledge, model.schema_
    if knowledge is None:
        return None
    if schema.cutting is None:
        kinds = dict.fromkeys((*schema.names, *(name for _, name in knowledge.columns)), NUMBER.name)
        kinds |= dict.fromkeys(schema.predicates, TRUTH_VALUE.name)
        none = frozenset[str]()
        return knowledge.bound_to(TableColumns(kinds, none, none, schema.class_names, schema.multilabel, True))
    kinds = dict.fromkeys((name for _, name in knowledge.columns), NUMBER.name)
    for _, one in knowledge.conditions:
        # A category may look like a number, and no number looks like a category.
        kinds[one.column] = kinds[one.column] if one.kind is NUMBER else one.kind.name
    kinds |= {name: kind for name, kind in schema.cutting.kinds.items() if name in schema.columns}
    asked: tuple[Predicate | Condition, ...] = (
        *schema.predicates.values(),
        *(condition for _, condition in knowledge.conditions),
    )
    equal = [(one.column, one.value) for one in asked if one.operator == "=="]
    numbers = [(column, float(value)) for column, value in equal if kinds[column] == NUMBER.name]
    flags = {column for column, value in numbers if value in (0, 1)}
    ordered = {one.column for one in asked if one.operator in ORDERS}
    ordered |= {column for known in knowledge.classes.values() for column in (*known.increasing, *known.decreasing)}
    nominal = {column for column, _ in numbers} - flags - ordered
    texts: dict[str, dict[str, Scalar]] = {}
    for column, value in equal:
        if kinds[column] == CATEGORY.name:
            # Those of concepts come first: knowledge may name them with fewer spaces.
            texts.setdefault(column, {}).setdefault(" ".join(str(value).split()), value)
    table = TableColumns(
        kinds,
        frozenset(nominal),
        frozenset(flags),
        schema.class_names,
        schema.multilabel,
        # Of a category that has no concept, only what the knowledge calls it is known.
        categories={column: tuple(found.values()) for column, found in texts.items()},
        pairs=_pairs(schema.cutting.categories),
    )
    return knowledge.bound_to(table)


def check_kept(model: EntropyClassifier, rules: RuleSet) -> None:
    """Refuse rules for a model that do not keep to its knowledge, naming the constraint and the rule."""
    bound = stored_bound(model)
    for proof in () if bound is None else prove(rules, bound):
        if not proof.holds:
            raise LogicLensError(
                f"the knowledge of the model says that {proof.constraint}, but {proof.reason}. Change that rule, or "
                "let go of the knowledge, with_knowledge=False (--without-knowledge)."
            )


def note_of(model: EntropyClassifier) -> str | None:
    """Return a sentence that says what knowledge does not bind."""
    if model.knowledge is None or model._is_exact or not model.knowledge.binds_rules:
        return None
    return (
        "the knowledge about conditions, rules, directions and costs binds the rules; the network is not bound by it. "
        "Without exact=False (--soft) the rules are the model."
    )


def protected_values(knowledge: Knowledge, rows: Any) -> dict[str, NDArray[np.object_]]:
    """Return the group of each row by each protected column; None where it has no value."""
    by_name = {column.name: column for column in columns_of(rows)} if knowledge.protected_columns else {}
    return {name: _groups(by_name[name]) for name in knowledge.protected_columns}


def _groups(column: Column) -> NDArray[np.object_]:
    """Return at most `MOST_GROUPS` groups, in words where they are not single values.

    Of texts the most frequent values are groups, and the others are one. Numbers, durations and the years of dates are
    cut into quarters of the rows if they are too many; dates of one year are told apart by their month.
    """
    known = np.flatnonzero(~column.missing)
    groups = np.full(len(column), None, dtype=object)
    cells = [column.cell(row) for row in known.tolist()]
    if column.kind == "date":
        values = column.values[known]
        years = values.astype("datetime64[Y]")
        numbers = years.astype(np.int64).astype(np.float64) + 1970
        unit, cells = "", np.datetime_as_string(values, "M" if len(np.unique(years)) == 1 else "Y").tolist()
    else:
        unit = " days" if column.kind == "timedelta" else ""
        numbers = column.numbers[known] / np.float64(86_400 if unit else 1)
    if len(set(cells)) <= MOST_GROUPS:
        groups[known] = cells
    elif column.is_nominal:
        counts = sorted(Counter(map(str, cells)).items(), key=lambda entry: (-entry[1], entry[0]))
        own = {value for value, _ in counts[:MOST_GROUPS]}
        rest = f"another value (one of {len(counts) - len(own):,})"
        groups[known] = [str(cell) if str(cell) in own else rest for cell in cells]
    else:
        groups[known] = [f"{label}{unit}" for label in _quarters(numbers).labels(numbers).tolist()]
    return groups


def _quarters(numbers: NDArray[np.float64]) -> TargetCuts:
    """Return the cuts into quarters of the rows; into fewer parts where one number is too frequent for four."""
    for parts in (4, 3, 2):
        with suppress(LogicLensError):
            return cut_at_quantiles(parts, numbers, np.ones(len(numbers)))
    return TargetCuts((float(numbers.max()),))


def broken(proofs: Sequence[Proof]) -> LogicLensError:
    """Return the error for rules that do not keep to knowledge, which is a defect."""
    failed = [proof.constraint for proof in proofs if not proof.holds]
    return LogicLensError(
        f"the rules do not keep to the knowledge ({enumeration([quoted(one) for one in failed])}); this is a defect "
        "of logiclens."
    )
