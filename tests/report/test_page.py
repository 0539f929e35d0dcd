"""The report page as text: a pure function of the result, with numbers recounted from the table."""

from __future__ import annotations

import base64
import copy
import hashlib
import html
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix

from logiclens.errors import LogicLensError
from logiclens.formula import DNF, parse
from logiclens.formula.english import cube_words
from logiclens.formula.rule_set import Rule, RuleSet
from logiclens.formula.rules import CutRange, FoundAgain
from logiclens.formula.text import format_formula
from logiclens.report import Result, read_result, render
from logiclens.report.charts import icon_array, icon_count, loss_chart
from logiclens.report.page import (
    MOST_LEANINGS,
    agreements,
    deciding,
    differing,
    lead,
    no_better,
    shade,
    standing,
    tiles,
)
from logiclens.report.rules import read_rules, unsteady
from logiclens.words import readable
from tests.report_cases import CASES, PREDICATES, Case, categories, patients, result_of
from tests.report_cases import share as counted_share

ROOT = Path(__file__).parents[2]


def saved(case: Case) -> dict[str, Any]:
    """A result as it comes back from its file."""
    return json.loads(json.dumps(result_of(case), allow_nan=False))


def page_of(result: Any) -> str:
    """The page of a result as JSON has it."""
    return render(read_result(result))


def told(sentence: Callable[[Result], str], result: Any) -> str:
    """A sentence of the page about a result as JSON has it."""
    return sentence(read_result(result))


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return saved(patients())


@pytest.fixture(scope="module")
def page(result) -> str:
    return page_of(result)


class Reader(HTMLParser):
    """Elements that could load or run something, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[tuple[str, str]] = []
        self.handlers: list[str] = []
        self.scripts: list[tuple[dict[str, Any], str]] = []
        self.policy, self._inside = "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                self.links.append((name, value))
            if name.startswith("on"):
                self.handlers.append(name)
        if tag == "script":
            self.scripts.append((dict(attributes), ""))
            self._inside = True
        if ("http-equiv", "Content-Security-Policy") in attributes:
            self.policy = dict(attributes)["content"]

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "script"

    def handle_data(self, data):
        if self._inside:
            kind, before = self.scripts[-1]
            self.scripts[-1] = kind, before + data


def plain(page: str) -> str:
    """The text of a page, tags taken out, on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


# One file, the same bytes ------------------------------------------------------------------------------------------


def test_other_processes_make_the_same_bytes(tmp_path, result, page):
    source = tmp_path / "result.json"
    source.write_text(json.dumps(result), encoding="utf-8")
    code = (
        "import json, sys, hashlib; from logiclens.report import read_result, render;"
        "import matplotlib; matplotlib.rcParams.update({'font.size': 31, 'xtick.major.pad': 20, 'svg.hashsalt': None});"
        f"page = render(read_result(json.load(open({str(source)!r}, encoding='utf-8'))));"
        "print(hashlib.sha256(page.encode()).hexdigest())"
    )
    for seed in ("1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo", "LC_ALL": "C"}
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT, check=True
        )
        assert run.stdout.strip() == hashlib.sha256(page.encode()).hexdigest()


def test_rendering_leaves_result_and_matplotlib_as_they_were(result):
    import matplotlib

    before, settings = copy.deepcopy(result), dict(matplotlib.rcParams)
    page_of(result)
    assert result == before
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("name", CASES)
def test_the_page_loads_nothing_and_runs_only_its_script(name):
    reader = Reader(page_of(saved(CASES[name]())))
    assert reader.handlers == []
    assert all(value.startswith("#") for _, value in reader.links)
    (kind, data), (bare, script) = reader.scripts
    assert kind == {"type": "application/json", "id": "data"}
    assert bare == {}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert reader.policy.split("; ") == [
        "default-src 'none'", "style-src 'unsafe-inline'", f"script-src 'sha256-{digest}'", "img-src data:",
        "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    assert not re.search("[<>&\u2028\u2029]", data)
    assert "innerHTML" not in script
    assert '"use strict"' in script


def test_a_large_result_stays_small():
    assert len(page_of(saved(CASES["large"]())).encode()) < 1_000_000


def test_what_the_script_reads_is_what_the_result_says():
    result = saved(CASES["hostile"]())
    data = json.loads(Reader(page_of(result)).scripts[0][1])
    names = [concept["name"] for concept in result["concepts"]]
    assert data["classes"] == [readable(entry["name"]) for entry in result["classes"]]
    words = {c["name"]: (readable(c["words_not"]), readable(c["words"])) for c in result["concepts"]}
    read = [(c["of"], {names[i]: bool(sign) for i, sign in c["if"]}) for c in data["cubes"]]
    stated = [(i, c["if"]) for i, entry in enumerate(result["rules"]["classes"]) for c in entry["cubes"]]
    assert read == stated
    rules = {rule["cubes"][0]: rule["conditions"] for rule in data["rules"] if len(rule["cubes"]) == 1}
    assert [*rules] == [*range(len(stated))]
    for place, (_, literals) in enumerate(stated):
        told = {
            text: [[[names.index(name), int(sign)]]] for name, sign in literals.items() for text in [words[name][sign]]
        }
        assert dict(rules[place]) == told
    assert data["typical"] in {row["bits"] for row in result["rows"]}


# Numbers, counted again --------------------------------------------------------------------------------------------

MEANS = {
    "age is at least 78": "age >= 78", "age is at least 66": "age >= 66",
    "age is below 66 (or missing)": "not age >= 66",
    "sepsis is true": "sepsis == 1", "sepsis is not true": "sepsis != 1", "bmi is at least 30": "bmi >= 30",
    "smoker is true": "smoker == 1", "smoker is not true": "smoker != 1", "unit is CCU": "unit == 'CCU'",
    "unit is not CCU": "unit != 'CCU'",
}  # fmt: skip


def test_every_line_of_the_rule_sheet_counts_what_pandas_counts(result, page):
    case = patients()
    frame = pd.DataFrame({**case.table, "label": case.labels, "row": [entry["row"] for entry in result["rows"]]})
    text = plain(page)
    sheet = {
        "died": ["age is at least 78", "age is at least 66 and sepsis is true",
                 "bmi is at least 30 and smoker is true and unit is not CCU"],
        "survived": ["age is below 66 (or missing) and sepsis is not true", "unit is CCU and smoker is not true"],
    }  # fmt: skip
    for klass, cubes in sheet.items():
        for words in cubes:
            held = frame.query(" and ".join(f"({MEANS[part]})" for part in words.split(" and ")))
            right = (held["label"] == klass).sum()
            line = f"Fires on {len(held)} of {len(frame)} rows; {100 * right / len(held):.0f}% of them are {klass}"
            assert line in text[text.index(f"If {words.replace(' and ', ' and ')}") :]
            # The star stands at rows of another class.
            rows = [
                f"{row}{'' if label == klass else '*'}" for row, label in zip(held["row"], held["label"], strict=True)
            ]
            assert f"{words} {len(held)} rows {', '.join(rows)}" in text


def test_the_first_sentence_and_the_confusion_are_scikit_learns(result, page):
    truth, said = [[row[key] for row in result["rows"]] for key in ("label", "rules")]
    share, always = accuracy_score(truth, said), max(truth.count("died"), truth.count("survived")) / len(truth)
    most = max(("died", "survived"), key=truth.count)
    wanted = (
        f"The rules are right on {100 * share:.1f}% of {len(truth)} rows not used to make them; "
        f"always saying “{most}” is right on {100 * always:.1f}%."
    )
    assert told(lead, result) == wanted
    assert wanted in plain(page)
    for line, name in zip(
        confusion_matrix(truth, said, labels=["died", "survived"]), ["died", "survived"], strict=True
    ):
        assert f"{name} {line[0]} {line[1]}" in plain(page[page.index('id="measured"') :])


def test_rules_are_in_plain_words_before_formal_notation(result, page):
    text = plain(page)
    said = text.index("died is died if age is at least 78, or if age is at least 66 and sepsis is true, or if bmi")
    assert said < text.index(" ".join(result["classes"][0]["formula"].split()))
    assert "died is survived if age is below 66 (or missing) and sepsis is not true, or if unit is CCU" in text


def test_only_so_many_rows_are_listed():
    result = saved(patients(700))
    text = plain(page_of(result))
    listed = re.search(r"sepsis is not true (\d+) rows ([\d*, ]+) and (\d+) more", text)
    total, rows, more = int(listed.group(1)), listed.group(2).split(","), int(listed.group(3))
    assert len(rows) == 200
    assert total == 200 + more


def test_the_page_shows_only_what_the_result_holds():
    text = plain(page_of(saved(CASES["bare"]())))
    for absent in ("Try it", "Subgroups", "Training", "To repeat it", "None", "nan"):
        assert absent not in text
    assert "No row is rare." in text
    assert "The network never predicts 'rare' on these 12 rows. Weigh the class, or gather more of its rows." in text
    case = CASES["bare"]()
    rest = plain(page_of(saved(replace(case, rules=replace(case.rules, otherwise=1)))))
    assert "This is the answer where no rule for common fires." in rest
    assert "died is rare otherwise, where no rule for" in rest
    assert "No row is rare." not in rest
    full = plain(page_of(saved(CASES["certified"]())))
    for present in ("Subgroups by gender", "female", "exact: the rules are the model"):
        assert present in full
    # No network was trained, so there is nothing beside the rules.
    for absent in ("What the network leans on", "Where network and rules differ", "Training curves", "Fidelity"):
        assert absent not in full


def test_subgroups_are_measured_on_their_own_rows():
    result = saved(CASES["certified"]())
    text = plain(page_of(result))
    for group in result["statistics"]["subgroups"]:
        here = group["classes"][2]
        line = f"{group['name']} {here['prevalence']['total']:.0f} {100 * here['prevalence']['value']:.0f}% ("
        assert line in text
        assert f"{100 * here['decision']['precision']['value']:.0f}% (" in text[text.index(line) :][:200]


def test_what_is_decided_is_told_of_each_class(result, page):
    text = plain(page)
    for measured in result["statistics"]["classes"]:
        decision = measured["decision"]
        decided = f"The rules decide for {measured['name']} on {decision['decided']['hits']:.0f} of 356 rows"
        assert f"{decided}: {100 * decision['precision']['value']:.0f}% (" in text
        assert f"; F1 {100 * decision['f1']:.1f}%." in text


def test_otherwise_and_the_order_are_told():
    text = plain(page_of(saved(CASES["one_formula"]())))
    assert "A row is died where a rule for died fires, and survived otherwise." in text
    assert "died is survived otherwise, where no rule for died fires." in text
    assert "The first that applies decides: high, then middle, then low; otherwise middle." in plain(
        page_of(saved(CASES["in_order"]()))
    )


def counted(case: Case, *counts: int | None, cuts: tuple[CutRange, ...] = (), bags: int = 10) -> Case:
    """The case with counts of how often bags found the rules of its first class again."""
    rule, *others = case.rules.rules
    pairs = zip(rule.cubes, counts, strict=True)
    again = {cube: FoundAgain(count, cuts) for cube, count in pairs if count is not None}
    return replace(case, rules=replace(case.rules, rules=(replace(rule, recurs=again, bags=bags), *others)))


def test_each_card_has_what_its_rule_decides_finds_and_recurs():
    case = counted(patients(), 3, None, None, cuts=(CutRange("age", 71, 80),))
    text = plain(page_of(saved(case)))
    answers = [row["rules"] for row in saved(case)["rows"]]
    rows = pd.DataFrame({**case.table, "label": case.labels, "rules": answers})
    decided = rows.query("age >= 78 and rules == 'died'")
    card = text[text.index("Rule 1 for died") : text.index("Rule 2 for died")]
    right = (decided["label"] == "died").mean()
    assert f"It decides all of these {len(rows.query('age >= 78'))} rows." in card
    assert f"{(decided['label'] == 'died').sum()} of {len(decided)} such rows are died." in card
    assert f"Right when it decides {100 * right:.0f}% " in card
    found = (rows.query("age >= 78")["label"] == "died").sum() / (rows["label"] == "died").sum()
    assert f"Finds, of all died {100 * found:.0f}% " in card
    assert f"all rows {100 * (rows['label'] == 'died').mean():.0f}%" in card
    words = "3 of 10 bags found it again, less than half; the cut ranges from 71 to 80"
    assert f"Found again {words}" in card
    assert "Found again" not in text[text.index("Rule 2 for died") : text.index("Rule 3 for died")]


def test_a_card_says_of_which_rows_each_share_is():
    result = saved(patients())
    cube = result["statistics"]["classes"][0]["cubes"][0]
    fires, has = (result["statistics"]["classes"][0]["cubes"][0]["confidence"][key] for key in ("total", "hits"))

    def card() -> str:
        text = plain(page_of(result))
        return text[text.index("Rule 1 for died") : text.index("Rule 2 for died")]

    cube["decided"] = counted_share(2, 5)
    assert f"{100 * has / fires:.0f}% of them are died. It decides 5 of these {fires:.0f} rows. " in card()
    assert "2 of 5 rows that it decides are died." in card()
    assert "such rows" not in card()
    cube["decided"] = counted_share(0, 0)
    assert f"It decides none of these {fires:.0f} rows." in card()


def glossary(page: str) -> list[str]:
    """The words that the page defines."""
    return re.findall(
        r"<dt>([^<]*)</dt>", page[page.index('<dl class="glossary">') : page.index('id="data-and-model"')]
    )


def test_the_page_defines_each_label_shown(result):
    result = copy.deepcopy(result)
    shown = page_of(result)
    assert {"Right when it decides", "Right when it fires", "Explanation accuracy", "Complexity"} <= {*glossary(shown)}
    assert "or consistency" not in shown
    assert "Macro-F1" not in glossary(shown)
    named = [{**result["metrics"][0], "name": name} for name in ("model accuracy", "macro-F1 of the rules' decision")]
    words = glossary(page_of({**result, "metrics": named}))
    assert "Macro-F1" in words
    assert not {"Explanation accuracy", "Complexity"} & {*words}


def test_tiles_hold_the_outcome_its_baseline_and_the_size(result):
    first, second, third, fourth = told(tiles, result)
    head = result["headline"]
    assert (first.value, second.value) == tuple(f"{100 * head[k]['value']:.1f}%" for k in ("right", "always_right"))
    assert (third.value, third.note) == ("5 rules", "with 10 conditions on 5 columns")
    assert fourth.value == "96%"
    assert told(tiles, changed(result, certified=PROOF))[-1].value == "Equal"
    assert told(tiles, changed(result, equals_network=True))[-1].value == "Same answers"
    assert told(tiles, changed(result, fidelity=None))[-1].value == "Not measured"
    labels = told(tiles, saved(CASES["several_labels"]()))
    assert (labels[0].label, labels[0].value) == ("Mean F1 of the labels", "50.0%")


def test_costs_decide_whether_rules_beat_a_constant_answer(result):
    worse = copy.deepcopy(result)
    worse["headline"]["right"] = worse["headline"]["always_right"]
    worse["costs"] = [
        {"answer": None, "total": 30.0, "mean": 0.3},
        {"answer": "died", "total": 90.0, "mean": 0.9},
        {"answer": "survived", "total": 40.0, "mean": 0.4},
    ]
    assert told(no_better, worse) == ""
    assert told(lead, worse).endswith("they cost 0.3 a row, and always saying “survived” costs 0.4.")
    assert "Always “survived” 40 0.4" in plain(page_of(worse))
    worse["costs"][0]["total"] = 40.0
    assert told(no_better, worse).endswith("cost 40 by the costs given, and always saying “survived” costs 40.")


def test_rules_that_beat_no_baseline_say_so(result, page):
    assert told(no_better, result) == ""
    assert "not better than always saying" not in plain(page)
    assert "as often as always saying" not in plain(page)
    worse = copy.deepcopy(result)
    worse["headline"]["right"] = worse["headline"]["always_right"]
    share = 100 * worse["headline"]["always_right"]["value"]
    assert told(lead, worse).endswith(f"which is no better than always saying “survived” ({share:.1f}%).")
    decided = worse["statistics"]["classes"][0]["decision"]
    finds, right = (f"{100 * decided[name]['value']:.0f}%" for name in ("recall", "precision"))
    assert told(no_better, worse) == (
        "On the held-out rows, these rules are right as often as always saying “survived”, and they find "
        f"{finds} of the rows where {worse['data']['target']} is died (precision {right})."
    )
    assert told(no_better, worse) in plain(page_of(worse))
    # Rows that get the class have it no more often than all rows.
    decided["precision"]["low"] = worse["statistics"]["classes"][0]["prevalence"]["value"]
    assert told(no_better, worse) == (
        "Do not rely on these rules: on the held-out rows they are not better than always saying “survived”."
    )
    assert told(no_better, worse) in plain(page_of(worse))
    worse["headline"]["right"] = {**worse["headline"]["right"], "value": share / 100 - 0.1}
    assert told(lead, worse).endswith(f"which is worse than always saying “survived” ({share:.1f}%).")
    decided["precision"]["low"] = 1.0
    assert told(no_better, worse) == (
        "On the held-out rows, these rules are right less often than always saying “survived”, but they find "
        f"{finds} of the rows where {worse['data']['target']} is died (precision {right}): use them only where that is "
        "worth more errors."
    )


# Sentences ---------------------------------------------------------------------------------------------------------


def test_rules_not_to_be_relied_on_are_warned_of():
    case = patients()
    for count, share, said in (
        (0, (3, 4), "the search found it again in none of 10 samples of the rows."),
        (1, (3, 4), "the search found it again in only 1 of 10 samples of the rows."),
        (2, (3, 4), ""),
        (5, (0, 4), "it is right on none of the 4 held-out rows that it decides."),
        (5, (0, 0), "it decides no held-out row, so nothing is known of how often it is right."),
    ):
        content = saved(counted(case, count, 10, 10))
        content["statistics"]["classes"][0]["cubes"][0]["decided"] = counted_share(*share)
        read = read_result(content)
        wanted = said and f"Do not rely on this rule: {said}"
        own = read_rules(read.rules, read.statistics.classes[0], read.classes[0], rows="held-out row")
        assert own[0].doubt == wanted
        assert plain(render(read)).count("Do not rely on this rule") == bool(said)
    # Too few bags say nothing.
    read = read_result(saved(counted(case, 0, 4, 4, bags=4)))
    assert [one.doubt for one in read_rules(read.rules, read.statistics.classes[0], read.classes[0])] == ["", "", ""]


def test_categories_of_one_column_are_one_card_with_numbers():
    case = categories()
    text = plain(page_of(saved(case)))
    assert "ill if age is at least 66 and job is cook, nurse or clerk, or if sepsis is true." in text
    assert "To read 2 rules with 3 conditions on 3 columns" in text
    card = text[text.index("Rule 1 for ill") : text.index("Rule 2 for ill")]
    assert "Rule 3 for ill" not in text
    assert "If age is at least 66 and job is cook, nurse or clerk then died is ill" in card
    rows = pd.DataFrame({**case.table, "label": case.labels})
    fires = (rows["age"] >= 66) & rows["job"].isin(["cook", "nurse", "clerk"])
    has = rows["label"] == "ill"
    assert f"Fires on {fires.sum()} of {len(rows)} rows" in card
    assert f"{100 * has[fires].mean():.0f}% of them are ill" in card
    assert f"Finds, of all ill {100 * fires[has].mean():.0f}% " in card
    # With two classes the rules decide wherever a rule fires.
    assert f"Right when it decides {100 * has[fires].mean():.0f}% " in card
    assert "Found again 1 of 10 bags found it again with the category found least, less than half" in card
    assert "Do not rely on this rule where job is nurse: the search found it again in only 1 of 10" in card
    line = text[text.index("Silent, is not") :]
    alone = fires & ~rows["sepsis"].astype(bool)
    assert f"clerk {100 * has[fires].mean():.0f}% " in line
    assert f"{100 * (alone & has).sum() / has.sum():.0f}% " in line
    assert f" {(fires & has).sum()} {(fires & ~has).sum()} {(~fires & has).sum()} {(~fires & ~has).sum()} " in line


def changed(result: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A result whose classes say otherwise."""
    return {**result, "classes": [{**entry, **fields} for entry in result["classes"]]}


def test_the_header_says_whether_the_rules_are_the_model(result):
    proof = PROOF
    assert told(standing, changed(result, certified=proof)).startswith(
        "The rules are the model: for every class it is proved"
    )
    partly = changed(result, certified=None)
    partly["classes"][0]["certified"] = proof
    assert told(standing, partly) == (
        "The rules are the model for died (proved); for survived they only approximate it."
    )
    assert "for other rows nothing is proved" in told(standing, changed(result, equals_network=True))
    assert told(standing, result).endswith("the share above says how often the two give the same answer.")
    assert "not measured" in told(standing, changed(result, fidelity=None))
    certified = plain(page_of(changed(result, certified=proof)))
    assert "same answer on all 4 rows of its 2 concepts. The closest call is 1, rounding is off by 1e-06" in certified


def test_how_an_answer_comes_about_is_said(result):
    assert "Where none fires, the answer is survived." in told(deciding, result)
    unsure = {**result, "rules": {**result["rules"], "otherwise": None}}
    assert "Where none fires, the row stays undecided." in told(deciding, unsure)
    assert "exactly that class" in told(deciding, {**result, "rules": {**result["rules"], "resolve": "none"}})
    assert "several labels" in told(deciding, {**result, "rules": {**result["rules"], "multilabel": True}})
    firing = result["firing"]
    assert f"{firing['one']} fire the rules of exactly one class, {firing['none']} of none" in told(deciding, result)


PROOF = {
    "domain": "all 4 rows of its 2 concepts",
    "smallest_logit": 1.0,
    "rounding_bound": 1e-6,
    "origin": "compiled from the formula",
}


def test_where_network_and_rules_differ_is_said(result):
    assert told(differing, result) == "The summary says how often they give the same answer."
    unknown = {**changed(result, fidelity=None), "gap": None}
    assert told(differing, unknown) == "The rows on which they differ were not looked into."
    assert told(differing, {**changed(result, equals_network=True), "gap": None}).startswith("On none of the rows")
    assert (
        told(differing, {**changed(result, certified=PROOF), "gap": None})
        == "Nowhere: it is proved that they answer alike."
    )
    assert "11 change when the network sees its relevant concepts only" in plain(page_of(result))


def test_one_agreement_is_in_the_summary_and_others_are_folded(result):
    unequal = changed(result)
    unequal["classes"][0]["fidelity"] = 0.9
    page = page_of(unequal)
    summary = plain(page[page.index('<section id="summary"') : page.index('<section id="rules"')])
    assert re.findall(r"(\S+) the same answer", summary) == ["90%", "give"]
    unfolded = plain(re.sub(r"<details.*?</details>", "", page[: page.index('id="data"')], flags=re.DOTALL))
    assert unfolded.count("90%") == 1
    assert "95.5" not in unfolded
    assert "idelity" not in unfolded
    said = [(one.share, one.counts.partition(":")[0]) for one in told(agreements, unequal)]
    assert said == [
        ("90.0%", "of the rows that the rules were made from"),
        ("95.5%", "of the rows that the rules were made from"),
        ("95.5%", "of the answers to held-out rows, one for each row and class"),
    ]
    assert all(one.counts in plain(page) for one in told(agreements, unequal))
    assert told(agreements, changed(result, certified=PROOF)) == ()
    assert [one.share for one in told(agreements, {**result, "metrics": []})] == ["95.5%", "97.8%"]


def test_rules_that_are_not_steady_are_named_first():
    case = patients()
    steady, none = told(unsteady, saved(counted(case, 5, 10, 10))), told(unsteady, saved(case))
    assert (steady, none) == ("", "")
    some = saved(counted(case, 4, 10, 10))
    said = "Not steady is “age is at least 78” (found again in only 4 of 10, less than half)."
    assert told(unsteady, some) == said
    page = plain(page_of(some))
    assert page.index(said) < page.index("Summary")
    alone = replace(case, rules=replace(case.rules, rules=(case.rules.rules[0], Rule("survived", DNF.false, ()))))
    every = saved(counted(alone, 4, 0, 1))
    assert told(unsteady, every).startswith("No rule of this table is steady: ")


def test_protected_columns_are_told_in_the_words_of_rules():
    case = CASES["certified"]()
    rule, facts = case.rules.rules[1], case.rules.facts
    symbols = format_formula(rule.cubes[0], "unicode")
    result = saved(case)
    result["protected"] = [{"column": "gender", "groups": result["statistics"]["subgroups"], "used_by": [symbols]}]
    section = plain(page_of(result).partition('<section id="knowledge"')[2].partition("</section>")[0])
    assert cube_words(rule.cubes[0], case.rules.predicates, facts) in section
    assert "∧" not in section
    assert "¬" not in section


def test_protected_columns_show_several_categories_as_one_rule():
    case = categories()
    result = saved(case)
    texts = [cube["text"] for cube in result["statistics"]["classes"][0]["cubes"]]
    classes = result["statistics"]["classes"]
    groups = [{"name": "all of them", "classes": classes}]
    result["protected"] = [{"column": "job", "groups": groups, "used_by": [texts[0], *texts[2:]]}]
    section = page_of(result).partition('<section id="knowledge"')[2].partition("</section>")[0]
    words = "age is at least 66 and job is cook, nurse or clerk"
    rows = pd.DataFrame({**case.table, "label": case.labels})
    fires, has = (rows["age"] >= 66) & rows["job"].isin(["cook", "nurse", "clerk"]), rows["label"] == "ill"
    assert f"Rules that use it: “{words}”. A rule" in plain(section)
    [line] = [row for row in section.split("<tr>") if f"{words} (uses it)</td>" in row]
    shares = [f"{100 * share:.0f}% " for share in (fires.mean(), has[fires].mean(), fires[has].mean())]
    assert [share in plain(line) for share in shares] == [True, True, True]
    assert "A class selects the rows that are decided for it, a rule those on which it fires." in plain(section)


def test_equal_answers_of_network_and_rules_are_one_table(result):
    network = {**result["confusion_of_rules"], "of": "the network"}
    counts = [list(row) for row in network["counts"]]
    counts[0][0], counts[0][1] = counts[0][0] - 1, counts[0][1] + 1
    for other, heads in ((network, 1), ({**network, "counts": counts}, 2)):
        text = page_of({**result, "confusion": other})
        assert text.count('<table class="confusion">') == heads
        assert ("What the network and the rules said of which rows" in text) == (heads == 1)
    assert text.index("What the network said of which rows") < text.index("What the rules said of which rows")


def test_try_it_says_intervals_as_the_rules_do():
    case = patients()
    facts = replace(case.rules.facts, whole=("age",), complete=("age",))
    between = parse('"age >= 66" & ~"age >= 78"')
    rules = RuleSet(
        (Rule("died", between, (0.7,)), Rule("survived", parse("smoker"), (0.6,))), PREDICATES, facts=facts, otherwise=1
    )
    page = page_of(saved(replace(case, rules=rules)))
    data = json.loads(Reader(page).scripts[0][1])
    assert "age from 66 to 77" in plain(page)
    assert [words for unit in data["units"] for _, words, _ in unit["states"]][:3] == [
        "age is below 66", "age from 66 to 77", "age is at least 78",
    ]  # fmt: skip


def test_a_rule_with_few_rows_has_as_many_dots():
    result = saved(patients())
    shares = (counted_share(6, 6), counted_share(3, 8), counted_share(150, 200))
    for cube, one in zip(result["statistics"]["classes"][0]["cubes"], shares, strict=True):
        cube["decided"] = one
    page = page_of(result)
    assert re.findall(r'class="icons" [^>]*aria-label="([^"]*died)"', page)[:3] == [
        "6 of 6 rows that it decides are died", "3 of 8 rows that it decides are died",
        "75 of 100 rows that it decides are died",
    ]  # fmt: skip


def test_the_comparison_with_one_condition_is_honest(result):
    def said(own: float, simplest: float) -> str:
        return plain(page_of(changed(result, f1=own, simplest={"text": "age is at least 61", "f1": simplest})))

    assert "The rules do no better than this one condition." in said(0.7, 0.7)
    assert "The rules are ahead by 10.0 points." in said(0.8, 0.7)
    assert "The rules are hardly ahead." in said(0.7003, 0.7)
    assert "“age is at least 61”, scores 70.0%" in said(0.8, 0.7)


def test_shades_of_the_confusion_grow_with_the_share():
    assert [shade([v, 100 - v], v) for v in (0, 1, 24, 25, 50, 75, 100)] == [0, 1, 1, 2, 3, 4, 4]


# Charts ------------------------------------------------------------------------------------------------------------


def test_relevance_shows_the_rule_first_and_reasons_unfolded(result):
    shares = [("a", 0.4, True), ("b", 1.0, False), ("c", 0.9, True), ("d", 0.5, False), ("e", 0.7, False)]
    entries = [
        {
            "concept": name,
            "relevance": share,
            "used": used,
            "reason": "" if used else f"why not {name}",
            "words": name * 2,
        }
        for name, share, used in shares
    ]
    page = page_of(changed(result, relevance=entries))
    section = page[page.index('<section id="relevance"') : page.index('<section id="more"')]
    assert "<details" not in section
    text = plain(section)
    first = text[text.index("In the rules") : text.index("In the rules", text.index("Not in the rules, and why") + 30)]
    assert first.split() == [
        "In",
        "the",
        "rules",
        "cc",
        "0.90",
        "aa",
        "0.40",
        "Not",
        "in",
        "the",
        "rules,",
        "and",
        "why",
        "bb",
        "1.00",
        "Why",
        "not",
        "b.",
        "ee",
        "0.70",
        "Why",
        "not",
        "e.",
        "dd",
        "0.50",
        "Why",
        "not",
        "d.",
        "died",
        "is",
        "survived",
    ]
    assert section.count('class="used" style="width: 90.0%"') == 2
    assert section.count('<span style="width: 100.0%"') == 2


def test_conditions_of_little_relevance_are_folded_away(result):
    entries = [{"concept": f"c{i}", "relevance": 1 - i / 40, "used": False, "reason": "why"} for i in range(20)]
    page = page_of(changed(result, relevance=entries))
    section = page[page.index('<section id="relevance"') : page.index('<section id="more"')]
    shown, folded = section.split("<details", 1)
    assert re.findall(r"c\d+(?=</span>)", shown) == [f"c{i}" for i in range(MOST_LEANINGS)]
    assert "8 less relevant conditions" in folded


def test_charts_take_the_pages_colours_and_have_unique_ids(result):
    history = read_result(result).history
    first, second = (loss_chart(history, key=key, label="a & b") for key in ("one", "two"))
    assert not re.search(r"#[0-9a-f]{6}\b", first)
    assert "<metadata" not in first
    assert "<style" not in first
    ids = [set(re.findall(r' id="([^"]*)"', svg)) for svg in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert ElementTree.fromstring(first).get("aria-label") == "a & b"


@given(st.integers(0, 130).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_icons_are_as_many_as_said(counts):
    full, total = counts
    drawn = ElementTree.fromstring(icon_array(full, total, label="a < b"))
    dots = {
        path.get("class"): sum((int(h) + 9) // 10 for h in re.findall(r"h(-?\d+)", path.get("d"))) for path in drawn
    }
    assert (dots.get("full", 0), dots.get("hollow", 0)) == (full, total - full)
    assert drawn.get("viewBox") == f"0 0 200 {10 * math.ceil(total / 20)}"


@given(st.floats(0, 1))
def test_only_all_or_none_fills_all_or_no_icons(share):
    full = icon_count(share)
    assert abs(full - 100 * share) <= 1
    assert (full in (0, 100)) == (share in (0, 1))


def test_curves_leave_out_what_is_not_there(result):
    history = read_result(result).history
    gone = replace(history, validation_loss=(None,) * 180)
    both, one = (loss_chart(curves, key="k", label="loss") for curves in (history, gone))
    assert "validation" in both
    assert "validation" not in one
    assert "epoch kept" in one


# What is refused ---------------------------------------------------------------------------------------------------


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every field of every object, in the first entry of each list."""
    if isinstance(value, dict):
        free = path[-1:] in (("versions",), ("rules",))
        inner = [] if free else [found for key, entry in value.items() for found in leaves(entry, (*path, key))]
        return [path] * bool(path) + inner
    if isinstance(value, list):
        return [path, *(leaves(value[0], (*path, 0)) if value else [])]
    return [path]


def without(result: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    copied = copy.deepcopy(result)
    inner = copied
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return copied


LATER = {"origin", "headline", "inputs", "reason", "words"}
"""Fields that a result may lack."""


def test_every_field_that_is_missing_is_named():
    result = changed(saved(patients()), certified=PROOF)
    checked = 0
    for path in leaves(result):
        if isinstance(path[-1], int) or path[0] in ("kind", "schema") or path[-1] in LATER:
            continue
        place = ".".join(map(str, path)).replace(".0", "[0]")
        with pytest.raises(LogicLensError) as caught:
            read_result(without(result, path))
        assert str(caught.value) == f"the result lacks {place!r}."
        checked += 1
    assert checked > 130


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("kind",), "recipe", "the report is made from a saved result, whose 'kind' is 'logiclens result'."),
        (("schema",), 3, "the report reads results of schema 2, got 3; explain the data again to renew it."),
        (("schema",), True,
         "the report reads results of schema 2, got True; explain the data again to renew it."),
        (("title",), 3, "'title' of the result must be a text, got 3."),
        (("exact",), 1, "'exact' of the result must be true or false, got 1."),
        (("seed",), True, "'seed' of the result must be a whole number, got True."),
        (("rows", 0, "row"), 1.5, "'rows[0].row' of the result must be a whole number, got 1.5."),
        (("gap", "agree"), float("nan"), "'gap.agree' of the result must be a finite number, got nan."),
        (("later",), 1, "the result has an unknown field 'later'."),
        (("rows", 0, "later"), 1, "the result has an unknown field 'rows[0].later'."),
        (("classes",), {}, "'classes' of the result must be a list, got {}."),
        (("data",), [], "'data' of the result must be an object, got []."),
        (("rows", 0, "bits"), "01", "row 3 of the result needs one 0 or 1 for each of 6 concepts."),
        (("rows", 0, "bits"), "01012x", "row 3 of the result needs one 0 or 1 for each of 6 concepts."),
        (("concepts", 1, "name"), "age >= 78", "'concepts' of the result names a concept twice."),
        (("concepts", 0, "name"), "x", "the result uses the concept 'age >= 78', which is not among its 'concepts'."),
        (("exclusive",), [["y"]], "the result uses the concept 'y', which is not among its 'concepts'."),
        (("rules", "resolve"), "x",
         "the JSON is not a rule set: 'resolve' must be 'order', 'confidence' or 'none', got 'x'."),
        (("classes", 0, "name"), "dead",
         "the classes of the result are ['dead', 'survived'], but those of rules are ['died', 'survived']."),
        (("statistics", "classes", 1, "cubes"), [],
         "the statistics of 'survived' are not about the cubes of its rules."),
        (("confusion", "counts", 0), [1.0],
         "'confusion' of the result needs a row for each label and a column for each answer."),
        (("history", "penalty"), [0.1], "the curves in 'history' of the result differ in length."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(result, path, value, message):
    broken = copy.deepcopy(result)
    inner = broken
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(LogicLensError) as caught:
        page_of(broken)
    assert str(caught.value) == message


def test_what_is_no_result_is_refused():
    with pytest.raises(LogicLensError, match="made from a saved result"):
        read_result("result.json")


def test_importing_the_report_loads_neither_library():
    code = "import sys, logiclens.report; print(sorted({'jinja2', 'matplotlib', 'torch', 'pandas'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
