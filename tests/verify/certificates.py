"""The concepts of the certified model, and steps that several tests of the checker share."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from logiclens import storage
from logiclens.verify import VerificationError, verify
from tests.oracles.certified import Saved, sealed

CONCEPTS = ["age >= 60", "age >= 72.5", "smoker", "sepsis", "icu", "red", "green"]
PREDICATES = {
    "age >= 60": {"column": "age", "operator": ">=", "value": 60.0},
    "age >= 72.5": {"column": "age", "operator": ">=", "value": 72.5},
    **{name: {"column": name, "operator": "==", "value": True} for name in ("smoker", "sepsis", "icu")},
    "red": {"column": "light", "operator": "==", "value": "red"},
    "green": {"column": "light", "operator": "==", "value": "green"},
}


def flip(cube: dict[str, bool]) -> None:
    concept = next(iter(cube))
    cube[concept] = not cube[concept]


def refused(saved: Saved, folder: Path) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        verify(saved.write(folder))
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return caught.value


def write_certificate(folder: Path, certificate: dict[str, Any]) -> None:
    """With the hashes of the two files as they are now, also in `model.json` where that can be read."""
    weights = (folder / "weights.safetensors").read_bytes()
    with suppress(ValueError, RecursionError):
        model = json.loads((folder / "model.json").read_bytes())
        if isinstance(model, dict) and "content_sha256" in model:
            rest = {key: value for key, value in model.items() if key != "content_sha256"}
            again = storage.sealed({**rest, "weights_sha256": hashlib.sha256(weights).hexdigest()})
            (folder / "model.json").write_text(json.dumps(again, ensure_ascii=False), "utf-8")
    right = sealed(certificate, (folder / "model.json").read_bytes(), weights)
    (folder / "certificate.json").write_text(json.dumps(right, ensure_ascii=False), "utf-8")
