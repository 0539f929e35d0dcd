"""Rule learners as exact formulas: greedy rule lists, FIGS, Bayesian Rule Lists and RIPPER."""

from __future__ import annotations

import math
import pickletools
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.peers.learner import (
    ClassRule,
    Items,
    Learned,
    YesNo,
    answer_formulas,
    global_seed,
    one_against_rest,
    require,
    together,
)
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import FormulaTooLarge, LogicLensError
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.minimisation import simplify


@dataclass(frozen=True)
class ListRule:
    """One rule of a list: `if condition then answer`."""

    condition: Cube
    answer: bool


@dataclass(frozen=True)
class DecisionList:
    """Rules of which the first that applies answers, and an answer if none applies.

    >>> a, b = Cube([Literal("a")]), Cube([Literal("b")])
    >>> rules = DecisionList((ListRule(a, True), ListRule(b, False)), otherwise=True)
    >>> rules.spelled_out(), rules.shortest()
    (DNF('a | (~a & ~b)'), DNF('a | ~b'))
    """

    rules: tuple[ListRule, ...]
    otherwise: bool

    @property
    def n_literals(self) -> int:
        return sum(len(rule.condition) for rule in self.rules)

    def negated(self) -> DecisionList:
        rules = tuple(ListRule(rule.condition, not rule.answer) for rule in self.rules)
        return DecisionList(rules, not self.otherwise)

    def spelled_out(self) -> DNF:
        """Return the formula of yes, with every `else` written as the negation of all rules before it.

        Each else-if becomes a disjunction of cubes; only cubes contained in another of the same rule are dropped. The
        paper counts the literals of a list in this way.
        """
        return self._joined(everything_before=True)

    def shortest(self) -> DNF:
        """Return a formula of the same meaning without redundant literals; proved shortest up to 12 concepts."""
        return simplify(self._joined(everything_before=False)).formula

    def _joined(self, *, everything_before: bool) -> DNF:
        reached, cubes = DNF.true, list[Cube]()
        for rule in (*self.rules, ListRule(Cube(), self.otherwise)):
            if rule.answer:
                cubes += (reached & rule.condition).cubes
            # After a rule that says yes, yes may be said again: only the noes must be excluded.
            if everything_before or not rule.answer:
                reached = reached & ~rule.condition
        return DNF(cubes)


@dataclass(frozen=True)
class GreedyRuleList:
    """imodels' greedy rule list, one class against the rest, as an exact formula."""

    max_depth: int = 5
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:

        def learn(rows: YesNo) -> ClassRule:
            model = require("imodels").GreedyRuleListClassifier(max_depth=self.max_depth)
            # Its stumps break ties by NumPy's global generator.
            with global_seed(seed):
                model.fit(rows.bits.astype(np.float64), rows.yes.astype(int))
            *splits, leaf = model.rules_
            # It predicts by argmax, so a rule of exactly one half says no.
            rules = (
                ListRule(Cube([Literal(rows.names[split["index_col"]], not split["flip"])]), split["val_right"] > 0.5)
                for split in splits
            )
            return ClassRule(DecisionList(tuple(rules), otherwise=leaf["val"] > 0.5).shortest())

        return one_against_rest(learn, together(train, validation), sample=self.sample)


@dataclass(frozen=True)
class Figs:
    """FIGS of imodels (a sum of small trees), one class against the rest, as an exact formula of its answer.

    A sum of trees is not a rule set. But with few splits it depends on few concepts, so its complete truth table is
    minimised: the formula is exact, and its length is that of the answer, not of the trees.
    """

    max_rules: int = 12
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:

        def learn(rows: YesNo) -> ClassRule:
            model = require("imodels").FIGSClassifier(max_rules=self.max_rules, random_state=seed)
            # Its stumps break ties by NumPy's global generator, whatever random_state is.
            with global_seed(seed):
                model.fit(rows.bits.astype(np.float64), rows.yes.astype(int))
            return ClassRule(answer_formula(model, train))

        return one_against_rest(learn, together(train, validation), sample=self.sample)


def answer_formula(model: Any, train: ConceptTable) -> DNF:
    """Return when the sum of trees answers yes, from its truth table over the concepts that it splits on."""
    used = sorted({column for tree in model.trees_ for column in _split_columns(tree)})

    def answers(rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(model.predict(rows.astype(float)))[:, None] == 1

    (formula,), _ = answer_formulas(answers, train, used, len(used))
    return formula


def _split_columns(node: Any) -> Iterator[int]:
    if node.left is not None:
        yield int(node.feature)
        yield from _split_columns(node.left)
        yield from _split_columns(node.right)


@dataclass(frozen=True)
class BRL:
    """Bayesian Rule Lists with the settings of their authors, one class against the rest; two classes share one list.

    The formula has every `else` spelled out, whose literals the paper counts; the notes state the shortest length, too.
    """

    min_support: float = 0.1
    max_width: int = 2
    list_length: float = 3
    list_width: float = 1
    chains: int = 3
    iterations: int = 50_000
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:

        lists: list[DecisionList] = []

        def learn(rows: YesNo) -> ClassRule:
            if lists and len(train.class_names) == 2:
                return read_list(lists[0].negated())
            lists.append(bayesian_list(rows, self, seed=seed))
            return read_list(lists[-1])

        return one_against_rest(learn, together(train, validation), sample=self.sample)


def read_list(rules: DecisionList) -> ClassRule:
    short, about = rules.shortest(), f"a list of {len(rules.rules)} rules with {rules.n_literals} literals"
    try:
        long = rules.spelled_out()
    except FormulaTooLarge:
        return ClassRule(short, (f"{about}; too large with every else spelled out, {short.n_literals} at best.",))
    lengths = f"{long.n_literals} literals with every else spelled out, {short.n_literals} at best"
    return ClassRule(long, (f"{about}; as a formula {lengths}.",))


def bayesian_list(rows: YesNo, settings: BRL, *, seed: int) -> DecisionList:
    """Return the point estimate of the rule list for one class; a rule says yes if its probability is at least 0.5."""
    literals = rows.literals
    items = mined(literals, rows.yes, settings)
    # With fewer than two rules the sampler has no step to take.
    chosen = point_estimate(sampled(literals, rows.yes, items, settings, seed), items) if len(items) > 1 else ()
    rules, left = [], np.ones(len(literals), dtype=np.bool_)
    for number in chosen:
        applies = left & literals[:, items[number]].all(axis=1)
        rules.append(ListRule(rows.cube(items[number]), _says_yes(rows.yes[applies])))
        left &= ~applies
    return DecisionList(tuple(rules), otherwise=_says_yes(rows.yes[left]))


def mined(literals: NDArray[np.bool_], yes: NDArray[np.bool_], settings: BRL) -> tuple[Items, ...]:
    """Return the sets of literals that are frequent among the rows of the class, or among the others, in a fixed order.

    As in the original, each side is mined separately, so that a rare class keeps its rules. FP-growth finds the same
    sets; sets this narrow are counted faster by matrix products.
    """
    sides = [side for side in (literals[yes], literals[~yes]) if len(side)]
    sets = {items for side in sides for items in frequent(side, settings.min_support, settings.max_width)}
    return tuple(sorted(sets, key=lambda items: (len(items), items)))


def frequent(literals: NDArray[np.bool_], min_support: float, max_width: int) -> list[Items]:
    """Return the sets of one to `max_width` columns that are true together on at least this share of the rows."""
    least, columns = math.ceil(min_support * len(literals)), literals.astype(np.float32)
    level: list[Items] = [()]
    holds, found = np.ones((1, len(literals)), dtype=np.float32), list[Items]()
    for _ in range(max_width):
        often = holds @ columns >= least
        for i, items in enumerate(level):
            # Columns in ascending order, so that every set is visited once.
            often[i, : max(items, default=-1) + 1] = False
        sets, added = np.nonzero(often)
        holds = holds[sets] * columns.T[added]
        level = [(*level[i], j) for i, j in zip(sets.tolist(), added.tolist(), strict=True)]
        found += level
    return found


SampledList = tuple[tuple[int, ...], float, float]
"""A list that the chains visited: the numbers of its rules, its log posterior, and its number of visits."""


def sampled(
    literals: NDArray[np.bool_], yes: NDArray[np.bool_], items: Sequence[Items], settings: BRL, seed: int
) -> tuple[SampledList, ...]:
    sampler = require("imodels.rule_list.bayesian_rule_list.brl_util")
    # Rule 0 is the default rule, which holds on every row; rule j is items[j - 1].
    holds = [set(range(len(literals)))]
    holds += [set(np.flatnonzero(literals[:, each].all(axis=1)).tolist()) for each in items]
    widths = np.array([0, *map(len, items)])
    visited: dict[bytes, list[float]] = defaultdict(sampler.default_permsdic)
    answers = np.stack([~yes, yes], axis=1).astype(int)
    counts: dict[bytes, tuple[float, float]] = {}
    with global_seed(seed):
        for _ in range(settings.chains):
            chain = sampler.mcmcchain(
                settings.iterations, 1, np.ones(2), settings.list_length, settings.list_width, holds,
                answers, Counter(widths.tolist()), widths, settings.max_width, visited, settings.iterations // 2,
                settings.chains, None,
            )  # fmt: skip
            for key, (log_posterior, visits) in chain["permsdic"].items():
                counts[key] = (log_posterior, visits + counts.get(key, (0.0, 0.0))[1])
    return tuple((_decoded(key), *counted) for key, counted in counts.items())


def point_estimate(lists: Sequence[SampledList], items: Sequence[Items]) -> tuple[int, ...]:
    """Return the rules of BRL-point: the most probable list of about average length and width.

    Length and mean width must be the averages over all samples, rounded down or up. If no visited list qualifies, the
    most probable of all is taken.
    """
    visits, posterior = (np.array([each[part] for each in lists]) for part in (2, 1))
    lengths = np.array([len(rules) for rules, _, _ in lists], dtype=np.float64)
    literals = np.array([sum(len(items[number]) for number in rules) for rules, _, _ in lists], dtype=np.float64)

    def near(values: NDArray[np.float64], mean: float) -> NDArray[np.bool_]:
        return (values >= np.floor(mean)) & (values <= np.ceil(mean))

    alike = near(lengths, float(visits @ lengths / visits.sum()))
    if (visits @ lengths) > 0:
        width = float(visits @ literals / (visits @ lengths))
        alike &= near(literals / np.maximum(lengths, 1), width) & (lengths > 0)
    return lists[int(np.argmax(np.where(alike | ~alike.any(), posterior, -np.inf)))][0]


def _decoded(key: bytes) -> tuple[int, ...]:
    numbers = [arg for code, arg, _ in pickletools.genops(key) if code.name.startswith("BININT")]
    *rules, default = (int(number) for number in numbers if number is not None)
    if default != 0:
        raise LogicLensError(
            "the sampler of the installed imodels names its lists in an unknown way: install imodels 3."
        )
    return tuple(number - 1 for number in rules)


def _says_yes(yes: NDArray[np.bool_]) -> bool:
    return 2 * int(yes.sum()) >= len(yes)


@dataclass(frozen=True)
class Ripper:
    """RIPPER (Cohen 1995) of wittgenstein, one class against the rest; its rule set is a formula."""

    rounds: int = 2
    prune_size: float = 0.33
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:

        import pandas as pd

        def learn(rows: YesNo) -> ClassRule:
            # No bins: 0 and 1 stay as they are. With names, ties would depend on the hash of the text.
            model = require("wittgenstein").RIPPER(
                k=self.rounds, prune_size=self.prune_size, n_discretize_bins=None, random_state=seed
            )
            # It seeds the global generator, and warns if the rule set is empty or always true, which the formula shows.
            with global_seed(seed), warnings.catch_warnings(record=True):
                model.fit(pd.DataFrame(rows.bits.astype(np.int64)), y=rows.yes.astype(int).tolist(), pos_class=1)
            formula = rule_formula(model, rows.names)
            return ClassRule(formula, ("RIPPER found no rule.",) if formula == DNF.false else ())

        return one_against_rest(learn, together(train, validation), sample=self.sample)


def rule_formula(model: Any, names: tuple[str, ...]) -> DNF:
    """Return the rules as a formula: a condition `concept = 0` is a negation; an empty rule set is `DNF.false`."""
    return DNF(
        Cube(Literal(names[int(condition.feature)], bool(condition.val)) for condition in rule.conds)
        for rule in model.ruleset_.rules
    )
