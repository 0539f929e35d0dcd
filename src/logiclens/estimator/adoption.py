"""Adoption: a fitted model and edited rules become an exact model that answers as the rules do on every row.

The rules may name conditions that the network never saw. They join the concepts of the model in the order in which
training would have put them, and the rules are compiled into a new network, as after an exact fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from logiclens.concepts.booleaniser import Cutting
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, no_column, quoted
from logiclens.estimator.inputs import Schema
from logiclens.estimator.knowledge import check_kept, stored_bound
from logiclens.explain.exact import compiled_network
from logiclens.formula.column_kinds import KINDS, NUMBER, ORDERS
from logiclens.formula.condition import CONCEPT, ZERO_ONE
from logiclens.formula.date_parts import PART_KINDS
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.edits import groups_of
from logiclens.formula.groups import Groups
from logiclens.formula.knowledge import Proof, prove
from logiclens.formula.predicate import Predicate, is_name_of
from logiclens.formula.rule_set import Rule, RuleSet

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier

KEPT = ("classes_", "target_name_", "target_cuts_", "n_features_in_", "feature_names_in_")
"""What an adopted model has of the model that it was made of."""


def adopted(
    model: EntropyClassifier, rules: RuleSet, origin: Mapping[str, Any], *, with_knowledge: bool
) -> EntropyClassifier:
    """Return an exact model of edited rules; see `EntropyClassifier.adopt`.

    Args:
        model: the fitted model that the rules were edited of.
        rules: the rules.
        origin: the metrics and the hash of the data that the model was fitted on.
        with_knowledge: refuse rules that do not keep to the knowledge of the model; without it the new model has none.
    """
    if not isinstance(rules, RuleSet):
        raise LogicLensError(f"a model adopts a RuleSet, such as model.rules_.without('died#2'), got {quoted(rules)}.")
    _check_classes(model, rules)
    known, schema = _joined(model, rules)
    nothing = np.zeros((1, len(schema.names)))
    table = ConceptTable(
        nothing, schema.names, None, schema.class_names, schema.groups.exclusive, implied=schema.groups.implied
    )
    compiled = compiled_network(known.formulas, table, is_edited=True, temperature=float(model.temperature))
    settings = model.get_params(deep=False) | {"exact": True, "method": "search", "teacher": None}
    made = type(model)(**settings if with_knowledge else settings | {"knowledge": None})
    for name in KEPT:
        if hasattr(model, name):
            setattr(made, name, getattr(model, name))
    made.schema_, made.concept_names_ = schema, schema.names
    made.weights_, made.certificate_ = compiled.weights, compiled.certificate
    made.set_aside_ = made.booleaniser_ = None
    made._rules, made._origin = known, dict(origin)
    check_kept(made, known)
    return made


def proofs_of_edited(model: EntropyClassifier, rules: RuleSet) -> tuple[Proof, ...]:
    """Prove whether edited rules, which the model could adopt, keep to its knowledge; nothing is compiled.

    Args:
        model: the fitted model that the rules were edited of.
        rules: the rules.
    """
    known, schema = _joined(model, rules)
    extended = clone(model)
    extended.schema_ = schema
    bound = stored_bound(extended)
    return () if bound is None else prove(known, bound)


def _joined(model: EntropyClassifier, rules: RuleSet) -> tuple[RuleSet, Schema]:
    """Return rules in the terms of a model, and its schema with the concepts that they add."""
    known = _in_terms_of(model.schema_, rules)
    schema = _extended(model.schema_, known)
    facts = replace(known.facts, kinds=known.facts.kinds or schema.column_kinds)
    return replace(known, groups=schema.groups.among(known.concepts), facts=facts), schema


def _check_classes(model: EntropyClassifier, rules: RuleSet) -> None:
    labels = list(model.schema_.class_names) if model.schema_.multilabel else model.classes_.tolist()
    found = [rule.label for rule in rules.rules]
    if (
        found != labels
        or list(map(type, found)) != list(map(type, labels))
        or (rules.multilabel != model.schema_.multilabel)
    ):
        raise LogicLensError(f"the rules are of the classes {quoted(found)}, the model is of {quoted(labels)}.")


# Concepts ------------------------------------------------------------------------------------------------------------


def _in_terms_of(schema: Schema, rules: RuleSet) -> RuleSet:
    """Return the rules under the names that the model has for the same predicates, without unused predicates."""
    names: dict[str, str] = {}
    predicates: dict[str, Predicate] = {}
    for concept in rules.concepts:
        meant = rules.predicates.get(concept)
        for name, known in schema.predicates.items():
            if known == meant and isinstance(known.value, bool) == isinstance(meant.value, bool):
                names[concept], predicates[name] = name, known
                break
        else:
            if meant is None and concept not in schema.names:
                raise no_column(concept, schema.names, "the model")
            if meant is not None and not _is_derived(concept, meant):
                # A name must say what it means.
                names[concept] = str(meant)
            if meant is not None:
                predicates[names.get(concept, concept)] = meant
    renamed = tuple(_renamed(rule, names) for rule in rules.rules)
    return replace(rules, rules=_with_complements(renamed), predicates=predicates, groups=Groups())


def _is_derived(name: str, predicate: Predicate) -> bool:
    is_truth = predicate.operator == "==" and predicate.value is True
    return is_name_of(name, predicate) or (is_truth and name == predicate.column)


def _renamed(rule: Rule, names: Mapping[str, str]) -> Rule:
    if isinstance(rule.formula, Complement) or not any(name in names for name in rule.formula.concepts):
        return rule
    new = {cube: Cube(replace(one, concept=names.get(one.concept, one.concept)) for one in cube) for cube in rule.cubes}
    return replace(
        rule,
        formula=DNF(new.values()),
        recurs={new[cube]: count for cube, count in rule.recurs.items() if cube in new},
        edited=frozenset(new[cube] for cube in rule.edited if cube in new),
        pinned=frozenset(new[cube] for cube in rule.pinned if cube in new),
        reasons={new[cube]: reason for cube, reason in rule.reasons.items() if cube in new},
    )


def _with_complements(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    made = list(rules)
    for place, rule in enumerate(rules):
        other = rules[1 - place].formula if len(rules) == 2 else None
        if rule.is_complement and isinstance(other, DNF):
            made[place] = replace(rule, formula=Complement(other))
    return tuple(made)


def _extended(schema: Schema, rules: RuleSet) -> Schema:
    """Return the schema of a model with the concepts of the rules that it lacks."""
    new = {name: meant for name, meant in rules.predicates.items() if name not in schema.predicates}
    if not new:
        return schema
    cutting = schema.cutting
    if cutting is None:
        raise LogicLensError(
            f"the columns of this model are its concepts, so that {quoted(next(iter(new)))} cannot be asked."
        )
    kinds, scales = dict(cutting.kinds), dict(cutting.scales)
    for name, meant in new.items():
        for column in meant.sources:
            if column not in schema.columns:
                raise no_column(column, schema.columns, "the model", f" that {quoted(name)} is about")
        kinds |= _kinds(meant, kinds, rules)
        if name in schema.names:
            raise LogicLensError(f"the model has another concept called {quoted(name)}: rename the column.")
        soft = [
            scales[one] for one, other in cutting.predicates.items() if one in scales and other.column == meant.column
        ]
        if soft and meant.operator in ORDERS:
            if meant.operator != ">=":
                raise LogicLensError(f"{quoted(meant.column)} is rescaled, so that it can only be asked by '>='.")
            scales[name] = (meant.kind.number(meant.value), soft[0][1])
    by_name, own = tuple(sorted(schema.columns)), list(schema.predicates)
    is_by_name = list(_in_order(schema.predicates, by_name)) == own
    predicates = _in_order({**schema.predicates, **new}, by_name if is_by_name else schema.columns)
    columns = {meant.column for meant in new.values()}
    groups = _groups(schema, predicates, columns)
    grown = Cutting(
        {column: kinds[column] for column in kinds}, predicates, groups, scales,
        cutting.opposites, cutting.whole, cutting.categories,
    )  # fmt: skip
    return replace(schema, names=grown.names, predicates=predicates, groups=groups, cutting=grown)


def _kinds(meant: Predicate, kinds: Mapping[str, str], rules: RuleSet) -> dict[str, str]:
    """Return the kinds of the columns of a new predicate; refuse one that does not fit what the column holds."""
    if meant.origin is not None:
        if wrong := [column for column in meant.sources if kinds.get(column, "date") != "date"]:
            raise LogicLensError(f"{quoted(meant.column)} is taken from {quoted(wrong[0])}, which holds no dates.")
        return {meant.column: NUMBER.name, **dict.fromkeys(meant.sources, "date")}
    told = rules.facts.kinds.get(meant.column)
    told = NUMBER.name if told == ZERO_ONE else None if told == CONCEPT else told
    held = kinds.get(meant.column, told if meant.operator == "missing" else meant.kind.name)
    if held is None:
        raise LogicLensError(f"the kind of {quoted(meant.column)} is not known: call rules.knowing(table) first.")
    if meant.operator != "missing" and (meant.kind.name != held or meant.operator not in KINDS[held].operators):
        raise LogicLensError(
            f"{quoted(meant.column)} holds {KINDS[held].plural}: {quoted(str(meant))} cannot be asked."
        )
    return {meant.column: held}


def _in_order(predicates: Mapping[str, Predicate], columns: tuple[str, ...]) -> dict[str, Predicate]:
    """Return predicates in the order in which training puts them: by column, thresholds rising, gaps last."""
    place = {column: number for number, column in enumerate(columns)}

    def key(entry: tuple[str, Predicate]) -> tuple[Any, ...]:
        meant = entry[1]
        part = meant.origin
        where = (place[meant.column], 0, 0) if part is None else (
            place[part.subject], 1 + list(PART_KINDS).index(part.kind), place[part.columns[0]]
        )  # fmt: skip
        if meant.operator in ORDERS:
            return (*where, 0, meant.kind.number(meant.value), ORDERS.index(meant.operator))
        return (*where, 1 if meant.operator == "==" else 2, 0.0, 0)

    return dict(sorted(predicates.items(), key=key))


def _groups(schema: Schema, predicates: Mapping[str, Predicate], columns: set[str]) -> Groups:
    """Return the groups of a model; those of columns with new concepts are made again."""

    def is_kept(group: tuple[str, ...]) -> bool:
        return not any(name in predicates and predicates[name].column in columns for name in group)

    made = groups_of({name: meant for name, meant in predicates.items() if meant.column in columns})
    return Groups(
        [*filter(is_kept, schema.groups.exclusive), *made.exclusive],
        [*filter(is_kept, schema.groups.implied), *made.implied],
    )
