"""The best epoch of many models, found in blocks of epochs, equals that of a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.train.fit_many import BestEpochs


def one_after_another(loss: np.ndarray, right: np.ndarray, patience: int | None) -> tuple[int | None, bool]:
    """The steps of the best epoch of one model, the first epoch being after one step; and whether it still runs."""
    best, chosen, waits_from = None, None, 1
    for steps, seen in enumerate(zip(right, -loss, strict=True), start=1):
        if not np.isnan(seen).any() and (best is None or seen > best):
            best, chosen, waits_from = seen, steps, steps
        if patience is not None and steps - waits_from >= patience:
            return chosen, False
    return chosen, True


@given(st.data())
def test_any_way_to_look_at_epochs_chooses_the_same(data):
    n_epochs, patience = data.draw(st.integers(1, 12)), data.draw(st.one_of(st.none(), st.integers(1, 4)))
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    loss, right = rng.integers(0, 3, (n_epochs, 2, 3)) / 2, rng.integers(0, 4, (n_epochs, 2, 3)).astype(float)
    loss[rng.random(loss.shape) < 0.1] = np.nan
    best = BestEpochs(np.full((2, 3), 3.0), patience)
    kept = np.full((2, 3), -1)
    at = 0
    while at < n_epochs:
        some = data.draw(st.integers(1, n_epochs - at))
        improved, place = best.update(1 + at, loss[at : at + some], right[at : at + some])
        kept[improved] = 1 + at + place[improved]
        at += some
    for g, k in np.ndindex(2, 3):
        chosen, running = one_after_another(loss[:, g, k], right[:, g, k], patience)
        assert best.is_chosen[g, k] == (chosen is not None)
        assert best.running[g, k] == running
        if chosen is not None:
            assert best.steps[g, k] == kept[g, k] == chosen


def test_shares_that_differ_by_rounding_tie_and_loss_decides():
    best = BestEpochs(np.array([[0.3]]), None)
    right = np.array([0.1 + 0.2, 0.3, np.nextafter(0.3, 1)])
    best.update(1, np.array([0.5, 0.4, 0.4])[:, None, None], right[:, None, None])
    assert best.steps[0, 0] == 2


@pytest.mark.parametrize("whole", [7, 128, 1_000, 59_999])
def test_one_row_more_is_better_whatever_the_loss(whole):
    best = BestEpochs(np.array([[float(whole)]]), None)
    right = np.arange(whole - 3.0, whole + 1)
    best.update(1, np.array([0.0, 1e-3, 1.0, 1e6])[:, None, None], right[:, None, None])
    assert best.steps[0, 0] == 4
