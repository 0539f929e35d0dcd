"""Where network and formula disagree: each row counts once, at the last step that changed its answer."""

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
from tests.rigged import GRID, NAMES, Rigged, boolean, xor_net

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
    counts = dict.fromkeys(("agree", "cancelled", "unseen", "unseen_disagree", *STEPS), 0)
    for row in rows:
        hard = row >= 0.5
        fires = bool(explained.formula.evaluate(hard[None], names)[0])
        key = tuple(bool(hard[names.index(name)]) for name in explained.table.names)
        first = say(network, row)
        if key not in seen:
            counts["unseen"] += 1
            counts["unseen_disagree"] += first != fires
            continue
        majority = sum(seen[key]) > len(seen[key]) / 2
        chain = [first, say(network, hard), say(bare, hard), majority, fires]
        changed = [k for k in range(4) if chain[k] != chain[k + 1]]
        if not changed:
            counts["agree"] += 1
        elif chain[0] == chain[-1]:
            counts["cancelled"] += 1
        else:
            counts[STEPS[changed[-1]]] += 1
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
    explanation = explain_all(network, table, answer=answer, limits=FormulaLimits(2, 2))
    rows = rng.random((60, 4))
    gap = explanation.gap(rows)
    for head, found in enumerate(gap.classes):
        expected = naive(explanation, network, rows.astype(np.float32), head, answer)
        assert {**found.changed, "agree": found.agree, "cancelled": found.cancelled, "unseen": found.unseen,
                "unseen_disagree": found.unseen_disagree} == expected  # fmt: skip
        assert found.agree + found.cancelled + found.unseen + sum(found.changed.values()) == found.n_rows == 60
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
    assert [(found.disagree, found.agree) for found in gap.classes] == [(0, 16), (0, 16)]


def test_soft_concepts_that_change_the_answer_are_told_apart():
    # The network asks for a >= 0.8; cut at 0.5 the row between changes its answer, and the formula follows.
    network = Rigged(1, [[0], [0]], lambda x: torch.stack([0.8 - x[:, 0], x[:, 0] - 0.8], dim=1))
    rows = np.array([[0.9], [0.9], [0.9], [0.6], [0.1]])
    explanation = explain_all(network, ConceptTable(rows, ["a"]), answer="threshold")
    (_, yes) = explanation.gap().classes
    assert yes.changed == {**dict.fromkeys(STEPS, 0), "hard concepts": 1}
    assert (yes.agree, yes.disagree) == (4, 1)


def test_the_text_names_every_place_and_the_numbers_add_up():
    network = Rigged(4, [[0], [0]], boolean(lambda a, b, c, d: a & b))
    gap = explain_all(network, ConceptTable(GRID, NAMES)).gap()
    lines = str(gap.classes[1]).splitlines()
    assert lines[0] == f"class 1: soft network and formula disagree on {gap.classes[1].disagree} of 16 rows"
    assert sum(int(line.split()[0].replace(",", "")) for line in lines[1:]) == 16


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
