"""Trees, one-concept rules, exhaustive search and black boxes, compared with scikit-learn and brute force."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier
from torch.nn import functional as F

from lab.peers.black_box import EBM, Forest, Logistic, PlainNetwork, plain_network
from lab.peers.exhaustive import BestShortDNF, Choices, Short, TripleCounts, forms
from lab.peers.learner import Learned, Learner, decide
from lab.peers.simple_rules import SMALL_TREES, OneR, Stump, Tree, summable_weight
from logiclens.concepts import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain.candidates import best_literal
from logiclens.formula import DNF, Cube, Literal
from logiclens.metrics.scores import macro_f1
from tests.examples import examples
from tests.strategies import dnfs

LEARNERS: tuple[Learner, ...] = (
    Tree(), Tree(max_depth=None, class_weight="balanced"), *SMALL_TREES, OneR(), Stump(), BestShortDNF(), Forest(10),
    Logistic(), PlainNetwork(epochs=5), PlainNetwork((4, 3), epochs=2, batch_size=7), EBM(2, max_rounds=50),
)  # fmt: skip
RULES = tuple(learner for learner in LEARNERS if not isinstance(learner, Forest | Logistic | PlainNetwork | EBM))


def grid(names: Sequence[str]) -> ConceptTable:
    """Every Boolean row there is."""
    return ConceptTable(np.array(list(product((0, 1), repeat=len(names)))), names)


def fires(learned: Learned, table: ConceptTable) -> np.ndarray:
    assert learned.formulas is not None
    return np.stack([formula.evaluate(table.boolean(), table.names) for formula in learned.formulas], axis=1)


def random_table(seed: int, n_rows: int, n_concepts: int, n_classes: int, *, soft: bool = False) -> ConceptTable:
    rng = np.random.default_rng(seed)
    values = rng.random((n_rows, n_concepts))
    labels = (values[:, 0] > 0.5) + 2 * (values[:, 1] > 0.4) + (rng.random(n_rows) < 0.2)
    values = values if soft else (values > 0.5).astype(float)
    return ConceptTable(values, labels=labels % n_classes, class_names=[f"class {i}" for i in range(n_classes)])


@st.composite
def parts(
    draw: st.DrawFn, *, n_concepts: int = 4, n_classes: int = 3, whole: bool = True
) -> tuple[ConceptTable, ConceptTable]:
    """Training and validation rows that contradict each other and tie often; weights whole or not; classes may lack."""
    made = []
    for _ in range(2):
        n_rows = draw(st.integers(1, 14))
        rows = st.lists(st.lists(st.integers(0, 1), min_size=n_concepts, max_size=n_concepts), min_size=n_rows)
        weights = st.integers(1, 3) if whole else st.sampled_from([0.1, 0.3, 0.7, 1.1])
        made.append(
            ConceptTable(
                draw(rows)[:n_rows],
                tuple("abcdefgh"[:n_concepts]),
                draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows)),
                [f"class {i}" for i in range(n_classes)],
                weight=draw(st.lists(weights, min_size=n_rows, max_size=n_rows)),
            )
        )
    return made[0], made[1]


def repeated(table: ConceptTable) -> ConceptTable:
    """Every row as many times as it weighs, with the weight 1."""
    rows = np.repeat(np.arange(len(table)), table.weight.astype(int))
    return ConceptTable(table.values[rows], table.names, table.labels[rows], table.class_names)


# What every method keeps to


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_learner_repeats_itself_and_moves_no_global_randomness(learner):
    train, validation = random_table(0, 60, 6, 4, soft=True), random_table(1, 20, 6, 4, soft=True)
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    first, second = (learner(train, validation, seed=7) for _ in range(2))
    assert (torch.get_rng_state() == before[0]).all()
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert random.getstate() == before[2]
    test = random_table(2, 500, 6, 4, soft=True)
    answers = first.predict(test)
    assert answers.dtype == np.intp
    assert answers.shape == (500,)
    assert set(answers) <= set(range(4))
    assert (answers == second.predict(test)).all()
    assert first.formulas == second.formulas
    # Concepts are known by name, not by place.
    assert (answers == first.predict(test.with_columns(test.names[::-1]))).all()
    assert (first.formulas is not None) == (learner in RULES)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_a_class_without_rows_is_never_predicted(learner):
    tables = [random_table(seed, 40, 5, 3) for seed in (0, 1)]
    train, validation = (
        ConceptTable(t.values, t.names, np.where(t.labels == 1, 3, t.labels), ["a", "gone", "c", "d"]) for t in tables
    )
    learned = learner(train, validation, seed=0)
    assert 1 not in learned.predict(grid(train.names))
    if learned.formulas is not None:
        assert len(learned.formulas) == 4
        assert learned.formulas[1] == DNF.false
        assert any("'gone'" in note and "False" in note for note in learned.notes)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_several_labels_a_row_are_refused(learner):
    table = ConceptTable([[0, 1], [1, 0]], labels=[[0, 1], [1, 1]])
    with pytest.raises(LogicLensError, match="one class number a row, got several labels a row"):
        learner(table, table, seed=0)


@pytest.mark.parametrize("learner", [Logistic(), PlainNetwork(epochs=1), EBM()], ids=repr)
def test_one_class_alone_is_refused_where_it_cannot_be_learned(learner):
    table = ConceptTable([[0, 1], [1, 0]], labels=[1, 1], class_names=["no", "yes"])
    with pytest.raises(LogicLensError, match="all training rows have one class"):
        learner(table, table, seed=0)


# decide


def decided_slowly(formulas: Sequence[DNF], train: ConceptTable, row: np.ndarray) -> int:
    """The rule of `decide` as its docstring has it, a row at a time."""

    def holds(formula: DNF, bits: np.ndarray) -> bool:
        return any(all(bits[train.names.index(x.concept)] == x.positive for x in cube) for cube in formula.cubes)

    rows = list(zip(train.boolean(), train.labels.tolist(), train.weight.tolist(), strict=True))
    firing = []
    for target, formula in enumerate(formulas):
        if holds(formula, row):
            fired = sum(w for bits, _, w in rows if holds(formula, bits))
            right = sum(w for bits, label, w in rows if holds(formula, bits) and label == target)
            firing.append((-(right / fired if fired else 0.0), -right, target))
    if firing:
        return min(firing)[2]
    left = [(label, w) for bits, label, w in rows if not any(holds(formula, bits) for formula in formulas)]
    left = left or [(label, w) for _, label, w in rows]
    return max(range(len(formulas)), key=lambda target: (sum(w for label, w in left if label == target), -target))


@examples(50)
@given(parts(n_concepts=2), st.lists(dnfs(tuple("ab"), max_cubes=2), min_size=3, max_size=3))
def test_decide_is_the_rule_a_row_at_a_time(tables, formulas):
    train, _ = tables
    everything = grid(train.names)
    expected = [decided_slowly(formulas, train, row) for row in everything.boolean()]
    assert decide(formulas, train)(everything).tolist() == expected


def test_decide_takes_the_most_precise_not_the_largest():
    a, b = Literal("a") | DNF.false, Literal("b") | DNF.false
    # 'a' is right on 3 of 4 rows, 'b' on 1 of 1.
    rows, labels = [[1, 0], [1, 0], [1, 0], [1, 0], [0, 1]], [0, 0, 0, 1, 1]
    rule = decide([a, b], ConceptTable(rows, ["a", "b"], labels))
    assert rule(ConceptTable([[1, 1], [1, 0]], ["a", "b"])).tolist() == [1, 0]
    # Weighed, 'a' is right on 30 of 31, and 'b', still right on 5 of 6 rows, on 5 of 14.
    weight = [10, 10, 10, 1, 1, 1, 1, 1, 1, 9]
    heavy = ConceptTable([*rows, *[[0, 1]] * 5], ["a", "b"], [*labels, 1, 1, 1, 1, 0], weight=weight)
    assert decide([a, b], heavy)(ConceptTable([[1, 1]], ["a", "b"])).tolist() == [0]
    # As precise as each other: the one that is right more often; and then the first class.
    tied = ConceptTable([[1, 0], [0, 1], [0, 1]], ["a", "b"], [0, 1, 1])
    assert decide([a, b], tied).order == (1, 0)
    assert decide([a, b], tied.take([0, 1])).order == (0, 1)


def test_decide_default_is_the_majority_where_none_fires():
    a = Literal("a") | DNF.false
    table = ConceptTable([[1], [1], [1], [0], [0]], ["a"], [0, 0, 0, 2, 1], weight=[1, 1, 1, 2, 1])
    assert decide([a, DNF.false, DNF.false], table).default == 2
    # Where a formula fires on every training row, the majority of all.
    assert decide([DNF.false, DNF.true, DNF.false], table).default == 0


def test_decide_wants_a_formula_for_each_class():
    with pytest.raises(LogicLensError, match="1 formulas were given for 2 classes"):
        decide([DNF.true], ConceptTable([[1], [0]], ["a"], [0, 1]))
    with pytest.raises(LogicLensError, match="got no labels"):
        decide([DNF.true], ConceptTable([[1], [0]], ["a"]))


# Trees


trees = st.builds(
    Tree,
    max_depth=st.none() | st.integers(1, 4),
    max_leaf_nodes=st.none() | st.integers(2, 5),
    class_weight=st.none() | st.just("balanced"),
)


@examples(50)
@given(parts(n_concepts=5), trees, st.integers(0, 3))
def test_tree_formulas_equal_the_trees_predictions_on_all_rows(tables, tree, seed):
    train, validation = tables
    learned = tree(train, validation, seed=seed)
    everything = grid(train.names)
    held = fires(learned, everything)
    # Exactly one formula fires on a row, and it is that of the predicted class.
    assert (held.sum(axis=1) == 1).all()
    assert (held.argmax(axis=1) == learned.predict(everything)).all()


@examples(50)
@given(parts(n_concepts=5), trees, st.integers(0, 3))
def test_the_tree_is_scikit_learns_with_one_cube_per_leaf(tables, tree, seed):
    plain = [repeated(table) for table in tables]
    learned = tree(*plain, seed=seed)
    bits = np.concatenate([table.boolean() for table in plain])
    labels = np.concatenate([table.labels for table in plain])
    factor = len(labels) / (3 * np.bincount(labels)[labels]) if tree.class_weight else np.ones(len(labels))
    judge = DecisionTreeClassifier(max_depth=tree.max_depth, max_leaf_nodes=tree.max_leaf_nodes, random_state=seed).fit(
        bits, labels, sample_weight=summable_weight(np.ones(len(labels)), factor)
    )
    everything = grid(plain[0].names)
    assert (learned.predict(everything) == judge.predict(everything.boolean())).all()
    assert learned.formulas is not None
    assert sum(len(formula) for formula in learned.formulas) == judge.get_n_leaves()
    # The literals of a leaf are the nodes above it, as scikit-learn counts them on rows that reach it.
    paths, leaves = judge.decision_path(everything.boolean()).toarray(), judge.apply(everything.boolean())
    _, one_row_each = np.unique(leaves, return_index=True)
    assert sum(f.n_literals for f in learned.formulas) == (paths[one_row_each].sum(axis=1) - 1).sum()


@examples(50)
@given(parts(n_concepts=4), trees)
def test_tree_weight_is_a_number_of_rows(tables, tree):
    weighed, counted = tree(*tables, seed=0), tree(*(repeated(table) for table in tables), seed=0)
    assert weighed.formulas == counted.formulas


@examples(50)
@given(parts(n_concepts=4, whole=False), st.none() | st.just("balanced"))
def test_a_full_tree_predicts_the_heaviest_class_of_each_row(tables, class_weight):
    rows = tables[0].append(tables[1])
    learned = Tree(max_depth=None, class_weight=class_weight)(*tables, seed=0)
    counted = rows.counted()
    of_row = counted.counts / (np.maximum(counted.counts.sum(axis=0), 1e-9) if class_weight else 1)
    said = learned.predict(ConceptTable(counted.bits(), rows.names))
    assert of_row[np.arange(len(of_row)), said] == pytest.approx(of_row.max(axis=1))
    # In a leaf's parent two classes meet: without one of the last splits, some distinct rows would be mixed up.
    for formula in learned.formulas or ():
        for cube in formula.cubes:
            last = DNF([cube.without(cube.literals[-1])] if cube.literals else [Cube()])
            inside = last.evaluate(counted.bits(), rows.names)
            assert not cube.literals or (counted.counts[inside].sum(axis=0) > 0).sum() > 1


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30).filter(any),
    st.lists(st.floats(0.01, 100), min_size=30, max_size=30),
    st.randoms(use_true_random=False),
)
def test_summable_weights_sum_exactly_and_are_the_products(weights, factors, shuffled):
    weight, factor = np.array(weights, dtype=float), np.array(factors[: len(weights)])
    found = summable_weight(weight, factor)
    assert found == pytest.approx(weight * factor, rel=1e-9)
    listed = found.tolist()
    shuffled.shuffle(listed)
    assert sum(listed) - sum(listed[:-1]) == listed[-1]
    assert sum(listed) == sum(found.tolist())
    # A row that weighs n is n rows.
    one_each = summable_weight(np.repeat(1.0, int(weight.sum())), np.repeat(factor, weight.astype(int)))
    if factor[weight > 0].max() == factor.max():
        assert sum(one_each.tolist()) == sum(found.tolist())


def test_tree_cuts_soft_concepts_at_one_half():
    table = ConceptTable([[0.5], [0.9], [0.49], [0.0]], ["a"], [1, 1, 0, 0])
    learned = Tree()(table, table, seed=0)
    assert learned.formulas == (~Literal("a"), Literal("a") | DNF.false)
    assert learned.predict(ConceptTable([[0.5], [0.45]], ["a"])).tolist() == [1, 0]


def test_tree_of_one_class_is_true():
    table = ConceptTable([[0], [1]], ["a"], [1, 1], ["no", "yes"])
    learned = Tree()(table, table, seed=0)
    assert learned.formulas == (DNF.false, DNF.true)


def test_tree_says_how_many_classes_have_no_leaf():
    table = ConceptTable([[0], [0], [1], [1], [1]], ["a"], [0, 0, 1, 1, 2])
    assert "no leaf predicts 1 of the 3 classes" in " ".join(Tree()(table, table, seed=0).notes)


def test_large_tree_of_200_classes_agrees_with_its_formulas():
    rng = np.random.default_rng(0)
    bits = rng.random((9000, 108)) < 0.3
    labels = (bits[:, :9] @ (1 << np.arange(9)) + rng.integers(0, 3, 9000)) % 200
    table = ConceptTable(bits, labels=labels)
    train, validation = table.take(np.arange(8000)), table.take(np.arange(8000, 9000))
    learned = Tree(max_depth=30)(train, validation, seed=0)
    unseen = ConceptTable(rng.random((300, 108)) < 0.3)
    assert (fires(learned, unseen) == np.eye(200, dtype=bool)[learned.predict(unseen)]).all()


@pytest.mark.parametrize("settings", [{"max_depth": 0}, {"max_leaf_nodes": 1}, {"max_depth": 2.5}])
def test_tree_refuses_limits_that_leave_no_split(settings):
    with pytest.raises(LogicLensError, match=f"{next(iter(settings))} must be None or a whole number from"):
        Tree(**settings)


# One concept, one literal


@examples(50)
@given(parts(n_concepts=3, whole=False))
def test_one_r_beats_every_rule_on_one_concept(tables):
    rows = tables[0].append(tables[1])
    learned = OneR()(*tables, seed=0)
    best = -1.0
    for concept in range(rows.n_concepts):
        for when_false, when_true in product(range(3), repeat=2):
            said = np.where(rows.boolean()[:, concept], when_true, when_false)
            best = max(best, float(rows.weight[said == rows.labels].sum()))
    assert rows.weight[learned.predict(rows) == rows.labels].sum() == pytest.approx(best)
    everything = grid(rows.names)
    assert (fires(learned, everything) == np.eye(3, dtype=bool)[learned.predict(everything)]).all()
    assert learned.formulas is not None
    assert len({concept for formula in learned.formulas for concept in formula.concepts}) <= 1


def test_one_r_breaks_ties_by_order_and_gaps_by_majority():
    table = ConceptTable([[1, 0, 0], [1, 1, 1], [1, 1, 1]], ["a", "b", "c"], [0, 1, 1])
    assert OneR()(table, table, seed=0).formulas == (~Literal("b"), Literal("b") | DNF.false)
    for value in (0, 1):
        constant = ConceptTable([[value]] * 3, ["a"], [0, 1, 1])
        learned = OneR()(constant, constant, seed=0)
        assert learned.formulas == (DNF.false, DNF.true)
        assert learned.predict(ConceptTable([[0], [1]], ["a"])).tolist() == [1, 1]


@examples(30)
@given(parts(n_concepts=4, whole=False), st.integers(0, 2))
def test_best_literal_has_the_highest_macro_f1_of_scikit_learn(tables, target):
    table, _ = tables
    yes = table.labels == target
    scores = {
        literal: f1_score(
            yes,
            (literal | DNF.false).evaluate(table.boolean(), table.names),
            average="macro",
            sample_weight=table.weight,
        )
        for literal in (Literal(name, positive) for positive in (True, False) for name in table.names)
    }
    found = best_literal(table, target)
    assert scores[found] == pytest.approx(max(scores.values()))
    # The first of equals.
    assert found == next(x for x, score in scores.items() if score > max(scores.values()) - 1e-9)


def test_equal_but_for_the_order_of_summation_is_equal():
    rng = np.random.default_rng(0)
    bits = [[1, 0]] * 8 + [[0, 1]] * 8 + [[0, 0]]
    for _ in range(30):
        weight = rng.choice([0.1, 0.2, 0.3, 0.7], 8)
        # 'a' and 'b' weigh the same; summed in floating point, one of them seems to weigh more now and then.
        both = [*weight, *rng.permutation(weight), 4]
        assert best_literal(ConceptTable(bits, ["a", "b"], [1] * 16 + [0], weight=both), 1) == Literal("a")
        table = ConceptTable(bits, ["a", "b"], [1] * 8 + [2] * 8 + [0], weight=both)
        learned = OneR()(table, table, seed=0)
        assert {concept for formula in learned.formulas or () for concept in formula.concepts} == {"a"}
        assert (BestShortDNF(1)(table, table, seed=0).formulas or ())[0] == ~Literal("a")


def test_a_stump_has_one_literal_per_class_and_one_split():
    train, validation = random_table(3, 80, 6, 3), random_table(4, 40, 6, 3)
    rows = train.append(validation)
    learned = Stump()(train, validation, seed=5)
    assert learned.formulas == tuple(best_literal(rows, target) | DNF.false for target in range(3))
    judge = DecisionTreeClassifier(max_depth=1, random_state=5).fit(rows.boolean(), rows.labels)
    everything = grid(rows.names)
    assert (learned.predict(everything) == judge.predict(everything.boolean())).all()
    assert any("not by the formulas" in note for note in learned.notes)


def test_small_trees_have_two_to_eight_leaves():
    train, validation = random_table(3, 200, 6, 4), random_table(4, 40, 6, 4)
    leaves = [sum(len(f) for f in tree(train, validation, seed=0).formulas or ()) for tree in SMALL_TREES]
    assert leaves == [2, 3, 4, 5, 6, 7, 8]
    assert all(tree.class_weight == "balanced" for tree in SMALL_TREES)


# All formulas of at most three literals


@cache
def every_short_dnf(names: str, max_literals: int) -> set[DNF]:
    """All sets of cubes with so few literals together, concepts repeated or not."""
    literals = [Literal(name, positive) for name in names for positive in (True, False)]
    cubes = [
        Cube(chosen)
        for size in range(1, max_literals + 1)
        for chosen in combinations(literals, size)
        if len({literal.concept for literal in chosen}) == size
    ]
    sets = (DNF(chosen) for size in range(max_literals + 1) for chosen in combinations(cubes, size))
    return {DNF.true} | {formula for formula in sets if formula.n_literals <= max_literals}


def judged(formula: DNF, table: ConceptTable, target: int) -> float:
    fired = formula.evaluate(table.boolean(), table.names)
    return round(macro_f1(table.labels == target, fired, table.weight), 12)


@pytest.mark.parametrize("max_literals", [1, 2, 3])
@pytest.mark.parametrize("whole", [True, False])
def test_no_short_formula_is_better_than_the_one_found(max_literals, whole):
    @examples(8)
    @given(parts(n_concepts=4, n_classes=3, whole=whole))
    def check(tables):
        train, validation = tables
        learned = BestShortDNF(max_literals)(train, validation, seed=0)
        assert learned.formulas is not None
        for target, found in enumerate(learned.formulas):
            scores = {formula: judged(formula, train, target) for formula in every_short_dnf("abcd", max_literals)}
            assert found in scores
            tied = [formula for formula, score in scores.items() if score >= max(scores.values()) - 1e-11]
            assert found in tied
            shortest = [f for f in tied if f.n_literals == min(f.n_literals for f in tied)]
            assert found in shortest
            held = [judged(formula, validation, target) for formula in shortest]
            assert judged(found, validation, target) >= max(held) - 1e-11

    check()


def in_order(names: Sequence[str]) -> list[DNF]:
    """Formulas of three literals in the order that breaks ties."""
    listed = []
    for concepts in combinations(names, 3):
        for shape in ("abc", "ab c", "ac b", "bc a", "a b c"):
            for signs in product((True, False), repeat=3):
                literal = dict(zip("abc", map(Literal, concepts, signs), strict=True))
                listed.append(DNF(Cube(literal[place] for place in block) for block in shape.split()))
    return listed


@pytest.mark.parametrize("held", ["says nothing", "breaks ties"])
def test_validation_rows_break_ties_and_then_the_first_wins(held):
    # Only majorities and the like: no formula of two literals is among the best, and many of three are.
    rng, names, classes = np.random.default_rng(1), tuple("abcde"), ["no", "yes"]
    listed, seen = in_order(names), 0
    for _ in range(10):
        bits = rng.random((12, 5)) < 0.5
        train = ConceptTable(bits, names, bits[:, :3].sum(axis=1) >= 2, classes)
        validation = ConceptTable([[0] * 5, [1] * 5], names, [0, 0], classes)
        if held == "breaks ties":
            validation = ConceptTable(rng.random((9, 5)) < 0.5, names, rng.integers(0, 2, 9), classes)
        formulas = BestShortDNF()(train, validation, seed=0).formulas
        assert formulas is not None
        for target, found in enumerate(formulas):
            if found.n_literals < 3:
                continue
            ranked = [(judged(f, train, target), judged(f, validation, target)) for f in listed]
            assert found == listed[ranked.index(max(ranked))]
            seen += sum(score == max(ranked)[0] for score, _ in ranked) > 1
    assert seen > 5


def test_a_planted_formula_is_found_among_many_concepts():
    rng = np.random.default_rng(0)
    bits = rng.random((1400, 40)) < 0.4
    labels = ((bits[:, 5] & ~bits[:, 30]) | bits[:, 17]).astype(int)
    table = ConceptTable(bits, labels=labels)
    no, yes = BestShortDNF()(table, table, seed=0).formulas or ()
    assert yes == (Literal("x5") & ~Literal("x30")) | Literal("x17")
    # Its negation needs four literals, so that three cannot be perfect.
    assert 0.5 < judged(no, table, 0) < 1


def test_weight_of_the_exhaustive_search_is_a_number_of_rows():
    rng = np.random.default_rng(3)
    for _ in range(10):
        table = ConceptTable(
            rng.random((30, 6)) < 0.5,
            labels=rng.integers(0, 2, 30),
            weight=rng.integers(0, 4, 30),
            class_names=["n", "y"],
        )
        weighed, counted = (BestShortDNF()(t, t, seed=0) for t in (table, repeated(table)))
        assert weighed.formulas == counted.formulas


def test_exhaustive_search_chooses_on_training_rows_and_predicts_by_decide():
    rng, differ = np.random.default_rng(5), 0
    for _ in range(5):
        train, validation, other = (
            ConceptTable(rng.random((60, 5)) < 0.5, labels=rng.integers(0, 3, 60), class_names=list("abc"))
            for _ in range(3)
        )
        learned = BestShortDNF()(train, validation, seed=0)
        assert learned.formulas is not None
        # No ties here, so that validation rows have no say; on other training rows other formulas are best.
        assert learned.formulas == BestShortDNF()(train, other, seed=0).formulas
        assert learned.formulas != BestShortDNF()(other, validation, seed=0).formulas
        said, everything = learned.predict(grid(train.names)), grid(train.names)
        assert (said == decide(learned.formulas, train)(everything)).all()
        differ += (said != decide(learned.formulas, validation)(everything)).any()
    assert differ > 0


@examples(15)
@given(parts(n_concepts=4, whole=False))
def test_every_score_is_that_of_the_formula_on_the_rows(tables):
    table, _ = tables
    counts, everyone = TripleCounts.of(table), np.array(list(combinations(range(1, 4), 2))).T
    for choices in (Choices((), everyone[:0, :1]), Choices((0,), everyone[:0, :1]), Choices((0,), everyone)):
        cells = counts.cells(choices)
        for target in range(3):
            scores = counts.scores(cells, target)
            for choice, form in np.ndindex(*scores.shape):
                concepts = (*choices.first, *choices.others[:, choice].tolist())
                formula = Short(forms(choices.size)[form], concepts, 0, 0).formula(table.names)
                assert scores[choice, form] == pytest.approx(judged(formula, table, target), abs=1e-11)


def test_a_concept_goes_before_its_negation():
    table = ConceptTable([[1], [1], [0], [0]], ["a"], [0, 1, 0, 1])
    assert BestShortDNF()(table, table, seed=0).formulas == (Literal("a") | DNF.false,) * 2


@pytest.mark.parametrize("max_literals", [0, 4])
def test_exhaustive_search_refuses_other_lengths(max_literals):
    with pytest.raises(LogicLensError, match="max_literals must be 1, 2 or 3"):
        BestShortDNF(max_literals)


@pytest.mark.parametrize("n_concepts", [1, 2])
def test_exhaustive_search_on_fewer_concepts_than_literals(n_concepts):
    table = ConceptTable([[1, 0][:n_concepts], [0, 1][:n_concepts], [0, 0][:n_concepts]], labels=[1, 0, 0])
    assert BestShortDNF()(table, table, seed=0).formulas == (~Literal("x0"), Literal("x0") | DNF.false)


# Black boxes


def test_forest_and_logistic_regression_are_scikit_learns_on_all_rows():
    rng = np.random.default_rng(0)
    tables = [random_table(seed, 80, 6, 3, soft=True) for seed in (0, 1)]
    train, validation = (
        ConceptTable(t.values, t.names, t.labels, t.class_names, weight=rng.uniform(0.1, 3, len(t))) for t in tables
    )
    rows, test = train.append(validation), random_table(2, 1000, 6, 3, soft=True)
    judges = {
        Forest(): RandomForestClassifier(n_estimators=100, random_state=3),
        Logistic(): LogisticRegression(C=1.0, max_iter=5000),
    }
    for learner, judge in judges.items():
        judge.fit(rows.values, rows.labels, sample_weight=rows.weight)
        assert (learner(train, validation, seed=3).predict(test) == judge.predict(test.values)).all()


def test_ebm_is_interprets_on_numbers_of_all_rows():
    glassbox = pytest.importorskip("interpret.glassbox")
    tables = [random_table(seed, 80, 4, 3) for seed in (0, 1)]
    train, validation = (
        ConceptTable(t.values, t.names, t.labels, t.class_names, weight=np.arange(len(t)) % 3 + 1) for t in tables
    )
    rows, test = train.append(validation), random_table(2, 1000, 4, 3, soft=True)
    judge = glassbox.ExplainableBoostingClassifier(
        feature_types=["continuous"] * 4, outer_bags=2, max_rounds=5_000, n_jobs=1, random_state=3
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        judge.fit(pd.DataFrame(rows.values, columns=list(rows.names)), rows.labels, sample_weight=rows.weight)
    expected = judge.predict(pd.DataFrame(test.values, columns=list(test.names)))
    learned = EBM(2)(train, validation, seed=3)
    assert learned.formulas is None
    assert (learned.predict(test) == expected).all()
    assert len(set(expected)) == 3


def test_an_unconverged_logistic_regression_says_so_in_a_note():
    train, validation = random_table(0, 80, 6, 3, soft=True), random_table(1, 80, 6, 3, soft=True)
    hasty, settled = (Logistic(max_iter=n)(train, validation, seed=0) for n in (2, 10_000))
    assert "had not settled" in hasty.notes[0]
    assert settled.notes == ()


def test_the_plain_network_is_adamw_with_the_best_epoch():
    # Labels that nothing tells: validation accuracy rises and falls, so that the best epoch is not the last.
    rng = np.random.default_rng(0)
    train, validation = (ConceptTable(rng.random((n, 6)), labels=np.arange(n) % 4) for n in (120, 30))
    learned = PlainNetwork((8, 5), epochs=60)(train, validation, seed=11)
    judge = plain_network((6, 8, 5, 4), torch.Generator().manual_seed(11))
    assert [type(layer).__name__ for layer in judge] == ["Linear", "ReLU", "Linear", "ReLU", "Linear"]
    optimizer = torch.optim.AdamW(judge.parameters(), lr=1e-2, weight_decay=1e-2)
    rows, held = (torch.tensor(np.array(t.values), dtype=torch.float32) for t in (train, validation))
    labels, held_labels = (torch.tensor(np.array(t.labels)) for t in (train, validation))
    test = torch.rand(2000, 6, generator=torch.Generator().manual_seed(0))
    best, answers, accuracies = (-1.0, 0.0), None, []
    for _ in range(60):
        optimizer.zero_grad()
        F.cross_entropy(judge(rows), labels).backward()
        optimizer.step()
        with torch.no_grad():
            right = float((judge(held).argmax(1) == held_labels).float().mean())
            rank = (right, -float(F.cross_entropy(judge(held), held_labels)))
            accuracies.append(right)
            if rank > best:
                best, answers = rank, judge(test).argmax(1).numpy()
    assert accuracies[-1] < max(accuracies), "the last epoch would do as well: the test says nothing"
    assert answers is not None
    agree = np.mean(learned.predict(ConceptTable(test.numpy(), train.names)) == answers)
    assert agree > 0.995


def test_plain_network_notes_what_training_would_warn_of():
    table = ConceptTable([[0, 1], [1, 1]], ["a", "always"], [0, 1])
    learned = PlainNetwork(epochs=1)(table, table, seed=0)
    assert any("'always' is constant" in note for note in learned.notes)


def test_plain_network_learns_what_no_single_concept_tells():
    table = ConceptTable([[0, 0], [0, 1], [1, 0], [1, 1]], labels=[0, 1, 1, 0])
    learned = PlainNetwork(epochs=300)(table, table, seed=0)
    assert learned.predict(table).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    "learner", [Forest(3), PlainNetwork(epochs=2), PlainNetwork(epochs=2, batch_size=16)], ids=repr
)
def test_another_seed_is_another_black_box(learner):
    train, validation = random_table(0, 80, 6, 4, soft=True), random_table(1, 30, 6, 4, soft=True)
    test = random_table(2, 1000, 6, 4, soft=True)
    first, second = (learner(train, validation, seed=seed).predict(test) for seed in (0, 1))
    assert (first != second).any()
