"""Copies of rows and groups of rows: no split divides them, and intervals do not count copies as further rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.stats import binom, binomtest
from sklearn.model_selection import GroupKFold
from sklearn.model_selection import cross_validate as sklearns_cross_validate

from logiclens import EntropyClassifier, LogicLensError
from logiclens.errors import LogicLensWarning
from logiclens.estimator.cross_validation import cross_validate
from logiclens.report.measurement import Source, result_of
from tests.cli_runs import logiclens, refused

QUICK = {"set_aside": 0.25, "verbose": False}
NAMES = list("abcdef")


def problem(seed: int, *, signal: float = 0.0, n_rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of normal noise; `signal` says how much more often a row with a high first column is a yes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 6)).round(3), columns=NAMES)
    return frame, np.where(rng.random(n_rows) < 0.5 + signal * np.sign(frame["a"]), "yes", "no")


def copied(
    frame: pd.DataFrame, labels: np.ndarray, seed: int, times: int = 3
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Every row several times, in any order; and which row each is a copy of."""
    of = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(frame)), times))
    return frame.iloc[of].reset_index(drop=True), labels[of], of


def held_out_accuracy(model: EntropyClassifier) -> tuple[float, float, float]:
    """The accuracy of the model on the held-out rows, as the report shows it, with its interval."""
    line = result_of(model, model.explain(), Source("noise", 900, 6, "y")).metrics[0]
    return line.value / 100, line.low / 100, line.high / 100


def notes_of(model: EntropyClassifier) -> str:
    """The notes of the report."""
    return " ".join(result_of(model, model.explain(), Source("table", 0, 0, "y")).notes)


def check_noise(seeds: range, **settings: object) -> None:
    """Check that intervals of 95% cover what nobody can do better on noise: half of the rows."""
    covered = 0
    for seed in seeds:
        frame, labels, of = copied(*problem(seed), seed)
        model = EntropyClassifier(**settings).fit(frame, labels)
        held = of[model.set_aside_.places]
        rest = of[np.setdiff1d(np.arange(len(of)), model.set_aside_.places)]
        assert not set(held) & set(rest)
        assert len(held) == pytest.approx(225, abs=6)
        _, low, high = held_out_accuracy(model)
        covered += low <= 0.5 <= high
    # Of 20 at least 17: fewer are covered in one of fifty trials.
    assert covered >= binom.ppf(0.02, len(seeds), 0.95)


def test_copied_noise_measures_as_noise():
    check_noise(range(5), **QUICK)


@pytest.mark.slow
def test_intervals_of_copied_noise_cover():
    check_noise(range(20), set_aside=0.25, verbose=False)


def test_copied_rows_measure_as_fresh_rows_do():
    errors = []
    for seed in range(3):
        frame, labels, _ = copied(*problem(seed, signal=0.15), seed)
        model = EntropyClassifier(**QUICK).fit(frame, labels)
        accuracy, low, high = held_out_accuracy(model)
        fresh = model.score(*problem(100 + seed, signal=0.15, n_rows=4000))
        assert low <= fresh <= high
        errors.append(accuracy - fresh)
    # The mean of three samples of 75 independent rows has a standard error of 0.03.
    assert abs(np.mean(errors)) < 0.09


def test_copies_are_named_and_do_not_narrow_intervals():
    frame, labels, _ = copied(*problem(0, signal=0.3), 0)
    model = EntropyClassifier(**QUICK).fit(frame, labels)
    result = result_of(model, model.explain(), Source("copies", 900, 6, "y"))
    assert any(note.startswith("600 of 900 rows are copies of others") for note in result.notes)
    assert result.parts.train + result.parts.set_aside == 900
    # Counts are of rows, and their intervals of the rows that are no copies.
    decided = model.statistics()["yes"].decision.decided
    assert decided.total == result.parts.set_aside == len(model.set_aside_.places)
    expected = binomtest(int(decided.hits) // 3, int(decided.total) // 3).proportion_ci(method="wilson")
    assert (decided.low, decided.high) == pytest.approx((expected.low, expected.high))
    # Subgroups count alike, whether a column or its values are given.
    side = np.where(frame["b"] > 0, "high", "low")
    of_side = model.statistics(by=side).subgroups["high"][0].decision.decided
    assert of_side.total == (side[model.set_aside_.places] == "high").sum()
    expected = binomtest(int(of_side.hits) // 3, int(of_side.total) // 3).proportion_ci(method="wilson")
    assert (of_side.low, of_side.high) == pytest.approx((expected.low, expected.high))


def test_equal_rows_that_chance_explains_are_separate_observations():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((600, 3)) < 0.5, columns=["p", "q", "r"])
    labels = np.where(frame["p"] ^ (rng.random(600) < 0.2), "yes", "no")
    model = EntropyClassifier(**QUICK).fit(frame, labels)
    rest = np.setdiff1d(np.arange(600), model.set_aside_.places)
    keys = list(zip(*frame.to_numpy().T, labels, strict=True))
    assert {keys[row] for row in model.set_aside_.places} == {keys[row] for row in rest} == set(keys)
    assert model.statistics()["yes"].decision.decided.total == 150
    assert not any("copies" in note for note in model.explain().notes)


def test_a_class_of_few_distinct_rows_is_learned_and_measured():
    # Each class has one row of 24 concepts, as species with fixed attributes have.
    rows = np.repeat(np.eye(4), 6, axis=1)
    kind = np.repeat(np.arange(4), 30)
    model = EntropyClassifier(None, **QUICK).fit(rows[kind], kind)
    assert sorted(set(kind[model.set_aside_.places])) == [0, 1, 2, 3]
    assert model.score(rows[kind], kind) == 1


def test_copies_of_a_class_of_few_rows_are_not_divided():
    # Noise, of which the rows of one class were drawn many times: no rule can know its held-out rows.
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(204, 4)), columns=list("abcd"))
    rows = np.concatenate([np.arange(200), np.repeat(np.arange(200, 204), 40)])
    target = np.where(rows >= 200, "yes", "no")
    model = EntropyClassifier(**QUICK).fit(frame.iloc[rows].reset_index(drop=True), target)
    held_out = np.unique(rows[model.set_aside_.places])
    trained = np.setdiff1d(rows, held_out)
    assert not np.intersect1d(held_out, trained).size
    assert {"yes", "no"} == set(target[model.set_aside_.places])
    assert "rows are copies of others" in notes_of(model)


def test_groups_that_hold_copies_of_one_row_are_one_group():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=list("abcd"))
    target = np.where(rng.random(120) < 0.5, "yes", "no")
    rows, pairs = np.repeat(np.arange(120), 2), np.repeat(np.arange(30), 4)
    # Each group has two rows; the copies of a row are in two groups of one pair.
    groups = 2 * pairs[rows] + np.tile([0, 1], 120)
    copies = frame.iloc[rows].reset_index(drop=True)
    model = EntropyClassifier(**QUICK).fit(copies, target[rows], groups=groups)
    held_out = np.unique(rows[model.set_aside_.places])
    assert set(pairs[held_out]).isdisjoint(pairs[np.setdiff1d(np.arange(120), held_out)])
    assert "60 before those that hold copies of one row were joined" in notes_of(model)
    # Where copies hold everything together, the groups bind alone, and a note says so.
    model = EntropyClassifier(**QUICK).fit(copies, target[rows], groups=np.tile([0, 1, 2], 80))
    assert "240 rows are copies of rows in other groups" in notes_of(model)


def visits(seed: int = 0, n_patients: int = 60) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Rows of few values, of which each patient has several; the answer of a patient is always the same."""
    rng = np.random.default_rng(seed)
    patient = rng.permutation(np.repeat(np.arange(n_patients), rng.integers(1, 6, n_patients)))
    frame = pd.DataFrame(rng.integers(0, 3, (len(patient), 4)), columns=list("pqrs"))
    frame["day"] = rng.integers(0, 300, len(patient))
    ill = rng.random(n_patients) < 0.4
    return frame, np.where(ill[patient] ^ (frame["p"] == 2), "ill", "well"), patient


def sides(model: EntropyClassifier, patient: np.ndarray) -> tuple[set[int], set[int]]:
    """The patients of the held-out rows and of the others."""
    rest = np.setdiff1d(np.arange(len(patient)), model.set_aside_.places)
    return set(patient[model.set_aside_.places].tolist()), set(patient[rest].tolist())


@pytest.mark.parametrize("method", ["search", "paper"])
def test_a_group_of_any_name_is_on_one_side(method):
    frame, labels, patient = visits()
    settings = QUICK | {"method": method, "epochs": 40}
    model = EntropyClassifier(**settings).fit(frame, labels, groups=pd.Series(patient, name="patient"))
    held, rest = sides(model, patient)
    assert not held & rest
    assert len(held) == pytest.approx(15, abs=1)
    assert any("the rows are of 60 groups ('patient')" in note for note in model.explain().notes)
    # Other names, in another order of rows.
    order, names = np.random.default_rng(1).permutation(len(frame)), np.random.default_rng(2).permutation(1000)
    other = EntropyClassifier(**settings).fit(
        frame.iloc[order], labels[order], groups=[f"P{names[one]}" for one in patient[order]]
    )
    assert set(order[other.set_aside_.places]) == set(model.set_aside_.places)
    assert other.rules_ == model.rules_


def test_inner_splits_keep_groups_too():
    # Only the patient tells the answer, by a code that no two patients share. On patients that a bag leaves out no
    # formula is right, so that a longer one gains nothing.
    rng = np.random.default_rng(0)
    codes, ill = rng.integers(0, 2, (64, 12)), rng.random(64) < 0.5
    patient = np.repeat(np.arange(64), 10)
    frame = pd.DataFrame(codes[patient], columns=[f"c{place}" for place in range(12)])
    frame["noise"] = rng.integers(0, 50, len(frame))
    lengths = [
        sum(
            len(cube)
            for rule in EntropyClassifier(verbose=False).fit(frame, ill[patient], groups=groups).rules_.rules
            for cube in rule.cubes
        )
        for groups in (patient, np.arange(len(frame)))
    ]
    assert 3 * lengths[0] < 2 * lengths[1]


@pytest.mark.filterwarnings("ignore:'lost' is rare")
def test_a_class_of_one_group_is_told():
    frame, labels, patient = visits()
    labels = np.where(patient == 7, "lost", labels)
    with pytest.warns(LogicLensWarning, match="all rows of class 'lost' that train are of one group"):
        EntropyClassifier(**QUICK).fit(frame, labels, groups=patient)
    # A class is never held out altogether: its group trains.
    with pytest.warns(LogicLensWarning, match="are of one group"):
        model = EntropyClassifier(**QUICK | {"set_aside": 0.6}).fit(frame, labels, groups=patient)
    assert 7 in sides(model, patient)[1]


def test_groups_bind_when_the_latest_rows_are_held_out():
    frame, labels, patient = visits()
    model = EntropyClassifier(**QUICK, split_by_time="day").fit(frame, labels, groups=patient)
    held, rest = sides(model, patient)
    assert not held & rest
    last = frame.groupby(patient)["day"].max()
    assert last[sorted(rest)].max() < last[sorted(held)].min()


def test_groups_take_part_in_the_routing_of_scikit_learn():
    frame, labels, patient = visits()
    seen: list[set[int]] = []

    class Watched(EntropyClassifier):
        def fit(self, X, y=None, sample_weight=None, *, groups=None, **more):
            seen.append(set(np.asarray(groups).tolist()))
            return super().fit(X, y, sample_weight, groups=groups, **more)

    with sklearn.config_context(enable_metadata_routing=True):
        model = Watched(**QUICK).set_fit_request(groups=True)
        found = sklearns_cross_validate(
            model, frame, labels, cv=GroupKFold(3), params={"groups": patient}, return_indices=True
        )
    expected = [set(patient[train].tolist()) for train in found["indices"]["train"]]
    assert seen == expected
    assert np.isfinite(found["test_score"]).all()


def test_folds_have_whole_groups_and_whole_copies():
    frame, labels, patient = visits()
    tested = [
        set(patient[fold.test.index])
        for fold in cross_validate(frame, labels, estimator=EntropyClassifier(verbose=False), n_folds=3, groups=patient)
    ]
    assert sum(map(len, tested)) == len(set.union(*tested)) == 60
    frame, labels, of = copied(*problem(0, n_rows=60), 0)
    tested = [
        set(of[fold.test.index])
        for fold in cross_validate(frame, labels, estimator=EntropyClassifier(verbose=False), n_folds=3)
    ]
    assert sum(map(len, tested)) == len(set.union(*tested)) == 60


def test_the_command_line_keeps_groups_together(tmp_path):
    frame, labels, patient = visits()
    table = frame.assign(state=labels, patient=[f"P{one}" for one in patient])
    table.to_csv(tmp_path / "visits.csv", index=False)
    asked = ["explain", "visits.csv", "--target", "state", "--group", "patient"]
    run = logiclens(*asked, "--json", "result.json", "--save", "model", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "the rows are of 60 groups ('patient')" in " ".join(run.stdout.split())
    result = json.loads((tmp_path / "result.json").read_text())
    held = np.array([row["row"] for row in result["rows"]]) - 1
    assert not set(patient[held]) & set(np.delete(patient, held))
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert logiclens("predict", "model", "new.csv", "-o", "answers.csv", cwd=tmp_path).returncode == 0
    assert "'patient' groups the rows: it cannot weigh them" in refused(*asked, "--weight", "patient", cwd=tmp_path)
    table.assign(patient=["", *table["patient"][1:]]).to_csv(tmp_path / "visits.csv", index=False)
    assert "'patient' is empty in 1 row: --group needs a group in every row." in refused(*asked, cwd=tmp_path)


@pytest.mark.parametrize(
    ("groups", "settings", "message"),
    [
        ([None] + [1] * 9, {}, "the group of row 0 is missing: give every row a group"),
        ([float("nan")] * 10, {}, "the group of row 0 is missing"),
        (["a"] * 10, {}, "the rows are of 1 group: at least 2 are needed"),
        (["a", "b"] * 5, {"set_aside": 0.2}, "the rows are of 2 groups: at least 3 are needed"),
        ([1, 2], {}, "one group is needed for each of the 10 rows, got shape"),
        ("v", {}, "groups must have one entry for each row, got 'v': pass the column itself"),
        (list(range(10)), {"cuts_on": "all"}, 'cuts_on="all" counts rows whatever their group'),
    ],
)
def test_groups_that_cannot_be_kept_get_a_sentence(groups, settings, message):
    frame = pd.DataFrame({"v": range(0, 100, 10), "w": [1, 2] * 5})
    with pytest.raises(LogicLensError, match=message):
        EntropyClassifier(**settings).fit(frame, ["yes", "no"] * 5, groups=groups)
