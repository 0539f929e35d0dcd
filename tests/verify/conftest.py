"""A saved model of two classes with its certificate, which the tests of the checker change."""

from __future__ import annotations

import pytest

from tests.oracles.certified import Saved, certify, random_net
from tests.verify.certificates import CONCEPTS, PREDICATES


@pytest.fixture(scope="module")
def saved() -> Saved:
    """Two classes; 'high' keeps four concepts and all their rows, 'low' three of which some rows are impossible."""
    domains = {"low": {"rows": "possible", "exclusive": [["red", "green"]], "implied": []}}
    net = random_net(256, [[2, 5, 6], [0, 2, 3, 4]], len(CONCEPTS), temperature=10.0)
    return certify(
        net, CONCEPTS, ["low", "high"], PREDICATES,
        exclusive=[["red", "green"]], implied=[["age >= 60", "age >= 72.5"]], domains=domains,
    )  # fmt: skip
