"""Reader for the three files of a model folder, and the errors of the checker.

Only regular files up to a stated size are read, each once. The hashes are compared before the contents are interpreted.
The certificate stores the sha256 of the bytes of the other two files. It also stores the sha256 of its own content
without that key, written as canonical JSON. A change of the indentation is therefore allowed, and a change of the
content is detected. `model.json` states its own hash in the same way.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar


class VerificationError(Exception):
    """The folder was not verified. The message says what was expected, what was found, and what to do.

    `exit_code` is that of `logiclens verify`.

    >>> from logiclens.verify import verify
    >>> try:
    ...     verify("no such folder")
    ... except VerificationError as error:
    ...     print(error.exit_code, error)
    2 there is no folder 'no such folder'. Pass the folder that the model was saved in.
    """

    exit_code = 2


class Unusable(VerificationError):
    """The files could not be checked.

    One is missing, malformed, special, too large, of an unknown version, or not the certified one; or the checker
    itself failed.

    >>> import tempfile
    >>> from logiclens.verify import verify
    >>> try:
    ...     verify(tempfile.mkdtemp())
    ... except Unusable as error:
    ...     print(error)
    there is no certificate.json in '...'. Only an exact model has one, ...
    """

    exit_code = 2


class Refuted(VerificationError):
    """The files are readable and belong together, and a claim of the certificate is false.

    >>> import tempfile
    >>> from logiclens import EntropyClassifier
    >>> from logiclens.verify import verify
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10
    >>> model = EntropyClassifier(booleanise=None, exact=True).fit(rows, [0, 0, 0, 1] * 10)
    >>> model.weights_.arrays["tail.1.bias"] -= 1_000
    >>> try:
    ...     verify(model.save(tempfile.mkdtemp() + "/model"))
    ... except Refuted as error:
    ...     print(error)
    class '0': on the row x0 = 0, x1 = 0 the complement says yes, the head no (logit -999), ...
    """

    exit_code = 1


AGAIN = "Take a fresh copy of the folder, or save the model again."
"""Advice in the messages about a malformed file."""

SHOWN = 60
"""Maximum number of characters of an invalid value that a message repeats."""

T = TypeVar("T")
Label = str | bool | int | float
"""A class label as JSON holds it."""


def shown(value: object) -> str:
    """Return a value from a file as text for a message: escaped, and at most `SHOWN` characters long."""
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


@dataclass(frozen=True)
class Fields:
    """A JSON object with its position; the methods read one field each and check its type.

    Each reading method takes a key and raises `Unusable` if the field is missing or of another type.

    Attributes:
        record: the keys and values of the object.
        file: name of the file that contains it.
        path: path of the object in that file; empty for the outermost object.
    """

    record: dict[str, object]
    file: str
    path: str = ""

    @classmethod
    def of(cls, value: object, file: str, path: str = "") -> Fields:
        """Return the fields of a JSON object.

        Args:
            value: a parsed JSON value.
            file: name of the file that contains it.
            path: path of the value in that file.

        Raises:
            Unusable: the value is not an object.
        """
        if not isinstance(value, dict):
            where = f"{path} in {file}" if path else file
            raise Unusable(f"{where} must be a JSON object, got {shown(value)}. {AGAIN}")
        return cls(value, file, path)

    def refuse(self, key: str, expected: str) -> Unusable:
        """Return the error for an invalid field.

        Args:
            key: key of the field.
            expected: description of a valid value.
        """
        return Unusable(
            f"{self._path(key)} in {self.file} must be {expected}, got {shown(self.record.get(key))}. {AGAIN}"
        )

    def check_keys(self, required: Collection[str], optional: Collection[str] = ()) -> None:
        """Check that the object has the required keys, and no other but the optional ones.

        Args:
            required: keys that the object must have.
            optional: keys that it may have.
        """
        for key in required:
            self.value(key)
        if unknown := [key for key in self.record if key not in required and key not in optional]:
            where = f"{self.path} in {self.file}" if self.path else self.file
            raise Unusable(f"{where} has the unknown field {shown(unknown[0])}. {AGAIN}")

    def value(self, key: str) -> object:
        """Return the unchecked value of a field."""
        if key not in self.record:
            raise Unusable(f"{self.file} has no {self._path(key)}. {AGAIN}")
        return self.record[key]

    def text(self, key: str) -> str:
        """Return a string."""
        value = self.value(key)
        if not isinstance(value, str):
            raise self.refuse(key, "a string")
        return value

    def label(self, key: str) -> Label:
        """Return a class label: a string, a finite number, true or false."""
        value = self.value(key)
        if not is_label(value):
            raise self.refuse(key, "a class label: a string, a finite number, true or false")
        return value  # type: ignore[return-value]

    def share(self, key: str) -> float:
        """Return a number from 0 to 1."""
        value = self.number(key)
        if not 0 <= value <= 1:
            raise self.refuse(key, "a number from 0 to 1")
        return value

    def choice(self, key: str, choices: Collection[str]) -> str:
        """Return one of several strings."""
        value = self.value(key)
        if not isinstance(value, str) or value not in choices:
            raise self.refuse(key, f"one of {', '.join(map(repr, choices))}")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self.value(key)
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def whole(self, key: str) -> int:
        """Return a whole number, 0 or more."""
        value = self.value(key)
        if not _is_whole(value):
            raise self.refuse(key, "a whole number, 0 or more")
        return value  # type: ignore[return-value]

    def number(self, key: str) -> float:
        """Return a finite number."""
        number = finite(self.value(key))
        if number is None:
            raise self.refuse(key, "a finite number")
        return number

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        value = self.value(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.refuse(key, "a list of strings")
        return tuple(value)

    def names(self, key: str) -> tuple[str, ...]:
        """Return a list of distinct strings."""
        texts = self.texts(key)
        if len(set(texts)) < len(texts) or "" in texts:
            raise self.refuse(key, "a list of strings that differ from each other, none of them empty")
        return texts

    def groups(self, key: str) -> tuple[tuple[str, ...], ...]:
        """Return a list of non-empty lists, each of distinct strings."""
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
        """Return a list of whole numbers, 0 or more."""
        value = self.value(key)
        if not isinstance(value, list) or not all(_is_whole(item) for item in value):
            raise self.refuse(key, "a list of whole numbers")
        return tuple(value)

    def inner(self, key: str) -> Fields:
        """Return a nested object."""
        return Fields.of(self.value(key), self.file, self._path(key))

    def each(self, key: str, read: Callable[[Fields], T]) -> tuple[T, ...]:
        """Read every object of a list.

        Args:
            key: key of the list.
            read: reader for one object of the list.
        """
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
        # A key can be a name chosen by the user, with any characters.
        step = key if key.isidentifier() else shown(key)
        return f"{self.path}.{step}" if self.path else step


def finite(value: object) -> float | None:
    """Return a JSON number as a float; None if the value is not a number or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def is_label(value: object) -> bool:
    """Return whether a value can be a class label."""
    return isinstance(value, str | bool) or finite(value) is not None


def _is_whole(value: object) -> bool:
    # In Python, JSON's true is an int.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


MODEL = "model.json"
WEIGHTS = "weights.safetensors"
CERTIFICATE = "certificate.json"
SCHEMAS = {MODEL: 3, CERTIFICATE: 2}
"""Schemas of the two JSON files."""
LIMITS = {MODEL: 2**25, CERTIFICATE: 2**25, WEIGHTS: 2**30}
"""Largest size of each file in bytes: 32 MiB of JSON, 1 GiB of weights. A larger file is not read."""


@dataclass(frozen=True)
class Folder:
    """Uninterpreted contents of the three files, after the hashes were checked."""

    model: Fields
    certificate: Fields
    weights: bytes


def read_folder(folder: Path) -> Folder:
    """Read the three files of a model folder, and check first the hashes, then kinds and schemas.

    Args:
        folder: folder that the model was saved in.

    Raises:
        Unusable: a file is missing, malformed, of an unknown version, or not the certified one.
    """
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
    _check_stated_hashes(model, weights)
    return Folder(model, certificate, weights)


def parse(content: bytes, file: str) -> Fields:
    """Parse strict JSON: UTF-8, an object, no duplicate key, no NaN, only text that UTF-8 can encode again.

    Args:
        content: bytes of the file.
        file: name of the file, for messages.

    Raises:
        Unusable: the content is not such JSON.
    """
    try:
        value = json.loads(content.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_constant)
        # A lone surrogate passes the parser and would fail when a name is printed.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise Unusable(f"{file} is nested too deeply to be read. {AGAIN}") from None
    except ValueError as error:  # a wrong encoding or a number of thousands of digits raises it too
        raise Unusable(f"{file} is not valid JSON ({error}). {AGAIN}") from None
    return Fields.of(value, file)


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file, or a link to one. A pipe is not waited for, and a device is not read.

    Args:
        path: the file.
        limit: largest number of bytes.

    Raises:
        Unusable: it is not a regular file, or larger than the limit.
        OSError: it cannot be opened or read.
    """
    # Without O_NONBLOCK, opening a named pipe waits for somebody to write into it. Windows has neither flag.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{path.name} is not a regular file, and only such are read. {AGAIN}")
        if status.st_size <= limit:
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(status.st_size + 1)
        else:
            raise Unusable(f"{path.name} is larger than {limit:,} bytes, the most that is read. {AGAIN}")
        if content is None:
            # Some files of the system, such as /proc/kmsg, are called regular and yet have to be waited for.
            raise Unusable(f"{path.name} has no stored contents, and only files with such are read. {AGAIN}")
        if len(content) != status.st_size:
            raise Unusable(f"{path.name} was changed while it was read. {AGAIN}")
    finally:
        os.close(descriptor)
    return content


def canonical(record: dict[str, object]) -> bytes:
    """Return the bytes whose sha256 is `certificate_sha256`: canonical JSON of the record without that key."""
    rest = {key: value for key, value in record.items() if key != "certificate_sha256"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def _is_folder(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except (OSError, ValueError):  # the name is too long or contains a null byte
        return False


def _read(folder: Path, name: str) -> bytes:
    try:
        return read_regular(folder / name, LIMITS[name])
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
            # JSON parsers differ in which of the two values they keep, so the object is ambiguous.
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


def _check_stated_hashes(model: Fields, weights: bytes) -> None:
    """Check the hashes in `model.json`, which loading the model compares."""
    if model.text("weights_sha256") != hashlib.sha256(weights).hexdigest():
        raise Unusable(f"{MODEL} names other weights than {WEIGHTS}: its weights_sha256 differs. {AGAIN}")
    rest = {key: value for key, value in model.record.items() if key != "content_sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    if model.text("content_sha256") != hashlib.sha256(text.encode("utf-8")).hexdigest():
        raise Unusable(f"{MODEL} has been changed since it was saved: its content_sha256 differs. {AGAIN}")


def _check_kind(fields: Fields, kind: str) -> None:
    if fields.text("kind") != kind:
        raise Unusable(f"{fields.file} must be of kind {kind!r}, got {shown(fields.text('kind'))}. {AGAIN}")
    known = SCHEMAS[fields.file]
    if fields.whole("schema") != known:
        raise Unusable(
            f"{fields.file} has schema {fields.whole('schema')}; this logiclens verifies schema {known}. Use the "
            "version of logiclens that saved the model."
        )
