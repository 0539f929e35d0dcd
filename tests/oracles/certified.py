"""A hand-made saved model and its certificate: torch in float64, every row, the library's minimiser.

It uses nothing of the checker, so it is an independent judge. Tests change the three files and write them with right or
stale hashes.
"""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch

from logiclens import storage
from logiclens.formula.column_kinds import kind_of_value
from logiclens.formula.minimisation import minimise
from logiclens.formula.truth_table import TruthTable
from logiclens.nn import EntropyNet

SETTINGS = {
    "booleanise": None, "class_weight": None, "epochs": 200, "exact": True, "hidden": [4], "learning_rate": 0.01,
    "max_literals": None, "method": "search", "penalty_weight": 0.001,
    "random_state": 0, "resolve": "confidence", "temperature": 1.0,
    "validation": 0.2,
}  # fmt: skip
"""Settings of a saved model; nothing is decided by them."""


@dataclass
class Saved:
    """The three files before they are written; tests change them and write them with right or stale hashes."""

    model: dict[str, Any]
    weights: dict[str, np.ndarray]
    certificate: dict[str, Any]
    stale: bool = False

    def copy(self) -> Saved:
        return copy.deepcopy(self)

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        weights = safetensors.numpy.save(self.weights)
        model = self._model_bytes(weights, self.model if self.stale else None)
        certificate = self.certificate if self.stale else sealed(self.certificate, model, weights)
        (folder / "model.json").write_bytes(model)
        (folder / "weights.safetensors").write_bytes(weights)
        (folder / "certificate.json").write_text(json.dumps(certificate, indent=1, ensure_ascii=False), "utf-8")
        return folder

    def frozen(self) -> Saved:
        """The same, with the hashes of now: what is changed later is changed behind the certificate's back."""
        weights = safetensors.numpy.save(self.weights)
        model = self._model_bytes(weights)
        sealed_now = sealed(self.certificate, model, weights)
        return copy.deepcopy(Saved(json.loads(model), self.weights, sealed_now, stale=True))

    def _model_bytes(self, weights: bytes, content: dict[str, Any] | None = None) -> bytes:
        """`model.json`, with the hash of the weights and, of itself."""
        if content is None:
            content = {key: value for key, value in self.model.items() if key != "content_sha256"}
            content["weights_sha256"] = hashlib.sha256(weights).hexdigest()
            content = storage.sealed(content)
        return json.dumps(content, indent=1, ensure_ascii=False).encode()

    def entry(self, name: str = "high") -> dict[str, Any]:
        return next(entry for entry in self.certificate["classes"] if entry["class"] == name)

    def rules(self, name: str = "high") -> dict[str, Any]:
        return next(entry for entry in self.model["rules"]["classes"] if entry["class"] == name)

    def set_formula(self, cubes: list[dict[str, bool]], name: str = "high") -> None:
        """Change the rule in both files, as someone would who wants the two to fit each other."""
        rules, predicates = self.model["rules"], self.model["predicates"]
        rules["predicates"] |= {
            concept: predicates[concept] for cube in cubes for concept in cube if concept in predicates
        }
        self.entry(name)["formula"] = cubes
        self.rules(name)["cubes"] = [{"if": dict(cube), "confidence": 0.9} for cube in cubes]


def sealed(certificate: dict[str, Any], model: bytes, weights: bytes) -> dict[str, Any]:
    rest = {key: value for key, value in certificate.items() if key != "certificate_sha256"}
    rest["model_sha256"] = hashlib.sha256(model).hexdigest()
    rest["weights_sha256"] = hashlib.sha256(weights).hexdigest()
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**rest, "certificate_sha256": hashlib.sha256(text.encode("utf-8")).hexdigest()}


def random_net(seed: int, kept: list[list[int]], n_concepts: int, hidden=(20,), temperature=1.0, scale=1.0):
    """An EntropyNet with random weights, whose heads keep the concepts named."""
    generator = torch.Generator().manual_seed(seed)
    net = EntropyNet(n_concepts, len(kept), hidden=hidden, temperature=temperature, generator=generator)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
        net.entropy.keep.fill_(False)
        for head, concepts in enumerate(kept):
            net.entropy.keep[head, concepts] = True
    return net


def all_rows(m: int) -> np.ndarray:
    """Every row of m concepts; the first concept changes slowest."""
    return np.indices((2,) * m, dtype=np.uint8).reshape(m, -1).T.astype(bool) if m else np.zeros((1, 0), dtype=bool)


def float64_logits(net: EntropyNet, head: int, kept: list[int]) -> np.ndarray:
    """What torch says in float64, on every row of the kept concepts."""
    rows = torch.zeros(2 ** len(kept), net.n_concepts, dtype=torch.float64)
    rows[:, kept] = torch.tensor(all_rows(len(kept)).astype(np.float64))
    with torch.no_grad():
        return copy.deepcopy(net).double()(rows)[:, head].numpy()


def certify(net, concepts, class_names, predicates=None, exclusive=(), implied=()) -> Saved:
    """The writer's side, by minterms and the library's minimiser; nothing of the checker is used."""
    classes, rules = [], []
    for head, name in enumerate(class_names):
        kept = [j for j in range(len(concepts)) if net.entropy.keep[head, j]]
        names = [concepts[j] for j in kept]
        rows, values = all_rows(len(kept)), float64_logits(net, head, kept)
        if names:
            formula = minimise(TruthTable.of(rows, names, values >= 0)).formula
            cubes = [{literal.concept: literal.positive for literal in cube} for cube in formula]
        else:
            cubes = [{}] if values[0] >= 0 else []
        smallest = float(abs(values).min())
        classes.append({
            "class": name, "head": head, "concepts": names, "formula": cubes,
            "rows_checked": len(rows), "smallest_logit": smallest, "rounding_bound": min(1e-6, smallest / 2),
            "proved_minimal": True, "origin": "compiled from the formula", "complement_of": None,
        })  # fmt: skip
        rules.append({"class": name, "cubes": [{"if": dict(cube), "confidence": 0.9} for cube in cubes]})
    predicates = predicates or {}
    kinds: dict[str, str] = {}
    for meant in predicates.values():
        kind = "number" if meant["operator"] == "missing" else kind_of_value(meant["value"], meant["operator"]).name
        kinds[meant["column"]] = kind if meant["operator"] != "missing" else kinds.get(meant["column"], kind)
    used = {concept for rule in rules for cube in rule["cubes"] for concept in cube["if"]}
    deciding = {"resolve": "confidence", "order": [], "otherwise": 0}
    model = {
        "kind": "logiclens model", "schema": 3, "logiclens": "0.1.0",
        "network": {
            "n_concepts": net.n_concepts, "n_heads": net.n_classes,
            "hidden": [net.entropy.out_features, *(m.out_features for m in list(net.tail)[1::2][:-1])],
            "temperature": net.entropy.temperature, "activation": "relu", "rules": 0,
        },
        "concepts": list(concepts), "predicates": predicates, "columns": list(kinds), "positional": False,
        "cutting": {"kinds": kinds, "scales": {}} if kinds else None, "target": None,
        "exclusive": [list(g) for g in exclusive], "implied": [list(g) for g in implied],
        "class_names": list(class_names), "labels": list(class_names), "multilabel": False, "exact": True,
        "rules": {
            "kind": "logiclens rules", "schema": 2, "classes": rules,
            "predicates": {name: dict(meant) for name, meant in predicates.items() if name in used},
            "exclusive": [], "implied": [], "multilabel": False, **deciding,
        },
        "settings": SETTINGS | {"booleanise": "quantile" if kinds else None}, "metrics": {}, "data_sha256": "0" * 64,
    }  # fmt: skip
    certificate = {
        "kind": "logiclens certificate", "schema": 2, "logiclens": "0.1.0", "classes": classes, **deciding,
        "does_not_cover": ["Concepts between 0 and 1.", "Whether the rules are right about the world."],
    }  # fmt: skip
    return Saved(model, {name: tensor.numpy().copy() for name, tensor in net.state_dict().items()}, certificate)
