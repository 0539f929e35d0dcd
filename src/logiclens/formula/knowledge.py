"""`Knowledge`: what people know about columns, conditions and classes before learning, and its proof afterwards.

`EntropyClassifier(knowledge=...)` learns within it, `read_knowledge` reads it from a TOML file, and `prove` shows on
all possible rows that rules keep to it. A condition is written as rules print it: `age >= 70`, `age < 70`,
`unit is MICU`, `unit is not MICU`, `bmi is missing`, `sepsis`, `not sepsis`; conditions of a rule are joined by `&`.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from logiclens.codec import from_plain, to_plain
from logiclens.errors import FormulaTooLarge, LogicLensError, named, nearest, nearest_names, no_column, quoted
from logiclens.formula.check import Check, Implies, Monotone, NeverUses, check
from logiclens.formula.column_kinds import (
    CATEGORY,
    KINDS,
    NUMBER,
    ORDERS,
    TRUTH_VALUE,
    ColumnKind,
    Scalar,
    kind_of_value,
)
from logiclens.formula.column_states import told as told_of
from logiclens.formula.dnf import DNF, Complement, Cube, Literal
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import DecisionRules, Rule
from logiclens.storage import checked_path
from logiclens.words import enumeration, for_reading

Found = TypeVar("Found")
Meant: TypeAlias = tuple[Predicate, bool]
"""A condition on a table: a predicate, and whether it must hold or must not."""

PREFERRED = 0.5
"""Price of a literal of a preferred column, as a share of the price of any other."""
UNNAMED = "the knowledge"
"""What messages call knowledge that is not of a file."""
LARGEST_FILE = 1_000_000
"""Most bytes that a file of knowledge may have."""
_COMPARED = re.compile(r"(?P<column>.+?)\s*(?P<operator>>=|<=|<|>|==|=)\s*(?P<value>.+)")
_IS = re.compile(r"(?P<column>.+?)\s+is(?P<no>\s+not)?\s+(?P<value>.+)")
_NOT = re.compile(r"(?:not\s+|~\s*)(?P<column>.+)")


@dataclass(frozen=True)
class Condition:
    """A condition as it is written, before the kind of its column is known.

    A value below a threshold is the negation of the threshold, as in rules: it also holds of missing values.

    Args:
        text: how it was written.
        column: the column.
        operator: `>=`, `==`, `missing`, or `true` for the name of a column alone.
        value: the value as text. Default: empty.
        positive: whether the comparison must hold, or must not. Default: True.
    """

    text: str
    column: str
    operator: str
    value: str = ""
    positive: bool = True

    @classmethod
    def of(cls, text: str) -> Condition:
        """Read one condition.

        >>> Condition.of("age < 70")
        Condition(text='age < 70', column='age', operator='>=', value='70', positive=False)
        """
        told = " ".join(text.split())
        if match := _COMPARED.fullmatch(told):
            operator = match["operator"]
            if operator not in (">=", "<"):
                raise LogicLensError(
                    f"the condition {quoted(told)} compares by {operator!r}: write age >= 70 or age < 70 for numbers "
                    "and dates, unit is MICU for categories."
                )
            return cls(told, _bare(match["column"]), ">=", _bare(match["value"]), operator == ">=")
        if match := _IS.fullmatch(told):
            if match["value"] == "missing":
                return cls(told, _bare(match["column"]), "missing", positive=not match["no"])
            return cls(told, _bare(match["column"]), "==", _bare(match["value"]), not match["no"])
        if not told:
            raise LogicLensError("a condition is empty: write one such as age >= 70.")
        if match := _NOT.fullmatch(told):
            return cls(told, _bare(match["column"]), "true", positive=False)
        return cls(told, _bare(told), "true")

    @property
    def kind(self) -> ColumnKind:
        """The kind of column that it is written for; numbers if it could be about any."""
        if self.operator == "true":
            return TRUTH_VALUE
        if self.operator == "==" and not _is_number(self.value):
            return CATEGORY
        return (kind_of_value(self.value, ">=") if self.operator == ">=" else None) or NUMBER


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _bare(text: str) -> str:
    """Return a name or value without the quotes around it."""
    text = text.strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"" else text


def conditions_of(rule: str) -> tuple[Condition, ...]:
    """Read the conditions of a rule, joined by `&`.

    >>> [condition.column for condition in conditions_of("age >= 80 & sepsis")]
    ['age', 'sepsis']
    """
    parts = re.findall(r"""(?:"[^"]*"|'[^']*'|[^&])+""", rule)
    if rule.count("&") != len(parts) - 1 and not re.search("['\"]", rule):
        raise LogicLensError(f"the rule {quoted(rule)} has an empty condition: join conditions by one &.")
    return tuple(Condition.of(part) for part in parts or [""])


@dataclass(frozen=True)
class ClassKnowledge:
    """What is known about one class.

    Args:
        forbidden_columns: columns that its rules must not use. With two classes one formula states both, so columns are
            then forbidden for all. Default: none.
        forbidden: conditions and rules that no rule of the class may imply. Default: none.
        required_conditions: conditions that every rule of the class must imply. Default: none.
        required_rules: rules that the class must have. Default: none.
        increasing: columns of which a higher value never takes the class from a row. Default: none.
        decreasing: columns of which a lower value never takes the class from a row. Default: none.
        false_alarm: what it costs to decide for the class on a row that does not have it. Default: None, which is 1 if
            a miss has a cost.
        miss: what it costs not to decide for the class on a row that has it. Default: None, which is 1 if a false alarm
            has a cost.

    >>> ClassKnowledge(required_conditions=["adult"], increasing=["age"], miss=5).has_costs
    True
    """

    forbidden_columns: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    required_conditions: tuple[str, ...] = ()
    required_rules: tuple[str, ...] = ()
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()
    false_alarm: float | None = None
    miss: float | None = None

    def __post_init__(self) -> None:
        """Check the form; a list becomes a tuple."""
        _check_texts(self)
        for name in ("false_alarm", "miss"):
            cost = getattr(self, name)
            if cost is None:
                continue
            if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 < cost <= 1e9:
                raise LogicLensError(f"{name} must be a cost above 0, got {quoted(cost)}.")
            object.__setattr__(self, name, float(cost))

    @property
    def has_costs(self) -> bool:
        """Whether a cost is given."""
        return self.false_alarm is not None or self.miss is not None


@dataclass(frozen=True)
class Knowledge:
    """What people know before anything is learned; a model learns within it, and `prove` shows that its rules do.

    Forbidden and late columns are removed before concepts are made, so that neither networks nor rules see them. All
    else binds the rules, and with `exact` thereby the model; a soft network is not bound. Costs replace macro-F1 in the
    search, in the choice of the length and in the order of the classes.

    Args:
        forbidden_columns: columns that nothing may use. Default: none.
        late_columns: columns that are measured too late to be used. Default: none.
        preferred_columns: columns of which a condition has half the price. Default: none.
        protected_columns: columns that stay, and by whose values every rule is measured. Default: none.
        forbidden: conditions and rules that no rule of any class may imply: `age >= 70` forbids `age >= 75` too, and
            not `age >= 65`. Default: none.
        classes: what is known about single classes, by their names. Default: nothing.
        source: what messages call it, such as the name of its file. Default: "the knowledge".

    Raises:
        LogicLensError: if a text is no condition, or two parts contradict each other.

    >>> known = Knowledge(late_columns=["discharge_code"], classes={"died": ClassKnowledge(increasing=["age"])})
    >>> known.removed
    ('discharge_code',)
    >>> Knowledge(forbidden_columns=["zip"], preferred_columns=["zip"])
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: 'zip' is in forbidden_columns and in preferred_columns: leave it out of one.
    """

    forbidden_columns: tuple[str, ...] = ()
    late_columns: tuple[str, ...] = ()
    preferred_columns: tuple[str, ...] = ()
    protected_columns: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    classes: Mapping[str, ClassKnowledge] = field(default_factory=dict)
    source: str = field(default=UNNAMED, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Check the form and what contradicts itself whatever the table."""
        _check_texts(self)
        if not isinstance(self.classes, Mapping) or not all(
            isinstance(known, ClassKnowledge) for known in self.classes.values()
        ):
            raise LogicLensError(
                f"classes must give each class a ClassKnowledge, got {quoted(self.classes)}: for example "
                "classes={'died': ClassKnowledge(increasing=['age'])}."
            )
        object.__setattr__(self, "classes", {str(name): known for name, known in self.classes.items()})
        removed = dict.fromkeys(self.forbidden_columns, "forbidden_columns")
        removed |= dict.fromkeys(self.late_columns, "late_columns")
        for place, name in self._columns():
            where = removed.get(name)
            if where and place not in ("forbidden_columns", "late_columns", "protected_columns"):
                raise LogicLensError(f"{quoted(name)} is in {where} and in {place}: leave it out of one.")
        for name, known in self.classes.items():
            _check_class(f"classes.{name}", known)

    @property
    def removed(self) -> tuple[str, ...]:
        """The columns that are removed before concepts are made."""
        return tuple(dict.fromkeys((*self.forbidden_columns, *self.late_columns)))

    @property
    def binds_rules(self) -> bool:
        """Whether rules are bound by more than the columns that are removed."""
        return bool(self.forbidden) or any(known != ClassKnowledge() for known in self.classes.values())

    @property
    def of_each_rule(self) -> Knowledge:
        """What binds each rule alone: all but required rules, directions and costs, which bind a class as a whole."""
        return replace(
            self,
            classes={
                name: replace(known, required_rules=(), increasing=(), decreasing=(), false_alarm=None, miss=None)
                for name, known in self.classes.items()
            },
        )

    @property
    def conditions(self) -> tuple[tuple[str, Condition], ...]:
        """Each condition, with the place that names it."""
        return tuple(self._conditions())

    def _conditions(self) -> Iterator[tuple[str, Condition]]:
        """Yield each condition, with the place that names it."""
        yield from (("forbidden", condition) for text in self.forbidden for condition in conditions_of(text))
        for name, known in self.classes.items():
            for part in ("forbidden", "required_conditions", "required_rules"):
                for text in getattr(known, part):
                    yield from ((f"classes.{name}.{part}", condition) for condition in conditions_of(text))

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Each place that names a column, with the column."""
        return tuple(self._columns())

    def _columns(self) -> Iterator[tuple[str, str]]:
        """Yield each place that names a column, with the column."""
        for place in ("forbidden_columns", "late_columns", "preferred_columns", "protected_columns"):
            yield from ((place, name) for name in getattr(self, place))
        yield from ((place, condition.column) for place, condition in self._conditions())
        for name, known in self.classes.items():
            for part in ("forbidden_columns", "increasing", "decreasing"):
                yield from ((f"classes.{name}.{part}", column) for column in getattr(known, part))

    def to_dict(self) -> dict[str, Any]:
        """Return the knowledge as the dictionaries and lists of a TOML file, without what is empty.

        >>> Knowledge(classes={"died": ClassKnowledge(increasing=["age"])}).to_dict()
        {'classes': {'died': {'increasing': ['age']}}}
        """
        made: dict[str, Any] = {name: value for name, value in to_plain(self).items() if value not in ([], {})}
        del made["source"]
        if self.classes:
            made["classes"] = {
                name: {part: value for part, value in entry.items() if value not in ([], None)}
                for name, entry in made["classes"].items()
            }
        return made

    @classmethod
    def from_dict(cls, content: Any, name: str = "the knowledge") -> Knowledge:
        """Return knowledge made of the dictionaries and lists of a TOML file.

        Args:
            content: the content of the file.
            name: what a message calls it. Default: `"the knowledge"`.
        """
        _check_keys(content, name)
        try:
            return replace(from_plain(cls, content, name), source=name)
        except LogicLensError as error:
            told = str(error)
        for klass, entry in _entries(content):
            try:
                from_plain(ClassKnowledge, entry, name)
            except LogicLensError as error:
                if str(error) == told:
                    told = f"classes.{klass}.{told}"
        raise LogicLensError(told if name in told else f"{name}: {told}")

    def bound_to(self, table: TableColumns) -> BoundKnowledge:
        """Return the knowledge with the meaning of every condition on a table, after checking it against the table.

        Args:
            table: the kinds of the columns, and the classes.

        Raises:
            LogicLensError: in one sentence that names `source`, if it contradicts the table or itself.
        """
        try:
            return self._bound_to(table)
        except LogicLensError as error:
            told = str(error)
            raise LogicLensError(told if self.source in told else f"{self.source}: {told}") from None

    def _bound_to(self, table: TableColumns) -> BoundKnowledge:
        for place, name in self._columns():
            if name not in table.kinds:
                raise no_column(name, list(table.kinds), "the table", f", which {place} of {self.source} names")
        for name, known in self.classes.items():
            if name not in table.classes:
                near = nearest(name, table.classes)
                hint = f"the classes are {', '.join(map(quoted, table.classes[:8]))}."
                raise LogicLensError(
                    f"classes.{name} of {self.source} is no class of the target; "
                    f"{hint if near is None else f'did you mean {quoted(near)}?'}"
                )
            if table.is_binary and (known.forbidden_columns or known.forbidden):
                part = "forbidden_columns" if known.forbidden_columns else "forbidden"
                raise LogicLensError(
                    f"classes.{name}.{part} of {self.source} forbids for one of two classes, and one formula states "
                    f"both: write it in {part} for all classes."
                )
        if table.is_binary:
            self._check_two(table.classes)
        elif not table.multilabel and all(
            name in self.classes and self.classes[name].required_conditions for name in table.classes
        ):
            raise LogicLensError(
                f"{self.source} requires conditions of the rules of every class, and a row on which no rule fires must "
                "get one too: leave out required_conditions of one class."
            )
        bounds = tuple(self._bounds(place, table) for place in range(len(table.classes)))
        for name, bound in zip(table.classes, bounds, strict=True):
            bound.check(name, table)
        return BoundKnowledge(self, table, bounds)

    def _check_two(self, classes: Sequence[str]) -> None:
        """Refuse what two classes cannot have, because the formula of one is the complement of the other."""
        both = [self.classes.get(name, ClassKnowledge()) for name in classes]
        if all(known.required_conditions or known.required_rules for known in both):
            raise LogicLensError(
                "rules are required of both of two classes, and only one of them has rules, the other is what is left: "
                "leave out those of one class."
            )
        if all(known.has_costs for known in both):
            raise LogicLensError(
                "both of two classes have costs, and a miss of one is a false alarm of the other: leave out those of "
                "one class."
            )
        for part in ("increasing", "decreasing"):
            if twice := set(getattr(both[0], part)) & set(getattr(both[1], part)):
                raise LogicLensError(
                    f"both of two classes are {part} in {quoted(min(twice))}, and what one gains the other loses: "
                    f"leave out one, or forbid the column."
                )

    def _bounds(self, place: int, table: TableColumns) -> ClassBounds:
        own = self.classes.get(table.classes[place], ClassKnowledge())
        known = [(name == table.classes[place], entry) for name, entry in self.classes.items()]
        # A class is not lost when a column rises if its own rules only gain rows and those of others only lose them.
        rising = {c for mine, entry in known for c in (entry.increasing if mine else entry.decreasing)}
        falling = {c for mine, entry in known for c in (entry.decreasing if mine else entry.increasing)}
        if table.multilabel:
            rising, falling = set(own.increasing), set(own.decreasing)
        for column in (*sorted(rising), *sorted(falling)):
            if table.is_nominal(column):
                raise LogicLensError(
                    f"{quoted(column)} holds categories, which have no order: nothing rises or falls with it. Name a "
                    "column of numbers, dates or truth values."
                )
        name = f"classes.{table.classes[place]}"

        def meant(key: str, texts: Sequence[str]) -> tuple[tuple[Meant, ...], ...]:
            return tuple(within(f"{self.source}: {key}=[{quoted(text)}]", table.meant, text) for text in texts)

        costs = None
        if own.has_costs:
            costs = Costs(own.false_alarm or 1.0, own.miss or 1.0)
        elif table.is_binary:
            other = self.classes.get(table.classes[1 - place], ClassKnowledge())
            costs = Costs(other.miss or 1.0, other.false_alarm or 1.0) if other.has_costs else None
        elif any(entry.has_costs for entry in self.classes.values()):
            costs = Costs()
        return ClassBounds(
            frozenset(own.forbidden_columns),
            (*meant("forbidden", self.forbidden), *meant(f"{name}.forbidden", own.forbidden)),
            tuple(one for rule in meant(f"{name}.required_conditions", own.required_conditions) for one in rule),
            meant(f"{name}.required_rules", own.required_rules),
            frozenset(rising),
            frozenset(falling),
            frozenset(self.preferred_columns),
            costs,
        )


def within(place: str, read: Callable[[str], Found], text: str) -> Found:
    """Return what a text means; an error names its place."""
    try:
        return read(text)
    except LogicLensError as error:
        raise LogicLensError(f"{place}: {error}") from None


def _check_texts(known: Any) -> None:
    """Check that each list holds texts once, each with conditions that can be read where there must be."""
    for one in fields(known):
        value = getattr(known, one.name)
        if one.name in ("classes", "source", "false_alarm", "miss"):
            continue
        if isinstance(value, str) or not isinstance(value, list | tuple):
            raise LogicLensError(f"{one.name} must be a list of texts, got {quoted(value)}.")
        for text in value:
            if not isinstance(text, str) or not text.strip():
                raise LogicLensError(f"{one.name} must be a list of texts, got {quoted(text)} in it.")
        object.__setattr__(known, one.name, tuple(value))
        if one.name in ("forbidden", "required_conditions", "required_rules"):
            for text in value:
                conditions = within(f"{one.name}=[{quoted(text)}]", conditions_of, text)
                if one.name == "required_conditions" and len(conditions) > 1:
                    raise LogicLensError(
                        f"required_conditions has the rule {quoted(text)}: write its conditions as two entries, or the "
                        "rule in required_rules."
                    )


def _check_class(place: str, known: ClassKnowledge) -> None:
    """Refuse contradictions inside one class that need no table."""
    both = sorted(set(known.increasing) & set(known.decreasing))
    if both:
        raise LogicLensError(
            f"{quoted(both[0])} is in {place}.increasing and in {place}.decreasing: leave it out of one, or forbid it."
        )
    for part in ("required_conditions", "required_rules"):
        for text in getattr(known, part):
            for condition in conditions_of(text):
                if condition.column in known.forbidden_columns:
                    raise LogicLensError(
                        f"{quoted(condition.column)} is in {place}.forbidden_columns and in {place}.{part}: leave it "
                        "out of one of them."
                    )


def _entries(content: Any) -> list[tuple[Any, Any]]:
    """Return what a file says about each class."""
    inside = content.get("classes") if isinstance(content, Mapping) else None
    return list(inside.items()) if isinstance(inside, Mapping) else []


def _check_keys(content: Any, name: str) -> None:
    """Refuse an unknown key with the nearest known one."""
    if not isinstance(content, Mapping):
        return
    entries = _entries(content)
    for place, entry, kind in (("", content, Knowledge), *((f"classes.{k}.", v, ClassKnowledge) for k, v in entries)):
        known = [one.name for one in fields(kind) if one.name != "source"]
        for key in entry if isinstance(entry, Mapping) else ():
            if key not in known:
                near = nearest(str(key), known)
                hint = f"the keys are {', '.join(known)}." if near is None else f"did you mean {quoted(near)}?"
                raise LogicLensError(f"{name} has the unknown key {quoted(f'{place}{key}')}; {hint}")


def read_knowledge(path: str | Path) -> Knowledge:
    """Read knowledge from a TOML file.

    Args:
        path: the file.

    Raises:
        LogicLensError: in one sentence that names the place, if the file cannot be read, has another key or value, or
            contradicts itself.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "knowledge.toml"
    >>> _ = file.write_text('late_columns = ["discharge_code"]\\n[classes.died]\\nincreasing = ["age"]\\n')
    >>> read_knowledge(file).classes["died"].increasing
    ('age',)
    """
    file = checked_path(path)
    try:
        if file.is_file() and file.stat().st_size > LARGEST_FILE:
            raise LogicLensError(f"{named(file)} is too large for a file of knowledge.")
        content = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise LogicLensError(f"{named(file)} cannot be read ({error.strerror or error}).") from None
    except RecursionError:
        raise LogicLensError(f"{named(file)} is no TOML file: it nests too deep.") from None
    except LogicLensError:
        raise
    except ValueError as error:
        # A syntax error, bytes that are no text, numbers with too many digits, and names with a NUL.
        raise LogicLensError(f"{named(file)} is no TOML file: {quoted(str(error))[1:-1]}.") from None
    return Knowledge.from_dict(content, named(file))


# On a table -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Costs:
    """What a false alarm and a miss of a class cost; they replace macro-F1 where formulas and orders are scored."""

    false_alarm: float = 1.0
    miss: float = 1.0


@dataclass(frozen=True)
class TableColumns:
    """What knowledge must know of a table: the kinds of its columns, and the classes of its target.

    Attributes:
        kinds: the kind of each column.
        nominal: columns of numbers that the table declares to be categories.
        flags: columns of numbers that hold 0 and 1 only, whose conditions are `is 1` and `is 0`.
        classes: names of the classes.
        multilabel: whether a row may have several labels. Default: False.
        bare: whether the columns are concepts, true from 0.5 on. Default: False.
        categories: the values of columns of categories; a condition must name one of them. Default: not known.
        pairs: the two values of columns that have no others. Default: none.
    """

    kinds: Mapping[str, str]
    nominal: frozenset[str]
    flags: frozenset[str]
    classes: tuple[str, ...]
    multilabel: bool = False
    bare: bool = False
    categories: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)
    pairs: Mapping[str, tuple[Scalar, ...]] = field(default_factory=dict)

    @property
    def is_binary(self) -> bool:
        """Whether each row has one of two classes, so that one formula states both."""
        return len(self.classes) == 2 and not self.multilabel

    def forms(self, condition: Meant) -> tuple[Meant, ...]:
        """Return what a condition says: of a column with two values, "is not woman" says "is man" too."""
        predicate, holds = condition
        pair = self.pairs.get(predicate.column, ()) if predicate.operator == "==" else ()
        others = [value for value in pair if value != predicate.value] if predicate.value in pair else []
        return (condition, *((replace(predicate, value=other), not holds) for other in others))

    def is_nominal(self, column: str) -> bool:
        """Return whether a column holds categories without an order."""
        return column in self.nominal or KINDS[self.kinds[column]].is_nominal

    def meant(self, text: str) -> tuple[Meant, ...]:
        """Return what the conditions of a rule mean on the table."""
        return tuple((self._predicate(condition), condition.positive) for condition in conditions_of(text))

    def _predicate(self, condition: Condition) -> Predicate:
        column, kind = condition.column, KINDS[self.kinds[condition.column]]
        if condition.operator == "missing" and not self.bare:
            return Predicate(column, "missing")
        if self.bare:
            if condition.operator != "true":
                raise _misfit(condition, "which is a concept: write its name, or not and its name")
            return Predicate(column, "==", True) if kind is TRUTH_VALUE else Predicate(column, ">=", 0.5)
        if condition.operator == "true":
            if kind is not TRUTH_VALUE:
                raise _misfit(
                    condition, f"which holds {kind.plural}: write a comparison such as {_example(self, column)}"
                )
            return Predicate(column, "==", True)
        if kind is TRUTH_VALUE:
            raise _misfit(condition, f"which holds truth values: write {column} or not {column}")
        if self.is_nominal(column):
            if condition.operator != "==":
                raise _misfit(condition, f"which holds categories: write {column} is {condition.value}")
            value: Scalar = condition.value if kind.is_nominal else _number(condition)
            return Predicate(column, "==", self._category(condition, value))
        if condition.operator == "==":
            if column not in self.flags or _number(condition) not in (0, 1):
                raise _misfit(condition, f"which holds {kind.plural}: write {_example(self, column)}")
            return Predicate(column, "==", int(_number(condition)))
        cut: Any = _number(condition) if kind is NUMBER else condition.value
        return Predicate(column, ">=", kind.given_threshold(cut, column))

    def _category(self, condition: Condition, value: Scalar) -> Scalar:
        """Return the category that a condition names, whatever the spaces around it."""
        known = self.categories.get(condition.column)
        if known is None or value in known:
            return value
        by_text = {" ".join(str(one).split()): one for one in known}
        told = " ".join(str(value).split())
        if told in by_text:
            return by_text[told]
        listed = enumeration([quoted(by_text[text]) for text in nearest_names(told, list(by_text), cutoff=0.0)])
        raise _misfit(condition, f"and no row of the table has that value; the nearest are {listed}")


def _misfit(condition: Condition, why: str) -> LogicLensError:
    return LogicLensError(f"the condition {quoted(condition.text)} is about {quoted(condition.column)}, {why}.")


def _example(table: TableColumns, column: str) -> str:
    if column in table.flags:
        return f"{column} is 1"
    examples = {"number": ">= 70", "date": ">= 2021-03-01", "timedelta": ">= 2 days", "boolean": ""}
    return f"{column} {'is A' if table.is_nominal(column) else examples.get(table.kinds[column], '>= 70')}".strip()


def _number(condition: Condition) -> float:
    if not _is_number(condition.value):
        raise _misfit(condition, f"which holds numbers, and {quoted(condition.value)} is none")
    return float(condition.value)


def implies_condition(given: Meant, wanted: Meant) -> bool:
    """Return whether one condition on a column holds wherever another does.

    >>> implies_condition((Predicate("age", ">=", 75), True), (Predicate("age", ">=", 70), True))
    True
    >>> implies_condition((Predicate("age", ">=", 75), True), (Predicate("age", "missing"), False))
    True
    """
    (one, holds), (other, must) = given, wanted
    if one.column != other.column or one.origin != other.origin:
        return False
    if one == other:
        return holds == must
    if one.operator in ORDERS and other.operator in ORDERS:
        first, second = one.kind.number(one.value), other.kind.number(other.value)
        return holds == must and (first >= second if must else first <= second)
    if one.operator in ORDERS and other.operator == "==" and not isinstance(other.value, str | bool):
        # The value is ruled out if the given condition leaves it out.
        return not must and bool(one.holds([other.value])[0]) != holds
    if not holds:
        return False
    if one.operator == "missing" or other.operator == "missing":
        # A comparison is false of a missing value.
        return not must
    if one.operator == "==" and other.operator == "==":
        return not must
    if one.operator == "==" and not isinstance(one.value, str | bool):
        return (float(one.value) >= other.kind.number(other.value)) == must
    return False


def _says(table: TableColumns, given: Meant, wanted: Meant) -> bool:
    """Return whether a condition says another, in one of the forms that it has on a table."""
    return any(implies_condition(form, wanted) for form in table.forms(given))


@dataclass(frozen=True)
class ClassBounds:
    """What binds the rules of one class, in predicates on the table.

    Attributes:
        columns: columns that its rules must not use.
        forbidden: conjunctions that no rule may imply.
        required: conditions that each rule must imply.
        rules: conjunctions that must be among the rules.
        rising: columns of which rules may only ask that a value is high.
        falling: columns of which rules may only ask that a value is low.
        preferred: columns of which a literal has a lower price.
        costs: what false alarms and misses cost; None if macro-F1 is the score.
    """

    columns: frozenset[str] = frozenset()
    forbidden: tuple[tuple[Meant, ...], ...] = ()
    required: tuple[Meant, ...] = ()
    rules: tuple[tuple[Meant, ...], ...] = ()
    rising: frozenset[str] = frozenset()
    falling: frozenset[str] = frozenset()
    preferred: frozenset[str] = frozenset()
    costs: Costs | None = None

    def check(self, name: str, table: TableColumns) -> None:
        """Refuse requirements that contradict the rest, each in one sentence."""
        for rule in (self.required, *self.rules):
            if not rule:
                continue
            told = quoted(words_of(rule))
            what = f"{told}, required of every rule of {quoted(name)}," if rule is self.required else f"the rule {told}"
            for cube in self.forbidden:
                if all(any(_says(table, own, no) for own in rule) for no in cube):
                    raise LogicLensError(
                        f"{what} implies {quoted(words_of(cube))}, which is forbidden: leave out one of them."
                    )
                opposites = [(meant, not holds) for meant, holds in rule] if table.is_binary and len(cube) == 1 else []
                if any(_says(table, own, cube[0]) for own in opposites):
                    other = next(one for one in table.classes if one != name)
                    raise LogicLensError(
                        f"{what} leaves rows to {quoted(other)} by {quoted(words_of(cube))}, which is forbidden: leave "
                        "out one of them."
                    )
            for own in rule:
                if self.bars_sign(own):
                    rises = own[0].column in self.falling
                    raise LogicLensError(
                        f"{what} contradicts the direction of {quoted(own[0].column)}: rules of {quoted(name)} may "
                        f"only ask for {'low' if rises else 'high'} values of it."
                    )
                for one in rule:
                    if implies_condition(own, (one[0], not one[1])):
                        raise LogicLensError(f"{what} can never hold: {quoted(words_of((own, one)))} is impossible.")
            for must in self.required:
                if rule is not self.required and not any(implies_condition(own, must) for own in rule):
                    raise LogicLensError(
                        f"{what} required of {quoted(name)} lacks the required condition {quoted(words_of((must,)))}: "
                        "add it to the rule."
                    )

    def bars_sign(self, condition: Meant) -> bool:
        """Return whether a direction forbids a condition: it asks for a low value where only high ones may be asked."""
        predicate, holds = condition
        if predicate.origin is not None:
            # A part of a date does not rise with it.
            return not (self.rising | self.falling).isdisjoint(predicate.sources)
        if predicate.operator == "missing":
            return False
        return (predicate.column in self.rising and not holds) or (predicate.column in self.falling and holds)

    def bars(self, condition: Meant) -> bool:
        """Return whether no rule may have a condition."""
        if not self.columns.isdisjoint(condition[0].sources) or self.bars_sign(condition):
            return True
        return any(len(cube) == 1 and implies_condition(condition, cube[0]) for cube in self.forbidden)


def words_of(conditions: Sequence[Meant]) -> str:
    """Return conditions as they are written in knowledge.

    >>> words_of([(Predicate("age", ">=", 70), False), (Predicate("unit", "==", "MICU"), True)])
    'age < 70 & unit is MICU'
    """
    told = []
    for predicate, holds in conditions:
        text = str(predicate)
        if predicate.operator == "==" and predicate.value is True:
            text = predicate.column if holds else f"not {predicate.column}"
        elif predicate.operator in ORDERS:
            text = text if holds else text.replace(f"{predicate.column} >=", f"{predicate.column} <", 1)
        elif not holds:
            text = text.replace(f"{predicate.column} is ", f"{predicate.column} is not ", 1)
        told.append(text)
    return " & ".join(told)


@dataclass(frozen=True)
class BoundKnowledge:
    """Knowledge with its meaning on a table.

    Attributes:
        knowledge: the knowledge.
        table: the columns and classes.
        classes: what binds each class.
    """

    knowledge: Knowledge
    table: TableColumns
    classes: tuple[ClassBounds, ...]

    @property
    def stated(self) -> int | None:
        """Of two classes, the one whose formula must be stated because rules are required of it; None if either may."""
        if not self.table.is_binary:
            return None
        return next((at for at, bound in enumerate(self.classes) if bound.required or bound.rules), None)

    @property
    def without_rest(self) -> frozenset[int]:
        """The classes that decide only where a rule of theirs fires, because their rules require conditions."""
        return frozenset(place for place, bound in enumerate(self.classes) if bound.required)

    @property
    def concepts(self) -> tuple[Predicate, ...]:
        """The predicates that must be concepts, because rules with them are required."""
        found = (one for bound in self.classes for rule in (bound.required, *bound.rules) for one, _ in rule)
        return tuple(dict.fromkeys(found))

    @property
    def ordered(self) -> frozenset[str]:
        """The columns with a direction."""
        return frozenset().union(*(bound.rising | bound.falling for bound in self.classes))

    @property
    def costs(self) -> tuple[Costs, ...] | None:
        """The costs of each class; None if there are none."""
        found = tuple(bound.costs for bound in self.classes if bound.costs is not None)
        return found if len(found) == len(self.classes) else None


# Proof ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proof:
    """A constraint, whether the rules keep to it on every possible row, and why."""

    constraint: str
    holds: bool
    reason: str

    @for_reading
    def __str__(self) -> str:
        """One line."""
        return f"{self.constraint}: {'yes' if self.holds else 'no'}, {self.reason}"


def prove(rules: DecisionRules, bound: BoundKnowledge) -> tuple[Proof, ...]:
    """Check on all possible rows that rules keep to knowledge; one entry for each constraint.

    Args:
        rules: the rules of all classes.
        bound: the knowledge on the table that the rules are about.

    >>> from logiclens.formula.text import parse
    >>> died = Rule("died", parse("old | ~well"), (0.9, 0.9))
    >>> rules = DecisionRules((died,), {"old": Predicate("age", ">=", 75)}, multilabel=True)
    >>> table = TableColumns({"age": "number", "well": "boolean"}, frozenset(), frozenset(), ("died",), True)
    >>> known = Knowledge(forbidden=["age >= 70"], classes={"died": ClassKnowledge(decreasing=["well"])})
    >>> for proof in prove(rules, known.bound_to(table)):
    ...     print(proof)
    no rule implies age >= 70: no, the rule of died, age >= 75, implies it, as where age is at least 75
    a lower 'well' never takes died from a row: yes, where it holds, it still holds where 'well' is lower
    """
    knowledge, names = bound.knowledge, bound.table.classes
    proofs = [_never_uses(rules, column, None) for column in knowledge.removed]
    for text in knowledge.forbidden:
        proofs.append(_never_implies(rules, bound.table, text, rules.rules, f"no rule implies {text}"))
    for place, name in enumerate(names):
        known, rule = knowledge.classes.get(name), rules.rules[place]
        if known is None:
            continue
        proofs += [_never_uses(rules, column, rule) for column in known.forbidden_columns]
        for text in known.forbidden:
            told = f"no rule of {name} implies {text}"
            proofs.append(_never_implies(rules, bound.table, text, (rule,), told))
        for text in known.required_conditions:
            found = _implies(rules, rule, bound.table.meant(text))
            proofs.append(replace(found, constraint=f"every rule of {name} implies {text}"))
        for text in known.required_rules:
            proofs.append(
                _has_rule(rules, place, bound.table.meant(text), f"{name} has the rule {text}, or others that cover it")
            )
        for column in known.increasing:
            told = f"a higher {column!r} never takes {name} from a row"
            proofs.append(_never_lost(rules, place, Monotone(column), told))
        for column in known.decreasing:
            told = f"a lower {column!r} never takes {name} from a row"
            proofs.append(_never_lost(rules, place, Monotone(column, increasing=False), told))
    return tuple(proofs)


def _never_uses(rules: DecisionRules, column: str, rule: Rule | None) -> Proof:
    found = check(rules, NeverUses(column), of=None if rule is None else rule.label)
    told = f"no rule{'' if rule is None else f' of {rule.name}'} uses {column!r}"
    return Proof(told, found.holds, f"no rule mentions {column!r}" if found.holds else _failing(found))


def _failing(found: Check) -> str:
    """Return why the first class lacks a property, with the row that shows it."""
    return next(part.reason for part in found.classes if not part.holds)


def _cube_of(rules: DecisionRules, conditions: Sequence[Meant]) -> tuple[Cube, dict[str, Predicate]]:
    """Return conditions as a cube over concepts of the rules or new ones, and the meaning of these concepts."""
    concepts = {rules.predicate(name): name for name in rules.concepts}
    literals, meant = [], {}
    for predicate, holds in conditions:
        name = concepts.get(predicate, f"{predicate} (knowledge)")
        meant[name] = predicate
        literals.append(Literal(name, holds))
    return Cube(literals), meant


def _single(rules: DecisionRules, formula: DNF, meant: Mapping[str, Predicate]) -> DecisionRules:
    """Return rules of one formula, in which further concepts have a meaning."""
    return DecisionRules(
        (Rule("formula", formula, (0.0,) * len(formula)),), {**rules.predicates, **meant}, rules.groups, multilabel=True
    )


def _words_of_cube(rules: DecisionRules, cube: Cube) -> str:
    return words_of([(rules.predicate(one.concept), one.positive) for one in cube]) or "True"


def _cubes_with_rest(rule: Rule) -> tuple[Cube, ...]:
    """Return the cubes of a class; of one that is all the rest, the shortest cubes of the rows that are left to it."""
    if not isinstance(rule.formula, Complement):
        return rule.cubes
    rest = DNF.true
    # Multiplied out, the negations of all cubes give every shortest cube.
    for cube in rule.formula.of:
        rest = rest & ~cube
    return rest.cubes


def _never_implies(rules: DecisionRules, table: TableColumns, text: str, among: Sequence[Rule], told: str) -> Proof:
    forms = [_cube_of(rules, conditions) for conditions in product(*map(table.forms, table.meant(text)))]
    for rule in among:
        try:
            cubes = _cubes_with_rest(rule)
        except FormulaTooLarge:
            return Proof(told, False, f"{rule.name} is all the rest, and the rest has too many rules to look at")
        for own, (cube, meant) in product(cubes, forms):
            alone = _single(rules, DNF([own]), meant)
            if check(alone, Implies(DNF([cube]))).holds:
                fires = check(alone, Implies(DNF.false)).counterexample
                row = "" if fires is None else f", as where {' and '.join(told_of(alone, own.concepts, fires.rows[0]))}"
                what = (
                    f"{rule.name}, which is all the rest, where" if rule.is_complement else f"the rule of {rule.name},"
                )
                return Proof(told, False, f"{what} {_words_of_cube(rules, own)}, implies it{row}")
    return Proof(told, True, "each rule fires on a possible row on which it does not hold")


def _implies(rules: DecisionRules, rule: Rule, conditions: Sequence[Meant]) -> Proof:
    cube, meant = _cube_of(rules, conditions)
    if rule.is_complement:
        return Proof("", False, f"{rule.name} has no rules of its own")
    if not rules.multilabel and rules.otherwise is not None and rules.rules[rules.otherwise] is rule:
        return Proof("", False, f"{rule.name} also decides rows on which no rule fires")
    for own in rule.cubes:
        found = check(_single(rules, DNF([own]), meant), Implies(DNF([cube])))
        if not found.holds:
            # New concepts have names of ours: the reason says what they mean.
            reason = _failing(found).replace(str(DNF([cube])), words_of(conditions))
            return Proof("", False, f"the rule {_words_of_cube(rules, own)} does not: {reason}")
    return Proof("", True, "it does on every possible row")


def _has_rule(rules: DecisionRules, place: int, conditions: Sequence[Meant], told: str) -> Proof:
    cube, meant = _cube_of(rules, conditions)
    formula = rules.rules[place].formula
    if not isinstance(formula, DNF):
        return Proof(told, False, f"{rules.rules[place].name} has no rules of its own")
    found = check(_single(rules, DNF([cube]), {**meant}), Implies(formula))
    return Proof(told, found.holds, "wherever it holds, a rule of the class fires" if found.holds else _failing(found))


def _never_lost(rules: DecisionRules, place: int, wanted: Monotone, told: str) -> Proof:
    """Prove that rows keep a class: its formula only gains rows, and with several classes the others only lose them."""
    found = check(rules, wanted, of=rules.rules[place].label)
    if not found.holds:
        return Proof(told, False, found.classes[0].reason)
    if rules.multilabel or (len(rules.rules) == 2 and any(rule.is_complement for rule in rules.rules)):
        return Proof(told, True, found.reason)
    falls = replace(wanted, increasing=not wanted.increasing)
    if rules.resolve == "confidence":
        # The most trusted rule that fires decides, so that each rule counts, not only the formula.
        for at, rule in enumerate(rules.rules):
            for own in rule.cubes:
                alone = check(_single(rules, DNF([own]), {}), wanted if at == place else falls)
                if not alone.holds:
                    what = "loses rows" if at == place else "gains rows"
                    words = _words_of_cube(rules, own)
                    return Proof(told, False, f"the rule of {rule.name}, {words}, {what}: {alone.classes[0].reason}")
    for at, rule in enumerate(rules.rules):
        if at != place and not (other := check(rules, falls, of=rule.label)).holds:
            return Proof(told, False, f"the rules of {rule.name} gain rows: {other.classes[0].reason}")
    return Proof(told, True, "its own rules only gain rows by such a step, and those of other classes only lose them")
