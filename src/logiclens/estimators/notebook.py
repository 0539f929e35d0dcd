"""How a classifier looks in a notebook: its rules, and plots that leave pyplot alone."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from logiclens.estimators.explaining import Explaining
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.metrics.scores import accuracy
from logiclens.render.figures import plot_history, plot_relevance, require_matplotlib
from logiclens.render.html import model_html, percent

if TYPE_CHECKING:
    from logiclens.render.figures import Axes


class Notebook(Explaining):
    """What Jupyter shows of a classifier, and what it can draw."""

    def plot_relevance(self, target: Any = None, *, axes: Axes | None = None) -> Axes:
        """How much the network leans on each concept, class under class, or for the class `target` only.

        Drawn on `axes`, or on those of a new figure, which are returned; see `Explanation.plot_relevance`.
        """
        require_matplotlib()
        known = self.rules_
        asked = None if target is None else known.rule(target)
        relevance = {
            rule.name: dict(zip(self.schema_.names, shares, strict=True))
            for rule, shares in zip(known.rules, self.relevance_.to_numpy().tolist(), strict=True)
            if asked in (None, rule)
        }
        return plot_relevance(relevance, {rule.name: rule.formula.concepts for rule in known.rules}, axes)

    def plot_history(self, *, axes: Axes | None = None) -> Axes:
        """Loss and accuracy epoch by epoch, with the epoch that was kept; drawn on `axes` or a new figure's."""
        return plot_history(self.history_, axes)

    def plot_pareto(
        self,
        X: Any = None,
        y: Any = None,
        *,
        target: Any = None,
        score: Literal["f1", "accuracy"] = "f1",
        axes: Axes | None = None,
    ) -> Axes:
        """What score each number of literals would buy, with the formulas chosen ringed; see `Explanation.plot_pareto`.

        Scored on the rows `X` and their labels `y`, or, which is flattering, on those that the model was fitted on.
        """
        require_matplotlib()
        if hasattr(self, "table_"):
            return self.explain().plot_pareto(X, y, target=target, score=score, axes=axes)
        return self.explain(X, y).plot_pareto(target=target, score=score, axes=axes)

    def _repr_html_inner(self) -> str:
        """What a notebook shows: scikit-learn's diagram before `fit`, the rules after it."""
        if not hasattr(self, "network_"):
            return str(super()._repr_html_inner())
        with warnings.catch_warnings():
            # Who asks for the rules is warned, then or later: a look keeps nothing.
            warnings.simplefilter("ignore")
            try:
                known = self._rules if hasattr(self, "_rules") else self.explain().rules
                rules: RuleSet | None = known
                facts = _facts(self, known)
            except Exception as error:  # Settings may have been changed since: a look at the model says so.
                rules, facts = None, [f"The rules cannot be shown: {error}"]
        return model_html(type(self).__name__, _changed_settings(self), rules, facts)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same for notebooks, which ask here first; `sklearn.set_config(display="text")` leaves the HTML out."""
        shown = {"text/plain": repr(self)}
        return {**shown, "text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else shown


def _changed_settings(model: Notebook) -> dict[str, Any]:
    """The settings that are not the defaults, told apart as they are printed: an array has no plain `==`."""
    defaults = type(model)().get_params(deep=False)
    given = {
        # A model folder keeps a list where the default is a tuple.
        name: tuple(value) if isinstance(value, list) else value
        for name, value in model.get_params(deep=False).items()
    }
    return {name: value for name, value in given.items() if repr(value) != repr(defaults.get(name))}


def _facts(model: Notebook, rules: RuleSet) -> list[str]:
    """What the rules are to the model, and how often both are right on rows that were set aside."""
    exact = model._is_exact
    facts = [
        "The rules are about the network: explain() says how faithful each is; with exact=True they are the model."
    ]
    if exact:
        facts = ["The rules are the model: on every possible row the network equals its formulas, as certified."]
    if model.set_aside_ is not None:
        table = model.set_aside_.table
        truth = np.asarray(table.labels) if table.is_multilabel else model.classes_[np.asarray(table.labels)]
        told = f"accuracy {percent(model.score(table, truth, table.weight))}"
        if not exact:
            by_rules = accuracy(truth, rules.predict(PackedRows.of(table.boolean(), table.names)), table.weight)
            told = f"{told}, of the rules alone {percent(by_rules)}"
        facts.append(f"On the {table.n_counted:,} rows set aside before training: {told}.")
    return facts
