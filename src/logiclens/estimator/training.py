"""The network of a soft classifier: one entropy network, which also sees the rules that the labels gave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import set_apart
from logiclens.errors import collected_warnings
from logiclens.estimator.inputs import Prepared, listed_class_weight
from logiclens.explain.bounds import RuleBounds
from logiclens.explain.choice import LearnedRules
from logiclens.nn.layers import EntropyNet
from logiclens.nn.rule_net import RuleNet
from logiclens.progress import Progress
from logiclens.train.config import STEP, TrainConfig, TrainResult
from logiclens.train.loop import fit

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier

LARGE = 10_000
"""The number of distinct rows above which a network is trained in mini-batches."""
BATCH = 2_048
"""The rows of a mini-batch."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A network, and how it was trained."""

    network: EntropyNet | RuleNet
    result: TrainResult


def trained(
    model: EntropyClassifier,
    ready: Prepared,
    seed: int,
    rules: LearnedRules | None = None,
    bounds: RuleBounds | None = None,
) -> Trained:
    """Train the network of a classifier.

    Args:
        model: the classifier, whose settings are used.
        ready: the rows.
        seed: random seed for the initial weights.
        rules: rules found on the labels, whose cubes the network sees. Default: None, it sees the concepts only.
        bounds: what binds the network. Default: None, nothing.
    """
    table, validation = ready.table, ready.validation
    if validation is None:
        strata = None if table.is_multilabel else np.asarray(table.labels)
        weight = set_apart(strata, table.weight, model.validation, ready.unit)
        if weight.any():
            table, validation = table.weighing(table.weight - weight), table.weighing(weight)
    cubes = torch.zeros((0, table.n_concepts), dtype=torch.int8)
    if rules is not None:
        places = [table.names.index(name) for name in rules.choices[0].names]
        codes = dict.fromkeys(cube for choice in rules.choices for cube in choice.cubes if len(cube) > 1)
        cubes = RuleNet.cubes_of(list(codes), places, table.n_concepts)
    generator = torch.Generator().manual_seed(seed)
    inner = EntropyNet(
        table.n_concepts + len(cubes),
        len(table.class_names),
        model.hidden,
        temperature=float(model.temperature),
        generator=generator,
    )
    if bounds is not None:
        kept = torch.from_numpy(bounds.kept(table.names))
        # A class that may not use a concept may not use it through a cube.
        through = (~kept).double() @ (cubes != 0).double().T > 0
        inner.entropy.keep.copy_(torch.cat([kept, ~through], dim=1))
    network = RuleNet(inner, cubes)
    # A rare category is constant in a part of the rows by nature: notes tell what is constant in all of them.
    with collected_warnings(), Progress(1, STEP) as progress:
        result = fit(
            inner, _with_rules(network, table), _config(model, ready), generator,
            validation=None if validation is None else _with_rules(network, validation),
        )  # fmt: skip
        progress.update(1)
    # In double precision, single rows and whole tables agree in all printed digits.
    return Trained((network if len(cubes) else inner).double(), result)


def _with_rules(network: RuleNet, table: ConceptTable) -> ConceptTable:
    """Return the rows as the inner network takes them."""
    if not len(network.cubes):
        return table
    values = network.with_rules(torch.from_numpy(table.values.astype(np.float64))).numpy()
    names = (*table.names, *(f"rule {place}" for place in range(1, len(network.cubes) + 1)))
    return ConceptTable(values, names, table.labels, table.class_names, weight=table.weight)


def _config(model: EntropyClassifier, ready: Prepared) -> TrainConfig:
    """Return the training configuration for some rows."""
    table = ready.table
    n_rows = len(table.distinct[0]) if table.is_boolean else len(table)
    is_large = n_rows > LARGE
    return TrainConfig(
        # A large table needs fewer passes: about as many rows pass in total as for a table of LARGE rows.
        epochs=max(2, math.ceil(model.epochs * LARGE / n_rows)) if is_large else model.epochs,
        batch_size=BATCH if is_large else None,
        learning_rate=model.learning_rate,
        penalty_weight=model.penalty_weight,
        class_weight=listed_class_weight(model.class_weight, ready.classes),
        # The work that this training is part of has the bar.
        progress=False,
    )
