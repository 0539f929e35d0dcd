"""The concepts of the certified model, and steps that several tests of the checker share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from logiclens.verify import VerificationError, verify
from tests.oracles.certified import Saved, sealed

CONCEPTS = ["age >= 60", "age >= 72.5", "smoker", "sepsis", "icu", "red", "green"]
PREDICATES = {
    "age >= 60": {"column": "age", "operator": ">=", "value": 60.0},
    "age >= 72.5": {"column": "age", "operator": ">=", "value": 72.5},
    "red": {"column": "light", "operator": "==", "value": "red"},
    "green": {"column": "light", "operator": "==", "value": "green"},
}


def refused(saved: Saved, folder: Path) -> VerificationError:
    with pytest.raises(VerificationError) as caught:
        verify(saved.write(folder))
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return caught.value


def write_certificate(folder: Path, certificate: dict[str, Any]) -> None:
    """With the hashes of the two files as they are now."""
    right = sealed(certificate, (folder / "model.json").read_bytes(), (folder / "weights.safetensors").read_bytes())
    (folder / "certificate.json").write_text(json.dumps(right, ensure_ascii=False), "utf-8")
