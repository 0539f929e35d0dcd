"""The authors' training and aggregation, compared with a slow twin in plain loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import sympy
import torch
from sklearn.metrics import accuracy_score, f1_score
from sympy.logic.boolalg import Boolean

from lab.runs.authors import (
    Aggregation,
    ClassRules,
    Step,
    aggregate_as_authors,
    simplified,
    train_as_authors,
    untrained,
)
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.text import parse
from tests.oracles import paper_layer
from tests.rigged import Rigged

# The twin --------------------------------------------------------------------------------------------------------


def holds(formula: Boolean, row: dict[str, bool]) -> bool:
    """A formula of sympy on one row, without sympy's help."""
    if isinstance(formula, sympy.Symbol):
        return row[formula.name]
    if isinstance(formula, sympy.Not):
        return not holds(formula.args[0], row)
    if isinstance(formula, sympy.And):
        return all(holds(part, row) for part in formula.args)
    if isinstance(formula, sympy.Or):
        return any(holds(part, row) for part in formula.args)
    return bool(formula)


def conjunction(literals: Sequence[Literal]) -> Boolean:
    symbols = [sympy.Symbol(literal.concept) for literal in literals]
    return sympy.And(*(s if lit.positive else ~s for s, lit in zip(symbols, literals, strict=True)))


def scored(formula: Boolean, rows: list[dict[str, bool]], labels: list[bool], score: str) -> float:
    said = [holds(formula, row) for row in rows]
    if score == "accuracy":
        return float(accuracy_score(labels, said))
    return float(f1_score(labels, said, average="macro", zero_division=0))


def as_dicts(table: ConceptTable) -> list[dict[str, bool]]:
    return [{n: bool(v > 0.5) for n, v in zip(table.names, values, strict=True)} for values in table.values.tolist()]


def twin(network, local: ConceptTable, judged: ConceptTable, target: int, how: Aggregation) -> tuple[Boolean, float]:
    """What the description says, word for word; the formula is None where there is none."""
    layer = network.entropy
    attention = layer.attention()[target].tolist()
    ordered = sorted(range(local.n_concepts), key=lambda j: attention[j])
    columns = [j for j in ordered if attention[j] / max(attention) > 0.5]
    if how.max_minterm is not None:
        columns = sorted(range(local.n_concepts), key=lambda j: -attention[j])[: how.max_minterm]
    rows, judged_rows = as_dicts(local), as_dicts(judged)
    judged_labels = [label == target for label in judged.labels.tolist()]
    negative, positive = [], []
    for row, label in zip(rows, local.labels.tolist(), strict=True):
        logits = network.eval()(torch.tensor([[float(row[name]) for name in local.names]]))[0].tolist()
        if (label == target) == (logits[target] > how.logit_cut):
            (positive if label == target else negative).append(row)
    if len(positive) < 2 or len(negative) < 2:
        return None, 0.0
    kept_rows = negative + positive
    kept_labels = [False] * len(negative) + [True] * len(positive)
    on = (kept_rows, kept_labels) if how.reduced_on == "kept" else (judged_rows, judged_labels)

    minterms: list[tuple[Literal, ...]] = []
    for row in positive:
        minterm = tuple(Literal(local.names[j], row[local.names[j]]) for j in columns)
        if minterm not in minterms:
            minterms.append(minterm)

    def reduce(minterm: tuple[Literal, ...]) -> list[Literal]:
        kept, base = list(minterm), scored(conjunction(minterm), *on, how.score)
        for literal in minterm:
            rest = [other for other in kept if other != literal]
            if not rest:
                continue
            without = scored(conjunction(rest), *on, how.score)
            if (without == 1.0) if how.exact_only else (without >= base):
                kept, base = rest, without
        return kept

    ranked = sorted(minterms, key=lambda m: -scored(conjunction(m), judged_rows, judged_labels, how.score))
    running: list[Boolean] = []
    best, best_formula = 0.0, None
    for minterm in ranked[: how.top_k]:
        running.append(conjunction(reduce(minterm)))
        candidate = sympy.simplify_logic(sympy.Or(*running), form="dnf", force=True)
        if candidate in (sympy.true, sympy.false):
            continue
        value = scored(candidate, judged_rows, judged_labels, how.score)
        if value > best:
            best, best_formula, running = value, candidate, [candidate]
    return best_formula, best


def same_meaning(found: ClassRules, formula: Boolean, names: Sequence[str]) -> bool:
    grid = (np.arange(1 << len(names))[:, None] >> np.arange(len(names)) & 1).astype(bool)
    rows = [dict(zip(names, row, strict=True)) for row in grid.tolist()]
    return found.formula.evaluate(grid, names).tolist() == [holds(formula, row) for row in rows]


def random_case(seed: int) -> tuple[torch.nn.Module, ConceptTable, ConceptTable]:
    """A network of random weights, and rows whose labels follow it more or less."""
    rng = np.random.default_rng(seed)
    n_concepts, n_classes = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    network = untrained(
        n_concepts, n_classes, (5,), temperature=float(rng.choice([0.3, 2.0])), generator=torch.Generator()
    )
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(generator=generator)
        # Outputs on both sides of the cuts, or no class has a formula.
        outputs = network(torch.tensor(rng.integers(0, 2, (50, n_concepts)), dtype=torch.float32))
        list(network.parameters())[-1].add_(0.3 - outputs.median())
    names = [f"c{j}" for j in range(n_concepts)]
    tables = []
    for n_rows in (int(rng.integers(8, 40)), int(rng.integers(8, 40))):
        values = np.round(rng.random((n_rows, n_concepts)), 1)  # 0.5 itself among them
        logits = network(torch.tensor(values > 0.5, dtype=torch.float32)).detach().numpy()
        labels = (logits + rng.choice([0.1, 3.0]) * rng.normal(size=logits.shape)).argmax(axis=1)
        tables.append(ConceptTable(values, names, labels, [str(i) for i in range(n_classes)]))
    return network, tables[0], tables[1]


TORCH_EXPLAIN = Aggregation(score="accuracy", logit_cut=0.0, reduced_on="scored")
"""What `torch_explain` 1.5.1 does with `simplify=True, try_all=False`, seen from outside."""
SETTINGS = [
    Aggregation(),
    Aggregation(top_k=2),
    Aggregation(exact_only=True),
    Aggregation(score="accuracy"),
    Aggregation(max_minterm=2),
    Aggregation(logit_cut=0.2),
    TORCH_EXPLAIN,
    replace(TORCH_EXPLAIN, max_minterm=3, top_k=3),
]


@pytest.mark.parametrize("how", SETTINGS, ids=str)
def test_rules_mean_and_score_what_the_slow_twin_finds(how):
    found = 0
    for seed in range(6):
        network, local, judged = random_case(seed)
        for target, rules in enumerate(aggregate_as_authors(network, local, judged, how)):
            formula, score = twin(network, local, judged, target, how)
            assert rules.found == (formula is not None), (seed, target)
            assert rules.score == score, (seed, target)
            if formula is None:
                assert rules.formula == DNF.false
            else:
                assert same_meaning(rules, formula, local.names), (seed, target)
                assert len(rules.trace) <= how.top_k
                found += 1
    # A test of nothing would pass too.
    assert found >= 6


# Traps -----------------------------------------------------------------------------------------------------------


def rig(answer, n_concepts: int = 2, attention: Sequence[float] | None = None) -> Rigged:
    """Two heads, no and yes; with `attention`, the order of the concepts' attention, all of them relevant."""
    network = Rigged(n_concepts, [range(n_concepts)] * 2, answer)
    if attention is not None:
        with torch.no_grad():
            network.entropy.weight[:, 0, :] = 10 + 0.01 * torch.tensor(attention)
    return network


def formulas_of(network: nn.Module, local: ConceptTable, judged: ConceptTable, **how) -> tuple[DNF, ...]:
    return tuple(rules.formula for rules in aggregate_as_authors(network, local, judged, Aggregation(**how)))


def says(column: int):
    """The head of yes answers a concept, the head of no its negation: outputs 1 and 0."""
    return lambda x: torch.stack([1 - x[:, column], x[:, column]], dim=-1)


def telling(table: ConceptTable) -> ConceptTable:
    """The table with one more concept, its labels."""
    values = np.c_[table.values, table.labels]
    return ConceptTable(values, (*table.names, "told"), table.labels, table.class_names)


def knowing(n_concepts: int = 2, attention: Sequence[float] | None = None) -> Rigged:
    """A network that gives every row its label, told by a last concept that no head calls relevant."""
    network = Rigged(n_concepts + 1, [range(n_concepts)] * 2, says(n_concepts))
    if attention is not None:
        with torch.no_grad():
            network.entropy.weight[:, 0, :n_concepts] = 10 + 0.01 * torch.tensor(attention)
    return network


def table(rows, labels, names=("a", "b")) -> ConceptTable:
    return ConceptTable(rows, names, labels, ["no", "yes"])


@pytest.mark.parametrize("n_kept", [1, 2])
@pytest.mark.parametrize("side", [0, 1])
def test_a_class_needs_two_kept_rows_on_each_side(n_kept, side):
    rows = [[side, 0]] * n_kept + [[1 - side, 0]] * 5
    labels = [side] * n_kept + [1 - side] * 5
    # Rows on which label and network differ do not count.
    rows, labels = [*rows, [side, 1], [side, 1]], [*labels, 1 - side, 1 - side]
    local = table(rows, labels)
    for rules in aggregate_as_authors(rig(says(0)), local, local):
        assert rules.found == (n_kept == 2)
        assert rules.found or (rules.formula == DNF.false and rules.score == 0 and rules.trace == ())
        assert rules.found or "must be at least 2" in rules.reason


def test_outputs_and_concepts_at_the_cut_count_as_no():
    rows = table([[1, 0], [1, 0], [0, 0], [0, 0]], [1, 1, 0, 0])
    half = rig(lambda x: torch.stack([1 - x[:, 0], 0.5 * x[:, 0]], dim=-1))
    assert [rules.found for rules in aggregate_as_authors(half, rows, rows)] == [True, False]
    above = rig(lambda x: torch.stack([1 - x[:, 0], 0.501 * x[:, 0]], dim=-1))
    assert [rules.found for rules in aggregate_as_authors(above, rows, rows)] == [True, True]
    # 0.5 is read as false, and the network sees it as 0.
    soft = table([[0.51, 0], [0.51, 0], [0.5, 0], [0.5, 0]], [1, 1, 0, 0])
    assert formulas_of(rig(says(0)), soft, soft) == (parse("~a"), parse("a"))


def test_literals_go_from_the_least_attention_on():
    # b repeats a: whichever is looked at first goes.
    rows = table([[1, 1], [1, 1], [0, 0], [0, 0]], [1, 1, 0, 0])
    assert formulas_of(rig(says(0), attention=[0, 1]), rows, rows)[1] == parse("b")
    assert formulas_of(rig(says(0), attention=[1, 0]), rows, rows)[1] == parse("a")
    # With a limit they are written the other way round.
    assert formulas_of(rig(says(0), attention=[0, 1]), rows, rows, max_minterm=2)[1] == parse("a")
    assert formulas_of(rig(says(0), attention=[0, 1]), rows, rows, max_minterm=1)[1] == parse("b")


def test_minterms_of_one_score_come_as_their_rows_do():
    rows = [[1, 1], [1, 0], [0, 1], [0, 0]]
    first = table(rows, [1, 1, 0, 0])
    for local in (first, table([rows[1], rows[0], *rows[2:]], [1, 1, 0, 0])):
        trace = aggregate_as_authors(rig(says(0), attention=[1, 0]), local, first)[1].trace
        assert [step.alone for step in trace] == [trace[0].alone] * 2
        expected = [Cube([Literal("b", bool(b)), Literal("a")]) for _, b in local.values[:2]]
        assert [step.minterm for step in trace] == expected
        assert [step.minterm.concepts for step in trace] == [("b", "a")] * 2


def test_literals_are_dropped_on_kept_rows_and_scored_on_others():
    local = table([[1, 1], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0])
    judged = table([[1, 1], [1, 0], [1, 0], [0, 0], [0, 1]], [1, 0, 0, 0, 0])
    network = rig(says(0), attention=[1, 0])
    kept = aggregate_as_authors(network, local, judged)[1]
    assert kept.formula == parse("a")
    assert kept.trace == (
        Step(
            Cube([Literal("b"), Literal("a")]), 1.0, Cube([Literal("a")]),
            f1_score(judged.labels == 1, judged.values[:, 0] > 0.5, average="macro"), True,
        ),
    )  # fmt: skip
    elsewhere = aggregate_as_authors(network, local, judged, Aggregation(reduced_on="scored"))[1]
    assert elsewhere.formula == parse("a & b")


def test_exact_only_keeps_a_literal_that_some_row_needs():
    names = ("a", "b", "c")
    rows = table([[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], [1, 1, 0, 0, 0], names)
    noisy = rows.append(table([[1, 1, 0]], [0], names))
    for local, exact in ((rows, "a & b"), (noisy, "a & b & ~c")):
        network, local = knowing(3, attention=[2, 1, 0]), telling(local)
        assert formulas_of(network, local, local)[1] == parse("a & b")
        assert formulas_of(network, local, local, exact_only=True)[1] == parse(exact)


def test_a_rejected_rule_stays_in_the_running_list():
    """`~b & c` lowers the score and is not taken; with `~c`, which raises it, it comes along all the same."""
    names = ("a", "b", "c")
    rows = [[0, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    local = table(rows, [1, 0, 1, 1, 1, 0], names)
    rows = [[1, 1, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]]
    judged = table(rows, [1, 0, 1, 1, 1, 1, 0, 1], names)
    rules = aggregate_as_authors(knowing(3), telling(local), telling(judged))[1]
    assert [str(step.reduced) for step in rules.trace] == ["~a", "~b & c", "~c"]
    assert [step.taken for step in rules.trace] == [True, False, True]
    assert rules.formula.equivalent(parse("~a | (~b & c) | ~c"))


def test_constants_are_skipped_unless_made_of_single_literals():
    assert simplified(parse("(a & b) | (a & ~b) | ~a")) == DNF.true
    assert simplified(parse("(a & b) | (a & ~b) | b")).equivalent(parse("a | b"))
    literals = DNF([Cube([Literal("a")]), Cube([Literal("b")]), Cube([Literal("b", False)])])
    assert simplified(literals) == literals
    assert simplified(parse("a & b & ~c")) == parse("a & b & ~c")


def test_a_tautology_of_single_literals_scores_as_in_sympy():
    # Accuracy on the kept rows is 0.5 with b or ~b; a goes first, as it has the least attention.
    local = table([[1, 1], [1, 0], [1, 1], [1, 0]], [1, 1, 0, 0])
    judged = table([[1, 1]] * 4 + [[1, 0]] * 5 + [[0, 1]], [1] * 9 + [0])
    network = knowing(attention=[0, 1])
    rules = aggregate_as_authors(network, telling(local), telling(judged), Aggregation(score="accuracy"))[1]
    assert [step.reduced for step in rules.trace] == [Cube([Literal("b", False)]), Cube([Literal("b")])]
    assert [step.together for step in rules.trace] == [0.6, 0.9]
    assert rules.formula == DNF([Cube([Literal("b", False)]), Cube([Literal("b")])])
    assert rules.formula.equivalent(DNF.true)
    assert rules.formula.n_literals == 2


def test_a_written_tautology_is_skipped():
    rows = [[a, b] for a in (0, 1) for b in (0, 1)]
    # All four rows are yes once and no once: nothing can be dropped without a loss under exact_only.
    local = table(rows * 2, [1] * 4 + [0] * 4)
    judged = table(rows, [1] * 4)
    rules = aggregate_as_authors(knowing(), telling(local), telling(judged), Aggregation(exact_only=True))[1]
    assert [len(step.reduced) for step in rules.trace] == [2] * 4
    assert [step.together is None for step in rules.trace] == [False] * 3 + [True]
    assert [step.taken for step in rules.trace] == [True] * 3 + [False]
    assert int(rules.formula.evaluate(rows, ("a", "b")).sum()) == 3


def test_a_rule_that_is_never_right_is_no_formula():
    local = table([[1, 1], [1, 1], [0, 0], [0, 0]], [1, 1, 0, 0])
    judged = table([[1, 1], [1, 1], [0, 0]], [0, 0, 1])
    rules = aggregate_as_authors(rig(says(0)), local, judged)[1]
    assert not rules.found
    assert rules.formula == DNF.false
    assert [step.together for step in rules.trace] == [0.0]
    assert "no rule is right" in rules.reason


def test_long_minterms_have_the_scores_of_scikit_learn():
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(25)]
    values = rng.random((300, 25)) < 0.3
    labels = (values[:, 0] & values[:, 1] | values[:, 2]).astype(int)
    local, judged = (
        ConceptTable(values[part], names, labels[part], ["no", "yes"]) for part in np.split(np.arange(300), 2)
    )
    network = rig(lambda x: says(0)(torch.maximum(x[:, 0] * x[:, 1], x[:, 2])[:, None]), 25, attention=range(25))
    for target, rules in enumerate(aggregate_as_authors(network, local, judged, Aggregation(top_k=30))):
        for formula, score in [(rules.formula, rules.score), *((DNF([s.minterm]), s.alone) for s in rules.trace)]:
            fires = formula.evaluate(judged.boolean(), names)
            assert score == f1_score(judged.labels == target, fires, average="macro")
        assert {len(step.minterm) for step in rules.trace} == {25}
        assert [s.alone for s in rules.trace] == sorted((s.alone for s in rules.trace), reverse=True)
        assert len(rules.trace) == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: ConceptTable(t.values, t.names), "one class number a row"),
        (lambda t: t.per_class(), "one class number a row"),
        (lambda t: ConceptTable(t.values, t.names, t.labels, t.class_names, weight=[2, 1, 1, 1]), "every row once"),
        (lambda t: ConceptTable(t.values, ["a", "z"], t.labels, t.class_names), "the same concepts and classes"),
        (lambda t: ConceptTable(t.values, t.names, t.labels), "the same concepts and classes"),
    ],
)
def test_rows_that_the_method_cannot_take_are_refused(change, message):
    rows = table([[1, 1], [1, 1], [0, 0], [0, 0]], [1, 1, 0, 0])
    with pytest.raises(LogicLensError, match=message):
        aggregate_as_authors(rig(says(0)), rows, change(rows))


def test_settings_and_networks_that_the_method_cannot_take_are_refused():
    with pytest.raises(LogicLensError, match="top_k and max_minterm must be at least 1, got 0"):
        Aggregation(top_k=0)
    with pytest.raises(LogicLensError, match="got 10 and 0"):
        Aggregation(max_minterm=0)
    with pytest.raises(LogicLensError, match="score must be 'macro_f1' or 'accuracy'"):
        Aggregation(score="f1")
    rows = table([[1, 1], [1, 1], [0, 0], [0, 0]], [1, 1, 0, 0])
    with pytest.raises(LogicLensError, match="a head for each of the 2 classes, the network has 1"):
        aggregate_as_authors(Rigged(2, [range(2)], lambda x: x[:, :1]), rows, rows)


# Training --------------------------------------------------------------------------------------------------------

ROWS = np.array([[0.0, 1.0, 0.3], [1.0, 0.2, 0.9], [0.4, 0.4, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.6]])
SOFT = ConceptTable(ROWS, ["a", "b", "c"], [0, 1, 2, 1, 0], ["x", "y", "z"])


def slow_logits(weights: list[torch.Tensor], rows: torch.Tensor, temperature: float) -> torch.Tensor:
    first, bias, second, second_bias, last, last_bias = weights
    hidden = torch.nn.functional.leaky_relu(paper_layer.h(rows, first, bias, temperature))
    hidden = torch.nn.functional.leaky_relu(hidden @ second.T + second_bias)
    return (hidden @ last.T + last_bias)[..., 0]


def slow_training(
    weights: list[torch.Tensor], epochs: int, batch_size: int, temperature: float, penalty: float
) -> list[torch.Tensor]:
    """The same with the layer as the paper writes it, row by row in double precision, and two shared layers."""
    weights = [w.detach().double().requires_grad_() for w in weights]
    optimizer = torch.optim.AdamW(weights, lr=0.01)
    rows, labels = torch.tensor(SOFT.values).double(), SOFT.labels.tolist()
    for _ in range(epochs):
        for start in range(0, len(rows), batch_size):
            part = rows[start : start + batch_size]
            logits = slow_logits(weights, part, temperature)
            wrong = [-torch.log(torch.softmax(z, 0)[labels[start + r]]) for r, z in enumerate(logits)]
            loss = sum(wrong) / len(wrong) + penalty * sum(paper_layer.entropies(weights[0], temperature))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return weights


@pytest.mark.parametrize("batch_size", [2, 3, None])
def test_training_is_plain_adamw_over_rows_in_their_order(batch_size):
    begun = untrained(3, 3, (4, 3), temperature=0.6, generator=torch.Generator().manual_seed(7))
    trained = train_as_authors(
        SOFT, hidden=(4, 3), temperature=0.6, penalty_weight=0.05, epochs=6, batch_size=batch_size, seed=7
    )
    expected = slow_training(list(begun.parameters()), 6, batch_size or len(SOFT), 0.6, 0.05)
    # The biases behind a shared layer may move all classes alike, which changes nothing: their gradients are noise.
    for mine, its_twin in zip(trained.entropy.parameters(), expected, strict=False):
        assert torch.allclose(mine.double(), its_twin, atol=1e-4)
        assert not torch.allclose(mine, begun.entropy.weight if mine.ndim == 3 else begun.entropy.bias, atol=1e-2)
    rows = torch.tensor(SOFT.values)
    mine, its_twin = trained(rows.float()).softmax(-1), slow_logits(expected, rows, 0.6).softmax(-1)
    assert torch.allclose(mine.double(), its_twin, atol=1e-4)


def test_first_weights_have_the_authors_bounds():
    network = untrained(30, 40, (20, 10), temperature=0.7, generator=torch.Generator().manual_seed(0))
    bounds = [600**-0.5, 600**-0.5, 20**-0.5, 20**-0.5, 10**-0.5, 10**-0.5]
    for parameter, bound in zip(network.parameters(), bounds, strict=True):
        assert parameter.abs().max() <= bound
        assert parameter.numel() < 100 or parameter.abs().max() > 0.98 * bound
    assert network.shared_tail
    assert network.activation is torch.nn.LeakyReLU


def test_a_seed_fixes_the_weights_without_touching_global_randomness():
    def weights(seed: int) -> torch.Tensor:
        network = train_as_authors(
            SOFT, hidden=(4,), temperature=0.6, penalty_weight=0.0, epochs=2, batch_size=None, seed=seed
        )
        return torch.cat([p.detach().flatten() for p in network.parameters()])

    before = torch.random.get_rng_state()
    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(("setting", "value"), [("epochs", 0), ("batch_size", 0)])
def test_training_refuses_nothing_to_do(setting, value):
    settings = {"hidden": (4,), "temperature": 0.6, "penalty_weight": 0.0, "epochs": 2, "batch_size": None, "seed": 0}
    with pytest.raises(LogicLensError, match="at least 1"):
        train_as_authors(SOFT, **settings | {setting: value})


def test_trained_and_explained_on_xor():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (120, 4))
    rows = ConceptTable(values, ["a", "b", "c", "d"], values[:, 0] ^ values[:, 1], ["same", "differ"])
    network = train_as_authors(
        rows.take(range(80)), hidden=(20,), temperature=0.7, penalty_weight=1e-3, epochs=300, batch_size=40, seed=0
    )
    held = rows.take(range(80, 120))
    formulas = formulas_of(network, held, rows.take(range(80)))
    assert formulas[0].equivalent(parse("(a & b) | (~a & ~b)"))
    assert formulas[1].equivalent(parse("(a & ~b) | (~a & b)"))
