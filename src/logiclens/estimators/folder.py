"""An `EntropyClassifier` to its folder and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from logiclens import __version__
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.errors import LogicLensError
from logiclens.estimators.inputs import listed_class_weight
from logiclens.estimators.store import StoredModel, data_hash, load, save
from logiclens.estimators.teacher import teacher_name
from logiclens.formula.rule_set import RuleSet

if TYPE_CHECKING:
    from logiclens.estimators.classifier import EntropyClassifier


def save_classifier(
    model: EntropyClassifier, folder: str | Path, result: Mapping[str, Any] | None, rules: RuleSet | None
) -> Path:
    """Write a fitted classifier to a folder, with the result of its explanation where there is one."""
    if rules is not None and model.exact and rules != model.rules_:
        raise LogicLensError("the rules of an exact model are certified: no others can be saved with it.")
    if not hasattr(model, "table_"):
        raise LogicLensError("a loaded model is already in a folder: copy that.")
    table = model.table_
    truth = np.asarray(table.labels) if table.is_multilabel else model.classes_[np.asarray(table.labels)]
    metrics = {
        "rows": table.n_counted,
        "best_epoch": int(model.train_result_.history.best_epoch),
        "accuracy_on_these_rows": model.score(table, truth, table.weight),
        "teacher": None if model.teacher is None else teacher_name(model.teacher),
        "fidelity_to_the_teacher": getattr(model, "teacher_fidelity_", None),
        "agreement_with_the_soft_network": model.soft_agreement(table) if model.exact else None,
    }
    stored = StoredModel(
        model.network_,
        model.schema_,
        tuple(model.classes_.tolist()),
        _settings(model),
        model.rules_ if rules is None else rules,
        model.certificate_ if model.exact else None,
        metrics,
        data_hash([table.values, np.asarray(table.labels), table.weight]),
        model.target_name_,
        result,
    )
    return save(stored, folder, version=__version__)


def load_classifier(kind: type[EntropyClassifier], folder: str | Path) -> EntropyClassifier:
    """A fitted classifier from its folder, without the rows it was trained on."""
    stored = load(folder)
    settings = dict(stored.settings)
    try:
        settings["booleanise"] = _booleanise(settings["booleanise"])
        # Settings of models from before the search: it knows no limit of concepts, and its default chooses.
        if settings.pop("max_concepts", None) is not None:
            settings |= {"method": "paper" if settings["method"] == "paper" else "search", "score_against": None}
        model = kind(**settings)
    except (TypeError, KeyError) as error:
        raise LogicLensError(f"{folder} has settings that this version does not know ({error}).") from None
    model.network_, model.schema_ = stored.network, stored.schema
    model.classes_ = np.array(stored.labels)
    model.concept_names_ = stored.schema.names
    model.n_features_in_ = len(stored.columns)
    if not stored.schema.positional:
        model.feature_names_in_ = np.array(stored.columns, dtype=object)
    model.set_aside_ = model.booleaniser_ = None
    model.target_name_ = stored.target
    if stored.certificate is not None and stored.rules is not None:
        model.certificate_ = stored.certificate
    if stored.rules is not None:
        model._rules = stored.rules
    return model


def _booleanise(saved: Any) -> Any:
    return Booleaniser(**saved) if isinstance(saved, Mapping) else saved


def _settings(model: EntropyClassifier) -> dict[str, Any]:
    """The settings as JSON can hold them."""
    # The object that taught is never stored, only what it is called.
    settings = model.get_params(deep=False) | {"teacher": None}
    cuts = settings["booleanise"]
    settings["hidden"] = list(model.hidden)
    settings["class_weight"] = listed_class_weight(model.class_weight, model.classes_)
    if isinstance(cuts, Booleaniser):
        settings["booleanise"] = cuts.get_params()
    elif isinstance(cuts, Mapping):
        settings["booleanise"] = Booleaniser(cuts).get_params()
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    """Python's numbers in place of NumPy's, which JSON does not know."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
