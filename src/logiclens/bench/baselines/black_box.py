"""Black boxes, for what can be reached without formulas: a forest, logistic regression, a plain network, an EBM."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import nn

from logiclens.bench.baselines.learner import Learned, class_numbers, global_seed, require, together
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.nn.layers import seeded_linear
from logiclens.train.config import TrainConfig
from logiclens.train.loop import fit


@dataclass(frozen=True)
class Forest:
    """scikit-learn's random forest on the uncut concepts of the training and validation rows together."""

    n_trees: int = 100

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Grow the trees from `seed`, in this thread."""
        rows = together(train, validation)
        forest = RandomForestClassifier(self.n_trees, n_jobs=1, random_state=seed)
        forest.fit(rows.values, class_numbers(rows), sample_weight=rows.weight)

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            answers: NDArray[np.intp] = forest.predict(table.with_columns(rows.names).values).astype(np.intp)
            return answers

        return Learned(predict)


@dataclass(frozen=True)
class Logistic:
    """scikit-learn's logistic regression on the uncut concepts of the training and validation rows together.

    Args:
        strength: what the squared coefficients are weighed by, scikit-learn's `1 / C`.
        max_iter: the most steps of the solver; a note says where they were not enough.
    """

    strength: float = 1.0
    max_iter: int = 10_000

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Solve; nothing is drawn."""
        rows = together(train, validation)
        labels = class_numbers(rows)
        if len(np.unique(labels)) < 2:
            raise LogicLensError("all training rows have one class: at least two are needed to learn a difference.")
        model = LogisticRegression(C=1 / self.strength, max_iter=self.max_iter)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model.fit(rows.values, labels, sample_weight=rows.weight)
        settled = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        for warning in caught:
            # The one on convergence becomes a note; any other is not ours to hold back.
            if not issubclass(warning.category, ConvergenceWarning):
                warnings.warn(warning.message, stacklevel=2)
        note = f"logistic regression had not settled after at most {self.max_iter:,} steps."

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            answers: NDArray[np.intp] = model.predict(table.with_columns(rows.names).values).astype(np.intp)
            return answers

        return Learned(predict, notes=() if settled else (note,))


@dataclass(frozen=True)
class EBM:
    """The Explainable Boosting Machine of interpret-core on the uncut concepts of training and validation rows.

    A sum of curves of one or two concepts each: it can be drawn, but gives no formulas, so here it is a black box.

    Args:
        n_bags: models that are averaged, each trained and stopped on another split of the rows.
        max_rounds: the most rounds of boosting. On rows that can be told apart without error the loss falls for ever,
            and the package's own limit of 50,000 takes minutes on a hundred rows.
    """

    n_bags: int = 14
    max_rounds: int = 5_000

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Boost from `seed`, in this process."""
        rows = together(train, validation)
        labels = class_numbers(rows)
        if len(np.unique(labels)) < 2:
            raise LogicLensError("all training rows have one class: at least two are needed to learn a difference.")
        model = require("interpret.glassbox").ExplainableBoostingClassifier(
            feature_names=list(rows.names),
            # Else it takes 0 and 1 for categories, and a probability for a category that it does not know.
            feature_types=["continuous"] * rows.n_concepts,
            outer_bags=self.n_bags,
            max_rounds=self.max_rounds,
            n_jobs=1,
            random_state=seed,
        )
        with global_seed(seed), warnings.catch_warnings():
            # It warns of what it does not do for several classes, or for few rows.
            warnings.simplefilter("ignore")
            model.fit(np.array(rows.values, dtype=np.float64), labels, sample_weight=np.array(rows.weight))

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            values = np.array(table.with_columns(rows.names).values, dtype=np.float64)
            answers: NDArray[np.intp] = np.asarray(model.predict(values)).astype(np.intp)
            return answers

        return Learned(predict)


@dataclass(frozen=True)
class PlainNetwork:
    """A network without an entropy layer, of the widths an entropy network would have: ReLU, AdamW, cross-entropy.

    It trains on the uncut concepts of the training rows; the epoch with the best validation accuracy is restored.

    Args:
        hidden: widths of the hidden layers.
        epochs: passes over the data.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        batch_size: None trains on the full batch.
    """

    hidden: tuple[int, ...] = (20,)
    epochs: int = 200
    learning_rate: float = 1e-2
    weight_decay: float = 1e-2
    batch_size: int | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Draw the first weights, and the order of mini-batches, from `seed`."""
        class_numbers(train)
        class_numbers(validation)
        generator = torch.Generator().manual_seed(seed)
        network = plain_network((train.n_concepts, *self.hidden, len(train.class_names)), generator)
        config = TrainConfig(
            self.epochs, self.learning_rate, self.weight_decay, penalty=None, batch_size=self.batch_size, progress=False
        )
        with warnings.catch_warnings():
            # What it warns of is in its notes, which travel with the result.
            warnings.simplefilter("ignore", LogicLensWarning)
            result = fit(network, train, config, generator, validation=validation)
        names = train.names
        network.eval()

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            concepts = torch.tensor(np.array(table.with_columns(names).values), dtype=torch.float32)
            with torch.no_grad():
                answers: NDArray[np.intp] = network(concepts).argmax(dim=-1).numpy().astype(np.intp)
            return answers

        return Learned(predict, notes=result.notes)


def plain_network(widths: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    """Linear layers of these widths, the first one being the inputs, with ReLU between them.

    >>> plain_network((90, 20, 2), torch.Generator().manual_seed(0))(torch.rand(5, 90)).shape
    torch.Size([5, 2])
    """
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(widths):
        layers += [seeded_linear(width_in, width_out, generator), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
