"""Rule learners: formulas compared with their learner's predictions, searches with brute force."""

from __future__ import annotations

import random
import sys
import warnings
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.peers import column_generation
from lab.peers import column_generation as pricing
from lab.peers.column_generation import (
    ColumnGeneration,
    Cubes,
    Master,
    Prices,
    Search,
    best_cubes,
    cubes_below,
    rule_sets,
)
from lab.peers.learner import ClassRule, YesNo, global_seed, one_against_rest
from lab.peers.rule_learners import (
    BRL,
    BRLSettings,
    DecisionList,
    Figs,
    GreedyRuleList,
    ListRule,
    Ripper,
    SampledList,
    answer_formula,
    bayesian_list,
    figs,
    frequent,
    greedy_list,
    mined,
    point_estimate,
    rule_formula,
    sampled,
)
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, MissingPackage
from logiclens.formula.dnf import DNF, Cube, Literal
from tests.examples import examples

NAMES = tuple("abcdef")
QUICK = BRLSettings(iterations=400, chains=2)


def grid(n: int) -> np.ndarray:
    return np.array(list(product([False, True], repeat=n)), dtype=bool)


def noisy(seed: int, n_rows: int = 150, n: int = 5, noise: float = 0.15) -> YesNo:
    """Rows of a planted rule, some answers turned over."""
    rng = np.random.default_rng(seed)
    bits = rng.random((n_rows, n)) < 0.5
    yes = (bits[:, 0] & ~bits[:, 1]) | (bits[:, 2] & bits[:, 3])
    return YesNo(bits, NAMES[:n], yes ^ (rng.random(n_rows) < noise))


def as_table(rows: YesNo, **more) -> ConceptTable:
    return ConceptTable(rows.bits, rows.names, rows.yes.astype(int), ["no", "yes"], **more)


# Packages


def test_a_missing_package_is_named_with_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "wittgenstein", None)
    with pytest.raises(MissingPackage, match=r"this method needs wittgenstein: pip install 'logiclens\[bench\]'\."):
        Ripper()(as_table(noisy(0)), as_table(noisy(1)), seed=0)


def test_global_generators_are_restored_even_after_an_error():
    def drawn():
        return random.random(), np.random.random()  # noqa: NPY002

    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    expected = [drawn(), drawn()]
    random.seed(7)
    np.random.seed(7)  # noqa: NPY002
    first = drawn()
    with global_seed(1):
        inside = drawn()
    with pytest.raises(ZeroDivisionError), global_seed(1):
        raise ZeroDivisionError(drawn())
    assert [first, drawn()] == expected
    with global_seed(1):
        assert drawn() == inside


@pytest.mark.parametrize(
    "learner", [BRL(QUICK), Ripper(), GreedyRuleList(), Figs()], ids=lambda learner: type(learner).__name__
)
def test_learners_leave_the_global_generators_alone_and_repeat_themselves(learner):
    train, validation = as_table(noisy(0)), as_table(noisy(1, n_rows=50))
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    states = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    learned = learner(train, validation, seed=5)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states  # noqa: NPY002
    random.seed(4)
    np.random.seed(4)  # noqa: NPY002
    assert learner(train, validation, seed=5).formulas == learned.formulas
    # Nothing is chosen on validation rows: they are rows like any other.
    both = train.append(validation)
    half = np.arange(len(both)) < 60
    assert learner(both.take(half), both.take(~half), seed=5).formulas == learned.formulas


# One class against the rest


def most_frequent_literal(rows: YesNo) -> ClassRule:
    best = int(np.argmax(rows.yes @ rows.bits))
    return ClassRule(DNF([Cube([Literal(rows.names[best])])]), (f"{rows.yes.sum()} of {len(rows.yes)}",))


def three_classes(**more) -> ConceptTable:
    bits = np.repeat(np.eye(3, dtype=bool), 4, axis=0)
    return ConceptTable(bits, ["x", "y", "z"], np.repeat([2, 0, 1], 4), ["p", "q", "r"], **more)


def test_each_class_is_asked_for_on_its_own():
    learned = one_against_rest(most_frequent_literal, three_classes())
    assert [str(formula) for formula in learned.formulas] == ["y", "z", "x"]
    assert learned.notes == ("p: 4 of 12", "q: 4 of 12", "r: 4 of 12")
    assert learned.predict(three_classes()).tolist() == three_classes().labels.tolist()


def test_two_classes_are_two_questions():
    asked = []

    def learn(rows: YesNo, held: YesNo) -> ClassRule:
        asked.append((int(rows.yes.sum()), int(held.yes.sum())))
        return ClassRule(DNF.true)

    train, held = as_table(noisy(0)), as_table(noisy(1, n_rows=40))
    one_against_rest(learn, train, held)
    assert asked == [(int((train.labels == k).sum()), int((held.labels == k).sum())) for k in range(2)]


def test_a_sample_of_classes_is_said_to_be_one():
    learned = one_against_rest(most_frequent_literal, three_classes(), sample=[1])
    assert [str(formula) for formula in learned.formulas] == ["z"]
    assert learned.classes == (1,)
    assert learned.notes[-1] == "a sample of 1 of the 3 classes was learned: q."
    for bad in ([3], [-1], []):
        with pytest.raises(LogicLensError, match="sample"):
            one_against_rest(most_frequent_literal, three_classes(), sample=bad)


def test_classes_with_no_or_all_rows_are_not_learned():
    table = ConceptTable([[1, 0], [0, 1]], labels=[1, 1], class_names=["none", "all"])
    learned = one_against_rest(lambda rows: pytest.fail("asked"), table)
    assert learned.formulas == (DNF.false, DNF.true)
    assert any("none" in note for note in learned.notes)


def test_whole_weights_repeat_rows_and_others_are_refused():
    weighed = three_classes(weight=[0, 0, 0, 3] * 3)
    assert one_against_rest(most_frequent_literal, weighed).notes == ("p: 3 of 9", "q: 3 of 9", "r: 3 of 9")
    with pytest.raises(LogicLensError, match="whole numbers"):
        one_against_rest(most_frequent_literal, three_classes(weight=[0.5] * 12))


# Decision lists

cubes = st.dictionaries(st.sampled_from(NAMES[:4]), st.booleans(), max_size=3).map(
    lambda literals: Cube(Literal(name, positive) for name, positive in literals.items())
)
lists = st.builds(
    DecisionList, st.lists(st.builds(ListRule, cubes, st.booleans()), max_size=5).map(tuple), otherwise=st.booleans()
)


def first_that_applies(rules: DecisionList, row: dict[str, bool]) -> bool:
    for rule in rules.rules:
        if all(row[literal.concept] == literal.positive for literal in rule.condition):
            return rule.answer
    return rules.otherwise


@given(lists)
@examples(80)
def test_both_formulas_of_a_list_answer_as_the_list(rules):
    rows = grid(4)
    expected = [first_that_applies(rules, dict(zip(NAMES, row, strict=False))) for row in rows.tolist()]
    assert rules.spelled_out().evaluate(rows, NAMES[:4]).tolist() == expected
    assert rules.shortest().evaluate(rows, NAMES[:4]).tolist() == expected
    assert rules.shortest().n_literals <= rules.spelled_out().n_literals


def test_spelled_out_writes_every_else():
    a, b, c = (Cube([Literal(name)]) for name in "abc")
    rules = DecisionList((ListRule(a, True), ListRule(b, False), ListRule(c, True)), otherwise=False)
    assert rules.spelled_out() == DNF([a, Cube([Literal("a", False), Literal("b", False), Literal("c")])])
    assert rules.shortest() == DNF([a, Cube([Literal("b", False), Literal("c")])])
    assert rules.n_literals == 3


# Greedy rule lists and FIGS


@pytest.mark.parametrize("seed", range(3))
def test_greedy_list_answers_as_its_model(seed):
    imodels = pytest.importorskip("imodels")
    rows = noisy(seed, noise=0.25)
    model = imodels.GreedyRuleListClassifier(max_depth=4)
    with global_seed(seed):
        model.fit(rows.bits.astype(float), rows.yes.astype(int))
    found = greedy_list(rows, max_depth=4, seed=seed).shortest()
    assert (found.evaluate(grid(5), rows.names) == model.predict(grid(5).astype(float))).all()
    assert not found.is_constant


def test_greedy_list_says_no_at_exactly_one_half():
    pytest.importorskip("imodels")
    bits = np.array([[1], [1], [1], [0], [0]], dtype=bool)
    rows = YesNo(bits, ("a",), np.array([True, True, True, True, False]))
    found = greedy_list(rows, max_depth=3, seed=0)
    assert [rule.answer for rule in found.rules] == [True]
    assert not found.otherwise


@pytest.mark.parametrize("seed", range(3))
def test_figs_formula_answers_as_its_model_on_every_row(seed):
    pytest.importorskip("imodels")
    rows = noisy(seed, noise=0.2)
    model = figs(rows, max_rules=6, seed=seed)
    formula = answer_formula(model, rows.names)
    assert (formula.evaluate(grid(5), rows.names) == (model.predict(grid(5).astype(float)) == 1)).all()
    assert not formula.is_constant
    with pytest.raises(LogicLensError, match="max_rules"):
        Figs(max_rules=21)


# Bayesian rule lists


@pytest.mark.parametrize("support", [0.1, 0.3, 0.25])
def test_frequent_sets_are_those_of_fp_growth(support):
    patterns = pytest.importorskip("mlxtend.frequent_patterns")
    literals = noisy(0, n_rows=40).literals
    for width in (1, 2, 3):
        found = patterns.fpgrowth(pd.DataFrame(literals), min_support=support, max_len=width)
        expected = {tuple(sorted(items)) for items in found["itemsets"]}
        listed = frequent(literals, support, width)
        assert set(listed) == expected
        assert len(listed) == len(expected)


def test_a_rare_class_keeps_its_rules():
    bits = np.zeros((100, 3), dtype=bool)
    bits[:4, :2] = True
    bits[4:50, 2] = True
    yes = np.arange(100) < 4
    items = mined(YesNo(bits, NAMES[:3], yes).literals, yes, BRLSettings())
    assert (0, 1) in items
    # Column 2 is frequent among the others only.
    assert (2,) in items
    assert (0, 1) not in mined(YesNo(bits, NAMES[:3], yes).literals, np.ones(100, dtype=bool), BRLSettings())


@pytest.mark.parametrize("seed", range(3))
def test_the_list_is_that_of_imodels_on_the_same_rules(seed, monkeypatch):
    module = pytest.importorskip("imodels.rule_list.bayesian_rule_list.bayesian_rule_list")
    rows = noisy(seed)
    items = mined(rows.literals, rows.yes, QUICK)
    monkeypatch.setattr(
        module, "extract_fpgrowth", lambda frame, **_: [tuple(frame.columns[list(each)]) for each in items]
    )
    with global_seed(0):
        model = module.BayesianRuleListClassifier(max_iter=400, n_chains=2, random_state=seed)
        model.fit(rows.literals.astype(float), rows.yes.astype(int))
    found = bayesian_list(rows, QUICK, seed=seed)
    everything = grid(5)
    expected = model.predict(np.concatenate([everything, ~everything], axis=1).astype(float)) == 1
    assert len(found.rules) == len(model.d_star) - 1
    assert (found.spelled_out().evaluate(everything, rows.names) == expected).all()
    assert (found.shortest().evaluate(everything, rows.names) == expected).all()


def test_the_point_estimate_is_that_of_imodels():
    sampler = pytest.importorskip("imodels.rule_list.bayesian_rule_list.brl_util")
    from collections import Counter, defaultdict

    for seed in range(4):
        rows = noisy(seed, n_rows=60)
        items = mined(rows.literals, rows.yes, QUICK)
        holds = [set(range(60)), *(set(np.flatnonzero(rows.literals[:, each].all(axis=1))) for each in items)]
        answers, widths = np.stack([~rows.yes, rows.yes], axis=1).astype(int), np.array([0, *map(len, items)])
        with global_seed(seed):
            results, _ = sampler.run_bdl_multichain_serial(
                400, 1, np.ones(2), 3, 1, holds, answers, Counter(widths.tolist()), widths, 2,
                defaultdict(sampler.default_permsdic), 200, 2, [None, None], verbose=False, seed=seed,
            )  # fmt: skip
            merged = sampler.merge_chains(results)
            expected = sampler.get_point_estimate(
                merged, widths, holds, answers, np.ones(2), Counter(widths.tolist()), 2, 3, 1, verbose=False
            )
        lists = sampled(rows.literals, rows.yes, items, QUICK, seed)
        assert point_estimate(lists, items) == tuple(number - 1 for number in expected[:-1])
        assert sum(each.visits for each in lists) == sum(visits for _, visits in merged.values())


def test_the_point_estimate_is_of_average_length_and_width():
    items = [(0,), (1,), (0, 1), (2, 3)]
    lists = [
        SampledList((0, 1), -10.0, 8),
        SampledList((1, 0), -9.0, 8),
        SampledList((2, 3), -1.0, 0.5),
        SampledList((0, 1, 2), -2.0, 1),
        SampledList((), -3.0, 1),
    ]
    # Lists have 1.95 rules on average, and rules 1.06 literals: lengths 1 and 2, mean widths 1 and 2 are near enough.
    assert point_estimate(lists, items) == (2, 3)
    narrow = [*lists[:2], SampledList((2, 3), -1.0, 0)]
    assert point_estimate(narrow, items) == (1, 0)
    far_apart = [SampledList((0,), -5.0, 1), SampledList((0, 1, 2, 3), -4.0, 1)]
    assert point_estimate(far_apart, items) == (0, 1, 2, 3)


def test_visits_of_all_chains_are_counted():
    pytest.importorskip("imodels")
    rows = YesNo(noisy(0).bits[:, :1], ("a",), noisy(0).yes)
    items = mined(rows.literals, rows.yes, QUICK)
    counted = sampled(rows.literals, rows.yes, items, BRLSettings(iterations=100, chains=3), 0)
    # After the first half of 100 steps, 49 are counted.
    assert sum(each.visits for each in counted) == 3 * 49


def test_rows_without_a_pattern_get_a_list_all_the_same():
    pytest.importorskip("imodels")
    constant = YesNo(np.zeros((20, 1), dtype=bool), ("a",), np.arange(20) < 15)
    assert bayesian_list(constant, QUICK, seed=0) == DecisionList((), otherwise=True)
    noise = YesNo(np.random.default_rng(0).random((30, 2)) < 0.5, ("a", "b"), np.arange(30) % 2 == 0)
    assert bayesian_list(noise, BRLSettings(iterations=60), seed=0).spelled_out() is not None


def test_brl_tells_both_lengths_and_gives_the_one_asked_for():
    pytest.importorskip("imodels")
    train = as_table(noisy(0, n_rows=300))
    long, short = (BRL(QUICK, spelled_out=flag)(train, train, seed=0) for flag in (True, False))
    for a, b, note in zip(long.formulas, short.formulas, long.notes, strict=True):
        assert a.equivalent(b)
        assert f"{a.n_literals} literals with every else spelled out, {b.n_literals} at best" in note
    assert long.notes == short.notes
    for bad in ({"min_support": 0.0}, {"iterations": 2}, {"chains": 0}):
        with pytest.raises(LogicLensError, match=next(iter(bad))):
            BRLSettings(**bad)


# RIPPER


@pytest.mark.parametrize("seed", range(3))
def test_ripper_formula_answers_as_its_model(seed):
    pytest.importorskip("wittgenstein")
    rows = noisy(seed)
    model = Ripper().fitted(rows, seed=seed)
    formula = rule_formula(model, rows.names)
    assert formula.evaluate(grid(5), rows.names).tolist() == model.predict(pd.DataFrame(grid(5).astype(int)))
    assert not formula.is_constant
    assert any(not literal.positive for cube in formula for literal in cube)


def test_ripper_without_rules_is_false_and_silent():
    pytest.importorskip("wittgenstein")
    rows = YesNo(np.eye(6, dtype=bool), NAMES, np.arange(6) == 0)
    with warnings.catch_warnings(record=True) as seen:
        model = Ripper().fitted(rows, seed=0)
    assert seen == []
    assert len(model.ruleset_.rules) == 0
    assert rule_formula(model, rows.names) == DNF.false
    validation = as_table(rows).weighing([0] * 5 + [1])
    with warnings.catch_warnings():
        notes = Ripper(sample=(1,))(as_table(rows), validation, seed=0).notes
    assert notes[0] == "yes: RIPPER found no rule."


# Column generation


def all_cubes(n: int) -> list[tuple[int, ...]]:
    """Every cube over n concepts, as rising numbers of literals."""
    choices = product([None, True, False], repeat=n)
    return [
        tuple(sorted(j if value else n + j for j, value in enumerate(choice) if value is not None))
        for choice in choices
    ]


def fewest_errors(rows: YesNo, bound: int) -> int:
    """The errors of the best rule set of all, by trying every set of cubes that keeps to the bound."""
    cubes = [
        (1 + len(items), rows.literals[:, items].all(axis=1)) for items in sorted(all_cubes(len(rows.names)), key=len)
    ]

    def best(start: int, room: int, missed: np.ndarray, wrong: int) -> int:
        least = int(missed.sum()) + wrong
        for k in range(start, len(cubes)):
            size, covers = cubes[k]
            if size > room:
                break
            extra = int((covers & ~rows.yes).sum())
            if wrong + extra < least:
                least = min(least, best(k + 1, room - size, missed & ~covers, wrong + extra))
        return least

    return best(0, bound, rows.yes, 0)


def contrary(seed: int) -> YesNo:
    """All rows of four concepts, each a few times, with answers that follow no rule."""
    rng = np.random.default_rng(seed)
    bits = np.repeat(grid(4), rng.integers(1, 4, size=16), axis=0)
    return YesNo(bits, NAMES[:4], rng.random(len(bits)) < 0.5)


# For 35, 55 and 75 the best rule set needs a cube that the linear program never asks for; for 5, 8 and 24 adding cubes
# one by one is not enough.
CONTRARY = (35, 55, 75, 5, 8, 24)


@pytest.mark.parametrize("seed", CONTRARY)
def test_rule_sets_are_the_best_there_are(seed):
    rows = contrary(seed)
    for bounds in ((5,), (2, 5, 8)):
        limits = ColumnGeneration(bounds=bounds, max_width=4, search_nodes=10_000, solver_nodes=10_000)
        for found in rule_sets(rows, limits):
            assert found.proved
            assert found.errors == fewest_errors(rows, found.bound)
            assert len(found.formula) + found.formula.n_literals <= found.bound
            fired = found.formula.fired(rows.bits, rows.names)
            missed, wrong = (rows.yes & ~fired.any(axis=1)).sum(), fired[~rows.yes].sum()
            assert found.errors == missed + wrong


@pytest.mark.parametrize("limit", ["rounds", "search_nodes", "BEAM", "OFFERED", "GAP_CUBES"])
def test_what_is_called_proved_is_the_best_whatever_the_limits(limit, monkeypatch):
    limits = {"rounds": 50, "search_nodes": 10_000}
    if limit in limits:
        limits[limit] = 1
    elif limit == "BEAM":
        # A beam of one finds little, and a search of one node less.
        monkeypatch.setattr(pricing, "BEAM", 1)
        limits["search_nodes"] = 1
    else:
        monkeypatch.setattr(column_generation, limit, 3)
    missed = 0
    for seed in (*CONTRARY, *range(10)):
        rows = contrary(seed)
        (found,) = rule_sets(rows, ColumnGeneration(bounds=(5,), max_width=4, **limits))
        best = fewest_errors(rows, 5)
        missed += found.errors > best
        assert found.errors == best if found.proved else found.errors >= best
    # The limit matters: without it nothing would be missed.
    assert missed > 0


def test_of_equally_good_rule_sets_a_small_one_is_taken():
    bits = np.repeat(grid(3), 2, axis=0)
    rows = ConceptTable(bits, NAMES[:3], bits[:, 2].astype(int), ["no", "yes"])
    learned = ColumnGeneration(bounds=(2, 8))(rows, rows, seed=0)
    assert [str(formula) for formula in learned.formulas] == ["~c", "c"]
    assert learned.notes[1] == "yes: size at most 2: 0 errors on the training rows, proved to be the fewest."


@pytest.mark.parametrize("seed", range(4))
def test_linear_program_reaches_the_optimum_over_all_cubes(seed):
    rows = noisy(seed, n_rows=40, n=4, noise=0.3)
    yes, no = rows.yes.astype(float), (~rows.yes).astype(float)
    master = Master(rows.literals, yes, no, 6, ColumnGeneration(max_width=4, search_nodes=10_000))
    pool, prices, proved = master.relaxed(Cubes.of([()], rows.literals))
    everything = Cubes.of(all_cubes(4), rows.literals)
    assert proved
    assert prices.least == pytest.approx(master.prices(everything).least, abs=1e-6)
    assert prices.of(everything).min() >= -1e-6
    assert len(pool) < len(everything)


def narrows(items: tuple[int, ...], literals: np.ndarray) -> bool:
    """Whether each literal takes rows away from those that the literals before it leave."""
    covered = [int(literals[:, items[:width]].all(axis=1).sum()) for width in range(len(items) + 1)]
    return all(after < before for before, after in pairwise(covered))


@pytest.mark.parametrize("seed", range(5))
def test_search_finds_every_cube_that_costs_less(seed):
    rng = np.random.default_rng(seed)
    literals = noisy(seed, n_rows=9, n=4).literals
    prices = Prices(2 * rng.normal(size=9), size=0.2, least=0.0)
    limit, widest = -0.5, 3
    everything = [items for items in all_cubes(4) if len(items) <= widest]
    costs = prices.of(Cubes.of(everything, literals))
    cheap = {items: cost for items, cost in zip(everything, costs, strict=True) if cost < limit}
    found, complete = cubes_below(literals, prices, limit, Search(widest, 10_000, 10_000))
    assert complete
    assert len(set(found)) == len(found)
    assert set(found) <= set(cheap)
    assert all(narrows(items, literals) for items in found)
    # What is left out covers no row, or the same rows as something shorter that was found.
    covers = {items: literals[:, items].all(axis=1).tobytes() for items in everything}
    shown = {covers[items]: len(items) for items in sorted(found, key=len, reverse=True)}
    assert all(shown[covers[items]] <= len(items) for items in cheap)
    assert cheap
    for items in best_cubes(literals, prices, Search(widest, 1, 5)):
        assert prices.of(Cubes.of([items], literals))[0] < 0
    cut, complete = cubes_below(literals, prices, limit, Search(widest, 2, 10_000))
    assert not complete
    assert set(cut) <= set(found)


def test_the_bound_is_chosen_on_the_validation_rows():
    bits = np.repeat(grid(3), 6, axis=0)
    long = (bits[:, 0] & bits[:, 1]) | bits[:, 2]
    train = ConceptTable(bits, NAMES[:3], long.astype(int), ["no", "yes"])
    held_short = ConceptTable(bits, NAMES[:3], bits[:, 2].astype(int), ["no", "yes"])
    learner = ColumnGeneration(bounds=(2, 6))
    assert learner(train, train, seed=0).formulas[1].n_literals == 3
    short = learner(train, held_short, seed=0).formulas[1]
    assert str(short) == "c"
    assert learner(train, train, seed=0).notes[1].endswith("proved to be the fewest.")
    for bad in ({"bounds": ()}, {"bounds": (5, 5)}, {"max_width": 0}, {"rounds": 0}):
        with pytest.raises(LogicLensError, match=next(iter(bad))):
            ColumnGeneration(**bad)


@pytest.mark.parametrize(
    "learner",
    [BRL(BRLSettings(iterations=2_000)), Ripper(), Figs(), ColumnGeneration()],
    ids=lambda learner: type(learner).__name__,
)
def test_learners_find_a_clear_rule(learner):
    """What is `a and not b` is found as such, for both classes; imodels' greedy list stops at `a` here."""
    rng = np.random.default_rng(0)
    bits = rng.random((240, 5)) < 0.5
    rows = YesNo(bits, NAMES[:5], bits[:, 0] & ~bits[:, 1])
    train, held = as_table(rows).take(np.arange(160)), as_table(rows).take(np.arange(160, 240))
    learned = learner(train, held, seed=0)
    assert learned.formulas[1].equivalent(Literal("a") & Literal("b", False))
    assert learned.formulas[0].equivalent(Literal("a", False) | Literal("b"))
    assert (learned.predict(as_table(rows)) == rows.yes).all()
