"""A saved model for the commands: its rules, and its network if that decides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from logiclens.cli.tables import check_columns, check_finite
from logiclens.errors import LogicLensError, quoted, quoted_names
from logiclens.formula.column_kinds import CATEGORY, KINDS, NUMBER, TRUTH_VALUE, ColumnKind, kind_of_dtype
from logiclens.formula.dnf import DNF, Cube
from logiclens.formula.english import cube_words
from logiclens.formula.model_record import read_record
from logiclens.formula.packed_rows import PackedRows, equals
from logiclens.formula.rule_set import RuleSet
from logiclens.report.result import GapCount, read_result
from logiclens.storage import RESULT, open_folder
from logiclens.tables.columns import text_of


class KindChanged(LogicLensError):
    """A column holds values of another kind than in training."""

    def __init__(self, column: str, message: str) -> None:
        """Take the column and the message."""
        super().__init__(message)
        self.column = column


class SavedModel:
    """A model folder. Loads torch and scikit-learn only if a network decides."""

    def __init__(self, folder: Path, *, by_rules: bool = False) -> None:
        """Check the folder. The network is loaded on first use, after the table was checked."""
        # Read once, so that rules and network are of one model even if another one takes its place.
        self.folder, self._opened = folder, open_folder(folder)
        model = read_record(self._opened)
        if model.rules is None:
            raise LogicLensError(f"{folder} holds no rules.")
        self.rules = RuleSet.from_dict(self._opened.content["rules"])
        self.target, self.target_cuts = model.target, model.cuts_of_target
        self.exact = model.exact
        self.kinds: Mapping[str, str] = {} if model.cutting is None else model.cutting.kinds
        # Text columns some of whose categories look like numbers.
        self.coded = {
            meant.column
            for meant in model.predicates.values()
            if isinstance(meant.value, str) and meant.operator == "==" and _is_number(meant.value)
        }
        self.has_network = not (self.exact or by_rules)
        # Rules need only the columns they use.
        self.columns = model.needed_columns if self.has_network else self.rules.columns
        # All columns of training, whether or not a rule uses them.
        self.known_columns = tuple(dict.fromkeys((*(model.columns or model.concepts), *self.rules.columns)))

    @cached_property
    def network(self) -> Any:
        """The classifier, with its network."""
        from logiclens.estimator.classifier import EntropyClassifier

        return EntropyClassifier.load(self._opened)

    @cached_property
    def gaps(self) -> Mapping[Cube, tuple[GapCount, ...]]:
        """For each rule, its conditions that a missing value satisfies too, on the held-out rows if there were any."""
        if RESULT not in self._opened.files:
            return {}
        result = read_result(self._opened.result())
        each = zip(result.rules.rules, result.classes, strict=True)
        return {cube: own for rule, entry in each for cube, own in zip(rule.cubes, entry.gaps, strict=False)}

    @property
    def training_sha256(self) -> str | None:
        """The hash of the file that the model was made from; None if the folder does not know it."""
        return read_result(self._opened.result()).data.sha256 if RESULT in self._opened.files else None

    def rows(self, frame: pd.DataFrame, name: str) -> pd.DataFrame:
        """Return the columns that the model uses, each with the kind that it had in training."""
        check_columns(frame, self.columns, name, ", which the model needs")
        rows = frame[list(self.columns)].copy()
        for column in self.columns:
            if column in self.coded and is_numeric_dtype(rows[column]) and not is_bool_dtype(rows[column]):
                # A small file may contain only those categories that look like numbers.
                texts = [None if pd.isna(value) else text_of(value) for value in rows[column]]
                rows[column] = pd.Series(texts, index=rows.index, dtype=object)
            check_kind(rows[column], self.kinds.get(column))
        check_finite(rows)
        return rows

    def predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        """Return the class of each row; for several labels a 0/1 matrix."""
        found = self.network.predict(rows) if self.has_network else self.rules.predict(rows)
        return np.asarray(found)

    def probability(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """Return how far to trust each answer: the network's probability, or the confidence of the deciding rule."""
        if self.has_network:
            return np.asarray(self.network.predict_proba(rows).max(axis=1))
        return np.asarray(self.rules.confidence(rows).max(axis=1))

    def reasons(self, rows: pd.DataFrame, answers: NDArray[Any]) -> list[str]:
        """Return for each row the rule that decides its class, in words, and whether the network decides otherwise."""
        rules, packed = self.rules, self.rules.pack(rows)
        by_rules = rules.predict(packed)
        reasons = self._rule_words(packed, by_rules)
        for place, (network, said) in enumerate(zip(answers.tolist(), by_rules.tolist(), strict=True)):
            if network != said:
                theirs = "do not decide" if said is None else f"say {rules.class_heading(said)}"
                reasons[place] = (
                    f"the network decides {rules.class_heading(network)}, but the rules {theirs}: {reasons[place]}"
                )
        return [str(reason) for reason in reasons]

    def _rule_words(self, packed: PackedRows, answers: NDArray[Any]) -> NDArray[Any]:
        """Return for each row the rule by which the rules give their answer."""
        rules = self.rules
        several = rules.fires(packed).any(axis=1)
        reasons = np.where(several, "rules of several classes fire", "no rule fires").astype(object)
        for rule in rules.rules:
            if rule.is_complement:
                left = rule.formula.evaluate(packed) & equals(answers, rule.label)
                reasons[left] = "otherwise: no rule of the other class fires"
        if rules.resolve != "none" and rules.otherwise is not None and not rules.rules[rules.otherwise].is_complement:
            silent = ~rules.fires(packed).any(axis=1) & equals(answers, rules.rules[rules.otherwise].label)
            reasons[silent] = "otherwise: no rule fires"
        for place, cube in reversed(rules.turns):
            fires = DNF([cube]).evaluate(packed) & equals(answers, rules.rules[place].label)
            reasons[fires] = cube_words(cube, rules.predicates, rules.facts)
        return reasons

    def labels(self, column: pd.Series) -> NDArray[Any]:
        """Return a target as labels of the rules. The index of the column counts the rows of the file from 0."""
        return np.array([self.label(value, f" in row {int(str(row)) + 1}") for row, value in column.items()], object)

    def label(self, value: Any, where: str = "") -> Any:
        """Return the label of a value of the target."""
        labels, text = self._labels, text_of(value)
        if self.target_cuts is not None and text not in labels:
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                known = quoted_names(list(labels))
                raise LogicLensError(f"the target{where} is {quoted(text)}, neither a number nor one of {known}.")
            return self.target_cuts.labels([float(value)]).tolist()[0]
        if text not in labels:
            known = quoted_names(list(labels))
            raise LogicLensError(f"the class {quoted(text)}{where} is not one of the model's: {known}.")
        return labels[text]

    @cached_property
    def _labels(self) -> dict[str, Any]:
        """Return the labels of the rules by their printed form."""
        return {text_of(rule.label): rule.label for rule in self.rules.rules}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_kind(column: pd.Series, kind: str | None) -> None:
    """Refuse a column whose values have another kind than in training: its rules would silently never fire."""
    known = column[column.notna()]
    if kind is None or known.empty:
        return
    before, now = KINDS[kind], _kind(known)
    if before is now or now.name in before.accepts or (before.reads_text and now is CATEGORY):
        return
    hint, first = "", known.index[0]
    if now is CATEGORY and before is NUMBER:
        # Most cells may be numbers: name one that is not.
        first = known.index[int(pd.to_numeric(known, errors="coerce").isna().to_numpy().argmax())]
        hint = f": mend it, or say --missing {quoted(known[first])} if that means there is no value"
    raise KindChanged(
        str(column.name),
        f"the column {quoted(column.name)} held {before.plural} in training and holds {now.plural} now "
        f"({quoted(text_of(known[first]))} in row {int(str(first)) + 1}){hint}.",
    )


def _kind(known: pd.Series) -> ColumnKind:
    """Return the kind of the values of a column without missing values."""
    if all(isinstance(value, bool) for value in known.unique()):
        return TRUTH_VALUE
    return kind_of_dtype(known.dtype.kind) or CATEGORY
