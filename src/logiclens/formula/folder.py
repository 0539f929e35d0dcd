"""The model folder from outside: its files, whether they are whole and belong together, and the rules in it.

Nothing here needs the network: rules are loaded and predict without torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from logiclens.errors import LogicLensError
from logiclens.formula.record import from_dict
from logiclens.formula.rule_set import RuleSet

KIND, SCHEMA = "logiclens model", 3
MODEL, WEIGHTS, CERTIFICATE, RESULT = "model.json", "weights.safetensors", "certificate.json", "result.json"
READABLE = (1, 2, SCHEMA)
"""The schemas that this version reads. Schema 3 may hold rules with a complement or an order of classes."""


def open_model(folder: str | Path) -> dict[str, Any]:
    """The content of `model.json`, checked: what is missing, cut short, changed or of another version is refused."""
    path = Path(folder)
    if not path.is_dir():
        raise LogicLensError(f"there is no folder {path}.")
    content = read_json(path / MODEL)
    if content.get("kind") != KIND:
        raise LogicLensError(f"{path / MODEL} does not describe a logiclens model.")
    # Asked of the type too: true would pass for 1.
    if type(content.get("schema")) is not int or content["schema"] not in READABLE:
        raise LogicLensError(
            f"{path / MODEL} has schema {content.get('schema')!r}; this version reads schema 1 to {SCHEMA}. "
            "Load it with the version of logiclens that wrote it."
        )
    if content["schema"] > 1 or "content_sha256" in content or "cutting" in content:
        check_sealed(content, path / MODEL)
    if not (path / WEIGHTS).is_file():
        raise LogicLensError(f"the weights are missing: there is no {path / WEIGHTS}.")
    if sha256(path / WEIGHTS) != content.get("weights_sha256"):
        raise LogicLensError(f"{path / WEIGHTS} is not the file that {MODEL} was saved with: its sha256 differs.")
    if content.get("exact"):
        certificate = read_json(path / CERTIFICATE)
        if certificate.get("model_sha256") != sha256(path / MODEL):
            raise LogicLensError(f"{path / CERTIFICATE} is for another model: the sha256 of {MODEL} differs.")
    return content


def load_rules(place: str | Path) -> RuleSet:
    """The rules of a model folder, or of a JSON file that `logiclens export --to json` wrote."""
    path = Path(place)
    if path.is_file():
        return from_dict(read_json(path))
    rules = open_model(path).get("rules")
    if rules is None:
        raise LogicLensError(f"{path} holds no rules.")
    return from_dict(rules)


def open_result(folder: str | Path) -> dict[str, Any]:
    """The content of `result.json`, checked to be whole and of the model beside it."""
    path = Path(folder)
    if not (path / RESULT).is_file():
        raise LogicLensError(
            f"{path} holds no result: save it with `logiclens explain DATA --target COLUMN --save DIR`."
        )
    content = read_json(path / RESULT)
    check_sealed(content, path / RESULT)
    if content.get("model_sha256") != sha256(path / MODEL):
        raise LogicLensError(f"{path / RESULT} is of another model: the sha256 of {MODEL} differs.")
    return content


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with the hash of itself, so that a change shows."""
    return {**content, "content_sha256": _seal(content)}


def check_sealed(content: Mapping[str, Any], path: Path) -> None:
    """Refuse content that is not what was sealed."""
    if content.get("content_sha256") != _seal({k: v for k, v in content.items() if k != "content_sha256"}):
        raise LogicLensError(f"{path} was changed after it was saved: its content does not fit its hash.")


def _seal(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sha256(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; one that is missing or cut short is refused."""
    if not path.is_file():
        raise LogicLensError(f"there is no {path}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    # ValueError covers a syntax error, bytes that are no text, and numbers with too many digits.
    except (ValueError, RecursionError) as error:
        raise LogicLensError(f"{path} cannot be read as JSON: it may be cut short ({error}).") from None
    if not isinstance(content, dict):
        raise LogicLensError(f"{path} does not hold what was saved there.")
    return content
