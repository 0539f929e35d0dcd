"""Where network and formula disagree: how many answers each step changes, one after the other."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain import explain_all
from logiclens.explain.gap import STEPS
from logiclens.explain.own_teacher import FormulaLimits
from logiclens.nn import EntropyNet
from tests.examples import examples
from tests.rigged import GRID, NAMES, Rigged, xor_net

pytestmark = pytest.mark.filterwarnings("ignore::logiclens.errors.LogicLensWarning")


def naive(explanation, network: EntropyNet, rows: np.ndarray, head: int, answer: str) -> dict[str, int]:
    """The chain row by row, with the network's irrelevant weights set to 0 by hand."""
    bare = copy.deepcopy(network)
    with torch.no_grad():
        bare.entropy.weight.mul_(network.entropy.relevant().unsqueeze(1))

    def say(net: EntropyNet, row: np.ndarray) -> bool:
        with torch.no_grad():
            logits = net(torch.tensor(row, dtype=torch.float32)[None])[0]
        return bool(logits.argmax() == head) if answer == "argmax" else bool(logits[head] >= 0)

    explained = explanation[head]
    names = explained.reading.table.names
    seen = {}
    for row, yes in zip(explained.reading.bits, explained.reading.yes[:, head], strict=True):
        key = tuple(bool(row[names.index(name)]) for name in explained.table.names)
        seen.setdefault(key, []).append(bool(yes))
    counts = dict.fromkeys(("restored", "disagree", "unseen", *STEPS), 0)
    for row in rows:
        hard = row >= 0.5
        fires = bool(explained.formula.evaluate(hard[None], names)[0])
        key = tuple(bool(hard[names.index(name)]) for name in explained.table.names)
        first = say(network, row)
        majority = sum(seen[key]) > len(seen[key]) / 2 if key in seen else say(bare, hard)
        chain = [first, say(network, hard), say(bare, hard), majority, fires]
        changed = [k for k in range(4) if chain[k] != chain[k + 1]]
        for k in changed:
            counts[STEPS[k]] += 1
        counts["unseen"] += key not in seen
        counts["disagree"] += first != fires
        counts["restored"] += bool(changed) and first == fires
    return counts


@given(
    seed=st.integers(0, 10_000),
    answer=st.sampled_from(["argmax", "threshold"]),
    temperature=st.sampled_from([0.1, 1.0]),
)
@examples(30)
def test_the_gap_is_what_following_each_row_by_hand_gives(seed, answer, temperature):
    rng = np.random.default_rng(seed)
    network = EntropyNet(4, 2, (5,), temperature=temperature, generator=torch.Generator().manual_seed(seed))
    with torch.no_grad():
        network.entropy.weight.mul_(3)
    table = ConceptTable(rng.random((30, 4)), NAMES)
    explanation = explain_all(network, table, answer=answer, limits=FormulaLimits(2))
    rows = rng.random((60, 4))
    gap = explanation.gap(rows)
    for head, found in enumerate(gap.classes):
        expected = naive(explanation, network, rows.astype(np.float32), head, answer)
        assert {
            **found.changed,
            "restored": found.restored,
            "disagree": found.disagree,
            "unseen": found.unseen,
        } == expected
        assert found.n_rows == 60
        fires = explanation[head].formula.evaluate(rows >= 0.5, NAMES)
        with torch.no_grad():
            logits = network(torch.tensor(rows, dtype=torch.float32))
        soft = logits.argmax(dim=1) == head if answer == "argmax" else logits[:, head] >= 0
        assert found.disagree == int((fires != soft.numpy()).sum())


def test_the_network_is_left_as_it_was():
    network = EntropyNet(4, 2, (5,))
    keep = network.entropy.keep.clone()
    explain_all(network, ConceptTable(GRID, NAMES)).gap()
    assert torch.equal(network.entropy.keep, keep)


def test_a_formula_that_is_the_network_leaves_no_gap():
    gap = explain_all(xor_net(), ConceptTable(GRID, NAMES)).gap()
    assert all(found.disagree == found.restored == sum(found.changed.values()) == 0 for found in gap.classes)


def test_soft_concepts_that_change_the_answer_are_told_apart():
    # The network asks for a >= 0.8; cut at 0.5 the row between changes its answer, and the formula follows.
    network = Rigged(1, [[0], [0]], lambda x: torch.stack([0.8 - x[:, 0], x[:, 0] - 0.8], dim=1))
    rows = np.array([[0.9], [0.9], [0.9], [0.6], [0.1]])
    explanation = explain_all(network, ConceptTable(rows, ["a"]), answer="threshold")
    (_, yes) = explanation.gap().classes
    assert yes.changed == {**dict.fromkeys(STEPS, 0), "hard concepts": 1}
    assert (yes.restored, yes.disagree) == (0, 1)


def test_a_step_that_a_later_step_undoes_is_shown():
    # Cut at 0.5, nine of ten rows change their answer; the formula, whose majority comes from these rows, changes back.
    network = Rigged(1, [[0], [0]], lambda x: torch.stack([0.8 - x[:, 0], x[:, 0] - 0.8], dim=1))
    rows = np.array([[0.6]] * 9 + [[0.9]] + [[0.1]] * 5)
    explanation = explain_all(network, ConceptTable(rows, ["a"]), answer="threshold")
    (_, yes) = explanation.gap().classes
    assert yes.changed["hard concepts"] == 9
    assert yes.changed["majority of the row"] == 10
    assert (yes.restored, yes.disagree) == (9, 1)


def test_the_text_has_a_line_for_every_step():
    network = Rigged(1, [[0], [0]], lambda x: torch.stack([0.8 - x[:, 0], x[:, 0] - 0.8], dim=1))
    rows = np.array([[0.6]] * 9 + [[0.9]] + [[0.1]] * 5)
    lines = str(explain_all(network, ConceptTable(rows, ["a"]), answer="threshold").gap().classes[1]).splitlines()
    assert lines[0] == "class 1: soft network and formula disagree on 1 of 15 rows"
    assert [int(line.split()[0]) for line in lines[1:]] == [9, 0, 10, 0, 9, 0]


def test_rows_that_weigh_nothing_were_never_seen():
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, weight=[0.0] * 4 + [1.0] * 12))
    # The first four rows are those with neither a nor b; they are no rows of the explained table.
    assert [(found.unseen, found.n_rows) for found in explanation.gap().classes] == [(0, 12), (0, 12)]
    assert [found.unseen for found in explanation.gap(ConceptTable(GRID, NAMES)).classes] == [4, 4]


def test_rows_never_seen_are_a_line_of_their_own():
    explanation = explain_all(xor_net(), ConceptTable(GRID[:8], NAMES))
    gap = explanation.gap(ConceptTable(GRID, NAMES))
    # a is 0 on the explained rows.
    assert [found.unseen for found in gap.classes] == [8, 8]
