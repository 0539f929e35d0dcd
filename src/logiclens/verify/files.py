"""The three files of a model folder, read once; hashes are compared before anything in them is interpreted.

The certificate names the sha256 of the bytes of the other two, and of its own content without that one line, written
as canonical JSON. So a certificate may be indented otherwise, but nothing that it says can change unnoticed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from .errors import Unusable
from .fields import AGAIN, Fields, shown

MODEL = "model.json"
WEIGHTS = "weights.safetensors"
CERTIFICATE = "certificate.json"
SCHEMAS = {MODEL: (1, 2, 3), CERTIFICATE: (1,)}
"""The versions of the two JSON files that are understood here; a later model.json says more, and this much alike."""


@dataclass(frozen=True)
class Folder:
    """What the files say, uninterpreted, once the hashes are right."""

    model: Fields
    certificate: Fields
    weights: bytes


def read_folder(folder: Path) -> Folder:
    """Read the files, compare the hashes, then look at kinds and schemas."""
    if not _is_folder(folder):
        raise Unusable(f"there is no folder {str(folder)!r}. Pass the folder that the model was saved in.")
    certificate_bytes, model_bytes, weights = (_read(folder, name) for name in (CERTIFICATE, MODEL, WEIGHTS))
    certificate = parse(certificate_bytes, CERTIFICATE)
    _check_own_hash(certificate)
    _check_hash(certificate, "model_sha256", model_bytes, MODEL)
    _check_hash(certificate, "weights_sha256", weights, WEIGHTS)
    _check_kind(certificate, "logiclens certificate")
    model = parse(model_bytes, MODEL)
    _check_kind(model, "logiclens model")
    return Folder(model, certificate, weights)


def parse(content: bytes, file: str) -> Fields:
    """Strict JSON: UTF-8, an object, no key twice, no NaN, nothing that cannot be written again."""
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_constant)
        # Half a surrogate pair passes the parser and would fail where a name is printed.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise Unusable(f"{file} is nested too deeply to be read. {AGAIN}") from None
    except ValueError as error:  # also what a wrong encoding or a number of thousands of digits raises
        raise Unusable(f"{file} is not valid JSON ({error}). {AGAIN}") from None
    return Fields.of(value, file)


def canonical(record: dict[str, object]) -> bytes:
    """The bytes that `certificate_sha256` is taken of: everything but that key."""
    rest = {key: value for key, value in record.items() if key != "certificate_sha256"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def _is_folder(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except (OSError, ValueError):  # a name too long, or one with a null byte
        return False


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except FileNotFoundError:
        remedy = (
            "Only an exact model has one, whose rules were proved equal to the network when it was saved: "
            "train in exact mode and save again."
            if name == CERTIFICATE
            else "A saved model needs it: take a fresh copy of the folder."
        )
        raise Unusable(f"there is no {name} in {str(folder)!r}. {remedy}") from None
    except OSError as error:
        raise Unusable(f"{name} cannot be read ({error.strerror}). Check the file and who may read it.") from None


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record: dict[str, object] = {}
    for key, value in pairs:
        if key in record:
            # Readers differ in which of the two they believe, so no claim can rest on such an object.
            raise ValueError(f"an object has the key {shown(key)} twice")
        record[key] = value
    return record


def _no_constant(name: str) -> object:
    raise ValueError(f"it contains {name}")


def _check_own_hash(certificate: Fields) -> None:
    if certificate.text("certificate_sha256") != hashlib.sha256(canonical(certificate.record)).hexdigest():
        raise Unusable(
            f"{CERTIFICATE} has been changed since it was made: its sha256 differs from the one it states. {AGAIN}"
        )


def _check_hash(certificate: Fields, key: str, content: bytes, file: str) -> None:
    if certificate.text(key) != hashlib.sha256(content).hexdigest():
        raise Unusable(f"{file} is not the file this certificate was made for: its sha256 differs. {AGAIN}")


def _check_kind(fields: Fields, kind: str) -> None:
    if fields.text("kind") != kind:
        raise Unusable(f"{fields.file} must be of kind {kind!r}, got {shown(fields.text('kind'))}. {AGAIN}")
    known = SCHEMAS[fields.file]
    if fields.whole("schema") not in known:
        raise Unusable(
            f"{fields.file} has schema {fields.whole('schema')}; this logiclens verifies schema "
            f"{' or '.join(map(str, known))}. Use the version of logiclens that saved the model."
        )
