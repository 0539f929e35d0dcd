"""The tables of one fold, with concepts that are given or predicted by an encoder g: X → C that did not see their rows.

Under `clean`, per outer fold: the concepts of training and validation rows come from inner folds, those of test rows
from an encoder trained on the outer training part only. Under `paper` one encoder, as in the authors' scripts, also
predicts its own training rows. Predictions are cached by the hash of everything they depend on.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn

from lab.datasets.catalogue import load
from lab.datasets.dataset import Dataset, Rows
from lab.peers.black_box import plain_network
from lab.runs.authors import encoder_as_authors
from lab.runs.tasks import TASKS, Protocol, Task, folds_of
from logiclens.concepts.concept_table import ConceptTable
from logiclens.concepts.splits import Fold, folds
from logiclens.nn.encoders import ResNet10
from logiclens.train.encoder import EncoderConfig, encode, fit_encoder

VERSION = 1
"""Increase this if predictions with the same settings would change."""
INNER_FOLDS = 5
HIDDEN = (100, 50)
"""Widths of the network from low-level indicators to concepts (V-Dem)."""
SCRIPT_CUT, SCRIPT_SHARE = 0.5, 0.8
"""Of the scripts: the threshold for the logits of predicted concepts, and the images that CUB's encoder learns from."""


@dataclass(frozen=True)
class EncoderSpec:
    """An encoder and its training settings."""

    kind: Literal["resnet10", "layers", "authors"]
    config: EncoderConfig
    width: int = 64
    inner_folds: int = INNER_FOLDS


SPECS: dict[tuple[str, Protocol], EncoderSpec] = {
    ("vdem", "clean"): EncoderSpec("layers", EncoderConfig(20, 128, 5e-3)),
    ("vdem", "paper"): EncoderSpec("authors", EncoderConfig(200)),
    ("mnist", "clean"): EncoderSpec("resnet10", EncoderConfig(5, 256, 5e-3, augment="shift"), width=16),
    ("mnist", "paper"): EncoderSpec("resnet10", EncoderConfig(20, 256, 5e-3), width=16),
    ("cub", "clean"): EncoderSpec(
        "resnet10", EncoderConfig(60, 128, 5e-3, 1e-1, augment="crop_flip", precision="bfloat16")
    ),
    ("cub", "paper"): EncoderSpec("resnet10", EncoderConfig(60, 128, 5e-3, 1e-1, precision="bfloat16")),
}
"""MNIST's encoder has a quarter of the usual width: on validation rows it is as good, and a CPU trains it in minutes.

CUB's learning rate and weight decay were chosen on the validation rows of the first fold, among four settings.
"""


@dataclass(frozen=True)
class Source:
    """Where the rows of a comparison come from and how they are split; the same for all of its runs.

    Args:
        data: the folder of the data files; None if no task needs one.
        cache: the folder of predicted concepts.
        n_folds: number of folds, or of seeds if the protocol has one split.
        seed: random seed of the folds; the networks of fold k use `seed + k`.
        encoder_epochs: epochs of image encoders; default: those of their settings.
    """

    data: Path | None
    cache: Path
    n_folds: int = 5
    seed: int = 42
    encoder_epochs: int | None = None


@dataclass(frozen=True, eq=False)
class FoldRows:
    """The rows of one fold before concepts are predicted."""

    task: Task
    protocol: Protocol
    number: int
    rows: Fold
    dataset: Dataset
    source: Source

    @property
    def seed(self) -> int:
        return self.source.seed + self.number

    @property
    def spec(self) -> EncoderSpec:
        spec = SPECS[self.task.dataset, self.protocol]
        if self.source.encoder_epochs is None or spec.kind != "resnet10":
            return spec
        return replace(spec, config=replace(spec.config, epochs=self.source.encoder_epochs))

    def predicted(self, what: Literal["concepts", "classes"]) -> Predictions:
        if what == "concepts":
            return _predictions(self, list(encoder_parts(self))[-1], what)
        part = Part(np.unique(np.concatenate([self.rows.train, self.rows.validation])), self.rows.test)
        return _predictions(self, part, what)


@dataclass(frozen=True, eq=False)
class FoldData(FoldRows):
    """One fold of a task under a protocol. `final` are rows that no fold uses, predicted as the test rows are."""

    train: ConceptTable
    validation: ConceptTable
    test: ConceptTable
    final: ConceptTable | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """One encoder: the rows it is trained on and the rows it predicts."""

    train: Rows
    predicted: Rows


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of an encoder on the rows it was asked about, and on the rows of a final test, if any."""

    rows: NDArray[np.float32]
    final: NDArray[np.float32]


@lru_cache(maxsize=20)
def fold_data(source: Source, task_name: str, protocol: Protocol, number: int) -> FoldData:
    fold = fold_rows(source, task_name, protocol, number)
    dataset, rows, final = fold.dataset, fold.rows, None
    if fold.task.encoded:
        table = predicted_concepts(fold)
        if dataset.final is not None:
            every = dataset.final.concepts(dataset.final.all_rows)
            final = every.with_values(fold.predicted("concepts").final)
    else:
        table = dataset.concepts(rows.train if protocol == "clean" else dataset.all_rows)
    train, validation, test = (table.take(part) for part in (rows.train, rows.validation, rows.test))
    return FoldData(fold.task, protocol, number, rows, dataset, source, train, validation, test, final)


def fold_rows(source: Source, task_name: str, protocol: Protocol, number: int) -> FoldRows:
    task = TASKS[task_name]
    dataset = dataset_of(task.dataset, source.data)
    rows = folds_of(task, dataset, protocol, source.n_folds, source.seed)[number]
    return FoldRows(task, protocol, number, rows, dataset, source)


@lru_cache(maxsize=2)
def dataset_of(name: str, folder: Path | None) -> Dataset:
    return load(name, folder)


def predicted_concepts(fold: FoldRows) -> ConceptTable:
    annotated = fold.dataset.concepts(fold.dataset.all_rows)
    values = np.full(annotated.values.shape, np.nan, dtype=np.float32)
    for part in encoder_parts(fold):
        values[part.predicted] = _predictions(fold, part, "concepts").rows
    return annotated.with_values(values)


def encoder_parts(fold: FoldRows) -> Iterator[Part]:
    dataset, rows = fold.dataset, fold.rows
    if fold.protocol == "paper":
        yield Part(_script_rows(fold), dataset.all_rows)
        return
    outer = np.sort(np.concatenate([rows.train, rows.validation]))
    groups = dataset.groups[outer] if fold.task.grouped and dataset.groups is not None else None
    for inner in folds(dataset.labels[outer], fold.spec.inner_folds, seed=fold.seed, groups=groups):
        yield Part(outer[np.sort(np.concatenate([inner.train, inner.validation]))], outer[inner.test])
    yield Part(outer, rows.test)


def _script_rows(fold: FoldRows) -> Rows:
    scripts, dataset = fold.task.scripts, fold.dataset
    if scripts is None or not scripts.one_split:
        return np.sort(fold.rows.train)
    if scripts.copies > 1:
        return dataset.all_rows
    return np.sort(np.random.default_rng(0).permutation(len(dataset))[: int(SCRIPT_SHARE * len(dataset))])


def _predictions(fold: FoldRows, part: Part, what: Literal["concepts", "classes"]) -> Predictions:
    spec, dataset = fold.spec, fold.dataset
    # One encoder serves all seeds of the scripts.
    seed = 0 if fold.protocol == "paper" and spec.kind == "resnet10" else fold.seed
    if what == "concepts":
        table = dataset.concepts(dataset.all_rows)
        targets, one_of = table.values.astype(np.float32), len(table.exclusive) == 1
    else:
        targets, one_of = np.eye(len(dataset.class_names), dtype=np.float32)[dataset.labels], True
    spec = replace(spec, config=replace(spec.config, task="multiclass" if one_of else "multilabel"))
    digest = hashlib.sha256(json.dumps([VERSION, asdict(spec), seed]).encode())
    for array in (part.train, part.predicted, targets):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(_inputs_hash(dataset))
    file = fold.source.cache / f"{dataset.name}-{what}-{digest.hexdigest()[:24]}.npz"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        predictions = _encoded(dataset, part, targets, spec, seed, file.with_suffix(".part"))
        # Written under another name first: two processes may make the same file.
        new = file.with_name(f"{os.getpid()}-{file.name}")
        np.savez_compressed(new, asked=predictions.rows.astype(np.float16), final=predictions.final.astype(np.float16))
        new.replace(file)
    with np.load(file, allow_pickle=False) as arrays:
        return Predictions(arrays["asked"].astype(np.float32), arrays["final"].astype(np.float32))


def _encoded(
    dataset: Dataset, part: Part, targets: NDArray[np.float32], spec: EncoderSpec, seed: int, checkpoint: Path
) -> Predictions:
    inputs, final = prepared_inputs(dataset, part.train), np.zeros((0, targets.shape[1]), dtype=np.float32)
    if spec.kind == "authors":
        columns = np.asarray(inputs, dtype=np.float32)
        network = encoder_as_authors(columns[part.train], targets[part.train], epochs=spec.config.epochs, seed=seed)
        with torch.no_grad():
            logits = network(torch.tensor(columns[part.predicted]))
        # Shifted, so that the scripts' threshold of 0.5 on logits is ours of 0.5 on probabilities.
        return Predictions(torch.sigmoid(logits - SCRIPT_CUT).numpy(), final)
    encoder = _encoder(spec, inputs.shape[1:], targets.shape[1], seed)
    truth = targets[part.train] if spec.config.task == "multilabel" else targets[part.train].argmax(axis=1)
    fit_encoder(encoder, inputs[part.train], truth, spec.config, seed=seed, checkpoint=checkpoint)
    if dataset.final is not None:
        final = encode(encoder, prepared_inputs(dataset.final, None), task=spec.config.task)
    predictions = Predictions(encode(encoder, inputs[part.predicted], task=spec.config.task), final)
    checkpoint.unlink(missing_ok=True)
    return predictions


def prepared_inputs(dataset: Dataset, train: Rows | None) -> NDArray[np.generic]:
    if not isinstance(dataset.inputs, pd.DataFrame):
        return dataset.inputs
    frame = dataset.inputs.to_numpy(dtype=np.float64)
    fitted_on = slice(None) if train is None else train
    filled = np.where(np.isnan(frame), np.nanmedian(frame[fitted_on], axis=0), frame)
    fitted = filled[fitted_on]
    scale = fitted.std(axis=0)
    return np.asarray((filled - fitted.mean(axis=0)) / np.where(scale > 0, scale, 1), dtype=np.float32)


def _encoder(spec: EncoderSpec, shape: tuple[int, ...], n_outputs: int, seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    if spec.kind == "resnet10":
        stem: Literal["small", "large"] = "small" if shape[-1] <= 64 else "large"
        return ResNet10(shape[0], n_outputs, width=spec.width, stem=stem, generator=generator)
    return plain_network((shape[0], *HIDDEN, n_outputs), generator)


@lru_cache(maxsize=4)
def _inputs_hash(dataset: Dataset) -> bytes:
    inputs = dataset.inputs
    array = inputs.to_numpy(dtype=np.float64) if isinstance(inputs, pd.DataFrame) else inputs
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()
