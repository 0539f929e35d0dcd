"""What each part of the defaults is worth: change one setting of `EntropyClassifier` and keep all others.

The tables are the small raw ones, in five stratified folds, and the planted families, with one split per seed. Families
of fixed tables are left out because their tables are already included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from typing import Any
from unittest.mock import patch

from lab.datasets.raw import raw_tables
from lab.peers.raw import Split, folded, run_ours
from lab.runs.planted import Problem, families, judge
from lab.runs.results import Job, Line
from logiclens.formula.rule_set import RuleSet

KEYS = ("table", "fold", "variant")
FIXED_FAMILIES = ("monks", "tic-tac-toe")
"""Planted families whose tables are among the raw ones."""
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "half a point per literal": {"explain.length.PRICE": 0.005},
    "two points per literal": {"explain.length.PRICE": 0.02},
    "no steadier formula": {"explain.choice.STEADY": 0.0, "explain.choice.ABOUT_AS_GOOD": 0.0},
    "bags of seven tenths": {"explain.search_table.LEFT_OUT": 3, "explain.length.LEFT_OUT": 3},
    "steps twice as long": {"concepts.cuts.PIECES": 4},
    "cuts at quantiles": {"booleanise": "quantile"},
    "no cuts off the grid": {"estimator.learning.ROUNDS": 0},
    "near-copies stay": {"concepts.near_copies.ALIKE": 2.0},
}
"""The settings that each variant changes, by its name on the page; one with a dot is a constant of the library."""


def ablation_jobs(names: Sequence[str], variants: Sequence[str], n_folds: int, n_seeds: int) -> Iterator[Job]:
    for table, split, problem in splits(names, n_folds, n_seeds):
        for variant in variants:
            yield {"table": table, "fold": split.seed, "variant": variant}, ablation_run, (split, variant, problem)


def splits(names: Sequence[str], n_folds: int, n_seeds: int) -> Iterator[tuple[str, Split, Problem | None]]:
    prefixes = tuple(names) or ""
    for table in raw_tables():
        if table.name.startswith(prefixes):
            for split in folded(table.frame, table.labels)[:n_folds]:
                yield table.name, split, None
    for family, make in families().items():
        if family.startswith(prefixes) and not family.startswith(FIXED_FAMILIES):
            for seed in range(n_seeds):
                problem = make(seed)
                yield family, problem.split(seed), problem


def ablation_run(split: Split, variant: str, problem: Problem | None) -> Line:
    changed = VARIANTS[variant]
    with ExitStack() as stack:
        for name, value in changed.items():
            module, _, constant = name.rpartition(".")
            if module:
                stack.enter_context(patch.object(import_module(f"logiclens.{module}"), constant, value))
        answer = run_ours(split, **{name: value for name, value in changed.items() if "." not in name})
    assert answer.rules is not None
    exact = None if problem is None else judge(answer.rules, problem, split.train).exact
    concepts = used_concepts(answer.rules)
    settings = {"settings": dict(VARIANTS[variant])}
    return {**answer.scores(split), **settings, "planted": problem is not None, "concepts": concepts, "exact": exact}


def used_concepts(rules: RuleSet) -> list[list[str]]:
    """Return what the formula of each class uses: columns of thresholds (cuts differ between folds) or concepts.

    Classes are in order of their names, as in every fold.
    """

    def about(concept: str) -> str:
        predicate = rules.predicate(concept)
        return predicate.column if predicate.operator in ("<", "<=", ">", ">=") else concept

    ordered = sorted(rules.rules, key=lambda rule: str(rule.name))
    return [sorted({about(concept) for concept in rule.formula.concepts}) for rule in ordered]
