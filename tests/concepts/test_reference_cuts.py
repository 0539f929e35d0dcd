"""Reference cuts: thresholds that matter together with other columns, and groups of categories."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.concepts.reference_cuts import DEPTH, Ensemble, find_reference
from logiclens.errors import LogicLensWarning
from logiclens.formula.column_kinds import short_number
from logiclens.tables.frames import columns_of


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


def test_a_split_lies_between_neighbours_with_rows_on_both_sides():
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
def test_the_sides_of_planted_boxes_are_found_as_cuts(seed, decimals):
    x, classes = boxes(seed, decimals=decimals)
    found = reference_numbers(x, classes)
    for column, truth in ((0, 0.3), (0, 0.7), (1, 0.4), (2, 0.8), (3, 0.5)):
        values = x[:, column]
        assert any(((values >= truth) == (values >= cut)).all() for cut in found[f"x{column}"]), (column, truth)
    # Columns that do not matter are not cut.
    assert all(len(found.get(f"x{column}", ())) == 0 for column in range(4, 8))


def test_a_boundary_invisible_in_one_column_is_found():
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


def test_row_order_and_copies_as_weights_change_no_cut():
    x, classes = boxes(3, decimals=2, n_rows=800)
    order = np.random.default_rng(0).permutation(800)
    assert reference_numbers(x, classes) == reference_numbers(x[order], classes[order])


def test_large_tables_are_cut_on_a_part_of_their_rows(monkeypatch):
    x, classes = boxes(0, decimals=2, n_rows=6_000)
    monkeypatch.setattr("logiclens.concepts.reference_cuts.MOST_ROWS", 3_000)
    order = np.random.default_rng(0).permutation(6_000)
    found = reference_numbers(x, classes)
    assert {0.3, 0.7} <= set(found["x0"])
    assert found == reference_numbers(x[order], classes[order])


# Groups of categories ------------------------------------------------------------------------------------------------


def job_titles(seed: int, n_rows: int = 3_000) -> tuple[pd.DataFrame, np.ndarray]:
    """100 titles, the first 40 of which decide together with the years; some cells are missing."""
    rng = np.random.default_rng(seed)
    title, years = rng.integers(0, 100, n_rows), rng.integers(0, 40, n_rows)
    label = np.where((title < 40) & (years >= 10), "high", "low")
    titles = pd.Series([f"title {i:02}" for i in title]).where(rng.random(n_rows) > 0.05)
    return pd.DataFrame({"title": titles, "years": years}), label


def fitted_on(frame: pd.DataFrame, label: np.ndarray, weight=None) -> Booleaniser:
    with pytest.warns(LogicLensWarning, match="a network also sees"):
        return Booleaniser().fit(frame, label, weight)


def test_categories_of_one_class_form_a_group_without_rules():
    frame, label = job_titles(0)
    made = fitted_on(frame, label)
    groups = made.cutting_.memberships
    telling = {f"title {i:02}" for i in range(40)}
    assert any(set(group.values) in (telling, {f"title {i:02}" for i in range(40, 100)}) for group in groups.values())
    assert made.cutting_.literals == tuple(made.predicates_)
    assert not set(groups) & set(made.predicates_)
    assert made.get_feature_names_out().tolist() == [*made.predicates_, *groups]
    # At most as many single categories as before; they are literals.
    assert sum(name.startswith("title is title") for name in made.predicates_) == 20
    # A concept says which of its categories a row has; a missing or unknown one is in no group.
    bits = made.transform(pd.concat([frame, pd.DataFrame({"title": ["new", None], "years": [3, 4]})]))
    for place, group in enumerate(groups.values(), start=len(made.predicates_)):
        np.testing.assert_array_equal(bits[:-2, place], frame["title"].isin(group.values))
        assert not bits[-2:, place].any()


def test_numbers_that_are_categories_are_grouped_too():
    rng = np.random.default_rng(3)
    ward = rng.integers(0, 60, 2_000)
    frame = pd.DataFrame({"ward": pd.Categorical(ward), "v": rng.random(2_000)})
    made = fitted_on(frame, np.where(ward % 3 == 0, "yes", "no"))
    bits = made.transform(frame)
    for place, group in enumerate(made.cutting_.memberships.values(), start=len(made.predicates_)):
        np.testing.assert_array_equal(bits[:, place], np.isin(ward, group.values))


def test_categories_that_say_nothing_are_not_grouped():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"code": [f"c{i}" for i in rng.integers(0, 300, 1_500)], "v": rng.random(1_500)})
    with pytest.warns(LogicLensWarning, match="rules ignore the others"):
        made = Booleaniser().fit(frame, rng.choice(["a", "b"], 1_500))
    assert not made.cutting_.memberships


def test_groups_are_independent_of_row_order_and_copies():
    frame, label = job_titles(1, 1_200)
    weight = np.random.default_rng(0).integers(1, 3, len(frame))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(frame)), weight))
    weighed, repeated = fitted_on(frame, label, weight), fitted_on(frame.iloc[rows], label[rows])
    assert weighed.cutting_.memberships == repeated.cutting_.memberships
    assert weighed.predicates_ == repeated.predicates_


@pytest.fixture(scope="module")
def titled() -> EntropyClassifier:
    frame, label = job_titles(2)
    with pytest.warns(LogicLensWarning):
        return EntropyClassifier(epochs=150).fit(frame, label)


def test_a_network_sees_groups_and_rules_do_not_name_them(titled):
    frame, label = job_titles(12)
    assert titled.score(frame, label) > 0.97
    assert set(titled.table_.literals) == set(titled.schema_.predicates)
    assert set(titled.schema_.names) > set(titled.schema_.predicates)
    used = {concept for formula in titled.rules_.formulas for concept in formula.concepts}
    assert used <= set(titled.schema_.predicates)


@pytest.mark.parametrize("settings", [{"exact": True}, {"method": "paper"}])
def test_no_way_to_rules_names_a_group(settings):
    frame, label = job_titles(5, 1_200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        rules = EntropyClassifier(epochs=60, **settings).fit(frame, label).rules_
    assert {concept for formula in rules.formulas for concept in formula.concepts} <= set(rules.predicates)
    assert len(rules.predict(frame)) == len(frame)


def test_groups_are_saved_and_loaded(titled, tmp_path):
    frame, _ = job_titles(13)
    loaded = EntropyClassifier.load(titled.save(tmp_path / "model"))
    assert loaded.schema_.cutting.memberships == titled.schema_.cutting.memberships
    assert loaded.schema_.literals == titled.schema_.literals
    np.testing.assert_array_equal(loaded.predict_proba(frame), titled.predict_proba(frame))


def test_an_engine_finds_the_same_groups_in_rows(titled):
    import ibis

    frame, label = job_titles(14)
    table = ibis.duckdb.connect().create_table("t", frame.assign(y=label))
    assert titled.score(table, "y") == pytest.approx(titled.score(frame, label))


@pytest.mark.parametrize("how", ["supervised", "uniform", "soft"])
@pytest.mark.parametrize("least", [0, 90])
def test_huge_numbers_are_cut_as_small_ones(how, least):
    rng = np.random.default_rng(least)
    level = np.where(rng.random(600) < 0.3, 169, rng.integers(least, 170, 600)).astype(float)
    other = rng.normal(size=600).round(2)
    labels = np.where((level >= 130) ^ (other > 0), "p", "q")
    answers = []
    for scale in (1.0, 1e306):
        rows = pd.DataFrame({"level": level * scale, "other": other})
        model = EntropyClassifier(Booleaniser(how), epochs=3, committee=3)
        answers.append(model.fit(rows, labels).rules_.predict(rows))
    assert (answers[0] == answers[1]).all()
