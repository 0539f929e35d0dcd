"""`logiclens predict` and `logiclens score`: a saved model on a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.console import Console

from logiclens.cli.output import check_writable, write_json
from logiclens.cli.tables import check_columns
from logiclens.data.files import read_table, write_table
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import DNF
from logiclens.formula.english import literal_words
from logiclens.formula.folder import open_model
from logiclens.formula.record import from_dict
from logiclens.formula.ruleset import RuleSet
from logiclens.metrics.rules import Share
from logiclens.metrics.scores import macro_f1
from logiclens.metrics.statistics import RuleStatistics, rule_statistics


class SavedModel:
    """A model folder: its rules and, where these are not the model, its network."""

    def __init__(self, folder: Path, *, by_rules: bool = False) -> None:
        """Check the folder; the network is loaded only if it decides."""
        self.folder, content = folder, open_model(folder)
        self.rules: RuleSet = from_dict(content["rules"])
        self.target: str | None = content.get("target")
        self.columns: tuple[str, ...] = tuple(content.get("columns") or self.rules.columns)
        self.exact = bool(content["exact"])
        self.network: Any = None
        if not (self.exact or by_rules):
            from logiclens.estimators.classifier import EntropyClassifier

            self.network = EntropyClassifier.load(folder)
            self.columns = tuple(self.network.feature_names_in_)
        else:
            # Rules ask only for what they use.
            self.columns = self.rules.columns

    def rows(self, frame: pd.DataFrame, name: str) -> pd.DataFrame:
        """The columns that the model looks at."""
        check_columns(frame, self.columns, name)
        return frame[list(self.columns)]

    def predict(self, rows: pd.DataFrame) -> NDArray[Any]:
        """The class of each row; for several labels a 0/1 matrix."""
        found = self.rules.predict(rows) if self.network is None else self.network.predict(rows)
        return np.asarray(found)

    def probability(self, rows: pd.DataFrame) -> NDArray[np.float64]:
        """How far each answer can be trusted: the network's probability, or the confidence of the rule that decides."""
        if self.network is not None:
            return np.asarray(self.network.predict_proba(rows).max(axis=1))
        return np.asarray(self.rules.confidence(rows).max(axis=1))

    def reasons(self, rows: pd.DataFrame) -> list[str]:
        """For each row the rule of its class that fires and can be trusted most, in words."""
        rules, packed = self.rules, self.rules.pack(rows)
        answers = self.predict(rows)
        reasons = np.full(packed.n_rows, "no rule of this class fires", dtype=object)
        for line in reversed(rules.decisions):
            fires = DNF([line.cube]).evaluate(packed) & (answers == rules.rules[line.rule].label)
            words = " and ".join(literal_words(literal, rules.predicates) for literal in line.cube)
            reasons[fires] = words or "always"
        return [str(reason) for reason in reasons]


def predict_table(
    console: Console, folder: Path, source: str, *, why: bool, by_rules: bool, out: str | None, json: str | None
) -> None:
    """Write the class of each row, with the rule behind it where that was asked for."""
    check_writable(out)
    check_writable(json)
    model = SavedModel(folder, by_rules=by_rules)
    if why and model.rules.multilabel:
        raise LogicLensError("reasons are told for one class a row; this model gives several labels.")
    file = read_table(source)
    rows = model.rows(file.frame, file.name)
    answers = model.predict(rows)
    name = model.target or "class"
    if answers.ndim == 2:
        table = pd.DataFrame(answers, columns=[f"predicted {label}" for label in model.rules.names])
    else:
        table = pd.DataFrame({f"predicted {name}": answers, "confidence": model.probability(rows).round(4)})
    if why:
        table["why"] = model.reasons(rows)
    table.insert(0, "row", np.arange(1, len(table) + 1))
    if out is not None:
        write_table(table, out)
        console.print(f"{len(table):,} rows are in {out}.")
    write_json({"model": str(folder), "data": file.name, "rows": table.astype(object).to_dict("records")}, json)
    if out is None and json is None:
        print(table.to_csv(index=False), end="")


def score_table(
    console: Console, folder: Path, source: str, *, target: str | None, by: str | None, json: str | None
) -> None:
    """How good a saved model and its rules are on a table with known classes."""
    check_writable(json)
    model = SavedModel(folder)
    wanted = target or model.target
    if wanted is None:
        raise LogicLensError("the model does not know the name of its target: say --target COLUMN.")
    file = read_table(source)
    check_columns(file.frame, [wanted, *([] if by is None else [by])], file.name)
    labelled = file.frame[file.frame[wanted].notna()]
    rows = model.rows(labelled, file.name)
    labels = _labels(labelled[wanted], model.rules)
    answers, by_rules = model.predict(rows), model.rules.predict(rows)
    source_words = f"{len(rows):,} rows of {file.name}"
    counted = rule_statistics(
        model.rules, rows, labels, by=None if by is None else labelled[by].to_numpy(), by_name=by, source=source_words
    )
    _print_score(console, model, labels, answers, by_rules, counted)
    shares = {
        "accuracy": _right(answers, labels).to_dict(),
        "accuracy_of_the_rules": _right(by_rules, labels).to_dict(),
    }
    f1 = {rule.name: macro_f1(labels == rule.label, fires) for rule, fires in _fires(model.rules, rows)}
    content = {"model": str(folder), "data": file.name, "sha256": file.sha256, **shares, "f1": f1}
    write_json({**content, "statistics": counted.to_dict()}, json)


def _print_score(
    console: Console,
    model: SavedModel,
    labels: NDArray[Any],
    answers: NDArray[Any],
    by_rules: NDArray[Any],
    counted: RuleStatistics,
) -> None:
    console.print(f"accuracy of the model    {_right(answers, labels)}")
    if not model.exact:
        console.print(f"accuracy of the rules    {_right(by_rules, labels)}")
        console.print(f"rules and network agree  {_right(by_rules, answers)}")
    console.print(f"\n{counted}")


def _fires(rules: RuleSet, rows: pd.DataFrame) -> list[tuple[Any, NDArray[np.bool_]]]:
    fires = rules.fires(rows)
    return [(rule, fires[:, place]) for place, rule in enumerate(rules.rules)]


def _right(answers: NDArray[Any], labels: NDArray[Any]) -> Share:
    return Share(float((answers == labels).sum()), float(len(labels)))


def _labels(column: pd.Series, rules: RuleSet) -> NDArray[Any]:
    """The target as the labels of the rules; with one class against the rest, everything else is the rest."""
    place = {rule.name: rule.label for rule in rules.rules}
    for rule in rules.rules:
        if isinstance(rule.label, float) and rule.label.is_integer():
            place[str(int(rule.label))] = rule.label
    rest = [name for name in place if name.startswith("not ") and name.removeprefix("not ") in place]
    found = []
    for row, value in enumerate(column.tolist(), start=1):
        whole = isinstance(value, float) and value.is_integer()
        text = str(int(value)) if whole and str(value) not in place else str(value)
        if text not in place and not rest:
            known = ", ".join(repr(name) for name in rules.names[:8])
            raise LogicLensError(f"the class {text!r} in row {row} is not one of the model's: {known}.")
        found.append(place.get(text, place[rest[0]] if rest else None))
    return np.array(found, dtype=object)
