"""Typed access to parsed JSON: the one place that says which field of which file is malformed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .errors import Unusable

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
