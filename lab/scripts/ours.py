"""Measure logiclens once, in its own environment; print one line of JSON."""

from __future__ import annotations

import statistics
import time
import warnings

import numpy as np
import scipy.optimize  # noqa: F401  (loaded on first use otherwise; the reference loads sympy when imported)
import torch
from torch.nn.functional import cross_entropy

from lab.scripts import measure
from lab.scripts.shapes import SHAPES, Rows, Shape, planted_formula
from logiclens import DNF, ConceptTable, Cube, Literal, explain_all
from logiclens.errors import LogicLensWarning
from logiclens.formula.packed_rows import PackedRows
from logiclens.logic import test_explanation
from logiclens.nn import EntropyNet, entropy_logic_loss
from logiclens.nn.stacked import Stack
from logiclens.train.config import TrainConfig
from logiclens.train.fit_many import ModelRows, StackedRun, stack_rows
from logiclens.train.loss import Batch


def network(shape: Shape, shared_tail: bool) -> EntropyNet:
    return EntropyNet(shape.concepts, shape.classes, shape.hidden, shared_tail, activation=torch.nn.LeakyReLU)


def epoch(shape: Shape, rows: Rows, shared_tail: bool) -> None:
    """Time an epoch on plain rows; rows are counted, as `fit` always does, only if the shape says so."""
    model = network(shape, shared_tail)
    if not shared_tail:
        table = ConceptTable(rows.concepts, labels=rows.labels, class_names=[str(i) for i in range(shape.classes)])
        told = ModelRows(Batch.of(table, model.entropy.weight, counted=shape.counted), None)
        stacked = stack_rows([[told]], "multiclass", torch.device("cpu"))
        stack = Stack([[model]], stacked, "entropy", torch.full((1, 1), measure.ENTROPY_WEIGHT))
        run = StackedRun(stack, TrainConfig(epochs=shape.timed_epochs + 2), chooses=False)
        with torch.no_grad():
            measure.report(**measure.epoch_cost(run.one_epoch, shape.timed_epochs))
        return
    concepts, labels = torch.from_numpy(rows.concepts), torch.from_numpy(rows.labels)
    optimizer = torch.optim.AdamW(model.parameters(), lr=measure.LEARNING_RATE)

    def one_epoch() -> None:
        optimizer.zero_grad()
        loss = cross_entropy(model(concepts), labels)
        (loss + measure.ENTROPY_WEIGHT * entropy_logic_loss(model)).backward()
        optimizer.step()

    measure.report(**measure.epoch_cost(one_epoch, shape.timed_epochs))


def extract(shape: Shape, rows: Rows, weights: str) -> None:
    """Explain all classes of the network that the reference uses, with the same cut of its outputs."""
    model = network(shape, shared_tail=True)
    with np.load(weights) as file, torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.from_numpy(file[f"p{i}"]).reshape(parameter.shape))
    class_names = [str(i) for i in range(shape.classes)]
    train_rows, held = (
        ConceptTable(rows.concepts[which], labels=rows.labels[which], class_names=class_names)
        for which in (~rows.held, rows.held)
    )
    start = time.process_time()
    explained = explain_all(model, train_rows, validation=held, answer="threshold", score_against="labels")
    seconds = time.process_time() - start
    bits, targets = held.boolean(), held.targets().astype(np.bool_)
    found = [(i, one.formula) for i, one in enumerate(explained) if not one.formula.is_constant]
    right = [float((formula.evaluate(bits, held.names) == targets[:, i]).mean()) for i, formula in found]
    measure.report(
        seconds=seconds,
        over_limit=False,
        formulas=len(found),
        asked=shape.classes,
        accuracy=_mean(right),
        literals=_mean([float(formula.n_literals) for _, formula in found]),
    )


def formula(shape: Shape, rows: Rows) -> None:
    bits, names = rows.concepts >= 0.5, [f"feature{j:010}" for j in range(shape.concepts)]
    planted = DNF(
        Cube(Literal(names[j], positive) for j, positive in cube)
        for cube in planted_formula(shape.concepts, cubes=5, literals=4)
    )
    packed, text = PackedRows.of(bits, names), str(planted)
    concepts, labels = torch.from_numpy(rows.concepts), torch.from_numpy(rows.labels)
    measure.report(
        fired=int(planted.evaluate(packed).sum()),
        accuracy=float((planted.evaluate(packed) == rows.labels).mean()),
        seconds=measure.repeated_cost(lambda: planted.evaluate(bits, names)),
        packed_seconds=measure.repeated_cost(lambda: planted.evaluate(packed)),
        text_seconds=measure.repeated_cost(lambda: test_explanation(text, concepts, labels, 1, concept_names=names)),
    )


def _mean(values: list[float]) -> float | None:
    return statistics.mean(values) if values else None


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore", LogicLensWarning)
    given = measure.arguments()
    shape, rows = SHAPES[given.shape], Rows.load(given.data)
    match given.measurement:
        case "epoch":
            epoch(shape, rows, given.shared_tail)
        case "extract":
            extract(shape, rows, given.weights)
        case "formula":
            formula(shape, rows)
        case "train":
            raise SystemExit("the network to extract from is trained by reference.py, for both sides.")


if __name__ == "__main__":
    main()
