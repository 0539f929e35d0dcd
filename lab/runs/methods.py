"""The registry of compared methods: the name of each, and how it learns from a fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lab.peers.black_box import EBM, Forest, Logistic, PlainNetwork
from lab.peers.column_generation import ColumnGeneration
from lab.peers.exhaustive import BestShortDNF
from lab.peers.learner import Learned, Learner
from lab.peers.psi import Psi
from lab.peers.rrl import RRL
from lab.peers.rule_learners import BRL, Figs, GreedyRuleList, Ripper
from lab.peers.simple_rules import SMALL_TREES, OneR, Stump, Tree
from lab.peers.torch_explain import TorchExplain
from lab.runs.fold_data import FoldData
from lab.runs.ours import Authors, Exact, Joint, Ours
from lab.runs.tasks import Task
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, unknown

Kind = Literal["ours", "simplest", "rules", "black box", "reference"]


@dataclass(frozen=True)
class Method:
    """One method."""

    name: str
    kind: Kind
    learn: Callable[[FoldData], Learned]
    suits: Callable[[Task], bool] = lambda _task: True


def _on(make: Callable[[Task], Learner] | Learner, *, cut: bool = True) -> Callable[[FoldData], Learned]:

    def learn(fold: FoldData) -> Learned:
        learner: Any = make(fold.task) if isinstance(make, FunctionType) else make
        if not cut:
            return learner(fold.train, fold.validation, seed=fold.seed)
        learned = learner(fold.train.hard(), fold.validation.hard(), seed=fold.seed)
        return replace(learned, predict=lambda table: learned.predict(table.hard()))

    return learn


def _direct(fold: FoldData) -> Learned:
    predicted = fold.predicted("classes")

    def predict(table: ConceptTable) -> NDArray[np.intp]:
        if table is not fold.test and table is not fold.final:
            raise LogicLensError("the encoder that predicts classes was asked about the test rows only.")
        classes: NDArray[np.intp] = (predicted.rows if table is fold.test else predicted.final).argmax(axis=1)
        return classes

    return Learned(predict, seconds=float("nan"))


def _torch_explain(task: Task) -> Learner:
    network = task.network
    return TorchExplain(
        hidden=network.hidden, temperature=network.temperature, penalty_weight=network.penalty_weight,
        epochs=network.epochs, top_k=10,
    )  # fmt: skip


def _sample(task: Task) -> tuple[int, ...] | None:
    return tuple(range(0, 200, 20)) if task.dataset == "cub" else None


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("minimal", "ours", Ours("search")),
        Method("exact", "ours", Exact()),
        Method("labels", "ours", Ours("search", "labels")),
        Method("paper", "ours", Ours("paper", "labels")),
        Method("authors", "ours", Authors()),
        Method("soft", "ours", Ours("search", soft=True), lambda task: task.encoded),
        Method("joint", "ours", Joint(), lambda task: task.dataset == "vdem" and task.encoded),
        Method("oner", "simplest", _on(OneR())),
        Method("stump", "simplest", _on(Stump())),
        *(Method(f"tree-{tree.max_leaf_nodes}", "simplest", _on(tree)) for tree in SMALL_TREES),
        Method("best-3", "simplest", _on(BestShortDNF()), lambda task: task.dataset != "cub"),
        Method("tree", "rules", _on(lambda task: Tree(task.tree_depth))),
        Method("brl", "rules", _on(lambda task: BRL(sample=_sample(task)))),
        Method("psi", "rules", _on(lambda task: Psi(fan_in=task.fan_in))),
        Method("ripper", "rules", _on(lambda task: Ripper(sample=_sample(task)))),
        Method("column-generation", "rules", _on(lambda task: ColumnGeneration(sample=_sample(task)))),
        Method("figs", "rules", _on(lambda task: Figs(sample=_sample(task)))),
        Method("rule-list", "rules", _on(lambda task: GreedyRuleList(sample=_sample(task)))),
        Method("rrl", "rules", _on(RRL())),
        Method("torch_explain", "reference", _on(_torch_explain)),
        Method("forest", "black box", _on(Forest(), cut=False)),
        Method("logistic", "black box", _on(Logistic(), cut=False)),
        Method("mlp", "black box", _on(lambda task: PlainNetwork(task.network.hidden, task.network.epochs), cut=False)),
        Method("ebm", "black box", _on(EBM(), cut=False), lambda task: task.dataset != "cub"),
        Method("direct", "black box", _direct, lambda task: task.dataset in ("mnist", "cub")),
    )
}
"""The methods by name, in the order of tables."""
GROUPS: dict[str, tuple[str, ...]] = {
    kind.replace(" ", "-"): tuple(name for name, method in METHODS.items() if method.kind == kind)
    for kind in dict.fromkeys(method.kind for method in METHODS.values())
}
"""Names that stand for several methods."""


def named_methods(names: Iterable[str]) -> tuple[Method, ...]:
    """Return the methods of these names or groups: `ours`, `simplest`, `rules`, `reference`, `black-box`, `all`."""
    groups = {**GROUPS, "all": tuple(METHODS), **{name: (name,) for name in METHODS}}
    chosen: set[str] = set()
    for name in names:
        if name not in groups:
            raise LogicLensError(unknown("method", name, tuple(groups)))
        chosen |= set(groups[name])
    return tuple(method for name, method in METHODS.items() if name in chosen)
