"""The model folder: `model.json`, `weights.safetensors`, for an exact model `certificate.json`, and `result.json`.

`result.json` exists if rows were held out to measure on. `model.json` holds the names and cuts of the concepts, the
rules and the settings; no row of the data is stored. A folder is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as safetensors_load
from safetensors.numpy import save as safetensors_bytes

from logiclens import __version__
from logiclens.codec import to_plain
from logiclens.concepts.booleaniser import Booleaniser, Cutting
from logiclens.errors import LogicLensError, quoted
from logiclens.estimator.inputs import Schema, listed_class_weight, teacher_name
from logiclens.estimator.settings import check_settings
from logiclens.explain.certificate import Certificate, check_seal
from logiclens.explain.reading import Reading
from logiclens.explain.weights import NetworkWeights
from logiclens.formula.knowledge import Knowledge
from logiclens.formula.model_record import ModelRecord, read_record
from logiclens.formula.predicate import label_array
from logiclens.formula.record import predicate_to_dict, to_dict
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.target_cuts import TargetCuts
from logiclens.storage import (
    CERTIFICATE,
    KIND,
    MODEL,
    RESULT,
    SCHEMA,
    WEIGHTS,
    ModelFolder,
    check_model_target,
    open_folder,
    replacing_folder,
    sealed,
)

if TYPE_CHECKING:
    from logiclens.estimator.classifier import EntropyClassifier


@dataclass(frozen=True, eq=False)
class StoredModel:
    """The content of a model folder."""

    weights: NetworkWeights
    schema: Schema
    labels: tuple[Any, ...]
    settings: Mapping[str, Any]
    rules: RuleSet | None
    certificate: Certificate | None
    metrics: Mapping[str, Any]
    data_sha256: str
    target: str | None = None
    result: Any = None
    target_cuts: TargetCuts | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that the model needs."""
        return self.schema.columns or self.schema.names


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model folder, by name, before they are written."""

    contents: Mapping[str, bytes]

    @property
    def model_sha256(self) -> str:
        """The hash of `model.json`, which result and certificate name."""
        return hashlib.sha256(self.contents[MODEL]).hexdigest()

    def write(self, folder: str | Path) -> Path:
        """Write the folder. Replace an older model; refuse any other folder with files."""
        target = check_model_target(folder)
        try:
            with replacing_folder(target) as new:
                for name, content in self.contents.items():
                    (new / name).write_bytes(content)
        except OSError as error:
            raise LogicLensError(f"the model cannot be written to {target} ({error.strerror or error}).") from None
        return target


def save(model: StoredModel, folder: str | Path, *, version: str) -> Path:
    """Write a model folder. Replace an older model; refuse any other folder with files."""
    return files_of(model, version=version).write(folder)


def files_of(model: StoredModel, *, version: str) -> ModelFiles:
    """Return the files of a model folder as bytes."""
    weights = safetensors_bytes({name: np.ascontiguousarray(array) for name, array in model.weights.arrays.items()})
    weights_sha256 = hashlib.sha256(weights).hexdigest()
    content = {**_content(model, version), "weights_sha256": weights_sha256}
    files = {WEIGHTS: weights, MODEL: _json_bytes(sealed(content))}
    model_sha256 = hashlib.sha256(files[MODEL]).hexdigest()
    if model.result is not None:
        result = {**to_plain(model.result), "model_sha256": model_sha256}
        if result["rules"] != content["rules"]:
            raise LogicLensError("the result is of other rules than the model: pass both or neither.")
        files[RESULT] = _json_bytes(sealed(result))
    if model.certificate is not None:
        files[CERTIFICATE] = _json_bytes(
            model.certificate.as_dict(
                version=version, model_sha256=model_sha256, weights_sha256=weights_sha256, rules=model.rules
            )
        )
    return ModelFiles(files)


def load(folder: str | Path | ModelFolder) -> StoredModel:
    """Read a model folder. Refuse one that is incomplete, changed or of another version, and say why.

    All files are read at one moment, so that a folder that is replaced meanwhile gives the old model or the new one.
    """
    opened = folder if isinstance(folder, ModelFolder) else open_folder(folder)
    record = read_record(opened)
    certificate = None
    if opened.certificate is not None:
        name = str(opened.path / CERTIFICATE)
        check_seal(opened.certificate, name)
        try:
            certificate = Certificate.from_dict(opened.certificate)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise LogicLensError(f"{name} is not complete ({error!r:.80}).") from None
    weights = _weights(record, opened.files[WEIGHTS], str(opened.path / WEIGHTS))
    schema = _schema(record)
    rules = None if record.rules is None else RuleSet.from_dict(opened.content["rules"])
    return StoredModel(
        weights,
        schema,
        record.labels,
        record.settings,
        rules,
        certificate,
        vars(record.metrics),
        record.data_sha256,
        record.target,
        target_cuts=record.cuts_of_target,
    )


def _content(model: StoredModel, version: str) -> dict[str, Any]:
    schema = model.schema
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "logiclens": version,
        "network": to_plain(model.weights.sizes),
        "concepts": list(schema.names),
        "predicates": {name: predicate_to_dict(meant) for name, meant in schema.predicates.items()},
        "columns": list(schema.columns),
        "positional": schema.positional,
        "cutting": None if schema.cutting is None else _cutting_to_dict(schema.cutting),
        "exclusive": [list(group) for group in schema.groups.exclusive],
        "implied": [list(chain) for chain in schema.groups.implied],
        "class_names": list(schema.class_names),
        "labels": list(model.labels),
        "multilabel": schema.multilabel,
        "exact": model.certificate is not None,
        "rules": None if model.rules is None else to_dict(model.rules),
        "settings": dict(model.settings),
        "metrics": dict(model.metrics),
        "data_sha256": model.data_sha256,
        "target": model.target,
        **({} if model.target_cuts is None else {"target_cuts": list(model.target_cuts.thresholds)}),
    }


def _weights(record: ModelRecord, content: bytes, name: str) -> NetworkWeights:
    """Return the weights of the network that `model.json` describes."""
    try:
        arrays = safetensors_load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise LogicLensError(f"{name} cannot be read: it holds no weights ({error!s:.80}).") from None
    weights = NetworkWeights(record.network, arrays)
    shapes = weights.shapes() if len(record.network.hidden) <= len(arrays) else {}
    found = {key: array.shape for key, array in arrays.items()}
    if found != shapes:
        other = sorted(key for key in {**found, **shapes} if found.get(key) != shapes.get(key))
        raise LogicLensError(
            f"{name} does not fit the network that {MODEL} describes: see {quoted(', '.join(other[:3]))}."
        )
    # A soft network is stored in double precision, a certified one in the precision of its certificate.
    for key, array in arrays.items():
        own = {"keep": np.bool_, "cubes": np.int8}.get(key.rpartition(".")[2])
        if array.dtype not in ([np.float32, np.float64] if own is None else [own]):
            expected = "float32 or float64" if own is None else np.dtype(own).name
            raise LogicLensError(f"{name} must hold {expected} in {quoted(key)}, got {array.dtype}.")
        if not np.isfinite(array).all():
            raise LogicLensError(f"{name} holds a weight in {quoted(key)} that is not finite.")
    return weights


def _schema(record: ModelRecord) -> Schema:
    cutting = None
    if record.cutting is not None:
        scales = {name: (middle, reach) for name, (middle, reach) in record.cutting.scales.items()}
        kinds: Any = record.cutting.kinds
        cutting = Cutting(kinds, record.predicates, record.groups, scales)
    return Schema(
        record.concepts,
        record.class_names,
        record.groups,
        record.multilabel,
        record.predicates,
        cutting,
        record.columns,
        record.positional,
    )


def _cutting_to_dict(cutting: Cutting) -> dict[str, Any]:
    return {
        "kinds": dict(cutting.kinds),
        "scales": {name: list(scale) for name, scale in cutting.scales.items()},
    }


def _json_bytes(content: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise LogicLensError(
            f"this model cannot be written as JSON ({error}): use labels that are text or numbers."
        ) from None
    return f"{text}\n".encode()


def data_hash(parts: Sequence[Any]) -> str:
    """Return the sha256 of arrays, which identifies the training data without storing it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(str(part.shape).encode() + str(part.dtype).encode() + part.tobytes())
    return digest.hexdigest()


def classifier_files(
    model: EntropyClassifier, result: Any = None, rules: RuleSet | None = None, reading: Reading | None = None
) -> ModelFiles:
    """Return the files of a fitted classifier, with the result of its explanation if there is one.

    Args:
        model: the fitted classifier.
        result: a `logiclens.report.Result`. Default: None.
        rules: the rules to save instead of `model.rules_`. Default: None.
        reading: the network's answers on the training rows, if they are known already. Default: None.
    """
    if rules is not None and model._is_exact and rules != model.rules_:
        raise LogicLensError("the rules of an exact model are certified: no others can be saved with it.")
    if hasattr(model, "_origin"):
        metrics, data_sha256 = model._origin["metrics"], model._origin["data_sha256"]
    elif not hasattr(model, "table_"):
        raise LogicLensError("a loaded model is already in a folder: copy that.")
    else:
        metrics, data_sha256 = _fitted(model, reading)
    if model.classes_.dtype.kind in "mM":
        # NumPy gives nanoseconds as whole numbers.
        raise LogicLensError(
            f"labels of type {model.classes_.dtype} cannot be saved: write them as text before the fit."
        )
    stored = StoredModel(
        getattr(model, "weights_", None) or NetworkWeights.of(model.network_),
        model.schema_,
        tuple(model.classes_.tolist()),
        _settings(model),
        model.rules_ if rules is None else rules,
        model.certificate_ if model._is_exact else None,
        metrics,
        data_sha256,
        model.target_name_,
        result,
        model.target_cuts_,
    )
    return files_of(stored, version=__version__)


def _fitted(model: EntropyClassifier, reading: Reading | None) -> tuple[dict[str, Any], str]:
    """Return the metrics of a fitted model and the hash of the rows that it was fitted on."""
    table = model.table_
    metrics = {
        "rows": table.n_counted,
        "best_epoch": int(model.train_result_.history.best_epoch) if hasattr(model, "train_result_") else None,
        "accuracy_on_these_rows": _accuracy(model, reading),
        "teacher": None if model.teacher is None else teacher_name(model.teacher),
        "fidelity_to_the_teacher": getattr(model, "teacher_fidelity_", None),
    }
    return metrics, data_hash([table.values, np.asarray(table.labels), table.weight])


def origin_of(model: EntropyClassifier) -> dict[str, Any]:
    """Return what a model of edited rules says about the fit: where it comes from, and no figure of other rules."""
    known = getattr(model, "_origin", None) or getattr(model, "_loaded", None)
    if known is None:
        metrics, data_sha256 = _fitted(model, None)
        known = {"metrics": metrics, "data_sha256": data_sha256}
    figures = {name: None for name in known["metrics"] if name not in ("rows", "best_epoch", "teacher")}
    return {**known, "metrics": {**known["metrics"], **figures}}


def _accuracy(model: EntropyClassifier, reading: Reading | None) -> float:
    """Return the accuracy on the training rows."""
    table = model.table_
    truth = np.asarray(table.labels) if table.is_multilabel else model.classes_[np.asarray(table.labels)]
    if model._is_exact:
        return model.score(table, truth, table.weight)
    answers = model._answers_of(reading or model._read_soft(table))
    right = np.equal(answers, truth).reshape(len(truth), -1).all(axis=1)
    return float(table.weight[right].sum() / table.weight.sum())


def load_classifier(kind: type[EntropyClassifier], folder: str | Path | ModelFolder) -> EntropyClassifier:
    """Load a fitted classifier from its folder, without its training rows."""
    stored = load(folder)
    name = folder.path if isinstance(folder, ModelFolder) else folder
    settings = dict(stored.settings)
    try:
        settings["booleanise"] = _booleanise(settings["booleanise"])
        if settings.get("knowledge") is not None:
            settings["knowledge"] = Knowledge.from_dict(settings["knowledge"])
        # Models from before the search had a limit of concepts, which the search does not have.
        if settings.pop("max_concepts", None) is not None:
            settings |= {"method": "paper" if settings["method"] == "paper" else "search", "score_against": None}
        model = kind(**settings)
        check_settings(model)
    except (TypeError, KeyError) as error:
        raise LogicLensError(f"{name} has settings that this version does not know ({quoted(str(error))}).") from None
    except (LogicLensError, ValueError, AttributeError, OverflowError) as error:
        raise LogicLensError(f"{name} has a setting that cannot be: {error!s:.160}") from None
    model.weights_, model.schema_ = stored.weights, stored.schema
    model.classes_ = label_array(stored.labels)
    model.concept_names_ = stored.schema.names
    model.n_features_in_ = len(stored.columns)
    if not stored.schema.positional:
        model.feature_names_in_ = np.array(stored.columns, dtype=object)
    model.set_aside_ = model.booleaniser_ = None
    model.target_name_, model.target_cuts_ = stored.target, stored.target_cuts
    model._loaded = {"metrics": stored.metrics, "data_sha256": stored.data_sha256}
    if stored.certificate is not None and stored.rules is not None:
        model.certificate_ = stored.certificate
    if stored.rules is not None:
        facts = stored.rules.facts
        # Earlier versions did not tell the rules which columns there are.
        model._rules = replace(stored.rules, facts=replace(facts, kinds=facts.kinds or stored.schema.column_kinds))
    return model


def _booleanise(saved: Any) -> Any:
    return Booleaniser(**saved) if isinstance(saved, Mapping) else saved


def _settings(model: EntropyClassifier) -> dict[str, Any]:
    """Return the settings as JSON values."""
    # The teacher is never stored, only its name.
    settings = model.get_params(deep=False) | {"teacher": None, "exact": model._is_exact}
    # How a fit was watched is no property of the model.
    del settings["verbose"]
    # Only where there is some, so that earlier versions read the other folders.
    del settings["knowledge"]
    del settings["positive"]
    if model.positive is not None:
        settings["positive"] = str(model.positive)
    if model.knowledge is not None:
        settings["knowledge"] = model.knowledge.to_dict()
    cuts = settings["booleanise"]
    settings["hidden"] = list(model.hidden)
    settings["class_weight"] = listed_class_weight(model.class_weight, model.classes_)
    if isinstance(cuts, Booleaniser):
        settings["booleanise"] = cuts.get_params()
    elif isinstance(cuts, Mapping):
        settings["booleanise"] = Booleaniser(cuts).get_params()
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    """Return Python's numbers for NumPy's, which JSON does not know."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
