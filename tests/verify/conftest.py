"""Saved models with their certificates, whose copies the tests of the checker change."""

from __future__ import annotations

import pytest

from tests.oracles.certified import Saved, certify, random_net
from tests.verify.certificates import CONCEPTS, PREDICATES
from tests.verify.edits import Case, make_cases


@pytest.fixture(scope="session")
def saved() -> Saved:
    """Two classes: 'low' uses three concepts, 'high' four."""
    net = random_net(12, [[2, 5, 6], [0, 2, 3, 4]], len(CONCEPTS), temperature=100.0)
    return certify(
        net, CONCEPTS, ["low", "high"], PREDICATES,
        exclusive=[["red", "green"]], implied=[["age >= 60", "age >= 72.5"]],
    )  # fmt: skip


@pytest.fixture(scope="session")
def cases(tmp_path_factory) -> dict[str, Case]:
    return make_cases(tmp_path_factory.mktemp("models"))
