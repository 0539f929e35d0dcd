"""Every declared setting meets every kind of bad value: it is accepted, or refused in one sentence."""

from __future__ import annotations

import re
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch

from logiclens import EntropyClassifier
from logiclens.concepts import booleaniser
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.constraints import check_all, flag, number, one_of, optional, share, whole_number
from logiclens.errors import LogicLensError
from logiclens.estimator import settings
from logiclens.explain import length
from logiclens.explain.length import FormulaLimits, SearchConfig
from logiclens.train import config
from logiclens.train.config import TrainConfig

DECLARED = {
    EntropyClassifier: settings.CONSTRAINTS,
    Booleaniser: booleaniser.CONSTRAINTS,
    TrainConfig: config.CONSTRAINTS,
    FormulaLimits: length.LIMITS,
    SearchConfig: length.SEARCH,
}
NAN, INF = float("nan"), float("inf")
STRANGE = [
    "ten", "", "x" * 1000, b"x", "\ud800", None, pd.NA, NAN, INF, -INF, np.float32("nan"), -1, -0.5, 10**400, 10**5000,
    -(10**400), Fraction(10**400), Decimal("sNaN"), Decimal("0.5"), 1j, object(), int, lambda: 1, [], [None], [NAN],
    [[1]], (10**30,), {"a": NAN}, {"a": [1]}, {1, 2}, np.array([1, 2]), np.array(3), np.array("x"),
    np.datetime64("2020-01-01"), pd.Series([1, 2]),
    pd.DataFrame({"a": [1, 2]}), torch.tensor(3), torch.tensor([0.5, 2]), np.ma.masked,
]  # fmt: skip
"""Values of every kind; no setting but a few takes any of them."""
ONLY_NUMBERS = {"epochs", "learning_rate", "temperature", "penalty_weight", "validation", "set_aside", "max_distinct",
                "weight_decay", "max_categories"}  # fmt: skip


def test_every_setting_is_declared():
    for kind, constraints in DECLARED.items():
        names = kind().get_params(deep=False) if hasattr(kind, "get_params") else [field.name for field in fields(kind)]
        assert set(constraints) == set(names), kind


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.__name__)
def test_strange_values_are_refused_in_one_sentence(kind):
    for name, constraint in DECLARED[kind].items():
        refused = 0
        for value in STRANGE:
            try:
                constraint.check(name, value)
            except LogicLensError as error:
                refused += 1
                message = str(error)
                assert re.fullmatch(f"{name} must be .{{1,270}}[.]", message), message
        assert refused >= (len(STRANGE) if name in ONLY_NUMBERS else 25), name


@pytest.mark.parametrize("kind", DECLARED, ids=lambda kind: kind.__name__)
def test_defaults_are_accepted(kind):
    values = kind().get_params(deep=False) if hasattr(kind, "get_params") else vars(kind())
    check_all(DECLARED[kind], values)


@pytest.mark.parametrize("name", sorted(settings.CONSTRAINTS))
def test_fit_refuses_what_the_declaration_refuses(name):
    rows, labels = pd.DataFrame({"a": [0, 1] * 4}), [0, 1] * 4
    for value in STRANGE:
        if not settings.CONSTRAINTS[name].accepts(value):
            with pytest.raises(LogicLensError, match=f"^{name} must be "):
                EntropyClassifier(**{name: value}).fit(rows, labels)


@pytest.mark.parametrize("kind", [TrainConfig, FormulaLimits, SearchConfig], ids=lambda kind: kind.__name__)
def test_configurations_refuse_what_their_declaration_refuses(kind):
    for name, constraint in DECLARED[kind].items():
        for value in STRANGE:
            if not constraint.accepts(value):
                with pytest.raises(LogicLensError, match=f"^{name} must be "):
                    kind(**{name: value})


def test_truth_values_are_no_numbers():
    for constraint in (whole_number(0), share(), number("a number", lambda value: True)):
        assert [constraint.accepts(value) for value in (True, np.bool_(True), 0, np.int64(0))] == [
            False,
            False,
            True,
            True,
        ]


def test_ends_of_ranges():
    assert [whole_number(1, 8).accepts(value) for value in (0, 1, 8, 9)] == [False, True, True, False]
    assert [share().accepts(value) for value in (-0.1, 0.0, 0.99, 1.0)] == [False, True, True, False]
    assert [flag().accepts(value) for value in (None, 0, np.bool_(False))] == [False, False, True]
    assert [optional(one_of(("a", "b"))).accepts(value) for value in (None, "b", "c")] == [True, True, False]
