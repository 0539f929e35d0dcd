"""The three files of a model folder, read once; hashes are compared before anything in them is interpreted.

The certificate names the sha256 of the bytes of the other two, and of its own content without that one line, written
as canonical JSON. So a certificate may be indented otherwise, but nothing that it says can change unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar


class VerificationError(Exception):
    """The folder was not verified: the message says what was expected, what came, and what to do."""

    exit_code = 2


class Unusable(VerificationError):
    """The files cannot be judged: one is missing, broken, of another version, or not the one that was certified."""

    exit_code = 2


class Refuted(VerificationError):
    """The files were read and belong together, and what the certificate claims is not so."""

    exit_code = 1


AGAIN = "Take a fresh copy of the folder, or save the model again."
"""What to do about a file that does not have the form it should have."""

SHOWN = 60
"""How much of an offending value a message repeats."""

T = TypeVar("T")


def shown(value: object) -> str:
    """A value from a file as a message repeats it: escaped, and no longer than a line."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


@dataclass(frozen=True)
class Fields:
    """A JSON object, the file it is in and where in that file it is."""

    record: dict[str, object]
    file: str
    path: str = ""

    @classmethod
    def of(cls, value: object, file: str, path: str = "") -> Fields:
        """Refuse what is not an object."""
        if not isinstance(value, dict):
            where = f"{path} in {file}" if path else file
            raise Unusable(f"{where} must be a JSON object, got {shown(value)}. {AGAIN}")
        return cls(value, file, path)

    def refuse(self, key: str, expected: str) -> Unusable:
        """The error for a field that is not what it must be."""
        return Unusable(
            f"{self._path(key)} in {self.file} must be {expected}, got {shown(self.record.get(key))}. {AGAIN}"
        )

    def value(self, key: str) -> object:
        """The field as it came; raises where it is missing."""
        if key not in self.record:
            raise Unusable(f"{self.file} has no {self._path(key)}. {AGAIN}")
        return self.record[key]

    def text(self, key: str) -> str:
        """A string."""
        value = self.value(key)
        if not isinstance(value, str):
            raise self.refuse(key, "a string")
        return value

    def label(self, key: str) -> str:
        """A class label as it is printed: a string, a number, true or false."""
        value = self.value(key)
        if not isinstance(value, str | bool | int | float):
            raise self.refuse(key, "a class label: a string, a number, true or false")
        return str(value)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.value(key)
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def whole(self, key: str) -> int:
        """A whole number, 0 or more."""
        value = self.value(key)
        if not _is_whole(value):
            raise self.refuse(key, "a whole number, 0 or more")
        return value  # type: ignore[return-value]

    def number(self, key: str) -> float:
        """A finite number."""
        number = finite(self.value(key))
        if number is None:
            raise self.refuse(key, "a finite number")
        return number

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self.value(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.refuse(key, "a list of strings")
        return tuple(value)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of strings, each of them once."""
        texts = self.texts(key)
        if len(set(texts)) < len(texts):
            raise self.refuse(key, "a list of strings that differ from each other")
        return texts

    def groups(self, key: str) -> tuple[tuple[str, ...], ...]:
        """A list of lists of strings, none empty, no string twice in one of them."""
        value = self.value(key)
        if not isinstance(value, list):
            raise self.refuse(key, "a list of lists of strings")
        for group in value:
            if not isinstance(group, list) or not group or not all(isinstance(item, str) for item in group):
                raise self._refuse_group(key, group)
            if len(set(group)) < len(group):
                raise self._refuse_group(key, group)
        return tuple(tuple(group) for group in value)

    def wholes(self, key: str) -> tuple[int, ...]:
        """A list of whole numbers."""
        value = self.value(key)
        if not isinstance(value, list) or not all(_is_whole(item) for item in value):
            raise self.refuse(key, "a list of whole numbers")
        return tuple(value)

    def inner(self, key: str) -> Fields:
        """An object inside this one."""
        return Fields.of(self.value(key), self.file, self._path(key))

    def each(self, key: str, read: Callable[[Fields], T]) -> tuple[T, ...]:
        """Read every object of a list."""
        value = self.value(key)
        if not isinstance(value, list):
            raise self.refuse(key, "a list")
        return tuple(
            read(Fields.of(item, self.file, f"{self._path(key)}[{position}]")) for position, item in enumerate(value)
        )

    def _refuse_group(self, key: str, group: object) -> Unusable:
        return Unusable(
            f"{self._path(key)} in {self.file} must hold lists of strings that differ from each other, "
            f"got {shown(group)}. {AGAIN}"
        )

    def _path(self, key: str) -> str:
        # A key can be a name of the user's, with any characters in it.
        step = key if key.isidentifier() else shown(key)
        return f"{self.path}.{step}" if self.path else step


def finite(value: object) -> float | None:
    """A JSON number as a float; None where it is not a number or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _is_whole(value: object) -> bool:
    # JSON's true is an int to Python.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


MODEL = "model.json"
WEIGHTS = "weights.safetensors"
CERTIFICATE = "certificate.json"
SCHEMAS = {MODEL: (1, 2, 3), CERTIFICATE: (1, 2)}
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
    if model.whole("schema") >= 3 and certificate.whole("schema") < 2:
        # An older certificate would leave open how such rules decide.
        raise Unusable(f"{MODEL} of schema {model.whole('schema')} needs a certificate of schema 2, got 1. {AGAIN}")
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
