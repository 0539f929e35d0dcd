"""Contents of `model.json` and `certificate.json` as typed values, which `reader` makes and the checks use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from .files import Label

MOST_CONCEPTS = 20
"""Maximum number of concepts of a head whose rows are enumerated; 2^20 rows take some seconds.

A head with more concepts is proved unit by unit.
"""

ORDERS = (">=", ">", "<=", "<")
OPERATORS = (*ORDERS, "==", "missing")

Cube = tuple[tuple[str, bool], ...]
"""Conjunction: each concept with the value that it must have."""
Formula = tuple[Cube, ...]
"""Disjunction of cubes. () is False, ((),) is True."""
Groups = tuple[tuple[str, ...], ...]


PARTS = {
    "month": ("month of", "1 to 12"),
    "weekday": ("weekday of", "1, a Monday, to 7"),
    "hour": ("hour of", "0 to 23"),
    "days": ("days from", "days of the calendar"),
}
"""The parts of dates in their order, each with the beginning of its name and what its numbers are."""


@dataclass(frozen=True)
class Part:
    """A number taken from a date, such as its weekday, or for `days` the days from one date to another."""

    kind: str
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the number, which stands where a predicate has its column."""
        return f"{PARTS[self.kind][0]} {' to '.join(self.columns)}"


@dataclass(frozen=True)
class Predicate:
    """Meaning of a concept on the raw table: a comparison of a column with a value, or that its value is missing.

    A text that is compared by order is a date or a duration. With the operator `missing`, the value is always true and
    has no meaning. With a `part`, the number that the part gives is compared, and `column` is its name.
    """

    column: str
    operator: str
    value: bool | int | float | str
    part: Part | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the table that the predicate reads."""
        return (self.column,) if self.part is None else self.part.columns


@dataclass(frozen=True)
class Cutting:
    """How the columns of a raw table become concepts.

    Attributes:
        columns: columns of the table, in the order of training.
        positional: whether the columns are taken by their position, because they had no names.
        kinds: kind of each column that a concept is about.
        scales: for a rescaled column, the value that becomes 0.5, and the distance from there to 0 and 1.
    """

    columns: tuple[str, ...]
    positional: bool
    kinds: Mapping[str, str]
    scales: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class ClassRule:
    """The stored rule of one class: the cubes of its formula, or the place of the class that it is a complement of.

    Attributes:
        label: the class, as predictions give it.
        formula: the cubes; empty for a complement.
        confidence: the stated confidence of each cube; of a complement, its one confidence.
        complement_of: place of the class whose formula this one negates, if any.
    """

    label: Label
    formula: Formula
    confidence: tuple[float, ...]
    complement_of: int | None = None


@dataclass(frozen=True)
class Edit:
    """What a person changed in the rules, as stated; `figures` are those measured before and after."""

    what: str
    why: str | None
    who: str | None
    when: str | None
    figures: tuple[object, ...] = ()


@dataclass(frozen=True)
class Rules:
    """The rules in `model.json`, which predict.

    Attributes:
        classes: the rule of each class, in the order of the heads.
        predicates: copies of those predicates that the rules use.
        exclusive: groups that follow from the model's, for the concepts that the rules use.
        implied: chains that follow from the model's, for the concepts that the rules use.
        resolve: how to decide if not exactly one formula fires; one of `RESOLVES`.
        order: places of the classes, in the order in which they decide.
        otherwise: place of the class of a row on which no formula fires, if any.
        multilabel: whether a row can have several labels.
        history: what people changed in the rules, as stated.
    """

    classes: tuple[ClassRule, ...]
    predicates: Mapping[str, Predicate]
    exclusive: Groups
    implied: Groups
    resolve: str
    order: tuple[int, ...]
    otherwise: int | None
    multilabel: bool
    history: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Model:
    """What `model.json` says, as far as a prediction or a certificate depends on it."""

    concepts: tuple[str, ...]
    hidden: tuple[int, ...]
    temperature: float
    class_names: tuple[str, ...]
    labels: tuple[Label, ...]
    multilabel: bool
    predicates: Mapping[str, Predicate]
    exclusive: Groups
    implied: Groups
    rules: Rules
    target: str | None
    cutting: Cutting | None
    """None if the columns of the table are the concepts."""

    @property
    def formulas(self) -> dict[str, Formula]:
        """The formula of each class that has one."""
        return {
            name: rule.formula
            for name, rule in zip(self.class_names, self.rules.classes, strict=False)
            if rule.complement_of is None
        }

    @property
    def used(self) -> tuple[str, ...]:
        """The concepts that any formula uses, in the order of the network's inputs."""
        named = {name for rule in self.rules.classes for cube in rule.formula for name, _ in cube}
        return tuple(name for name in self.concepts if name in named)


@dataclass(frozen=True)
class Claim:
    """One entry of the certificate: on every row of its concepts the head gives the answer of the formula.

    If `complement_of` names another head, the formula is that of the other head, and this head answers yes where the
    formula is false.

    Attributes:
        name: class of the head.
        head: index of the head.
        concepts: concepts that the head keeps.
        formula: the stated formula.
        rows: number of rows checked; None for a head of more than `MOST_CONCEPTS` concepts.
        smallest_logit: stated smallest |logit|.
        bound: stated bound on float32 rounding.
        complement_of: index of the head whose formula this head negates, if any.
        is_edited: whether the head was compiled from rules that people edited.
    """

    name: str
    head: int
    concepts: tuple[str, ...]
    formula: Formula
    rows: int | None
    smallest_logit: float
    bound: float
    complement_of: int | None = None
    is_edited: bool = False

    @property
    def is_complement(self) -> bool:
        """Whether the head answers yes where its formula is false."""
        return self.complement_of is not None


@dataclass(frozen=True)
class Certificate:
    """Contents of `certificate.json`.

    `resolve`, `order` and `otherwise` are copies of what the rules say.
    `history` is a copy of what people changed in the rules.
    """

    claims: tuple[Claim, ...]
    decision: tuple[str, tuple[int, ...], int | None]
    history: tuple[Edit, ...] = ()


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?)?")


def as_moment(text: str) -> datetime | None:
    """Parse a date in ISO format; without a time it is midnight. Return None if the text is not a date.

    >>> as_moment("2021-03-01") == as_moment("2021-03-01T00:00"), as_moment("2021-02-30")
    (True, None)
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


_DURATION = re.compile(r"(-?[0-9]{1,8}) days?(?: [+]?([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,6}))?)?")


def as_duration(text: str) -> timedelta | None:
    """Parse a duration such as `2 days 06:00:00`; the time is added to the days. Return None if it is not a duration.

    >>> as_duration("2 days 06:00:00") == as_duration("2 days 06:00:00.0"), as_duration("-1 days +18:00:00")
    (True, datetime.timedelta(days=-1, seconds=64800))
    """
    if (parts := _DURATION.fullmatch(text)) is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in parts.group(1, 2, 3, 4))
    fraction = int((parts[5] or "0").ljust(6, "0"))
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=fraction)


def as_point(text: str) -> datetime | timedelta | None:
    """Parse a date or a duration; return None if the text is neither."""
    moment = as_moment(text)
    return as_duration(text) if moment is None else moment
