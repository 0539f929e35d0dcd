"""Compared methods: their formulas answer as they do, and searches find what brute force finds."""

from __future__ import annotations

import random
import sys
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from lab.peers import rrl
from lab.peers.black_box import EBM, Forest, Logistic, PlainNetwork
from lab.peers.column_generation import ColumnGeneration, rule_sets
from lab.peers.exhaustive import BestShortDNF
from lab.peers.learner import ClassRule, YesNo, decide, firing, one_against_rest
from lab.peers.psi import Psi
from lab.peers.psi import trained as psi_trained
from lab.peers.rrl import RRL
from lab.peers.rule_learners import BRL, DecisionList, Figs, GreedyRuleList, ListRule, Ripper, answer_formula, mined
from lab.peers.simple_rules import SMALL_TREES, OneR, Stump, Tree
from lab.peers.torch_explain import TorchExplain, interpreter, read_formula, run_peer
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, MissingPackage
from logiclens.formula.dnf import DNF, Cube, Literal

NAMES = tuple("abcdef")


def table(seed: int = 0, n_rows: int = 120, n: int = 5, n_classes: int = 2, noise: float = 0.15) -> ConceptTable:
    """Rows of a planted rule, some labels changed."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n_rows, n)) < 0.5
    labels = ((bits[:, 0] & ~bits[:, 1]) | (bits[:, 2] & bits[:, 3])).astype(int)
    if n_classes == 3:
        labels += labels & bits[:, 4]
    flipped = rng.random(n_rows) < noise
    labels[flipped] = rng.integers(0, n_classes, flipped.sum())
    return ConceptTable(bits, NAMES[:n], labels, [f"k{i}" for i in range(n_classes)])


def grid(n: int) -> ConceptTable:
    return ConceptTable(np.array(list(product([False, True], repeat=n))), NAMES[:n])


LEARNERS = [
    Tree(), *SMALL_TREES[:2], OneR(), Stump(), BestShortDNF(), Psi(epochs=40), RRL(epochs=8, penalties=(1e-4,)),
    BRL(iterations=400, chains=2), Ripper(), GreedyRuleList(), Figs(max_rules=4), ColumnGeneration(bounds=(5, 10)),
    Forest(5), Logistic(), PlainNetwork(epochs=5), EBM(n_bags=2, max_rounds=20),
]  # fmt: skip


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_learner_repeats_itself_and_moves_no_global_randomness(learner):
    train, validation = table(n_classes=3), table(1, 40, n_classes=3)
    states = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    first, second = (learner(train, validation, seed=5) for _ in range(2))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states  # noqa: NPY002
    assert first.formulas == second.formulas
    unseen = table(2, 50, n_classes=3)
    assert (first.predict(unseen) == second.predict(unseen)).all()
    # Columns are found by name.
    assert (first.predict(unseen.with_columns(NAMES[:5][::-1])) == first.predict(unseen)).all()


@pytest.mark.parametrize("learner", LEARNERS[:13], ids=lambda learner: type(learner).__name__)
def test_a_class_without_rows_gets_false(learner):
    rows = table()
    empty = ConceptTable(rows.values, rows.names, rows.labels, ("k0", "k1", "nobody"))
    learned = learner(empty.take(np.arange(80)), empty.take(np.arange(80, 120)), seed=0)
    assert learned.formulas[2] == DNF.false
    assert not (learned.predict(grid(5)) == 2).any()
    assert any("nobody" in note for note in learned.notes)


# Predicting by formulas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_decide_is_the_rule_row_by_row(seed):
    rng = np.random.default_rng(seed)
    rows = table(seed, 30, n_classes=3)
    formulas = []
    for _ in range(3):
        drawn = (rng.choice(NAMES[:5], 2, replace=False) for _ in range(2))
        formulas.append(DNF(Cube(Literal(concept, bool(rng.integers(2))) for concept in cube) for cube in drawn))
    fires, labels = firing(formulas, rows), np.asarray(rows.labels)
    right = [int((fires[:, k] & (labels == k)).sum()) for k in range(3)]
    precision = [right[k] / fires[:, k].sum() if fires[:, k].any() else 0 for k in range(3)]
    left = labels[~fires.any(axis=1)]
    default = int(np.bincount(left if len(left) else labels, minlength=3).argmax())
    expected = []
    for row in firing(formulas, grid(5)):
        firing_classes = [k for k in range(3) if row[k]]
        best = max(firing_classes, key=lambda k: (precision[k], right[k], -k), default=default)
        expected.append(best)
    assert decide(formulas, rows)(grid(5)).tolist() == expected


def test_one_against_rest_asks_for_each_class_alone():
    asked = []

    def learn(rows: YesNo) -> ClassRule:
        asked.append(int(rows.yes.sum()))
        return ClassRule(DNF.true, ("found.",))

    rows = table(n_classes=3)
    learned = one_against_rest(learn, rows, sample=(0, 2))
    counts = np.bincount(np.asarray(rows.labels))
    assert asked == [counts[0], counts[2]]
    assert learned.classes == (0, 2)
    assert any("sample" in note for note in learned.notes)


# Trees and single rules ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [Tree(3), Tree(None, 4), Tree(None, 5, balanced=True)])
def test_tree_formulas_equal_scikit_learns_predictions(tree):
    train, validation = table(n_classes=3), table(1, 40, n_classes=3)
    both = train.append(validation)
    judge = DecisionTreeClassifier(
        max_depth=tree.max_depth, max_leaf_nodes=tree.max_leaf_nodes, random_state=3,
        class_weight="balanced" if tree.balanced else None,
    ).fit(both.boolean(), both.labels)  # fmt: skip
    learned = tree(train, validation, seed=3)
    expected = judge.predict(grid(5).boolean())
    assert (learned.predict(grid(5)) == expected).all()
    assert (firing(learned.formulas, grid(5)) == (expected[:, None] == np.arange(3))).all()
    assert sum(len(formula.cubes) for formula in learned.formulas) == judge.get_n_leaves()


def test_one_r_beats_every_rule_on_one_concept():
    rows = table(n_classes=3)
    bits, labels = rows.boolean(), np.asarray(rows.labels)
    learned = OneR()(rows.take(np.arange(80)), rows.take(np.arange(80, 120)), seed=0)
    best = max(
        sum(np.bincount(labels[bits[:, j] == value], minlength=3).max() for value in (False, True)) for j in range(5)
    )
    assert (learned.predict(rows) == labels).sum() == best


def test_a_stump_has_the_best_literal_of_each_class():
    rows = table(n_classes=3)
    bits, labels = rows.boolean(), np.asarray(rows.labels)
    learned = Stump()(rows.take(np.arange(80)), rows.take(np.arange(80, 120)), seed=0)
    for k, formula in enumerate(learned.formulas):
        scores = [f1_score(labels == k, bits[:, j] == sign, average="macro") for j in range(5) for sign in (0, 1)]
        mine = f1_score(labels == k, formula.evaluate(bits, NAMES[:5]), average="macro")
        assert mine == pytest.approx(max(scores))


def test_no_short_formula_is_better_than_the_best():
    train, validation = table(3, 40, n=4), table(4, 30, n=4)
    bits, labels = train.boolean(), np.asarray(train.labels)
    literals = [bits[:, j] == sign for j in range(4) for sign in (False, True)]
    answers = [np.zeros(40, bool), np.ones(40, bool), *literals]
    for a, b in combinations(literals, 2):
        answers += [a & b, a | b]
    for a, b, c in combinations(literals, 3):
        answers += [a & b & c, a | b | c, (a & b) | c, (a & c) | b, (b & c) | a]
    learned = BestShortDNF()(train, validation, seed=0)
    for k, formula in enumerate(learned.formulas):
        best = max(f1_score(labels == k, answer, average="macro", zero_division=0) for answer in answers)
        mine = f1_score(labels == k, formula.evaluate(bits, NAMES[:4]), average="macro", zero_division=0)
        assert mine == pytest.approx(best)
        assert formula.n_literals <= 3


# Rule learners of packages -------------------------------------------------------------------------------------------


def test_both_formulas_of_a_list_answer_as_the_list():
    rng = np.random.default_rng(0)
    for _ in range(20):
        rules = tuple(
            ListRule(Cube(Literal(c, bool(rng.integers(2))) for c in rng.choice(NAMES[:4], 2, replace=False)),
                     bool(rng.integers(2)))
            for _ in range(3)
        )  # fmt: skip
        listed = DecisionList(rules, otherwise=bool(rng.integers(2)))
        rows = grid(4)
        expected = []
        for row in rows.boolean():
            value = dict(zip(rows.names, row, strict=True))
            fires = (rule.answer for rule in rules if all(value[x.concept] == x.positive for x in rule.condition))
            expected.append(next(fires, listed.otherwise))
        for formula in (listed.spelled_out(), listed.shortest()):
            assert formula.evaluate(rows.boolean(), rows.names).tolist() == expected
        assert listed.shortest().n_literals <= listed.spelled_out().n_literals


@pytest.mark.parametrize("seed", range(3))
def test_figs_formula_answers_as_its_model(seed):
    imodels = pytest.importorskip("imodels")
    rows = table(seed)
    model = imodels.FIGSClassifier(max_rules=5, random_state=0).fit(rows.boolean().astype(float), rows.labels)
    expected = model.predict(grid(5).boolean().astype(float)) == 1
    assert (answer_formula(model, rows).evaluate(grid(5).boolean(), NAMES[:5]) == expected).all()


@pytest.mark.parametrize("seed", range(3))
def test_ripper_and_greedy_list_answer_as_their_models(seed):
    wittgenstein, imodels = pytest.importorskip("wittgenstein"), pytest.importorskip("imodels")
    rows = table(seed)
    both = (rows.take(np.arange(80)), rows.take(np.arange(80, 120)))
    bits, yes = rows.boolean(), np.asarray(rows.labels) == 1
    frame = pd.DataFrame(bits.astype(np.int64))
    judge = wittgenstein.RIPPER(n_discretize_bins=None, random_state=seed)
    judge.fit(frame, y=yes.astype(int).tolist(), pos_class=1)
    formula = Ripper()(*both, seed=seed).formulas[1]
    assert formula.evaluate(bits, rows.names).tolist() == judge.predict(frame)
    np.random.seed(seed)  # noqa: NPY002
    greedy = imodels.GreedyRuleListClassifier(max_depth=5).fit(bits.astype(float), yes.astype(int))
    formula = GreedyRuleList()(*both, seed=seed).formulas[1]
    assert (formula.evaluate(bits, rows.names) == (greedy.predict(bits.astype(float)) == 1)).all()


def test_frequent_sets_are_those_of_fp_growth():
    mlxtend = pytest.importorskip("mlxtend.frequent_patterns")
    rows = table()
    literals = np.concatenate([rows.boolean(), ~rows.boolean()], axis=1)
    yes = np.asarray(rows.labels) == 1
    expected = set()
    for side in (literals[yes], literals[~yes]):
        sets = mlxtend.fpgrowth(pd.DataFrame(side), min_support=0.2, max_len=2)["itemsets"]
        expected |= {tuple(sorted(items)) for items in sets}
    assert set(mined(literals, yes, BRL(min_support=0.2))) == expected


def test_two_classes_share_one_bayesian_list():
    pytest.importorskip("imodels")
    learned = BRL(iterations=400, chains=2)(table(), table(1, 40), seed=0)
    fires = firing(learned.formulas, grid(5))
    assert (fires.sum(axis=1) == 1).all()
    assert "every else spelled out" in learned.notes[0]


def test_column_generation_finds_the_fewest_errors():
    rows = table(5, 60, n=4)
    problem = YesNo(rows.boolean(), rows.names, np.asarray(rows.labels) == 1)
    literals, bound = problem.literals, 5
    cubes = [items for width in range(4) for items in combinations(range(8), width)]
    best = np.inf
    for n in range(3):
        for chosen in combinations(cubes, n):
            if sum(1 + len(items) for items in chosen) <= bound:
                covers = np.array([literals[:, list(items)].all(axis=1) for items in chosen]).reshape(n, len(literals))
                errors = (~covers.any(axis=0) & problem.yes).sum() + (covers.sum(axis=0) * ~problem.yes).sum()
                best = min(best, int(errors))
    ((_, formula),) = rule_sets(problem, ColumnGeneration(bounds=(bound,), max_width=3))
    fired = formula.fired(problem.bits, problem.names)
    assert (~fired.any(axis=1) & problem.yes).sum() + (fired.sum(axis=1) * ~problem.yes).sum() == best


# Networks ------------------------------------------------------------------------------------------------------------


def test_psi_formulas_are_the_composed_boolean_functions():
    rows = table(n_classes=3)
    learned = Psi(epochs=60)(rows, table(1, 40, n_classes=3), seed=0)
    networks = psi_trained(rows, table(1, 40, n_classes=3), Psi(epochs=60), seed=0)
    for k, formula in enumerate(learned.formulas):
        signal = grid(5).boolean()
        for weight, bias in networks.layers(k):
            assert ((weight != 0).sum(axis=1) <= 3).all()
            signal = signal.astype(float) @ weight.T + bias > 0
        assert (formula.evaluate(grid(5).boolean(), NAMES[:5]) == signal[:, 0]).all()


def test_rrl_nodes_equal_the_papers_products():
    import torch

    generator = torch.Generator().manual_seed(0)
    inputs, weight = torch.randint(0, 2, (6, 4), generator=generator).float(), torch.rand((3, 4), generator=generator)
    for row in range(6):
        for node in range(3):
            pairs = list(zip(weight[node].tolist(), inputs[row].tolist(), strict=True))
            both = np.prod([1 - w * (1 - u) + rrl.EPSILON for w, u in pairs])
            either = np.prod([1 - w * u + rrl.EPSILON for w, u in pairs])
            nodes = (float(kind(inputs, weight)[row, node]) for kind in (rrl.conjunctions, rrl.disjunctions))
            assert list(nodes) == pytest.approx([1 / (1 - np.log(both)), 1 - 1 / (1 - np.log(either))], rel=1e-3)


def test_rrl_formulas_answer_as_the_model_on_every_row():
    learned = RRL(nodes=16, epochs=60, penalties=(1e-5,))(table(n_classes=3), table(1, 40, n_classes=3), seed=0)
    expected = learned.predict(grid(5))[:, None] == np.arange(3)
    assert (firing(learned.formulas, grid(5)) == expected).all()
    assert expected.any(axis=0).sum() > 1


def test_black_boxes_are_the_packages_on_all_rows():
    train, validation = table(n_classes=3), table(1, 40, n_classes=3)
    both = train.append(validation)
    values, unseen = np.array(both.values, float), table(2, 60, n_classes=3)
    judges = {Forest(20): RandomForestClassifier(20, random_state=4), Logistic(): LogisticRegression()}
    for learner, judge in judges.items():
        expected = judge.fit(values, both.labels, sample_weight=both.weight).predict(np.array(unseen.values, float))
        assert (learner(train, validation, seed=4).predict(unseen) == expected).all()


# torch_explain -------------------------------------------------------------------------------------------------------


def test_texts_of_torch_explain_are_read_in_our_names():
    assert read_formula("(~feature0000000000 & feature0000000001)", ["tall", "dark"]) == DNF(
        [Cube([Literal("tall", False), Literal("dark")])]
    )
    assert read_formula("", ["tall"]) == read_formula("None", ["tall"]) == DNF.false
    assert read_formula("True", ["tall"]) == DNF.true


def test_a_missing_interpreter_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGICLENS_TORCH_EXPLAIN", str(tmp_path / "python"))
    with pytest.raises(MissingPackage, match="make reference"):
        TorchExplain()(table(), table(1), seed=0)


def test_torch_explain_gives_predictions_formulas_and_times():
    try:
        interpreter()
    except MissingPackage as error:
        pytest.skip(str(error))
    learned = TorchExplain(epochs=60)(table(noise=0.0), table(1, 60, noise=0.0), seed=0)
    assert len(learned.formulas) == 2
    assert learned.cpu_seconds > 0
    unseen = table(2, 100, noise=0.0)
    assert (learned.predict(unseen) == unseen.labels).mean() > 0.8


def test_failures_of_the_other_interpreter_show_their_last_line(tmp_path):

    with pytest.raises(LogicLensError, match="status 1: ValueError: no rows"):
        run_peer([sys.executable, "-c", "raise ValueError('no rows')"], tmp_path)
