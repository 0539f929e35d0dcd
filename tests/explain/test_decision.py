"""The order of classes and the rules made of formulas, compared with trying every order."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.explain import decision as module
from logiclens.explain.decision import best_order, rule_set
from logiclens.formula import Complement, PackedRows, parse
from logiclens.formula.groups import NO_GROUPS
from logiclens.metrics.rule_statistics import wilson_interval
from tests.examples import examples


def macro_f1(fires: np.ndarray, truth: np.ndarray, weight: np.ndarray, order: tuple[int, ...], otherwise: int) -> float:
    """Row by row: who decides, then F1 class by class."""
    n = fires.shape[1]
    said, right = [0.0] * n, [0.0] * n
    for fired, row, w in zip(fires, truth, weight, strict=True):
        klass = next((k for k in order if fired[k]), otherwise)
        said[klass] += w
        right[klass] += w * row[klass]
    total = (truth * weight[:, None]).sum(axis=0)
    return float(np.mean([2 * r / (s + t) if s + t else 0.0 for r, s, t in zip(right, said, total, strict=True)]))


@st.composite
def decided_rows(draw: st.DrawFn, most: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, rows = draw(st.integers(1, most)), draw(st.integers(1, 12))
    fires = np.array(draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=rows, max_size=rows)))
    labels = np.array(draw(st.lists(st.integers(0, n - 1), min_size=rows, max_size=rows)))
    weight = np.array(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 2.5]), min_size=rows, max_size=rows)))
    return fires, np.eye(n)[labels], weight


@given(decided_rows())
def test_no_other_order_is_better(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    fires, truth, weight = case
    n = fires.shape[1]
    order, otherwise = best_order(fires, truth, weight)
    best = max(macro_f1(*case, tried, other) for tried in permutations(range(n)) for other in range(n))
    assert sorted(order) == list(range(n))
    assert macro_f1(*case, order, otherwise) == pytest.approx(best)


@examples(60)
@given(decided_rows(most=6))
def test_no_single_move_betters_what_the_search_finds(case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    fires, truth, weight = case
    n = fires.shape[1]
    counted = module._Counted.of(fires, truth, weight)
    order, otherwise = module._searched(counted, module._Needed.of(fires, np.zeros(fires.shape, dtype=np.intp)))
    found = macro_f1(*case, order, otherwise)
    assert counted.score(order, otherwise) == pytest.approx(found)
    for klass in range(n):
        rest = [k for k in order if k != klass]
        scores = [macro_f1(*case, (*rest[:p], klass, *rest[p:]), otherwise) for p in range(n)]
        assert max(scores) <= found + 1e-9
        place, score = counted.best_place(rest, klass, otherwise)
        assert score == pytest.approx(max(scores))
        assert scores[place] == pytest.approx(max(scores))
        assert macro_f1(*case, order, klass) <= found + 1e-9
    for i in range(n):
        for j in range(i):
            tried = list(order)
            tried[i], tried[j] = tried[j], tried[i]
            if (fires[:, order[i]] & fires[:, order[j]]).any():
                assert macro_f1(*case, tuple(tried), otherwise) <= found + 1e-9


@pytest.mark.parametrize(
    ("n", "classes", "seconds"), [(3_000, 60, 5), pytest.param(12_000, 200, 30, marks=pytest.mark.slow)]
)
def test_many_classes_are_ordered_fast_and_alike_each_time(n: int, classes: int, seconds: float) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, n)
    fires = rng.random((n, classes)) < 0.02
    fires[np.arange(n), labels] |= rng.random(n) < 0.7
    truth = np.eye(classes)[labels]
    begun = time.process_time()
    order, otherwise = best_order(fires, truth, np.ones(n))
    assert time.process_time() - begun < seconds
    # Rows in another order are decided alike.
    turned = rng.permutation(n)
    assert best_order(fires[turned], truth[turned], np.ones(n)) == (order, otherwise)
    plain = macro_f1(fires, truth, np.ones(n), tuple(range(classes)), otherwise)
    assert macro_f1(fires, truth, np.ones(n), order, otherwise) > plain + 0.01


ROWS = np.array([[1, 1], [1, 0], [0, 1], [0, 0], [0, 0]], dtype=bool)
NAMES = ("a", "b")


def test_a_complements_confidence_is_that_of_the_remaining_rows() -> None:
    formula, truth = parse("a & b"), np.eye(2)[[1, 0, 0, 1, 0]]
    weight = np.array([1.0, 2.0, 1.0, 1.0, 3.0])
    rules = rule_set([Complement(formula), formula], ["no", "yes"], PackedRows.of(ROWS, NAMES), truth, weight)
    assert rules.rules[0].confidence == (wilson_interval(6.0, 7.0)[0],)
    assert rules.rules[1].confidence == (wilson_interval(1.0, 1.0)[0],)
    assert (rules.resolve, rules.order, rules.otherwise, rules.groups) == ("order", (1,), 0, NO_GROUPS)
    assert rules.predict(ROWS, NAMES).tolist() == ["yes", "no", "no", "no", "no"]


def test_rows_without_a_rule_decide_the_order() -> None:
    formulas, truth, weight = [parse("a"), parse("b")], np.eye(2)[[1, 0, 1, 0, 0]], np.ones(5)
    rows = PackedRows.of(ROWS, NAMES)
    rules = rule_set(formulas, ["x", "y"], rows, truth, weight)
    assert (rules.resolve, rules.order, rules.otherwise) == ("order", (1, 0), 0)
    given = rule_set(formulas, ["x", "y"], rows, truth, weight, order=(0, 1))
    assert (given.order, given.otherwise) == ((0, 1), 0)
    answers = np.eye(2)[[0, 0, 1, 1, 1]]
    taught = rule_set(formulas, ["x", "y"], rows, truth, weight, answers=answers)
    assert (taught.order, taught.otherwise) == best_order(taught.fires(rows), answers) != (rules.order, rules.otherwise)
    assert [rule.confidence for rule in taught.rules] == [rule.confidence for rule in rules.rules]
    trusting = rule_set(formulas, ["x", "y"], rows, truth, weight, resolve="confidence")
    assert (trusting.order, trusting.otherwise) == ((), 0)
    several = rule_set(formulas, ["x", "y"], rows, truth, weight, multilabel=True)
    assert (several.order, several.otherwise) == ((), None)


def rules_needed(holds: list[list[np.ndarray]], order: tuple[int, ...], weight: np.ndarray) -> int:
    """The number of rules that decide on a row, line by line."""
    left, needed = weight > 0, 0
    for klass in order:
        for rows in holds[klass]:
            needed += bool((rows & left).any())
            left = left & ~rows
    return needed


@examples(60)
@given(st.data())
def test_equally_good_orders_need_as_few_rules_as_possible(data: st.DataObject) -> None:
    n, n_rows = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 12))
    bits = np.array(
        data.draw(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=n_rows, max_size=n_rows))
    )
    cubes = st.sampled_from(["a", "b", "c", "a & b", "b & c", "~a", "~b & c"])
    texts = data.draw(st.lists(st.lists(cubes, min_size=1, max_size=2, unique=True), min_size=n, max_size=n))
    truth = np.eye(n)[data.draw(st.lists(st.integers(0, n - 1), min_size=n_rows, max_size=n_rows))]
    packed, weight = PackedRows.of(bits, list("abc")), np.ones(n_rows)
    formulas = [parse(" | ".join(f"({cube})" for cube in own)) for own in texts]
    rules = rule_set(formulas, [str(k) for k in range(n)], packed, truth, weight)
    holds = [[parse(str(cube)).evaluate(packed) for cube in formula.cubes] for formula in formulas]
    fires = np.stack([formula.evaluate(packed) for formula in formulas], axis=1)

    def score(order: tuple[int, ...]) -> float:
        return max(macro_f1(fires, truth, weight, order, other) for other in range(n))

    orders = {order: score(order) for order in permutations(range(n))}
    best = [order for order, own in orders.items() if own >= max(orders.values()) - 1e-9]
    assert rules.order in best
    assert rules_needed(holds, rules.order, weight) == min(rules_needed(holds, order, weight) for order in best)


@pytest.mark.parametrize("n", [3, 6])
def test_a_rule_that_is_right_nowhere_decides_nowhere(n: int) -> None:
    # "a" and "b" are right on no row, and "b" fires where "a" does: with "b" first, "a" decides on no row.
    bits = np.zeros((n + 22, n), dtype=bool)
    bits[0, [0, 1]], bits[1, 1] = True, True
    bits[np.arange(2, n), np.arange(2, n)] = True
    truth = np.eye(n)[[n - 1, n - 1, *range(2, n), 0, 1] + 20 * [n - 1]]
    packed, weight = PackedRows.of(bits, list("abcdef"[:n])), np.ones(n + 22)
    formulas = [parse(text) for text in "abcdef"[:n]]
    rules = rule_set(formulas, list(map(str, range(n))), packed, truth, weight)
    holds = [[formula.evaluate(packed)] for formula in formulas]
    assert rules.order.index(1) < rules.order.index(0)
    assert rules_needed(holds, rules.order, weight) == n - 1
    fires = np.stack([formula.evaluate(packed) for formula in formulas], axis=1)
    first = max(macro_f1(fires, truth, weight, tuple(range(n)), other) for other in range(n))
    assert macro_f1(fires, truth, weight, rules.order, rules.otherwise) >= first - 1e-9
