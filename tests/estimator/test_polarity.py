"""Polarity: rules of a two-category column are stored in the sign that they use, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from logiclens import EntropyClassifier
from logiclens.estimator.polarity import turn_inputs
from logiclens.export import to_english
from logiclens.formula import Predicate
from logiclens.formula.rule_set import RuleSet
from logiclens.nn.layers import EntropyNet
from logiclens.verify import verify

torch.set_num_threads(1)


def people(n_rows: int = 240) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["man", "woman"], n_rows),
            "fever": rng.integers(0, 2, n_rows),
            "age": rng.integers(20, 90, n_rows),
        }
    )
    died = (frame["sex"] == "man") & (frame["fever"] == 0) & (frame["age"] >= 50)
    return frame, pd.Series(np.where(died, "yes", "no"), name="died")


@pytest.fixture(scope="module")
def model() -> EntropyClassifier:
    return EntropyClassifier(exact=True, epochs=60, set_aside=0.25).fit(*people())


def test_rules_store_the_category_that_they_ask_for(model):
    used = {model.rules_.predicate(concept) for concept in model.rules_.concepts}
    assert {Predicate("sex", "==", "man"), Predicate("fever", "==", 0)} <= used
    signs = {literal.concept: literal.positive for cube in model.rules_.rule("yes").cubes for literal in cube}
    assert signs["sex is man"]
    assert signs["fever is 0"]
    assert model.schema_.names == model.table_.names == tuple(model.booleaniser_.get_feature_names_out())


@pytest.mark.parametrize("odd", [None, "unknown"])
def test_missing_and_unseen_values_are_not_claimed(model, odd):
    row = {"sex": "man", "fever": 0, "age": 80}
    assert model.rules_.predict({name: [value] for name, value in row.items()}).tolist() == ["yes"]
    other = pd.DataFrame({name: [value] for name, value in {**row, "sex": odd}.items()})
    assert model.predict(other).tolist() == ["no"]
    assert "sex is man" in str(model.why(row))


@pytest.mark.parametrize("gap", [False, True])
def test_a_truth_value_without_gaps_is_called_false(gap):
    frame, died = people()
    frame["fever"] = frame["fever"].astype(bool)
    if gap:
        frame["fever"] = frame["fever"].astype("boolean")
        frame.loc[frame.index[:40], "fever"] = pd.NA
        died = died.where(frame["fever"].notna() | (frame["sex"] == "woman") | (frame["age"] < 50), "yes")
    model = EntropyClassifier(exact=True, epochs=60, set_aside=0.25).fit(frame, died)
    said = next(line for line in to_english(model.rules_).splitlines() if line.startswith("died is yes"))
    missing = pd.DataFrame({"sex": ["man"], "fever": pd.array([None], "boolean"), "age": [80]})
    assert ("fever is false" in said, "fever is not true" in said) == (not gap, gap)
    assert model.predict(missing).tolist() == (["yes"] if gap else ["no"])


def test_held_out_rows_with_gaps_are_cut_as_new_rows():
    frame, died = people()
    soft = EntropyClassifier(epochs=30, set_aside=0.25, random_state=1).fit(frame, died)
    aside = frame.iloc[soft.set_aside_.places]
    gaps = frame.copy()
    gaps.loc[aside.index[:5], "sex"] = None
    again = EntropyClassifier(epochs=30, set_aside=0.25, random_state=1).fit(gaps, died)
    table, raw = again.set_aside_.table, gaps.iloc[again.set_aside_.copies.places]
    for concept, predicate in again.schema_.predicates.items():
        held = table.boolean()[again.set_aside_.copies.rows, table.names.index(concept)]
        assert held.tolist() == predicate.holds(raw[predicate.column]).tolist()


def test_the_checker_verifies_a_turned_model(model, tmp_path):
    folder = model.save(tmp_path / "model")
    # It raises where a head is not its formula.
    assert [report.name for report in verify(folder).classes] == ["no", "yes"]
    loaded = RuleSet.load(folder)
    assert loaded == model.rules_
    assert (loaded.facts.target, loaded.facts.whole) == ("died", ("age", "fever"))
    assert loaded.facts.complete == ("age", "fever", "sex")


def test_turned_inputs_change_neither_answers_nor_relevance():
    network = EntropyNet(5, 3, generator=torch.Generator().manual_seed(0)).double()
    rows = torch.rand(20, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    before, relevance = network(rows).detach(), network.entropy.relevance().detach().clone()
    turn_inputs(network, [1, 3])
    turned = rows.clone()
    turned[:, [1, 3]] = 1 - turned[:, [1, 3]]
    assert torch.allclose(network(turned), before, atol=1e-12)
    assert not torch.allclose(network(rows), before, atol=1e-3)
    assert torch.equal(network.entropy.relevance(), relevance)
