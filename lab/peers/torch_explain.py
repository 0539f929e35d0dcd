"""`torch_explain` 1.5.1 as a compared method, in an interpreter of its own.

The package pins nothing and depends on sympy, so it is not installed beside logiclens. Rows are passed in a temporary
file. Formulas come back as text that our parser reads, and weights come back so that predictions are made here.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Literal as OneOf

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lab.peers.learner import Learned, class_numbers
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, MissingPackage
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.text import parse
from logiclens.nn.layers import EntropyNet
from logiclens.train.threads import SMALL_WORK

PEER = Path(__file__).with_name("torch_explain_peer.py")
VARIABLE = "LOGICLENS_TORCH_EXPLAIN"
USUAL = Path(".venv-reference/bin/python")
NOTHING = ("", "None")
"""The texts of the package for "nothing found"; `True` and `False` are formulas."""


@dataclass(frozen=True)
class TorchExplain:
    """The package's own layer trained as in its README, explained by its own `explain_class`."""

    hidden: tuple[int, ...] = (20,)
    temperature: float = 0.7
    penalty_weight: float = 1e-4
    epochs: int = 200
    batch_size: int = 0
    learning_rate: float = 1e-2
    loss: OneOf["binary", "cross_entropy"] = "binary"
    balanced: bool = False
    top_k: int = 10
    exact_only: bool = False
    max_minterm: int = 0
    extracted: int = 0
    cpu_limit: float = 0

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        rows = train.append(validation)
        result = self.run("learn", rows, n_train=len(train), seed=seed)
        if not np.isfinite(result["logits"]).all():
            raise LogicLensError("torch_explain's network gives NaN or infinite outputs: raise the temperature.")
        if result["stopped"]:
            raise LogicLensError(f"torch_explain was ended: it was not done after {self.cpu_limit:g} CPU seconds.")
        network, texts = self.rebuilt(result, rows), result["texts"].tolist()
        wall, cpu = (result["seconds_training"] + result["seconds_extracting"]).tolist()

        def predict(table: ConceptTable) -> NDArray[np.intp]:
            with torch.no_grad():
                logits = network(torch.tensor(np.array(table.values), dtype=torch.float32))
            return logits.argmax(dim=1).numpy().astype(np.intp)

        notes = tuple(
            f"torch_explain gives no formula for class {name!r}: it counts as False."
            for name, text in zip(rows.class_names, texts, strict=True)
            if text in NOTHING
        )
        formulas = tuple(read_formula(text, rows.names) for text in texts)
        return Learned(predict, formulas, notes, seconds=round(wall, 4), cpu_seconds=round(cpu, 4))

    def run(self, mode: str, rows: ConceptTable, *, n_train: int, seed: int = 0, **more: Any) -> dict[str, Any]:
        """Run a mode of the program in the other interpreter; given weights of the same shape, it does not train."""
        work = min(self.batch_size or n_train, n_train) * rows.n_concepts * self.hidden[0] * len(rows.class_names)
        given = {
            **vars(self), "mode": mode, "hidden": np.array(self.hidden), "concepts": rows.values.astype(np.float32),
            "labels": class_numbers(rows), "n_train": n_train, "n_classes": len(rows.class_names), "seed": seed,
            # One thread for small work, as in our own training; 0 leaves the choice to the other side.
            "threads": int(work < SMALL_WORK), **more,
        }  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="logiclens-") as folder:
            source, destination = Path(folder, "given.npz"), Path(folder, "result.npz")
            np.savez(source, **given)
            run_peer([str(interpreter()), "-I", str(PEER), str(source), str(destination)], Path(folder))
            with np.load(destination, allow_pickle=False) as file:
                return dict(file)

    def rebuilt(self, result: dict[str, Any], rows: ConceptTable) -> EntropyNet:
        network = EntropyNet(
            rows.n_concepts, len(rows.class_names), self.hidden, shared_tail=True, temperature=self.temperature,
            activation=nn.LeakyReLU, generator=torch.Generator(),
        )  # fmt: skip
        with torch.no_grad():
            for i, parameter in enumerate(network.parameters()):
                parameter.copy_(torch.from_numpy(result[f"weight{i}"]).reshape(parameter.shape))
        return network


def interpreter() -> Path:
    """Return the interpreter that has the package: $LOGICLENS_TORCH_EXPLAIN, or that of `.venv-reference` here."""
    python = Path(os.environ.get(VARIABLE) or USUAL)
    if not python.is_file():
        raise MissingPackage(
            f"torch_explain 1.5.1 runs in an interpreter of its own, and there is none at {python}: make reference, or "
            f"let ${VARIABLE} name one."
        )
    return python


def run_peer(command: Sequence[str], folder: Path) -> None:
    """Run another interpreter to its end; it also ends when this process does."""
    errors = folder / "errors.txt"
    with errors.open("wb") as file:
        # Its standard input stays open while this process lives: that is how it knows.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=file)
        try:
            status = process.wait()
        finally:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
    if status != 0:
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise LogicLensError(f"torch_explain failed with status {status}: {lines[-1] if lines else 'it said nothing.'}")


def read_formula(text: str, names: Sequence[str]) -> DNF:
    """Parse a formula in the names of the package, `feature0000000007` for concept 7.

    >>> read_formula("(~feature0000000000 & feature0000000001)", ["tall", "dark"])
    DNF('~tall & dark')
    """
    if text in NOTHING:
        return DNF.false
    name_of = {f"feature{j:010}": name for j, name in enumerate(names)}
    formula = parse(text, tuple(name_of))
    return DNF(Cube(Literal(name_of[literal.concept], literal.positive) for literal in cube) for cube in formula)
