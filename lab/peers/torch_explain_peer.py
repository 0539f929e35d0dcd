"""The program of the interpreter with `torch_explain` 1.5.1: train on the rows of one file, write results to another.

It must not import logiclens, which that interpreter does not have. Start it with `-I`, or it imports the file beside
this one instead of the package of that name.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F


def network(n_concepts: int, n_classes: int, hidden: list[int], temperature: float) -> torch.nn.Sequential:
    """The network of the package's README: its entropy layer, LeakyReLU, then layers that all classes share."""
    from torch_explain.nn import EntropyLinear  # type: ignore[import-not-found]

    layers: list[torch.nn.Module] = [EntropyLinear(n_concepts, hidden[0], n_classes=n_classes, temperature=temperature)]
    for width_in, width_out in pairwise([*hidden, 1]):
        layers += [torch.nn.LeakyReLU(), torch.nn.Linear(width_in, width_out)]
    return torch.nn.Sequential(*layers)


def train(model: torch.nn.Sequential, concepts: torch.Tensor, labels: torch.Tensor, given: dict[str, Any]) -> None:
    """Train with AdamW on the loss plus the package's entropy loss, in shuffled batches; keep the last epoch."""
    from torch_explain.nn.functional import entropy_logic_loss  # type: ignore[import-not-found]

    n_classes, n_rows = int(given["n_classes"]), len(concepts)
    batch_size = int(given["batch_size"]) or n_rows
    wanted = F.one_hot(labels, n_classes).float()
    optimizer = torch.optim.AdamW(model.parameters(), lr=float(given["learning_rate"]))
    model.train()
    for _ in range(int(given["epochs"])):
        order = torch.arange(n_rows) if batch_size >= n_rows else torch.randperm(n_rows)
        for part in torch.split(order, batch_size):
            optimizer.zero_grad()
            logits = model(concepts[part]).squeeze(-1)
            if str(given["loss"]) == "binary":
                loss = F.binary_cross_entropy_with_logits(logits, wanted[part])
            else:
                loss = F.cross_entropy(logits, labels[part])
            (loss + float(given["penalty_weight"]) * entropy_logic_loss(model)).backward()
            optimizer.step()
    model.eval()


def extract(
    model: torch.nn.Sequential, concepts: torch.Tensor, labels: torch.Tensor, given: dict[str, Any]
) -> list[str]:
    """Return the text of each class: rules from the training rows, scored on the rows after them."""
    from torch_explain.logic.nn.entropy import explain_class  # type: ignore[import-not-found]

    n_classes, n_train = int(given["n_classes"]), int(given["n_train"])
    rows = torch.arange(len(concepts))
    texts = []
    for target in range(n_classes):
        text, _ = explain_class(
            model,
            concepts,
            F.one_hot(labels, n_classes),
            rows[:n_train],
            rows[n_train:],
            target_class=target,
            max_minterm_complexity=int(given["max_minterm"]) or None,
            topk_explanations=int(given["top_k"]),
            max_accuracy=bool(given["exact_only"]),
            try_all=False,
            simplify=True,
        )
        texts.append(text or "")
    return texts


def main(source: str, destination: str) -> None:
    """Read settings and rows, train unless weights are given, extract, and write weights, texts and times."""
    with np.load(source, allow_pickle=False) as file:
        given = dict(file)
    if int(given["threads"]):
        torch.set_num_threads(int(given["threads"]))
    torch.manual_seed(int(given["seed"]))
    concepts, labels = torch.from_numpy(given["concepts"]).float(), torch.from_numpy(given["labels"]).long()
    n_train = int(given["n_train"])
    model = network(concepts.shape[1], int(given["n_classes"]), given["hidden"].tolist(), float(given["temperature"]))
    begun = time.perf_counter(), time.process_time()
    if "weight0" in given:
        with torch.no_grad():
            for i, parameter in enumerate(model.parameters()):
                parameter.copy_(torch.from_numpy(given[f"weight{i}"]).reshape(parameter.shape))
    else:
        train(model, concepts[:n_train], labels[:n_train], given)
    trained = time.perf_counter(), time.process_time()
    texts = extract(model, concepts, labels, given)
    done = time.perf_counter(), time.process_time()
    with torch.no_grad():
        logits = model(concepts).squeeze(-1).numpy()
    found = {f"weight{i}": parameter.detach().numpy() for i, parameter in enumerate(model.parameters())}
    found |= {"texts": np.array(texts, dtype=np.str_), "logits": logits}
    # Each elapsed, and of the CPU.
    found |= {"seconds_training": np.subtract(trained, begun), "seconds_extracting": np.subtract(done, trained)}
    np.savez(destination, **found)  # type: ignore[arg-type]


def leave_with_parent() -> None:
    """End this process when its parent is gone, which closes the other end of standard input."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=leave_with_parent, daemon=True).start()
    main(*sys.argv[1:])
