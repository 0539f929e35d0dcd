"""The checker at its limits: what is just allowed, what is just refused, and fields that a forger could misuse."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from logiclens.formula import parse
from logiclens.formula.dnf import Complement
from logiclens.verify import Refuted, Unusable, claim, consistency, network, reader, report, units, verify
from logiclens.verify.files import Fields
from logiclens.verify.network import Head, Linear
from logiclens.verify.predicates import excludes, implies
from logiclens.verify.records import Claim, Cutting, Predicate
from logiclens.verify.report import columns_text, meaning_text, printable
from tests.oracles.compiled import saved_compiled
from tests.verify.certificates import refused


def head(weight: list[list[float]], bias: list[float], temperature: float = 1.0) -> Head:
    """A head of one hidden layer that keeps all its concepts."""
    inner = Linear(np.array(weight), np.array(bias))
    return Head(
        inner, np.ones(len(weight[0]), dtype=bool), (Linear(np.ones((1, len(bias))), np.full(1, -0.5)),), temperature
    )


# Claims --------------------------------------------------------------------------------------------------------------


def a_claim(**fields: Any) -> Claim:
    usual: dict[str, Any] = {
        "name": "ill", "head": 0, "concepts": ("a", "b"), "formula": ((("a", True), ("b", True)),),
        "rows": 4, "smallest_logit": 1.0, "bound": 0.1,
    }  # fmt: skip
    return Claim(**usual | fields)


@pytest.mark.parametrize(("stated", "is_right"), [(1.25, True), (1.2500001, False), (0.2, True)])
def test_a_stated_logit_may_exceed_the_computed_one(stated, is_right):
    proof = units.Proof(1.0, 0.25)
    with nullcontext() if is_right else pytest.raises(Refuted, match=r"and certificate\.json says"):
        claim._check_figures(a_claim(smallest_logit=stated), 4, proof)


@pytest.mark.parametrize(("value", "is_right"), [(0.5, True), (0.4999, False), (float("nan"), False)])
def test_a_concept_of_relevance_one_half_counts_as_relevant(value, is_right, monkeypatch):
    monkeypatch.setattr(claim, "relevance", lambda head: (np.array([1.0, value]), np.zeros(2)))
    with nullcontext() if is_right else pytest.raises(Refuted, match="'b' has relevance"):
        claim._check_relevance(a_claim(), head([[1.0, 1.0]], [-1.5]))


def test_a_refutation_counts_rows_and_names_what_is_false(tmp_path):
    formula = parse("a & b")
    saved = saved_compiled([formula, Complement(formula)], ["a", "b"])
    # Unit 1 now fires where a holds: one row is wrong, in both heads.
    saved.weights["entropy.bias"][:, 0] += 1
    first = str(refused(saved, tmp_path))
    assert "the formula says no, the head yes" in first
    assert "and so on 1 other rows" in first
    other = saved_compiled([formula, Complement(formula)], ["a", "b"])
    other.weights["entropy.bias"][1, 0] += 1
    assert "the complement says yes, the head no" in str(refused(other, tmp_path))


@pytest.mark.parametrize(
    ("values", "bound", "words"),
    [
        ([-0.5, -0.5, -0.5, 0.5], 0.4999999, None),
        # As large as the rounding is not larger than it, and the units of this head prove nothing.
        ([-0.5, -0.5, -0.5, 0.5], 0.5, "hidden unit 1 reads a & b, and may not outweigh the last bias"),
        # A logit of 0 is a yes, which rounding may turn.
        ([-1.0, -1.0, -1.0, 0.0], 0.1, "hidden unit 1 reads a & b, and may not outweigh the last bias"),
        ([0.0, -1.0, -1.0, 1.0], 0.1, "the row a = 0, b = 0 the formula says no, the head yes (logit 0). "),
        ([-1.0, -1.0, -1.0, -2.0], 0.1, "the row a = 1, b = 1 the formula says yes, the head no (logit -2). "),
        ([-1.0, 2.0, 3.0, 1.0], 0.1, "says no, the head yes (logit 2), and so on 1 other rows. "),
        ([-1.0, -1.0, -1.0, 1.0], np.inf, "the weights are so large that float32 may overflow"),
    ],
)
def test_every_logit_is_beyond_rounding_and_as_stated(values, bound, words, monkeypatch):
    monkeypatch.setattr(claim, "logits", lambda head, rows: network.Logits(np.array(values), bound))
    stated, inner = a_claim(), head([[1.0, 1.0]], [-1.5])
    if words is None:
        assert claim._enumerated(stated, inner) == units.Proof(0.5, bound)
        return
    with pytest.raises(Refuted) as caught:
        claim._enumerated(stated, inner)
    assert words in str(caught.value)


def test_a_head_whose_roundings_add_up_is_proved_by_units(monkeypatch):
    logits = np.array([-0.5, -0.5, -0.5, 0.5])
    monkeypatch.setattr(claim, "logits", lambda head, rows: network.Logits(logits, 0.6))
    inner = head([[1.0, 1.0]], [-1.25])
    proof = claim._enumerated(a_claim(), inner)
    assert proof == units.prove(inner, a_claim().formula, ("a", "b"), is_complement=False)
    assert proof.smallest == 0.25


def test_rows_are_enumerated_up_to_the_limit_of_concepts(tmp_path, monkeypatch):
    assert claim.MOST_CONCEPTS == 20
    saved = saved_compiled([parse("a & b"), parse("a & b & ~c")], ["a", "b", "c"])
    for module in (claim, report):
        monkeypatch.setattr(module, "MOST_CONCEPTS", 2)
    first, second = verify(saved.write(tmp_path)).classes
    assert (first.rows, "proved unit by unit" in first.domain) == (4, False)
    assert (second.rows, "proved unit by unit" in second.domain) == (8, True)


def test_only_a_row_of_one_class_has_a_label(tmp_path):
    formulas = [parse("a & b"), parse("b")]
    one = verify(saved_compiled(formulas, ["a", "b"]).write(tmp_path / "one"))
    assert [entry.label for entry in one.classes] == ["class 0", "class 1"]
    several = verify(saved_compiled(formulas, ["a", "b"], multilabel=True).write(tmp_path / "several"))
    assert [entry.label for entry in several.classes] == [None, None]


# Names and words -----------------------------------------------------------------------------------------------------


def test_a_variation_selector_is_escaped():
    assert printable("a\ufe0f") == r"a\ufe0f"
    assert printable("\U000e0100") == r"\U000e0100"


def test_kinds_of_columns_are_told_in_words():
    kinds = {"stay": "timedelta", "smoker": "boolean", "age": "number"}
    cutting = Cutting((*kinds, "more"), False, kinds, {})
    told = columns_text(SimpleNamespace(cutting=cutting))  # type: ignore[arg-type]
    assert told == "Columns: stay (duration), smoker (true or false), age (number), more (not used)."


@pytest.mark.parametrize(("name", "is_right"), [("old", True), ("AGE", False), ("Unit", False)])
def test_a_chosen_name_must_not_look_like_a_column(name, is_right):
    """One column is known by a predicate only, the other by the table only."""
    cutting = Cutting(("unit",), False, {}, {})
    model: Any = SimpleNamespace(
        class_names=("ill",),
        concepts=(name,),
        cutting=cutting,
        predicates={name: Predicate("age", ">=", 60.0)},
    )
    with nullcontext() if is_right else pytest.raises(Refuted, match="means 'age >= 60' on the table"):
        consistency._check_names(model)


def test_durations_are_compared_by_their_length():
    day, two = Predicate("a", ">=", "1 days"), Predicate("a", "<", "1 days")
    assert implies(Predicate("a", ">=", "2 days"), day)
    assert excludes(day, two)


# Fields --------------------------------------------------------------------------------------------------------------


def part_of(**changed: Any) -> Fields:
    usual = {
        "column": "weekday of day",
        "operator": ">=",
        "value": 6,
        "origin": {"part": "weekday", "columns": ["day"]},
    }
    return Fields(usual | changed, "model.json")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"origin": {"part": "weekday", "columns": ["day", "end"]}}, "the column of one date"),
        ({"origin": {"part": "days", "columns": ["day"]}}, "the column of one date, or for days of two"),
        ({"origin": {"part": "weekday", "columns": [""]}}, "none of them empty"),
        ({"origin": {"part": "weekday", "columns": ["day"], "more": 1}}, "unknown field"),
        ({"column": "weekday of end"}, "after its origin"),
        ({"operator": "missing", "value": True}, "a number, compared with one"),
        ({"operator": "==", "value": True}, "a number, compared with one"),
        ({"operator": "==", "value": "6"}, "a number, compared with one"),
    ],
)
def test_a_part_of_a_date_is_what_its_column_says(changed, words):
    assert reader._read_predicate(part_of()).part is not None
    with pytest.raises(Unusable, match=words):
        reader._read_predicate(part_of(**changed))


def test_a_scale_of_an_unknown_concept_is_refused(saved, tmp_path):
    other = saved.copy()
    other.model["cutting"]["scales"]["nobody"] = [1.0, 2.0]
    assert "names the concept 'nobody', which the model does not have" in str(refused(other, tmp_path))


@pytest.mark.parametrize("file", ["model", "certificate"])
def test_a_compiled_model_has_no_field_more(file, tmp_path):
    saved = saved_compiled([parse("a & b"), parse("b")], ["a", "b"])
    assert verify(saved.write(tmp_path)).classes
    getattr(saved, file)["more"] = 1
    assert "has the unknown field 'more'" in str(refused(saved, tmp_path))


def test_a_certificate_has_no_field_more(saved, tmp_path):
    other = saved.copy()
    other.certificate["more"] = 1
    assert "certificate.json has the unknown field 'more'" in str(refused(other, tmp_path))


BELOW = ["at least 2.5", "below 1", "from 1 to below 2.5"]


@pytest.mark.parametrize(
    ("settings", "cuts", "names", "words"),
    [
        ({}, None, BELOW, None),
        ({"quantiles": 3}, [1, 2.5], BELOW, None),
        ({"above": 150}, [150], ["below 150", "at least 150"], None),
        ({"above": 1e15}, [1e15], ["below 1000000000000000.0", "at least 1000000000000000.0"], None),
        ({"above": 150}, None, BELOW, "as the settings ask for"),
        ({"quantiles": 3}, None, BELOW, "as the settings ask for"),
        ({}, [1, 2.5], BELOW, "rising numbers"),
        ({"above": 1, "quantiles": 3}, [1, 2.5], BELOW, "rising numbers"),
        ({"quantiles": 3}, [2.5, 1], BELOW, "rising numbers"),
        ({"quantiles": 3}, [1, 1, 2.5], BELOW, "rising numbers"),
        ({"quantiles": 3}, [], BELOW, "rising numbers"),
        ({"quantiles": 3}, [True, 2.5], BELOW, "rising numbers"),
        ({"quantiles": 3}, ["1", "2.5"], BELOW, "rising numbers"),
        ({"quantiles": 3}, "12", BELOW, "rising numbers"),
        ({"quantiles": 3}, [1, 2.6], BELOW, "that the class names state"),
        ({"quantiles": 3}, [1, 2.5], BELOW[:2], "that the class names state"),
        ({"quantiles": 4}, [1, 2.5], BELOW, "that the settings ask for"),
        ({"above": 151}, [150], ["below 150", "at least 150"], "that the settings ask for"),
    ],
)
def test_classes_of_a_cut_target_are_named_after_its_cuts(settings, cuts, names, words):
    fields = Fields({"settings": settings, "target_cuts": cuts}, "model.json")
    with nullcontext() if words is None else pytest.raises(Unusable, match=words):
        reader._check_target_cuts(fields, tuple(names))


# Edited rules --------------------------------------------------------------------------------------------------------

FIGURES = {"source": "rows.csv", "rows": 9, "accuracy": 0.5, "macro_f1": None}
EDITED = {"what": "removed ill#2", "why": "guideline", "who": None, "when": "2026", "before": FIGURES, "after": None}


def history_of(**changed: Any) -> Fields:
    return Fields({"history": [EDITED | changed]}, "model.json")


def test_a_history_is_read_whole():
    (edit,) = reader.read_history(history_of())
    assert (edit.what, edit.why, edit.who, edit.when) == ("removed ill#2", "guideline", None, "2026")
    for key, value in (("source", "x"), ("rows", 8), ("accuracy", 0.25), ("macro_f1", 1)):
        # Two histories that differ in one figure are two histories, before as after.
        (other,) = reader.read_history(history_of(before=FIGURES | {key: value}))
        assert other != edit
    (moved,) = reader.read_history(history_of(before=None, after=FIGURES))
    assert moved != edit


@pytest.mark.parametrize(
    "changed",
    [
        *({key: 1} for key in EDITED),
        {"what": None},
        {"more": 1},
        *({"before": FIGURES | {key: value}} for key, value in [
            ("source", 1), ("rows", -1), ("rows", 1.5), ("accuracy", 1.1), ("macro_f1", -0.1), ("more", 1),
        ]),
        *({"after": {k: v for k, v in FIGURES.items() if k != key}} for key in FIGURES),
    ],
)  # fmt: skip
def test_a_history_of_another_form_is_refused(changed):
    with pytest.raises(Unusable):
        reader.read_history(history_of(**changed))


@pytest.mark.parametrize("history", [[], None, {}, "x", [1]])
def test_a_history_is_a_list_of_edits(history):
    with pytest.raises(Unusable):
        reader.read_history(Fields({"history": history}, "model.json"))


@pytest.mark.parametrize("mark", ["edited", "pinned"])
@pytest.mark.parametrize(("value", "is_right"), [(True, True), (False, False), (1, False), (None, False)])
def test_a_mark_of_a_cube_is_true_or_left_out(mark, value, is_right):
    entry = {"class": "ill", "cubes": [{"if": {"a": True}, "confidence": 0.5, mark: value}]}
    with nullcontext() if is_right else pytest.raises(Unusable, match=mark):
        reader._read_rule(Fields(entry, "model.json"), frozenset("a"))


def test_a_certificate_tells_the_history_of_the_rules(tmp_path):
    saved = saved_compiled([parse("a & b"), parse("b")], ["a", "b"])
    saved.model["rules"]["history"] = saved.certificate["history"] = [EDITED]
    verified = verify(saved.write(tmp_path))
    assert verified.history == ("'removed ill#2', because 'guideline' ('2026')",)
    # A line is printed whole, however long, and never as two.
    long = {**EDITED, "what": "changed " + "age, " * 500, "why": "as agreed\n- in " + "March " * 100}
    saved.model["rules"]["history"] = saved.certificate["history"] = [long]
    [line] = verify(saved.write(tmp_path)).history
    assert line == f"{long['what']!r}, because {long['why']!r} ('2026')"
    assert "\n" not in line
    saved.model["rules"]["history"] = saved.certificate["history"] = [EDITED]
    assert any("the history is repeated as stated" in sentence for sentence in verified.does_not_cover)
    del saved.certificate["history"]
    error = refused(saved, tmp_path)
    assert isinstance(error, Refuted)
    assert "another history of the rules" in str(error)


def test_two_texts_are_never_printed_as_one_meaning():
    texts = ("a\nb", "a\\nb", 'a"b', 'a\\"b')
    assert len({meaning_text(Predicate("unit", "==", text)) for text in texts}) == len(texts)
