"""Edits of saved models with every hash made right again: none changes an answer that `verify` then confirms."""

from __future__ import annotations

from tests.examples import scaled
from tests.verify.edits import outcomes_of


def test_random_edits_change_no_answer_unseen(cases):
    outcomes, wrong = outcomes_of(cases, scaled(1000), seed=1)
    assert not wrong
    assert outcomes["refuted"]
    assert outcomes["not verified"]
