"""Frozen dataclasses as plain JSON data and back, derived from their annotations.

Used for everything that is written as JSON from a dataclass, such as `result.json` in a model folder. A field `class_`
is written as `class`. A type that has a form of its own is annotated with it: `Annotated[RuleSet, OwnForm(...)]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from logiclens.errors import LogicLensError, quoted

T = TypeVar("T")
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a finite number"}


@dataclass(frozen=True)
class OwnForm:
    """The functions that write and read a type that is not written field by field."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def to_plain(value: Any) -> Any:
    """Return dataclasses as dictionaries in the order of their fields, tuples as lists, anything else as it is.

    >>> from logiclens.formula.dnf import Literal
    >>> to_plain((Literal("old"), Literal("smoker", positive=False)))
    [{'concept': 'old', 'positive': True}, {'concept': 'smoker', 'positive': False}]
    """
    if is_dataclass(value) and not isinstance(value, type):
        own = {name: _own_form(hint) for name, hint in _hints(type(value)).items()}
        held = {one.name: getattr(value, one.name) for one in fields(value)}
        return {
            _key(name): form.write(inner) if (form := own[name]) else to_plain(inner) for name, inner in held.items()
        }
    if isinstance(value, Mapping):
        return {key: to_plain(inner) for key, inner in value.items()}
    return [to_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def from_plain(kind: type[T], data: Any, name: str) -> T:
    """Return the dataclass that `to_plain` wrote; refuse anything else in one sentence that names the place.

    Args:
        kind: the dataclass to read.
        data: what JSON holds. A field that has a default may be missing; any other field may not.
        name: what the data is called in messages, such as `"the result"`.

    Raises:
        LogicLensError: if a field is missing, unknown or of another type.

    >>> from logiclens.formula.dnf import Literal
    >>> from_plain(Literal, {"concept": "old", "positive": 1}, "the literal")
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: 'positive' of the literal must be true or false, got 1.
    """
    made: T = _read(kind, data, "", name)
    return made


def _read(form: Any, value: Any, where: str, name: str) -> Any:
    origin, inner = get_origin(form), get_args(form)
    if form is Any:
        return value
    if own := _own_form(form):
        return own.read(value)
    if is_dataclass(form):
        return _object(form, value, where, name)
    if origin in (Union, UnionType):
        if value is None and NoneType in inner:
            return None
        kinds = [kind for kind in inner if kind is not NoneType]
        if len(kinds) == 1:
            return _read(kinds[0], value, where, name)
        if any(_is(value, kind) for kind in kinds):
            return value
        _refuse(where, name, " or ".join(_WORDS[kind] for kind in kinds), value)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            _refuse(where, name, "a list", value)
        return tuple(_read(inner[0], entry, f"{where}[{place}]", name) for place, entry in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            _refuse(where, name, "an object", value)
        return {str(key): _read(inner[1], entry, _join(where, key), name) for key, entry in value.items()}
    if not _is(value, form):
        _refuse(where, name, _WORDS[form], value)
    return value


def _object(kind: Any, value: Any, where: str, name: str) -> Any:
    if not isinstance(value, Mapping):
        _refuse(where, name, "an object", value)
    held, hints = {}, _hints(kind)
    for one in fields(kind):
        key = _key(one.name)
        if key in value:
            held[one.name] = _read(hints[one.name], value[key], _join(where, key), name)
        elif one.default is MISSING and one.default_factory is MISSING:
            raise LogicLensError(f"{name} lacks {quoted(_join(where, key))}.")
    if unknown := [key for key in value if key not in {_key(one.name) for one in fields(kind)}]:
        raise LogicLensError(f"{name} has an unknown field {quoted(_join(where, unknown[0]))}.")
    return kind(**held)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _own_form(hint: Any) -> OwnForm | None:
    return next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, OwnForm)), None)


def _is(value: Any, kind: Any) -> bool:
    if kind in (str, bool) or isinstance(value, bool):
        return type(value) is kind
    if kind is int:
        return isinstance(value, int)
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        # A whole number that no float holds.
        return False


def _key(field_name: str) -> str:
    return field_name.removesuffix("_")


def _join(where: str, key: Any) -> str:
    return f"{where}.{key}" if where else str(key)


def _refuse(where: str, name: str, wanted: str, value: Any) -> NoReturn:
    subject = f"{quoted(where)} of {name}" if where else name
    raise LogicLensError(f"{subject} must be {wanted}, got {quoted(value)}.")
