"""A small data set whose concepts an encoder has to predict."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lab.datasets.dataset import Dataset
from logiclens.concepts.concept_table import ConceptTable

N = 300


def encoded_problem(seed: int = 0) -> Dataset:
    """Columns that show two concepts plainly; six rows belong together."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (N, 2))
    frame = pd.DataFrame(bits * 3.0 + rng.normal(0, 0.3, (N, 2)), columns=["u", "v"])
    frame.iloc[::7, 0] = np.nan
    labels = (bits[:, 0] & bits[:, 1]).astype(np.int64)
    table = ConceptTable(bits, ("a", "b"), labels, ("no", "yes"))
    groups = np.repeat(np.arange(N // 6), 6).astype(object)
    return Dataset("vdem", "a test", frame, labels, ("no", "yes"), lambda _rows: table, annotated=True, groups=groups)
