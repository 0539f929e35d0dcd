"""The program of the interpreter with `torch_explain` 1.5.1: from a file of settings and rows to a file of results.

It must not import logiclens, which that interpreter does not have. Start it with `-I`, or it imports the file beside
this one instead of the package of that name. Of the setting `mode`, "learn" trains unless weights are given, and
extracts; "epoch" times epochs and memory; "formula" times the evaluation of a formula.
"""

from __future__ import annotations

import os
import resource
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F


def network(n_concepts: int, n_classes: int, hidden: list[int], temperature: float) -> torch.nn.Sequential:
    """Return the network of the package's README: its entropy layer, LeakyReLU, then layers that all classes share."""
    from torch_explain.nn import EntropyLinear  # type: ignore[import-not-found]

    layers: list[torch.nn.Module] = [EntropyLinear(n_concepts, hidden[0], n_classes=n_classes, temperature=temperature)]
    for width_in, width_out in pairwise([*hidden, 1]):
        layers += [torch.nn.LeakyReLU(), torch.nn.Linear(width_in, width_out)]
    return torch.nn.Sequential(*layers)


def one_epoch(
    model: torch.nn.Sequential, concepts: torch.Tensor, labels: torch.Tensor, given: dict[str, Any]
) -> Callable[[], None]:
    """Return a function that does one epoch: AdamW on the loss plus the package's entropy loss, in shuffled batches."""
    from torch_explain.nn.functional import entropy_logic_loss  # type: ignore[import-not-found]

    n_classes, n_rows = int(given["n_classes"]), len(concepts)
    batch_size = int(given["batch_size"]) or n_rows
    targets = F.one_hot(labels, n_classes).float()
    # Where 200 classes would otherwise answer no to everything, positive and negative rows weigh the same.
    balance = torch.tensor(float(n_classes - 1)) if int(given["balanced"]) else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=float(given["learning_rate"]))

    def epoch() -> None:
        order = torch.arange(n_rows) if batch_size >= n_rows else torch.randperm(n_rows)
        for part in torch.split(order, batch_size):
            optimizer.zero_grad()
            logits = model(concepts[part]).squeeze(-1)
            if str(given["loss"]) == "binary":
                loss = F.binary_cross_entropy_with_logits(logits, targets[part], pos_weight=balance)
            else:
                loss = F.cross_entropy(logits, labels[part])
            (loss + float(given["penalty_weight"]) * entropy_logic_loss(model)).backward()
            optimizer.step()

    return epoch


def extract(
    model: torch.nn.Sequential, concepts: torch.Tensor, labels: torch.Tensor, given: dict[str, Any]
) -> tuple[list[str], bool]:
    """Return the text of each class, of training rows scored on the others, and whether the limit was met."""
    from torch_explain.logic.nn.entropy import explain_class  # type: ignore[import-not-found]

    n_classes, n_train = int(given["n_classes"]), int(given["n_train"])
    rows = torch.arange(len(concepts))
    texts: list[str] = []

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, float(given["cpu_limit"]))
    try:
        for target in range(int(given["extracted"]) or n_classes):
            text, _ = explain_class(
                model, concepts, F.one_hot(labels, n_classes), rows[:n_train], rows[n_train:], target_class=target,
                max_minterm_complexity=int(given["max_minterm"]) or None, topk_explanations=int(given["top_k"]),
                max_accuracy=bool(given["exact_only"]), try_all=False, simplify=True,
            )  # fmt: skip
            texts.append(text or "")
    except TimeoutError:
        return texts, True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return texts, False


def learn(concepts: torch.Tensor, labels: torch.Tensor, given: dict[str, Any]) -> dict[str, Any]:
    n_train = int(given["n_train"])
    model = network(concepts.shape[1], int(given["n_classes"]), given["hidden"].tolist(), float(given["temperature"]))
    begun = time.perf_counter(), time.process_time()
    if "weight0" in given:
        with torch.no_grad():
            for i, parameter in enumerate(model.parameters()):
                parameter.copy_(torch.from_numpy(given[f"weight{i}"]).reshape(parameter.shape))
    else:
        model.train()
        epoch = one_epoch(model, concepts[:n_train], labels[:n_train], given)
        for _ in range(int(given["epochs"])):
            epoch()
    model.eval()
    trained = time.perf_counter(), time.process_time()
    texts, stopped = extract(model, concepts, labels, given)
    done = time.perf_counter(), time.process_time()
    with torch.no_grad():
        logits = model(concepts).squeeze(-1).numpy()
    return {
        **{f"weight{i}": parameter.detach().numpy() for i, parameter in enumerate(model.parameters())},
        "texts": np.array(texts, dtype=np.str_),
        "stopped": stopped,
        "logits": logits,
        # Each elapsed, and of the CPU.
        "seconds_training": np.subtract(trained, begun),
        "seconds_extracting": np.subtract(done, trained),
    }


def epochs(concepts: torch.Tensor, labels: torch.Tensor, given: dict[str, Any]) -> dict[str, Any]:
    """Return the median CPU seconds of an epoch, after two unmeasured ones, and the memory of training in MB."""
    model = network(concepts.shape[1], int(given["n_classes"]), given["hidden"].tolist(), float(given["temperature"]))
    return epoch_cost(one_epoch(model, concepts, labels, given), int(given["epochs"]))


def formula(concepts: torch.Tensor, labels: torch.Tensor, given: dict[str, Any]) -> dict[str, Any]:
    from torch_explain.logic.metrics import test_explanation  # type: ignore[import-not-found]

    targets, rows = F.one_hot(labels, int(given["n_classes"])), torch.arange(len(concepts))

    def work() -> Any:
        return test_explanation(str(given["text"]), concepts, targets, 1, rows)

    return {"fired": int(work()[1].sum()), "seconds": repeated_cost(work)}


def epoch_cost(epoch: Callable[[], None], repeats: int) -> dict[str, float]:
    """Return the median CPU seconds of an epoch, after two unmeasured ones, and the memory of training in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    before = pages * resource.getpagesize() / 1e6
    for _ in range(2):
        epoch()
    seconds = [cpu_seconds(epoch) for _ in range(repeats)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"seconds": statistics.median(seconds), "peak_mb": peak, "grown_mb": max(peak - before, 0.0)}


def repeated_cost(action: Callable[[], object], budget: float = 0.5) -> float:
    """Return the median CPU seconds of a short action, over at least five batches of calls within the budget."""
    action()
    once = max(cpu_seconds(action), 1e-7)
    calls = max(1, round(budget / 10 / once))
    batches = max(5, round(budget / (calls * once)))
    return statistics.median(cpu_seconds(lambda: [action() for _ in range(calls)]) / calls for _ in range(batches))


def cpu_seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def main(source: str, destination: str) -> None:
    with np.load(source, allow_pickle=False) as file:
        given = dict(file)
    if int(given["threads"]):
        torch.set_num_threads(int(given["threads"]))
    torch.manual_seed(int(given["seed"]))
    concepts, labels = torch.from_numpy(given["concepts"]).float(), torch.from_numpy(given["labels"]).long()
    result = {"learn": learn, "epoch": epochs, "formula": formula}[str(given["mode"])](concepts, labels, given)
    np.savez(destination, **result)


def leave_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=leave_with_parent, daemon=True).start()
    main(*sys.argv[1:])
