"""Rules: the formula of each class, and how they decide together on the rows of a raw table, without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from typing import Literal as OneOf

import numpy as np
from numpy.typing import NDArray

from logiclens.errors import LogicLensError, quoted, quoted_names
from logiclens.formula.column_kinds import Scalar, numbers_of
from logiclens.formula.dnf import DNF, Complement, Cube
from logiclens.formula.english import FOUND_LEAST, NO_FACTS, TableFacts, english, printed_order, recurrence_words
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.packed_rows import (
    PackedRows,
    RowsLike,
    as_array,
    check_names,
    pack_columns,
    places,
    unknown_concept,
)
from logiclens.formula.predicate import Predicate, label_array
from logiclens.words import enumeration, percent

Resolve: TypeAlias = OneOf["order", "confidence", "none"]

THRESHOLD = 0.5
"""A concept without a predicate is a column; it is true if its value is at least this."""
BY_HAND = "edited by hand"
"""What is said of the stability of a cube that a person wrote or changed."""


@dataclass(frozen=True)
class CutRange:
    """The lowest and the highest threshold of one condition of a rule, over the bags that found the rule again.

    >>> str(CutRange("age", 60.0, 65))
    'age from 60 to 65'
    """

    column: str
    low: Scalar
    high: Scalar

    def __post_init__(self) -> None:
        """Refuse what is no threshold of a column."""
        Predicate(self.column, ">=", self.low)
        Predicate(self.column, ">=", self.high)

    @property
    def span(self) -> str:
        """The range in words."""
        low, high = (Predicate(self.column, ">=", value).shown_value for value in (self.low, self.high))
        return f"from {low} to {high}"

    def __str__(self) -> str:
        """Return the column and its range."""
        return f"{self.column} {self.span}"


@dataclass(frozen=True)
class FoundAgain:
    """In how many bags a rule of the same columns and directions was found, and where its conditions cut then.

    Args:
        count: number of bags.
        cuts: the range of each condition that has a threshold. Default: unknown.

    >>> FoundAgain(9, (CutRange("glucose", 124, 144),)).words(10)
    'found again in 9 of 10; the cut ranges from 124 to 144'
    """

    count: int
    cuts: tuple[CutRange, ...] = ()

    def words(self, total: int, drawn: str = "") -> str:
        """Return the count in words, and the ranges of cuts that differ.

        Args:
            total: number of bags.
            drawn: plural noun for them. Default: no noun.
        """
        return "; ".join(filter(None, (recurrence_words(self.count, total, drawn), self.cut_words)))

    @property
    def cut_words(self) -> str:
        """The ranges of cuts that differ, in words; empty if none does."""
        apart = [cut for cut in self.cuts if cut.low != cut.high]
        if len(self.cuts) == 1:
            return "".join(f"the cut ranges {cut.span}" for cut in apart)
        return "; ".join(f"the cut of {cut.column} ranges {cut.span}" for cut in apart)


@dataclass(frozen=True)
class Figures:
    """What was measured of rules on some rows; None where no row could tell.

    Args:
        source: which rows these were, in words.
        rows: number of rows.
        accuracy: share of the rows, by weight, that get their class.
        macro_f1: mean F1 of the decision over the classes.

    >>> figures = Figures("100 held-out rows", rows=100, accuracy=0.9, macro_f1=0.85)
    >>> figures.accuracy
    0.9
    """

    source: str
    rows: int
    accuracy: float | None
    macro_f1: float | None


@dataclass(frozen=True)
class Edit:
    """One line in the history of rules.

    Args:
        what: what was changed, in words.
        why: the reason. Default: None.
        who: the person. Default: None.
        when: the moment, as a text. Default: None.
        before: what was measured before the edit, if anything. Default: None.
        after: what was measured after it. Default: None.

    >>> print(Edit("removed died#2 (sepsis)", "not known at admission", "Dr. Weber", "2026-03-01"))
    removed died#2 (sepsis), because: not known at admission (Dr. Weber, 2026-03-01)
    """

    what: str
    why: str | None = None
    who: str | None = None
    when: str | None = None
    before: Figures | None = None
    after: Figures | None = None

    def __str__(self) -> str:
        """One line."""
        reason = "" if self.why is None else f", because: {self.why}"
        signed = ", ".join(part for part in (self.who, self.when) if part is not None)
        return f"{self.what}{reason}{f' ({signed})' if signed else ''}"


@dataclass(frozen=True)
class Rule:
    """The formula of one class, with a confidence per cube.

    `confidence` is the lower end of the Wilson interval of the share of the class among the rows on which the cube
    fires. A complement has one confidence: that of the rows on which the other formula does not fire.

    `recurs` says in how many of the `bags` the search found a cube again; empty if unknown. It does not change what
    the rule answers, so `==` ignores it, `edited`, `pinned` and `reasons`. Cubes that are replaced by others have no
    count. The confidence of an edited cube is 0, which is the lower end for no rows, until it is measured.

    Args:
        label: the class.
        formula: its formula, or the complement of the other.
        confidence: one per cube.
        recurs: in how many bags each cube was found again, and where it cuts then. Default: unknown.
        bags: number of bags. Default: 0.
        edited: the cubes that a person wrote or changed. Default: none.
        pinned: the cubes that stay when rules are searched again. Default: none.
        reasons: why a cube is as it is, as the last person who edited it said. Default: none.

    >>> from logiclens.formula.text import parse
    >>> Rule("ill", parse("old & ~smoker"), (0.9,)).formula.n_literals
    2
    """

    label: Scalar
    formula: DNF | Complement
    confidence: tuple[float, ...]
    recurs: Mapping[Cube, FoundAgain] = field(default_factory=dict, compare=False)
    bags: int = field(default=0, compare=False)
    edited: frozenset[Cube] = field(default=frozenset(), compare=False)
    pinned: frozenset[Cube] = field(default=frozenset(), compare=False)
    reasons: Mapping[Cube, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        """Check that each cube has one confidence and that the counts are possible."""
        if len(self.confidence) != len(self.cubes or (None,) * self.is_complement):
            raise LogicLensError(
                f"the rule of {quoted(self.label)} has {len(self.cubes)} cubes and {len(self.confidence)} confidences."
                + " DNF(formula) writes a complement out as cubes." * self.is_complement
            )
        counts = [again.count for again in self.recurs.values()]
        if counts and not (self.bags > 0 and all(0 <= count <= self.bags for count in counts)):
            listed = ", ".join(map(str, counts))
            raise LogicLensError(
                f"a cube of {quoted(self.label)} must be found again in 0 to {self.bags} bags, got {listed}."
            )

    @property
    def counts(self) -> tuple[int | None, ...]:
        """For each cube, the number of bags in which it was found again; None if unknown."""
        return tuple(self.recurs[cube].count if cube in self.recurs else None for cube in self.cubes)

    @property
    def is_counted(self) -> bool:
        """Whether the recurrence of any cube is known."""
        return any(cube in self.recurs for cube in self.cubes)

    @property
    def recurrence(self) -> tuple[str, ...]:
        """The recurrence of each cube in words; empty if unknown."""
        return tuple(self.recurrence_of([cube]) for cube in self.cubes)

    def recurrence_of(self, cubes: Sequence[Cube]) -> str:
        """Return the recurrence of some cubes in words, which differ in one category: that of the one found least.

        It is empty if that of one is unknown.

        Args:
            cubes: some cubes of the formula.
        """
        if any(cube in self.edited for cube in cubes):
            return BY_HAND
        counted = [self.recurs[cube] for cube in cubes if cube in self.recurs]
        if len(counted) < len(cubes):
            return ""
        least = min(counted, key=lambda again: again.count)
        words = recurrence_words(least.count, self.bags, "bags")
        words += FOUND_LEAST * any(again.count > least.count for again in counted)
        return "; ".join(filter(None, (words, least.cut_words)))

    @property
    def recurrence_line(self) -> str:
        """The recurrence of all cubes in one line, once if it is the same for all; empty if unknown."""
        if not self.is_counted and not self.edited:
            return ""
        lines = [words or "not counted" for words in self.recurrence]
        return lines[0] if len(set(lines)) == 1 else "; ".join(lines)

    @property
    def is_complement(self) -> bool:
        """Whether the formula is the complement of the other class's formula."""
        return isinstance(self.formula, Complement)

    @property
    def cubes(self) -> tuple[Cube, ...]:
        """The cubes of the formula; a complement has none of its own."""
        return () if isinstance(self.formula, Complement) else self.formula.cubes

    @property
    def name(self) -> str:
        """The label as text."""
        return str(self.label)


@dataclass(frozen=True)
class Decision:
    """One line of a decision list: the place of the class for rows on which this cube fires first."""

    cube: Cube
    rule: int
    confidence: float
    recurrence: str = ""


@dataclass(frozen=True)
class Firing:
    """The number of rows on which no formula fires, exactly one, and several."""

    none: int
    one: int
    several: int

    @property
    def total(self) -> int:
        """The number of all rows."""
        return self.none + self.one + self.several

    def __str__(self) -> str:
        """A sentence."""
        one, none, several = (
            f"{rows:,} ({percent(rows / max(self.total, 1), 1)})" for rows in (self.one, self.none, self.several)
        )
        return f"of {self.total:,} rows, {one} fire exactly one formula, {none} none and {several} several"


@dataclass(frozen=True)
class DecisionRules:
    """The formulas of all classes, what their concepts mean, and how they decide together.

    `RuleSet` is this class with the questions that can be asked of it. The modules that answer them work on this class.
    """

    rules: tuple[Rule, ...]
    predicates: Mapping[str, Predicate] = field(default_factory=dict)
    groups: Groups = NO_GROUPS
    resolve: Resolve = "confidence"
    otherwise: int | None = None
    multilabel: bool = False
    order: tuple[int, ...] = ()
    facts: TableFacts = field(default=NO_FACTS, compare=False)
    history: tuple[Edit, ...] = field(default=(), compare=False)
    measured: Figures | None = field(default=None, compare=False)
    previous: DecisionRules | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Raise `LogicLensError` for rules that cannot decide."""
        if not self.rules:
            raise LogicLensError("a rule set needs at least one rule.")
        if self.resolve not in ("order", "confidence", "none"):
            raise LogicLensError(f"resolve must be 'order', 'confidence' or 'none', got {quoted(self.resolve)}.")
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
        """Check that a complement refers to the only other class and is the class `otherwise`."""
        for place, rule in enumerate(self.rules):
            if not isinstance(rule.formula, Complement):
                continue
            if len(self.rules) != 2 or self.multilabel or self.rules[1 - place].formula != rule.formula.of:
                raise LogicLensError(
                    f"{quoted(rule.name)} must be the complement of the only other class's formula. "
                    "DNF(formula) writes any other complement out as cubes."
                )
            if self.otherwise != place:
                raise LogicLensError(
                    f"the complement {quoted(rule.name)} must be the class of rows on which nothing fires."
                )

    @property
    def names(self) -> tuple[str, ...]:
        """The labels of the classes as text."""
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
        """The columns of the raw table that any formula uses."""
        return tuple(dict.fromkeys(name for concept in self.concepts for name in self.predicate(concept).sources))

    @property
    def sentences(self) -> tuple[str, ...]:
        """The formulas in English, one sentence per class, in the order in which they decide."""
        return tuple(self.sentence(self.rules[place]) for place in self.printed)

    @property
    def printed(self) -> tuple[int, ...]:
        """The places of the classes in the order of print: that in which they decide, if there is one.

        A class without rules comes last, and so does a complement, which refers to another class.
        """
        if self.resolve == "order" and len(self.order) > 1:
            return tuple(sorted(self.order, key=lambda place: not self.rules[place].cubes))
        return tuple(sorted(range(len(self.rules)), key=lambda place: self.rules[place].is_complement))

    def sentence(self, rule: Rule) -> str:
        """Return what the rules say of one class, in English.

        Args:
            rule: the rule of the class, one of these rules.

        >>> from logiclens.formula.text import parse
        >>> rules = DecisionRules((Rule("low", parse("a"), (0.9,)), Rule("high", parse("False"), ())), otherwise=1)
        >>> print(rules.sentence(rules.rules[1]))
        A row is high otherwise, where no rule for low fires.
        """
        if self.is_rest(rule) and (others := self.rest_of(rule)):
            return f"{self.facts.target or 'A row'} is {rule.name} otherwise, where no rule for {others} fires."
        formula = DNF.true if self.is_rest(rule) else rule.formula
        return english(formula, self.predicates, head=rule.name, facts=self.facts)

    def is_rest(self, rule: Rule) -> bool:
        """Return whether a class has no rules, and is the answer where those of no class fire.

        Args:
            rule: the rule of the class, one of these rules.
        """
        decides = self.otherwise is not None and self.rules[self.otherwise] is rule
        return decides and not (rule.cubes or rule.is_complement or self.multilabel or self.resolve == "none")

    def rest_of(self, rule: Rule) -> str:
        """Return the names of the classes whose rules leave the rest to one; empty unless the rest is all that it has.

        Args:
            rule: the rule of the class, one of these rules.
        """
        if rule.is_complement:
            return self.names[1 - self.rules.index(rule)]
        return enumeration([other.name for other in self.rules if other.cubes], "or") if self.is_rest(rule) else ""

    def class_words(self, label: Scalar) -> str:
        """Return the statement that a row has a class, such as `died is yes`; with several labels, the label alone.

        Args:
            label: the label of the class.
        """
        return str(label) if self.multilabel else self.facts.class_words(label)

    def class_heading(self, label: Scalar) -> str:
        """Return a class with the name of the target, such as `died is yes`; the label alone if that is unknown.

        Args:
            label: the label of the class.
        """
        return str(label) if self.facts.target is None else self.class_words(label)

    def predicate(self, concept: str) -> Predicate:
        """Return what a concept means on the raw table.

        Args:
            concept: the name of the concept.
        """
        return self.predicates.get(concept) or Predicate(concept, ">=", THRESHOLD)

    def rule(self, label: Scalar) -> Rule:
        """Return the rule of a class.

        Args:
            label: the label of the class, or its name.
        """
        for rule in self.rules:
            if rule.label == label or rule.name == label:
                return rule
        raise no_class(label, self.names)

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All cubes as a decision list: the first cube that fires gives the class, else `otherwise`.

        With `resolve="order"` the cubes have the order of the classes, and those of a class the most trusted first;
        otherwise the highest confidence comes first.
        """
        lines = [
            Decision(cube, place, confidence, recurrence)
            for place in (self.order if self.resolve == "order" else range(len(self.rules)))
            for cube, confidence, recurrence in zip(
                self.rules[place].cubes, self.rules[place].confidence, self.rules[place].recurrence, strict=False
            )
        ]
        ranks = {place: rank for rank, place in enumerate(self.order)} if self.resolve == "order" else {}
        return tuple(sorted(lines, key=lambda line: (ranks.get(line.rule, 0), -line.confidence)))

    @property
    def turns(self) -> tuple[tuple[int, Cube], ...]:
        """All cubes in the order in which they decide, each with the place of its class.

        With `resolve="order"` that is the order of print. The answers are those of `decisions`.
        """
        if self.resolve != "order":
            return tuple((line.rule, line.cube) for line in self.decisions)
        return tuple((place, cube) for place in self.order for cube in self.in_turn(self.rules[place]))

    def in_turn(self, rule: Rule) -> tuple[Cube, ...]:
        """Return the cubes of a class; where the class is the answer, the first of them that fires decides.

        Args:
            rule: the rule of the class, one of these rules.
        """
        if self.resolve == "order":
            return printed_order(rule.cubes, self.predicates)
        trust = dict(zip(rule.cubes, rule.confidence, strict=False))
        return tuple(sorted(rule.cubes, key=lambda cube: -trust[cube]))

    def pack(self, table: RowsLike, names: Sequence[str] | None = None) -> PackedRows:
        """Return the concepts that the formulas use, packed: computed from raw columns, or taken if they are columns.

        Args:
            table: named columns (a DataFrame, a dictionary of columns, packed or counted concepts), or a matrix.
            names: the columns of a matrix. Default: None.
        """
        packed = table if isinstance(table, PackedRows) else getattr(table, "packed", None)
        if isinstance(packed, PackedRows):
            return packed
        columns = table_columns(table, names)
        n_rows = len(next(iter(columns.values()))) if columns else len(table)
        held = np.zeros((len(self.concepts), n_rows), dtype=np.bool_)
        for i, concept in enumerate(self.concepts):
            held[i] = self.holds(concept, columns)
        return PackedRows(pack_columns(held), n_rows, self.concepts)

    def holds(self, concept: str, columns: Mapping[str, Any]) -> NDArray[np.bool_]:
        """Return on which rows a concept is true.

        Args:
            concept: the name of the concept.
            columns: raw columns or concepts, by name.
        """
        predicate = self.predicate(concept)
        lacking = [name for name in predicate.sources if name not in columns]
        if not lacking:
            return predicate.held_by(columns)
        if concept in columns:
            return numbers_of(columns[concept], concept) >= THRESHOLD
        if concept in self.predicates:
            raise LogicLensError(f"the table lacks the column {quoted(lacking[0])} that {quoted(concept)} is about.")
        raise unknown_concept(concept, list(columns))

    def fires(self, table: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
        """Return on which rows the formula of each class holds: `[rows, classes]`.

        Args:
            table: as in `pack`.
            names: as in `pack`.
        """
        packed = self.pack(table, names)
        return np.stack([formula.evaluate(packed) for formula in self.formulas], axis=1)

    def firing(self, table: RowsLike, names: Sequence[str] | None = None) -> Firing:
        """Return on how many rows no formula fires, exactly one, and several.

        Args:
            table: as in `pack`.
            names: as in `pack`.
        """
        fired = self.fires(table, names).sum(axis=1)
        return Firing(int((fired == 0).sum()), int((fired == 1).sum()), int((fired > 1).sum()))

    def predict_places(self, table: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.intp]:
        """Return the place of the class of each row; −1 if undecided.

        Args:
            table: as in `pack`.
            names: as in `pack`.
        """
        packed = self.pack(table, names)
        if self.resolve == "none":
            fires = self.fires(packed)
            return np.where(fires.sum(axis=1) == 1, fires.argmax(axis=1), -1)
        places = np.full(packed.n_rows, -1 if self.otherwise is None else self.otherwise, dtype=np.intp)
        # In reverse order, so that the first line of the decision list overwrites the others.
        for line in reversed(self.decisions):
            places[DNF([line.cube]).evaluate(packed)] = line.rule
        return places

    def confidence(self, table: RowsLike, names: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Return for each row a share per class: the deciding cube's confidence for its class, the rest split evenly.

        Of several cubes of the deciding class that fire, the most trusted one decides. A complement has its own
        confidence. A class that is predicted because nothing fires, or whose confidence is below an even share, gets
        slightly more than an even share. So the largest share is the class of `predict`.
        Args:
            table: as in `pack`.
            names: as in `pack`.
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
        """Return the class of each row, None if undecided; with several labels per row, a 0/1 matrix.

        Args:
            table: a raw table or rows of concepts; a matrix needs `names`.
            names: the columns of a matrix. Default: None.
        """
        if self.multilabel:
            return self.fires(table, names).astype(np.int64)
        places = self.predict_places(table, names)
        labels = label_array([rule.label for rule in self.rules])
        if (places >= 0).all():
            predicted: NDArray[Any] = labels[places]
            return predicted
        return np.array([self.rules[place].label if place >= 0 else None for place in places], dtype=object)


def who_decides(rules: DecisionRules) -> str:
    """Say how the rules of all classes come to one answer.

    >>> from logiclens.formula import parse
    >>> a, b = (Rule(name, parse(name), (0.9,)) for name in "ab")
    >>> who_decides(DecisionRules((a, b), resolve="order", order=(1, 0), otherwise=0))
    'The first that applies decides: b, then a; otherwise a.'
    """
    if rules.multilabel:
        return "A row can have several labels: each is given where any of its rules fires."
    subject = rules.facts.target or "A row"
    for place, rule in enumerate(rules.rules):
        if rule.is_complement:
            formula = rules.names[1 - place]
            return f"{subject} is {formula} where a rule for {formula} fires, and {rule.name} otherwise."
    if rules.resolve == "none":
        return "A row gets a class where the rules of exactly that class fire; otherwise it stays undecided."
    named = [rules.class_heading(name) for name in rules.names]
    left = "the row stays undecided" if rules.otherwise is None else named[rules.otherwise]
    # A class without rules decides nothing before the rest.
    stated = [place for place in rules.order if rules.rules[place].cubes]
    if rules.resolve == "order" and stated:
        order = ", then ".join([named[stated[0]], *(rules.names[place] for place in stated[1:])])
        return f"The first that applies decides: {order}; otherwise {left}."
    if rules.resolve == "order":
        return f"No class has a rule that fires: {left if rules.otherwise is None else f'the answer is {left}'}."
    return (
        "Where rules of several classes fire, the rule that can be trusted most decides. "
        f"Where none fires, {left if rules.otherwise is None else f'the answer is {left}'}."
    )


def no_class(label: object, names: Sequence[str]) -> LogicLensError:
    """Return the error for an unknown class."""
    return LogicLensError(f"there is no class {quoted(label)}; the classes are {quoted_names(names)}.")


def table_columns(table: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Return the columns of a table by name."""
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
        # The `columns` of an Arrow table are not names.
        return {str(name): as_array(table.column(name)) for name in table.column_names}
    if hasattr(table, "columns"):
        check_names([str(name) for name in table.columns], len(table.columns), "column", empty=True)
        return {str(name): table[name] for name in table.columns}
    if hasattr(table, "values") and hasattr(table, "names"):
        table, names = table.values, table.names
    matrix = as_array(table)
    if names is None:
        raise LogicLensError("a matrix does not name its columns: pass names=[...], one for each column.")
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise LogicLensError(f"{len(names)} names were given for a table of shape {matrix.shape}.")
    return {name: matrix[:, place] for name, place in zip(names, places(names, names), strict=True)}
