"""V-Dem's two networks C1 → C2 → Y trained jointly; explanations are for the second, in terms of the predicted C2."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch

from logiclens.baselines.blackbox import plain_network
from logiclens.baselines.learner import Learned
from logiclens.errors import LogicLensWarning
from logiclens.experiments.encoding import HIDDEN, prepared_inputs
from logiclens.experiments.folddata import FoldData
from logiclens.experiments.ours import Answers
from logiclens.explain.classwise import explain_all
from logiclens.nn.bottleneck import ConceptBottleneck
from logiclens.nn.networks import EntropyNet
from logiclens.train.bottleneck import BottleneckConfig, fit_bottleneck, predict_concepts
from logiclens.train.config import TrainConfig
from logiclens.train.encoder import EncoderConfig


@dataclass(frozen=True)
class Joint:
    """Both networks at once: the loss of the classes plus that of the concepts, on concepts cut at 0.5.

    The training rows shape the concepts they are explained by, so this is joint in the sense of concept bottlenecks;
    test rows are seen by neither network. (In sequence, each row's concepts come from a network that did not see it.)
    """

    def __call__(self, fold: FoldData) -> Learned:
        """Learn from the inputs of a fold."""
        inputs, rows, settings = prepared_inputs(fold.dataset, fold.rows.train), fold.rows, fold.task.network
        annotated = fold.dataset.concepts(fold.dataset.all_rows)
        generator = torch.Generator().manual_seed(fold.seed)
        model = ConceptBottleneck(
            plain_network((inputs.shape[1], *HIDDEN, annotated.n_concepts), generator),
            EntropyNet(
                annotated.n_concepts,
                len(annotated.class_names),
                settings.hidden,
                temperature=settings.temperature,
                generator=generator,
            ),
            hard=True,
            names=annotated.names,
        )
        train, held = (
            (inputs[part], annotated.values[part], fold.dataset.labels[part]) for part in (rows.train, rows.validation)
        )
        config = BottleneckConfig(
            network=TrainConfig(epochs=settings.epochs, penalty_weight=settings.penalty_weight, progress=False),
            encoder=EncoderConfig(epochs=settings.epochs, batch_size=len(rows.train), task="multilabel"),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogicLensWarning)
            fit_bottleneck(model, *train, config, mode="joint", seed=fold.seed, validation=held)
            table = annotated.with_values(predict_concepts(model, inputs)).hard()
            both = table.take([*rows.train, *rows.validation])
            formulas = explain_all(model.network, both, method="search").formulas
        return Learned(Answers(model.network, hard=True), formulas, test=table.take(rows.test))
