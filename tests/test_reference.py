"""Reference cuts: cuts that matter together with other columns, and groups of categories."""

from __future__ import annotations

import numpy as np
import pytest

from logiclens.data.boosting import DEPTH, Ensemble
from logiclens.data.columns import columns_of
from logiclens.data.cuts import short_number
from logiclens.data.reference import find_reference


def boxes(seed: int, *, decimals: int | None = None, n_rows: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """Eight columns, four of which decide: two boxes, one of them with a side in the middle of a column."""
    x = np.random.default_rng(seed).random((n_rows, 8))
    x = x if decimals is None else x.round(decimals)
    inside = (x[:, 0] >= 0.3) & (x[:, 0] < 0.7) & (x[:, 1] >= 0.4) | (x[:, 2] >= 0.8) & (x[:, 3] < 0.5)
    return x, inside.astype(np.intp)[:, None]


def reference_numbers(x, classes, weight=None, **settings) -> dict[str, list[float]]:
    weight = np.ones(len(x)) if weight is None else weight
    found = find_reference(columns_of(x), classes, int(classes.max()) + 1, weight, max_categories=20, **settings)
    return {name: [short_number(cut.low, cut.high) for cut in cuts] for name, cuts in found.cuts.items()}


# The ensemble --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_follow_the_trees_and_learn_the_classes(n_classes):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 4))
    x[rng.random((600, 4)) < 0.1] = np.nan
    classes = (np.nan_to_num(x[:, 0]) > 0).astype(np.intp) + (n_classes == 3) * (np.nan_to_num(x[:, 1]) > 1)
    ensemble = Ensemble.fit(list(x.T), classes[:, None], n_classes, np.ones(600))
    scores = ensemble.scores(x.T)
    assert scores.shape == ensemble.targets.shape == (1 if n_classes == 2 else 3, 600)
    assert np.mean((scores > 0) == ensemble.targets) > 0.97
    # A slow twin: each row walks down each tree.
    for output in range(len(scores)):
        for row in range(0, 600, 97):
            total = ensemble.priors[output]
            for tree in range(ensemble.leaves.shape[1]):
                node = 0
                for _ in range(DEPTH):
                    value = x[row, ensemble.columns[output, tree, node]]
                    above = not np.isnan(value) and value >= ensemble.bounds[output, tree, node]
                    node = 2 * node + 1 + above
                total += ensemble.leaves[output, tree, node - (2**DEPTH - 1)]
            assert scores[output, row] == pytest.approx(total)


def test_a_split_lies_between_neighbours_and_has_rows_on_both_sides():
    rng = np.random.default_rng(1)
    x = rng.random((900, 3))
    classes = ((x[:, 0] > 0.5) ^ (rng.random(900) < 0.2)).astype(np.intp)[:, None]
    for split in Ensemble.fit(list(x.T), classes, 2, np.ones(900)).thresholds:
        assert split.low < split.high
        assert {split.low, split.high} <= set(x[:, split.column])
        assert min((x[:, split.column] <= split.low).sum(), (x[:, split.column] >= split.high).sum()) >= 5


# Cuts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_sides_of_planted_boxes_are_cuts_with_no_row_between(seed, decimals):
    x, classes = boxes(seed, decimals=decimals)
    found = reference_numbers(x, classes)
    for column, truth in ((0, 0.3), (0, 0.7), (1, 0.4), (2, 0.8), (3, 0.5)):
        values = x[:, column]
        assert any(((values >= truth) == (values >= cut)).all() for cut in found[f"x{column}"]), (column, truth)
    # Columns that do not matter are not cut.
    assert all(len(found.get(f"x{column}", ())) == 0 for column in range(4, 8))


def test_a_boundary_that_one_column_alone_does_not_show_is_found():
    rng = np.random.default_rng(5)
    x = rng.random((3_000, 5)).round(2)
    classes = ((x[:, 0] >= 0.3) ^ (x[:, 1] >= 0.6)).astype(np.intp)[:, None]
    found = reference_numbers(x, classes)
    assert 0.3 in found["x0"]
    assert 0.6 in found["x1"]


def test_noise_is_not_cut():
    rng = np.random.default_rng(2)
    found = reference_numbers(rng.random((1_000, 10)), rng.integers(0, 2, (1_000, 1)))
    assert sum(map(len, found.values())) <= 2


def test_neither_the_order_of_rows_nor_copies_as_weights_change_anything():
    x, classes = boxes(3, decimals=2, n_rows=800)
    order = np.random.default_rng(0).permutation(800)
    assert reference_numbers(x, classes) == reference_numbers(x[order], classes[order])


def test_large_tables_are_cut_on_a_part_of_their_rows(monkeypatch):
    x, classes = boxes(0, decimals=2, n_rows=6_000)
    monkeypatch.setattr("logiclens.data.reference.MOST_ROWS", 3_000)
    order = np.random.default_rng(0).permutation(6_000)
    found = reference_numbers(x, classes)
    assert {0.3, 0.7} <= set(found["x0"])
    assert found == reference_numbers(x[order], classes[order])
