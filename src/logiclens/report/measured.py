"""What was measured on the rows that were set aside: numbers, doubts, and the rows themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.estimators.classifier import EntropyClassifier
from logiclens.estimators.prepared import SetAside
from logiclens.explain.result import ClassExplanation, Explanation
from logiclens.explain.search import best_literal
from logiclens.formula.dnf import DNF
from logiclens.formula.english import english, literal_words
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.metrics.rule_statistics import RuleStatistics, Share, confusion, count_decided, known
from logiclens.metrics.scores import explanation_accuracy
from logiclens.nn.functional import THRESHOLD

MOST_ROWS = 1_000
"""How many of the rows that were set aside a result holds."""
TELLTALE = 0.97
"""A single condition that is right this often may be the outcome under another name."""


@dataclass(frozen=True)
class Source:
    """Where the rows come from.

    Attributes:
        name: of the file.
        rows: how many it has.
        columns: how many, without the target.
        target: the column that is predicted.
        sha256: of the bytes of the file.
        command: that makes this result again.
        row_numbers: of each row in the file, where they are not 1, 2, 3, ….
    """

    name: str
    rows: int
    columns: int
    target: str
    sha256: str | None = None
    command: str | None = None
    row_numbers: NDArray[np.int64] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured on the rows that were set aside."""

    model: EntropyClassifier
    explanation: Explanation
    source: Source
    rules: RuleSet
    aside: SetAside
    truth: NDArray[np.bool_]
    statistics: RuleStatistics

    @property
    def weight(self) -> NDArray[np.float64]:
        """How much each row counts."""
        return self.aside.table.weight

    @property
    def gaps(self) -> frozenset[str]:
        """The columns that had missing values in training; of others that need not be said."""
        meant = self.model.schema_.predicates.values()
        return frozenset(predicate.column for predicate in meant if predicate.operator == "missing")

    def klass(self, explained: ClassExplanation) -> dict[str, Any]:
        """One class: its formula in words and symbols, how true it is, and what the network leans on."""
        head, table = explained.head, self.aside.table
        decision = self.statistics[explained.name].decision
        simplest = best_literal(self.model.table_, head)
        alone = simplest | DNF.false
        certificate = explained.certificate
        used = explained.formula.concepts
        return {
            "name": explained.name,
            "formula": str(explained).splitlines()[0],
            "english": english(
                explained.formula,
                self.rules.predicates,
                head=explained.name,
                subject=self.source.target,
                gaps=self.gaps,
            ),
            "fidelity": explained.fidelity,
            "equals_network": explained.equals_network,
            "certified": None
            if certificate is None
            else {
                "domain": str(certificate.domain),
                "smallest_logit": certificate.smallest_logit,
                "rounding_bound": certificate.rounding_bound,
                "refit": certificate.refit is not None,
                "origin": certificate.origin,
                "agreement": certificate.agreement,
            },
            "reason": explained.reason,
            "remedy": explained.remedy,
            "precision": decision.precision.to_dict(),
            "recall": decision.recall.to_dict(),
            "f1": known(decision.f1),
            "simplest": {
                "text": literal_words(simplest, self.model.schema_.predicates, self.gaps),
                "f1": self._f1_alone(alone.evaluate(table.boolean(), table.names), head),
            },
            "relevance": [
                {"concept": concept, "relevance": share, "used": concept in used}
                for concept, share in self._relevance(explained).items()
            ],
        }

    def _relevance(self, explained: ClassExplanation) -> Mapping[str, float]:
        """What the committee leans on: in a head that is compiled from a formula all of its concepts have 1."""
        if not self.model.exact:
            return explained.relevance
        leans = self.model.relevance_.to_numpy()[explained.head]
        table, used = self.model.table_, explained.formula.concepts
        shown = (leans >= THRESHOLD) & table.is_literal | np.isin(table.names, used)
        return {table.names[j]: float(leans[j]) for j in np.argsort(-leans, kind="stable") if shown[j]}

    def _f1_alone(self, fires: NDArray[np.bool_], head: int) -> float:
        """F1 of a class where one condition alone decides for it; 0 where nothing has the class or gets it."""
        return known(count_decided(fires, self.truth[:, head], self.weight)[0].f1) or 0.0

    def metrics(self) -> list[dict[str, Any]]:
        """Accuracy of the model and of the rules, and how true and how long the formulas are."""
        table, reading = self.aside.table, self.model.read(self.aside.table)
        formulas = self.explanation.formulas
        predicted = self.model.predict(table)
        labels = np.asarray(table.labels) if table.is_multilabel else self.model.classes_[np.asarray(table.labels)]
        by_rules = self.rules.predict(PackedRows.of(table.boolean(), table.names))
        own = np.stack([f.evaluate(table.boolean(), table.names) for f in formulas], axis=1)
        lines = [_share("model accuracy", _right(predicted, labels), self.weight), *self.always()]
        if not self.model.exact:
            lines.append(_share("accuracy of the rules", _right(by_rules, labels), self.weight))
            agree = (own == reading.yes).mean(axis=1)
            lines.append(_plain("fidelity, by firing", 100 * float(np.average(agree, weights=self.weight)), "%"))
        f1 = explanation_accuracy(own, self.truth.astype(np.float64), self.weight)
        lines.append(_plain("macro-F1 of the rules' decision", 100 * self.statistics.macro_f1, "%"))
        lines.append(_plain("explanation accuracy, by firing", 100 * f1, "%"))
        literals = float(np.mean([formula.n_literals for formula in formulas]))
        lines.append(_plain("complexity", literals, "literals per class"))
        return lines

    def always(self) -> list[dict[str, Any]]:
        """What giving every row the most frequent class of the rows that trained would score."""
        if self.aside.table.is_multilabel:
            return []
        trained, names = self.model.table_, self.aside.table.class_names
        most = int(np.argmax(np.bincount(np.asarray(trained.labels), trained.weight, minlength=len(names))))
        right = np.asarray(self.aside.table.labels) == most
        return [_share(f"for comparison: always {names[most]!r}", right, self.weight)]

    def warnings(self) -> list[str]:
        """What should make a reader doubt the data."""
        table, said = self.aside.table, []
        if not table.is_multilabel:
            for head in range(len(table.class_names)):
                literal = best_literal(self.model.table_, head)
                fires = (literal | DNF.false).evaluate(table.boolean(), table.names)
                share = float(np.average(fires == self.truth[:, head], weights=self.weight))
                least = float(np.average(self.truth[:, head], weights=self.weight))
                if share >= TELLTALE and max(least, 1 - least) < TELLTALE - 0.05:
                    words = literal_words(literal, self.model.schema_.predicates, self.gaps)
                    said.append(
                        f"one condition alone, {words}, tells {table.class_names[head]!r} in {share:.1%} of the rows: "
                        "was it known before the outcome, or is it the outcome under another name?"
                    )
                    break
        return said

    def confusion(self) -> dict[str, Any] | None:
        """Which class the model gave to rows of which class."""
        if self.model.exact or self.aside.table.is_multilabel:
            return self.confusion_of_rules()
        table = self.aside.table
        places = self.model.read(table).logits.argmax(axis=1)
        return confusion(table.class_names, np.asarray(table.labels), places, self.weight, "the network")

    def confusion_of_rules(self) -> dict[str, Any] | None:
        """Which class the rules gave to rows of which class."""
        table = self.aside.table
        if table.is_multilabel:
            return None
        places = self.rules.predict_places(PackedRows.of(table.boolean(), table.names))
        return confusion(table.class_names, np.asarray(table.labels), places, self.weight, "the rules")

    def rows(self, packed: PackedRows) -> dict[str, Any]:
        """The first rows in the order of the file, each with what was said of it; a copy is a row of its own."""
        table, copies = self.aside.table, self.aside.copies
        order = np.argsort(copies.places, kind="stable")[:MOST_ROWS]
        numbers = self.source.row_numbers
        used = [table.names.index(concept) for concept in self.rules.concepts]
        bits, labels = table.boolean()[:, used], np.asarray(table.labels)
        by_rules = self.rules.predict(packed)
        network = None if self.model.exact else self.model.predict(table)
        names, shown = table.class_names, []
        for place, row in zip(copies.places[order].tolist(), copies.rows[order].tolist(), strict=True):
            shown.append(
                {
                    "row": place + 1 if numbers is None else int(numbers[place]),
                    "label": _label(labels[row], names),
                    "network": None if network is None else _said(network[row], names),
                    "rules": _said(by_rules[row], names),
                    "bits": "".join("1" if bit else "0" for bit in bits[row]),
                }
            )
        return {"rows": shown, "rows_shown": len(shown), "rows_total": len(copies.places)}


def _right(predicted: NDArray[Any], known: NDArray[Any]) -> NDArray[np.bool_]:
    right: NDArray[np.bool_] = np.equal(predicted, known).reshape(len(known), -1).all(axis=1)
    return right


def _share(name: str, right: NDArray[np.bool_], weight: NDArray[np.float64]) -> dict[str, Any]:
    share = Share(float(weight[right].sum()), float(weight.sum()))
    return {"name": name, "value": 100 * share.value, "low": 100 * share.low, "high": 100 * share.high, "unit": "%"}


def _plain(name: str, value: float, unit: str) -> dict[str, Any]:
    return {"name": name, "value": value, "low": None, "high": None, "unit": unit}


def _label(label: Any, names: tuple[str, ...]) -> str:
    """The class of a row, or all of them."""
    if np.ndim(label) == 0:
        return names[int(label)]
    return _listed(label, names)


def _said(answer: Any, names: tuple[str, ...]) -> str:
    if np.ndim(answer):
        return _listed(answer, names)
    return "undecided" if answer is None else str(answer)


def _listed(flags: Any, names: tuple[str, ...]) -> str:
    return ", ".join(name for name, flag in zip(names, flags, strict=True) if flag) or "none"
