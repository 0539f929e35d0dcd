"""Black boxes, which show what is possible without formulas: forest, logistic regression, plain network, EBM."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import nn

from lab.peers.learner import Learned, class_numbers, global_seed, require, together
from logiclens.concepts.concept_table import ConceptTable
from logiclens.nn.layers import seeded_linear
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit


def _fitted(model: Any, rows: ConceptTable, notes: tuple[str, ...] = ()) -> Learned:
    model.fit(np.array(rows.values, np.float64), class_numbers(rows), sample_weight=np.array(rows.weight))

    def predict(table: ConceptTable) -> NDArray[np.intp]:
        values = np.array(table.with_columns(rows.names).values, np.float64)
        return np.asarray(model.predict(values)).astype(np.intp)

    return Learned(predict, notes=notes)


@dataclass(frozen=True)
class Forest:
    """scikit-learn's random forest on the uncut concepts of training and validation rows together."""

    n_trees: int = 100

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        return _fitted(RandomForestClassifier(self.n_trees, n_jobs=1, random_state=seed), together(train, validation))


@dataclass(frozen=True)
class Logistic:
    """scikit-learn's logistic regression on the uncut concepts of training and validation rows together."""

    max_iter: int = 10_000

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            learned = _fitted(LogisticRegression(max_iter=self.max_iter), together(train, validation))
        if not any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
            return learned
        note = f"logistic regression had not settled after at most {self.max_iter:,} steps."
        return Learned(learned.predict, notes=(note,))


@dataclass(frozen=True)
class EBM:
    """The Explainable Boosting Machine of interpret-core on the uncut concepts of training and validation rows.

    It is a sum of curves of one or two concepts each. It can be drawn but gives no formulas, so here it is a black box.
    """

    n_bags: int = 14
    max_rounds: int = 5_000

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        rows = together(train, validation)
        model = require("interpret.glassbox").ExplainableBoostingClassifier(
            feature_names=list(rows.names),
            # Without this it treats 0 and 1 as categories, and a probability as an unknown category.
            feature_types=["continuous"] * rows.n_concepts,
            outer_bags=self.n_bags, max_rounds=self.max_rounds, n_jobs=1, random_state=seed,
        )  # fmt: skip
        with global_seed(seed), warnings.catch_warnings():
            # It warns about features that it does not offer for several classes, or for few rows.
            warnings.simplefilter("ignore")
            return _fitted(model, rows)


@dataclass(frozen=True)
class PlainNetwork:
    """A network without an entropy layer, with the widths of an entropy network: ReLU, AdamW, cross-entropy.

    It is trained on the uncut concepts of the training rows; the epoch with the best validation accuracy is restored.
    """

    hidden: tuple[int, ...] = (20,)
    epochs: int = 200

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        class_numbers(train)
        generator = torch.Generator().manual_seed(seed)
        network = plain_network((train.n_concepts, *self.hidden, len(train.class_names)), generator)
        config = TrainConfig(self.epochs, penalty=None, progress=False)
        with warnings.catch_warnings():
            # The warnings are also in its notes, which are part of the result.
            warnings.simplefilter("ignore")
            result = fit(network, train, config, generator, validation=validation)
        network.eval()

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            concepts = torch.tensor(np.array(table.with_columns(train.names).values), dtype=torch.float32)
            with torch.no_grad():
                return network(concepts).argmax(dim=-1).numpy().astype(np.intp)

        return Learned(predict, notes=result.notes)


def plain_network(widths: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    """Return linear layers of these widths, starting with the inputs, with ReLU between them.

    >>> plain_network((90, 20, 2), torch.Generator().manual_seed(0))(torch.rand(5, 90)).shape
    torch.Size([5, 2])
    """
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(widths):
        layers += [seeded_linear(width_in, width_out, generator), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
