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
from logiclens.errors import LogicLensError
from logiclens.nn.encoders import ResNet10
from logiclens.train.encoder import EncoderConfig, encode, fit_encoder

VERSION = 1
"""Increase this if predictions with the same settings would change."""
INNER_FOLDS = 5
HIDDEN = (100, 50)
"""Widths of the network from low-level indicators to concepts (V-Dem)."""
SCRIPT_CUT = 0.5
"""The threshold of the scripts for the logits of predicted concepts."""
SCRIPT_SHARE = 0.8
"""The share of the images on which the scripts' CUB encoder was trained."""


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
class Encoding:
    """Which concepts are predicted, under which protocol, and where predictions are cached."""

    task: Task
    protocol: Protocol
    cache: Path
    seed: int
    epochs: int | None = None

    @property
    def spec(self) -> EncoderSpec:
        """Return the encoder of the task."""
        spec = SPECS[self.task.dataset, self.protocol]
        if self.epochs is None or spec.kind != "resnet10":
            return spec
        return replace(spec, config=replace(spec.config, epochs=self.epochs))


@dataclass(frozen=True, eq=False)
class Part:
    """One encoder: the rows it is trained on and the rows it predicts."""

    train: Rows
    predicted: Rows


def predicted_concepts(encoding: Encoding, dataset: Dataset, rows: Fold) -> ConceptTable:
    """Return the table of all rows with predicted concepts instead of annotated ones."""
    annotated = dataset.concepts(dataset.all_rows)
    values = np.full(annotated.values.shape, np.nan, dtype=np.float32)
    for part in concept_parts(encoding, dataset, rows):
        values[part.predicted] = _predictions(encoding, dataset, part, "concepts").rows
    return annotated.with_values(values)


def predicted_classes(encoding: Encoding, dataset: Dataset, rows: Fold) -> Predictions:
    """Return the class probabilities of the test rows from an encoder g: X → Y, trained on the classes directly."""
    part = Part(np.unique(np.concatenate([rows.train, rows.validation])), rows.test)
    return _predictions(encoding, dataset, part, "classes")


def final_concepts(encoding: Encoding, dataset: Dataset, rows: Fold) -> ConceptTable:
    """Return the concepts of the final test rows, from the encoder that saw the outer training part."""
    if dataset.final is None:
        raise LogicLensError(f"{dataset.name} keeps no rows for a last test.")
    outer = list(concept_parts(encoding, dataset, rows))[-1]
    return dataset.final.concepts(dataset.final.all_rows).with_values(
        _predictions(encoding, dataset, outer, "concepts").final
    )


def concept_parts(encoding: Encoding, dataset: Dataset, rows: Fold) -> Iterator[Part]:
    """Return the encoders of a fold; the last one is that of the test rows."""
    if encoding.protocol == "paper":
        yield Part(_script_rows(encoding, dataset, rows), dataset.all_rows)
        return
    outer = np.sort(np.concatenate([rows.train, rows.validation]))
    groups = dataset.groups[outer] if encoding.task.grouped and dataset.groups is not None else None
    for inner in folds(dataset.labels[outer], encoding.spec.inner_folds, seed=encoding.seed, groups=groups):
        yield Part(outer[np.sort(np.concatenate([inner.train, inner.validation]))], outer[inner.test])
    yield Part(outer, rows.test)


def _script_rows(encoding: Encoding, dataset: Dataset, rows: Fold) -> Rows:
    """Return the training rows of the scripts' encoder: those of the fold, or one part of the images for all seeds."""
    scripts = encoding.task.scripts
    if scripts is None or not scripts.one_split:
        return np.sort(rows.train)
    if scripts.copies > 1:
        return dataset.all_rows
    chosen = np.random.default_rng(0).permutation(len(dataset))[: int(SCRIPT_SHARE * len(dataset))]
    return np.sort(chosen)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of an encoder on the rows it was asked about, and on the rows of a final test, if any."""

    rows: NDArray[np.float32]
    final: NDArray[np.float32]


def _predictions(encoding: Encoding, dataset: Dataset, part: Part, what: Literal["concepts", "classes"]) -> Predictions:
    """Train an encoder and predict, or read its predictions from the cache."""
    spec = encoding.spec
    # One encoder serves all seeds of the scripts.
    seed = 0 if encoding.protocol == "paper" and spec.kind == "resnet10" else encoding.seed
    if what == "concepts":
        table = dataset.concepts(dataset.all_rows)
        targets, one_of = table.values.astype(np.float32), len(table.exclusive) == 1
    else:
        targets, one_of = np.eye(len(dataset.class_names), dtype=np.float32)[dataset.labels], True
    spec = replace(spec, config=replace(spec.config, task="multiclass" if one_of else "multilabel"))
    key = _key(dataset, part, targets, spec, seed)
    file = encoding.cache / f"{dataset.name}-{what}-{key}.npz"
    if not file.exists():
        encoding.cache.mkdir(parents=True, exist_ok=True)
        said = _encoded(dataset, part, targets, spec, seed, file.with_suffix(".part"))
        # Written under another name first: two processes may make the same file.
        new = file.with_name(f"{os.getpid()}-{file.name}")
        np.savez_compressed(new, asked=said.rows.astype(np.float16), final=said.final.astype(np.float16))
        new.replace(file)
    with np.load(file, allow_pickle=False) as arrays:
        return Predictions(arrays["asked"].astype(np.float32), arrays["final"].astype(np.float32))


def _encoded(
    dataset: Dataset, part: Part, targets: NDArray[np.float32], spec: EncoderSpec, seed: int, checkpoint: Path
) -> Predictions:
    inputs = prepared_inputs(dataset, part.train)
    if spec.kind == "authors":
        return _encoded_as_authors(np.asarray(inputs, dtype=np.float32), part, targets, spec, seed)
    encoder = _encoder(spec, inputs.shape[1:], targets.shape[1], seed)
    truth = targets[part.train] if spec.config.task == "multilabel" else targets[part.train].argmax(axis=1)
    fit_encoder(encoder, inputs[part.train], truth, spec.config, seed=seed, checkpoint=checkpoint)
    final = np.zeros((0, targets.shape[1]), dtype=np.float32)
    if dataset.final is not None:
        final = encode(encoder, prepared_inputs(dataset.final, None), task=spec.config.task)
    said = Predictions(encode(encoder, inputs[part.predicted], task=spec.config.task), final)
    checkpoint.unlink(missing_ok=True)
    return said


def _encoded_as_authors(
    inputs: NDArray[np.float32], part: Part, targets: NDArray[np.float32], spec: EncoderSpec, seed: int
) -> Predictions:
    """Shift logits so that the scripts' threshold of 0.5 on logits becomes our threshold of 0.5 on probabilities."""
    encoder = encoder_as_authors(inputs[part.train], targets[part.train], epochs=spec.config.epochs, seed=seed)
    with torch.no_grad():
        logits = encoder(torch.tensor(inputs[part.predicted]))
    said = torch.sigmoid(logits - SCRIPT_CUT).numpy()
    return Predictions(said, np.zeros((0, targets.shape[1]), dtype=np.float32))


def prepared_inputs(dataset: Dataset, train: Rows | None) -> NDArray[np.generic]:
    """Return images as they are, and columns imputed and standardised by the training rows."""
    if not isinstance(dataset.inputs, pd.DataFrame):
        return dataset.inputs
    frame = dataset.inputs.to_numpy(dtype=np.float64)
    seen = frame if train is None else frame[train]
    filled = np.where(np.isnan(frame), np.nanmedian(seen, axis=0), frame)
    fitted = filled if train is None else filled[train]
    scale = fitted.std(axis=0)
    scaled = (filled - fitted.mean(axis=0)) / np.where(scale > 0, scale, 1)
    return np.asarray(scaled, dtype=np.float32)


def _encoder(spec: EncoderSpec, shape: tuple[int, ...], n_outputs: int, seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    if spec.kind == "resnet10":
        stem: Literal["small", "large"] = "small" if shape[-1] <= 64 else "large"
        return ResNet10(shape[0], n_outputs, width=spec.width, stem=stem, generator=generator)
    return plain_network((shape[0], *HIDDEN, n_outputs), generator)


def _key(dataset: Dataset, part: Part, targets: NDArray[np.float32], spec: EncoderSpec, seed: int) -> str:
    digest = hashlib.sha256(json.dumps([VERSION, asdict(spec), seed]).encode())
    for array in (part.train, part.predicted, targets):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(_inputs_hash(dataset))
    return digest.hexdigest()[:24]


@lru_cache(maxsize=4)
def _inputs_hash(dataset: Dataset) -> bytes:
    inputs = dataset.inputs
    array = inputs.to_numpy(dtype=np.float64) if isinstance(inputs, pd.DataFrame) else inputs
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()


@dataclass(frozen=True)
class Source:
    """Where the rows of a comparison come from and how they are split; the same for all of its runs.

    Args:
        data: the folder of the data files; None if no task needs one.
        cache: the folder of predicted concepts.
        n_folds: number of folds, or of seeds if the protocol has one split. Default: 5.
        seed: random seed of the folds; the networks of fold k use `seed + k`. Default: 42.
        encoder_epochs: epochs of image encoders; default: those of their settings.
    """

    data: Path | None
    cache: Path
    n_folds: int = 5
    seed: int = 42
    encoder_epochs: int | None = None


@dataclass(frozen=True, eq=False)
class FoldData:
    """One fold of a task under a protocol. `final` are rows that no fold uses, predicted as the test rows are."""

    task: Task
    protocol: Protocol
    number: int
    rows: Fold
    dataset: Dataset
    train: ConceptTable
    validation: ConceptTable
    test: ConceptTable
    encoding: Encoding
    seed: int
    final: ConceptTable | None = None

    @property
    def both(self) -> ConceptTable:
        """Return training and validation rows together, on which rules are chosen."""
        return self.train.append(self.validation)


@lru_cache(maxsize=20)
def fold_data(source: Source, task_name: str, protocol: Protocol, number: int) -> FoldData:
    """Return the tables of one fold; concepts that are not in the cache are predicted."""
    task = TASKS[task_name]
    dataset, rows, encoding = encoded_rows(source, task, protocol, number)
    if task.encoded:
        table = predicted_concepts(encoding, dataset, rows)
    else:
        table = dataset.concepts(rows.train if protocol == "clean" else dataset.all_rows)
    train, validation, test = (table.take(part) for part in (rows.train, rows.validation, rows.test))
    final = final_concepts(encoding, dataset, rows) if task.encoded and dataset.final is not None else None
    seed = source.seed + number
    return FoldData(task, protocol, number, rows, dataset, train, validation, test, encoding, seed, final)


@lru_cache(maxsize=2)
def dataset_of(name: str, folder: Path | None) -> Dataset:
    """Load a data set and keep it for the next run."""
    return load(name, folder)


def encoded_rows(source: Source, task: Task, protocol: Protocol, number: int) -> tuple[Dataset, Fold, Encoding]:
    """Return the rows of one fold before concepts are predicted."""
    dataset = dataset_of(task.dataset, source.data)
    rows = folds_of(task, dataset, protocol, source.n_folds, source.seed)[number]
    return dataset, rows, Encoding(task, protocol, source.cache, source.seed + number, source.encoder_epochs)


def all_folds(source: Source, task_name: str, protocol: Protocol) -> list[FoldData]:
    """Return every fold of a task."""
    return [fold_data(source, task_name, protocol, number) for number in range(source.n_folds)]
