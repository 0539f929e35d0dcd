"""Run the listing of the paper's appendix for seeds 0 to 9 and check that it gives XOR and XNOR.

It runs once with one cross-entropy for both heads, as in the listing, and once with a binary cross-entropy per head.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

import logiclens as te
from logiclens import Literal
from logiclens.errors import LogicLensWarning
from logiclens.explain.result import ClassExplanation
from logiclens.logic.nn import explain_class

A, B = Literal("x0"), Literal("x1")
XOR = (A & ~B) | (~A & B)
TRUTH = {"XOR": XOR, "XNOR": ~XOR}

Loss = Callable[[Tensor, Tensor], Tensor]


def trained(seed: int, loss_form: Loss, targets: Tensor, x: Tensor) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    model = torch.nn.Sequential(
        te.nn.EntropyLogicLayer(x.shape[1], 10, n_classes=2),
        torch.nn.LeakyReLU(),
        te.nn.LinearIndependent(10, 10, n_classes=2),
        torch.nn.LeakyReLU(),
        te.nn.LinearIndependent(10, 1, n_classes=2, top=True),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model.train()
    for _ in range(1001):
        optimizer.zero_grad()
        loss = loss_form(model(x), targets) + 0.00001 * te.nn.functional.entropy_logic_loss(model)
        loss.backward()
        optimizer.step()
    return model


def verdict(explained: ClassExplanation) -> str:
    formula = explained.formula
    return next((name for name, truth in TRUTH.items() if formula.equivalent(truth)), f"other: {formula}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    warnings.simplefilter("ignore", LogicLensWarning)
    torch.set_num_threads(1)
    inputs = torch.tensor([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=torch.float)
    x = torch.cat([inputs, torch.zeros(4, 100)], dim=1)
    y = torch.tensor([0, 1, 1, 0])
    y1h = one_hot(y)
    losses: dict[str, tuple[Loss, Tensor]] = {
        "CrossEntropyLoss": (torch.nn.CrossEntropyLoss(), y),
        "BCEWithLogitsLoss": (torch.nn.BCEWithLogitsLoss(), y1h.float()),
    }
    for name, (loss_form, targets) in losses.items():
        print(name)
        heads: Counter[str] = Counter()
        both = largest = each = 0
        for seed in range(given.seeds):
            model = trained(seed, loss_form, targets, x)
            logits = model(x)
            largest += bool((logits.argmax(dim=1) == y).all())
            each += bool(((logits > 0) == y1h.bool()).all())
            _, class_explanations, _ = explain_class(model, x, y1h, x, y1h)
            verdicts = [verdict(explained) for explained in class_explanations]
            heads.update(v.split(":")[0] for v in verdicts)
            # Class 1 is XOR, class 0 its negation.
            both += verdicts == ["XNOR", "XOR"]
            print(f"  seed {seed}: class 0 {verdicts[0]}, class 1 {verdicts[1]}")
        counted = ", ".join(f"{kind} {n}" for kind, n in sorted(heads.items()))
        print(f"  heads: {counted}")
        print(f"  both formulas: {both} of {given.seeds} seeds")
        print(f"  right on all four rows: by the larger output {largest}, by each output against 0 {each}\n")


if __name__ == "__main__":
    main()
