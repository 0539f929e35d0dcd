"""How often each network is asked after training: the reading of a table is made once and handed on."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from logiclens.nn.committee import Committee

from logiclens.cli import explain
from logiclens.cli.options import ExplainOutputs
from logiclens.cli.output import Printer
from logiclens.estimator import EntropyClassifier
from logiclens.explain import candidates
from logiclens.nn.layers import EntropyNet
from logiclens.report import Source, measurement

RNG = np.random.default_rng(7)
FRAME = pd.DataFrame({"age": RNG.integers(20, 95, 200), "unit": RNG.choice(["A", "B", "C"], 200)})
FRAME["state"] = np.select([FRAME["age"] >= 70, FRAME["unit"] == "B"], ["dead", "ill"], "well")


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """The number of times that each network has been asked, however few rows it was asked about."""
    asked: Counter = Counter()
    kept = []

    def counting(kind: type) -> None:
        forward = kind.forward

        def counted(network, rows):
            kept.append(network)  # An id is used again where its network is gone.
            asked[id(network)] += 1
            return forward(network, rows)

        monkeypatch.setattr(kind, "forward", counted)

    for kind in (Committee, EntropyNet):
        counting(kind)
    return asked


@pytest.mark.parametrize(
    "settings", [{}, {"exact": True}, {"method": "paper"}, {"committee": 1}], ids=["soft", "exact", "paper", "single"]
)
@pytest.mark.filterwarnings("ignore::logiclens.errors.LogicLensWarning")
def test_explaining_asks_each_network_about_each_table_once(settings, passes, monkeypatch, tmp_path):
    model = EntropyClassifier(set_aside=0.25, epochs=5, **settings)
    # What trains and teaches comes before; what `fit` asks once it is done counts.
    settle = EntropyClassifier._settle

    def settled(*arguments):
        passes.clear()
        return settle(*arguments)

    monkeypatch.setattr(EntropyClassifier, "_settle", settled)
    found = []
    monkeypatch.setattr(measurement, "best_literal", lambda *of: found.append(of[1]) or candidates.best_literal(*of))
    model.fit(FRAME.drop(columns="state"), FRAME["state"])
    wanted = ExplainOutputs(save=tmp_path / "m", report=str(tmp_path / "r.html"), json=str(tmp_path / "r.json"))
    source = Source("t.csv", len(FRAME), FRAME.shape[1] - 1, "state")
    explain.tell(model, source, wanted, Printer(quiet=True), begun=0.0)
    soft = getattr(model, "soft_network_", model.network_)
    assert {passes[id(network)] for network in (soft, *getattr(soft, "networks", ()))} == {2}
    # A compiled network, and the copy that sees its relevant concepts only (see `gap`), are asked less often.
    assert max(passes.values()) == 2
    assert sorted(found) == list(range(FRAME["state"].nunique()))
