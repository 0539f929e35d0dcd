"""Rule statistics, checked with pandas, scikit-learn, plain Python and the equation of the Wilson interval."""

from __future__ import annotations

import json
import math
import re
import time
from dataclasses import replace
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score

from logiclens.errors import LogicLensError, UnknownConcept
from logiclens.formula import DNF, Cube, Literal, PackedRows, Predicate, Rule, RuleSet, parse
from logiclens.formula.english import TableFacts
from logiclens.metrics.rule_statistics import RuleStatistics, Share, TwoByTwo, Z, rule_statistics, wilson_interval
from tests.oracles.brute_force import holds
from tests.rulesets import VALUES, answer, concepts_of, raw_rows
from tests.rulesets import rule_sets as decided_rule_sets
from tests.strategies import dnfs

NAMES = ("a", "b", "c")
SHARES = ("support", "coverage", "unique_coverage", "confidence", "prevalence")


def rule_set(*texts, labels=None, **more):
    """Rules without confidences, which nothing here looks at."""
    formulas = [parse(text) if isinstance(text, str) else text for text in texts]
    named = labels or [f"class {i}" for i in range(len(formulas))]
    return RuleSet(
        tuple(Rule(label, f, (0.0,) * len(f)) for label, f in zip(named, formulas, strict=True)), **more
    )  # fmt: skip


@st.composite
def counted_cases(draw):
    """Two formulas, and a table of rows with a label, a weight and a subgroup each."""
    formulas = draw(st.lists(dnfs(NAMES, max_cubes=3), min_size=1, max_size=3))
    line = st.tuples(
        *[st.booleans()] * 3,
        st.integers(0, len(formulas) - 1),
        st.sampled_from([0.25, 1.0, 3.0]),
        st.sampled_from("uv"),
    )
    lines = draw(st.lists(line, min_size=1, max_size=25))
    return formulas, pd.DataFrame(lines, columns=[*NAMES, "label", "weight", "by"])


def judged(frame, formulas, place, cube):
    """The numbers of one cube, or of a whole formula, by masks on a DataFrame; the formulas are held row by row."""

    def fires(formula):
        rows = frame[list(NAMES)].to_dict("records")
        return pd.Series([bool(holds(formula, row)) for row in rows], index=frame.index, dtype=bool)

    weight, in_class = frame["weight"], frame["label"] == place
    if cube is None:
        fired, others = fires(formulas[place]), [f for i, f in enumerate(formulas) if i != place]
    else:
        fired, others = fires(DNF([cube])), [DNF([other]) for other in formulas[place] if other != cube]
    alone = fired.copy()
    for other in others:
        alone &= ~fires(other)
    sums = {
        "support": (weight[fired].sum(), weight.sum()),
        "coverage": (weight[fired & in_class].sum(), weight[in_class].sum()),
        "unique_coverage": (weight[alone & in_class].sum(), weight[in_class].sum()),
        "confidence": (weight[fired & in_class].sum(), weight[fired].sum()),
        "prevalence": (weight[in_class].sum(), weight.sum()),
    }
    crossed = pd.crosstab(fired, in_class, values=weight, aggfunc="sum").fillna(0.0)
    cells = crossed.reindex(index=[True, False], columns=[True, False], fill_value=0.0).to_numpy().ravel().tolist()
    return sums, cells


def assert_counted(classes, frame, formulas):
    assert [counted.formula for counted in classes] == formulas
    for place, counted in enumerate(classes):
        assert [rule.cube for rule in counted.cubes] == list(formulas[place].cubes)
        assert counted.whole.cube is None
        for rule in (*counted.cubes, counted.whole):
            sums, cells = judged(frame, formulas, place, rule.cube)
            for name, (hits, total) in sums.items():
                share = getattr(rule, name)
                assert (share.hits, share.total) == (hits, total), name
                assert (share.low, share.high) == wilson_interval(hits, total)
            table = rule.table
            assert cells == [
                table.fires_in_class, table.fires_elsewhere, table.silent_in_class, table.silent_elsewhere
            ]  # fmt: skip
            (hits, fired), (of_class, total) = sums["confidence"], sums["prevalence"]
            if fired and of_class:
                assert rule.lift == pytest.approx((hits / fired) / (of_class / total))
                low, high = (end / (of_class / total) for end in wilson_interval(hits, fired))
                assert (rule.lift_low, rule.lift_high) == pytest.approx((low, high))
            else:
                assert math.isnan(rule.lift)


@given(counted_cases())
def test_every_number_equals_pandas_overall_and_per_subgroup(case):
    # Whole weights count rows; the strategy draws quarters.
    formulas, frame = case
    frame = frame.assign(weight=4 * frame["weight"])
    rules = rule_set(*formulas, labels=list(range(len(formulas))))
    counted = rule_statistics(rules, frame[list(NAMES)], frame["label"], weight=frame["weight"], by=frame["by"])
    assert (counted.n_rows, counted.weight, counted.by) == (len(frame), frame["weight"].sum(), "by")
    assert_counted(counted.classes, frame, formulas)
    groups = dict(list(frame.groupby("by")))
    assert list(counted.subgroups) == list(groups)
    for name, part in groups.items():
        assert_counted(counted.subgroups[name], part, formulas)


@given(counted_cases())
def test_confidence_is_precision_and_coverage_is_recall(case):
    formulas, frame = case
    rules = rule_set(*formulas, labels=list(range(len(formulas))))
    counted = rule_statistics(rules, frame[list(NAMES)], frame["label"], weight=frame["weight"])
    for place, formula in enumerate(formulas):
        truth, fires = frame["label"] == place, formula.evaluate(frame)
        whole = counted[place].whole
        # scikit-learn gives what it is told where nothing fires or no row has the class.
        for share, score in ((whole.confidence, precision_score), (whole.coverage, recall_score)):
            expected = score(truth, fires, sample_weight=frame["weight"], zero_division=np.nan)
            assert share.value == pytest.approx(expected, nan_ok=True)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_both_ends_solve_the_equation_of_wilson(counts):
    hits, total = counts
    share = Share(hits, total)
    assert 0 <= share.low <= share.value <= share.high <= 1
    assert share.low < share.high
    for end in (share.low, share.high):
        # The true shares from which the one seen lies exactly z standard errors away.
        assert (share.value - end) ** 2 == pytest.approx(Z**2 * end * (1 - end) / total, abs=1e-9)


def test_a_share_prints_what_it_was_counted_from():
    assert str(Share(64, 77)) == "83.1% (73.2–89.9%), 64 of 77"
    assert str(Share(1234.5, 2000)) == "61.7% (59.6–63.8%), 1,234.5 of 2,000"
    assert math.isnan(Share(0, 0).value)
    assert str(Share(0.0, 0.0)) == "unknown, 0 of 0"


@given(decided_rule_sets(), st.data())
def test_what_is_decided_is_counted_row_by_row(rules, data):
    rows = data.draw(st.lists(raw_rows(), min_size=1, max_size=12))
    labels = [data.draw(st.sampled_from(rules.names)) for _ in rows]
    weight = [data.draw(st.sampled_from([1, 2, 3])) for _ in rows]
    by = [data.draw(st.sampled_from("uv")) for _ in rows]
    said = [answer(rules, concepts_of(rules, row)) for row in rows]
    table = {name: [row[name] for row in rows] for name in VALUES}
    counted = rule_statistics(rules, table, labels, weight=weight, by=by)
    lines = list(zip(labels, said, weight, by, strict=True))
    scores = []
    for subgroup, classes in (("all", counted.classes), *counted.subgroups.items()):
        here = [line for line in lines if subgroup in ("all", line[3])]
        for klass in classes:
            right = sum(w for truth, given, w, _ in here if truth == given == klass.label)
            got = sum(w for _, given, w, _ in here if given == klass.label)
            of_class = sum(w for truth, _, w, _ in here if truth == klass.label)
            decided = klass.decision
            assert (decided.precision, decided.recall) == (Share(right, got), Share(right, of_class))
            assert decided.decided == Share(got, sum(w for _, _, w, _ in here))
            f1 = 2 * right / (got + of_class) if got + of_class else math.nan
            assert decided.f1 == pytest.approx(f1, nan_ok=True)
            scores += [f1] * (subgroup == "all" and not math.isnan(f1))
    assert counted.macro_f1 == pytest.approx(np.mean(scores))


# Worked by hand ---------------------------------------------------------------------------------------------------

#  row  old smoker sepsis  label   old∧smoker  sepsis  ill fires  well fires (¬old)
#   0    1    1      1     ill         1          1        1           0
#   1    1    1      0     ill         1          0        1           0
#   2    1    0      0     ill         0          0        0           0
#   3    0    1      1     well        0          1        1           1
#   4    0    0      0     well        0          0        0           1
#   5    0    0      0     ill         0          0        0           1
WARD = {
    "old": [1, 1, 1, 0, 0, 0],
    "smoker": [1, 1, 0, 1, 0, 0],
    "sepsis": [1, 0, 0, 1, 0, 0],
    "gender": ["F", None, "F", "M", "M", "M"],
}
LABELS = ["ill", "ill", "ill", "well", "well", "ill"]
RULES = rule_set("(old & smoker) | sepsis", "~old", labels=["ill", "well"])


def test_the_ward():
    counted = rule_statistics(RULES, WARD, LABELS)
    smoker, sepsis = counted["ill"].cubes
    assert smoker.table == TwoByTwo(2, 0, 2, 2)
    assert sepsis.table == TwoByTwo(1, 1, 3, 1)
    assert (smoker.support, smoker.confidence) == (Share(2, 6), Share(2, 2))
    assert (smoker.coverage, smoker.unique_coverage) == (Share(2, 4), Share(1, 4))
    assert sepsis.unique_coverage == Share(0, 4)
    assert smoker.lift == pytest.approx(1 / (4 / 6))
    assert sepsis.lift == pytest.approx((1 / 2) / (4 / 6))
    whole = counted["well"].whole
    # Of the two rows of the class, row 3 fires both formulas.
    assert (whole.coverage, whole.unique_coverage, whole.confidence) == (Share(2, 2), Share(1, 2), Share(2, 3))
    with pytest.raises(LogicLensError, match="there is no class 'dead'; the classes are 'ill', 'well'"):
        counted["dead"]


def test_the_ward_as_it_is_printed():
    counted = rule_statistics(RULES, WARD, LABELS, by="gender", source="6 rows held out", weight=[2, 1, 1, 1, 1, 1])
    lines = str(counted).splitlines()
    assert lines[:7] == [
        "rule statistics on 6 rows held out (n = 6, weight 7), with intervals of 95% after Wilson; "
        "a class by what the rules decide, a rule by where it fires and by what it decides",
        "",
        "ill: 5 of 7 rows (71.4%)",
        "  decided for 4 of 7 rows: precision 75.0% (30.1–95.4%), recall 60.0% (23.1–88.2%), F1 66.7%",
        "  fires on  decides  finds               unique  right when it fires   lift  rule",
        "  42.9%     42.9%    60.0% (23.1–88.2%)  20.0%   100.0% (43.9–100.0%)  1.4×  old is true and smoker is true",
        "  42.9%     14.3%    40.0% (11.8–76.9%)  0.0%    66.7% (20.8–93.9%)    0.9×  sepsis is true",
    ]
    headings = [line for line in lines if line.startswith("gender")]
    assert headings == [
        "gender = F, ill: 3 of 3 rows (100.0%)", "gender = F, well: 0 of 3 rows (0.0%)",
        "gender = M, ill: 1 of 3 rows (33.3%)", "gender = M, well: 2 of 3 rows (66.7%)",
        "gender = missing, ill: 1 of 1 rows (100.0%)", "gender = missing, well: 0 of 1 rows (0.0%)",
    ]  # fmt: skip
    assert "unknown" in str(counted)


def test_a_heading_names_the_target_where_it_is_known():
    named = replace(RULES, facts=TableFacts("state"))
    counted = rule_statistics(named, WARD, LABELS, by="gender")
    assert counted.headings == ("state is ill", "state is well")
    lines = str(counted).splitlines()
    assert "state is ill: 4 of 6 rows (66.7%)" in lines
    assert "gender = F, state is well: 0 of 2 rows (0.0%)" in lines
    # The name changes words, not numbers.
    assert counted == rule_statistics(RULES, WARD, LABELS, by="gender")
    assert counted.to_dict()["classes"][0]["name"] == "ill"


def test_the_ward_as_json_and_as_a_frame():
    counted = rule_statistics(RULES, WARD, LABELS, by="gender")
    told = json.loads(json.dumps(counted.to_dict(), allow_nan=False))
    assert {key: told[key] for key in ("source", "n_rows", "weight", "by")} == {
        "source": "the rows given", "n_rows": 6, "weight": 6.0, "by": "gender"
    }  # fmt: skip
    assert [part["name"] for part in told["subgroups"]] == ["F", "M", "missing"]
    ill = told["classes"][0]
    assert list(ill) == ["name", "label", "formula", "prevalence", "decision", "whole", "cubes"]
    assert (ill["name"], ill["label"], ill["formula"]) == ("ill", "ill", "(old & smoker) | sepsis")
    assert list(ill["prevalence"]) == ["hits", "total", "value", "low", "high"]
    assert (ill["whole"]["literals"], ill["whole"]["text"]) == (None, "(old ∧ smoker) ∨ sepsis")
    assert list(ill["cubes"][0]) == [
        "literals", "text", "support", "coverage", "unique_coverage", "confidence", "lift", "lift_low", "lift_high",
        "table", "decided",
    ]  # fmt: skip
    assert ill["cubes"][0]["literals"] == [
        {"concept": "old", "positive": True}, {"concept": "smoker", "positive": True}
    ]  # fmt: skip
    assert ill["cubes"][0]["text"] == "old ∧ smoker"
    assert ill["cubes"][1]["table"] == {
        "fires_in_class": 1, "fires_elsewhere": 1, "silent_in_class": 3, "silent_elsewhere": 1,
        "worth": 1.0,
    }  # fmt: skip
    # No woman is well: neither the share of no rows nor a lift over 0 can be said.
    women = told["subgroups"][0]["classes"][1]["whole"]
    assert women["coverage"] == {"hits": 0.0, "total": 0.0, "value": None, "low": 0.0, "high": 1.0}
    assert (women["lift"], women["lift_low"], women["lift_high"]) == (None, None, None)

    frame = counted.to_frame()
    pd.testing.assert_frame_equal(frame, pd.DataFrame(counted.records()))
    assert len(frame) == 4 * 5
    # Every column is documented.
    for column in frame.columns:
        stem = re.sub("_(low|high|hits|total)$", "", column)
        assert re.search(rf"\b{stem}\b", RuleStatistics.to_frame.__doc__), column
    row = frame.set_index(["subgroup", "class", "cube"]).loc[("all rows", "ill", "old & smoker")]
    assert (row["support_hits"], row["support_total"], row["fires_in_class"]) == (2, 6, 2)
    for name in SHARES:
        assert (frame[name].dropna() == (frame[f"{name}_hits"] / frame[f"{name}_total"]).dropna()).all()
    assert (frame["cube"] == "whole formula").sum() == 8
    assert row["words"] == "old is true and smoker is true"
    whole = frame[(frame["cube"] == "whole formula") & (frame["class"] == "ill")]["words"]
    assert set(whole) == {str(RULES).splitlines()[0]}


def test_categories_of_one_column_are_one_line():
    jobs = {job: Predicate("job", "==", job) for job in ("cook", "nurse")}
    formula = parse("(cook & old) | sick | (nurse & old)")
    rules = RuleSet((Rule("ill", formula, (0.5,) * 3), Rule("well", parse("~sick"), (0.5,))), jobs, otherwise=1)
    table = {"job": ["cook", "nurse", "cook", "clerk", "nurse"], "old": [1, 1, 0, 1, 1], "sick": [0, 1, 0, 0, 0]}
    counted = rule_statistics(rules, table, ["ill", "ill", "well", "ill", "well"])
    [(words, cooks_and_nurses), (other, _), (whole, _)] = counted.lines(counted["ill"])
    assert (words, other, whole) == ("job is cook or nurse and old is true", "sick is true", "whole formula")
    # It fires on rows 1, 2 and 5, of which the first two are ill; on row 2 the other rule fires too.
    assert cooks_and_nurses.table == TwoByTwo(2, 1, 1, 1)
    assert cooks_and_nurses.unique_coverage == Share(1, 3)
    [line] = [line for line in str(counted).splitlines() if "cook" in line]
    assert re.fullmatch(r"  60.0% +40.0% +66.7% \(.*\) +33.3% +66.7% \(.*\) +1.1×  job is .* old is true", line)
    assert counted._repr_html_().count(">job is cook or nurse and old is true</td>") == 1


def test_rules_that_never_fire_and_rules_that_always_do():
    counted = rule_statistics(rule_set("False", "True"), [[0], [1]], ["class 0", "class 1"], names=["a"])
    never, always = counted.classes
    assert never.cubes == ()
    assert (never.whole.confidence, never.whole.coverage) == (Share(0, 0), Share(0, 1))
    # Nothing is known of the confidence: anything from 0 to 1, over the prevalence of a half.
    assert (never.whole.lift_low, never.whole.lift_high) == (0.0, 2.0)
    assert (always.cubes[0].cube, always.cubes[0].support) == (Cube(), Share(2, 2))
    assert "1.0×  always\n" in str(counted)
    json.dumps(counted.to_dict(), allow_nan=False)


# What may be given ------------------------------------------------------------------------------------------------


def test_raw_tables_packed_rows_and_matrices_count_alike():
    rules = rule_set("old & smoker", "~old", predicates={"old": Predicate("age", ">=", 60)})
    labels = ["class 0", "class 1", "class 0"]
    raw = pd.DataFrame({"age": [70, 30, None], "smoker": [1, 1, 0]})
    bits = np.array([[1, 1], [0, 1], [0, 0]], dtype=bool)
    expected = rule_statistics(rules, raw, labels)
    assert expected["class 1"].whole.confidence == Share(1, 2)
    assert rule_statistics(rules, PackedRows.of(bits, ["old", "smoker"]), labels) == expected
    assert rule_statistics(rules, bits, labels, names=["old", "smoker"]) == expected


@pytest.mark.parametrize(
    ("of_rules", "given"),
    [
        ([0, 1], np.array([0, 1, 1])),
        ([0, 1], ["0", "1", "1"]),
        ([0, 1], [False, True, True]),
        (["0", "1"], [0, 1, 1]),
        ([np.int64(0), np.int64(1)], torch.tensor([0, 1, 1])),
        ([False, True], np.array(["False", "True", "True"])),
        ([0, 1], pd.Series([0, 1, 1], dtype="Int64")),
        (["no", "yes"], pd.Series(["no", "yes", "yes"], dtype="category")),
        ([0.5, "yes"], np.array([0.5, "yes", "yes"], dtype=object)),
    ],
)
def test_labels_are_compared_by_value_and_as_they_are_printed(of_rules, given):
    counted = rule_statistics(rule_set("~a", "a", labels=of_rules), [[0], [0], [1]], given, names=["a"])
    assert [part.whole.table for part in counted.classes] == [TwoByTwo(1, 1, 0, 1), TwoByTwo(1, 0, 1, 1)]
    assert [part["name"] for part in json.loads(json.dumps(counted.to_dict()))["classes"]] == list(map(str, of_rules))


def test_several_labels_a_row():
    rules = rule_set("a", "b", labels=["x", "y"], multilabel=True)
    rows, truth = [[1, 1], [1, 0], [0, 1], [0, 0]], np.array([[1, 1], [1, 0], [0, 0], [0, 1]])
    counted = rule_statistics(rules, rows, truth, names=["a", "b"])
    assert [part.whole.table for part in counted.classes] == [TwoByTwo(2, 0, 0, 2), TwoByTwo(1, 1, 1, 1)]
    assert [part.whole.unique_coverage for part in counted.classes] == [Share(1, 2), Share(0, 2)]
    # Columns with names are taken by them.
    turned = pd.DataFrame(truth[:, ::-1], columns=["y", "x"])
    assert rule_statistics(rules, rows, turned, names=["a", "b"]) == counted
    with pytest.raises(LogicLensError, match="the labels have no column 'y'"):
        rule_statistics(rules, rows, turned[["x"]], names=["a", "b"])
    with pytest.raises(LogicLensError, match=r"0/1 matrix of shape \(4, 2\), got shape \(4,\)"):
        rule_statistics(rules, rows, truth[:, 0], names=["a", "b"])


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ([2.0, 10.0, np.nan], ["2", "10", "missing"]),
        (np.array([10, 2, 2]), ["2", "10"]),
        (["b", "a", None], ["a", "b", "missing"]),
        (np.array(["b", 3, pd.NA], dtype=object), ["3", "b", "missing"]),
        (pd.Series([True, None, False], dtype="boolean"), ["False", "True", "missing"]),
        (
            np.array(["2021-03-01", "NaT", "2020-01-01"], dtype="datetime64[ns]"),
            [str(datetime(2020, 1, 1)), str(datetime(2021, 3, 1)), "missing"],
        ),
        (np.array([1, "1", 1.0], dtype=object), ["1"]),
    ],
)
def test_subgroups_are_named_and_sorted(by, expected):
    counted = rule_statistics(rule_set("a"), [[0], [1], [1]], ["class 0"] * 3, by=by, names=["a"])
    assert (list(counted.subgroups), counted.by) == (expected, "subgroup")
    assert sum(part[0].prevalence.total for part in counted.subgroups.values()) == 3


def test_a_subgroup_may_be_called_all_rows():
    counted = rule_statistics(rule_set("a"), [[0], [1]], ["class 0"] * 2, by=["all rows", "x"], names=["a"])
    assert [record["support_total"] for record in counted.records()] == [2, 2, 1, 1, 1, 1]


def test_what_subgroups_are_called_by():
    def called(by, **more):
        rows = pd.DataFrame({"a": [0, 1], "sex": ["F", "M"]})
        return rule_statistics(rule_set("a"), rows, ["class 0"] * 2, by=by, **more).by

    assert called(None) is None
    assert called("sex") == "sex"
    assert called("sex", by_name="gender") == "gender"
    assert called(pd.Series([1, 2], name="ward")) == "ward"
    assert called([1, 2], by_name="ward") == "ward"


ONE = {"a": [0, 1, 1]}


@pytest.mark.parametrize(
    ("rows", "labels", "more", "message"),
    [
        ({"a": []}, [], {}, "there are no rows to count"),
        (ONE, ["class 0"], {}, r"one label is needed for each of the 3 rows, got shape \(1,\)"),
        (ONE, np.eye(3), {}, r"one label is needed for each of the 3 rows, got shape \(3, 3\)"),
        (ONE, [["class 0"], ["class 0", "class 1"], []], {}, "one label is needed for each of the 3 rows, got lists"),
        (
            ONE,
            ["class 0", "class 9", "class 1"],
            {},
            "there is no class 'class 9'; the classes are 'class 0', 'class 1'",
        ),
        (ONE, ["class 0", None, "class 1"], {}, "a label is missing; leave rows without one out"),
        (ONE, [0.0, float("nan"), 1.0], {}, "a label is missing"),
        (ONE, ["class 0"] * 3, {"weight": [1, 2]}, r"one entry for each of the 3 rows, got shape \(2,\)"),
        (ONE, ["class 0"] * 3, {"weight": [1, 2, -1]}, "weights must be finite, none negative, and not all zero"),
        (ONE, ["class 0"] * 3, {"weight": [0, 0, 0]}, "weights must be finite, none negative, and not all zero"),
        (ONE, ["class 0"] * 3, {"weight": [1, 2, float("nan")]}, "weights must be finite"),
        (ONE, ["class 0"] * 3, {"weight": ["x", "y", "z"]}, "weights must be numbers, one for each row"),
        (ONE, ["class 0"] * 3, {"by": [1, 2]}, r"one subgroup is needed for each of the 3 rows, got shape \(2,\)"),
        (ONE, ["class 0"] * 3, {"by": "b"}, "there is no column 'b'; the columns are 'a'"),
    ],
)
def test_what_cannot_be_counted_is_refused_in_a_sentence(rows, labels, more, message):
    with pytest.raises(LogicLensError, match=message):
        rule_statistics(rule_set("a", "~a"), rows, labels, **more)


def test_more_that_cannot_be_counted():
    many = np.arange(1001)
    with pytest.raises(LogicLensError, match="'age' has 1,001 values, more than 1,000 subgroups"):
        rule_statistics(rule_set("a"), many[:, None] % 2, ["class 0"] * 1001, by=many, by_name="age", names=["a"])
    with pytest.raises(
        LogicLensError, match=r"rows without named columns have no 'sex': pass its values as by=\[\.\.\.\]"
    ):
        rule_statistics(rule_set("a"), [[1]], ["class 0"], by="sex", names=["a"])
    with pytest.raises(UnknownConcept, match="there is no concept 'a'"):
        rule_statistics(rule_set("a"), PackedRows.of([[1]], ["b"]), ["class 0"])
    with pytest.raises(LogicLensError, match="one subgroup is needed for each of the 1 rows, got lists of values"):
        rule_statistics(rule_set("a"), [[1]], ["class 0"], by=pd.Series([["x"]]), names=["a"])
    with pytest.raises(LogicLensError, match="0/1"):
        rule_statistics(rule_set("a", multilabel=True), [[1]], [[2]], names=["a"])


def test_a_million_rows_take_a_moment():
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(12)]
    rows = PackedRows.of(rng.random((10**6, 12)) < 0.5, names)
    cubes = [Cube(Literal(names[i], i % 2 == 0) for i in rng.choice(12, 3, replace=False)) for _ in range(10)]
    rules = rule_set(DNF(cubes[:5]), DNF(cubes[5:]), labels=["x", "y"])
    labels, by = np.array(["x", "y"])[rng.integers(0, 2, 10**6)], rng.integers(0, 4, 10**6)
    start = time.perf_counter()
    counted = rule_statistics(rules, rows, labels, by=by, weight=rng.random(10**6))
    assert time.perf_counter() - start < 2
    assert len(counted.subgroups) == 4
