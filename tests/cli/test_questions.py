"""`why`, `flip` and `check` on saved models, judged by the rules on the same rows."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace

import pandas as pd
import pytest

from logiclens import ClassKnowledge, EntropyClassifier, Knowledge, RuleSet
from logiclens.formula import Complement, Predicate, Rule, parse
from logiclens.formula.english import TableFacts
from tests.cli_runs import exact, logiclens, patients, refused, soft


def test_why_of_a_written_row_is_that_of_the_rules():
    run = logiclens("why", exact().folder, "--row", "age=70,unit=MICU")
    assert run.returncode == 0, run.stderr
    assert run.stdout.rstrip("\n") == str(RuleSet.load(exact().folder).why({"age": 70, "unit": "MICU"}))
    assert run.stderr.startswith("note: trust is how often a rule is right at least")


@pytest.mark.parametrize("question", ["why", "flip"])
def test_a_value_that_no_training_row_had_is_noted(question):
    said = "note: no training row has 'MICUU' in 'unit'; did you mean 'MICU'?"
    assert said in logiclens(question, exact().folder, "--row", "age=70,unit=MICUU").stderr
    assert "no training row" not in logiclens(question, exact().folder, "--row", "age=70,unit=").stderr


def test_rows_of_a_table_are_counted_from_one():
    run = logiclens("why", exact().folder, exact().data, "--rows", "2,5-6", "--json", "-")
    rules, frame = RuleSet.load(exact().folder), pd.read_csv(exact().data)
    told = json.loads(run.stdout)["rows"]
    assert [row["row"] for row in told] == [2, 5, 6]
    assert [row["answer"] for row in told] == rules.predict(frame.iloc[[1, 4, 5]]).tolist()
    for row in told:
        fires = rules.fires(frame.iloc[[row["row"] - 1]])[0].tolist()
        assert [entry["fires"] for entry in row["classes"]] == fires


def test_without_rows_the_first_ten_are_answered_with_a_note():
    run = logiclens("why", soft().folder, soft().data)
    assert run.stdout.count("row ") == 10
    assert "these are the first 10 of 160 rows" in run.stderr
    assert "which may answer otherwise: logiclens predict --why says where it does" in run.stderr


def test_a_change_that_flip_names_changes_the_answer():
    run = logiclens("flip", exact().folder, exact().data, "--rows", "1-30", "--json", "-")
    rules, frame = RuleSet.load(exact().folder), pd.read_csv(exact().data)
    told = json.loads(run.stdout)["rows"]
    assert len(told) == 30
    for row in told:
        before = frame.iloc[[row["row"] - 1]]
        assert row["before"] == rules.predict(before)[0] != row["after"]
        # No single column that is left out of the change does it alone: the change is the smallest.
        [change] = row["changes"] if len(row["changes"]) == 1 else [row["changes"][0]]
        values = {"age": [30.0, 90.0], "unit": ["MICU", "SICU"]}
        [column] = change["columns"]
        alone = [rules.predict(before.assign(**{column: value}))[0] for value in values[column]]
        assert (row["after"] in alone) == (len(row["changes"]) == 1)


def test_flip_keeps_frozen_columns_and_reaches_the_class():
    words = ("flip", exact().folder, "--row", "age=70,unit=MICU", "--json", "-")
    [row] = json.loads(logiclens(*words, "--freeze", "unit", "--to", "no").stdout)["rows"]
    assert (row["after"], row["changes"][0]["columns"]) == ("no", ["age"])
    stays = logiclens(*words[:-2], "--freeze", "unit", "--freeze", "age")
    assert "died stays yes" in stays.stdout
    assert logiclens(*words[:-2], "--to", "yes").stdout == "died is yes already\n"


def test_check_proves_and_refutes_with_the_exit_code():
    holds = logiclens("check", exact().folder, "never uses 'sex'", "never both", "increasing in age", "--of", "yes")
    assert holds.returncode == 2
    assert "leave out of" in holds.stderr
    holds = logiclens("check", exact().folder, "never uses 'sex'", "never both")
    assert (holds.returncode, holds.stdout.count("yes,")) == (0, 2)
    fails = logiclens("check", exact().folder, "decreasing in age", "--of", "yes", "--json", "-")
    assert fails.returncode == 1
    [told] = json.loads(fails.stdout)["properties"]
    assert not told["holds"]
    assert "age" in told["classes"][0]["reason"]


def test_check_prints_the_example_of_its_help(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = [line.strip() for line in logiclens("check", "--help").stdout.splitlines()]
    [place] = [at for at, line in enumerate(shown) if line.startswith("$ ")]
    meant = {"a": Predicate("age", ">=", 40), "b": Predicate("age", ">=", 60)}
    yes = parse("a & ~b")
    rules = RuleSet(
        (Rule("no", Complement(yes), (0.9,)), Rule("yes", yes, (0.9,))),
        meant, resolve="order", otherwise=0, order=(1,), facts=TableFacts("died", whole=("age",), complete=("age",)),
    )  # fmt: skip
    asked = shlex.split(shown[place])
    assert asked[:4] == ["$", "logiclens", "check", "model"]
    of = asked[asked.index("--of") + 1]
    told = [line.strip() for text in asked[4:6] for line in str(rules.check(text, of=of)).splitlines()]
    assert shown[place + 1 : place + 1 + len(told)] == told
    # Every property that it lists can be asked.
    listed = [line.split("  ")[0] for line in shown if re.match("never|increasing|decreasing|monotone|implies", line)]
    asked_of = [text for text in listed if ":" not in text]
    assert len(asked_of) == 7
    for text in asked_of:
        rules.check(text, of=None if "both" in text else "yes")


KNOWN = Knowledge(
    forbidden_columns=["bed"],
    forbidden=["tall"],
    classes={"yes": ClassKnowledge(required_conditions=["age >= 30"], increasing=["age"])},
)


def knowing(folder, knowledge):
    """Save a model that learned within `KNOWN`, and that says to know something else if `knowledge` is another."""
    rows = pd.DataFrame({"age": [25, 35, 61, 74] * 20, "tall": [True, False] * 40, "bed": [1, 2, 3, 4] * 20})
    model = EntropyClassifier(knowledge=KNOWN, verbose=False)
    model.fit(rows, ["no", "no", "yes", "yes"] * 20)
    model.knowledge = knowledge
    return model.save(folder)


def test_check_without_a_property_proves_all_knowledge(tmp_path):
    run = logiclens("check", knowing(tmp_path / "model", KNOWN))
    assert run.returncode == 0, run.stderr
    assert [line.split(": ")[0] for line in run.stdout.splitlines()] == [
        "no rule uses 'bed'", "no rule implies tall", "every rule of yes implies age >= 30",
        "a higher 'age' never takes yes from a row",
    ]  # fmt: skip
    assert run.stdout.count(": yes, ") == 4
    run = logiclens("check", tmp_path / "model", "never uses 'bed'")
    assert (run.returncode, "the knowledge of the model forbids 'bed'" in run.stdout) == (0, True)


def test_check_refutes_broken_knowledge_with_a_row(tmp_path):
    broken = replace(KNOWN, forbidden=["age >= 30"], classes={"yes": ClassKnowledge(required_conditions=["tall"])})
    run = logiclens("check", knowing(tmp_path / "model", broken), "--json", tmp_path / "out.json")
    assert run.returncode == 1, run.stderr
    told = json.loads((tmp_path / "out.json").read_text())["knowledge"]
    assert [one["holds"] for one in told] == [True, False, False]
    assert all("where age is at least" in one["reason"] for one in told[1:])


def test_a_row_is_advised_what_its_command_can():
    said = refused("why", exact().folder, "--row", "age=70,unit=03/04/2022")
    assert said.endswith("could be day/month or month/day: write dates as 2022-09-20 (it holds '03/04/2022').")
    assert "--drop" in refused("explain", "-", "--target", "y", stdin=b"day,y\n03/04/2022,1\n05/06/2022,0\n")
    said = refused("why", exact().folder, "--row", "age=1,unit=A", "--row", "age=2,unit=A", "--row", "age=x,unit=A")
    assert said.endswith("'age' holds numbers and text ('x' in row 3): mend it.")
    run = logiclens("why", exact().folder, "--row", '"unit=MICU,CCU",age=70')
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("why", "{model}"), "name the row with --row"),
        (("why", "{model}", "{data}", "--row", "age=1"), "one of them"),
        (("why", "{model}", "age=1"), "there is no file age=1; a row is given as --row age=1."),
        (("why", "{data}", "{model}"), "data.csv is a file, and a saved model is a folder."),
        (("predict", "{data}", "{model}"), "is a saved model, not a table; a command that takes both"),
        (("why", "{model}", "--row", "age=1", "--rows", "1"), "--rows picks rows of a table"),
        (("why", "{model}", "--row", "unit=MICU"), "the row lacks 'age'"),
        (("why", "{model}", "--row", "agee=1,unit=MICU"), "did you mean 'age'?"),
        (("why", "{model}", "--row", "age=1,age=2,unit=MICU"), "names 'age' twice"),
        (("why", "{model}", "--row", "age"), "--row needs column=value"),
        (
            ("why", "{model}", "--row", "unit=MICU,CCU,age=70"),
            """got 'CCU'; a field with a comma stands in double quotes: --row '"job=a,b",age=70'.""",
        ),
        (("why", "{model}", "--row", '"age=1'), "cannot be read"),
        (("why", "{model}", "--row", "age=old,unit=MICU"), "held numbers in training and holds text now"),
        (("why", "{model}", "--row", "age=inf,unit=MICU"), "is infinite"),
        (("why", "{model}", "--row", "age=1,unit=MICU", "--delimiter", ";"), "are for a table"),
        (("why", "{model}", "{data}", "--rows", "0"), "numbers counted from 1"),
        (("why", "{model}", "{data}", "--rows", "3-1"), "numbers counted from 1"),
        (("why", "{model}", "{data}", "--rows", "1-99999"), "more than 1,000 rows"),
        (("why", "{model}", "{data}", "--rows", "999"), "has 160 rows"),
        (("flip", "{model}", "--row", "age=1,unit=MICU", "--to", "maybe"), "there is no class 'maybe'"),
        (("flip", "{model}", "--row", "age=1,unit=MICU", "--freeze", "agee"), "did you mean 'age'?"),
        (("flip", "{model}", "--row", "age=1,unit=MICU", "--to", "yes", "--of", "no"), "either to"),
        (("check", "{model}", "is fair"), "cannot read the property"),
        (("check", "{model}", "never uses 'agee'"), "did you mean 'age'?"),
        (("check", "{model}", "never both 'yes' and 'yes'"), "two different classes"),
        (("check", "{model}", "increasing in unit"), "no order"),
        (("check", "{model}"), "has no knowledge to prove: name a property"),
        (("check", "{model}", "--of", "yes"), "--of picks a class for a property"),
        (
            ("check", "{model}", "never both", "increasing in agee"),
            "the property 'increasing in agee': the model has no",
        ),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(arguments, message, tmp_path):
    words = [word.format(model=exact().folder, data=exact().data) for word in arguments]
    out = tmp_path / "out.json"
    assert message in refused(*words, "--json", out)
    assert not out.exists()


def test_names_and_values_with_commas_are_written_as_in_csv(tmp_path):
    frame = patients()
    frame["lab, a=b"] = frame["age"]
    frame = frame.drop(columns=["id", "age"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    made = logiclens("explain", "data.csv", "--target", "died", "--save", "model", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    run = logiclens("why", "model", "--row", '"lab, a=b=70",unit=MICU', cwd=tmp_path)
    assert run.stdout.startswith("died is yes, because"), run.stderr


def test_a_fraction_among_whole_numbers_is_noted():
    said = "note: 'age' held whole numbers in training: of 59.5, “to 59” holds too, because it means below 60."
    assert said in logiclens("why", exact().folder, "--row", "age=59.5,unit=MICU").stderr.splitlines()
    assert "held whole numbers" not in logiclens("why", exact().folder, "--row", "age=59,unit=MICU").stderr
