"""Decision lists as exact formulas, and two learners of imodels that are read exactly: greedy rule lists and FIGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.baselines.deciding import together
from logiclens.baselines.learner import Learned
from logiclens.baselines.one_against_rest import ClassRule, YesNo, one_against_rest
from logiclens.baselines.packages import global_seed, require
from logiclens.data.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.complete import COMPLETE_CONCEPTS, row_bits
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.minimise import minimise_complete, simplify


@dataclass(frozen=True)
class ListRule:
    """`if condition then answer`: one rule of a list."""

    condition: Cube
    answer: bool


@dataclass(frozen=True)
class DecisionList:
    """Rules of which the first that applies answers, and an answer where none does.

    >>> a, b = Cube([Literal("a")]), Cube([Literal("b")])
    >>> rules = DecisionList((ListRule(a, True), ListRule(b, False)), otherwise=True)
    >>> rules.spelled_out(), rules.shortest()
    (DNF('a | (~a & ~b)'), DNF('a | ~b'))
    """

    rules: tuple[ListRule, ...]
    otherwise: bool

    @property
    def n_literals(self) -> int:
        """The literals of the list as it stands, before the else-ifs are spelled out."""
        return sum(len(rule.condition) for rule in self.rules)

    def negated(self) -> DecisionList:
        """The same list with every answer turned round."""
        rules = tuple(ListRule(rule.condition, not rule.answer) for rule in self.rules)
        return DecisionList(rules, not self.otherwise)

    def spelled_out(self) -> DNF:
        """When the answer is yes, with every `else` written as the negation of all rules before it.

        Each else-if becomes a disjunction of cubes, of which only those contained in another of the same rule are
        dropped: the way in which the paper counts the literals of a list.
        """
        return self._joined(everything_before=True)

    def shortest(self) -> DNF:
        """The same meaning with no literal to spare: proved shortest up to 12 concepts."""
        return simplify(self._joined(everything_before=False)).formula

    def _joined(self, *, everything_before: bool) -> DNF:
        reached, cubes = DNF.true, list[Cube]()
        for rule in (*self.rules, ListRule(Cube(), self.otherwise)):
            if rule.answer:
                cubes += (reached & rule.condition).cubes
            # After a rule that says yes, saying yes again does no harm: only the noes must be kept out.
            if everything_before or not rule.answer:
                reached = reached & ~rule.condition
        return DNF(cubes)


@dataclass(frozen=True)
class GreedyRuleList:
    """imodels' greedy rule list, one class against the rest: an exact formula of its list.

    Args:
        max_depth: the most rules in a list.
        sample: the classes to learn, where not all (see `one_against_rest`).
    """

    max_depth: int = 5
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn from the training and validation rows together: nothing is chosen on the latter."""

        def learn(rows: YesNo) -> ClassRule:
            return ClassRule(greedy_list(rows, max_depth=self.max_depth, seed=seed).shortest())

        return one_against_rest(learn, together(train, validation), sample=self.sample)


def greedy_list(rows: YesNo, *, max_depth: int, seed: int) -> DecisionList:
    """The greedy rule list of imodels for one class."""
    model = require("imodels").GreedyRuleListClassifier(max_depth=max_depth)
    # Its stumps break ties by NumPy's global generator.
    with global_seed(seed):
        model.fit(rows.bits.astype(np.float64), rows.yes.astype(int))
    *splits, leaf = model.rules_
    # It predicts by argmax, so a rule of exactly one half says no.
    rules = [
        ListRule(Cube([Literal(rows.names[split["index_col"]], not split["flip"])]), bool(split["val_right"] > 0.5))
        for split in splits
    ]
    return DecisionList(tuple(rules), otherwise=bool(leaf["val"] > 0.5))


@dataclass(frozen=True)
class Figs:
    """FIGS of imodels (a sum of small trees), one class against the rest: an exact formula of its yes and no.

    A sum of trees is no rule set. But with few splits it depends on few concepts, so its answer on every row of these
    is asked for and minimised: the formula is exact, and its length is that of the answer, not of the trees.

    Args:
        max_rules: the most splits in all trees together, and so the most concepts: at most 20.
        sample: the classes to learn, where not all (see `one_against_rest`).
    """

    max_rules: int = 12
    sample: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse sums that cannot be asked for every row."""
        if not 1 <= self.max_rules <= COMPLETE_CONCEPTS:
            raise LogicLensError(f"max_rules must be 1 to {COMPLETE_CONCEPTS}, got {self.max_rules}.")

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn from the training and validation rows together: nothing is chosen on the latter."""

        def learn(rows: YesNo) -> ClassRule:
            return ClassRule(answer_formula(figs(rows, max_rules=self.max_rules, seed=seed), rows.names))

        return one_against_rest(learn, together(train, validation), sample=self.sample)


def figs(rows: YesNo, *, max_rules: int, seed: int) -> Any:
    """The fitted FIGS classifier of imodels for one class."""
    model = require("imodels").FIGSClassifier(max_rules=max_rules, random_state=seed)
    # Its stumps break ties by NumPy's global generator, whatever random_state says.
    with global_seed(seed):
        model.fit(rows.bits.astype(np.float64), rows.yes.astype(int))
    return model


def answer_formula(model: Any, names: tuple[str, ...]) -> DNF:
    """When the sum of trees answers yes, from its answers on all rows of the concepts that it splits on."""
    used = sorted({column for tree in model.trees_ for column in _split_columns(tree)})
    numbers = np.arange(1 << len(used))
    rows = np.zeros((len(numbers), len(names)))
    rows[:, used] = row_bits(numbers, len(used))
    answers: NDArray[np.bool_] = np.asarray(model.predict(rows)) == 1
    return minimise_complete(answers, [names[column] for column in used]).formula


def _split_columns(node: Any) -> Iterator[int]:
    """The columns on which a tree of FIGS splits."""
    if node.left is not None:
        yield int(node.feature)
        yield from _split_columns(node.left)
        yield from _split_columns(node.right)
