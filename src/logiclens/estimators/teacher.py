"""Another model as the teacher of the rules: its answers on the raw table, checked, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError


@dataclass(frozen=True, eq=False)
class RecordedAnswers:
    """Answers that were written down beside the rows, such as a column of a table, in place of a model.

    Args:
        answers: one for each row, in the order of the table that is fitted: labels, or probabilities of `positive`.
        classes: the classes of the target.
        positive: the class that numbers are the probability of; None where answers are labels.
        name: what the answers are called.
    """

    answers: NDArray[Any]
    classes_: NDArray[Any]
    positive: Any = None
    name: str = "recorded answers"

    def predict_proba(self, rows: Any) -> NDArray[np.float64]:
        """The probability of each class on each row."""
        if len(rows) != len(self.answers):
            raise LogicLensError(f"there are {len(self.answers)} recorded answers for {len(rows)} rows.")
        if self.positive is None:
            return _as_probabilities(self.answers, self.classes_, self.name)
        place = self.classes_.tolist().index(self.positive)
        chance = _checked(np.asarray(self.answers, dtype=np.float64), self.name)
        both = np.empty((len(chance), 2))
        both[:, place], both[:, 1 - place] = chance, 1 - chance
        return both


def teacher_name(teacher: Any) -> str:
    """What to call a teacher."""
    if isinstance(teacher, RecordedAnswers):
        return teacher.name
    inner = getattr(teacher, "estimator", teacher) if type(teacher).__name__ == "FrozenEstimator" else teacher
    return type(inner).__name__


def answers_of(teacher: Any, rows: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """The probability that a fitted model gives each class on each raw row, in the order of `classes`."""
    name = teacher_name(teacher)
    if hasattr(teacher, "predict_proba"):
        probability = np.asarray(teacher.predict_proba(rows))
        known = _classes_of(teacher, classes, probability.shape[1] if probability.ndim == 2 else 0)
        if probability.ndim != 2 or probability.shape != (len(rows), len(known)):
            raise LogicLensError(
                f"the teacher {name} must give a probability of each class on each row, got shape {probability.shape}."
            )
        _check_classes(known, classes, name)
        place = {label: j for j, label in enumerate(known)}
        columns = [place.get(label, -1) for label in classes.tolist()]
        given = np.column_stack([probability, np.zeros(len(probability))])[:, columns]
        return _checked(np.asarray(given, dtype=np.float64), name)
    if hasattr(teacher, "predict"):
        return _as_probabilities(np.asarray(teacher.predict(rows)), classes, name)
    raise LogicLensError(f"a teacher needs predict_proba or predict, and {name} has neither: pass a fitted model.")


def _classes_of(teacher: Any, classes: NDArray[Any], n_columns: int) -> list[Any]:
    if hasattr(teacher, "classes_"):
        return list(np.asarray(teacher.classes_).tolist())
    # A model that does not name its classes has those of the target, if their number is the same.
    return classes.tolist() if n_columns == len(classes) else list(range(n_columns))


def _check_classes(known: Sequence[Any], classes: NDArray[Any], name: str) -> None:
    other = [label for label in known if label not in set(classes.tolist())]
    if other:
        shown = ", ".join(repr(label) for label in classes.tolist()[:8])
        raise LogicLensError(f"the teacher {name} answers {other[0]!r}, which is not among the classes {shown}.")


def _as_probabilities(answers: NDArray[Any], classes: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Labels as probabilities of 0 and 1."""
    _check_classes(np.unique(answers).tolist(), classes, name)
    return np.asarray(answers[:, None] == classes[None], dtype=np.float64)


def _checked(probability: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    bad = ~((probability >= 0) & (probability <= 1))
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise LogicLensError(
            f"the teacher {name} must give probabilities from 0 to 1, got {probability[bad].flat[0]:g} in row {row}."
        )
    return probability
