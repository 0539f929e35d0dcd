"""The answers of a network on rows, with the relevances and truth tables of all classes.

All other modules of `explain`, the classifier and the reports use `Reading`. `explain.forward` reads a network; for an
exact model `read_formulas` gives the same reading, bit for bit, from its formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.dnf import DNF, Complement, written
from logiclens.formula.packed_rows import PackedRows, places
from logiclens.formula.truth_table import TruthTable

if TYPE_CHECKING:
    from torch import nn

    from logiclens.nn.outputs import OutputKind, Select

Answer = Literal["argmax", "threshold"]
Flags: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Seen:
    """Rows as the network sees them. Equal rows get equal answers and are one row, with their total weight.

    `labels[r, i]` is the weight of class i on row r; None if there are no labels.
    """

    bits: NDArray[np.bool_]
    yes: NDArray[np.bool_]
    logits: NDArray[np.float64]
    weight: NDArray[np.float64]
    labels: NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Reading:
    """The outputs and answers of a network on the rows of a table.

    Attributes:
        table: the rows.
        outputs: outputs for the rows that were sent: every row, or each distinct row if the concepts are Boolean.
        answer: rule that turns outputs into answers; see `read`.
        output: what the outputs are: logits, probabilities, their logarithms, or labels.
        select: the function that takes the outputs from what the network returns; None if it returns them.
        relevance: α̃ of each concept in each head, `[heads, concepts]`.
        uses: `uses[i, j]` is whether concept j is relevant to head i: μ, or what the head keeps if it was made exact.
        class_names: name of the class of each head.
        cut: the least output of a head that says yes, if heads answer alone.
        network: the network; None if formulas answered in its place.
        formulas: the formulas that answered in place of a network.

    >>> import torch
    >>> from logiclens import ConceptTable
    >>> from logiclens.nn import EntropyNet
    >>> from logiclens.train import TrainConfig, fit
    >>> rows = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]] * 10, ["a", "b"], labels=[0, 0, 0, 1] * 10)
    >>> network = EntropyNet(2, 2, generator=torch.Generator().manual_seed(0))
    >>> trained = fit(network, rows, TrainConfig(epochs=200))
    >>> from logiclens.explain import read
    >>> reading = read(network, rows)
    >>> reading.yes[:4].tolist()
    [[True, False], [True, False], [True, False], [False, True]]
    """

    table: ConceptTable
    outputs: NDArray[np.float64]
    answer: Answer
    output: OutputKind
    select: Select | None
    relevance: NDArray[np.float64]
    uses: Flags
    class_names: tuple[str, ...]
    cut: float = 0.0
    network: nn.Module | None = None
    formulas: tuple[DNF | Complement, ...] = ()

    @cached_property
    def bits(self) -> NDArray[np.bool_]:
        """The Boolean values of all concepts."""
        return self.table.boolean()

    @cached_property
    def logits(self) -> NDArray[np.float64]:
        """The outputs `[rows, heads]`: logits, unless `output` says otherwise."""
        return self.outputs[self.table.distinct[1]] if self.table.is_boolean else self.outputs

    @cached_property
    def yes(self) -> NDArray[np.bool_]:
        """f̄^i on row r: the largest of the outputs (`argmax`), or a probability of at least 0.5 (`threshold`)."""
        return self.seen.yes[self.table.distinct[1]] if self.table.is_boolean else self.seen.yes

    @cached_property
    def seen(self) -> Seen:
        """The rows as they were sent."""
        table, outputs = self.table, self.outputs
        yes = _argmax(outputs) if self.answer == "argmax" else outputs >= self.cut
        if not table.is_boolean:
            labels = None if table.labels is None else self.targets() * table.weight[:, None]
            return Seen(self.bits, yes, outputs, table.weight, labels)
        counted = table.counted()
        labels = None if table.labels is None else self._of_heads(counted.counts)
        return Seen(counted.bits(), yes, outputs, counted.total, labels)

    @property
    def n_heads(self) -> int:
        """Number of heads."""
        return len(self.class_names)

    @property
    def probability(self) -> NDArray[np.float64]:
        """The network's probability of each class; of logits the softmax over heads, or a sigmoid for each."""
        if self.output != "logits":
            return np.exp(self.logits) if self.output == "log-probabilities" else self.logits
        scores: NDArray[np.float64] = softmax(self.logits, axis=1) if self.answer == "argmax" else expit(self.logits)
        return scores

    def targets(self) -> NDArray[np.float64]:
        """Return the labels as 0/1 `[rows, heads]`; a single head for two classes has the target class 1."""
        return self._of_heads(self.table.targets())

    def _of_heads(self, of_classes: NDArray[np.float64]) -> NDArray[np.float64]:
        return of_classes[:, 1:] if self.n_heads == 1 and of_classes.shape[1] == 2 else of_classes

    def head(self, target: int | str) -> int:
        """Return the head of a class.

        Args:
            target: the class, by number or by name.

        Raises:
            LogicLensError: if there is no such class.
        """
        if isinstance(target, str):
            if target not in self.class_names:
                known = ", ".join(repr(name) for name in self.class_names[:8])
                raise LogicLensError(f"there is no class {quoted(target)}; the classes are {known}.")
            return self.class_names.index(target)
        if not isinstance(target, Integral) or not 0 <= target < self.n_heads:
            raise LogicLensError(f"target must be 0 to {self.n_heads - 1}, got {target}.")
        return int(target)

    def of_rows(self, table: ConceptTable, network: nn.Module | None = None) -> Reading:
        """Return the reading of other rows, or of another network, with outputs that mean the same.

        Args:
            table: the rows.
            network: the network. Default: the network, or the formulas, of this reading.
        """
        network = network or self.network
        if network is None:
            return read_formulas(self.formulas, self.class_names, table)
        from logiclens.explain.forward import read

        return read(network, table, self.answer, output=self.output, select=self.select)

    def relevant(self, head: int) -> NDArray[np.intp]:
        """Return μ: the columns of a head's relevant concepts, in table order.

        Args:
            head: index of the head.
        """
        return np.flatnonzero(self.uses[head])

    def truth_table(self, head: int, more: Sequence[str] = ()) -> TruthTable:
        """Return T^i, eq. (truth-table): all rows on the head's relevant concepts, with the network's answer.

        Args:
            head: index of the head.
            more: names of further concepts of the table. Default: none.
        """
        columns = np.union1d(self.relevant(head), places(more, self.table.names)).astype(np.intp)
        names = [self.table.names[c] for c in columns]
        groups = self.table.groups
        return TruthTable.of(
            self.seen.bits[:, columns],
            names,
            self.seen.yes[:, head],
            weight=self.seen.weight,
            exclusive=groups.exclusive,
            implied=groups.implied,
        )


def read_formulas(formulas: Sequence[DNF | Complement], class_names: Sequence[str], table: ConceptTable) -> Reading:
    """Return what the network compiled from some formulas answers, without the network.

    Concepts are cut to 0 and 1. The concepts of a formula have relevance 1, all others 0.

    Args:
        formulas: one formula for each head.
        class_names: the name of the class of each head.
        table: the rows.
    """
    table = table.hard()
    rows = PackedRows.of(table.boolean()[table.distinct[0]], table.names)
    outputs = np.column_stack([_logit(formula, rows) for formula in formulas])
    uses = np.array([[name in formula.concepts for name in table.names] for formula in formulas])
    relevance = uses.astype(np.float64)
    return Reading(
        table, outputs, "threshold", "logits", None, relevance, uses, tuple(class_names), formulas=tuple(formulas)
    )


def _logit(formula: DNF | Complement, rows: PackedRows) -> NDArray[np.float64]:
    """Return the logit of a compiled head: 2T − 1 with T cubes true, negated for a complement."""
    n_true = np.zeros(rows.n_rows)
    for cube in written(formula):
        n_true += DNF([cube]).evaluate(rows)
    return 1 - 2 * n_true if isinstance(formula, Complement) else 2 * n_true - 1


def _argmax(outputs: NDArray[np.float64]) -> NDArray[np.bool_]:
    # Exactly one head answers yes, even if two outputs are equal.
    yes = np.zeros(outputs.shape, dtype=np.bool_)
    yes[np.arange(len(outputs)), outputs.argmax(axis=1)] = True
    return yes
