"""Two-category columns in rules: a rule that says "sex is not woman" is stored as the condition "sex is man".

A column of two categories without gaps has one concept, for the search and the networks: the other category is its
negation. On other rows that is not so: a missing value and a third category are no woman either. So where the rules
mostly negate such a concept, `state_positively` turns it around everywhere: on the training rows nothing changes, and
what the words say is what is decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from logiclens.concepts.booleaniser import Booleaniser, Cutting
from logiclens.concepts.concept_table import ConceptTable
from logiclens.estimator.inputs import Prepared, Schema, SetAside
from logiclens.estimator.training import Trained
from logiclens.explain.candidates import Codes
from logiclens.explain.choice import Choice, LearnedRules
from logiclens.formula.dnf import DNF, Complement
from logiclens.formula.predicate import Predicate
from logiclens.nn.committee import Committee
from logiclens.nn.layers import EntropyNet


def state_positively(ready: Prepared, trained: Trained) -> tuple[Prepared, Trained]:
    """Turn the concepts around that the rules negate more often than not and that have an opposite.

    With several classes rules may use both signs: the more frequent one is stated positively, the other stays "is not".
    Rows, cuts, networks and formulas change together. A network gives the same answers on the training rows: an input c
    becomes 1 − c, so its weights change their sign and move into the bias. Strength and relevance stay as they are.
    """
    cutting = ready.schema.cutting
    if trained.learned is None or cutting is None:
        return ready, trained
    signs = Counter(
        literal
        for formula in trained.learned.formulas
        if isinstance(formula, DNF)
        for cube in formula
        for literal in cube
    )
    uses = {(literal.concept, literal.positive): n for literal, n in signs.items()}
    turned = {
        concept: _Turn(str(opposite), opposite)
        for concept, opposite in cutting.opposites.items()
        if uses.get((concept, False), 0) > uses.get((concept, True), 0) and str(opposite) not in cutting.names
    }
    if not turned:
        return ready, trained
    places = [ready.schema.names.index(concept) for concept in turned]
    for network in trained.network.networks if isinstance(trained.network, Committee) else (trained.network,):
        turn_inputs(network, places)
    made = _cutting(cutting, turned)
    schema = replace(ready.schema, names=made.names, predicates=made.predicates, cutting=made)
    aside = ready.aside
    if aside is not None:
        aside = replace(aside, table=_table(aside.table, schema, places, aside))
    booleaniser = None if ready.booleaniser is None else _booleaniser(ready.booleaniser, made)
    ready = replace(
        ready, table=_table(ready.table, schema, places), aside=aside, schema=schema, booleaniser=booleaniser
    )
    return ready, replace(trained, learned=_learned(trained.learned, turned))


@dataclass(frozen=True)
class _Turn:
    """The new name and meaning of a concept."""

    name: str
    meaning: Predicate


def turn_inputs(network: EntropyNet, places: Sequence[int]) -> None:
    """Change a network so that it answers 1 − c where it answered c before, for some of its inputs c.

    From eq. (forward), h = Σ_j α̃_j W_j c_j + b. With c_j = 1 − c'_j, W_j becomes −W_j and b gains α̃_j W_j. γ_j, the L1
    norm of W_j, stays, and so does α̃_j.

    Args:
        network: the network, which is changed in place.
        places: the inputs.
    """
    layer = network.entropy
    with torch.no_grad():
        relevance, moved = layer.relevance(), layer.weight[:, :, list(places)].clone()
        if layer.bias is not None:
            layer.bias.add_((moved * relevance[:, None, list(places)]).sum(dim=-1))
        layer.weight[:, :, list(places)] = -moved


def _cutting(cutting: Cutting, turned: Mapping[str, _Turn]) -> Cutting:
    predicates, opposites = {}, {}
    for concept, predicate in cutting.predicates.items():
        turn = turned.get(concept)
        predicates[concept if turn is None else turn.name] = predicate if turn is None else turn.meaning
        if concept in cutting.opposites:
            opposites[concept if turn is None else turn.name] = (
                cutting.opposites[concept] if turn is None else predicate
            )
    # The concept is the only one of its column, so no group names it.
    return replace(cutting, predicates=predicates, opposites=opposites)


def _table(table: ConceptTable, schema: Schema, places: Sequence[int], aside: SetAside | None = None) -> ConceptTable:
    """Return rows under the new concepts.

    Held-out rows may have gaps or further categories, so their concepts are computed from the raw columns, if these are
    known. An engine cuts on all rows: there are no other values.
    """
    values = table.values.copy()
    values[:, list(places)] = 1 - values[:, list(places)]
    if aside is not None and aside.columns and schema.cutting is not None:
        values = schema.cutting.values(schema.named(aside.distinct_columns))
    return ConceptTable(
        values,
        schema.names,
        table.labels,
        table.class_names,
        table.groups.exclusive,
        table.weight,
        table.groups.implied,
        schema.literals,
    )


def _booleaniser(booleaniser: Booleaniser, cutting: Cutting) -> Booleaniser:
    booleaniser.cutting_ = cutting
    return booleaniser


def _learned(learned: LearnedRules, turned: Mapping[str, _Turn]) -> LearnedRules:
    choices = tuple(_choice(choice, turned) for choice in learned.choices)
    stated = {choice.klass: choice.formula for choice in choices}
    other = Complement(choices[0].formula)
    return LearnedRules(tuple(stated.get(klass, other) for klass in range(len(learned.formulas))), choices)


def _choice(choice: Choice, turned: Mapping[str, _Turn]) -> Choice:
    places = {place for place, name in enumerate(choice.names) if name in turned}

    def cubes(given: Sequence[Codes]) -> tuple[Codes, ...]:
        # The last bit of a code is its sign.
        return tuple(tuple(code ^ 1 if code >> 1 in places else code for code in cube) for cube in given)

    return replace(
        choice,
        names=tuple(turned[name].name if name in turned else name for name in choice.names),
        cubes=cubes(choice.cubes),
        path=tuple(replace(point, cubes=cubes(point.cubes)) for point in choice.path),
        bags=tuple(cubes(bag) for bag in choice.bags),
    )
