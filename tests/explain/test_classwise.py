"""Explanations of a class: reading a network, the formula, its reasons, notes and warnings."""

from __future__ import annotations

import itertools

import jaxtyping
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from torch import nn

from logiclens.concepts import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning, NoEntropyLayer
from logiclens.explain import FormulaLimits, explain_all, explain_class, explain_local, read
from logiclens.formula import DNF, TruthTable, parse
from logiclens.formula.dnf import Complement, written
from logiclens.nn import EntropyLogicLayer, EntropyNet, LinearIndependent
from logiclens.train import TrainConfig, fit
from tests.examples import examples
from tests.rigged import GRID, NAMES, Rigged, boolean, xor_net, yes_no


@pytest.mark.parametrize("method", ["search", "paper"])
@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("(a & ~b) | (~a & b)", lambda a, b, c, d: a ^ b),
        ("a | (b & c)", lambda a, b, c, d: a | (b & c)),
        ("(a & b) | (c & ~d)", lambda a, b, c, d: (a & b) | (c & ~d)),
        ("~d", lambda a, b, c, d: ~d),
    ],
)
def test_formula_is_the_function_the_network_computes(method, text, function):
    network = Rigged(4, [range(4), range(4)], boolean(function))
    explanation = explain_all(network, ConceptTable(GRID, NAMES), method=method)
    assert explanation[1].formula.equivalent(parse(text))
    assert explanation[0].formula.equivalent(~parse(text))
    assert all(explained.equals_network for explained in explanation)
    assert "↔" in str(explanation[1])


def test_labels_never_decide_the_truth_table():
    right, wrong = GRID[:, 0] ^ GRID[:, 1], 1 - (GRID[:, 0] ^ GRID[:, 1])
    tables = [
        explain_class(xor_net(), ConceptTable(GRID, NAMES, labels, ["no", "yes"]), target="yes").table
        for labels in (right, wrong)
    ]
    assert tables[0].rows == tables[1].rows
    assert (tables[0].outcome == (tables[0].rows.bits()[:, 0] ^ tables[0].rows.bits()[:, 1])).all()


def test_labels_of_validation_rows_choose_only_when_asked():
    # The network answers a; the labels follow b. Both are relevant, so both methods could say either.
    network = Rigged(4, [range(2), range(2)], boolean(lambda a, b, c, d: a | (b & c & d)))
    table = ConceptTable(GRID, NAMES, GRID[:, 0], ["no", "yes"])
    by_network = explain_class(network, table, target=1, score_against="network")
    by_labels = explain_class(network, table, target=1, score_against="labels")
    assert by_network.scored_against == "network"
    assert by_labels.score == pytest.approx(1.0)
    assert by_labels.formula == parse("a")


def test_explaining_against_labels_needs_labels():
    with pytest.raises(LogicLensError, match="no labels"):
        explain_class(xor_net(), ConceptTable(GRID, NAMES), target=0, score_against="labels")


def test_dropout_is_off_while_reading_and_every_mode_returns():
    network = xor_net()
    network.train()
    network.entropy.eval()
    reading = read(network, ConceptTable(np.repeat(GRID, 20, axis=0), NAMES))
    assert set(np.unique(reading.logits)) == {0.0, 10.0}
    assert network.training
    assert network.dropout.training
    assert not network.entropy.training


def test_rows_the_network_gets_wrong_are_explained_too():
    # Every label contradicts the network; a method that keeps only right answers would find nothing.
    labels = 1 - (GRID[:, 0] ^ GRID[:, 1])
    explained = explain_class(xor_net(), ConceptTable(GRID, NAMES, labels, ["no", "yes"]), target="yes")
    assert explained.table.support.sum() == len(GRID)
    assert explained.formula.equivalent(parse("(a & ~b) | (~a & b)"))


def test_explain_all_equals_explain_class():
    network = Rigged(4, [range(3), range(3)], boolean(lambda a, b, c, d: (a & b) | c))
    together = explain_all(network, ConceptTable(GRID, NAMES))
    for head in range(2):
        assert explain_class(network, ConceptTable(GRID, NAMES), target=head).formula == together[head].formula


def test_contradictions_are_listed_and_the_right_split_is_suggested():
    # The network cuts `a` at 0.8 as well, which the Boolean reading cannot see.
    values = np.array([[0.1], [0.3], [0.6], [0.7], [0.9], [1.0]])
    network = Rigged(1, [[0], [0]], yes_no(lambda x: x[:, 0] >= 0.8))
    explained = explain_class(network, ConceptTable(values, ["a"]), target=1)
    assert [(str(c.row), c.yes, c.no) for c in explained.contradictions] == [("a", 2.0, 2.0)]
    (best,) = explained.suggest_splits()
    assert (best.concept, best.separated, best.of) == ("a", 2.0, 2.0)
    assert 0.7 < best.cut <= 0.9
    assert "split 'a' at" in str(best)


def test_an_irrelevant_concept_that_decides_is_suggested_as_is():
    network = Rigged(4, [[0], [0]], boolean(lambda a, b, c, d: a ^ b))
    best = explain_class(network, ConceptTable(GRID, NAMES), target=1).suggest_splits()[0]
    assert (best.concept, best.cut) == ("b", None)
    assert best.separated == best.of == 8
    assert "take in 'b'" in str(best)


def test_no_contradictions_no_suggestions():
    assert explain_class(xor_net(), ConceptTable(GRID, NAMES), target=1).suggest_splits() == ()


def test_a_class_never_predicted_is_false_with_reason_and_warning():
    network = Rigged(4, [[0], [0]], boolean(lambda a, b, c, d: a & ~a))
    table = ConceptTable(GRID, NAMES, class_names=["common", "rare"])
    with pytest.warns(LogicLensWarning, match="never predicts 'rare' on these 16 rows"):
        explained = explain_class(network, table, target="rare")
    assert explained.formula == DNF.false
    assert "never predicts 'rare'" in explained.reason
    assert "class_weight" in explained.remedy
    with pytest.warns(LogicLensWarning, match="always predicts 'common'"):
        assert explain_class(network, table, target="common").formula == DNF.true


def test_a_silent_head_is_the_complement_of_the_deciding_one():
    # Head 0 gives a constant; head 1 alone decides between the classes.
    def logits(x):
        yes = (x[:, 0] >= 0.5) ^ (x[:, 1] >= 0.5)
        return torch.stack([torch.zeros(len(x)), torch.where(yes, 5.0, -5.0)], dim=-1)

    explanation = explain_all(Rigged(4, [[3], [0, 1]], logits), ConceptTable(GRID, NAMES))
    assert explanation[0].formula.equivalent(~parse("(a & ~b) | (~a & b)"))
    assert explanation[1].formula.equivalent(parse("(a & ~b) | (~a & b)"))
    assert sum(isinstance(formula, Complement) for formula in explanation.formulas) == 1
    assert all(explained.reason is None and explained.proved_minimal for explained in explanation)


def test_of_three_heads_one_may_never_be_predicted():
    def logits(x):
        return torch.stack([0.9 * x[:, 0], 0.9 * (1 - x[:, 0]), torch.where(x[:, 1] >= 0.5, -1000.0, -1.0)], dim=-1)

    with pytest.warns(LogicLensWarning, match="never predicts 'class 2'"):
        explanation = explain_all(Rigged(4, [[0], [0], [1]], logits), ConceptTable(GRID, NAMES))
    assert [str(explained.formula) for explained in explanation] == ["a", "~a", "False"]


def half_each(x):
    """Head 0 knows of a, head 1 of b; together they answer a ∧ b, which neither can say alone."""
    return torch.stack([1 - x[:, 0], x[:, 1] - 0.5], dim=-1)


def test_an_answer_is_explained_by_the_concepts_of_its_heads():
    network = Rigged(4, [[0], [1]], half_each)
    explanation = explain_all(network, ConceptTable(GRID, NAMES))
    assert explanation[1].formula == parse("a & b")
    assert list(explanation[1].relevance) == ["b"]
    assert explanation[0].formula == Complement(parse("a & b"))
    assert all(explained.equals_network and explained.proved_minimal for explained in explanation)
    # The paper's truth table has the head's own concepts only.
    paper = explain_class(network, ConceptTable(GRID, NAMES), target=1, method="paper")
    assert set(paper.formula.concepts) <= {"b"}
    assert len(paper.contradictions) == 1


def test_an_independent_head_is_explained_by_its_own_concepts():
    table = ConceptTable(np.repeat(GRID, 10, axis=0), NAMES)
    explained = explain_class(Rigged(4, [[0], [1]], half_each), table, target=1, answer="threshold")
    assert explained.formula == parse("b")


def test_a_class_without_majority_rows_gets_a_short_cube():
    # On a-rows the network says yes in 2 of 5, elsewhere never: no Boolean row has a majority of yes.
    values = np.array([[0.9], [0.9], [0.6], [0.6], [0.6], [0.1], [0.1], [0.2], [0.2], [0.3]] * 20)
    network = Rigged(1, [[0], [0]], yes_no(lambda x: x[:, 0] >= 0.8))
    explanation = explain_all(network, ConceptTable(values, ["a"]))
    assert explanation[1].formula.equivalent(parse("a"))
    assert explanation[1].reason is None
    assert explanation[1].fidelity == pytest.approx(0.7)
    assert not explanation[1].proved_minimal


def test_the_paper_method_drops_useless_rows_and_traces_by_support():
    # The validation rows have no row with b, so OR-ing it in changes nothing.
    network = Rigged(2, [[0, 1], [0, 1]], yes_no(lambda x: x.sum(dim=1) >= 0.5))
    rows = ConceptTable([[1, 0], [0, 1], [0, 1], [1, 0], [1, 0], [0, 0]], ["a", "b"])
    explained = explain_class(
        network, rows, validation=ConceptTable([[1, 0], [0, 0]], ["a", "b"]), target=1, method="paper"
    )
    assert [(str(step.cube), step.support, step.kept) for step in explained.trace] == [
        ("a & ~b", 3.0, True), ("~a & b", 2.0, False),
    ]  # fmt: skip
    assert explained.formula == parse("a & ~b")


def test_soft_tables_fire_where_their_concepts_reach_one_half():
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES))
    soft = pd.DataFrame([[0.7, 0.2, 0.1, 0.9], [0.5, 0.5, 0.0, 0.0]], columns=list(NAMES))
    assert explanation.fires(soft)[:, 1].tolist() == [True, False]


def test_traces_contradictions_and_explanations_read_as_text():
    explanation = explain_all(Rigged(4, [[0], [0]], boolean(lambda a, b, c, d: a ^ b)), ConceptTable(GRID, NAMES))
    assert repr(explanation) == str(explanation)
    assert str(explanation[1].contradictions[0]) == "~a: answered yes 4 times and no 4 times"
    kept = next(step for step in explain_class(xor_net(), GRID, target=1, method="paper").trace if step.kept)
    assert str(kept).startswith("+ ")


def test_rows_breaking_an_exclusive_group_are_warned_of():
    network = Rigged(4, [[0, 1], [0, 1]], boolean(lambda a, b, c, d: a | b))
    with pytest.warns(LogicLensWarning, match="4 rows break the exclusive group 'a', 'b'"):
        explained = explain_class(network, ConceptTable(GRID, NAMES, exclusive=[["a", "b"]]), target=1)
    assert "⊕" not in str(explained)
    network = Rigged(4, [[0, 1], [0, 1]], boolean(lambda a, b, c, d: a & b))
    with pytest.warns(LogicLensWarning, match="break the exclusive group"):
        explained = explain_class(network, ConceptTable(GRID, NAMES, exclusive=[["a", "b"]]), target=1)
    assert explained.reason == "every row answered yes breaks a group and is left out."


def test_a_row_of_next_to_no_weight_still_forbids_equality():
    values = np.array([[0.9], [0.6], [0.1]])
    network = Rigged(1, [[0], [0]], yes_no(lambda x: x[:, 0] >= 0.8))
    explained = explain_class(network, ConceptTable(values, ["a"], weight=[1.0, 1e-20, 1.0]), target=1)
    assert str(explained.formula) == "a"
    assert not explained.equals_network
    assert "≈" in str(explained)


def test_the_paper_method_does_not_claim_a_minimum():
    rows = ConceptTable([[1, 1], [0, 0], [0, 0]], ["a", "b"])
    network = Rigged(2, [[0, 1], [0, 1]], yes_no(lambda x: x.sum(dim=1) >= 1.5))
    assert str(explain_class(network, rows, target=1, method="paper").formula) == "a & b"
    assert not explain_class(network, rows, target=1, method="paper").proved_minimal


def test_rows_that_something_changes_before_the_entropy_layer_are_refused():
    network = nn.Sequential(nn.Linear(4, 4), EntropyLogicLayer(4, 3, 2), LinearIndependent(3, 1, 2, top=True))
    with pytest.raises(LogicLensError, match="do not enter an entropy layer as they are"):
        explain_all(network, GRID)


def test_among_entropy_layers_the_one_with_concepts_is_read():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.second = EntropyLogicLayer(4, 1, 2)
            self.first = EntropyLogicLayer(4, 2, 2)

        def forward(self, x):
            return self.second(self.first(x).flatten(-2))[:, :, 0]

    network = Two()
    reading = read(network, ConceptTable(GRID, NAMES))
    assert reading.relevance == pytest.approx(network.first.relevance().detach().numpy())


# The network is not trained: it may answer every row alike.
@pytest.mark.filterwarnings("ignore:the network (never|always) predicts")
def test_a_compiled_network_is_explained(monkeypatch):
    # The compiler cannot look into run-time shape checks, where a test run has them on.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    compiled = torch.compile(nn.Sequential(EntropyNet(4, 2)), backend="eager")
    assert len(explain_all(compiled, GRID)) == 2


def test_head_whose_concepts_tell_nothing_apart_says_so():
    network = Rigged(4, [[3], [3]], boolean(lambda a, b, c, d: a & b))
    explained = explain_class(network, ConceptTable(GRID, NAMES), target=1)
    assert explained.formula == DNF.false
    assert explained.reason == "no rule for 'class 1' decides enough rows and is right more often than chance."
    assert explained.fidelity == 0.75
    assert "≈" in str(explained)
    paper = explain_class(network, ConceptTable(GRID, NAMES), target=1, method="paper")
    assert (paper.formula, "do not tell its rows apart" in paper.reason) == (DNF.false, True)


def test_trace_of_the_paper_method_lists_every_positive_row():
    explained = explain_class(xor_net(), ConceptTable(GRID, NAMES), target=1, method="paper")
    assert {str(step.cube) for step in explained.trace} == {"a & ~b", "~a & b"}
    assert all(step.kept and step.why == "improves the score" for step in explained.trace)


@given(
    answers=st.lists(st.booleans(), min_size=16, max_size=16),
    support=st.lists(st.integers(1, 4), min_size=16, max_size=16),
    labels=st.lists(st.booleans(), min_size=16, max_size=16),
)
def test_paper_method_is_the_papers_loop(answers, support, labels):
    """The judge: the paper's sentence written as a loop, scored by scikit-learn."""
    yes, rows = np.array(answers), np.repeat(GRID, support, axis=0)
    if yes.all() or not yes.any():
        return
    codes = {tuple(row): answer for row, answer in zip(GRID.tolist(), yes.tolist(), strict=True)}
    network = Rigged(
        4, [range(4), range(4)], yes_no(lambda x: torch.tensor([codes[tuple(r)] for r in x.int().tolist()]))
    )
    table = ConceptTable(rows, NAMES, np.repeat(labels, support).astype(int), ["no", "yes"])
    got = explain_class(network, table, target=1, method="paper", score_against="labels")
    truth = np.repeat(labels, support)
    order = sorted(np.flatnonzero(yes), key=lambda r: -support[r])
    chosen, best = np.zeros(16, dtype=bool), f1_score(truth, np.zeros(len(truth)), average="macro", zero_division=0)
    for r in order:
        trial = chosen.copy()
        trial[r] = True
        score = f1_score(truth, np.repeat(trial, support), average="macro", zero_division=0)
        if score > best + 1e-12:
            chosen, best = trial, score
    # A class is never left empty: the best supported row stays when none improved.
    chosen[order[0]] |= not chosen.any()
    assert DNF([step.cube for step in got.trace if step.kept]).equivalent(got.formula)
    assert (got.formula.evaluate(GRID, NAMES) == chosen).all()


@given(
    answers=st.lists(st.booleans(), min_size=16, max_size=16),
    max_literals=st.none() | st.integers(1, 6),
    copies=st.sampled_from([1, 8]),
)
@examples(40)
def test_limits_are_kept_and_the_score_is_scikit_learns(answers, max_literals, copies):
    rows, yes = np.tile(GRID, (copies, 1)), np.tile(answers, copies)
    if yes.all() or not yes.any():
        return
    network = Rigged(4, [range(4), range(4)], _memory(GRID, np.array(answers)))
    limits = FormulaLimits(max_literals)
    explanation = explain_all(network, ConceptTable(rows, NAMES), limits=limits)
    for explained, truth in zip(explanation, (~yes, yes), strict=True):
        stated = written(explained.formula)
        assert stated.n_literals <= (max_literals or 99)
        fires = explained.formula.evaluate(rows, NAMES)
        assert explained.score == pytest.approx(f1_score(truth, fires, average="macro"))
        assert explained.fidelity == pytest.approx((truth == fires).mean())
        assert explained.equals_network == (truth == fires).all()
    if limits == FormulaLimits():
        # Every possible row is there: nothing is left to guess.
        assert explanation[0].equals_network


def test_rows_that_came_in_another_order_give_the_same_formula():
    rng = np.random.default_rng(3)
    rows = (rng.random((300, 6)) < 0.5).astype(int)
    network = Rigged(6, [range(6), range(6)], yes_no(lambda x: x[:, 0] * x[:, 1] + x[:, 2] * (1 - x[:, 3]) > 0.5))
    names = [f"c{i}" for i in range(6)]
    first = explain_all(network, ConceptTable(rows, names)).formulas
    assert first[1].equivalent(parse("(c0 & c1) | (c2 & ~c3)"))
    assert explain_all(network, ConceptTable(rows[rng.permutation(300)], names)).formulas == first
    counted, copies = np.unique(rows, axis=0, return_counts=True)
    assert explain_all(network, ConceptTable(counted, names, weight=copies)).formulas == first


def test_cross_validation_chooses_the_length_and_scores_the_path():
    """Answers that are noise beyond one concept: more cubes than that do not hold on other rows."""
    rng = np.random.default_rng(5)
    rows = np.unique((rng.random((400, 9)) < 0.5).astype(int), axis=0)
    yes = rng.random(len(rows)) < 0.1 + 0.8 * rows[:, 0]
    names = [f"c{i}" for i in range(9)]
    explanation = explain_all(Rigged(9, [range(9), range(9)], _memory(rows, yes)), ConceptTable(rows, names))
    assert written(explanation[1].formula).concepts == ("c0",)
    scored = [point for point in explanation.pareto() if point.cross_validated is not None]
    assert scored
    assert all(0 <= point.cross_validated <= 1 for point in scored)


def test_validation_rows_choose_too():
    # Only the further rows tell a from b.
    network = Rigged(4, [range(2), range(2)], boolean(lambda a, b, c, d: a))
    rows, further = np.repeat(GRID[[0, 15]], 10, axis=0), np.repeat(GRID[[7, 8]], 10, axis=0)
    found = explain_all(network, ConceptTable(rows, NAMES), validation=ConceptTable(further, NAMES))
    assert found[1].formula.equivalent(parse("a"))
    assert len(found[1].reading.table) == len(rows)
    assert explain_all(network, rows, validation=further)[1].formula.equivalent(parse("x0"))


def test_too_few_rows_of_a_class_are_reported():
    rows = np.array(list(itertools.product([0, 1], repeat=6)))[1:]
    names = ["a", "b", "c", "d", "e", "f"]
    network = Rigged(6, [range(6), range(6)], yes_no(lambda x: x.bool().all(dim=1)))
    explanation = explain_all(network, ConceptTable(rows, names))
    assert any("too few rows of this class to choose a length" in note for note in explanation.notes)
    with pytest.warns(LogicLensWarning, match="too few rows of this class to choose a length"):
        explain_class(network, ConceptTable(rows, names), target=1)


def test_a_few_rows_get_the_shortest_equivalent_formula_and_note():
    # A row that nobody has is a don't-care: without the rows of c, a alone tells the answers.
    rows = ConceptTable(GRID[[0, 1, 4, 5, 8, 9, 12, 13]], NAMES)
    explanation = explain_all(Rigged(4, [range(4), range(4)], boolean(lambda a, b, c, d: a & ~c)), rows)
    assert explanation[1].formula.equivalent(parse("a"))
    assert explanation.notes == ()
    few = ConceptTable(GRID[[0, 3, 5, 9, 10, 15]], NAMES)
    explanation = explain_all(Rigged(4, [range(4), range(4)], boolean(lambda a, b, c, d: a & b)), few)
    assert all(explained.equals_network and explained.proved_minimal for explained in explanation)
    (note,) = explanation.notes
    assert "too few rows to choose a length by cross-validation: the shortest formula with the same answers" in note


def _memory(rows, yes):
    codes = {tuple(row): bool(answer) for row, answer in zip(rows.tolist(), yes.tolist(), strict=True)}
    return yes_no(lambda x: torch.tensor([codes[tuple(r)] for r in x.int().tolist()]))


def test_parity_of_exclusive_digits_has_five_literals_as_xor():
    digits = np.repeat(np.eye(10), 20, axis=0)
    names = [f"d{i}" for i in range(10)]
    network = Rigged(10, [range(10)], lambda x: x[:, 1::2].sum(dim=1, keepdim=True) - 0.5)
    table = ConceptTable(digits, names, exclusive=[names])
    explained = explain_class(network, table, target=0)
    assert explained.formula == parse("d1 | d3 | d5 | d7 | d9")
    assert str(explained) == '∀x: "class 0"(x) ↔ d1(x) ⊕ d3(x) ⊕ d5(x) ⊕ d7(x) ⊕ d9(x)'
    # The paper's formula: every cube says which digit it is and which nine it is not.
    full = explain_class(network, table, target=0, exclusive=False)
    assert (full.formula.n_literals, len(full.formula)) == (50, 5)
    assert all(sum(literal.positive for literal in cube) == 1 for cube in full.formula)
    assert full.equals_network
    assert not full.formula.evaluate(np.ones((1, 10), dtype=bool), names)[0]


def test_a_formula_that_differs_from_the_table_is_not_proved():
    network = Rigged(4, [range(4), range(4)], boolean(lambda a, b, c, d: a | (b & c & d)))
    table = ConceptTable(np.repeat(GRID, 5, axis=0), NAMES)
    explained = explain_class(network, table, target=1, limits=FormulaLimits(max_literals=1))
    assert explained.formula.equivalent(parse("a"))
    assert not explained.proved_minimal
    assert not explained.equals_network


def test_several_labels_are_read_by_threshold_or_sign():
    def logits(x):
        return torch.stack([x[:, 0] - 0.5, x[:, 1] - 0.5], dim=-1)

    both = ConceptTable(GRID, NAMES, GRID[:, :2], ["left", "right"])
    explanation = explain_all(Rigged(4, [[0], [1]], logits), both, multilabel=True)
    assert [str(formula) for formula in explanation.formulas] == ["a", "b"]
    single = ConceptTable(GRID, NAMES, GRID[:, 0], ["no", "yes"])
    (explained,) = explain_all(Rigged(4, [[0]], lambda x: x[:, :1] - 0.5), single)
    assert (explained.name, str(explained.formula)) == ("yes", "a")


def test_threshold_keeps_a_probability_of_exactly_one_half():
    network = Rigged(1, [[0]], lambda x: torch.where(x >= 0.5, 0.0, -1.0))
    reading = read(network, ConceptTable([[0.0], [1.0]]), output="logits")
    assert reading.yes.ravel().tolist() == [False, True]


def test_an_explanation_is_found_by_name_and_position():
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, class_names=["same", "other"]))
    assert explanation["other"] is explanation[1]
    assert len(explanation) == 2
    assert (explanation.fires(GRID, NAMES)[:, 1] == (GRID[:, 0] ^ GRID[:, 1])).all()
    with pytest.raises(LogicLensError, match="no class 'third'; the classes are 'same', 'other'"):
        explanation["third"]


def test_relevance_lists_relevant_concepts_the_strongest_first():
    network = xor_net(relevant=((0, 1), (1, 0)))
    with torch.no_grad():
        network.entropy.weight[1, 0, 0] = 9.8
    explained = explain_class(network, ConceptTable(GRID, NAMES), target=1)
    assert list(explained.relevance) == ["b", "a"]
    assert explained.relevance["a"] == pytest.approx(np.exp(-0.2 / 0.6), rel=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: explain_all(nn.Linear(4, 2), GRID), "no entropy layer"),
        (lambda: explain_all(xor_net(), GRID[:, :3]), "takes 4 concepts, the rows have 3"),
        (lambda: explain_class(xor_net(), GRID, target=2), "target must be 0 to 1, got 2"),
        (lambda: explain_class(xor_net(), GRID, target="x"), "no class 'x'"),
        (lambda: explain_class(xor_net(), GRID, target=0, method="best"), "method must be 'search' or 'paper'"),
        (lambda: explain_class(xor_net(), GRID, target=0, score_against="y"), "score_against must be"),
        (lambda: explain_all(xor_net(), GRID, answer="sign"), "answer must be 'argmax' or 'threshold'"),
        (lambda: explain_local(xor_net(), GRID[:2]), "expected one row, got 2"),
        (lambda: explain_local(xor_net(), GRID[0], target=7), "target must be 0 to 1, got 7"),
        (lambda: explain_class(xor_net(), GRID, target=1.5), "target must be 0 to 1, got 1.5"),
        (lambda: explain_all(None, GRID), "expected a torch network to explain, got NoneType"),
        (lambda: explain_all(xor_net(), GRID, method="minimal"), "method must be 'search' or 'paper', got 'minimal'"),
        (
            lambda: FormulaLimits(max_literals=1.5),
            "max_literals must be a whole number of at least 1, or None, got 1.5",
        ),
        (lambda: FormulaLimits(min_support=-1), "min_support must be a weight from 0 on, or None, got -1"),
        (lambda: explain_all(xor_net(), GRID, limits=3), "limits must be a logiclens.explain.FormulaLimits, got 3"),
        (
            lambda: explain_all(xor_net(), GRID, method="paper", limits=FormulaLimits(3)),
            "limits need method='search'",
        ),
        (lambda: explain_all(Rigged(4, [[0], [0]], lambda x: x[:, :2] * torch.nan), GRID), "NaN or infinite outputs"),
        (
            lambda: explain_all(xor_net(), ConceptTable(GRID, NAMES), validation=ConceptTable(GRID, NAMES[::-1])),
            "same concepts as the rows explained",
        ),
        (
            lambda: explain_all(xor_net(), ConceptTable(GRID, NAMES, class_names=["a", "b", "c"])),
            "2 head\\(s\\), the rows name 3 classes",
        ),
    ],
)
def test_bad_calls_say_what_is_wrong(call, message):
    with pytest.raises(LogicLensError, match=message):
        call()


def test_a_model_without_entropy_layer_has_its_own_error():
    with pytest.raises(NoEntropyLayer, match="EntropyNet"):
        explain_all(nn.Linear(4, 2), GRID)


def test_a_readings_truth_table_counts_relevant_concepts_only():
    reading = read(Rigged(4, [[0], [1, 2]], boolean(lambda a, b, c, d: b & c)), ConceptTable(GRID, NAMES))
    table = reading.truth_table(1)
    assert isinstance(table, TruthTable)
    assert table.names == ("b", "c")
    assert table.support.tolist() == [4.0] * 4
    assert table.outcome.tolist() == [False, False, False, True]


@pytest.mark.gpu
def test_networks_on_cuda_are_explained_alike():
    network = xor_net()
    expected = explain_all(network, ConceptTable(GRID, NAMES)).formulas
    assert explain_all(network.cuda(), ConceptTable(torch.tensor(GRID).cuda(), NAMES)).formulas == expected


def test_heads_explained_together_equal_those_explained_in_turn(monkeypatch):
    """Twelve classes on two threads and on one: the same formulas, in the same order."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (600, 6))
    labels = (bits[:, :4] @ [1, 2, 4, 8]) % 12
    table = ConceptTable(bits, None, labels, [f"class {i}" for i in range(12)])
    network = EntropyNet(6, 12, (8,), temperature=2.0, generator=torch.Generator().manual_seed(0))
    fit(network, table, TrainConfig(epochs=120, progress=False))
    found = []
    # Small work puts back the number of threads that it found, which here is not the real one.
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    for n_threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda n=n_threads: n)
        found.append(explain_all(network, table))
    assert [one.name for one in found[1]] == list(table.class_names)
    assert found[0].formulas == found[1].formulas
    assert len(set(found[0].formulas)) == 12


def test_many_heads_are_explained_at_one_price():
    rng = np.random.default_rng(0)
    of_class = rng.random((15, 12)) < 0.5
    labels = np.repeat(np.arange(15), 30)
    bits = of_class[labels] ^ (rng.random((450, 12)) < 0.03)
    table = ConceptTable(bits, [f"c{j}" for j in range(12)], labels, [f"k{j}" for j in range(15)])
    network = EntropyNet(12, 15, (10,), generator=torch.Generator().manual_seed(0))
    fit(network, table, TrainConfig(epochs=80, progress=False))
    explanation = explain_all(network, table)
    assert np.mean([one.fidelity for one in explanation]) > 0.98
    assert explain_class(network, table, target="k3").formula == explanation["k3"].formula


# Names and labels beside plain arrays -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor, lambda rows: np.asarray(rows).tolist()])
def test_names_beside_plain_rows_equal_those_of_a_table(kind):
    labels = GRID[:, 0].astype(int)
    wanted = explain_all(xor_net(), ConceptTable(GRID, NAMES, labels, ["same", "other"]), score_against="labels")
    found = explain_all(
        xor_net(), kind(GRID), labels, names=NAMES, class_names=("same", "other"), score_against="labels"
    )
    assert str(found) == str(wanted)
    assert found.reading.table.names == tuple(NAMES)
    one = explain_class(xor_net(), kind(GRID), names=NAMES, class_names=["same", "other"], target="other")
    assert one.name == "other"


def test_names_replace_the_columns_of_a_frame():
    frame = pd.DataFrame(GRID, columns=["p", "q", "r", "s"])
    assert explain_all(xor_net(), frame).reading.table.names == ("p", "q", "r", "s")
    assert explain_all(xor_net(), frame, names=NAMES).reading.table.names == tuple(NAMES)


def test_validation_rows_may_come_with_their_labels():
    labels = GRID[:, 0].astype(int)
    table = ConceptTable(GRID, NAMES, labels)
    wanted = explain_all(xor_net(), table, validation=table, score_against="labels").formulas
    found = explain_all(xor_net(), GRID, labels, NAMES, validation=(GRID, labels), score_against="labels")
    assert found.formulas == wanted


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"names": ["a", "b"]}, "2 names were given for 4 concepts"),
        ({"names": ["a", "a", "b", "c"]}, "'a'"),
        ({"names": "abcd"}, "names must be a list of names, got 'abcd'"),
        ({"class_names": "no"}, "class_names must be a list of names, got 'no'"),
        ({"names": 3}, "names must be a list of names, got 3"),
        ({"class_names": 3}, "class_names must be a list of names, got 3"),
        ({"labels": [0, 1]}, "label"),
        ({"labels": ConceptTable(GRID, NAMES)}, "labels must be the class of each row, got a ConceptTable"),
    ],
)
def test_wrong_names_and_labels_are_refused(more, message):
    with pytest.raises(LogicLensError, match=message):
        explain_all(xor_net(), GRID, **more)


@pytest.mark.parametrize("more", [{"names": NAMES}, {"labels": [0] * 16}, {"class_names": ["a", "b"]}])
def test_a_table_takes_no_second_names(more):
    with pytest.raises(LogicLensError, match="a ConceptTable has its own labels and names"):
        explain_all(xor_net(), ConceptTable(GRID, NAMES), **more)
