"""The rule sheet of a small result: what its lists and its key say."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from logiclens.cli.output import Printer
from logiclens.cli.sheet import print_sheet
from logiclens.report import read_result
from tests.cli_runs import logiclens
from tests.report_cases import Case, categories, patients, result_of, several_labels


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return json.loads(json.dumps(result_of(patients())))


def sheet(result: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    print_sheet(Printer(), read_result(result))
    return " ".join(capsys.readouterr().out.split())


def lines(case: Case, capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_sheet(Printer(), read_result(json.loads(json.dumps(result_of(case)))))
    return capsys.readouterr().out.splitlines()


def test_the_target_heads_a_class_and_the_rest_comes_last(capsys):
    case = categories()
    said = lines(case, capsys)
    assert [line for line in said if line in ("died is ill", "died is well")] == ["died is ill", "died is well"]
    # With several labels a row, each has a name of its own.
    several = several_labels()
    said = lines(several, capsys)
    assert [line for line in said if line in several.rules.names] == list(several.rules.names)
    assert not any(line.startswith("died is") for line in said)


def test_categories_of_one_column_are_one_line_with_their_rows(capsys):
    case = categories()
    rows = pd.DataFrame({**case.table, "label": case.labels})
    said = lines(case, capsys)
    [place] = [at for at, line in enumerate(said) if "job is cook, nurse or clerk" in line and "•" in line]
    assert said[place] == "  • age is at least 66 and job is cook, nurse or clerk"
    fires = (rows["age"] >= 66) & rows["job"].isin(["cook", "nurse", "clerk"])
    has = rows["label"] == "ill"
    figures = " ".join(said[place + 1 : place + 3])
    counted = f"fires on {fires.sum()} of {len(rows)} rows, decides {fires.sum()}"
    assert f"{counted}; right when it fires {100 * has[fires].mean():.0f}% " in figures
    assert f"finds {100 * fires[has].mean():.0f}% " in figures
    assert "found again in only 1 of 10, less than half with the category found least" in figures
    assert sum("•" in line for line in said) == 2


def test_rules_of_protected_columns_are_in_words_of_the_key(capsys):
    case = categories()
    result = json.loads(json.dumps(result_of(case)))
    classes = result["statistics"]["classes"]
    groups = [{"name": "cook", "classes": classes}]
    result["protected"] = [{"column": "job", "groups": groups, "used_by": [classes[0]["cubes"][0]["text"]]}]
    shown = sheet(result, capsys)
    words = "age is at least 66 and job is cook, nurse or clerk"
    assert f"protected column job: used by {words} where job is cook" in shown
    assert re.search(rf"{words} \[uses it\]: fires on \d+% \(.*\); decides [\d,]+; right when it fires \d+% ", shown)
    assert "∧" not in shown.partition("protected column job")[2].partition("How to read")[0]


def test_lists_of_conditions_are_in_words(result, capsys):
    result = copy.deepcopy(result)
    result["classes"][0]["relevance"][0]["words"] = "the age is high"
    assert "in the rule the age is high █" in sheet(result, capsys)


def test_the_key_defines_the_measures_that_are_shown(result, capsys):
    shown = sheet(result, capsys)
    assert [f"{name} is the " in shown for name in ("Fidelity", "Complexity")] == [True, True]
    assert "Explanation accuracy is how well the rules of each class find it by where they fire" in shown
    assert "Macro-F1 is" not in shown
    fewer = copy.deepcopy(result)
    fewer["metrics"] = [{**result["metrics"][0], "name": "macro-F1 of the rules' decision"}]
    shown = sheet(fewer, capsys)
    assert "Macro-F1 is the mean of the F1 of the classes by what the rules decide" in shown
    assert "Complexity is" not in shown


def test_a_condition_that_gaps_satisfy_shows_both_counts(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.normal(30, 10, 900).round(), "job": rng.choice(["cook", "nurse", "maid"], 900)})
    frame.loc[rng.random(900) < 0.3, "income"] = np.nan
    frame.loc[rng.random(900) < 0.2, "job"] = None
    frame["bad"] = np.where(~(frame["income"] >= 20) & (frame["job"] != "cook"), "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    sheet = logiclens(
        "explain", "t.csv", "--target", "bad", "--save", "m", "--report", "page.html", cwd=tmp_path
    ).stdout
    assert "  • income is below 20 (or missing) and job is not cook\n" in sheet
    numbers = [row["row"] for row in json.loads((tmp_path / "m" / "result.json").read_text())["rows"]]
    held_out = frame.iloc[[number - 1 for number in numbers]]
    assert f"{len(held_out)} are held out" in sheet
    fires = held_out[held_out["bad"] == "yes"]
    gone, unnamed = int(fires["income"].isna().sum()), int(fires["job"].isna().sum())
    said = [
        f"income is missing on {gone}, below 20 on {len(fires) - gone}",
        f"job is missing on {unnamed}, not cook on {len(fires) - unnamed}",
    ]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f"of these rows, {counts}" in sheet and counts in page for counts in said)
    for given, which in (("income=,job=nurse", "income is missing"), ("income=7,job=nurse", "income is below 20")):
        told = logiclens("why", "m", "--row", given, cwd=tmp_path).stdout
        assert told.startswith(f"bad is yes, because: {which}")
        assert all(counts in told for counts in said)
    assert said[0] not in logiclens("why", "m", "--row", "income=50,job=nurse", cwd=tmp_path).stdout
