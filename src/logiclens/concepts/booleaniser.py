"""Booleaniser: a transformer from raw columns to named concepts such as `age >= 72.5` or `unit is MICU`."""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from logiclens.concepts.concept_table import ConceptTable, checked_weight
from logiclens.concepts.cuts import (
    Histogram,
    Tally,
    quantile_cuts,
    round_cuts,
    uniform_cuts,
)
from logiclens.concepts.near_copies import near_copies
from logiclens.concepts.splits import distinct_rows
from logiclens.constraints import Constraint, check_all, flag, whole_number
from logiclens.errors import LogicLensError, NoConcepts, quoted, quoted_names, warn
from logiclens.formula.column_kinds import CATEGORY, KINDS, NUMBER, TRUTH_VALUE, ColumnKind, Kind, Scalar
from logiclens.formula.condition import FEW_OF_A_TEXT, all_categories
from logiclens.formula.counted_rows import counting_weight
from logiclens.formula.date_parts import DatePart, parts_of_dates
from logiclens.formula.groups import NO_GROUPS, Groups
from logiclens.formula.predicate import Predicate
from logiclens.tables.dtypes import are_iso_dates
from logiclens.tables.frames import (
    Column,
    as_named,
    checked_matrix,
    column_names,
    columns_of,
    label_array,
    opened,
    part_column,
    parted,
    sentences_of_sklearn,
)
from logiclens.words import percent


@dataclass(frozen=True, eq=False)
class Cutting:
    """How raw columns become concepts.

    Attributes:
        kinds: the kind of each column that a concept is about.
        predicates: what each concept means.
        groups: which concepts exclude or imply each other.
        scales: for rescaled columns, the value that becomes 0.5 and its distance to the values that become 0 and 1.
        opposites: for the concept of a column that had two values and no gap in training, the other value.
        whole: columns that held whole numbers only, or dates without a time of day.
        categories: all values of columns of texts that had two, or each of which enough rows had to name no row.
    """

    kinds: Mapping[str, Kind]
    predicates: Mapping[str, Predicate]
    groups: Groups = NO_GROUPS
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    opposites: Mapping[str, Predicate] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def complete(self) -> tuple[str, ...]:
        """The columns without a missing value in training."""
        gaps = {predicate.column for predicate in self.predicates.values() if predicate.operator == "missing"}
        return tuple(column for column in self.kinds if column not in gaps)

    @property
    def names(self) -> tuple[str, ...]:
        """All concepts, in the order of `values`."""
        return tuple(self.predicates)

    def column_of(self, concept: str) -> str:
        """Return the raw column that a concept is about."""
        return self.predicates[concept].column

    def origin_of(self, concept: str) -> DatePart | None:
        """Return the part of a date that a concept is about; None if it is about a column."""
        return self.predicates[concept].origin

    def sources_of(self, concept: str) -> tuple[str, ...]:
        """Return the columns of the raw table that a concept is about."""
        origin = self.origin_of(concept)
        return (self.column_of(concept),) if origin is None else origin.columns

    def values(self, columns: Sequence[Column]) -> NDArray[Any]:
        """Return the concepts of some rows: Boolean, or in [0, 1] if columns are rescaled."""
        by_name = {column.name: column for column in columns if column.origin is None}
        parts: dict[str, Column] = {}
        n_rows = len(columns[0]) if columns else 0
        held: NDArray[Any] = np.zeros((n_rows, len(self.names)), float if self.scales else np.bool_)
        for place, concept in enumerate(self.names):
            name = self.column_of(concept)
            if lacking := [source for source in self.sources_of(concept) if source not in by_name]:
                raise LogicLensError(
                    f"the table lacks the column {quoted(lacking[0])} that {quoted(concept)} is about."
                )
            origin = self.origin_of(concept)
            if origin is not None and name not in parts:
                parts[name] = part_column(origin, by_name)
            column = by_name[name].as_kind(self.kinds[name]) if origin is None else parts[name]
            if concept in self.scales:
                held[:, place] = _rescaled(column.numbers, *self.scales[concept])
            else:
                held[:, place] = column.holds(self.predicates[concept])
        return held


def _rescaled(numbers: NDArray[np.float64], middle: float, reach: float) -> NDArray[np.float64]:
    """Rescale numbers to [0, 1] so that the result is at least 0.5 exactly if the number is at least `middle`."""
    with np.errstate(over="ignore"):
        # A number so far away that the difference is infinite is at the end anyway.
        scaled = np.clip(0.5 + (numbers - middle) / reach / 2, 0, 1)
    # Rounding must not lift a number just below the middle to 0.5.
    scaled = np.where(numbers < middle, np.minimum(scaled, np.nextafter(0.5, 0)), scaled)
    # A missing value is below every number, as for a cut.
    return np.nan_to_num(scaled, nan=0.0)


How: TypeAlias = Literal["round", "quantile", "uniform", "soft"]

N_CUTS = 3
"""Default number of cuts per column at quantiles or equal steps."""
CONSTANT = "it has one value only"
STANDS_FOR = " stands for "
PART_ROWS = 100
"""Parts of dates become concepts only from this many distinct rows on."""
FEW_ROWS = 20
"""A column of distinct values is treated as an identifier only from this many rows on."""
CLOSE = 5
"""Largest mean distance between whole numbers that are treated as row identifiers."""
_NAMED = re.compile(r"(?i:(?:^|[\W_])(?:id|nr|no|num|number|key|uid|uuid))$|[a-z](?:ID|Id|Nr|No)$")


@dataclass(frozen=True)
class Wanted:
    """What knowledge asks of the concepts, beside those that are found.

    Attributes:
        predicates: conditions that must be concepts.
        ordered: columns with a direction, of which every concept must be a threshold.
        preferred: columns that stand for others that say nearly the same.
    """

    predicates: tuple[Predicate, ...] = ()
    ordered: frozenset[str] = frozenset()
    preferred: frozenset[str] = frozenset()

    def of(self, column: str, *operators: str) -> list[Scalar]:
        """Return the values that a column is compared with by these operators."""
        return [one.value for one in self.predicates if one.column == column and one.operator in operators]


NOTHING_WANTED = Wanted()


def _all_categories(column: Tally) -> tuple[str, ...] | None:
    """Return all values of a column of texts that was counted whole; None where `all_categories` says so."""
    if column.counts is None or column.kind != CATEGORY.name:
        return None
    size = column.counts
    present = np.flatnonzero(size)
    if column.n_values > len(present):
        return None
    return all_categories({str(column.categories[place]): float(size[place]) for place in present})


@dataclass
class Finding:
    """The concepts found so far, added column by column.

    Args:
        n_cuts: cuts per column at quantiles or equal steps.
        max_categories: the most concepts per column of categories.
        sharper: for each column further thresholds, which lie off the round grid.
        wanted: further concepts that rules must have.
        left_out: columns that were left out before the rows were split, with the reasons.
    """

    n_cuts: int
    max_categories: int
    sharper: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    wanted: Wanted = NOTHING_WANTED
    left_out: Mapping[str, str] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    exclusive: list[list[str]] = field(default_factory=list)
    implied: list[list[str]] = field(default_factory=list)
    scales: dict[str, tuple[float, float]] = field(default_factory=dict)
    opposites: dict[str, Predicate] = field(default_factory=dict)
    whole: list[str] = field(default_factory=list)
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def cutting(self) -> Cutting:
        """Return the concepts as a `Cutting`."""
        groups, whole = Groups(self.exclusive, self.implied), tuple(self.whole)
        return Cutting(self.kinds, self.predicates, groups, self.scales, self.opposites, whole, self.categories)

    def look_at(self, column: Tally, how: How | Sequence[Scalar]) -> None:
        """Add the concepts of a column, or record why it has none."""
        reason = self.left_out.get(column.name) or self._add(column, how)
        if column.is_nominal and are_iso_dates(column.categories):
            self.notes.append(
                f"the column {quoted(column.name)} holds dates as text: convert it (in Python, pd.to_datetime) to use "
                "them."
            )
        if reason is None:
            self.kinds[column.name] = column.kind
            if column.whole or column.whole_days:
                self.whole.append(column.name)
            if (categories := _all_categories(column)) is not None:
                self.categories[column.name] = categories
            for source in () if column.origin is None else column.origin.columns:
                self.kinds[source] = "date"
        elif column.origin is None:
            self.dropped[column.name] = reason

    def unusable(self, column: Tally, how: How | Sequence[Scalar]) -> str | None:
        """Return why a column becomes no concept whatever the target is; None if it may become one."""
        if column.n_rows == 0:
            return CONSTANT
        if not isinstance(how, str):
            return None if len(how) else "no cuts are given for it"
        if column.origin is not None or (how != "soft" and self.wanted.of(column.name, ">=", "==")):
            return None
        if is_identifier(column):
            return "every row has another value, as an identifier has"
        if (rare := self._are_too_rare(column)) is not None:
            return rare
        is_asked = bool(self.wanted.of(column.name, ">=", "==", "missing"))
        is_constant = column.n_values < 2 and not column.has_missing and not is_asked
        return CONSTANT if is_constant else None

    def _add(self, column: Tally, how: How | Sequence[Scalar]) -> str | None:
        if (reason := self.unusable(column, how)) is not None:
            return reason
        has_missing = column.has_missing
        given = None if isinstance(how, str) else list(dict.fromkeys(how))
        asked = self.wanted.of(column.name, ">=", "==")
        if column.origin is not None:
            # Its date has the concept of a missing value.
            return None if self._cuts(column, how if given is None else given) else CONSTANT
        if given is None and (is_identifier(column) or self._are_too_rare(column) is not None):
            # Knowledge asks for conditions on it, and it gets no others.
            given = []
        if column.is_nominal:
            exclusive = self._categories(column, given, has_missing)
        elif column.kind == TRUTH_VALUE.name:
            exclusive = self._truth_value(column, bool(asked))
        else:
            exclusive = self._cuts(column, how if given is None else given)
        has_missing = has_missing or bool(self.wanted.of(column.name, "missing"))
        if not exclusive and not has_missing:
            return CONSTANT
        if has_missing:
            exclusive = [*exclusive, self._name(Predicate(column.name, "missing"))]
        if len(exclusive) > 1:
            self.exclusive.append(exclusive)
        return None

    def _truth_value(self, column: Tally, is_wanted: bool) -> list[str]:
        """Add that a column of truth values is true; return the name, nothing of a constant that nobody asked for."""
        if column.n_values < 2 and not column.has_missing and not is_wanted:
            return []
        name = self._name(Predicate(column.name, "==", True), column.name)
        if not column.has_missing:
            self.opposites[name] = Predicate(column.name, "==", False)
        return [name]

    def _are_too_rare(self, column: Tally) -> str | None:
        """Return a reason to leave out texts that hardly repeat, such as comments."""
        if column.counts is None or not KINDS[column.kind].is_nominal or len(column.counts) <= self.max_categories:
            return None
        most = float(column.counts.max())
        if most >= FEW_OF_A_TEXT:
            return None
        n_values, n_rows = max(len(column.counts), column.n_values), float(column.counts.sum())
        return f"it has {n_values:,} different texts in {n_rows:,.0f} rows, each in fewer than {FEW_OF_A_TEXT}"

    def _name(self, predicate: Predicate, name: str | None = None) -> str:
        name = str(predicate) if name is None or name in self.predicates else name
        if name in self.predicates:
            raise LogicLensError(f"two concepts would be called {quoted(name)}: rename the column of that name.")
        self.predicates[name] = predicate
        return name

    def _cuts(self, column: Tally, how: How | Sequence[Scalar]) -> list[str]:
        """Add the cuts of an ordered column; return the name of the lowest, which all others imply."""
        histogram, kind = column.histogram, KINDS[column.kind]
        wanted = [] if column.origin is not None else self.wanted.of(column.name, ">=")
        if values := self.wanted.of(column.name, "=="):
            # A truth value written as 0 and 1 whose values a required rule names: neither is the negation of the other.
            both = [self._name(Predicate(column.name, "==", value)) for value in (0, 1)]
            for name, other in zip(both, (1, 0), strict=True):
                self.opposites[name] = Predicate(column.name, "==", other)
            return both if values else []
        if not isinstance(how, str):
            how = list(dict.fromkeys([*how, *wanted]))
            asked = sorted((_at(column, cut) for cut in how), key=lambda predicate: kind.number(predicate.value))
            asked = [replace(predicate, origin=column.origin) for predicate in asked]
            names = [self._name(predicate) for predicate in asked]
        elif histogram is None or len(histogram) < 2:
            names = [self._name(_at(column, cut)) for cut in sorted(wanted, key=kind.number)]
        elif how == "soft":
            names = [self._rescaled(column, histogram)]
        elif (
            kind is NUMBER
            and histogram.low.tolist() == [0.0, 1.0]
            and column.origin is None
            and not (wanted or column.name in self.wanted.ordered)
        ):
            # A truth value written as 0 and 1.
            name = self._name(Predicate(column.name, "==", 1))
            if not column.has_missing:
                self.opposites[name] = Predicate(column.name, "==", 0)
            return [name]
        else:
            cuts = self._thresholds(column, histogram, how)
            numbers = set(map(kind.number, cuts))
            cuts += [cut for cut in wanted if kind.number(cut) not in numbers]
            # Gaps may overlap: thresholds are sorted, and gaps that give the same threshold are one cut.
            names = [
                self._name(Predicate(column.name, ">=", cut, column.origin))
                for cut in sorted(set(cuts), key=kind.number)
            ]
            self._tell_loose(column, names)
        if len(names) > 1:
            self.implied.append(names)
        return names[:1]

    def _thresholds(self, column: Tally, histogram: Histogram, how: str) -> list[Scalar]:
        """Return the thresholds of an ordered column, in any order."""
        kind = KINDS[column.kind]
        if how == "round":
            cuts = round_cuts(histogram, kind)
            # A column that is nearly constant still tells those rows apart that differ.
            return [*cuts, *self.sharper.get(column.name, ())] or [_middle_cut(histogram, kind)]
        finder = {"quantile": quantile_cuts, "uniform": uniform_cuts}[how]
        return [kind.threshold(*histogram.gap(place)) for place in finder(histogram, self.n_cuts)]

    def _tell_loose(self, column: Tally, names: Sequence[str]) -> None:
        """Note how far cuts may be off if an engine could not separate all values."""
        if column.loose is not None and names:
            share = percent(column.loose.max() / column.n_rows, 2)
            self.notes.append(
                f"the column {quoted(column.name)} has values too close together to be told apart: {share} of the rows "
                f"are in one bin, by which its cuts ({', '.join(names)}) may be off."
            )

    def _rescaled(self, column: Tally, histogram: Histogram) -> str:
        """Add the column itself as a concept, rescaled from its smallest to its largest value."""
        gap, half = histogram.gap(uniform_cuts(histogram, 1)[0]), histogram.low[0] / 2 + histogram.high[-1] / 2
        kind = KINDS[column.kind]
        cut = kind.threshold(*gap, near=float(half))
        name, middle = self._name(Predicate(column.name, ">=", cut)), kind.number(cut)
        reach = max(middle - float(histogram.low[0]), float(histogram.high[-1]) - middle)
        self.scales[name] = (middle, reach)
        return name

    def _categories(self, column: Tally, given: list[Any] | None, has_missing: bool) -> list[str]:
        """Add the categories of a column, in order; return their names."""
        if given is not None:
            kind = KINDS[column.kind]
            if wrong := [cut for cut in given if isinstance(cut, str) != kind.is_nominal]:
                raise LogicLensError(
                    f"the categories of {quoted(column.name)} must be {kind.plural}, got {quoted(wrong[0])}."
                )
            chosen = given
        else:
            size = np.zeros(0) if column.counts is None else column.counts
            present = np.flatnonzero(size)
            asked = self.wanted.of(column.name, "==")
            if len(present) < 2 and not has_missing and not asked:
                return []
            if len(present) > self.max_categories:
                n_categories = max(len(present), column.n_values)
                # By frequency, then by name.
                order = np.lexsort((np.arange(len(size)), -size))
                present = np.sort(order[: self.max_categories])
                self._tell_ignored(column, n_categories, size[present].sum() / size.sum())
            elif len(present) == 2 and not has_missing and asked:
                # A required rule names one of two categories: both are concepts.
                first, last = (Predicate(column.name, "==", column.categories[i]) for i in present)
                self.opposites |= {str(first): last, str(last): first}
            elif len(present) == 2 and not has_missing:
                # With two categories one is the negation of the other.
                first, last = (Predicate(column.name, "==", column.categories[i]) for i in present)
                name = self._name(last)
                self.opposites[name] = first
                return [name]
            chosen = [column.categories[i] for i in present]
        chosen = list(dict.fromkeys([*chosen, *self.wanted.of(column.name, "==")]))
        return [self._name(Predicate(column.name, "==", category)) for category in chosen]

    def _tell_ignored(self, column: Tally, n_categories: int, covered: float) -> None:
        """Note that most categories of a column are no concepts, and how many rows these leave untold."""
        self.notes.append(
            f"the column {quoted(column.name)} has {n_categories:,} categories: the {self.max_categories} most "
            f"frequent become concepts, and rules ignore the others, which {percent(1 - covered)} of the rows hold."
        )


def _middle_cut(histogram: Histogram, kind: ColumnKind) -> Scalar:
    """Return the threshold nearest to the median row."""
    return kind.threshold(*histogram.gap(quantile_cuts(histogram, 1)[0]))


def _at(column: Tally, cut: Any) -> Predicate:
    """Return the cut that the user gave."""
    return Predicate(column.name, ">=", KINDS[column.kind].given_threshold(cut, column.name))


def is_identifier(column: Tally) -> bool:
    """Return whether a column identifies rows: distinct texts, or distinct whole numbers that are close or named so."""
    # Among distinct rows a column that determines all others is distinct too; only copies of rows show the difference.
    if column.copied or column.n_rows < FEW_ROWS or column.n_values < column.n_rows:
        return False
    if column.is_nominal:
        return True
    if not column.whole or column.histogram is None:
        return False
    reach = float(column.histogram.high[-1]) - float(column.histogram.low[0])
    return reach < CLOSE * column.n_rows or bool(_NAMED.search(column.name))


HOW: tuple[How, ...] = ("round", "quantile", "uniform", "soft")
CONSTRAINTS: Mapping[str, Constraint] = {
    "cuts": Constraint(
        f"one of {', '.join(HOW)}, or a dictionary",
        lambda value: isinstance(value, Mapping) or (isinstance(value, str) and value in HOW),
    ),
    "n_cuts": whole_number(1),
    "max_categories": whole_number(1),
    "date_parts": flag(),
}
"""What each setting of a booleaniser may be."""


class Booleaniser(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a raw table into named concepts, fitted on the training rows.

    Numbers, dates and durations are cut. Each category becomes a concept. Truth values stay as they are. A column with
    missing values gets a concept for them. A missing value is above no cut and in no category; the same holds for a
    category that did not occur in training.

    Args:
        cuts: where ordered columns are cut, without a look at labels. `"round"`: at multiples of one round step for
            each column, about five of them, or between all values of a column of at most 12; `"quantile"`: at equal
            shares of the rows; `"uniform"`: at equal steps; `"soft"`: not at all, columns are rescaled to [0, 1] and a
            formula speaks of their middle. A dictionary sets this per column: a list of numbers, dates, durations or
            categories, or one of these words; columns that it does not name are cut at round numbers.
        n_cuts: the number of cuts per column with `"quantile"` and `"uniform"`. Default: 3.
        max_categories: the most concepts per column of categories: the most frequent ones. Default: 20.
        date_parts: whether dates that vary enough also offer their month, weekday and hour, and the days from one
            column of dates to another, where these tell something about the target; see
            `logiclens.formula.date_parts`. From 100 rows on. Default: True.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31.2, 45.9, 58.1, 77.7], "unit": ["CCU", "MICU", None, "MICU"]})
    >>> made = Booleaniser("quantile", n_cuts=1).set_output(transform="pandas").fit_transform(frame)
    >>> made[["age >= 50", "unit is MICU", "unit is missing"]]
       age >= 50  unit is MICU  unit is missing
    0      False         False            False
    1      False          True            False
    2       True         False             True
    3       True          True            False
    """

    _wanted: Wanted = NOTHING_WANTED
    _target: str | None = None
    _left_out: Mapping[str, str] | None = None
    _sharper: Mapping[str, Sequence[Scalar]] | None = None
    _stands_for: Mapping[str, tuple[str, ...]] | None = None

    def __init__(
        self,
        cuts: How | Mapping[str, How | Sequence[Scalar]] = "round",
        *,
        n_cuts: int = N_CUTS,
        max_categories: int = 20,
        date_parts: bool = True,
    ) -> None:
        """Store the settings; `fit` validates them."""
        self.cuts = cuts
        self.n_cuts = n_cuts
        self.max_categories = max_categories
        self.date_parts = date_parts

    def wanting(self, wanted: Wanted) -> Booleaniser:
        """Return an unfitted copy that also makes the concepts that knowledge asks for; copies of it do too.

        Args:
            wanted: the predicates to make, and the columns whose concepts have an order.
        """
        made: Booleaniser = clone(self)
        made._wanted = wanted
        return made

    def adding(self, thresholds: Mapping[str, Sequence[Scalar]]) -> Booleaniser:
        """Return an unfitted copy that also cuts columns off the round grid; copies of it do too.

        Args:
            thresholds: for each of these columns, the thresholds to add.
        """
        made: Booleaniser = clone(self)
        made._sharper = dict(thresholds)
        return made

    def without_near_copies(self, columns: Sequence[Column], weight: NDArray[np.float64]) -> Booleaniser:
        """Return an unfitted copy that leaves out columns that say nearly the same as another.

        A column whose conditions knowledge asks for, or for which cuts are given, stays.

        Args:
            columns: the columns, with distinct rows.
            weight: what each row counts for.
        """
        left_out = self._left_out or {}
        usable = [column for column in columns if column.name not in left_out]
        stay = {one.column for one in self._wanted.predicates} | self._wanted.ordered | self._wanted.preferred
        if isinstance(self.cuts, Mapping):
            stay |= set(self.cuts)
        made = self.leaving_out(left_out)
        made._stands_for = near_copies(usable, weight, stay)
        return made

    def leaving_out(self, reasons: Mapping[str, str]) -> Booleaniser:
        """Return an unfitted copy that makes no concepts of some columns; copies of it do neither.

        Args:
            reasons: for each of these columns, why it is left out.
        """
        made: Booleaniser = clone(self)
        made._left_out = dict(reasons)
        return made

    def unusable(self, columns: Sequence[Column], weight: NDArray[np.float64]) -> dict[str, str]:
        """Return the columns that become no concepts whatever the target is, such as identifiers, with the reasons.

        Args:
            columns: the columns, with distinct rows.
            weight: what each row counts for.
        """
        counts = counting_weight(weight)
        tallies = [Tally.of(column, counts) for column in columns]
        self._check_settings(tallies)
        finding = Finding(self.n_cuts, self.max_categories, wanted=self._wanted)
        found = {column.name: finding.unusable(column, _how(self.cuts, column)) for column in tallies}
        return {name: reason for name, reason in found.items() if reason is not None}

    def __sklearn_clone__(self) -> Booleaniser:
        """Return an unfitted copy; what knowledge asks for, what is left out and what is added stay."""
        made = type(self)(**{name: copy.deepcopy(value) for name, value in self.get_params(deep=False).items()})
        for name in ("_wanted", "_left_out", "_sharper", "_stands_for"):
            setattr(made, name, getattr(self, name))
        return made

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Booleaniser:
        """Find the concepts of a table, and return the booleaniser itself.

        Args:
            X: the raw columns, or the name of a file.
            y: the target, which is not used; the name of a column of `X` is left out. Default: None.
            sample_weight: what each row counts for. Default: None, 1 for each.
        """
        if isinstance(X, ConceptTable):
            raise LogicLensError("a ConceptTable holds concepts, which are not cut again: pass the raw columns.")
        self._target = y if isinstance(y, str) else None
        X, y = parted(X, y)
        columns = columns_of(X)
        with sentences_of_sklearn():
            validate_data(self, as_named(X), skip_check_array=True)
        n_rows = len(columns[0])
        if n_rows == 0:
            raise LogicLensError("cuts need several rows that differ, got 0 samples.")
        if y is not None:
            label_array(y, n_rows)
        # A row of weight 2 equals two copies of the row.
        rows = distinct_rows(columns, np.zeros((n_rows, 1), np.intp), checked_weight(sample_weight, n_rows), seed=0)
        parts = [column.take(rows.first) for column in columns]
        self.fit_columns(parts, rows.weight).warn(stacklevel=2)
        return self

    def fit_columns(self, columns: Sequence[Column], weight: NDArray[np.float64]) -> Booleaniser:
        """Find the concepts of columns with distinct rows, and return the booleaniser itself.

        Args:
            columns: the columns.
            weight: what each row counts for.
        """
        if len(weight) < 2:
            raise NoConcepts(f"cuts need several rows that differ, got {len(weight)} sample.")
        counts = counting_weight(weight)
        columns = self.with_parts(columns)
        return self.fit_tallies([Tally.of(column, counts) for column in columns])

    def fitted_within(self, model: BaseEstimator, target: str | None) -> Booleaniser:
        """Return the booleaniser itself, which now takes the tables that the model it was fitted in takes.

        Args:
            model: the model, which knows the columns of its table.
            target: the name of the target, a column that is left out; None if it has none.
        """
        self._target = target if target not in self._columns else None
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        return self

    def is_round(self, column: Column) -> bool:
        """Return whether a column is cut at round numbers.

        Args:
            column: the column.
        """
        how = _how(self.cuts, column)
        return isinstance(how, str) and how == "round"

    def with_parts(self, columns: Sequence[Column]) -> Sequence[Column]:
        """Return columns with those parts of dates that may become concepts, each behind its date.

        Args:
            columns: the columns of the table.
        """
        if any(column.origin is not None for column in columns):
            return columns
        dates = sorted((column for column in columns if column.kind == "date"), key=_start)
        spans = {column.name: _span(column) for column in dates}
        by_name = {column.name: column for column in columns}
        n_rows = len(columns[0]) if columns else 0
        return in_order(columns, [part_column(part, by_name) for part in self.parts(spans, list(by_name), n_rows)])

    def parts(self, spans: Mapping[str, float], columns: Sequence[str], n_rows: int) -> tuple[DatePart, ...]:
        """Return the parts of dates that are looked at.

        Args:
            spans: for each column of dates, from the earliest on, how many days its dates span.
            columns: names of all columns.
            n_rows: the number of rows.
        """
        check_all(CONSTRAINTS, self.get_params(deep=False))
        if not self.date_parts:
            return ()
        named = list(self.cuts) if isinstance(self.cuts, Mapping) else []
        return tuple(
            part
            for part in parts_of_dates(spans, columns)
            if part.name in named
            or (
                n_rows >= PART_ROWS
                and all(isinstance(how := _how(self.cuts, name), str) and how != "soft" for name in part.columns)
            )
        )

    def fit_tallies(self, columns: Sequence[Tally]) -> Booleaniser:
        """Find the concepts of columns from their counts, and return the booleaniser itself.

        Args:
            columns: the counts of each column, which may come from an engine.
        """
        self._check_settings(columns)
        stands_for = self._stands_for or {}
        copies = {name for names in stands_for.values() for name in names}
        left_out = {**(self._left_out or {}), **dict.fromkeys(copies, "it says nearly the same as another")}
        found = Finding(self.n_cuts, self.max_categories, self._sharper or {}, self._wanted, left_out)
        for column in columns:
            found.look_at(column, _how(self.cuts, column))
        if not found.predicates:
            raise NoConcepts(_nothing_left(found.dropped))
        self.cutting_ = found.cutting()
        self._columns = tuple(column.name for column in columns if column.origin is None)
        self.dropped_ = found.dropped
        dropped = {name: reason for name, reason in found.dropped.items() if name not in copies}
        reasons = [f"the column {quoted(name)} is left out: {reason}." for name, reason in dropped.items()]
        alike = [
            f"{quoted(centre)}{STANDS_FOR}{quoted_names(names)}, which would do as well: they say nearly the same."
            for centre, names in stands_for.items()
        ]
        self.notes_ = (*reasons, *found.notes, *alike)
        return self

    def warn(self, stacklevel: int) -> None:
        """Warn about columns that were left out, except those with a single value.

        Args:
            stacklevel: as in `warnings.warn`: 1 blames the line that calls this method.
        """
        if noted := [note for note in self.notes_ if CONSTANT not in note and STANDS_FOR not in note]:
            warn(" ".join(noted), stacklevel=stacklevel + 1)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the concepts of each row: Boolean, or numbers in [0, 1] with `"soft"`. See also `set_output`.

        Args:
            X: a table with the columns of `fit`, or the name of a file.
        """
        check_is_fitted(self)
        X = opened(X, self._columns)
        names = column_names(X)
        if names is None:
            X = checked_matrix(X)
        elif self._target in names:
            # A table that was fitted with its target by name is cut as it is.
            X, _ = parted(X, self._target)
        with sentences_of_sklearn():
            validate_data(self, as_named(X), skip_check_array=True, reset=False)
        columns = columns_of(X, self._columns)
        if not hasattr(self, "feature_names_in_"):
            # Fitted without column names: match by position, as scikit-learn does.
            columns = tuple(replace(column, name=name) for column, name in zip(columns, self._columns, strict=True))
        return self.cutting_.values(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the concepts.

        Args:
            input_features: ignored, for scikit-learn. Default: None.
        """
        check_is_fitted(self)
        return np.array(self.cutting_.names, dtype=object)

    @property
    def predicates_(self) -> Mapping[str, Predicate]:
        """What each concept means on the raw table."""
        check_is_fitted(self)
        return self.cutting_.predicates

    @property
    def groups_(self) -> Groups:
        """Which concepts exclude or imply each other."""
        check_is_fitted(self)
        return self.cutting_.groups

    def _check_settings(self, columns: Sequence[Tally]) -> None:
        check_all(CONSTRAINTS, self.get_params(deep=False))
        if isinstance(self.cuts, Mapping):
            known = [column.name for column in columns]
            for name, how in self.cuts.items():
                if not isinstance(name, str) or name not in known:
                    raise LogicLensError(f"cuts are given for {quoted(name)}, which is not a column of the table.")
                is_list = isinstance(how, list | tuple) or (not isinstance(how, str) and np.ndim(how) == 1)
                if not is_list and not (isinstance(how, str) and how in HOW):
                    raise LogicLensError(
                        f"the cuts of {quoted(name)} must be a list or one of {', '.join(HOW)}, got {quoted(how)}."
                    )
                if wrong := [cut for cut in how if not isinstance(cut, Hashable)]:
                    raise LogicLensError(f"each cut of {quoted(name)} must be a single value, got {quoted(wrong[0])}.")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that missing values and text are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # Concepts are Boolean, whatever the types of the columns.
        tags.transformer_tags.preserves_dtype = []
        return tags


def _nothing_left(dropped: Mapping[str, str]) -> str:
    """Return the message that says why no column is left."""
    others = [(name, reason) for name, reason in dropped.items() if reason != CONSTANT]
    if not others:
        return "every column has one value only on these rows: there is nothing to tell rows apart."
    name, reason = others[0]
    return f"no column is left to tell rows apart: {quoted(name)} is left out, since {reason}; give it cuts of its own."


def _how(cuts: Any, column: str | Column | Tally) -> Any:
    """Return how a column is cut; a part of a date as its date, unless cuts are given for it."""
    if not isinstance(cuts, Mapping):
        return cuts
    name, origin = (column, None) if isinstance(column, str) else (column.name, column.origin)
    return cuts.get(name, "round" if origin is None else cuts.get(origin.subject, "round"))


def _start(column: Column) -> float:
    """Return the earliest date of a column, in seconds; infinity if there is none."""
    return float(np.min(column.numbers[~column.missing], initial=np.inf))


def _span(column: Column) -> float:
    """Return how many days the dates of a column span."""
    seconds = column.numbers[~column.missing]
    return float(seconds.max() - seconds.min()) / 86_400 if len(seconds) else 0.0


Named = TypeVar("Named", bound=Column | Tally)


def in_order(columns: Sequence[Named], parts: Sequence[Named]) -> list[Named]:
    """Return columns with parts of dates, each behind the date that it is about."""
    behind: dict[str, list[Named]] = {}
    for part in parts:
        if part.origin is not None:
            behind.setdefault(part.origin.subject, []).append(part)
    ordered: list[Named] = []
    for column in columns:
        ordered += [column, *behind.get(column.name, ())]
    return ordered
