"""The example table, which needs no file: breast cancer, Wisconsin diagnostic, from scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table of raw columns with one label per row."""

    title: str
    frame: pd.DataFrame
    labels: NDArray[np.object_]


def breast_cancer() -> RawTable:
    """Return 569 tumours with 30 measurements of cell nuclei, labelled malignant or benign."""
    bunch = load_breast_cancer(as_frame=True)
    return RawTable(
        "breast cancer, Wisconsin diagnostic (scikit-learn)",
        bunch.data,
        np.asarray(bunch.target_names, dtype=object)[bunch.target.to_numpy()],
    )
