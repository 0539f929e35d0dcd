"""`logiclens score`: how good a saved model and its rules are on a table with known classes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json
from logiclens.cli.reading import Reading
from logiclens.cli.saved import SavedModel
from logiclens.cli.sheet import READ_RULES, print_rules, print_subgroup
from logiclens.cli.tables import check_columns
from logiclens.errors import LogicLensError
from logiclens.formula.dnf import Literal
from logiclens.formula.english import literal_words
from logiclens.metrics.rules import Share
from logiclens.metrics.scores import macro_f1
from logiclens.metrics.statistics import rule_statistics


def score_table(
    folder: Path, reading: Reading, *, target: str | None, by: str | None, json: str | None, quiet: bool
) -> None:
    """Print and write how good a model is."""
    check_outputs(json, data=reading.source)
    content = score(SavedModel(folder), reading, target=target, by=by)
    write_json(content, json)
    printer = Printer(quiet=quiet or json == STANDARD)
    printer.say(f"{content['data']}: {content['rows']:,} rows; target {content['target']!r}")
    if content["left_out"]:
        printer.say(f"note: {content['left_out']:,} rows have no value of {content['target']!r} and are left out.")
    printer.say()
    for key, name in (
        ("accuracy", "accuracy of the model"),
        ("accuracy_of_the_rules", "accuracy of the rules"),
        ("most_frequent", "always the same answer"),
        ("agreement", "rules and network agree"),
    ):
        if content.get(key) is not None:
            printer.say(f"  {name:<25}{Share(content[key]['hits'], content[key]['total'])}")
    for counted in content["statistics"]["classes"]:
        share = counted["prevalence"]
        printer.say(f"\n{counted['name']}: {share['hits']:,.0f} of {share['total']:,.0f} rows", style="bold")
        print_rules(printer, counted, content["words"])
        printer.say(f"  F1 {100 * content['f1'][counted['name']]:.1f}%")
    for group in content["statistics"]["subgroups"]:
        print_subgroup(printer, group, str(by))
    printer.say()
    printer.prose(READ_RULES)


def score(model: SavedModel, reading: Reading, *, target: str | None = None, by: str | None = None) -> dict[str, Any]:
    """How good a model is, as plain data."""
    if model.rules.multilabel:
        raise LogicLensError("this model gives several labels a row: score it in Python, with statistics(X, y).")
    wanted = target or model.target
    if wanted is None:
        raise LogicLensError("the model does not know the name of its target: say --target COLUMN.")
    file = reading.table()
    frame = file.frame
    check_columns(frame, [wanted], file.name, ", the target" if target is None else "")
    check_columns(frame, [] if by is None else [by], file.name)
    labelled = frame[frame[wanted].notna()]
    if labelled.empty:
        raise LogicLensError(f"the target {wanted!r} has no value in any row.")
    rows, labels = model.rows(frame, file.name).loc[labelled.index], model.labels(labelled[wanted])
    answers, by_rules = model.predict(rows), model.rules.predict(rows)
    counted = rule_statistics(
        model.rules,
        rows,
        labels,
        by=None if by is None else labelled[by].to_numpy(),
        by_name=by,
        source=f"{len(rows):,} rows of {file.name}",
    )
    fires = model.rules.fires(rows)
    return {
        "model": str(model.folder),
        "data": file.name,
        "sha256": file.sha256,
        "target": wanted,
        "rows": len(rows),
        "left_out": len(frame) - len(rows),
        "exact": model.exact,
        "accuracy": _right(answers, labels),
        "accuracy_of_the_rules": None if model.exact else _right(by_rules, labels),
        "most_frequent": _most_frequent(labels),
        "agreement": None if model.exact else _right(by_rules, answers),
        "f1": {rule.name: macro_f1(labels == rule.label, fires[:, i]) for i, rule in enumerate(model.rules.rules)},
        "statistics": counted.to_dict(),
        "words": _words(model),
    }


def _right(answers: NDArray[Any], labels: NDArray[Any]) -> dict[str, float | None]:
    return Share(float(np.equal(answers, labels).sum()), float(len(labels))).to_dict()


def _most_frequent(labels: NDArray[Any]) -> dict[str, float | None]:
    """What the class that most of these rows have would score."""
    most, _ = Counter(labels.tolist()).most_common(1)[0]
    return _right(np.full(len(labels), most, dtype=object), labels)


def _words(model: SavedModel) -> dict[str, dict[str, str]]:
    """What each concept and its negation are in words."""
    return {
        concept: {
            "words": literal_words(Literal(concept), model.rules.predicates),
            "words_not": literal_words(Literal(concept, positive=False), model.rules.predicates),
        }
        for concept in model.rules.concepts
    }
