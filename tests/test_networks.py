"""Heads of a network taken out, put back, and untied from a shared tail."""

from __future__ import annotations

import pytest
import torch

from logiclens.errors import LogicLensError
from logiclens.nn import EntropyNet

ROWS = torch.rand(40, 6, generator=torch.Generator().manual_seed(1))


def network(shared_tail: bool = False, hidden=(5, 4)) -> EntropyNet:
    return EntropyNet(6, 3, hidden, shared_tail, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("shared_tail", [False, True])
@pytest.mark.parametrize("hidden", [(5,), (5, 4), (5, 4, 3)])
def test_untied_heads_say_what_they_said(shared_tail, hidden):
    tied = network(shared_tail, hidden)
    tied.entropy.keep[1, 2] = False
    untied = tied.untied()
    assert not untied.shared_tail
    torch.testing.assert_close(untied(ROWS), tied(ROWS))
    with torch.no_grad():
        list(untied.parameters())[-1][0] += 1
    # A head of its own: the others do not notice.
    torch.testing.assert_close(untied(ROWS)[:, 1:], tied(ROWS)[:, 1:])


def test_a_head_taken_out_says_what_it_said_with_these_concepts_kept():
    whole, kept = network(), [0, 3, 5]
    single = whole.head(1, kept)
    assert (single.n_concepts, single.n_classes) == (3, 1)
    whole.entropy.keep[1] = False
    whole.entropy.keep[1, kept] = True
    torch.testing.assert_close(single(ROWS[:, kept])[:, 0], whole(ROWS)[:, 1])


def test_a_head_put_back_keeps_its_concepts_and_leaves_the_others():
    whole, other, kept = network(), network(hidden=(5, 4)), [1, 2]
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(2)
    single = other.head(2, kept)
    before = whole(ROWS)
    whole.put_head(0, single, kept)
    after = whole(ROWS)
    torch.testing.assert_close(after[:, 0], single(ROWS[:, kept])[:, 0])
    torch.testing.assert_close(after[:, 1:], before[:, 1:])
    assert whole.entropy.keep[0].tolist() == [False, True, True, False, False, False]
    # What is not kept leaves no weight behind.
    assert not whole.entropy.weight[0][:, [0, 3, 4, 5]].any()


def test_neither_touches_the_global_generator_nor_the_original():
    whole = network()
    state, weights = torch.random.get_rng_state(), [p.clone() for p in whole.parameters()]
    with torch.no_grad():
        for parameter in (*whole.untied().parameters(), *whole.head(0, [1]).parameters()):
            parameter.zero_()
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(p, w) for p, w in zip(whole.parameters(), weights, strict=True))


def test_heads_that_share_their_tail_must_be_untied_first():
    with pytest.raises(LogicLensError, match=r"share their last layers: call untied\(\) first"):
        network(shared_tail=True).head(0, [0])
    with pytest.raises(LogicLensError, match=r"share their last layers: call untied\(\) first"):
        network(shared_tail=True).put_head(0, network().head(0, [0]), [0])
