"""Settings of `EntropyClassifier`: what each may be, which exclude each other, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from logiclens.concepts.booleaniser import HOW, Booleaniser
from logiclens.concepts.splits import SEED
from logiclens.constraints import Constraint, check_all, flag, is_whole, number, one_of, optional, share, whole_number
from logiclens.errors import LogicLensError, nearest, quoted, quoted_names
from logiclens.explain.length import LIMITS, SearchConfig
from logiclens.formula.knowledge import Knowledge
from logiclens.formula.target_cuts import MOST_CLASSES
from logiclens.train.config import CONSTRAINTS as TRAINING

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier

WIDEST = 65_536
"""Maximum width of a hidden layer."""
HOTTEST = 1_000_000
"""Maximum temperature: far above the strength of any concept, so that all are equally relevant."""


def _is_booleanise(value: Any) -> bool:
    return isinstance(value, Booleaniser | Mapping) or (isinstance(value, str) and value in HOW)


def _are_widths(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(is_whole(n) and 1 <= n <= WIDEST for n in value)


def _is_verbose(value: Any) -> bool:
    return isinstance(value, bool) or (is_whole(value) and value >= 0)


def _can_teach(value: Any) -> bool:
    return not isinstance(value, type) and (hasattr(value, "predict_proba") or hasattr(value, "predict"))


CONSTRAINTS: Mapping[str, Constraint] = {
    "booleanise": optional(
        Constraint(f"one of {', '.join(HOW)}, a dictionary of cuts, a logiclens.Booleaniser", _is_booleanise),
        "None (the columns are concepts in [0, 1])",
    ),
    "exact": optional(flag()),
    "teacher": optional(Constraint("a fitted model with predict_proba or predict", _can_teach)),
    "hidden": Constraint(f"a list of widths, whole numbers from 1 to {WIDEST:,}, such as (20,)", _are_widths),
    "temperature": number(f"a number above 0 and up to {HOTTEST:,}", lambda value: 1e-30 < value <= HOTTEST),
    "penalty_weight": TRAINING["penalty_weight"],
    "epochs": TRAINING["epochs"],
    "learning_rate": TRAINING["learning_rate"],
    "validation": share(),
    "set_aside": share(),
    "split_by_time": optional(Constraint("the name of a column", lambda value: isinstance(value, str) and bool(value))),
    "cuts_on": one_of(("train", "all")),
    "max_distinct": whole_number(2),
    "class_weight": TRAINING["class_weight"],
    "knowledge": optional(Constraint("a logiclens.Knowledge", lambda value: isinstance(value, Knowledge))),
    "method": one_of(("search", "paper")),
    "positive": optional(
        Constraint("the name of a class", lambda value: isinstance(value, str | int | float | np.generic))
    ),
    "max_literals": LIMITS["max_literals"],
    "min_support": LIMITS["min_support"],
    "resolve": one_of(("order", "confidence", "none")),
    "above": optional(number("a finite number", lambda value: math.isfinite(value))),
    "quantiles": optional(whole_number(2, MOST_CLASSES)),
    "random_state": SEED,
    "verbose": Constraint("True, False or a whole number from 0 on", _is_verbose),
}
"""What each setting may be, for any rows."""


def check_settings(model: EntropyClassifier) -> None:
    """Refuse settings that are invalid for any rows, and settings that exclude each other."""
    check_all(CONSTRAINTS, model.get_params(deep=False))
    if model.method == "paper" and (model.exact or model.teacher is not None):
        raise LogicLensError(
            "exact and teacher need method='search' (--method search): the paper's extraction has neither."
        )
    if model.teacher is not None and model.exact:
        raise LogicLensError("rules that explain a teacher match its answers, not labels: leave out exact.")
    if model.above is not None and model.quantiles is not None:
        raise LogicLensError("above and quantiles are two ways to cut a target: leave out one of them.")
    if model.split_by_time is not None:
        if not model.set_aside:
            raise LogicLensError(
                "split_by_time says which rows are held out: say how many too, set_aside=0.25 (--set-aside 0.25)."
            )
        if model.cuts_on == "all":
            raise LogicLensError('rows counted by cuts_on="all" have no order in time: leave out split_by_time.')
        if model.booleanise is None:
            raise LogicLensError("split_by_time needs a column of dates or numbers, and with booleanise=None none is.")
    if model.knowledge is not None:
        _check_knowledge(model, model.knowledge)


def _check_knowledge(model: EntropyClassifier, knowledge: Knowledge) -> None:
    if model.method == "paper" and (knowledge.binds_rules or knowledge.preferred_columns):
        raise LogicLensError(
            "knowledge about conditions, rules, directions and costs needs method='search': the "
            "paper's extraction takes forbidden_columns, late_columns and protected_columns only."
        )
    if model.class_weight is not None and any(known.has_costs for known in knowledge.classes.values()):
        raise LogicLensError("class_weight and the costs of the knowledge both weigh classes: leave out one of them.")
    if model.teacher is not None and any(known.has_costs for known in knowledge.classes.values()):
        raise LogicLensError("rules that explain a teacher match its answers: leave the costs out of the knowledge.")
    if model.quantiles is not None and knowledge.classes:
        raise LogicLensError(
            "quantiles name their classes after the training rows, so knowledge cannot name them: cut with above."
        )
    if model.split_by_time is not None and model.split_by_time in knowledge.removed:
        raise LogicLensError(
            f"split_by_time needs the column {quoted(model.split_by_time)}, which the knowledge removes: forbid "
            "conditions on it instead, or split at random."
        )


def place_of_positive(model: EntropyClassifier, names: Sequence[str]) -> int | None:
    """Return the place of the class whose rules are stated; None if none is named, or if rows of a fold lack it."""
    name = None if model.positive is None else str(model.positive)
    if name in names or not isinstance(model.positive, Real) or isinstance(model.positive, bool):
        return names.index(name) if name in names else None
    # A number may be written in several ways: 1 and 1.0.
    return next((place for place, other in enumerate(names) if _is_number(other, model.positive)), None)


def _is_number(text: str, number: Real) -> bool:
    try:
        return float(text) == number
    except ValueError:
        return False


def check_positive(
    model: EntropyClassifier, names: Sequence[str], target: str | None, *, multilabel: bool = False
) -> None:
    """Refuse a class to state that the target does not have."""
    if model.positive is None:
        return
    if multilabel:
        raise LogicLensError("with several labels a row every label has rules of its own: leave out positive.")
    if place_of_positive(model, names) is None:
        near = nearest(str(model.positive), names)
        hint = f"did you mean {quoted(near)}?" if near else f"its values are {quoted_names(sorted(names))}."
        which = "" if target is None else f" {quoted(target)}"
        raise LogicLensError(f"the target{which} is never {quoted(model.positive)}; {hint}")


def seed_of(random_state: int | None) -> int:
    """Return the random seed: the number given, or a new one for None."""
    CONSTRAINTS["random_state"].check("random_state", random_state)
    return int(np.random.SeedSequence().generate_state(1)[0]) if random_state is None else int(random_state)


def booleaniser_of(model: EntropyClassifier) -> Booleaniser | None:
    """Return the booleaniser to fit; None if the columns are concepts."""
    if model.booleanise is None:
        return None
    return clone(model.booleanise) if isinstance(model.booleanise, Booleaniser) else Booleaniser(model.booleanise)


def search_config(model: EntropyClassifier, names: Sequence[str]) -> SearchConfig:
    """Return the settings of the search for the rules of some classes."""
    return SearchConfig(model.max_literals, model.min_support, stated=place_of_positive(model, names))
