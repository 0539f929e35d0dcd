"""The result of an explanation: frozen dataclasses that the terminal, the page and `result.json` are made from.

`result_of` in `logiclens.report.measurement` makes one from a fitted model; `read_result` reads one from JSON. Nothing
here needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logiclens.codec import from_plain
from logiclens.errors import LogicLensError, quoted
from logiclens.formula.rule_set import RuleSet, RulesRecord
from logiclens.formula.text import format_formula
from logiclens.metrics.rule_statistics import (
    AnswerCost,
    Confusion,
    RuleStatistics,
    ShareRecord,
    StatisticsRecord,
    SubgroupRecord,
)
from logiclens.words import count_text, for_reading

"""A raw value; None if missing."""
KIND, SCHEMA = "logiclens result", 2


@dataclass(frozen=True)
class UnusedColumn:
    """A column that is not used, and why."""

    column: str
    reason: str


@dataclass(frozen=True)
class Data:
    """The table that was explained."""

    name: str
    rows: int
    columns: int
    sha256: str | None
    target: str
    dropped: tuple[UnusedColumn, ...]


@dataclass(frozen=True)
class Parts:
    """How many rows train, and how many are held out to measure on."""

    train: int
    set_aside: int


@dataclass(frozen=True)
class ConceptWords:
    """A concept that the rules use, with what it and its negation mean in words."""

    name: str
    column: str
    words: str
    words_not: str


@dataclass(frozen=True)
class Certified:
    """That formula and network of a class are equal, and by how much."""

    domain: str
    smallest_logit: float
    rounding_bound: float
    origin: str


@dataclass(frozen=True)
class Simplest:
    """The best single condition for a class, and its F1."""

    text: str
    f1: float


@dataclass(frozen=True)
class Relevance:
    """How much the network depends on a concept, whether the formula uses it, and why the two differ, if they do.

    `words` are those of the condition; empty if it has none. Concepts of the formula come first.
    """

    concept: str
    relevance: float
    used: bool
    reason: str = ""
    words: str = ""


@dataclass(frozen=True)
class GapCount:
    """How a condition that a missing value satisfies too holds where its rule fires, in numbers of rows.

    >>> print(GapCount("DEBTINC", "below 7", missing=1267, present=28))
    DEBTINC is missing on 1,267, below 7 on 28
    """

    column: str
    words: str
    missing: float
    present: float

    @for_reading
    def __str__(self) -> str:
        """Both counts."""
        return f"{self.column} is missing on {count_text(self.missing)}, {self.words} on {count_text(self.present)}"


@dataclass(frozen=True)
class ClassResult:
    """The formula of one class in words and symbols, how good it is, and what the network depends on.

    `gaps` has, for each cube, its conditions that a missing value satisfies too.
    """

    name: str
    formula: str
    english: str
    fidelity: float | None
    equals_network: bool
    certified: Certified | None
    reason: str | None
    remedy: str | None
    precision: ShareRecord | None
    recall: ShareRecord | None
    f1: float | None
    simplest: Simplest | None
    relevance: tuple[Relevance, ...]
    gaps: tuple[tuple[GapCount, ...], ...] = ()


@dataclass(frozen=True)
class Metric:
    """A measured number, with its interval where it has one."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    unit: str


@dataclass(frozen=True)
class FiringCounts:
    """On how many rows no formula fires, exactly one, or several."""

    none: int
    one: int
    several: int


@dataclass(frozen=True)
class GapStep:
    """How many answers a step on the way from the network to the formulas changes."""

    name: str
    rows: float


@dataclass(frozen=True)
class GapSummary:
    """The share of answers on which network and formulas agree, and what each step between them changes."""

    agree: float
    steps: tuple[GapStep, ...]


@dataclass(frozen=True)
class Curves:
    """Loss and accuracy, epoch by epoch, and the epoch that was kept."""

    loss: tuple[float | None, ...]
    penalty: tuple[float | None, ...]
    train_accuracy: tuple[float | None, ...]
    validation_loss: tuple[float | None, ...]
    validation_accuracy: tuple[float | None, ...]
    best_epoch: int


@dataclass(frozen=True)
class Headline:
    """How often the rules are right on held-out rows, and how often the most frequent class of the training rows is."""

    right: ShareRecord
    always: str
    always_right: ShareRecord


@dataclass(frozen=True)
class InputColumn:
    """A raw column of texts or dates that the rules use, and what "Try it" may start from.

    Attributes:
        column: name of the column.
        categories: of texts, the categories that are concepts.
        day: of dates, a day among those of the held-out rows, which is not taken from one of them.
    """

    column: str
    categories: tuple[str, ...]
    day: str | None = None


@dataclass(frozen=True)
class Constraint:
    """A constraint of the knowledge, whether the rules keep to it on every possible row, and why."""

    constraint: str
    holds: bool
    reason: str


@dataclass(frozen=True)
class ProtectedColumn:
    """A protected column: how every rule does in each of its groups, and the rules that use the column, as text.

    `groups` is empty if they could not be measured.
    """

    column: str
    groups: tuple[SubgroupRecord, ...]
    used_by: tuple[str, ...]

    @classmethod
    def of(cls, column: str, rules: RuleSet, statistics: RuleStatistics | None) -> ProtectedColumn:
        """Return what is told of a column: the statistics by its groups, and the rules that use it."""
        used = [
            format_formula(cube, "unicode")
            for rule in rules.rules
            for cube in rule.cubes
            if any(column in rules.predicate(concept).sources for concept in cube.concepts)
        ]
        return cls(column, () if statistics is None else statistics.record().subgroups, tuple(used))


@dataclass(frozen=True)
class Editing:
    """That people changed the rules after they were learned.

    `history` has a line for each edit, `looks` counts the versions that were measured on held-out rows, and
    `is_held_out` says whether the figures are of such rows.
    """

    history: tuple[str, ...]
    looks: int
    is_held_out: bool


@dataclass(frozen=True)
class HeldOutRow:
    """A held-out row: its number in the file, its class, the two answers, and a 0 or 1 for each concept."""

    row: int
    label: str
    network: str | None
    rules: str
    bits: str


@dataclass(frozen=True)
class Result:
    """Everything there is to say about a model and its explanation, measured on held-out rows.

    It holds at most a thousand of these rows, each with its number, its class and its concepts, and, only if they were
    asked for, its raw values in the columns that the rules ask. `model_sha256` is the hash of the `model.json` that the
    result belongs to.

    Raises:
        LogicLensError: if its parts are not about the same classes, concepts and cubes.

    >>> from sklearn.datasets import load_iris
    >>> from logiclens import EntropyClassifier
    >>> from logiclens.report import Source, result_of
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = EntropyClassifier(set_aside=0.25).fit(X, y)
    >>> result = result_of(model, model.explain(), Source("iris", rows=150, columns=4, target="species"))
    >>> [entry.name for entry in result.classes], result.parts
    (['0', '1', '2'], Parts(train=114, set_aside=36))
    """

    kind: str
    schema: int
    logiclens: str
    title: str
    command: str | None
    data: Data
    model_sha256: str | None
    versions: Mapping[str, str]
    seed: int | None
    parts: Parts
    exact: bool
    resolve: str
    multilabel: bool
    concepts: tuple[ConceptWords, ...]
    exclusive: tuple[tuple[str, ...], ...]
    implied: tuple[tuple[str, ...], ...]
    rules: RulesRecord
    classes: tuple[ClassResult, ...]
    statistics: StatisticsRecord
    metrics: tuple[Metric, ...]
    confusion: Confusion | None
    confusion_of_rules: Confusion | None
    firing: FiringCounts
    gap: GapSummary | None
    history: Curves | None
    rows: tuple[HeldOutRow, ...]
    rows_shown: int
    rows_total: int
    notes: tuple[str, ...]
    headline: Headline | None = None
    inputs: tuple[InputColumn, ...] = ()
    knowledge: tuple[Constraint, ...] = ()
    protected: tuple[ProtectedColumn, ...] = ()
    editing: Editing | None = None
    costs: tuple[AnswerCost, ...] = ()
    teacher: str | None = None

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        known = {concept.name for concept in self.concepts}
        if len(known) < len(self.concepts):
            raise LogicLensError("'concepts' of the result names a concept twice.")
        names, statistics = [entry.name for entry in self.classes], self.statistics
        parts = {"rules": [str(rule.label) for rule in self.rules.rules]}
        parts["statistics"] = [entry.name for entry in statistics.classes]
        parts |= {f"the subgroup {quoted(g.name)}": [entry.name for entry in g.classes] for g in statistics.subgroups}
        for column in self.protected:
            parts |= {f"the group {quoted(g.name)}": [entry.name for entry in g.classes] for g in column.groups}
        for where, found in parts.items():
            if found != names:
                raise LogicLensError(f"the classes of the result are {names}, but those of {where} are {found}.")
        for rule, measured in zip(self.rules.rules, statistics.classes, strict=True):
            cubes = [{literal.concept: literal.positive for literal in cube} for cube in rule.cubes]
            counted = [{lit.concept: lit.positive for lit in cube.literals or ()} for cube in measured.cubes]
            if cubes != counted:
                raise LogicLensError(f"the statistics of {quoted(measured.name)} are not about the cubes of its rules.")
        for rule, entry in zip(self.rules.rules, self.classes, strict=True):
            if len(entry.gaps) not in (0, len(rule.cubes)):
                raise LogicLensError(f"'gaps' of {quoted(entry.name)} needs one list for each of its cubes.")
        used = [literal.concept for rule in self.rules.rules for cube in rule.cubes for literal in cube]
        for name in (*used, *(name for group in (*self.exclusive, *self.implied) for name in group)):
            if name not in known:
                raise LogicLensError(f"the result uses the concept {quoted(name)}, which is not among its 'concepts'.")
        for row in self.rows:
            if len(row.bits) != len(known) or set(row.bits) - set("01"):
                raise LogicLensError(f"row {row.row} of the result needs one 0 or 1 for each of {len(known)} concepts.")
        for where, table in (("confusion", self.confusion), ("confusion_of_rules", self.confusion_of_rules)):
            if table is not None and [*map(len, table.counts)] != [len(table.predicted)] * len(table.labels):
                raise LogicLensError(
                    f"{quoted(where)} of the result needs a row for each label and a column for each answer."
                )
        if self.history is not None and len({len(curve) for curve in _curves(self.history)}) > 1:
            raise LogicLensError("the curves in 'history' of the result differ in length.")


def _curves(history: Curves) -> tuple[tuple[float | None, ...], ...]:
    losses, accuracies = (history.loss, history.validation_loss), (history.train_accuracy, history.validation_accuracy)
    return (history.penalty, *losses, *accuracies)


def read_result(content: Any) -> Result:
    """Return the result that `result.json` holds.

    Args:
        content: the content of `result.json` as dictionaries and lists.

    Raises:
        LogicLensError: in one sentence that names the place, if the content is not a result of this schema.

    >>> read_result({"kind": "logiclens result", "schema": 3})
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: the report reads results of schema 2, got 3; explain the data again to renew it.
    """
    if not isinstance(content, Mapping) or content.get("kind") != KIND:
        raise LogicLensError(f"the report is made from a saved result, whose 'kind' is {quoted(KIND)}.")
    schema = content.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise LogicLensError(
            f"the report reads results of schema {SCHEMA}, got {quoted(schema)}; explain the data again to renew it."
        )
    # The hash of the file is no part of the result.
    bare = {name: value for name, value in content.items() if name != "content_sha256"}
    return from_plain(Result, bare, "the result")
