"""The result of an explanation as plain data: what a terminal, a page and a program are told, from one place.

It is kept as `result.json` beside the model. Of the rows that were set aside it holds, for at most a thousand, the
number, the label and which of the used concepts are true; no raw value of the table.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens import __version__
from logiclens.errors import LogicLensError
from logiclens.estimators.classifier import EntropyClassifier
from logiclens.estimators.statistics import statistics_aside
from logiclens.explain.gap import STEP_WORDS, Gap
from logiclens.explain.result import Explanation
from logiclens.explain.stability import Drawn, Stability
from logiclens.export.json import to_dict
from logiclens.formula.dnf import DNF, Literal
from logiclens.formula.english import literal_words
from logiclens.formula.packed_rows import PackedRows
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.text import format_formula
from logiclens.report.measured import Measured, Source
from logiclens.report.shape import KIND, SCHEMA

STABILITY_SOURCES: dict[Drawn, str] = {
    "bags": "the search was repeated on the bag of each network of the committee; cuts stay as they are",
    "resamples": "rows drawn again with replacement from those that trained and chose; cuts stay as they are",
}
MOST_TOLD = 20
"""So many concepts and cubes of a class are told with how often they recur, and all cubes of its formula."""
PACKAGES = ("torch", "numpy", "scikit-learn", "pandas")


def result_of(model: EntropyClassifier, explanation: Explanation, source: Source, *, by: Any = None) -> dict[str, Any]:
    """Everything there is to say about a fitted model and its explanation, measured on the rows that were set aside.

    `by` is a column whose values are told apart: its name, or one value for each row that `fit` was given.
    """
    aside = model.set_aside_
    if aside is None:
        raise LogicLensError("a report needs rows that chose nothing: fit with set_aside=0.25.")
    rules, table = explanation.rules, aside.table
    packed = PackedRows.of(table.boolean(), table.names)
    truth = table.targets() > 0
    fires = rules.fires(packed)
    statistics = statistics_aside(model, rules, by=by)
    told = Measured(model, explanation, source, rules, aside, truth, statistics)
    groups = rules.groups
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "logiclens": __version__,
        "title": f"{source.name}: {source.target}",
        "command": source.command,
        "data": _data(model, source),
        "model_sha256": None,
        "versions": {
            "logiclens": __version__,
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "seed": None if model.random_state is None else int(model.random_state),
        "parts": {
            "train": model.parts_["train"],
            "validation": model.parts_["validation"],
            "set_aside": table.n_counted,
        },
        "exact": bool(model.exact),
        "resolve": rules.resolve,
        "multilabel": rules.multilabel,
        "concepts": [_concept(concept, rules, told.gaps) for concept in rules.concepts],
        "exclusive": [list(group) for group in groups.exclusive],
        "implied": [list(chain) for chain in groups.implied],
        "rules": to_dict(rules),
        "classes": [told.klass(explained) for explained in explanation],
        "statistics": statistics.to_dict(),
        "metrics": told.metrics(),
        "confusion": told.confusion(),
        "confusion_of_rules": told.confusion_of_rules(),
        "firing": _firing(fires, table.copies),
        "gap": _gap(explanation.gap(table)),
        "history": _history(model),
        "stability": None if explanation.stability is None else _stability(explanation),
        **told.rows(packed),
        "notes": [*told.warnings(), *explanation.notes, *getattr(model.booleaniser_, "notes_", ())],
    }


def _data(model: EntropyClassifier, source: Source) -> dict[str, Any]:
    dropped: Mapping[str, str] = getattr(model.booleaniser_, "dropped_", {})
    return {
        "name": source.name,
        "rows": source.rows,
        "columns": source.columns,
        "sha256": source.sha256,
        "target": source.target,
        "dropped": [{"column": column, "reason": reason} for column, reason in dropped.items()],
    }


def _concept(concept: str, rules: RuleSet, gaps: frozenset[str]) -> dict[str, Any]:
    return {
        "name": concept,
        "column": rules.predicate(concept).column,
        "words": literal_words(Literal(concept), rules.predicates, gaps),
        "words_not": literal_words(Literal(concept, positive=False), rules.predicates, gaps),
    }


def _firing(fires: NDArray[np.bool_], copies: NDArray[np.float64]) -> dict[str, int]:
    none, one, several = np.bincount(np.minimum(fires.sum(axis=1), 2), copies, minlength=3).tolist()
    return {"none": int(none), "one": int(one), "several": int(several)}


def _gap(found: Gap) -> dict[str, Any]:
    """Where network and formulas part, over all classes."""
    steps = {step: sum(one.changed[step] for one in found.classes) for step in STEP_WORDS}
    total = sum(one.n_rows for one in found.classes)
    unseen = sum(one.unseen_disagree for one in found.classes)
    lines = [{"name": words, "rows": steps[step]} for step, words in STEP_WORDS.items()]
    lines.append({"name": "have concepts that no explained row has", "rows": unseen})
    return {"agree": 1 - sum(one.disagree for one in found.classes) / total, "steps": lines}


def _history(model: EntropyClassifier) -> dict[str, Any]:
    history = model.history_
    curves = {name: _finite(values) for name, values in history.columns().items() if name != "epoch"}
    return {**curves, "best_epoch": int(history.best_epoch)}


def _finite(values: NDArray[np.float64]) -> list[float | None]:
    # Six digits are more than a curve shows, and keep the page small.
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values.tolist()]


def _stability(explanation: Explanation) -> dict[str, Any]:
    found: Stability = explanation.stability  # type: ignore[assignment]
    concepts, cubes = [], []
    for counted, explained in zip(found.classes, explanation.classes, strict=True):
        concepts += [
            {"class": counted.name, "concept": concept, "frequency": share}
            for concept, share in list(counted.concepts.items())[:MOST_TOLD]
        ]
        # A complement has no cubes of its own: those of its formula are told with the other class.
        own = explained.formula.cubes if isinstance(explained.formula, DNF) else ()
        for place, (cube, share) in enumerate(counted.cubes.items()):
            if place < MOST_TOLD or cube in own:
                text = format_formula(DNF([cube]), "unicode")
                cubes.append({"class": counted.name, "text": text, "frequency": share, "in_formula": cube in own})
    return {
        "resamples": found.n_resamples,
        "drawn": found.drawn,
        "source": STABILITY_SOURCES[found.drawn],
        "concepts": concepts,
        "cubes": cubes,
    }
