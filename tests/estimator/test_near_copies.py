"""Of columns that say nearly the same one stands for the others, and a note names these."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier, Knowledge

RNG = np.random.default_rng(0)
SIZE = RNG.normal(50, 10, 300)
FRAME = pd.DataFrame({"weight": RNG.normal(size=300), "radius": SIZE, "area": SIZE**2 + RNG.normal(size=300)})
LABELS = np.where(SIZE >= 55, "large", "small")


@pytest.mark.parametrize("kept", ["area", "radius"])
def test_a_note_names_the_column_that_another_stands_for(kept):
    # Both are about as good: the correlation of their ranks is next to one.
    assert FRAME["radius"].corr(FRAME["area"], method="spearman") > 0.99
    (left_out,) = {"radius", "area"} - {kept}
    model = EntropyClassifier(knowledge=Knowledge(preferred_columns=[kept])).fit(FRAME, LABELS)
    columns = {predicate.column for predicate in model.schema_.predicates.values()}
    assert kept in columns
    assert left_out not in columns
    assert any(f"'{left_out}'" in note and f"'{kept}'" in note for note in model.booleaniser_.notes_)
    assert model.score(FRAME, LABELS) > 0.95
