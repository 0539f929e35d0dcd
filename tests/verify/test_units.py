"""The checker on compiled heads: what it proves below and above 20 concepts, and what it refuses."""

from __future__ import annotations

import copy
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from logiclens.formula import DNF, parse
from logiclens.formula.dnf import Complement, Cube, Literal
from logiclens.nn import EntropyNet
from logiclens.verify import Refuted, Unusable, VerificationError, units, verify
from logiclens.verify.network import LARGEST, TINY, Head, Layer, Linear, gamma
from logiclens.verify.units import Unproved, prove
from tests.oracles.certified import Saved, all_rows
from tests.oracles.compiled import compiled, random_formula, saved_compiled
from tests.oracles.rounding import PlainHead, worst_logit

SIZES = [(6, 5), (16, 12), (20, 40), (21, 10), (60, 40)]
DAMAGED_SIZES = [pytest.param(*size, marks=pytest.mark.slow) if size == (20, 40) else size for size in SIZES]


def names(m: int) -> list[str]:
    return [f"c{j}" for j in range(m)]


def case_formula(m: int, n_cubes: int, seed: int = 0) -> DNF:
    formula = random_formula(np.random.default_rng(seed), names(m), n_cubes, max(8, m // n_cubes + 2))
    assert len(formula.concepts) == m
    return formula


def case(m: int, n_cubes: int, seed: int = 0, *, complement: bool = False) -> Saved:
    """Two classes: a formula that uses m concepts, and its complement or a short formula of its own."""
    formula = case_formula(m, n_cubes, seed)
    return saved_compiled([formula, Complement(formula) if complement else parse("c0 & ~c1")], names(m))


def refused(saved: Saved, folder: Path) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        verify(saved.write(folder))
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return caught.value


# ---- success


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize(("m", "n_cubes"), SIZES)
def test_compiled_heads_are_verified(m, n_cubes, complement, tmp_path):
    saved = case(m, n_cubes, complement=complement)
    start = time.process_time()
    report = verify(saved.write(tmp_path))
    assert time.process_time() - start < 60
    first, second = report.classes
    assert first.rows == 2**m
    assert first.smallest_logit == pytest.approx(1.0)
    assert 0 < first.bound < 0.1
    assert ("proved unit by unit" in first.domain) == (m > 20)
    assert second.formula.startswith("otherwise (not: ") == complement
    last = "class 1" if complement else "class 0, class 1; otherwise class 1"
    assert report.decides.startswith("The first that applies decides: ")
    assert report.decides.endswith(f"{last}.")


def test_the_most_uneven_large_formula_is_verified(tmp_path):
    """One concept in all cubes, one cube of all concepts: the smallest weight beside the longest sum."""
    cubes = [Cube([Literal("c0"), Literal(f"c{2 * k + 1}"), Literal(f"c{2 * k + 2}", False)]) for k in range(39)]
    formula = DNF([*cubes, Cube(Literal(name) for name in names(100))])
    report = verify(saved_compiled([formula, Complement(formula)], names(100)).write(tmp_path))
    assert all(entry.bound < 0.5 for entry in report.classes)


@pytest.mark.parametrize("n_cubes", [400, pytest.param(1_000, marks=pytest.mark.slow)])
def test_hundreds_of_cubes_over_twenty_concepts_are_verified(tmp_path, n_cubes):
    """The bound of all rows adds up over the cubes and does not suffice; that of units does not add up."""
    rng = np.random.default_rng(0)
    formula = DNF(Cube(Literal(f"c{j}", bool(rng.integers(2))) for j in range(20)) for _ in range(n_cubes))
    (entry,) = verify(saved_compiled([formula], names(20)).write(tmp_path)).classes
    assert entry.smallest_logit == 1.0
    assert entry.bound < 0.1


@pytest.mark.parametrize("formula", [DNF.true, DNF.false])
def test_constant_heads_are_verified(formula, tmp_path):
    report = verify(saved_compiled([formula, Complement(formula)], ["a", "b"]).write(tmp_path))
    assert [entry.domain for entry in report.classes] == ["the one row of no concepts"] * 2


@pytest.mark.parametrize("resolve", ["order", "confidence", "none"])
def test_several_classes_and_labels_are_verified(resolve, tmp_path):
    formulas = [parse("a & b"), parse("~a | c"), parse("b")]
    report = verify(saved_compiled(formulas, ["a", "b", "c"], resolve=resolve, otherwise=0).write(tmp_path))
    assert (", class 1, class 2; otherwise class 0." in report.decides) == (resolve == "order")
    report = verify(saved_compiled(formulas, ["a", "b", "c"], resolve=resolve, multilabel=True).write(tmp_path))
    assert report.decides == "Every label is decided by its own formula."


# ---- what is proved is so: brute force and random rows


def head_of(net: EntropyNet, head: int) -> Head:
    weight, bias, out, offset = (p.detach().double().numpy()[head] for p in net.parameters())
    return Head(Linear(weight, bias), net.entropy.keep[head].numpy(), (Linear(out, offset),), net.entropy.temperature)


def as_cubes(formula: DNF) -> tuple[tuple[tuple[str, bool], ...], ...]:
    return tuple(tuple((literal.concept, literal.positive) for literal in cube) for cube in formula)


@pytest.mark.parametrize("seed", range(30))
def test_proofs_on_damaged_heads_hold_on_every_float32_row(seed):
    """Weights are changed at random; whenever the proof still succeeds, brute force must agree."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 15))
    formula = random_formula(rng, names(m), int(rng.integers(2, 10)), 5)
    net = compiled([formula, Complement(formula)], names(m), ["x", "y"]).weights.network()
    concepts = [name for name in names(m) if name in formula.concepts]
    rows = np.zeros((2 ** len(concepts), m), dtype=bool)
    rows[:, [names(m).index(name) for name in concepts]] = all_rows(len(concepts))
    expected = formula.evaluate(rows, names(m))
    proved = 0
    for _ in range(60):
        damaged = copy.deepcopy(net)
        with torch.no_grad():
            for parameter in damaged.parameters():
                some = torch.from_numpy(rng.random(parameter.shape) < rng.choice([0.02, 0.3]))
                noise = torch.from_numpy(rng.normal(0, rng.choice([0.001, 0.03, 0.3]), parameter.shape))
                parameter.copy_(torch.where(some, parameter * (1 + noise), parameter))
            answers = damaged(torch.from_numpy(rows).float()).numpy() >= 0
        for head in (0, 1):
            try:
                prove(head_of(damaged, head), as_cubes(formula), concepts, is_complement=head == 1)
            except Unproved:
                continue
            proved += 1
            np.testing.assert_array_equal(answers[:, head], expected != (head == 1))
    assert 5 < proved < 115


@pytest.mark.parametrize("m", [40, 60])
def test_what_is_proved_of_wide_heads_holds_on_random_rows(m):
    rng = np.random.default_rng(m)
    formula = random_formula(rng, names(m), 40, 8)
    made = compiled([formula, Complement(formula)], names(m), ["x", "y"])
    rows = rng.random((50_000, m)) < 0.5
    # Many rows on which some cube holds or just fails.
    for r, cube in zip(range(len(rows)), list(formula.cubes) * 500, strict=False):
        for literal in cube:
            rows[r, names(m).index(literal.concept)] = literal.positive if rng.random() < 0.8 else not literal.positive
    expected = formula.evaluate(rows, names(m))
    assert 0.05 < expected.mean() < 0.95
    with torch.no_grad():
        logits = made.weights.network()(torch.from_numpy(rows).float()).numpy()
    np.testing.assert_array_equal(logits[:, 0] >= 0, expected)
    np.testing.assert_array_equal(logits[:, 1] >= 0, ~expected)
    for head in (0, 1):
        concepts = list(made.certificate.heads[head].concepts)
        proof = prove(head_of(made.weights.network(), head), as_cubes(formula), concepts, is_complement=head == 1)
        assert np.abs(logits[:, head]).min() >= proof.smallest - proof.bound


@pytest.mark.parametrize("seed", range(6))
def test_proofs_on_rounded_weights_hold_in_any_summation_order(seed):
    """Weights that are no round numbers, units and concepts in another order, and rows on which one literal fails."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(21, 60))
    formula = random_formula(rng, names(m), 30, 10)
    net = compiled([formula], names(m), ["x"]).weights.network()
    with torch.no_grad():
        order = torch.from_numpy(rng.permutation(len(formula)))
        net.entropy.weight.copy_(net.entropy.weight[:, order] * 0.7)
        net.entropy.bias.copy_(net.entropy.bias[:, order] * 0.7)
        net.tail[1].weight.copy_(net.tail[1].weight[:, :, order] * 1.3)
        net.tail[1].bias.mul_(0.7 * 1.3)
    rows = np.repeat(rng.random((20 * len(formula), m)) < 0.5, 2, axis=0)
    for r in range(len(rows)):
        cube = formula.cubes[r // 2 % len(formula)]
        for literal in cube:
            rows[r, names(m).index(literal.concept)] = literal.positive
        if r % 2:
            failing = cube.literals[int(rng.integers(len(cube)))]
            rows[r, names(m).index(failing.concept)] ^= True
    expected = formula.evaluate(rows, names(m))
    assert 0.4 < expected.mean() < 1
    concepts = [name for name in names(m) if name in formula.concepts]
    proof = prove(head_of(net, 0), as_cubes(formula), concepts, is_complement=False)
    with torch.no_grad():
        logits = net(torch.from_numpy(rows).float())[:, 0].numpy()
    np.testing.assert_array_equal(logits >= 0, expected)
    assert np.abs(logits).min() >= proof.smallest - proof.bound
    head = PlainHead(
        *(parameter.detach().double()[0].tolist() for parameter in (net.entropy.weight, net.entropy.bias)),
        net.entropy.keep[0].tolist(),
        [tuple(parameter.detach().double()[0].tolist() for parameter in net.tail[1].parameters())],
        1.0,
    )
    for row in rows[:20].astype(int).tolist():
        assert min(abs(worst_logit(head, row, side)) for side in (1, -1)) >= proof.smallest - proof.bound


# ---- what is refused


def as_formula(cubes: list[dict[str, bool]]) -> DNF:
    return DNF(Cube(Literal(name, value) for name, value in cube.items()) for cube in cubes)


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize(("m", "n_cubes"), DAMAGED_SIZES)
class TestDamage:
    """Changes with right hashes, in both files where the two must fit each other."""

    def test_a_changed_weight(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        head = int(complement)
        unit, concept = np.argwhere(saved.weights["entropy.weight"][head])[0]
        saved.weights["entropy.weight"][head, unit, concept] *= -1
        error = refused(saved, tmp_path)
        assert isinstance(error, Refuted)
        if m > 20:
            assert f"class 'class {head}': " in str(error)
            assert "hidden unit" in str(error)

    def test_a_weight_that_is_a_little_too_small(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        head = int(complement)
        unit, concept = np.argwhere(saved.weights["entropy.weight"][head])[-1]
        saved.weights["entropy.weight"][head, unit, concept] *= 0.1
        error = refused(saved, tmp_path)
        assert isinstance(error, Refuted)
        assert "the head" in str(error) if m <= 20 else "hidden unit" in str(error)

    def test_a_changed_bias(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        saved.weights["entropy.bias"][int(complement), 0] += 1
        assert isinstance(refused(saved, tmp_path), Refuted)

    def test_an_outgoing_weight_of_the_wrong_sign(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        saved.weights["tail.1.weight"][int(complement), 0, 1] *= -1
        error = refused(saved, tmp_path)
        assert isinstance(error, Refuted)
        if m > 20:
            assert "its outgoing weight makes it count for the wrong answer" in str(error)

    def test_a_last_bias_of_the_wrong_sign(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        saved.weights["tail.1.bias"][int(complement)] *= -1
        error = refused(saved, tmp_path)
        assert isinstance(error, Refuted)
        if m > 20:
            assert "where no cube of its formula holds, the last bias alone gives the wrong answer" in str(error)

    def test_a_swapped_literal(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        cubes = copy.deepcopy(saved.entry("class 0")["formula"])
        before = as_formula(cubes)
        for concept in cubes[1]:
            cubes[1][concept] = not cubes[1][concept]
            if not as_formula(cubes).equivalent(before):
                break
        saved.set_formula(cubes, "class 0")
        error = refused(saved, tmp_path)
        assert isinstance(error, Refuted)
        assert "class 'class 0': " in str(error)
        assert "the formula says" in str(error) if m <= 20 else "hidden unit 2 reads " in str(error)

    def test_a_missing_cube(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        cubes = saved.entry("class 0")["formula"]
        # One whose concepts are all in others too, so that the head keeps what the formula uses.
        rest = next(
            k for k in range(len(cubes)) if all(any(c in o for o in cubes if o is not cubes[k]) for c in cubes[k])
        )
        saved.set_formula([*cubes[:rest], *cubes[rest + 1 :]], "class 0")
        error = refused(saved, tmp_path)
        assert isinstance(error, Refuted)
        if m > 20:
            assert f"hidden unit {rest + 1} reads " in str(error)
            assert "which is no cube of the formula" in str(error)
        else:
            assert "the formula says no, the head yes" in str(error)

    def test_a_cube_too_many(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        cubes = saved.entry("class 0")["formula"]
        rows = np.random.default_rng(0).random((2_000, m)) < 0.5
        off = rows[~as_formula(cubes).evaluate(rows, names(m))][0]
        saved.set_formula([*cubes, dict(zip(names(m), off.tolist(), strict=True))], "class 0")
        error = refused(saved, tmp_path)
        assert isinstance(error, Refuted)
        if m > 20:
            assert "no hidden unit reads the cube " in str(error)
            assert str(error).split(". Do not")[0].endswith(" of the formula")
        else:
            assert "the formula says yes, the head no" in str(error)

    def test_a_cube_that_one_file_does_not_have(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        saved.rules("class 0")["cubes"].pop()
        error = refused(saved, tmp_path)
        assert "the formula in certificate.json is not the one that model.json prints" in str(error)

    def test_a_concept_that_is_not_kept(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        saved.weights["entropy.keep"][0, 2] = False
        assert "the head keeps the concepts" in str(refused(saved, tmp_path))

    def test_a_smallest_logit_that_is_too_good(self, m, n_cubes, complement, tmp_path):
        saved = case(m, n_cubes, complement=complement)
        saved.entry("class 0")["smallest_logit"] = 1.5
        assert "the smallest |logit| is 1, and certificate.json says 1.5" in str(refused(saved, tmp_path))


def test_a_compiled_heads_kept_concept_without_weight_is_refused(tmp_path):
    saved = saved_compiled([parse("a"), parse("b")], ["a", "b"])
    saved.weights["entropy.keep"][0, 1] = True
    saved.entry("class 0").update(concepts=["a", "b"], rows_checked=4)
    assert "keeps 'b', which its formula does not use" in str(refused(saved, tmp_path))


def test_an_irrelevant_concept_is_refused_in_a_compiled_head(tmp_path):
    saved = saved_compiled([parse("a & b"), parse("b")], ["a", "b"])
    saved.model["network"]["temperature"] = 0.1
    saved.weights["entropy.weight"][0, 0, 0] = 0.5
    assert "'a' has relevance 0.00674 in it, below 0.5" in str(refused(saved, tmp_path))


def test_two_hidden_layers_are_not_proved_by_units():
    net = compiled([parse("a")], ["a"], ["x"]).weights.network()
    one = head_of(net, 0)
    two = Head(one.entropy, one.keep, (one.tail[0], one.tail[0]), 1.0)
    with pytest.raises(Unproved, match="2 hidden layers"):
        prove(two, ((("a", True),),), ["a"], is_complement=False)


def test_a_unit_that_is_0_before_rounding_is_unproved(tmp_path):
    saved = case(30, 10)
    weight = saved.weights["entropy.weight"][0, 0]
    # Where the weakest literal fails, the unit is exactly 0.
    saved.weights["entropy.bias"][0, 0] = abs(weight[weight != 0]).min() - weight.clip(min=0).sum()
    assert "where one of these literals fails" in str(refused(saved, tmp_path))


def test_a_unit_that_does_not_count_must_not_overflow_either(tmp_path):
    saved = saved_compiled([case_formula(30, 10), case_formula(30, 9, seed=1)], names(30))
    assert not saved.weights["entropy.weight"][1, 9].any()
    saved.weights["entropy.bias"][1, 9] = 3e38
    assert "class 'class 1': the weights are so large that float32 may overflow" in str(refused(saved, tmp_path))


@pytest.mark.parametrize("size", [1e30, 1e38])
def test_weights_that_overflow_are_not_proved(size):
    saved = case(30, 10)
    for name, place in (("entropy.weight", (0, 0, 0)), ("entropy.bias", (0, 0))):
        damaged = saved.copy()
        damaged.weights[name][place] = size
        weights = damaged.weights
        head = Head(
            Linear(weights["entropy.weight"][0].astype(float), weights["entropy.bias"][0].astype(float)),
            weights["entropy.keep"][0],
            (Linear(weights["tail.1.weight"][0].astype(float), weights["tail.1.bias"][0].astype(float)),),
            1.0,
        )
        formula = tuple(tuple(cube.items()) for cube in saved.entry("class 0")["formula"])
        with pytest.raises(Unproved):
            prove(head, formula, names(30), is_complement=False)


# ---- order, complement and otherwise


def both(saved: Saved, key: str, value: object) -> None:
    saved.certificate[key] = saved.model["rules"][key] = value


DECISIONS = [
    ("resolve", lambda s: s.certificate.update(resolve="none"),
     "certificate.json has resolve 'none', the rules in model.json have 'order'"),
    ("order", lambda s: s.certificate.update(order=[1, 0, 2]),
     "certificate.json has order ['class 1', 'class 0', 'class 2'], the rules in model.json have ['class 0', 'cla"),
    ("stored order", lambda s: s.model["rules"].update(order=[2, 1, 0]), "certificate.json has order ['class 0',"),
    ("short order", lambda s: both(s, "order", [0, 1]),
     "the order ['class 0', 'class 1'] must name each class with a formula once: ['class 0', 'class 1', 'class 2']"),
    ("no order", lambda s: both(s, "order", []), "the order [] must name each class with a formula once"),
    ("otherwise", lambda s: s.certificate.update(otherwise=1),
     "certificate.json has otherwise 'class 1', the rules in model.json have 'class 2'"),
    ("nobody", lambda s: s.model["rules"].update(otherwise=None),
     "certificate.json has otherwise 'class 2', the rules in model.json have None"),
    ("labels", lambda s: (s.model.update(multilabel=True, labels=[0, 1, 2]), s.model["rules"].update(multilabel=True)),
     "a row can have several labels, and yet the rules have an order of classes"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), [case[1:] for case in DECISIONS], ids=[case[0] for case in DECISIONS])
def test_who_decides_is_checked_against_the_stored_rules(change, words, tmp_path):
    saved = saved_compiled([parse("a & b"), parse("~a"), parse("c")], ["a", "b", "c"])
    change(saved)
    error = refused(saved, tmp_path)
    assert isinstance(error, Refuted)
    assert words in str(error)


def test_labels_have_no_class_otherwise(tmp_path):
    saved = saved_compiled([parse("a"), parse("b")], ["a", "b"], multilabel=True)
    both(saved, "otherwise", 1)
    assert "nothing fires the class 'class 1', and a row can have several labels" in str(refused(saved, tmp_path))


def make_formula(saved: Saved) -> None:
    saved.entry("class 1").update(complement_of=None, formula=[{"a": False}, {"b": True}])


def give_rules(saved: Saved) -> None:
    saved.model["rules"]["classes"][1] = {"class": "class 1", "cubes": []}
    both(saved, "order", [0, 1])


COMPLEMENTS = [
    ("otherwise", lambda s: both(s, "otherwise", 0),
     "class 'class 1' is a complement, and yet rows on which nothing fires get 'class 0'"),
    ("order", lambda s: both(s, "order", [0, 1]),
     "the order ['class 0', 'class 1'] must name each class with a formula"),
    ("formula", make_formula,
     "certificate.json has class 'class 1' as a class with a formula, the rules in model.json as the complement of"),
    ("rules", give_rules,
     "certificate.json has class 'class 1' as the complement of 'class 0', the rules in model.json as a class with"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), [case[1:] for case in COMPLEMENTS], ids=[case[0] for case in COMPLEMENTS])
def test_a_complement_is_checked_against_the_stored_rules(change, words, tmp_path):
    formula = parse("a & ~b")
    saved = saved_compiled([formula, Complement(formula)], ["a", "b"])
    change(saved)
    error = refused(saved, tmp_path)
    assert isinstance(error, Refuted)
    assert words in str(error)


def test_only_one_of_two_classes_can_be_a_complement(tmp_path):
    formula = parse("a & ~b")
    saved = saved_compiled([formula, Complement(formula), parse("b")], ["a", "b"])
    assert "class 'class 1' is a complement, which only one of two classes can be" in str(refused(saved, tmp_path))


UNUSABLE = [
    ("origin", lambda s: s.entry("class 0").update(origin="grown"),
     "classes[0].origin in certificate.json must be one of 'compiled from the formula', 'compiled from the edited "
     "formula', got 'grown'"),
    ("rows", lambda s: s.entry("class 0").update(rows_checked=2**30),
     "classes[0].rows_checked in certificate.json must be null where there are more than 20 concepts"),
    ("complement", lambda s: s.entry("class 1").update(complement_of=1), "is the complement of head 1, of which that"),
    ("cubes", lambda s: s.entry("class 1").update(formula=[]),
     "must be null for a complement, which has the formula of"),
    ("stored", lambda s: s.model["rules"]["classes"][1].update(complement_of=1),
     "rules.classes in model.json has 'class 1' as the complement of class number 1, which has no formula"),
    ("resolve", lambda s: s.certificate.update(resolve="dice"),
     "resolve in certificate.json must be one of 'order', 'co"),
    ("order", lambda s: s.certificate.update(order=[0, 0]),
     "order in certificate.json must be a list of classes, counted"),
    ("order too far", lambda s: s.certificate.update(order=[2]), "counted from 0 to 1, each at most once, got [2]"),
    ("otherwise", lambda s: s.certificate.update(otherwise=2),
     "otherwise in certificate.json must be null or one of the"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), [case[1:] for case in UNUSABLE], ids=[case[0] for case in UNUSABLE])
def test_what_is_unusable_and_in_which_words(change, words, tmp_path):
    saved = case(30, 10, complement=True)
    change(saved)
    error = refused(saved, tmp_path)
    assert isinstance(error, Unusable), error
    assert words in str(error)
    assert len(str(error)) < 400


@pytest.mark.parametrize("offset", [-0.5, -1e-3, -3 * 2.0**-126])
@pytest.mark.parametrize(("top", "error", "gain"), [(1.0, 1e-5, 1.0), (3.0, 1e-3, 0.7), (1e30, 1.0, 1e-10)])
def test_the_bound_of_units_is_the_stated_one(offset, top, error, gain):
    """Step 4, number by number."""
    width, eta = 7, 2.0**-126
    g = (width + 1) * 2.0**-24 / (1 - (width + 1) * 2.0**-24)
    certain = (1 - g) * gain * (top - error) - (1 + g) * abs(offset) - 4 * (width + 2) * eta - 2 * eta * (top + error)
    unit = units._Unit(0, (("a", True),), top, error, gain)
    proof = units._output([unit, units._Unit(1, (), 5 * top, error, gain)], offset, width)
    assert proof.smallest == min(-offset, gain * top + offset)
    expected = max(proof.smallest - min(certain, -offset), g * -offset) * (1 + 2.0**-20)
    assert proof.bound == pytest.approx(expected, rel=1e-12, abs=0)


def test_an_output_that_float32_does_not_decide_is_unproved():
    eta = 2.0**-126
    unit = units._Unit(0, (("a", True),), 1.0, 1e-5, 1.0)
    units._output([unit], -2.5 * eta, 1)
    for offset in (-2 * eta, 0.0, 1.0):
        with pytest.raises(units.Unproved, match="the last bias alone gives the wrong answer"):
            units._output([unit], offset, 1)
    with pytest.raises(units.Unproved, match="may not outweigh the last bias"):
        units._output([unit], -1.0, 1)
    # Numbers near 0: what the products may lose decides.
    loses = units._Unit(0, (("a", True),), 40 * eta, 0.0, 1.0)
    assert units._output([loses], -20 * eta, 1).smallest == 20 * eta
    with pytest.raises(units.Unproved, match="may not outweigh the last bias"):
        units._output([loses], -29 * eta, 1)
    large = float(np.finfo(np.float32).max) / 2
    with pytest.raises(units.Unproved, match="may overflow"):
        units._output([units._Unit(0, (), large, 0.0, 1.0)], -1.0, 1)
    with pytest.raises(units.Unproved, match="may overflow"):
        units._output([units._Unit(0, (), 0.6 * large, 0.5 * large, 1.0)], -1.0, 1)
    assert units._output([units._Unit(0, (), 0.9 * large, 0.0, 1.0)], -1.0, 1).smallest == 1.0


def test_a_long_cube_is_cut_in_messages():
    short, long = tuple((f"c{j:03}", True) for j in range(29)), tuple((f"c{j:03}", True) for j in range(30))
    assert units._cube_text(short) == " & ".join(name for name, _ in short)
    assert len(units._cube_text(long)) == 200
    assert units._cube_text(long).endswith("...")
    assert str(units._Unit(4, (("a", False),), 1.0, 0.0, 1.0)) == "hidden unit 5 reads ~a"


# ---- numbers at the edges of what is proved


def unit_with(monkeypatch: pytest.MonkeyPatch, top: float, error: float, *, gain: float = 1.0) -> list[units._Unit]:
    """The units of a head of one unit that reads `a` with the weight 1, and whose value errs by exactly this much."""
    folded = Layer(
        np.ones((1, 1)), np.array([top - 1]), np.zeros((0, 1)), np.zeros((1, 1)), np.array([error]), 2.0**-23
    )
    monkeypatch.setattr(units, "entropy_layer", lambda head: folded)
    monkeypatch.setattr(units, "SPARE", 1.0)
    head = Head(Linear(np.ones((1, 1)), np.array([top - 1])), np.ones(1, dtype=bool), (), 1.0)
    return units._units(head, ["a"], np.array([gain]))


def test_a_unit_that_is_never_above_0_does_not_count(monkeypatch):
    assert unit_with(monkeypatch, -0.25, 0.25) == []
    assert unit_with(monkeypatch, 0.5, 0.25, gain=0.0) == []
    with pytest.raises(Unproved, match="may be 0 where that holds"):
        unit_with(monkeypatch, -0.25, 0.2500001)


def test_a_unit_must_exceed_0_by_more_than_its_error(monkeypatch):
    with pytest.raises(Unproved, match="may be 0 where that holds"):
        unit_with(monkeypatch, 0.25, 0.25)
    (unit,) = unit_with(monkeypatch, 0.25, 0.2499999)
    assert unit == units._Unit(0, (("a", True),), 0.25, 0.2499999, 1.0)


def test_a_unit_is_at_most_0_where_a_literal_fails(monkeypatch):
    # Its value is then top - 1, and may err upwards.
    assert [unit.top for unit in unit_with(monkeypatch, 0.75, 0.25)] == [0.75]
    with pytest.raises(Unproved, match=r"as large as .* where one of these literals fails"):
        unit_with(monkeypatch, 0.75, 0.2500001)
    with pytest.raises(Unproved, match=r"as large as 0\.5 where one of these literals fails"):
        unit_with(monkeypatch, 1.25, 0.25)


def test_a_unit_of_negative_gain_counts_for_the_wrong_answer(monkeypatch):
    with pytest.raises(Unproved, match="makes it count for the wrong answer"):
        unit_with(monkeypatch, 0.75, 0.25, gain=-1e-30)


@pytest.mark.parametrize(("share", "is_right"), [(0.4, True), (0.4999999, True), (0.5, False)])
def test_a_strength_whose_double_overflows_proves_nothing(share, is_right):
    """That of a concept that the head does not keep."""
    inner = Linear(np.array([[1.0, share * LARGEST]]), np.array([-0.5]))
    given = Head(inner, np.array([True, False]), (), 1.0)
    if is_right:
        assert [unit.cube for unit in units._units(given, ["a"], np.ones(1))] == [(("a", True),)]
    else:
        with pytest.raises(Unproved, match="lose the relevance of a concept"):
            units._units(given, ["a"], np.ones(1))


def test_an_error_that_may_overflow_proves_nothing(monkeypatch):
    # The error divided by g(k) bounds what float32 meets on the way.
    limit = LARGEST / 2 * 2.0**-23
    with pytest.raises(Unproved, match="lose the relevance of a concept"):
        unit_with(monkeypatch, 3 * limit, limit)
    with pytest.raises(Unproved, match="where one of these literals fails"):
        unit_with(monkeypatch, 3 * limit, limit * (1 - 2.0**-30))


@pytest.mark.parametrize("keep", [1, 2])
def test_errors_of_units_count_what_is_lost_near_0(keep):
    kept = np.arange(2) < keep
    head = Head(Linear(np.zeros((1, 2)), np.full(1, 1e-30)), kept, (), 1.0)
    (unit,) = units._units(head, ["a", "b"], np.ones(1))
    g = gamma(keep + 1)
    stated = (keep * (1 + g) * 2 * TINY + g * 1e-30 + 4 * (keep + 2) * TINY) * (1 + 2.0**-20) + 4 * TINY
    assert unit == units._Unit(0, (), 1e-30, pytest.approx(stated, rel=1e-14, abs=0), 1.0)


def near(value: float) -> object:
    return pytest.approx(value, rel=1e-9, abs=0)


def test_the_smallest_logit_is_that_of_the_weakest_cube():
    g, spare = gamma(2), 1 + 2.0**-20
    weak, strong = units._Unit(0, (), 1.0, 0.0, 1.0), units._Unit(1, (), 2.0, 0.0, 2.0)
    for some in ([weak, strong], [strong, weak]):
        proof = units._output(some, -0.75, 1)
        # The product and its sum are rounded, and so is the last bias: 0.25 errs by g (1 + 0.75).
        assert proof == units.Proof(0.25, pytest.approx(1.75 * g * spare, rel=1e-6, abs=0))
    # Where no cube holds, the logit is the last bias, which is not rounded.
    assert units._output([strong], -0.75, 1) == units.Proof(0.75, near(0.75 * g * spare))
    assert units._output([], -0.75, 1) == units.Proof(0.75, near(0.75 * g * spare))


def test_what_the_output_may_lose_near_0_lowers_the_proof():
    g, spare = gamma(8), 1 + 2.0**-20
    # A product of 100η: n = 7 more operations lose 4(n + 2)η, and what enters with top and error loses 2η each.
    proof = units._output([units._Unit(0, (), 1.0, 0.0, 100 * TINY)], -40 * TINY, 7)
    certain = (1 - g) * 100 - 2 - (1 + g) * 40 - 36
    assert proof == units.Proof(40 * TINY, near((40 - certain) * TINY * spare))
    top, error, gain = 1e37, 1e36, 8 * TINY
    certain = (1 - g) * gain * (top - error) - 2 * TINY * (top + error) - (1 + g) * 0.5
    proof = units._output([units._Unit(0, (), top, error, gain)], -0.5, 7)
    assert 0 < certain < 0.1
    assert proof == units.Proof(near(gain * top - 0.5), near((gain * top - 0.5 - certain) * spare))


def test_an_output_outweighs_the_last_bias_beyond_its_error():
    # With products of whole numbers of η, all that counts is 2η and 4(n + 2)η.
    offset = -8 * TINY
    for gain, is_right in [(8 + 2 + 12 + 0.01, True), (8 + 2 + 12 - 0.01, False)]:
        unit = units._Unit(0, (), 1.0, 0.0, gain * TINY)
        if is_right:
            assert units._output([unit], offset, 1).smallest == 8 * TINY
        else:
            with pytest.raises(Unproved, match="may not outweigh the last bias"):
                units._output([unit], offset, 1)


def test_an_output_that_just_balances_the_last_bias_is_unproved():
    g = gamma(2)
    # (1 - g)(1 + g) - (1 + g)(1 - g); what is lost near 0 is below the precision of that.
    with pytest.raises(Unproved, match="may not outweigh the last bias"):
        units._output([units._Unit(0, (), 1.0, 0.0, 1 + g)], g - 1, 1)


def test_the_sum_of_all_units_must_not_overflow():
    half = LARGEST / 2
    third = units._Unit(0, (), half / 3, 0.0, 1.0)
    assert units._output([third, third], -0.3 * half, 2).smallest == pytest.approx(half / 30, rel=1e-9)
    with pytest.raises(Unproved, match="so large that float32 may overflow"):
        units._output([third, third], -0.3334 * half, 2)
    with pytest.raises(Unproved, match="so large that float32 may overflow"):
        units._output([third, third, third], -1.0, 3)


@pytest.mark.parametrize("is_complement", [False, True])
def test_a_proof_weighs_the_output_and_its_bias(is_complement):
    sign = -1.0 if is_complement else 1.0
    last = Linear(np.array([[sign * 4.0]]), np.array([sign * -0.25]))
    given = Head(Linear(np.ones((1, 2)), np.full(1, -1.875)), np.ones(2, dtype=bool), (last,), 1.0)
    formula = ((("a", True), ("b", True)),)
    proof = prove(given, formula, ["a", "b"], is_complement=is_complement)
    # Where both hold, the unit is 0.125 and the logit 4 · 0.125 - 0.25; elsewhere it is the last bias.
    assert proof.smallest == 0.25
    heavier = Head(given.entropy, given.keep, (Linear(last.weight, last.bias * 1.6),), 1.0)
    assert prove(heavier, formula, ["a", "b"], is_complement=is_complement).smallest == pytest.approx(0.1, rel=1e-12)
    with pytest.raises(Unproved):
        prove(given, formula, ["a", "b"], is_complement=not is_complement)
