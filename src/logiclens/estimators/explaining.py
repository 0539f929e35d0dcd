"""How a fitted classifier explains itself: formulas, rules, single rows, statistics, what recurs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, LogicLensWarning
from logiclens.estimators.fitted import Fitted, NotFittedError
from logiclens.estimators.inputs import seed_of
from logiclens.estimators.statistics import statistics_of
from logiclens.estimators.teacher import teacher_name
from logiclens.estimators.training import resampled_formulas, stated_formulas
from logiclens.explain.certified import explain_exact
from logiclens.explain.classwise import explain_all, explain_learned
from logiclens.explain.extract import Answer, Reading, read
from logiclens.explain.local import LocalExplanation, explain_rows
from logiclens.explain.result import Explanation
from logiclens.explain.stability import Cut, Stability, cuts_of, known_recurrence, selection_frequencies
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.why import Why
from logiclens.metrics.rule_statistics import RuleStatistics
from logiclens.train.committee import Committee


class Explaining(Fitted):
    """The questions that a fitted classifier answers about itself."""

    @property
    def rules_(self) -> RuleSet:
        """The formulas of all classes with what their concepts mean: they predict from a raw table, without a network.

        With `exact` these are the model; else they are about it.
        """
        self._check_fitted()
        self._check_method()
        if not hasattr(self, "_rules"):
            # Read off the network once; the next call finds them.
            self._rules = self.explain().rules
        return self._rules

    @property
    def relevance_(self) -> pd.DataFrame:
        """How much each class leans on each concept: 1 for what it leans on most, one row for each class.

        Of a committee the mean of its members, with `exact` too: the compiled network leans alike on all concepts of
        its formula. A loaded exact model has the compiled network alone.
        """
        self._check_fitted()
        network = self.soft_network_ if hasattr(self, "soft_network_") else self.network_
        leans = network.relevance() if isinstance(network, Committee) else network.entropy.relevance()
        relevance = leans.detach().double().numpy()
        return pd.DataFrame(relevance, index=list(self.schema_.class_names), columns=list(self.schema_.names))

    def explain(
        self, X: Any = None, y: Any = None, *, exclusive: bool = True, stability: int | None = None
    ) -> Explanation:
        """The formula of each class, and how it stands on the training rows, or on other rows.

        With `method="paper"` formulas are read off the network's answers on these rows; the labels `y` of other rows
        are then needed with `score_against="labels"` only. With `exclusive=False` formulas spell out exclusive groups,
        such as the categories of a column, instead of relying on them.

        The explanation says how often each concept and cube is found on the bags of the committee; with `stability`,
        on so many resamples of the rows instead.
        """
        self._check_fitted()
        if X is None and not hasattr(self, "table_"):
            raise LogicLensError("a loaded model keeps no rows: pass the rows to explain, explain(rows).")
        self._check_method()
        table = self.table_ if X is None else self._table(X, y)
        if self._is_exact:
            if not exclusive:
                raise LogicLensError("the formulas of an exact model are certified as they are: leave out exclusive.")
            return self._resampled(self._explain_exact(table), stability)
        if self.method != "paper":
            return self._resampled(self._learned_explanation(table, exclusive), stability)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LogicLensWarning)
            explanation = explain_all(
                self.network_,
                table,
                method="paper",
                score_against=self.score_against or "network",
                answer=self._answer,
                exclusive=exclusive,
            )
        for warning in caught:
            # At the caller's line, not at this one.
            warnings.warn(warning.message, stacklevel=2)
        return self._resampled(self._labelled(explanation, notes=self._notes), stability)

    def _check_method(self) -> None:
        if hasattr(self, "table_") and hasattr(self, "learned_") != (self.method != "paper"):
            raise NotFittedError("method was changed after the model was fitted: call fit(X, y) again.")

    def _learned_explanation(self, table: ConceptTable, exclusive: bool = True) -> Explanation:
        """The formulas that were searched, on some rows; of a loaded model those of its rules."""
        if hasattr(self, "learned_"):
            formulas, choices = self.learned_.formulas, self.learned_.choices
        else:
            formulas, choices = self._rules.formulas, ()
        answer: Answer = "threshold" if self.schema_.multilabel else "argmax"
        explanation = explain_learned(self.network_, table, formulas, choices, answer=answer, exclusive=exclusive)
        notes, known = (*self._notes, *table.group_warnings()), getattr(self, "_rules", None)
        explanation = self._labelled(explanation, notes=notes, stability=self._on_bags())
        if known is None or exclusive:
            return replace(explanation, model_rules=known)
        # Formulas that are spelled out mean the same, so who decides stays the same.
        return replace(explanation, order=known.order, otherwise=known.otherwise)

    def _on_bags(self) -> Stability | None:
        """What recurs on the bags of the committee; of a loaded model what its rules know of it."""
        if not hasattr(self, "learned_"):
            return known_recurrence(self._rules) if hasattr(self, "_rules") else None
        names, choices = self.schema_.class_names, self.learned_.choices
        if not choices or not choices[0].bags:
            return None
        bags = zip(*(choice.bags for choice in choices), strict=True)
        runs = [stated_formulas(choices, cubes, len(names)) for cubes in bags]
        return selection_frequencies(names, runs, chosen=self.learned_.formulas, drawn="bags", cuts=self._cuts)

    @property
    def _cuts(self) -> dict[str, Cut]:
        return cuts_of(self.schema_.literals or self.schema_.names, self.schema_.predicates)

    def _resampled(self, explanation: Explanation, n_resamples: int | None) -> Explanation:
        """An explanation that says what recurs on resamples in place of bags, where resamples are asked for."""
        if n_resamples is None:
            return explanation
        names, choices = self.schema_.class_names, self.learned_.choices if hasattr(self, "learned_") else ()
        # Formulas that are spelled out hold cubes that were never searched.
        chosen = self.learned_.formulas if choices else explanation.formulas
        if not isinstance(n_resamples, Integral) or isinstance(n_resamples, bool) or n_resamples < 2:
            raise LogicLensError(f"stability must be a number of resamples from 2 on, got {n_resamples!r}.")
        if not hasattr(self, "table_"):
            raise LogicLensError("a loaded model keeps no rows to draw again: fit it first.")
        if self.teacher is not None:
            raise LogicLensError("resamples have no answers of a teacher: leave out stability, the bags tell as much.")
        seed = seed_of(self.random_state)
        runs = list(resampled_formulas(self, self.classes_, self.table_, int(n_resamples), seed, choices))
        found = selection_frequencies(names, runs, chosen=chosen, cuts=self._cuts)
        # The rules keep what they know of the bags.
        return replace(explanation, model_rules=explanation.rules, stability=found)

    def statistics(
        self, X: Any = None, y: Any = None, *, by: Any = None, per_file: bool = False, sample_weight: Any = None
    ) -> RuleStatistics:
        """Support, coverage, confidence and lift of every rule, with intervals, on rows that chose nothing.

        These are the rows given, which must not be among those that the model was fitted on, or else the rows that
        `set_aside` kept from training. `by` is a column: its name, or one value for each row given (to `fit`, for rows
        set aside), which may be a column that the model does not know. The same is told for each value of it.

        For a table in an engine `y` is the name of its target, and dates are told apart by month. With `per_file` the
        same is told for each file of a folder or a pattern: `statistics("lake/2027/*.parquet", "churned",
        per_file=True)`.
        """
        return statistics_of(self, X, y, by=by, per_file=per_file, sample_weight=sample_weight)

    def _explain_exact(self, table: ConceptTable) -> Explanation:
        choices = self.learned_.choices if hasattr(self, "learned_") else ()
        if isinstance(self.network_, Committee):
            raise LogicLensError("a committee is not exact: fit the model again with exact=True.")
        explanation = explain_exact(self.network_, self.certificate_, table, choices=choices)
        notes = [f"{head.name}: {head.note}" for head in self.certificate_.heads if head.note]
        if not hasattr(self, "soft_network_"):
            notes.append("a model folder does not keep the soft network: gap() starts from the exact one.")
        # A compiled head is its formula on every row; a trained one, of an older folder, where the groups hold.
        beyond = "" if all(head.is_compiled for head in self.certificate_.heads) else " The certificate omits them."
        notes += [f"{sentence}{beyond}" for sentence in table.group_warnings()]
        return self._labelled(
            explanation,
            notes=(*self._notes, *notes),
            soft_agreement=self.soft_agreement(table),
            model_rules=self._rules,
            soft_network=getattr(self, "soft_network_", None),
            stability=self._on_bags(),
        )

    def soft_agreement(self, rows: Any) -> float | None:
        """The share of rows on which the rules predict what the soft network did; None where that is not kept."""
        if not self._is_exact or not hasattr(self, "soft_network_"):
            return None
        table = rows if isinstance(rows, ConceptTable) else self._table(rows)
        reading = read(self.soft_network_, table, "threshold" if self.schema_.multilabel else "argmax")
        return self._agreement(self._rules, PackedRows.of(table.boolean(), table.names), reading)

    def _agreement(self, rules: RuleSet, packed: PackedRows, reading: Reading) -> float:
        """The share of rows on which rules decide as the committee does."""
        if self.schema_.multilabel:
            agree = (reading.yes == rules.fires(packed)).mean(axis=1)
        else:
            agree = rules.predict_places(packed) == reading.logits.argmax(axis=1)
        return float(np.average(agree, weights=reading.table.weight))

    def explain_local(
        self, X: Any, explanation: Explanation | None = None, *, target: str | int | None = None
    ) -> tuple[LocalExplanation, ...]:
        """For each row the concepts that made its class, reduced to a shortest reason in the class formula.

        The class is the predicted one, or `target` ("why not ICU?"). The formulas are those of `explain()`, or of
        an explanation that is already at hand. A single row may be a Series.
        """
        if getattr(X, "ndim", 2) == 1 and hasattr(X, "to_frame"):
            # A Series of one row has one type for all columns; each finds its own again.
            X = X.to_frame().T.infer_objects()
        reading = self.read(X)
        known = explanation or (self.explain() if hasattr(self, "table_") else self.explain(X))
        if not self._is_exact or self.schema_.multilabel:
            return explain_rows(reading, target=target, explanation=known)
        packed = PackedRows.of(reading.bits, reading.table.names)
        local = explain_rows(reading, target=target, explanation=known, probability=self._rules.confidence(packed))
        if target is not None:
            return local
        fired = self._rules.fires(packed).sum(axis=1)
        return tuple(replace(row, by_default=bool(n == 0)) for row, n in zip(local, fired, strict=True))

    def why(self, row: Any) -> Why:
        """Which rule decides on one raw row, which fire, and what each other one lacks: the reason codes.

        `row` is a dictionary from column to value, a Series, or a table with one row. With `exact` the rules are the
        model; else they are about it, and `explain_local` tells what the network itself leaned on.
        """
        return self.rules_.why(row)

    def _labelled(self, explanation: Explanation, **more: Any) -> Explanation:
        """An explanation that knows the labels and what the concepts mean."""
        return replace(
            explanation,
            labels=() if self.schema_.multilabel else tuple(self.classes_.tolist()),
            predicates=self.schema_.predicates,
            resolve=self._rules.resolve if hasattr(self, "_rules") else self.resolve,
            **more,
        )

    @property
    def _notes(self) -> tuple[str, ...]:
        # A loaded model was not trained here.
        notes = list(self.train_result_.notes) if hasattr(self, "train_result_") else []
        choices, names = self.learned_.choices if hasattr(self, "learned_") else (), self.schema_.class_names
        notes += [f"{names[choice.klass]}: {choice.note}" for choice in choices if choice.note]
        if hasattr(self, "teacher_fidelity_"):
            shares = self.teacher_fidelity_
            rows = "the rows set aside" if "set_aside" in shares else "the training rows"
            share = shares.get("set_aside", shares["train"])
            notes.append(
                f"the rules explain {teacher_name(self.teacher)}: they decide as it does on {share:.1%} of {rows}."
            )
        return tuple(notes)
