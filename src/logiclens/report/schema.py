"""What a saved result must hold for a page to be made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from logiclens.errors import LogicLensError
from logiclens.export.json import from_dict

KIND, SCHEMA = "logiclens result", 2
READABLE = (1, SCHEMA)
"""The schemas that a page is made of. Schema 1 did not tell what the rules decide from where they fire."""


class _Maybe:
    """A field that may be null."""

    def __init__(self, form: Any) -> None:
        self.form = form


_NUMBER = "a finite number"
_TEXT = "a text"
_FLAG = "true or false"
_MAYBE_TEXT, _MAYBE_NUMBER = _Maybe(_TEXT), _Maybe(_NUMBER)
_SHARE = {"hits": _NUMBER, "total": _NUMBER, "value": _MAYBE_NUMBER, "low": _NUMBER, "high": _NUMBER}
_CUBE = {
    "literals": _Maybe([{"concept": _TEXT, "positive": _FLAG}]),
    "support": _SHARE, "coverage": _SHARE, "unique_coverage": _SHARE, "confidence": _SHARE,
    "lift": _MAYBE_NUMBER, "lift_low": _MAYBE_NUMBER, "lift_high": _MAYBE_NUMBER,
    "table": dict.fromkeys(("fires_in_class", "fires_elsewhere", "silent_in_class", "silent_elsewhere"), _NUMBER),
}  # fmt: skip
_CLASS_STATISTICS = {"name": _TEXT, "prevalence": _SHARE, "whole": _CUBE, "cubes": [_CUBE]}
_CURVES = ("loss", "penalty", "train_accuracy", "validation_loss", "validation_accuracy")
_RESULT = {
    "logiclens": _TEXT,
    "title": _TEXT,
    "command": _MAYBE_TEXT,
    "data": {
        "name": _TEXT, "rows": _NUMBER, "columns": _NUMBER, "sha256": _MAYBE_TEXT, "target": _TEXT,
        "dropped": [{"column": _TEXT, "reason": _TEXT}],
    },
    "model_sha256": _MAYBE_TEXT,
    "versions": {},
    "seed": _MAYBE_NUMBER,
    "parts": {"train": _NUMBER, "validation": _NUMBER, "set_aside": _NUMBER},
    "exact": _FLAG,
    "resolve": _TEXT,
    "multilabel": _FLAG,
    "concepts": [{"name": _TEXT, "column": _TEXT, "words": _TEXT, "words_not": _TEXT}],
    "exclusive": [[_TEXT]],
    "implied": [[_TEXT]],
    "rules": {},
    "classes": [
        {
            "name": _TEXT, "formula": _TEXT, "english": _TEXT, "fidelity": _MAYBE_NUMBER, "equals_network": _FLAG,
            "certified": _Maybe(
                {"domain": _TEXT, "smallest_logit": _NUMBER, "rounding_bound": _NUMBER, "refit": _FLAG}
            ),
            "reason": _MAYBE_TEXT, "remedy": _MAYBE_TEXT, "f1": _MAYBE_NUMBER,
            "simplest": _Maybe({"text": _TEXT, "f1": _NUMBER}),
            "relevance": [{"concept": _TEXT, "relevance": _NUMBER, "used": _FLAG}],
        }
    ],
    "statistics": {
        "source": _TEXT, "n_rows": _NUMBER, "by": _MAYBE_TEXT, "classes": [_CLASS_STATISTICS],
        "subgroups": [{"name": _TEXT, "classes": [_CLASS_STATISTICS]}],
    },
    "metrics": [{"name": _TEXT, "value": _MAYBE_NUMBER, "low": _MAYBE_NUMBER, "high": _MAYBE_NUMBER, "unit": _TEXT}],
    "confusion": _Maybe({"labels": [_TEXT], "predicted": [_TEXT], "counts": [[_NUMBER]], "of": _TEXT}),
    "firing": {"none": _NUMBER, "one": _NUMBER, "several": _NUMBER},
    "gap": _Maybe({"agree": _NUMBER, "steps": [{"name": _TEXT, "rows": _NUMBER}]}),
    "history": _Maybe({**{curve: [_MAYBE_NUMBER] for curve in _CURVES}, "best_epoch": _NUMBER}),
    "stability": _Maybe(
        {
            "resamples": _NUMBER, "source": _TEXT,
            "concepts": [{"class": _TEXT, "concept": _TEXT, "frequency": _NUMBER}],
            "cubes": [{"class": _TEXT, "text": _TEXT, "frequency": _NUMBER, "in_formula": _FLAG}],
        }
    ),
    "rows": [{"row": _NUMBER, "label": _TEXT, "network": _MAYBE_TEXT, "rules": _TEXT, "bits": _TEXT}],
    "rows_shown": _NUMBER,
    "rows_total": _NUMBER,
    "notes": [_TEXT],
}  # fmt: skip
_DECISION = {
    "decided": _SHARE, "precision": _SHARE, "recall": _SHARE, "f1": _MAYBE_NUMBER,
    "table": dict.fromkeys(("right", "wrong", "missed", "rest"), _NUMBER),
}  # fmt: skip
_SINCE_2 = {
    "classes": [{"precision": _SHARE, "recall": _SHARE}],
    "statistics": {
        "macro_f1": _MAYBE_NUMBER, "classes": [{"decision": _DECISION}],
        "subgroups": [{"classes": [{"decision": _DECISION}]}],
    },
    "confusion_of_rules": _RESULT["confusion"],
}  # fmt: skip
"""What schema 2 holds besides."""


def check_result(result: Any) -> None:
    """Refuse, in one sentence that says where, what is not a result of this schema. Further fields are let pass.

    >>> check_result({"kind": "logiclens result", "schema": 3})
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: the report reads results of schema 1 and 2, got 3; explain the data again to ...
    """
    if not isinstance(result, Mapping) or result.get("kind") != KIND:
        raise LogicLensError(f"the report is made from a saved result, whose 'kind' is {KIND!r}.")
    if type(result.get("schema")) is not int or result["schema"] not in READABLE:
        raise LogicLensError(
            f"the report reads results of schema {' and '.join(map(str, READABLE))}, got {result.get('schema')!r}; "
            "explain the data again to renew it."
        )
    _check(result, _RESULT, "")
    if result["schema"] > 1:
        _check(result, _SINCE_2, "")
    _check_parts(result)


def _check(value: Any, form: Any, where: str) -> None:
    if isinstance(form, _Maybe):
        if value is not None:
            _check(value, form.form, where)
    elif isinstance(form, dict):
        if not isinstance(value, Mapping):
            _refuse(where, "an object", value)
        for name, inner in form.items():
            place = f"{where}.{name}" if where else name
            if name not in value:
                raise LogicLensError(f"the result lacks {place!r}.")
            _check(value[name], inner, place)
    elif isinstance(form, list):
        if not isinstance(value, list | tuple):
            _refuse(where, "a list", value)
        for i, entry in enumerate(value):
            _check(entry, form[0], f"{where}[{i}]")
    elif not _is(value, form):
        _refuse(where, form, value)


def _is(value: Any, form: str) -> bool:
    if form is _NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, str if form is _TEXT else bool)


def _refuse(where: str, wanted: str, value: Any) -> NoReturn:
    shown = repr(value)
    raise LogicLensError(f"{where!r} of the result must be {wanted}, got {shown if len(shown) <= 60 else shown[:57]}.")


def _check_parts(result: Mapping[str, Any]) -> None:
    """Whether the parts of a result speak of the same classes, concepts and cubes."""
    from_dict(result["rules"])
    classes, known = result["rules"]["classes"], {concept["name"] for concept in result["concepts"]}
    if len(known) < len(result["concepts"]):
        raise LogicLensError("'concepts' of the result names a concept twice.")
    names = [entry["name"] for entry in result["classes"]]
    for where, found in (
        ("rules", [str(entry["class"]) for entry in classes]),
        ("statistics", [entry["name"] for entry in result["statistics"]["classes"]]),
        *(
            (f"the subgroup {g['name']!r}", [e["name"] for e in g["classes"]])
            for g in result["statistics"]["subgroups"]
        ),
    ):
        if found != names:
            raise LogicLensError(f"the classes of the result are {names}, but those of {where} are {found}.")
    for entry, measured in zip(classes, result["statistics"]["classes"], strict=True):
        cubes = [dict(cube["if"]) for cube in entry.get("cubes", ())]
        told = [{lit["concept"]: lit["positive"] for lit in cube["literals"] or ()} for cube in measured["cubes"]]
        if cubes != told:
            raise LogicLensError(f"the statistics of {measured['name']!r} are not about the cubes of its rules.")
    used = [concept for entry in classes for cube in entry.get("cubes", ()) for concept in cube["if"]]
    for name in (*used, *(name for kind in ("exclusive", "implied") for group in result[kind] for name in group)):
        if name not in known:
            raise LogicLensError(f"the result uses the concept {name!r}, which is not among its 'concepts'.")
    for row in result["rows"]:
        if len(row["bits"]) != len(known) or set(row["bits"]) - set("01"):
            raise LogicLensError(f"row {row['row']} of the result needs one 0 or 1 for each of {len(known)} concepts.")
    _check_tables(result)


def _check_tables(result: Mapping[str, Any]) -> None:
    history = result["history"]
    for name in ("confusion", "confusion_of_rules"):
        confusion = result.get(name)
        if confusion is None:
            continue
        wide = {len(row) for row in confusion["counts"]} - {len(confusion["predicted"])}
        if wide or len(confusion["counts"]) != len(confusion["labels"]):
            raise LogicLensError(f"{name!r} of the result needs a row for each label and a column for each answer.")
    if history is not None and len({len(history[name]) for name in _CURVES}) > 1:
        raise LogicLensError("the curves in 'history' of the result differ in length.")
