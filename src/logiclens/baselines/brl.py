"""Bayesian Rule Lists (Letham et al. 2015) as the paper ran them: imodels' sampler on rules mined class by class."""

from __future__ import annotations

import math
import pickletools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from logiclens.baselines.deciding import together
from logiclens.baselines.learner import Learned
from logiclens.baselines.one_against_rest import ClassRule, Items, YesNo, one_against_rest
from logiclens.baselines.packages import global_seed, require
from logiclens.baselines.rule_lists import DecisionList, ListRule
from logiclens.data.concepts import ConceptTable
from logiclens.errors import FormulaTooLarge, LogicLensError


@dataclass(frozen=True)
class BRLSettings:
    """The settings of the paper, which are those of the authors of BRL.

    Args:
        min_support: the share of a class's rows on which a rule must hold to be a candidate.
        max_width: the most literals in a rule.
        list_length: the expected number of rules, a priori.
        list_width: the expected number of literals in a rule, a priori.
        chains: Markov chains.
        iterations: steps of each chain; the first half is not counted.
    """

    min_support: float = 0.1
    max_width: int = 2
    list_length: float = 3
    list_width: float = 1
    chains: int = 3
    iterations: int = 50_000

    def __post_init__(self) -> None:
        """Refuse what cannot be sampled with."""
        if not 0 < self.min_support <= 1:
            raise LogicLensError(f"min_support must lie in (0, 1], got {self.min_support}.")
        # Of fewer steps none is left after the first half.
        for name, least in {"max_width": 1, "chains": 1, "iterations": 4}.items():
            if getattr(self, name) < least:
                raise LogicLensError(f"{name} must be at least {least}, got {getattr(self, name)}.")


@dataclass(frozen=True)
class BRL:
    """Bayesian Rule Lists, one class against the rest; two classes share one list, which says yes to the one or other.

    Args:
        settings: how rules are mined and lists sampled.
        spelled_out: give the formula in which every `else` is written out, whose literals the paper counts; otherwise
            the shortest formula found of the same meaning. The notes tell both lengths.
        sample: the classes to learn, where not all (see `one_against_rest`).
    """

    settings: BRLSettings = field(default_factory=BRLSettings)
    spelled_out: bool = True
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn from the training and validation rows together: nothing is chosen on the latter."""

        lists: list[DecisionList] = []

        def learn(rows: YesNo) -> ClassRule:
            if lists and len(train.class_names) == 2:
                return self._read(lists[0].negated())
            lists.append(bayesian_list(rows, self.settings, seed=seed))
            return self._read(lists[-1])

        return one_against_rest(learn, together(train, validation), sample=self.sample)

    def _read(self, found: DecisionList) -> ClassRule:
        short = found.shortest()
        said = f"a list of {len(found.rules)} rules with {found.n_literals} literals"
        try:
            long = found.spelled_out()
        except FormulaTooLarge:
            return ClassRule(short, (f"{said}; too large with every else spelled out, {short.n_literals} at best.",))
        lengths = f"{long.n_literals} literals with every else spelled out, {short.n_literals} at best"
        return ClassRule(long if self.spelled_out else short, (f"{said}; as a formula {lengths}.",))


def bayesian_list(rows: YesNo, settings: BRLSettings, *, seed: int) -> DecisionList:
    """The point estimate of the rule list for one class; a rule says yes where its probability is at least one half."""
    literals = rows.literals
    items = mined(literals, rows.yes, settings)
    # The sampler has no step to take with fewer than two rules to choose from.
    chosen = point_estimate(sampled(literals, rows.yes, items, settings, seed), items) if len(items) > 1 else ()
    rules, left = [], np.ones(len(literals), dtype=np.bool_)
    for number in chosen:
        applies = left & literals[:, items[number]].all(axis=1)
        rules.append(ListRule(rows.cube(items[number]), _says_yes(rows.yes[applies])))
        left &= ~applies
    return DecisionList(tuple(rules), otherwise=_says_yes(rows.yes[left]))


def mined(literals: NDArray[np.bool_], yes: NDArray[np.bool_], settings: BRLSettings) -> tuple[Items, ...]:
    """The sets of literals that are frequent among the rows of the class, or among the others, in a fixed order.

    As in the original, each side is mined on its own, so that a rare class keeps its rules. These are the sets that
    FP-growth finds; sets this narrow are counted faster by matrix products.
    """
    sides = [side for side in (literals[yes], literals[~yes]) if len(side)]
    found = {items for side in sides for items in frequent(side, settings.min_support, settings.max_width)}
    return tuple(sorted(found, key=lambda items: (len(items), items)))


def frequent(literals: NDArray[np.bool_], min_support: float, max_width: int) -> list[Items]:
    """The sets of one to `max_width` columns that are true together on at least a share of the rows."""
    least, columns = math.ceil(min_support * len(literals)), literals.astype(np.float32)
    level: list[Items] = [()]
    holds, found = np.ones((1, len(literals)), dtype=np.float32), list[Items]()
    for _ in range(max_width):
        often = holds @ columns >= least
        for i, items in enumerate(level):
            # Columns in rising order: every set is met once.
            often[i, : max(items, default=-1) + 1] = False
        sets, added = np.nonzero(often)
        holds = holds[sets] * columns.T[added]
        level = [(*level[i], j) for i, j in zip(sets.tolist(), added.tolist(), strict=True)]
        found += level
    return found


@dataclass(frozen=True)
class SampledList:
    """A list that chains visited: the numbers of its rules, its log posterior, and how often it was counted."""

    rules: tuple[int, ...]
    log_posterior: float
    visits: float


def sampled(
    literals: NDArray[np.bool_], yes: NDArray[np.bool_], items: Sequence[Items], settings: BRLSettings, seed: int
) -> tuple[SampledList, ...]:
    """The lists that the chains of imodels visit after their first half."""
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
    return tuple(SampledList(_decoded(key), *counted) for key, counted in counts.items())


def point_estimate(lists: Sequence[SampledList], items: Sequence[Items]) -> tuple[int, ...]:
    """The rules of BRL-point: the most probable list that is about as long and as wide as lists are on average.

    Length and mean width must be the averages over all samples, rounded down or up. Where no list visited is like that,
    the most probable of all is taken.
    """
    visits = np.array([each.visits for each in lists])
    lengths = np.array([len(each.rules) for each in lists], dtype=np.float64)
    literals = np.array([sum(len(items[number]) for number in each.rules) for each in lists], dtype=np.float64)
    alike = _rounds(lengths, float(visits @ lengths / visits.sum()))
    if (visits @ lengths) > 0:
        width = float(visits @ literals / (visits @ lengths))
        alike &= _rounds(literals / np.maximum(lengths, 1), width) & (lengths > 0)
    posterior = np.array([each.log_posterior for each in lists])
    return lists[int(np.argmax(np.where(alike | ~alike.any(), posterior, -np.inf)))].rules


def _rounds(values: NDArray[np.float64], mean: float) -> NDArray[np.bool_]:
    near: NDArray[np.bool_] = (values >= np.floor(mean)) & (values <= np.ceil(mean))
    return near


def _decoded(key: bytes) -> tuple[int, ...]:
    """The rules of a list from the sampler's name for it: its pickled numbers, read here without running a pickle."""
    numbers = [arg for code, arg, _ in pickletools.genops(key) if code.name.startswith("BININT")]
    *rules, default = (int(number) for number in numbers if number is not None)
    if default != 0:
        raise LogicLensError(
            "the sampler of the installed imodels names its lists in an unknown way: install imodels 3."
        )
    return tuple(number - 1 for number in rules)


def _says_yes(yes: NDArray[np.bool_]) -> bool:
    """Whether the posterior mean under a uniform prior, (yes + 1) / (rows + 2), is at least one half."""
    return 2 * int(yes.sum()) >= len(yes)
