"""Measure torch_explain 1.5.1 once, in its own environment; print one line of JSON.

The network is the one of its README: entropy layer, LeakyReLU, then linear layers that all classes share.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, one_hot
from torch_explain.logic.metrics import complexity, test_explanation
from torch_explain.logic.nn.entropy import explain_class
from torch_explain.nn import EntropyLinear
from torch_explain.nn.functional import entropy_logic_loss

from lab.scripts import measure
from lab.scripts.shapes import SHAPES, Rows, Shape, planted_formula


def network(shape: Shape) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = [EntropyLinear(shape.concepts, shape.hidden[0], n_classes=shape.classes)]
    for width_in, width_out in zip(shape.hidden, [*shape.hidden[1:], 1], strict=True):
        layers += [torch.nn.LeakyReLU(), torch.nn.Linear(width_in, width_out)]
    return torch.nn.Sequential(*layers)


def epoch(shape: Shape, rows: Rows) -> None:
    concepts, labels = torch.from_numpy(rows.concepts), torch.from_numpy(rows.labels)
    model = network(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=measure.LEARNING_RATE)

    def one_epoch() -> None:
        optimizer.zero_grad()
        loss = cross_entropy(model(concepts).squeeze(-1), labels)
        (loss + measure.ENTROPY_WEIGHT * entropy_logic_loss(model)).backward()
        optimizer.step()

    measure.report(**measure.epoch_cost(one_epoch, shape.timed_epochs))


def train(shape: Shape, rows: Rows, weights: str) -> None:
    """Train the network of both sides as its README does (one binary loss per class)."""
    concepts = torch.from_numpy(rows.concepts)[~rows.held]
    targets = one_hot(torch.from_numpy(rows.labels), shape.classes).float()[~rows.held]
    model = network(shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=measure.LEARNING_RATE)
    for _ in range(shape.epochs):
        for part in torch.randperm(len(concepts)).split(shape.batch or len(concepts)):
            optimizer.zero_grad()
            logits = model(concepts[part]).squeeze(-1)
            # Positive and negative rows weigh the same; otherwise 200 classes would answer no to everything.
            balance = torch.tensor(float(shape.classes - 1))
            loss = binary_cross_entropy_with_logits(logits, targets[part], pos_weight=balance)
            (loss + measure.ENTROPY_WEIGHT * entropy_logic_loss(model)).backward()
            optimizer.step()
    np.savez(weights, **{f"p{i}": p.detach().numpy() for i, p in enumerate(model.parameters())})
    right = ((model(concepts).squeeze(-1) > 0) == targets.bool()).float().mean()
    relevant = model[0].concept_mask.sum(dim=1).float().median()
    measure.report(network_accuracy=float(right), relevant_concepts=float(relevant))


def extract(shape: Shape, rows: Rows, weights: str, limit: float) -> None:
    """Extract as the authors do: relevant concepts, the best ten rules, literals dropped, simplified."""
    concepts = torch.from_numpy(rows.concepts)
    targets = one_hot(torch.from_numpy(rows.labels), shape.classes)
    train_rows, held = (torch.from_numpy(np.flatnonzero(which)) for which in (~rows.held, rows.held))
    model = network(shape)
    with np.load(weights) as file, torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(torch.from_numpy(file[f"p{i}"]))
    classes = range(shape.extracted or shape.classes)
    formulas: list[str] = []
    start, over = time.process_time(), False
    try:
        with measure.cpu_limit(limit):
            for target in classes:
                formula, _ = explain_class(
                    model,
                    concepts,
                    targets,
                    train_rows,
                    held,
                    target_class=target,
                    max_minterm_complexity=shape.max_literals,
                    topk_explanations=10,
                    try_all=False,
                    simplify=True,
                )
                formulas.append(formula)
    except measure.OverLimit:
        over = True
    seconds = time.process_time() - start
    if not over:
        seconds *= shape.classes / len(classes)
    found = [(i, formula) for i, formula in enumerate(formulas) if formula not in ("", "True", "False")]
    measure.report(
        seconds=seconds,
        over_limit=over,
        formulas=len(found),
        asked=len(classes),
        accuracy=_mean([test_explanation(text, concepts, targets, i, held)[0] for i, text in found]),
        literals=_mean([float(complexity(text)) for _, text in found]),
    )


def formula(shape: Shape, rows: Rows) -> None:
    concepts = torch.from_numpy(rows.concepts)
    targets = one_hot(torch.from_numpy(rows.labels), shape.classes)
    cubes = planted_formula(shape.concepts, cubes=5, literals=4)
    text = " | ".join(
        "(" + " & ".join(f"{'' if positive else '~'}feature{j:010}" for j, positive in cube) + ")" for cube in cubes
    )
    everything = torch.arange(len(concepts))

    def scored() -> tuple[float, torch.Tensor]:
        return test_explanation(text, concepts, targets, 1, everything)

    accuracy, fires = scored()
    measure.report(fired=int(fires.sum()), accuracy=accuracy, seconds=measure.repeated_cost(scored))


def _mean(values: list[float]) -> float | None:
    return statistics.mean(values) if values else None


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    given = measure.arguments()
    shape, rows = SHAPES[given.shape], Rows.load(given.data)
    match given.measurement:
        case "train":
            train(shape, rows, given.weights)
        case "epoch":
            epoch(shape, rows)
        case "extract":
            extract(shape, rows, given.weights, given.limit)
        case "formula":
            formula(shape, rows)


if __name__ == "__main__":
    main()
