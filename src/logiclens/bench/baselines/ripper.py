"""RIPPER (Cohen 1995) by wittgenstein: a rule set, which is a formula as it stands."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from logiclens.bench.baselines.learner import (
    ClassRule,
    Learned,
    YesNo,
    global_seed,
    one_against_rest,
    require,
    together,
)
from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.dnf import DNF, Cube, Literal


@dataclass(frozen=True)
class Ripper:
    """RIPPER, one class against the rest.

    Args:
        rounds: how often the rule set is optimised after it has grown (RIPPER's k).
        prune_size: the share of the training rows on which rules are pruned.
        sample: the classes to learn, where not all (see `one_against_rest`).
    """

    rounds: int = 2
    prune_size: float = 0.33
    sample: tuple[int, ...] | None = None

    def __call__(self, train: ConceptTable, validation: ConceptTable, *, seed: int) -> Learned:
        """Learn from the training and validation rows together: RIPPER itself keeps a part of them for pruning."""

        def learn(rows: YesNo) -> ClassRule:
            formula = rule_formula(self.fitted(rows, seed=seed), rows.names)
            return ClassRule(formula, ("RIPPER found no rule.",) if formula == DNF.false else ())

        return one_against_rest(learn, together(train, validation), sample=self.sample)

    def fitted(self, rows: YesNo, *, seed: int) -> Any:
        """The fitted classifier of wittgenstein for one class; its columns are the numbers of the concepts."""
        import pandas as pd

        # Bins are for numbers: 0 and 1 stay as they are. Names would make ties depend on the hashing of text.
        model = require("wittgenstein").RIPPER(
            k=self.rounds, prune_size=self.prune_size, n_discretize_bins=None, random_state=seed
        )
        # It seeds the global generator, and it prints a warning where the rule set is empty or always true; the
        # formula says that.
        with global_seed(seed), warnings.catch_warnings(record=True):
            model.fit(pd.DataFrame(rows.bits.astype(np.int64)), y=rows.yes.astype(int).tolist(), pos_class=1)
        return model


def rule_formula(model: Any, names: tuple[str, ...]) -> DNF:
    """The rules as a formula: a condition `concept = 0` is a negation; no rules at all are `DNF.false`."""
    return DNF(
        Cube(Literal(names[int(condition.feature)], bool(condition.val)) for condition in rule.conds)
        for rule in model.ruleset_.rules
    )
