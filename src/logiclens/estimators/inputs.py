"""What a caller may hand to an estimator, checked and brought into one form."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.formula.packed_rows import as_array
from logiclens.formula.predicate import Predicate


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels as class numbers (or a 0/1 matrix), the classes behind the numbers, and their names."""

    codes: NDArray[Any]
    classes: NDArray[Any]
    names: tuple[str, ...]


def known_labels(labels: Any, weight: NDArray[np.float64]) -> Labels:
    """The labels of the training rows; classes are those of rows that weigh something."""
    y = _checked_labels(labels, len(weight))
    if y.ndim == 2:
        names = tuple(str(c) for c in getattr(labels, "columns", range(y.shape[1])))
        return Labels(y, np.arange(y.shape[1]), names)
    classes = np.unique(y[weight > 0])
    # A label of rows that weigh nothing gets any code.
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    if len(classes) == 1:
        raise LogicLensError(f"all rows have one class, {classes.tolist()[0]!r}: at least two classes are needed.")
    return Labels(codes, classes, tuple(str(c) for c in classes.tolist()))


def bare_predicates(concepts: Any) -> dict[str, Predicate]:
    """What concepts mean that are Boolean columns themselves; others are true from 0.5 on, which needs no word."""
    if not isinstance(concepts, pd.DataFrame):
        return {}
    return {
        str(name): Predicate(str(name), "==", True)
        for name, kind in zip(concepts.columns, concepts.dtypes, strict=True)
        if pd.api.types.is_bool_dtype(kind)
    }


def _checked_labels(labels: Any, n_rows: int) -> NDArray[Any]:
    """Labels as an array: one for each row, none missing, all of one kind."""
    try:
        y = as_array(labels)
    except ValueError:
        raise LogicLensError("labels must be one entry for each row, or rows of one length.") from None
    if y.ndim == 2 and y.shape[1] == 1:
        # A frame with one column holds one label per row.
        warnings.warn("A column-vector y was passed when a 1d array was expected.", DataConversionWarning, stacklevel=4)
        y = labels = y[:, 0]
    if y.ndim not in (1, 2) or len(y) != n_rows:
        raise LogicLensError(f"labels must have one entry for each of the {n_rows} rows, got shape {y.shape}.")
    if y.dtype.kind == "f" and np.isfinite(y).all() and not (y == np.round(y)).all():
        # The first words are scikit-learn's.
        raise LogicLensError(
            "Unknown label type: continuous. Labels must be classes, these are numbers with decimals: cut them first."
        )
    missing = np.asarray(pd.isna(y)).reshape(n_rows, -1).any(axis=1)
    if missing.any():
        raise LogicLensError(f"the label of row {int(np.flatnonzero(missing)[0])} is missing.")
    kinds = {isinstance(label, str) for label in (labels if isinstance(labels, list | tuple) else y.ravel().tolist())}
    if len(kinds) > 1:
        raise LogicLensError("labels must be of one kind; these are partly text and partly not.")
    return y


def class_codes(labels: Any, multilabel: bool, classes: NDArray[Any]) -> NDArray[Any]:
    """Labels as the class numbers of a fitted estimator."""
    y = _checked_labels(labels, len(as_array(labels)))
    if multilabel:
        return y
    unknown = y[~np.isin(y, classes)]
    if len(unknown):
        raise LogicLensError(f"the label {unknown.tolist()[0]!r} was not among the training labels.")
    return np.searchsorted(classes, y)


def matched_columns(concepts: Any, names: tuple[str, ...]) -> Any:
    """The columns of a frame by the names the network was trained on; a matrix by position, of the right width."""
    if isinstance(concepts, ConceptTable):
        concepts = pd.DataFrame(concepts.values, columns=list(concepts.names))
    if hasattr(concepts, "columns"):
        place = {str(column): i for i, column in enumerate(concepts.columns)}
        missing = [name for name in names if name not in place]
        if missing:
            raise LogicLensError(f"the rows lack the concept {missing[0]!r} that the network was trained on.")
        return as_array(concepts)[:, [place[name] for name in names]]
    values = as_array(concepts)
    if values.ndim == 2 and values.shape[1] != len(names):
        raise LogicLensError(f"the network was trained on {len(names)} concepts, the rows have {values.shape[1]}.")
    return values


def listed_class_weight(class_weight: Any, classes: NDArray[Any]) -> Any:
    """scikit-learn's dictionary from class to weight as one number per class; classes not named weigh 1."""
    if not isinstance(class_weight, Mapping):
        return class_weight
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise LogicLensError(f"class_weight names {unknown[0]!r}, which is not among the classes.")
    return [class_weight.get(label, 1.0) for label in classes.tolist()]


def seed_of(random_state: Any) -> int:
    """A seed: the number given, or a fresh one for None."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not isinstance(random_state, Integral) or not 0 <= int(random_state) < 2**32:
        raise LogicLensError(f"random_state must be a whole number from 0 on, or None, got {random_state!r}.")
    return int(random_state)
