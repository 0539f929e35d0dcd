"""The authors' training and aggregation, compared with a slow twin in plain loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import sympy
import torch
from sklearn.metrics import f1_score
from sympy.logic.boolalg import Boolean

from lab.runs.authors import Aggregation, aggregate_as_authors, simplified, train_as_authors, untrained
from lab.runs.tasks import NetworkSettings
from logiclens.concepts.concept_table import ConceptTable
from logiclens.formula.dnf import DNF, Literal
from logiclens.formula.text import parse
from tests.rigged import Rigged


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


def scored(formula: Boolean, rows: list[dict[str, bool]], labels: list[bool]) -> float:
    return float(f1_score(labels, [holds(formula, row) for row in rows], average="macro", zero_division=0))


def as_dicts(table: ConceptTable) -> list[dict[str, bool]]:
    return [{n: bool(v > 0.5) for n, v in zip(table.names, values, strict=True)} for values in table.values.tolist()]


def twin(network, local: ConceptTable, judged: ConceptTable, target: int, how: Aggregation) -> Boolean | None:
    """What the description says, word for word; None where there is no formula."""
    attention = network.entropy.attention()[target].tolist()
    ordered = sorted(range(local.n_concepts), key=lambda j: attention[j])
    columns = [j for j in ordered if attention[j] / max(attention) > 0.5]
    rows, judged_rows = as_dicts(local), as_dicts(judged)
    judged_labels = [label == target for label in judged.labels.tolist()]
    negative, positive = [], []
    for row, label in zip(rows, local.labels.tolist(), strict=True):
        logits = network.eval()(torch.tensor([[float(row[name]) for name in local.names]]))[0].tolist()
        if (label == target) == (logits[target] > 0.5):
            (positive if label == target else negative).append(row)
    if len(positive) < 2 or len(negative) < 2:
        return None
    on = negative + positive, [False] * len(negative) + [True] * len(positive)
    minterms: list[tuple[Literal, ...]] = []
    for row in positive:
        minterm = tuple(Literal(local.names[j], row[local.names[j]]) for j in columns)
        if minterm not in minterms:
            minterms.append(minterm)

    def reduce(minterm: tuple[Literal, ...]) -> list[Literal]:
        literals, base = list(minterm), scored(conjunction(minterm), *on)
        for literal in minterm:
            rest = [other for other in literals if other != literal]
            without = scored(conjunction(rest), *on) if rest else -1.0
            if (without == 1.0) if how.exact_only else (without >= base):
                literals, base = rest, without
        return literals

    ranked = sorted(minterms, key=lambda m: -scored(conjunction(m), judged_rows, judged_labels))
    running: list[Boolean] = []
    best, best_formula = 0.0, None
    for minterm in ranked[: how.top_k]:
        running.append(conjunction(reduce(minterm)))
        candidate = sympy.simplify_logic(sympy.Or(*running), form="dnf", force=True)
        if candidate in (sympy.true, sympy.false):
            continue
        value = scored(candidate, judged_rows, judged_labels)
        if value > best:
            best, best_formula, running = value, candidate, [candidate]
    return best_formula


def random_case(seed: int) -> tuple[torch.nn.Module, ConceptTable, ConceptTable]:
    """A network of random weights, and rows whose labels follow it more or less."""
    rng = np.random.default_rng(seed)
    n_concepts, n_classes = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    network = untrained(n_concepts, n_classes, (5,), float(rng.choice([0.3, 2.0])), seed)
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


@pytest.mark.parametrize("how", [Aggregation(), Aggregation(top_k=2), Aggregation(exact_only=True)], ids=str)
def test_rules_mean_what_the_slow_twin_finds(how):
    compared = 0
    for seed in range(8):
        network, local, judged = random_case(seed)
        grid = (np.arange(1 << local.n_concepts)[:, None] >> np.arange(local.n_concepts) & 1).astype(bool)
        rows = [dict(zip(local.names, row, strict=True)) for row in grid.tolist()]
        for target, rules in enumerate(aggregate_as_authors(network, local, judged, how)):
            formula = twin(network, local, judged, target, how)
            assert bool(rules.reason) == (formula is None), (seed, target)
            expected = [formula is not None and holds(formula, row) for row in rows]
            assert rules.formula.evaluate(grid, local.names).tolist() == expected, (seed, target)
            compared += formula is not None
    # A test of nothing would pass too.
    assert compared >= 6


def test_rows_that_the_network_gets_wrong_give_no_rule():
    network = Rigged(2, [range(2)] * 2, lambda x: torch.stack([1 - x[:, 0], x[:, 0]], dim=-1))
    rows = ConceptTable([[1, 0], [1, 0], [0, 0], [0, 0], [0, 1], [0, 1]], ["a", "b"], [1, 1, 0, 0, 1, 1], ["n", "y"])
    assert aggregate_as_authors(network, rows, rows)[1].formula == parse("a")
    few = rows.take([0, 2, 3, 4, 5])
    rules = aggregate_as_authors(network, few, few)[1]
    assert rules.formula == DNF.false
    assert "agree on 1 rows of the class" in rules.reason


def test_single_literals_stay_as_they_are_like_in_sympy():
    assert simplified(parse("a | b") | parse("~b")) != DNF.true
    assert simplified(parse("(a & b) | (a & ~b)")) == parse("a")


def test_training_goes_through_unshuffled_batches_to_the_end(monkeypatch):
    seen = []
    rows = ConceptTable(np.eye(6), None, [0, 1, 0, 1, 0, 1], ["n", "y"])
    settings = NetworkSettings(epochs=2, hidden=(3,))
    forward = type(untrained(6, 2, (3,), 1.0, 0)).forward

    def spy(self, concepts):
        seen.append(concepts.argmax(dim=1).tolist())
        return forward(self, concepts)

    monkeypatch.setattr(type(untrained(6, 2, (3,), 1.0, 0)), "forward", spy)
    train_as_authors(rows, settings, batch_size=4, seed=0)
    assert seen == [[0, 1, 2, 3], [4, 5]] * 2
