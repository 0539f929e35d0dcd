"""A network that sees rules: what it sees, what it answers, and that a folder keeps it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logiclens import EntropyClassifier
from logiclens.nn import EntropyNet
from logiclens.nn.rule_net import RuleNet

CUBES = st.lists(
    st.dictionaries(st.integers(0, 4), st.integers(0, 1), min_size=1).map(
        lambda cube: tuple(sorted(2 * place + negated for place, negated in cube.items()))
    ),
    min_size=1,
    max_size=4,
)


@given(CUBES, st.permutations(range(7)), st.integers(0, 2**32 - 1))
def test_further_inputs_say_which_cubes_hold(cubes, order, seed):
    places, rows = order[:5], np.random.default_rng(seed).random((30, 7)).round(1)
    network = EntropyNet(7 + len(cubes), 2, generator=torch.Generator().manual_seed(0)).double()
    made = RuleNet(network, RuleNet.cubes_of(cubes, places, 7))
    seen = made.with_rules(torch.tensor(rows)).numpy()
    np.testing.assert_array_equal(seen[:, :7], rows)
    for place, cube in enumerate(cubes):
        holds = [all((row[places[code >> 1]] >= 0.5) == (code % 2 == 0) for code in cube) for row in rows]
        np.testing.assert_array_equal(seen[:, 7 + place], holds)
    torch.testing.assert_close(made(torch.tensor(rows)), network(torch.tensor(seen)))


@pytest.fixture(scope="module")
def soft() -> tuple[EntropyClassifier, pd.DataFrame]:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.random((400, 4)), columns=list("abcd"))
    ill = ((rows.a > 0.43) & (rows.b < 0.77)) ^ (rng.random(400) < 0.1)
    model = EntropyClassifier(exact=False, epochs=60, set_aside=0.25)
    return model.fit(rows, ill.map({True: "ill", False: "well"})), rows


def test_a_folder_keeps_a_network_that_sees_rules(soft, tmp_path):
    model, rows = soft
    loaded = EntropyClassifier.load(model.save(tmp_path / "model"))
    assert isinstance(model.network_, RuleNet)
    assert isinstance(loaded.network_, RuleNet)
    np.testing.assert_array_equal(loaded.network_.cubes, model.network_.cubes)
    np.testing.assert_array_equal(loaded.predict_proba(rows), model.predict_proba(rows))


def test_soft_rules_explain_the_network_as_they_say(soft):
    model, rows = soft
    answers = model.predict(rows)
    for one in model.explain(rows).classes:
        fires = one.formula.evaluate(model.concepts(rows))
        assert one.fidelity == pytest.approx(np.mean(fires == (answers == one.name)))
    # The rules match the answers of the network better than they match the labels.
    assert np.mean(model.rules_.predict(rows) == answers) > 0.95
