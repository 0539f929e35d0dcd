"""How often a network is asked after training: the reading of a table is made once and handed on."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from logiclens.cli import explain
from logiclens.cli.options import ExplainOutputs
from logiclens.cli.output import Printer
from logiclens.estimator import EntropyClassifier
from logiclens.nn.layers import EntropyNet
from logiclens.report import Source

RNG = np.random.default_rng(7)
FRAME = pd.DataFrame({"age": RNG.integers(20, 95, 200), "unit": RNG.choice(["A", "B", "C"], 200)})
FRAME["state"] = np.select([FRAME["age"] >= 70, FRAME["unit"] == "B"], ["dead", "ill"], "well")


@pytest.mark.parametrize(
    ("settings", "times"), [({"exact": False}, 2), ({"method": "paper"}, 2), ({}, 0)], ids=["soft", "paper", "exact"]
)
@pytest.mark.filterwarnings("ignore::logiclens.errors.LogicLensWarning")
def test_explaining_asks_a_network_about_each_table_once(settings, times, monkeypatch, tmp_path):
    asked: Counter = Counter()
    networks = []
    forward = EntropyNet.forward

    def counted(network, rows):
        networks.append(network)  # An id is used again where its network is gone.
        asked[id(network)] += not network.training
        return forward(network, rows)

    model = EntropyClassifier(set_aside=0.25, epochs=5, **settings)
    model.fit(FRAME.drop(columns="state"), FRAME["state"])
    monkeypatch.setattr(EntropyNet, "forward", counted)
    wanted = ExplainOutputs(save=tmp_path / "m", report=str(tmp_path / "r.html"), json=str(tmp_path / "r.json"))
    source = Source("t.csv", len(FRAME), FRAME.shape[1] - 1, "state")
    explain.tell(model, source, wanted, Printer(quiet=True), begun=0.0)
    assert max(asked.values(), default=0) <= times
