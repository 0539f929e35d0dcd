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

from lab.peers.learner import Learned
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, MissingPackage, quoted
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.text import parse
from logiclens.nn.layers import EntropyNet
from logiclens.train.config import SMALL_WORK

PEER = Path(__file__).with_name("torch_explain_peer.py")
VARIABLE = "LOGICLENS_TORCH_EXPLAIN"
USUAL = Path(".venv-reference/bin/python")


@dataclass(frozen=True, eq=False, kw_only=True)
class PeerLearned(Learned):
    """What was learned in the other interpreter, and the elapsed and CPU time it took there.

    `seconds` and `cpu_seconds` are the sums, without the start of that interpreter.
    """

    seconds_training: float
    seconds_extracting: float
    cpu_training: float
    cpu_extracting: float


@dataclass(frozen=True, eq=False)
class PeerResult:
    """The answer of the other interpreter: texts in its own names, outputs on all rows, and its weights as a network.

    Times are elapsed seconds and CPU seconds.
    """

    texts: tuple[str, ...]
    logits: NDArray[np.float32]
    network: EntropyNet
    training: tuple[float, float]
    extracting: tuple[float, float]


@dataclass(frozen=True)
class TorchExplain:
    """The package's own layer trained as in its README, explained by its own `explain_class`.

    Args:
        python: the interpreter that has the package; default: $LOGICLENS_TORCH_EXPLAIN, or that of `.venv-reference` in
            the current folder.
        hidden: widths of the hidden layers; the first is the entropy layer's.
        temperature: τ of the entropy layer.
        penalty_weight: λ of the entropy loss.
        epochs: number of epochs; the last one is kept.
        batch_size: rows per step, shuffled; None: all rows.
        learning_rate: learning rate of AdamW.
        loss: binary cross-entropy per class, as in the README, or cross-entropy over classes, as in the paper.
        top_k: number of local rules to consider.
        exact_only: its `max_accuracy`.
        max_minterm: its `max_minterm_complexity`.
        timeout: seconds after which the other interpreter is stopped; its simplification has no limit.
    """

    python: Path | None = None
    hidden: tuple[int, ...] = (20,)
    temperature: float = 0.7
    penalty_weight: float = 1e-4
    epochs: int = 200
    batch_size: int | None = None
    learning_rate: float = 1e-2
    loss: OneOf["binary", "cross_entropy"] = "binary"
    top_k: int = 10
    exact_only: bool = False
    max_minterm: int | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        """Raise for settings that the other side would misread."""
        if self.loss not in ("binary", "cross_entropy"):
            raise LogicLensError(f"loss must be 'binary' or 'cross_entropy', got {quoted(self.loss)}.")
        if (
            not self.hidden
            or min(*self.hidden, self.epochs, self.top_k, self.batch_size or 1, self.max_minterm or 1) < 1
        ):
            raise LogicLensError("hidden, epochs, batch_size, top_k and max_minterm must be at least 1.")

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> PeerLearned:
        """Learn: rules come from the training rows and are chosen on the validation rows."""
        python, rows = self._interpreter(), train.append(validation)
        with tempfile.TemporaryDirectory(prefix="logiclens-") as folder:
            source, destination = Path(folder, "given.npz"), Path(folder, "found.npz")
            np.savez(source, **self.given(rows, n_train=len(train), seed=seed))
            run_peer([str(python), "-I", str(PEER), str(source), str(destination)], Path(folder), self.timeout)
            found = self.answered(destination, rows)
        return PeerLearned(
            lambda table: _predict(found.network, table),
            tuple(read_formula(text, rows.names) for text in found.texts),
            tuple(
                f"torch_explain gives no formula for class {name!r}: it counts as False."
                for name, text in zip(rows.class_names, found.texts, strict=True)
                if text in NOTHING
            ),
            seconds=found.training[0] + found.extracting[0],
            cpu_seconds=found.training[1] + found.extracting[1],
            seconds_training=found.training[0],
            seconds_extracting=found.extracting[0],
            cpu_training=found.training[1],
            cpu_extracting=found.extracting[1],
        )

    def given(
        self, rows: ConceptTable, *, n_train: int, seed: int, network: EntropyNet | None = None
    ) -> dict[str, Any]:
        """Return the input for the other interpreter; given a `network` of the same shape, it does not train."""
        if rows.labels is None or rows.is_multilabel:
            raise LogicLensError("torch_explain is compared on rows with one class number each.")
        weights = [] if network is None else [p.detach().cpu().numpy() for p in network.parameters()]
        return {
            "concepts": rows.values.astype(np.float32),
            "labels": rows.labels,
            "n_train": n_train,
            "n_classes": len(rows.class_names),
            "seed": seed,
            "threads": self._threads(n_train, rows),
            "hidden": np.array(self.hidden),
            "batch_size": self.batch_size or 0,
            "max_minterm": self.max_minterm or 0,
            **{key: getattr(self, key) for key in PASSED_ON},
            **{f"weight{i}": weight for i, weight in enumerate(weights)},
        }

    def answered(self, path: Path, rows: ConceptTable) -> PeerResult:
        """Read the answer of the other interpreter, and rebuild its network from its weights."""
        with np.load(path, allow_pickle=False) as file:
            found = dict(file)
        if not np.isfinite(found["logits"]).all():
            raise LogicLensError("torch_explain's network gives NaN or infinite outputs: raise the temperature.")
        return PeerResult(
            tuple(found["texts"].tolist()),
            found["logits"],
            self._rebuilt(found, rows),
            *(tuple(found[part].tolist()) for part in ("seconds_training", "seconds_extracting")),
        )

    def _interpreter(self) -> Path:
        named = os.environ.get(VARIABLE)
        python = self.python or (Path(named) if named else USUAL)
        if not python.is_file():
            raise MissingPackage(
                f"torch_explain 1.5.1 runs in an interpreter of its own, and there is none at {python}: "
                f"python -m venv .venv-reference && .venv-reference/bin/pip install torch torch_explain==1.5.1, "
                f"or let ${VARIABLE} name one."
            )
        return python

    def _threads(self, n_train: int, rows: ConceptTable) -> int:
        """Return one thread for small work, as in our own training; 0 leaves the choice to the other side."""
        weights = rows.n_concepts * self.hidden[0] * len(rows.class_names)
        return int(min(self.batch_size or n_train, n_train) * weights < SMALL_WORK)

    def _rebuilt(self, found: dict[str, NDArray[Any]], rows: ConceptTable) -> EntropyNet:
        network = EntropyNet(
            rows.n_concepts,
            len(rows.class_names),
            self.hidden,
            shared_tail=True,
            temperature=self.temperature,
            activation=nn.LeakyReLU,
            generator=torch.Generator(),
        )
        with torch.no_grad():
            for i, parameter in enumerate(network.parameters()):
                parameter.copy_(torch.from_numpy(found[f"weight{i}"]).reshape(parameter.shape))
        return network


PASSED_ON = ("temperature", "penalty_weight", "epochs", "learning_rate", "loss", "top_k", "exact_only")
NOTHING = ("", "None")
"""The texts of the package for "nothing found"; `True` and `False` are formulas."""


def run_peer(command: Sequence[str], folder: Path, timeout: float | None = None) -> None:
    """Run another interpreter to its end; it also ends when this process does."""
    errors = folder / "errors.txt"
    with errors.open("wb") as file:
        # Its standard input stays open while this process lives: that is how it knows.
        # S603: the command is made here, of our interpreter, our script and numbers; there is no shell.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=file)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise LogicLensError(f"torch_explain was ended: it was not done after {timeout:g} seconds.") from None
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
    given = {f"feature{j:010}": name for j, name in enumerate(names)}
    formula = parse(text, tuple(given))
    return DNF(Cube(Literal(given[literal.concept], literal.positive) for literal in cube) for cube in formula)


def _predict(network: EntropyNet, table: ConceptTable) -> NDArray[np.intp]:
    with torch.no_grad():
        logits = network(torch.tensor(np.array(table.values), dtype=torch.float32))
    classes: NDArray[np.intp] = logits.argmax(dim=1).numpy()
    return classes
