"""Measure what each part of the defaults is worth: change one setting and keep all others.

    LOGICLENS_DATA=... python -m lab.scripts.ablation.py [--tables NAME ...] [--variants NAME ...] [--folds 5] [--seeds 3]
                                                     [--json FILE] [--again VARIANT ...]

The tables are those of `make bench-table`, in the five stratified folds of `domination.py`, and the planted families of
`planted.py`, with one split per seed. Families of fixed tables are left out because their tables are already included.
`--folds 2` runs the first two folds. Each variant is measured by the macro-F1 of the rules' decision on unseen rows, by
literals, concepts used and CPU seconds, and for a planted formula by whether it was found exactly.

The networks depend on the size of the committee only, so each committee is trained once per split and all variants of
the search learn from it. The CPU seconds of a variant are those of its committee and of its own search. With `--json` a
stopped run continues where it was; `lab/scripts/ablation_page.py` writes docs/ablation.md from that file.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from lab.scripts.defaults import tasks as raw_tasks
from lab.scripts.domination import folded
from lab.scripts.peers import Answer, Lines, Split
from lab.scripts.planted import Problem, families, judge
from logiclens import EntropyClassifier
from logiclens.estimator.classifier import BegunFit
from logiclens.estimator.training import Trained, probabilities, search_config, train_networks
from logiclens.explain.choice import learn_rules
from logiclens.explain.length import SearchConfig
from logiclens.formula.rule_set import RuleSet
from logiclens.train.committee import Committee, Teacher, teacher_of
from logiclens.train.config import TrainResult

FIXED_FAMILIES = ("monks", "tic-tac-toe")
"""Planted families whose tables are among those of `make bench-table`."""


@dataclass(frozen=True)
class Variant:
    """One change of the defaults.

    Args:
        part: the part of the defaults that it changes.
        committee: the number of networks; None is the default.
        search: fields of `SearchConfig` that differ from the default.
        stable: whether rules may only use concepts that recur on the bags.
    """

    part: str
    committee: int | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    stable: bool = False

    def config(self, model: EntropyClassifier) -> SearchConfig:
        """The settings of the search."""
        return replace(search_config(model, ()), **self.search)


VARIANTS: dict[str, Variant] = {
    "default": Variant("default"),
    **{f"committee of {size}": Variant("committee", committee=size) for size in (1, 3, 6, 15)},
    **{f"share {share:g}": Variant("share", search={"shares": (share,)}) for share in (1.0, 0.5, 0.0)},
    "without one standard error": Variant("one standard error", search={"one_se": False}),
    "without least support": Variant("support", search={"min_support": 0.0}),
    "without consensus": Variant("stability", search={"consensus": False}),
    "stable=True": Variant("stability", stable=True),
}
"""Variants by their name on the command line and the page; the default has a committee of 10."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A split of a table, with its problem if the table is planted."""

    table: str
    split: Split
    problem: Problem | None = None


def trials(n_folds: int, n_seeds: int, wanted: Callable[[str], bool]) -> Iterator[Trial]:
    """Return the splits of the named tables."""
    for task in raw_tasks():
        if wanted(task.name):
            # The published test part of MONK's problems holds every possible row once.
            rows = task.splits[0][1] if len(task.splits) == 1 else np.arange(len(task.labels))
            for split in folded(task.frame.iloc[rows], task.labels[rows])[:n_folds]:
                yield Trial(task.name, split)
    for family, make in families().items():
        if wanted(family) and not family.startswith(FIXED_FAMILIES):
            for seed in range(n_seeds):
                problem = make(seed)
                yield Trial(family, problem.split(seed), problem)


@dataclass(frozen=True, eq=False)
class SearchTable:
    """A trained committee of one split that several searches learn from."""

    model: EntropyClassifier
    begun: BegunFit
    committee: Committee
    result: TrainResult
    teacher: Teacher
    seconds: float

    @classmethod
    def of(cls, split: Split, size: int | None) -> SearchTable:
        """Do what `EntropyClassifier.fit` does before it searches for formulas."""
        started = time.process_time()
        model = EntropyClassifier(committee=size)
        begun = model._begin(split.train, split.train_labels, None, None)
        grouped = begun.training.grouped
        assert grouped is not None
        fresh = begun.training.networks()
        results = train_networks([replace(one, config=replace(one.config, progress=False)) for one in fresh])
        networks = [one.network.double() for one in fresh]
        teacher = teacher_of(grouped, grouped.jobs(), networks, probabilities)
        committee = Committee(networks[: teacher.n_members])
        return cls(model, begun, committee, results[0], teacher, time.process_time() - started)

    def answer(self, variant: Variant, split: Split) -> Answer:
        """Return the rules of a variant and their decisions on the unseen rows."""
        started = time.process_time()
        learned = learn_rules(self.teacher, variant.config(self.model), stable=variant.stable)
        rules = self.model._settle(self.begun, Trained(self.committee, self.result, learned)).rules_
        seconds = self.seconds + time.process_time() - started
        literals = float(np.mean([formula.n_literals for formula in rules.formulas]))
        return Answer(rules.predict(split.test), seconds, literals, rules)


def used_concepts(rules: RuleSet) -> list[list[str]]:
    """Return what the formula of each class uses: columns of thresholds (cuts differ between folds) or concepts.

    Classes are in order of their names, as in every fold.
    """

    def about(concept: str) -> str:
        predicate = rules.predicate(concept)
        return predicate.column if predicate.operator in ("<", "<=", ">", ">=") else concept

    ordered = sorted(rules.rules, key=lambda rule: str(rule.name))
    return [sorted({about(concept) for concept in rule.formula.concepts}) for rule in ordered]


def measured(trial: Trial, name: str, table: SearchTable) -> dict[str, Any]:
    """Measure one variant on one split."""
    answer = table.answer(VARIANTS[name], trial.split)
    assert answer.rules is not None
    exact = None if trial.problem is None else judge(answer.rules, trial.problem, trial.split.train).exact
    return {
        "table": trial.table, "fold": trial.split.seed, "variant": name, "planted": trial.problem is not None,
        "macro_f1": answer.macro_f1(trial.split), "literals": answer.literals,
        "concepts": used_concepts(answer.rules), "exact": exact, "seconds": round(answer.seconds, 3),
    }  # fmt: skip


def run(trial: Trial, names: list[str], lines: Lines) -> None:
    """Measure the variants that are missing in the file, one committee after the other."""
    missing = [name for name in names if lines.get(trial.table, trial.split.seed, name) is None]
    for size in dict.fromkeys(VARIANTS[name].committee for name in missing):
        table = SearchTable.of(trial.split, size)
        for name in [name for name in missing if VARIANTS[name].committee == size]:
            line = lines.add(measured(trial, name, table))
            print(
                f"{line['table']}, {line['fold']}, {name}: F1 {100 * line['macro_f1']:.1f}, "
                f"{line['literals']:.1f} literals, {line['seconds']:.1f} s",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", help="tables and planted families whose name starts with one of these")
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS), metavar="NAME")
    parser.add_argument("--folds", type=int, default=5, help="how many of the five folds of a table are run")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds of a planted family are run")
    parser.add_argument("--json", help="keep every run here, and go on from what the file holds")
    parser.add_argument("--again", nargs="*", default=[], help="variants to run again, whatever the file holds")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    lines = Lines(asked.json, ("table", "fold", "variant"))
    lines.drop("variant", asked.again)
    prefixes = tuple(asked.tables or ("",))
    for trial in trials(asked.folds, asked.seeds, lambda name: name.startswith(prefixes)):
        run(trial, asked.variants, lines)


if __name__ == "__main__":
    main()
