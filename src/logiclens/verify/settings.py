"""Form of `settings` and `metrics` in `model.json`.

They say how the model was trained and what was measured. Loading the model reads the settings, so a malformed one must
not pass; no prediction of an exact model depends on them.
"""

from __future__ import annotations

from collections.abc import Callable

from .files import Fields, finite

Check = Callable[[object], bool]


MOST = 1_000_000_000
"""Largest whole number that a setting may be, unless it has a limit of its own."""


def _whole(least: int, most: float = MOST) -> Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _number(is_valid: Callable[[float], bool]) -> Check:
    return lambda value: (number := finite(value)) is not None and is_valid(number)


_any_number = _number(lambda number: True)
_at_least_0 = _number(lambda number: number >= 0)
_above_0 = _number(lambda number: number > 0)
_share = _number(lambda number: 0 <= number <= 1)
_share_below_1 = _number(lambda number: 0 <= number < 1)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _one_of(*choices: str) -> Check:
    return lambda value: isinstance(value, str) and value in choices


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _nothing(value: object) -> bool:
    return value is None


def _either(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


def _shares(value: object) -> bool:
    """Return whether a value is an object of shares by name."""
    return isinstance(value, dict) and all(map(_share, value.values()))


_HOW = _one_of("supervised", "quantile", "uniform", "soft")
_CUTS = _either(_HOW, _list_of(_either(_any_number, _text)))


def _cuts(value: object) -> bool:
    """Return whether a value says how columns are cut: one word, or a word or a list of cuts for each column."""
    return _HOW(value) or (isinstance(value, dict) and all(map(_CUTS, value.values())))


def _booleaniser(value: object) -> bool:
    keys = {"cuts": _cuts, "n_cuts": _either(_nothing, _whole(1)), "max_categories": _whole(1)}
    # Earlier versions took no parts of dates.
    return (
        isinstance(value, dict)
        and value.keys() - {"date_parts"} == keys.keys()
        and all(keys[key](value[key]) for key in keys)
        and _flag(value.get("date_parts", True))
    )


def _class_knowledge(value: object) -> bool:
    names = (
        "forbidden_columns", "forbidden", "required_conditions", "required_rules", "increasing", "decreasing",
    )  # fmt: skip
    keys = {**dict.fromkeys(names, _list_of(_text)), "false_alarm": _above_0, "miss": _above_0}
    return isinstance(value, dict) and all(key in keys and keys[key](part) for key, part in value.items())


def _knowledge(value: object) -> bool:
    """Return whether a value is what people knew before training: lists of columns and conditions, and by class."""
    names = ("forbidden_columns", "late_columns", "preferred_columns", "protected_columns", "forbidden")
    keys = {**dict.fromkeys(names, _list_of(_text)), "classes": _classes}
    return isinstance(value, dict) and all(key in keys and keys[key](part) for key, part in value.items())


def _classes(value: object) -> bool:
    return isinstance(value, dict) and all(map(_class_knowledge, value.values()))


def _committee(value: object) -> bool:
    """Return whether a value is 1, 2, or a number of pairs of 3 to 100 groups."""
    return value in (1, 2, *(n * (n - 1) // 2 for n in range(3, 101))) and not isinstance(value, bool | float)


SETTINGS: dict[str, Check] = {
    "above": _either(_nothing, _any_number),
    "booleanise": _either(_nothing, _HOW, _booleaniser),
    "class_weight": _either(_nothing, _one_of("balanced"), _list_of(_at_least_0)),
    "committee": _either(_nothing, _committee),
    "cuts_on": _one_of("train", "all"),
    "epochs": _whole(1),
    "exact": lambda value: value is True,
    "hidden": lambda value: value != [] and _list_of(_whole(1, 65_536))(value),
    "knowledge": _either(_nothing, _knowledge),
    "learning_rate": _above_0,
    "max_distinct": _whole(2),
    "max_literals": _either(_nothing, _whole(1)),
    "method": _one_of("search"),
    "min_support": _either(_nothing, _at_least_0),
    "penalty_weight": _at_least_0,
    "positive": _either(_nothing, _text),
    "quantiles": _either(_nothing, _whole(2, 50)),
    "random_state": _either(_nothing, _whole(0, 2**32 - 1)),
    "resolve": _one_of("order", "confidence", "none"),
    "set_aside": _share_below_1,
    "split_by_time": _either(_nothing, lambda value: value != "" and _text(value)),
    "teacher": _nothing,
    "temperature": _number(lambda number: 1e-30 < number <= 1_000_000),
    "validation": _share_below_1,
}
"""The settings of an exact model of schema 3, each with the check of its value."""
LATER_SETTINGS = (
    "above", "quantiles", "committee", "knowledge", "min_support", "positive", "split_by_time", "teacher",
)  # fmt: skip
"""Settings that came after schema 3; earlier folders do not have them."""
SETTINGS_SINCE_3 = ("cuts_on", "max_distinct", "set_aside")
"""Settings that came with schema 3."""
OLD_SETTINGS: dict[str, Check] = {
    "n_cuts": _either(_nothing, _whole(1)),
    "max_concepts": _either(_nothing, _whole(1)),
    "method": _one_of("minimal", "paper", "search"),
}
"""The settings of schemas 1 and 2 that schema 3 does not have, or not with these values."""
METRICS: dict[str, Check] = {
    "rows": _whole(0, float("inf")),
    "best_epoch": _whole(0),
    "accuracy_on_these_rows": _either(_nothing, _share),
    "teacher": _either(_nothing, _text),
    "fidelity_to_the_teacher": _either(_nothing, _shares),
    "agreement_with_the_soft_network": _either(_nothing, _share),
}
"""The metrics of schema 3."""
LATER_METRICS = ("teacher", "fidelity_to_the_teacher")
"""Metrics that came after schema 3; earlier folders do not have them."""


def read_settings(fields: Fields, schema: int) -> None:
    """Check the form of `settings`, `metrics` and `data_sha256` in `model.json`.

    Args:
        fields: the parsed file.
        schema: its schema; those before 3 had other settings, and their metrics are not checked.

    Raises:
        Unusable: one of them is unknown, missing or malformed.
    """
    if len(fields.text("data_sha256")) != 64 or set(fields.text("data_sha256")) - set("0123456789abcdef"):
        raise fields.refuse("data_sha256", "a sha256 in hex")
    settings, metrics = fields.inner("settings"), fields.inner("metrics")
    if schema < 3:
        # Schema 1 had a number of cuts in place of `booleanise`.
        old = SETTINGS | OLD_SETTINGS
        other = "booleanise" if schema == 1 else "n_cuts"
        optional = {*LATER_SETTINGS, *SETTINGS_SINCE_3, "max_concepts"}
        settings.check_keys(sorted(old.keys() - optional - {other}), optional)
        _check_values(settings, old)
        return
    for part, checks, later in ((settings, SETTINGS, LATER_SETTINGS), (metrics, METRICS, LATER_METRICS)):
        part.check_keys([key for key in checks if key not in later], later)
        _check_values(part, checks)
    given = settings.record
    if given.get("split_by_time") is not None and (
        not given["set_aside"] or given["cuts_on"] != "train" or given["booleanise"] is None
    ):
        raise settings.refuse("split_by_time", "null, unless rows of a table that is cut are held out")


def _check_values(part: Fields, checks: dict[str, Check]) -> None:
    for key, value in part.record.items():
        if not checks[key](value):
            raise part.refuse(key, "a value that training can have")


def cut_softly(fields: Fields, column: str) -> bool:
    """Return whether a column was rescaled, by the setting `booleanise` of `model.json`."""
    cuts = fields.inner("settings").value("booleanise")
    cuts = cuts.get("cuts") if isinstance(cuts, dict) else cuts
    return (cuts.get(column) if isinstance(cuts, dict) else cuts) == "soft"
