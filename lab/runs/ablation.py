"""What each part of the defaults is worth: change one setting of `EntropyClassifier` and keep all others.

The tables are the small raw ones, in five stratified folds, and the planted families, with one split per seed. Families
of fixed tables are left out because their tables are already included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
    "without least support": {"min_support": 0.0},
    "at most 3 literals": {"max_literals": 3},
}
"""The settings that each variant changes, by its name on the page."""


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
    answer = run_ours(split, **VARIANTS[variant])
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
