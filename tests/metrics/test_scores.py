"""The six metrics, checked with scikit-learn, scipy and numbers worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import sem
from sklearn.metrics import accuracy_score, f1_score

from logiclens.errors import LogicLensError
from logiclens.formula import DNF, Complement, Cube, Literal
from logiclens.metrics import (
    accuracy,
    class_consistency,
    complexity,
    consistency,
    explanation_accuracy,
    fidelity,
    macro_f1,
    standard_error,
)
from logiclens.metrics.scores import macro_f1_of_counts
from tests.strategies import dnfs

A, B, C, D = (DNF([Cube([Literal(name)])]) for name in "abcd")
WEIGHTS = st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0])


@st.composite
def two_answers(draw, dtype=bool, max_value=1):
    n = draw(st.integers(1, 12))
    values = st.integers(0, max_value)
    truth, prediction = (np.array(draw(st.lists(values, min_size=n, max_size=n)), dtype=dtype) for _ in range(2))
    return truth, prediction, np.array(draw(st.lists(WEIGHTS, min_size=n, max_size=n)))


@st.composite
def two_matrices(draw):
    shape = draw(st.tuples(st.integers(1, 8), st.integers(1, 4)))
    first, second = draw(hnp.arrays(bool, shape)), draw(hnp.arrays(bool, shape))
    return first, second, np.array(draw(st.lists(WEIGHTS, min_size=shape[0], max_size=shape[0])))


def judged_f1(truth, prediction, weight=None):
    return f1_score(truth, prediction, average="macro", sample_weight=weight)


# Accuracy and F1


@given(two_answers(dtype=int, max_value=3))
def test_accuracy_is_scikit_learns(drawn):
    truth, prediction, weight = drawn
    assert accuracy(truth, prediction) == pytest.approx(accuracy_score(truth, prediction))
    assert accuracy(truth, prediction, weight) == pytest.approx(accuracy_score(truth, prediction, sample_weight=weight))


@given(two_matrices())
def test_accuracy_of_several_labels_wants_all_of_them(drawn):
    truth, prediction, weight = drawn
    expected = np.average([(t == p).all() for t, p in zip(truth, prediction, strict=True)], weights=weight)
    assert accuracy(truth, prediction, weight) == pytest.approx(expected)


@given(two_answers())
def test_macro_f1_is_scikit_learns(drawn):
    truth, prediction, weight = drawn
    assert macro_f1(truth, prediction) == pytest.approx(judged_f1(truth, prediction))
    assert macro_f1(truth, prediction, weight) == pytest.approx(judged_f1(truth, prediction, weight))


@given(two_answers())
def test_a_weight_is_a_number_of_rows(drawn):
    truth, prediction, weight = drawn
    times = (4 * weight).astype(int)
    repeated = np.repeat(truth, times), np.repeat(prediction, times)
    assert macro_f1(truth, prediction, weight) == pytest.approx(macro_f1(*repeated))
    assert accuracy(truth, prediction, weight) == pytest.approx(accuracy(*repeated))


def test_an_answer_nobody_gives_is_left_out():
    assert macro_f1([False, False], [False, False]) == 1.0
    assert macro_f1([True, True], [True, True]) == 1.0
    assert macro_f1([True, True], [False, False]) == 0.0
    # Said yes once where it is never true: F1 of yes is 0, F1 of no is 2/3.
    assert macro_f1([False, False], [False, True]) == pytest.approx(1 / 3)


def test_macro_f1_from_counts_takes_arrays():
    rng = np.random.default_rng(0)
    truth, predictions = rng.random(30) < 0.4, rng.random((5, 30)) < 0.4
    cells = [
        [(truth & p).sum() for p in predictions],
        [(truth & ~p).sum() for p in predictions],
        [(~truth & p).sum() for p in predictions],
        [(~truth & ~p).sum() for p in predictions],
    ]
    assert macro_f1_of_counts(*cells).tolist() == pytest.approx([judged_f1(truth, p) for p in predictions])


# The paper's metrics


@given(two_matrices())
def test_explanation_accuracy_is_the_mean_macro_f1(drawn):
    fires, labels, weight = drawn
    for w in (None, weight):
        expected = np.mean([judged_f1(label, fire, w) for label, fire in zip(labels.T, fires.T, strict=True)])
        assert explanation_accuracy(fires, labels, w) == pytest.approx(expected)


@given(two_matrices())
def test_fidelity_and_its_companions(drawn):
    fires, network, weight = drawn
    formulas = [DNF.true, A, DNF.false, B][: fires.shape[1]]
    for w in (None, weight):
        found = fidelity(formulas, fires, network, w)
        classes = list(zip(network.T, fires.T, strict=True))
        assert found.accuracy == pytest.approx(np.mean([accuracy_score(n, f, sample_weight=w) for n, f in classes]))
        assert found.macro_f1 == pytest.approx(np.mean([judged_f1(n, f, w) for n, f in classes]))
        never = np.zeros(len(fires), dtype=bool)
        assert found.constant_false == pytest.approx(
            np.mean([accuracy_score(n, never, sample_weight=w) for n, _ in classes])
        )
        assert found.constant_formulas == sum(f in (DNF.true, DNF.false) for f in formulas)


def test_constant_false_looks_good_with_many_classes():
    # 20 classes, one row each: never firing agrees on 19 of 20 rows. That is why it is shown.
    found = fidelity([DNF.false] * 20, np.zeros((20, 20)), np.eye(20))
    assert found.accuracy == found.constant_false == pytest.approx(0.95)
    assert found.macro_f1 == pytest.approx((0 + 2 * 19 / 39) / 2)
    assert found.constant_formulas == 20


def test_formulas_may_come_from_a_generator():
    assert fidelity((f for f in [DNF.true, A]), np.ones((3, 2)), np.ones((3, 2))).constant_formulas == 1


@given(st.lists(dnfs(), min_size=1, max_size=4))
def test_complexity_counts_literals_over_cubes(formulas):
    expected = sum(len(cube.literals) for formula in formulas for cube in formula.cubes) / len(formulas)
    assert complexity(formulas) == pytest.approx(expected)


def test_constants_have_no_complexity():
    assert complexity([DNF.true, DNF.false]) == 0
    assert complexity([DNF.true, (A & B) | (A & C & D)]) == 2.5


# Consistency


@pytest.mark.parametrize(
    ("formulas", "expected"),
    [
        ([A, A, A], 1.0),
        ([A | B, A], 0.75),
        # a in 2 of 3, b and c in 1 of 3 each.
        ([A & B, ~A, C], (2 / 3 + 1 / 3 + 1 / 3) / 3),
        # A concept counts once for a formula, in whatever cube and polarity.
        ([(A & ~B) | (~A & B), A & B], 1.0),
        # A constant formula uses nothing, and still is one of the k.
        ([A, DNF.true, DNF.false, A], 0.5),
        ([A, B, C, D], 0.25),
        ([A], 1.0),
        ([DNF.true, DNF.false], None),
    ],
)
def test_class_consistency_by_hand(formulas, expected):
    assert class_consistency(formulas) == (expected if expected is None else pytest.approx(expected))


@given(st.lists(dnfs(max_cubes=2), min_size=1, max_size=5))
def test_class_consistency_is_a_mean_of_shares(formulas):
    used = [{literal.concept for cube in formula.cubes for literal in cube.literals} for formula in formulas]
    concepts = set().union(*used)
    shares = [Fraction(sum(concept in one for one in used), len(formulas)) for concept in concepts]
    # To the last bit: a figure such as 38.75 must not be rounded up in one process and down in the next.
    assert class_consistency(formulas) == (float(sum(shares) / len(shares)) if shares else None)


def test_concepts_cut_from_one_column_count_as_that_column():
    # Each run cut 'age' elsewhere: by name nothing recurs, by column age does always and sex in one of two runs.
    runs = [DNF([Cube([Literal("age >= 70"), Literal("sex")])]), DNF([Cube([Literal("age >= 72.5")])])]
    column_of = {"age >= 70": "age", "age >= 72.5": "age"}
    assert class_consistency(runs) == pytest.approx(0.5)
    assert class_consistency(runs, column_of) == pytest.approx(0.75)
    assert consistency([[run] for run in runs], column_of).value == pytest.approx(0.75)
    # Two cuts of one column in one formula are one use.
    both = DNF([Cube([Literal("age >= 70"), Literal("age >= 72.5", False)])])
    assert class_consistency([both, runs[1]], column_of) == 1.0


def test_consistency_is_the_mean_over_classes():
    # Runs are rows, classes are columns: class 0 gives 1, class 1 gives (1 + 1/2) / 2, class 2 uses nothing.
    found = consistency([[A, A | B, DNF.true], [A, B, DNF.false]])
    assert found.value == pytest.approx((1 + 0.75) / 2)
    assert found.left_out == 1


def test_consistency_of_constants_is_not_a_number():
    found = consistency([[DNF.true, DNF.false]])
    assert math.isnan(found.value)
    assert found.left_out == 2


@pytest.mark.parametrize("runs", [[], [[A], [A, B]]])
def test_runs_must_have_the_same_classes(runs):
    with pytest.raises(LogicLensError, match="one formula for each of the same classes"):
        consistency(runs)


# Standard error


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=10))
def test_standard_error_is_scipys(values):
    assert standard_error(values) == pytest.approx(sem(values), abs=1e-12)


def test_one_fold_has_no_spread():
    assert standard_error([0.9]) == 0.0


# Bad input


@pytest.mark.parametrize(
    ("fires", "labels"),
    [
        (np.ones((3, 2)), np.ones((3, 1))),
        (np.ones((3, 2)), np.ones((2, 2))),
        (np.ones(3), np.ones(3)),
        (np.ones((3, 2)), np.ones(3)),
    ],
)
def test_matrices_must_fit(fires, labels):
    with pytest.raises(LogicLensError, match=r"two matrices \[rows, classes\] of one shape, got \("):
        explanation_accuracy(fires, labels)
    with pytest.raises(LogicLensError, match=r"two matrices \[rows, classes\] of one shape, got \("):
        fidelity([A, B], fires, labels)


@pytest.mark.parametrize("score", [accuracy, macro_f1])
def test_without_rows_there_is_no_score(score):
    with pytest.raises(LogicLensError, match="no rows to score"):
        score([], [])


def test_without_rows_there_is_no_mean_over_classes():
    with pytest.raises(LogicLensError, match="no rows to score"):
        explanation_accuracy(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(LogicLensError, match="no rows to score"):
        fidelity([A, B], np.zeros((0, 2)), np.zeros((0, 2)))


@given(st.lists(dnfs() | dnfs().map(Complement), min_size=1, max_size=3))
def test_texts_are_scored_as_their_formulas(stated):
    texts = [str(formula) for formula in stated]
    written = [formula.of if isinstance(formula, Complement) else formula for formula in stated]
    assert complexity(texts) == complexity(stated) == pytest.approx(np.mean([sum(map(len, dnf)) for dnf in written]))
    answers = np.ones((1, len(stated)))
    assert fidelity(texts, answers, answers) == fidelity(stated, answers, answers)
    used = [{literal.concept for cube in dnf for literal in cube} for dnf in written]
    shares = [np.mean([concept in one for one in used]) for concept in set.union(*used)]
    # A text alone is the formula of the only class of its run.
    for runs in (texts, [[text] for text in texts], stated):
        assert consistency(runs).value == pytest.approx(np.mean(shares) if shares else math.nan, nan_ok=True)


def test_a_formula_alone_is_that_of_the_only_class():
    for alone in ("long_name & b", Literal("long_name") & B, [Cube([Literal("long_name"), Literal("b")])]):
        assert complexity(alone) == 2


def test_without_formulas_there_is_no_complexity():
    with pytest.raises(LogicLensError, match="no formulas to score"):
        complexity([])


def test_without_classes_there_is_no_mean():
    with pytest.raises(LogicLensError, match="class"):
        explanation_accuracy(np.zeros((3, 0)), np.zeros((3, 0)))


@pytest.mark.parametrize("score", [accuracy, macro_f1])
@pytest.mark.parametrize("prediction", [[1], [1, 0], [[1], [0], [1]]])
def test_answers_must_be_as_many_as_truths(score, prediction):
    # NumPy would stretch one answer over all rows, or a column into a square, and score that.
    with pytest.raises(LogicLensError, match=r"shape|rows"):
        score([1, 0, 1], prediction)


def test_every_class_has_one_formula():
    with pytest.raises(LogicLensError, match="formula"):
        fidelity([A], np.ones((3, 2)), np.ones((3, 2)))
