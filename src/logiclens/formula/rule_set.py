"""RuleSet: the formulas of all classes with what their concepts mean; predicts from a raw table without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.english import recurrence_words
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.packed_rows import PackedRows, RowsLike, as_array, pack_columns, places, unknown_concept
from logiclens.formula.predicate import Predicate, Scalar, numbers_of

if TYPE_CHECKING:
    from logiclens.formula.check import Check, Property
    from logiclens.formula.flip import Flip
    from logiclens.formula.why import Why

Resolve: TypeAlias = OneOf["order", "confidence", "none"]

THRESHOLD = 0.5
"""A concept that is a column of its own is true from here on (`>=`)."""


@dataclass(frozen=True)
class Rule:
    """The formula of one class, and for each cube how far it can be trusted.

    `confidence` is the lower end of the Wilson interval of the share of rows on which the cube fires that have the
    class. A complement has one confidence: that of the rows on which the other formula does not fire.

    `recurs` says of cubes in how many of the `bags` the search found them again; it is empty where that is not known.
    It says nothing of what the rule answers, so it takes no part in `==`. A formula that is replaced by one with other
    cubes leaves them uncounted.
    """

    label: Scalar
    formula: DNF | Complement
    confidence: tuple[float, ...]
    recurs: Mapping[Cube, int] = field(default_factory=dict, compare=False)
    bags: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        """One confidence for each cube, and counts that can be."""
        if len(self.confidence) != len(self.cubes or (None,) * self.is_complement):
            raise LogicLensError(
                f"the rule of {self.label!r} has {len(self.cubes)} cubes and {len(self.confidence)} confidences."
            )
        if self.recurs and not (self.bags > 0 and all(0 <= count <= self.bags for count in self.recurs.values())):
            counts = ", ".join(map(str, self.recurs.values()))
            raise LogicLensError(f"a cube of {self.label!r} must recur in 0 to {self.bags} bags, got {counts}.")

    @property
    def counts(self) -> tuple[int | None, ...]:
        """For each cube in how many bags it recurs; None where that is not known."""
        return tuple(self.recurs.get(cube) for cube in self.cubes)

    @property
    def is_counted(self) -> bool:
        """Whether of some cube it is known how often it recurs."""
        return any(cube in self.recurs for cube in self.cubes)

    @property
    def recurrence(self) -> tuple[str, ...]:
        """For each cube in how many bags it recurs, in words; an empty text where that is not known."""
        return tuple("" if count is None else recurrence_words(count, self.bags, "bags") for count in self.counts)

    @property
    def recurrence_line(self) -> str:
        """The same for all cubes in one line; empty where nothing is known."""
        return "; ".join(words or "not counted" for words in self.recurrence) if self.is_counted else ""

    @property
    def is_complement(self) -> bool:
        """Whether the class is what the other class's formula leaves."""
        return isinstance(self.formula, Complement)

    @property
    def cubes(self) -> tuple[Cube, ...]:
        """The cubes of the formula; a complement has none of its own."""
        return () if isinstance(self.formula, Complement) else self.formula.cubes

    @property
    def name(self) -> str:
        """The class as it is printed."""
        return str(self.label)


@dataclass(frozen=True)
class Decision:
    """One line of a decision list: the class, by its place, of rows on which the cube is the first that fires."""

    cube: Cube
    rule: int
    confidence: float
    recurrence: str = ""


@dataclass(frozen=True)
class Firing:
    """How many rows no formula, exactly one, and several fire on."""

    none: int
    one: int
    several: int

    @property
    def total(self) -> int:
        """All rows."""
        return self.none + self.one + self.several

    def __str__(self) -> str:
        """A sentence."""
        share = 100 / max(self.total, 1)
        return (
            f"of {self.total:,} rows, {self.one:,} ({self.one * share:.1f}%) fire exactly one formula, "
            f"{self.none:,} ({self.none * share:.1f}%) none and {self.several:,} ({self.several * share:.1f}%) several"
        )


@dataclass(frozen=True)
class RuleSet:
    """Formulas and predicates: everything that is needed to predict.

    Args:
        rules: one for each class.
        predicates: what concepts mean on the raw table. A concept without one is a column itself, true from 0.5 on.
        groups: which concepts exclude or imply each other.
        resolve: which class decides where not exactly one formula fires. `"order"`: the first in `order` whose formula
            fires. `"confidence"`: the fired cube that can be trusted most. With both, the class `otherwise` where none
            fires. `"none"`: nobody; the answer is None.
        otherwise: the place of the class of rows on which no formula fires.
        multilabel: whether each formula is an answer of its own.
        order: with `resolve="order"`, the places of the classes in the order in which they decide.

    Of two classes one may be the complement of the other. Then exactly one of them fires on every row, and `resolve`
    has nothing to decide.

    >>> from logiclens.formula import parse
    >>> rules = RuleSet((Rule("ill", parse("old & smoker"), (0.9,)), Rule("well", parse("~old"), (0.8,))),
    ...                 {"old": Predicate("age", ">=", 60)}, otherwise=1)
    >>> table = {"age": [70, 70, 30, None], "smoker": [1, 0, 1, 1]}
    >>> rules.predict(table)
    array(['ill', 'well', 'well', 'well'], dtype='<U4')
    >>> print(rules.firing(table))
    of 4 rows, 3 (75.0%) fire exactly one formula, 1 (25.0%) none and 0 (0.0%) several
    """

    rules: tuple[Rule, ...]
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    groups: Groups = NO_GROUPS
    resolve: Resolve = "confidence"
    otherwise: int | None = None
    multilabel: bool = False
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse rules that could not decide."""
        if not self.rules:
            raise LogicLensError("a rule set needs at least one rule.")
        if self.resolve not in ("order", "confidence", "none"):
            raise LogicLensError(f"resolve must be 'order', 'confidence' or 'none', got {self.resolve!r}.")
        self._check_complement()
        stated = [place for place, rule in enumerate(self.rules) if not rule.is_complement]
        if self.multilabel and self.order:
            raise LogicLensError("with several labels a row each formula answers for itself: leave out order.")
        if self.resolve == "order" and not self.order and not self.multilabel:
            object.__setattr__(self, "order", tuple(stated))
        if self.order and sorted(self.order) != stated:
            raise LogicLensError(f"order must name each class with a formula once, got {self.order}.")
        if len({rule.bags for rule in self.rules if rule.is_counted}) > 1:
            raise LogicLensError("the cubes of all rules must be counted on the same bags.")
        labels = [rule.label for rule in self.rules]
        if len(set(map(str, labels))) < len(labels):
            raise LogicLensError("every class can have one rule only.")
        if self.otherwise is not None and not 0 <= self.otherwise < len(labels):
            raise LogicLensError(f"otherwise must be the place of a class, 0 to {len(labels) - 1}.")

    def _check_complement(self) -> None:
        """A complement belongs to the formula of the only other class, and that class is tried first."""
        for place, rule in enumerate(self.rules):
            if not isinstance(rule.formula, Complement):
                continue
            if len(self.rules) != 2 or self.multilabel or self.rules[1 - place].formula != rule.formula.of:
                raise LogicLensError(f"{rule.name!r} must be the complement of the only other class's formula.")
            if self.otherwise != place:
                raise LogicLensError(f"the complement {rule.name!r} must be the class of rows on which nothing fires.")

    @classmethod
    def load(cls, place: str | Path) -> RuleSet:
        """The rules of a model folder or of an exported JSON file. Neither torch nor scikit-learn is needed."""
        from logiclens.formula.folder import load_rules

        return load_rules(place)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as they are printed."""
        return tuple(rule.name for rule in self.rules)

    @property
    def formulas(self) -> tuple[DNF | Complement, ...]:
        """The formula of each class."""
        return tuple(rule.formula for rule in self.rules)

    @property
    def concepts(self) -> tuple[str, ...]:
        """The concepts that any formula uses."""
        return tuple(dict.fromkeys(concept for formula in self.formulas for concept in formula.concepts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the raw table that are looked at."""
        return tuple(dict.fromkeys(self.predicate(concept).column for concept in self.concepts))

    def predicate(self, concept: str) -> Predicate:
        """What a concept means on the raw table."""
        return self.predicates.get(concept) or Predicate(concept, ">=", THRESHOLD)

    def rule(self, label: Scalar) -> Rule:
        """The rule of a class, by its label or as it is printed."""
        for rule in self.rules:
            if rule.label == label or rule.name == label:
                return rule
        raise no_class(label, self.names)

    def resolved_by(self, resolve: Resolve) -> RuleSet:
        """The same rules with another way to decide between them."""
        return replace(self, resolve=resolve)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All cubes as a decision list, with `otherwise` behind it: the first cube that fires gives the class.

        They stand in the order of the classes with `resolve="order"`, else the one that can be trusted most first.
        """
        lines = [
            Decision(cube, place, confidence, recurrence)
            for place in (self.order if self.resolve == "order" else range(len(self.rules)))
            for cube, confidence, recurrence in zip(
                self.rules[place].cubes, self.rules[place].confidence, self.rules[place].recurrence, strict=False
            )
        ]
        return tuple(lines if self.resolve == "order" else sorted(lines, key=lambda line: -line.confidence))

    def pack(self, table: RowsLike, names: Sequence[str] | None = None) -> PackedRows:
        """The used concepts of a table, packed: raw columns are compared, concepts that are there are taken.

        `table` has named columns (a DataFrame, a dictionary of columns, packed or counted concepts), or is a matrix
        with `names`.
        """
        packed = table if isinstance(table, PackedRows) else getattr(table, "packed", None)
        if isinstance(packed, PackedRows):
            return packed
        columns = _columns(table, names)
        n_rows = len(next(iter(columns.values()))) if columns else len(table)
        held = np.zeros((len(self.concepts), n_rows), dtype=np.bool_)
        for i, concept in enumerate(self.concepts):
            held[i] = self.holds(concept, columns)
        return PackedRows(pack_columns(held), n_rows, self.concepts)

    def holds(self, concept: str, columns: Mapping[str, Any]) -> NDArray[np.bool_]:
        """On which rows of named columns, raw or concepts, a concept is true."""
        predicate = self.predicate(concept)
        if predicate.column in columns:
            return predicate.holds(columns[predicate.column])
        if concept in columns:
            return numbers_of(columns[concept], concept) >= THRESHOLD
        if concept in self.predicates:
            raise LogicLensError(f"the table lacks the column {predicate.column!r} that {concept!r} is about.")
        raise unknown_concept(concept, list(columns))

    def fires(self, table: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """On which row the formula of which class holds: `[rows, classes]`."""
        packed = self.pack(table, names)
        return np.stack([formula.evaluate(packed) for formula in self.formulas], axis=1)

    def firing(self, table: RowsLike, names: Sequence[str] | None = None) -> Firing:
        """How many rows fire no formula, exactly one, or several."""
        fired = self.fires(table, names).sum(axis=1)
        return Firing(int((fired == 0).sum()), int((fired == 1).sum()), int((fired > 1).sum()))

    def predict_places(self, table: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.intp]:
        """The place of the class of each row; −1 where nobody decides."""
        packed = self.pack(table, names)
        if self.resolve == "none":
            fires = self.fires(packed)
            return np.where(fires.sum(axis=1) == 1, fires.argmax(axis=1), -1)
        places = np.full(packed.n_rows, -1 if self.otherwise is None else self.otherwise, dtype=np.intp)
        # From the least trusted on, so that the most trusted has the last word.
        for line in reversed(self.decisions):
            places[DNF([line.cube]).evaluate(packed)] = line.rule
        return places

    def confidence(self, table: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.float64]:
        """For each row the confidence of the cube that decides, on its class; the other classes share the rest.

        A complement has a confidence of its own. Any other class that is only there because nothing fires is as likely
        as the rest, by a hair more; so is a class whose cube was hardly ever right. The largest is what `predict`
        gives.
        """
        packed, n = self.pack(table, names), len(self.rules)
        places = self.predict_places(packed)
        winner = np.zeros(packed.n_rows)
        for place, rule in enumerate(self.rules):
            if rule.is_complement:
                winner[places == place] = rule.confidence[0]
        for line in reversed(self.decisions):
            decides = DNF([line.cube]).evaluate(packed) & (places == line.rule)
            winner[decides] = line.confidence
        winner = np.maximum(winner, 1 / n + 1e-9)
        shares = np.repeat(((1 - winner) / max(n - 1, 1))[:, None], n, axis=1)
        decided = places >= 0
        shares[np.flatnonzero(decided), places[decided]] = winner[decided]
        shares[~decided] = 1 / n
        return shares

    def predict(self, table: RowsLike, names: Sequence[str] | None = None) -> NDArray[Any]:
        """The class of each row, None where nobody decides; with several labels a row, a 0/1 matrix."""
        if self.multilabel:
            return self.fires(table, names).astype(np.int64)
        places = self.predict_places(table, names)
        labels = np.array([rule.label for rule in self.rules])
        if labels.dtype.kind in "US" and not all(isinstance(rule.label, str) for rule in self.rules):
            # Among texts NumPy would turn numbers into texts too.
            labels = np.array([rule.label for rule in self.rules], dtype=object)
        if (places >= 0).all():
            predicted: NDArray[Any] = labels[places]
            return predicted
        return np.array([self.rules[place].label if place >= 0 else None for place in places], dtype=object)

    def why(self, row: Any) -> Why:
        """Why the answer on one row is what it is: what decided, what fired, and what each other cube lacks."""
        from logiclens.formula.why import why

        return why(self, row)

    def flip(self, row: Any, *, frozen: Sequence[str] = (), to: Scalar | None = None, of: Scalar | None = None) -> Flip:
        """A smallest change of one row that changes the answer, to the class `to` if given.

        Columns and concepts that are `frozen` stay. With `of`, whether the formula of that class fires is changed.
        """
        from logiclens.formula.flip import flip

        return flip(self, row, frozen=frozen, to=to, of=of)

    def check(self, wanted: Property | str, *, of: Scalar | None = None) -> Check:
        """Whether the formula of every class, or of the class `of`, has a property such as `"never uses 'gender'"`."""
        from logiclens.formula.check import check

        return check(self, wanted, of=of)

    def _repr_html_(self) -> str:
        from logiclens.formula.html import rules_html

        return rules_html(self)


def who_decides(rules: RuleSet) -> str:
    """How the rules of all classes come to one answer, in words.

    >>> from logiclens.formula import parse
    >>> a, b = (Rule(name, parse(name), (0.9,)) for name in "ab")
    >>> who_decides(RuleSet((a, b), resolve="order", order=(1, 0), otherwise=0))
    'The first that applies decides: b, then a; otherwise a.'
    """
    if rules.multilabel:
        return "A row can have several labels: each is given where any of its rules fires."
    for place, rule in enumerate(rules.rules):
        if rule.is_complement:
            formula = rules.names[1 - place]
            return f"A row is {formula} where a rule for {formula} fires, and {rule.name} otherwise."
    if rules.resolve == "none":
        return "A row gets a class where the rules of exactly that class fire; otherwise it stays undecided."
    left = None if rules.otherwise is None else rules.names[rules.otherwise]
    if rules.resolve == "order":
        order = ", then ".join(rules.names[place] for place in rules.order)
        return f"The first that applies decides: {order}; " + (
            "otherwise the row stays undecided." if left is None else f"otherwise {left}."
        )
    return "Where rules of several classes fire, the rule that can be trusted most decides. Where none fires, " + (
        "the row stays undecided." if left is None else f"the answer is {left}."
    )


def no_class(label: object, names: Sequence[str]) -> LogicLensError:
    """The error for a class that is not there."""
    return LogicLensError(f"there is no class {label!r}; the classes are {', '.join(map(repr, names[:8]))}.")


def _columns(table: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """The columns of a table by name."""
    if isinstance(table, Mapping):
        columns = {str(name): values for name, values in table.items()}
        lengths = {np.shape(values)[:1] for values in columns.values()}
        if len(lengths) > 1 or () in lengths:
            raise LogicLensError("each column of a dictionary needs a list of values, all of one length.")
        return columns
    if hasattr(table, "collect"):
        # A lazy frame.
        table = table.collect()
    if hasattr(table, "column_names") and hasattr(table, "column"):
        # An Arrow table, whose `columns` are not names.
        return {str(name): table.column(name).to_numpy() for name in table.column_names}
    if hasattr(table, "columns"):
        return {str(name): table[name] for name in table.columns}
    if hasattr(table, "values") and hasattr(table, "names"):
        table, names = table.values, table.names
    matrix = as_array(table)
    if names is None:
        raise LogicLensError("a matrix does not name its columns: pass names=[...], one for each column.")
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise LogicLensError(f"{len(names)} names were given for a table of shape {matrix.shape}.")
    return {name: matrix[:, place] for name, place in zip(names, places(names, names), strict=True)}
