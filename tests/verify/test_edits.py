"""Edits of saved models with every hash made right again: none changes an answer that `verify` then confirms."""

from __future__ import annotations

import pytest

from tests.examples import scaled
from tests.verify.edits import Case, campaign, make_cases


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> dict[str, Case]:
    return make_cases(tmp_path_factory.mktemp("models"))


def test_random_edits_change_no_answer_unseen(cases):
    outcomes, wrong = campaign(cases, scaled(1000), seed=1)
    assert not wrong
    assert outcomes["refuted"]
    assert outcomes["not verified"]
