"""The checker at the edges of its lists and limits, where a wrong number would not show elsewhere."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from logiclens.verify.files import LIMITS, Fields, Unusable
from logiclens.verify.predicates import predicate_name
from logiclens.verify.records import Predicate, as_moment
from logiclens.verify.report import printable
from logiclens.verify.settings import METRICS, SETTINGS, read_settings

FOLDERS = Path(__file__).parents[1] / "folders"


def _is_unseen(code: int) -> bool:
    """Whether Unicode calls a character a control, a format, a separator, private, or none at all."""
    if 0xFDD0 <= code <= 0xFDEF or 0x13439 <= code <= 0x1343F or code in (0x2065, 0xFFFE, 0xFFFF):
        # No characters, formats that older versions of Python do not know, and a place kept for one.
        return True
    return code != 0x20 and unicodedata.category(chr(code)) in {"Cc", "Cf", "Zs", "Zl", "Zp", "Cs", "Co"}


UNSEEN = np.array([_is_unseen(code) for code in range(0xF0000)])
EDGES = np.flatnonzero(np.diff(UNSEEN.astype(np.int8)))


def test_a_name_shows_quoted_exactly_what_unicode_hides():
    for code in sorted({0, 0xEFFFF, 0xF0000, 0x10FFFF, *EDGES.tolist(), *(EDGES + 1).tolist()}):
        text = f"x{chr(code)}x"
        named = predicate_name(Predicate("a", "==", text))
        expected = True if code >= 0xF0000 else bool(UNSEEN[code])
        assert named.startswith("a is '") == expected, hex(code)


@pytest.mark.parametrize(("digit", "is_quoted"), [("𝟎", True), ("𝟿", True), ("\U0001fbf0", False), ("٣", True)])
def test_only_settled_digits_need_quotes(digit, is_quoted):
    assert predicate_name(Predicate("a", "==", digit)).startswith("a is '") == is_quoted


@pytest.mark.parametrize("text", ["20210301", "2021-W09-1", "2021-03-01T12", "2021-03-01T12:30+00:00"])
def test_other_forms_of_dates_are_texts(text):
    assert as_moment(text) is None


def test_letters_of_the_same_looks_are_escaped_beside_latin_ones():
    assert printable("\u0430ge") == r"\u0430ge"
    assert printable("\u0430\u0433\u0435") == "\u0430\u0433\u0435"
    assert printable("\u03b1x \u0561 \ua4d0") == r"\u03b1x \u0561 \ua4d0"


def _fields(schema: int, **changed: object) -> Fields:
    name = "schema1_exact" if schema == 1 else "schema2_exact"
    content = json.loads((FOLDERS / name / "model.json").read_text("utf-8"))
    settings = {key: value for key, value in (content["settings"] | changed).items() if value is not ...}
    return Fields(content | {"settings": settings}, "model.json")


@pytest.mark.parametrize(
    ("schema", "changed"),
    [
        (1, {"booleanise": "quantile"}),
        (2, {"n_cuts": 3}),
        (2, {"exact": False}),
        *[
            (schema, wrong)
            for schema in (1, 2)
            for wrong in (
                {"epochs": ...},
                {"epochs": 0},
                {"hidden": []},
                {"price": "a"},
                {"method": "none"},
                {"new": 1},
            )
        ],
    ],
)
def test_old_folders_have_only_the_settings_of_their_schema(schema, changed):
    read_settings(_fields(schema), schema)
    with pytest.raises(Unusable, match=next(iter(changed))):
        read_settings(_fields(schema, **changed), schema)


def test_files_have_the_limits_of_the_documentation():
    assert LIMITS == {"model.json": 2**25, "certificate.json": 2**25, "weights.safetensors": 2**30}


MOST = 10**9


CUT = {"cuts": "soft", "n_cuts": None, "max_categories": 20}


@pytest.mark.parametrize(
    ("changed", "is_right"),
    [
        ({"n_cuts": 1}, True), ({"n_cuts": 0}, False), ({"n_cuts": "1"}, False),
        ({"max_categories": 1}, True), ({"max_categories": 0}, False), ({"max_categories": None}, False),
        ({"date_parts": True}, True), ({"date_parts": False}, True), ({"date_parts": 1}, False), ({"more": 1}, False),
        ({"cuts": {"age": [1, "2021-03-01"], "unit": "quantile"}}, True), ({"cuts": {}}, True),
        ({"cuts": {"age": [None]}}, False), ({"cuts": {"age": "odd"}}, False), ({"cuts": ["soft"]}, False),
    ],
)  # fmt: skip
def test_cuts_are_stated_in_three_or_four_fields(changed, is_right):
    assert SETTINGS["booleanise"](CUT | changed) == is_right
    for key in CUT:
        assert not SETTINGS["booleanise"]({name: value for name, value in (CUT | changed).items() if name != key})


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("rows", [0, 10**12], [-1, 1.0, True, None]),
        ("best_epoch", [0, MOST], [-1, MOST + 1, None]),
        ("accuracy_on_these_rows", [0, 1, 0.5, None], [-5e-324, 1.0000001, "1"]),
        ("teacher", ["x", None], [1]),
        ("fidelity_to_the_teacher", [{"ill": 0, "well": 1}, {}, None], [{"ill": 1.1}, [1], 1]),
        ("agreement_with_the_soft_network", [0, 1, None], [-0.1, 1.1]),
    ],
)
def test_a_metric_is_a_share_or_a_count(name, inside, outside):
    assert [value for value in inside if not METRICS[name](value)] == []
    assert [value for value in outside if METRICS[name](value)] == []
