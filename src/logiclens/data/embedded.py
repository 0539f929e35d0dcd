"""The small data sets that come with scikit-learn and need no file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from logiclens.data.bins import BinnedConcepts, GivenConcepts, identifier
from logiclens.data.concepts import ConceptTable
from logiclens.data.dataset import Dataset

INK = 8
"""A pixel, from 0 to 16, counts as inked from here on."""


def breast_cancer() -> Dataset:
    """569 tumours, 30 measurements of their cell nuclei."""
    title = "Breast cancer, Wisconsin diagnostic: is a tumour malignant or benign?"
    return _binned("breast-cancer", title, load_breast_cancer(as_frame=True))


def wine() -> Dataset:
    """178 wines, 13 measurements."""
    return _binned("wine", "Wine: which of three growers made it?", load_wine(as_frame=True))


def iris() -> Dataset:
    """150 flowers, 4 measurements."""
    return _binned("iris", "Iris: of which of three species is a flower?", load_iris(as_frame=True))


def digits_parity() -> Dataset:
    """1,797 handwritten digits of 8 x 8 pixels; whether a pixel is inked is a concept."""
    bunch = load_digits(as_frame=True)
    labels = bunch.target.to_numpy().astype(np.int64) % 2
    class_names = ("even", "odd")
    return Dataset(
        "digits-parity",
        "Digits: is a handwritten digit even or odd, told from its pixels?",
        bunch.data,
        labels,
        class_names,
        GivenConcepts(ConceptTable(bunch.data.to_numpy() >= INK, tuple(bunch.data.columns), labels, class_names)),
        remarks=("A pixel means little by itself: long formulas are to be expected.",),
    )


def _binned(name: str, title: str, bunch: Any) -> Dataset:
    """A table of numbers, each as LOW, NORMAL and HIGH with a third of the fitted rows in each."""
    frame: pd.DataFrame = bunch.data.rename(columns=identifier)
    labels = bunch.target.to_numpy().astype(np.int64)
    class_names = tuple(str(klass) for klass in bunch.target_names)
    concepts = BinnedConcepts(frame, labels, class_names, edges="quantile")
    return Dataset(name, title, frame, labels, class_names, concepts)
