"""Saved models on the real command line, checked with pandas, scikit-learn, DuckDB, sympy and the library."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
import sympy

from logiclens import EntropyClassifier, RuleSet
from logiclens.cli.saved_model import SavedModel
from logiclens.formula import DNF, Complement, Predicate, Rule, parse
from logiclens.formula.english import TableFacts
from logiclens.formula.record import to_dict
from logiclens.formula.rules import FoundAgain
from logiclens.tables.files import read_table
from tests.cli_runs import ENVIRONMENT, exact, explain, logiclens, patients, refused, soft, three, with_states


def printed(run: subprocess.CompletedProcess[str]) -> pd.DataFrame:
    """What `predict` printed, as a table of texts."""
    assert run.returncode == 0, run.stderr
    return pd.read_csv(pd.io.common.StringIO(run.stdout), dtype=str, keep_default_na=False)


def predicted(run: subprocess.CompletedProcess[str]) -> list[str]:
    return printed(run).iloc[:, 1].tolist()


@pytest.fixture(scope="module")
def new(tmp_path_factory) -> Path:
    """Rows that no model has seen, with a category and gaps that were not there."""
    frame = patients(90, seed=7)
    frame.loc[:4, "unit"] = "ER"
    frame.loc[5:9, "unit"] = None
    path = tmp_path_factory.mktemp("new") / "new.csv"
    frame.to_csv(path, index=False)
    return path


# predict ----------------------------------------------------------------------------------------------------------


def test_an_exact_model_predicts_as_its_rules_and_as_sql(new):
    answers = predicted(logiclens("predict", exact().folder, new))
    by_rules = RuleSet.load(exact().folder).predict(pd.read_csv(new))
    assert answers == by_rules.tolist()
    sql = logiclens("export", exact().folder, "--to", "sql", "--table", "people").stdout
    with duckdb.connect() as base:
        base.execute(f"CREATE TABLE people AS SELECT row_number() OVER () AS place, * FROM read_csv('{new}')")
        assert answers == [
            row[0] for row in base.execute(f'SELECT "prediction" FROM ({sql}) ORDER BY place').fetchall()
        ]
    assert set(answers) == {"yes", "no"}


def test_a_soft_model_predicts_as_its_network_does(new):
    table = printed(logiclens("predict", soft().folder, new))
    model = EntropyClassifier.load(soft().folder)
    rows = read_table(new).frame[list(model.feature_names_in_)]
    assert table["predicted died"].tolist() == [str(label) for label in model.predict(rows)]
    probability = model.predict_proba(rows).max(axis=1)
    np.testing.assert_allclose(table["probability"].astype(float), probability, atol=5e-5)


def test_with_rules_a_soft_model_lets_its_rules_decide(new):
    table = printed(logiclens("predict", soft().folder, new, "--rules", "--why"))
    rules = RuleSet.load(soft().folder)
    rows = pd.read_csv(new)
    assert table["predicted died"].tolist() == [str(label) for label in rules.predict(rows)]
    assert not table["why"].str.contains("network").any()


def test_score_prints_the_otherwise_class_last(tmp_path):
    table = tmp_path / "patients.csv"
    patients(90, seed=7).to_csv(table, index=False)
    rules = RuleSet.load(exact().folder)
    (left,) = [rule.name for rule in rules.rules if rule.is_complement]
    heads = [
        line
        for line in logiclens("score", exact().folder, table).stdout.splitlines()
        if re.match("died is .*: [0-9]", line)
    ]
    assert len(heads) == 2
    assert heads[-1].startswith(f"died is {left}:")


def test_why_says_where_network_and_rules_differ(new):
    model, rows = SavedModel(soft().folder), pd.read_csv(new)
    by_rules = model.rules.predict(rows)
    # A network that says the other class in the first row only.
    other = next(rule.label for rule in model.rules.rules if rule.label != by_rules[0])
    answers = by_rules.copy()
    answers[0] = other
    reasons, agreed = model.reasons(rows, answers), model.reasons(rows, by_rules)
    assert reasons[0] == f"the network decides died is {other}, but the rules say died is {by_rules[0]}: {agreed[0]}"
    assert reasons[1:] == agreed[1:]


def test_why_names_a_rule_that_holds_on_the_row(new):
    table, rows = printed(logiclens("predict", exact().folder, new, "--why")), pd.read_csv(new)
    rules = RuleSet.load(exact().folder)
    assert table["row"].tolist() == [str(i + 1) for i in range(len(rows))]
    # The English of the two columns that matter, read back.
    holds = {"unit is MICU": rows["unit"] == "MICU", "unit is not MICU": rows["unit"] != "MICU"}
    (cut,) = [
        predicate.value
        for predicate in rules.predicates.values()
        if predicate.column == "age" and predicate.value is not True
    ]
    holds |= {
        f"age is at least {cut:g}": rows["age"] >= cut,
        f"age is below {cut:g} (or missing)": ~(rows["age"] >= cut),
    }
    yes = rules.fires(rows)[:, rules.names.index("yes")]
    for row, said in enumerate(table["why"]):
        if said == "otherwise: no rule of the other class fires":
            assert not yes[row]
        else:
            assert yes[row]
            assert all(holds[part][row] for part in said.split(" and ")), said
    assert table["why"].nunique() > 1


@pytest.mark.parametrize("form", [".tsv", ".jsonl", ".parquet", "bom and crlf", "cr", "packed stdin"])
def test_a_table_may_come_in_any_form(form, new, tmp_path):
    frame, text = pd.read_csv(new), new.read_text()
    path, stdin = tmp_path / f"other{form if form.startswith('.') else '.csv'}", b""
    if form == ".tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif form == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif form == ".parquet":
        frame.to_parquet(path)
    elif form == "bom and crlf":
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    elif form == "cr":
        path.write_bytes(text.replace("\n", "\r").encode())
    else:
        path, stdin = Path("-"), gzip.compress(text.encode())
    expected = RuleSet.load(exact().folder).predict(frame).tolist()
    assert predicted(logiclens("predict", exact().folder, path, stdin=stdin)) == expected


@pytest.mark.parametrize("name", ["out.csv.gz", "out.tsv", "out.jsonl", "out.parquet"])
def test_predictions_are_written_as_the_name_says(name, new, tmp_path):
    run = logiclens("predict", exact().folder, new, "--why", "-o", tmp_path / name)
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr == f"90 rows are in {tmp_path / name}.\n"
    if name.endswith(".parquet"):
        table = pd.read_parquet(tmp_path / name)
    elif name.endswith(".jsonl"):
        # pandas rounds the last digit of a number in JSON.
        table = pd.DataFrame([json.loads(line) for line in (tmp_path / name).read_text().splitlines()])
    else:
        table = pd.read_csv(tmp_path / name, sep="\t" if name.endswith(".tsv") else ",")
    rules, rows = RuleSet.load(exact().folder), pd.read_csv(new)
    assert list(table.columns) == ["row", "predicted died", "probability", "why"]
    assert table["row"].tolist() == list(range(1, 91))
    assert table["predicted died"].tolist() == rules.predict(rows).tolist()
    assert table["probability"].tolist() == rules.confidence(rows).max(axis=1).round(4).tolist()
    assert table["why"].str.len().gt(0).all()


def test_json_on_standard_output_is_json_and_nothing_else(new):
    run = logiclens("predict", soft().folder, new, "--rules", "--json", "-")
    content = json.loads(run.stdout)
    assert (run.returncode, run.stderr) == (0, "")
    expected = RuleSet.load(soft().folder).predict(pd.read_csv(new))
    assert [row["predicted died"] for row in content["rows"]] == expected.tolist()


def test_columns_may_be_in_any_order_and_more_than_needed(new):
    frame = pd.read_csv(new)
    other = frame[list(reversed(frame.columns))].assign(more=1).to_csv(index=False).encode()
    assert predicted(logiclens("predict", exact().folder, "-", stdin=other)) == predicted(
        logiclens("predict", exact().folder, new)
    )


# score ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("made", "target"), [(exact, "died"), (three, "state")], ids=["exact", "soft"])
def test_score_is_what_scikit_learn_finds(made, target, tmp_path):
    frame = patients(200, seed=11) if made is exact else with_states(patients(200, seed=11))
    frame.to_csv(tmp_path / "known.csv", index=False)
    run = logiclens("score", made().folder, "known.csv", "--json", "score.json", "--by", "sex", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    told, rows = json.loads((tmp_path / "score.json").read_text()), read_table(tmp_path / "known.csv").frame
    rules, truth = RuleSet.load(made().folder), frame[target].to_numpy()
    answers = by_rules = rules.predict(rows)
    if made is three:
        model = EntropyClassifier.load(made().folder)
        answers = model.predict(rows[list(model.feature_names_in_)])
        assert told["accuracy_of_the_rules"]["value"] == sklearn.metrics.accuracy_score(truth, by_rules)
        assert told["agreement"]["value"] == sklearn.metrics.accuracy_score(answers, by_rules)
    assert told["accuracy"]["value"] == sklearn.metrics.accuracy_score(truth, answers)
    assert f"{100 * told['accuracy']['value']:.1f}%" in run.stdout
    names = list(rules.names)
    for key, said in (("confusion", answers), ("confusion_of_rules", by_rules)):
        wanted = sklearn.metrics.confusion_matrix(truth.astype(str), said.astype(str), labels=names)
        assert told[key]["counts"] == wanted.tolist()
    assert told["macro_f1"] == pytest.approx(sklearn.metrics.f1_score(truth, by_rules, average="macro"))
    tables = [{**told[key], "of": ""} for key in ("confusion", "confusion_of_rules")]
    is_same = tables[0] == tables[1] and not told["exact"]
    assert ("truly is, and what the rules said" in run.stdout) is not is_same
    assert ("truly is, and what the network and the rules said" in run.stdout) is is_same
    fires = rules.fires(rows)
    # Where none or several fire, what fires is not what is answered: the judge can tell the two apart.
    assert made is exact or (fires.sum(axis=1) != 1).any()
    for place, counted in enumerate(told["statistics"]["classes"]):
        label = rules.rules[place].label
        is_class, fired = truth == label, fires[:, place]
        decided, answered = counted["decision"], by_rules == label
        assert told["f1"][counted["name"]] == pytest.approx(sklearn.metrics.f1_score(is_class, answered), abs=1e-12)
        assert decided["f1"] == told["f1"][counted["name"]]
        assert decided["precision"]["value"] == sklearn.metrics.precision_score(is_class, answered)
        assert decided["recall"]["value"] == sklearn.metrics.recall_score(is_class, answered)
        assert f"F1 {100 * decided['f1']:.1f}%" in run.stdout
        # Where its formula fires is counted apart.
        whole = counted["whole"]
        assert whole["confidence"]["value"] == sklearn.metrics.precision_score(is_class, fired)
        assert whole["coverage"]["value"] == sklearn.metrics.recall_score(is_class, fired)
    for group in told["statistics"]["subgroups"]:
        mine = (frame["sex"] == group["name"]).to_numpy()
        first = rules.rules[0].label
        right = sklearn.metrics.precision_score(truth[mine] == first, by_rules[mine] == first)
        assert group["classes"][0]["decision"]["precision"]["value"] == right
        fired = sklearn.metrics.precision_score(truth[mine] == first, fires[mine, 0])
        assert group["classes"][0]["whole"]["confidence"]["value"] == fired
        assert f"where sex is {group['name']}" in run.stdout


def test_score_skips_rows_without_a_class_and_refuses_unknown_ones(tmp_path):
    frame = patients(60, seed=3)
    frame.loc[:9, "died"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    run = logiclens("score", exact().folder, tmp_path / "gaps.csv", "--json", "-")
    told = json.loads(run.stdout)
    rows, truth = frame[frame["died"].notna()], frame["died"].dropna()
    assert (told["rows"], told["left_out"]) == (50, 10)
    assert told["accuracy"]["value"] == (RuleSet.load(exact().folder).predict(rows) == truth.to_numpy()).mean()
    frame.loc[20, "died"] = "perhaps"
    frame.to_csv(tmp_path / "other.csv", index=False)
    message = refused("score", exact().folder, tmp_path / "other.csv")
    assert message == "the class 'perhaps' in row 21 is not one of the model's: 'no', 'yes'."


@pytest.mark.parametrize("made", [exact, soft])
def test_score_says_that_it_reads_the_training_file(made, tmp_path):
    trained = made()
    result = json.loads((trained.folder / "result.json").read_text())
    table = tmp_path / "table.csv"
    shutil.copy(trained.data, table)
    assert hashlib.sha256(table.read_bytes()).hexdigest() == result["data"]["sha256"]
    note = "the model was made from this very file"
    run = logiclens("score", trained.folder, table, "--json", tmp_path / "score.json")
    assert run.stdout.count(note) == 1
    assert json.loads((tmp_path / "score.json").read_text())["is_training_file"] is True
    patients(90, seed=7).to_csv(table, index=False)
    assert note not in logiclens("score", trained.folder, table).stdout


def test_score_takes_the_target_by_another_name(tmp_path):
    frame = patients(60, seed=3).rename(columns={"died": "dead"})
    frame.to_csv(tmp_path / "named.csv", index=False)
    assert "no column 'died', the target; did you mean 'dead'?" in refused(
        "score", exact().folder, tmp_path / "named.csv"
    )
    run = logiclens("score", exact().folder, tmp_path / "named.csv", "--target", "dead", "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


# export -----------------------------------------------------------------------------------------------------------


def test_every_form_of_the_rules_predicts_the_same(new, tmp_path):
    rows = pd.read_csv(new)
    rules = RuleSet.load(exact().folder)
    expected = rules.predict(rows).tolist()
    for form, name in (("python", "rules.py"), ("json", "rules.json"), ("sympy", "expressions.py")):
        run = logiclens("export", exact().folder, "--to", form, "-o", tmp_path / name)
        assert (run.returncode, run.stdout) == (0, "")
    made: dict = {}
    exec((tmp_path / "rules.py").read_text(), made)
    assert [made["predict"](row) for row in rows.to_dict("records")] == expected
    assert RuleSet.load(tmp_path / "rules.json").predict(rows).tolist() == expected
    exec((tmp_path / "expressions.py").read_text(), made)
    fires = rules.fires(rows)
    for row in range(0, len(rows), 9):
        concepts = {c: bool(rules.holds(c, {n: rows[n][[row]] for n in rows.columns})[0]) for c in rules.concepts}
        symbols = {sympy.Symbol(concept): value for concept, value in concepts.items()}
        assert [bool(made["rules"][label].subs(symbols)) for label in rules.names] == fires[row].tolist()


@pytest.mark.parametrize(
    ("form", "part"), [("latex", r"\begin{align*}"), ("english", "died is yes if "), ("pmml", "<RuleSetModel")]
)
def test_the_other_forms_and_their_json(form, part):
    run = logiclens("export", exact().folder, "--to", form)
    assert (run.returncode, run.stderr) == (0, "")
    assert part in run.stdout
    told = json.loads(logiclens("export", exact().folder, "--to", form, "--json", "-").stdout)
    assert told == {"model": str(exact().folder), "to": form, "exact": True, "text": told["text"]}
    assert run.stdout.rstrip("\n") == told["text"].rstrip("\n")


def test_english_says_who_decides_as_the_rules_do():
    rules = RuleSet.load(three().folder)
    said = logiclens("export", three().folder, "--to", "english").stdout
    begins = "The first that applies decides, in this order: "
    (line,) = (line for line in said.splitlines() if line.startswith(begins))
    told, otherwise = line.removeprefix(begins).split(". Where none applies, ")
    order = told.split(", ")
    assert sorted(order) == sorted(rules.names)
    assert otherwise == f"state is {rules.names[rules.otherwise]}."
    rows = pd.read_csv(three().data)
    # The order that is said, applied by hand.
    fires = pd.DataFrame(rules.fires(rows), columns=list(rules.names))
    decided = [next((name for name in order if row[name]), rules.names[rules.otherwise]) for _, row in fires.iterrows()]
    assert rules.predict(rows).tolist() == decided


def test_exporting_rules_that_differ_from_the_model_gives_a_note():
    run = logiclens("export", soft().folder, "--to", "json")
    assert run.stderr == "note: these rules are about the model, they are not the model: it was not made exact.\n"
    assert json.loads(run.stdout) == to_dict(RuleSet.load(soft().folder))
    again = logiclens("export", soft().folder, "--to", "json", "--quiet")
    assert (again.stderr, again.stdout) == ("", run.stdout)


def test_an_unknown_dialect_or_form_is_one_sentence():
    assert "cobol" in refused("export", exact().folder, "--dialect", "cobol")
    assert refused("export", exact().folder, "--to", "qsl").startswith("--to: 'qsl' is not one of 'sql', 'python'")


# verify -----------------------------------------------------------------------------------------------------------


def test_verify_says_that_the_rules_are_the_model(tmp_path):
    run = logiclens("verify", exact().folder, "--json", tmp_path / "verdict.json")
    assert (run.returncode, run.stderr) == (0, "")
    assert "The printed rules are the model" in run.stdout
    told = json.loads((tmp_path / "verdict.json").read_text())
    assert told["verified"] is True
    assert [entry["name"] for entry in told["classes"]] == ["no", "yes"]
    assert all(entry["rows"] >= 2 and entry["bound"] < entry["smallest_logit"] for entry in told["classes"])
    quiet = logiclens("verify", exact().folder, "--quiet")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_verify_names_the_row_that_disagrees_and_exits_with_1(tmp_path):
    from tests.estimator.test_persistence import reseal

    folder = shutil.copytree(exact().folder, tmp_path / "changed")
    (folder / "result.json").unlink()
    model, claim = (json.loads((folder / name).read_text()) for name in ("model.json", "certificate.json"))
    (entry,) = [entry for entry in claim["classes"] if entry["complement_of"] is None]
    (cube,), rule = entry["formula"], model["rules"]["classes"][entry["head"]]
    # One literal turned, in the certificate and in the rules.
    concept = next(iter(cube))
    cube[concept] = rule["cubes"][0]["if"][concept] = not cube[concept]
    for name, content in (("model.json", model), ("certificate.json", claim)):
        (folder / name).write_text(json.dumps(content))
    reseal(folder)
    run = logiclens("verify", folder, "--json", "-")
    assert run.returncode == 1
    assert run.stderr.startswith("refuted: ")
    assert re.search(r"on the row age >= \d+ = [01], unit is MICU = [01] the (formula|complement) says", run.stderr)
    assert run.stderr.count("\n") == 1
    told = json.loads(run.stdout)
    assert (told["verified"], told["refuted"]) == (False, True)
    assert told["reason"] in run.stderr


@pytest.mark.parametrize("spoil", ["missing", "truncated", "nowhere", "soft"])
def test_verify_refuses_what_it_cannot_use_with_exit_code_2(tmp_path, spoil):
    folder = shutil.copytree(soft().folder if spoil == "soft" else exact().folder, tmp_path / "spoiled")
    if spoil == "missing":
        (folder / "weights.safetensors").unlink()
    elif spoil == "truncated":
        (folder / "model.json").write_text((folder / "model.json").read_text()[:99])
    run = logiclens("verify", tmp_path / "nowhere" if spoil == "nowhere" else folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("not verified: ")
    assert run.stderr.count("\n") == 1


# diff -------------------------------------------------------------------------------------------------------------


def rules_file(path: Path, source: RuleSet, change) -> Path:
    """Rules as `export --to json` writes them, changed."""
    content = to_dict(source)
    change(content)
    path.write_text(json.dumps(content))
    return path


def test_a_model_does_not_differ_from_itself():
    run = logiclens("diff", exact().folder, exact().folder)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "died is no\n  the same formula\ndied is yes\n  the same formula\n"


def test_a_moved_cut_is_shown_with_the_rows_it_moves(new, tmp_path):
    rules = RuleSet.load(exact().folder)
    (cut,) = [p.value for p in rules.predicates.values() if (p.column, p.operator) == ("age", ">=")]

    def move(content: dict) -> None:
        text = json.dumps(content).replace(f"age >= {cut:g}", "age >= 81")
        content.clear()
        content.update(json.loads(text))
        content["predicates"]["age >= 81"]["value"] = 81

    other = rules_file(tmp_path / "moved.json", rules, move)
    run = logiclens("diff", exact().folder, other, "--data", new, "--json", tmp_path / "diff.json")
    assert (run.returncode, run.stderr) == (1, "")
    assert f"age is at least {cut:g} becomes age is at least 81" in run.stdout
    example = "\nfor example where age from .* to 80 and unit is MICU: died is yes before, died is no now\n"
    assert re.search(example, run.stdout)
    told = json.loads((tmp_path / "diff.json").read_text())
    rows = pd.read_csv(new)
    differ = np.flatnonzero(rules.predict(rows) != RuleSet.load(other).predict(rows)) + 1
    assert told["rows"] == {"data": "new.csv", "total": 90, "differing": differ.tolist()}
    assert len(differ) > 0
    assert f"{len(differ)} of 90 rows of new.csv get another answer." in run.stdout
    # Whoever is old enough for the new cut was old enough for the old one: nobody is 81 and not yet that.
    entry = next(entry for entry in told["classes"] if entry["class"] == "yes")
    assert (entry["gained"], entry["equivalent"]) == ("⊥", False)


def test_equivalent_rules_written_differently_have_not_changed(tmp_path):
    rules = RuleSet.load(exact().folder)

    def split(content: dict) -> None:
        # Every rule about the old is said of the very old too, of whom it holds anyway.
        content["predicates"]["age >= 94"] = {"column": "age", "operator": ">=", "value": 94.0}
        for entry in content["classes"]:
            if "complement_of" in entry:
                continue
            cubes = [c for c in entry["cubes"] if any(k.startswith("age") and v for k, v in c["if"].items())]
            assert cubes
            entry["cubes"] += [{"if": {**c["if"], "age >= 94": True}, "confidence": c["confidence"] / 2} for c in cubes]

    run = logiclens("diff", exact().folder, rules_file(tmp_path / "split.json", rules, split))
    assert run.returncode == 0, run.stdout
    assert "written differently, the same meaning" in run.stdout


def test_another_answer_where_no_rule_fires_is_a_change(tmp_path):
    rules = RuleSet.load(three().folder)
    other = (rules.otherwise + 1) % 3
    changed = rules_file(tmp_path / "else.json", rules, lambda c: c.update(otherwise=other))
    run = logiclens("diff", three().folder, changed)
    assert run.returncode == 1
    names = rules.names
    assert f"where no rule fires: state is {names[other]}, before state is {names[rules.otherwise]}\n" in run.stdout


def test_another_order_of_decisions_is_a_change(tmp_path):
    content = {
        "kind": "logiclens rules", "schema": 2, "order": [], "predicates": {}, "exclusive": [], "implied": [],
        "resolve": "confidence", "otherwise": 0, "multilabel": False,
        "classes": [
            {"class": "ill", "cubes": [{"if": {"old": True}, "confidence": 0.9}]},
            {"class": "well", "cubes": [{"if": {"fit": True}, "confidence": 0.8}]},
        ],
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(content))
    content["classes"][1]["cubes"][0]["confidence"] = 0.95
    (tmp_path / "b.json").write_text(json.dumps(content))
    run = logiclens("diff", "a.json", "b.json", cwd=tmp_path)
    assert run.returncode == 1
    assert "where both fire, fit is true (well) decides now, not old is true (ill)\n" in run.stdout
    # Rules that cannot fire together need no order.
    content["exclusive"] = [["old", "fit"]]
    (tmp_path / "b.json").write_text(json.dumps(content))
    assert logiclens("diff", "a.json", "b.json", "--quiet", cwd=tmp_path).returncode == 0


def test_two_trained_models_differ_as_their_formulas_do(new):
    other = explain(patients(160, seed=5), "other", "--target", "died", "--drop", "unit").folder
    run = logiclens("diff", exact().folder, other, "--data", new, "--json", "-")
    told = json.loads(run.stdout)
    first, second = RuleSet.load(exact().folder), RuleSet.load(other)
    rows = pd.read_csv(new)
    assert told["rows"]["differing"] == (np.flatnonzero(first.predict(rows) != second.predict(rows)) + 1).tolist()
    assert (told["only_before"], told["only_after"]) == ([], [])
    assert (run.returncode, told["changed"]) == (1, True)
    for entry in told["classes"]:
        then, now = (one.rule(entry["class"]).formula.evaluate(one.pack(rows)) for one in (first, second))
        if entry["equivalent"]:
            assert (then == now).all()
        if (now & ~then).any():
            assert entry["gained"] != "⊥"
        if (then & ~now).any():
            assert entry["lost"] != "⊥"


def test_diff_tells_rules_in_the_words_of_the_sheet(tmp_path):
    meant = {"a": Predicate("age", ">=", 40.0), "b": Predicate("age", ">=", 60.0), "m": Predicate("sex", "==", "man")}
    facts = TableFacts("died", whole=("age",), complete=("age", "sex"))
    for name, yes in (("a.json", "a & ~b & m"), ("b.json", "b")):
        rules = RuleSet((Rule("yes", parse(yes), (0.9,)), Rule("no", DNF.false, ())), meant, otherwise=1, facts=facts)
        rules_file(tmp_path / name, rules, lambda content: None)
    run = logiclens("diff", "a.json", "b.json", cwd=tmp_path)
    assert "  gone: age from 40 to 59 and sex is man\n" in run.stdout
    assert "  now also where age is at least 60\n  no longer where age from 40 to 59 and sex is man\n" in run.stdout

    def forget(content: dict) -> None:
        content["table"] = {"target": "died", "whole": [], "complete": []}

    # What only one of the models knows of a column that both use is not said of the difference.
    rules_file(tmp_path / "b.json", rules, forget)
    run = logiclens("diff", "a.json", "b.json", cwd=tmp_path)
    assert "  gone: age from 40 to 59 and sex is man\n" in run.stdout
    assert "  no longer where age from 40 to below 60 and sex is man\n" in run.stdout


def test_diff_reads_categories_of_one_column_as_one_rule(tmp_path):
    meant = {name: Predicate("job", "==", name) for name in ("cook", "nurse", "clerk")}
    meant |= {
        "old": Predicate("age", ">=", 60.0),
        "very": Predicate("age", ">=", 80.0),
        "m": Predicate("sex", "==", "man"),
    }
    facts = TableFacts("died", complete=("age", "sex"), categories={"sex": ("man", "woman")})

    def differ(before: str, after: str) -> str:
        for name, yes in (("a.json", before), ("b.json", after)):
            formula = parse(yes)
            counts = {cube: FoundAgain(10 - place) for place, cube in enumerate(formula.cubes)}
            both = (Rule("yes", formula, (0.9,) * len(formula), counts, 10), Rule("no", DNF.false, ()))
            rules = RuleSet(both, meant, otherwise=1, facts=facts)
            rules_file(tmp_path / name, rules, lambda content: None)
        return logiclens("diff", "a.json", "b.json", cwd=tmp_path).stdout

    several = "(cook & old) | (nurse & old)"
    told = differ(f"{several} | (clerk & m)", "clerk & m")
    assert "  gone: job is cook or nurse and age is at least 60\n" in told
    assert told.count("gone:") == 1
    assert "  no longer where job is cook or nurse and age is at least 60\n" in told
    told = differ("clerk & m", f"(clerk & m) | {several}")
    assert (
        "  new: job is cook or nurse and age is at least 60 (found again in 8 of 10 bags with the category found"
        in told
    )
    told = differ(several, several.replace("old", "very"))
    assert (
        "  changed: job is cook or nurse and age is at least 60: age is at least 60 becomes age is at least 80" in told
    )
    assert told.count("changed:") == 1
    # Outside the rules, the other of two categories has its name.
    assert "  no longer where age is at least 60 and sex is woman\n" in differ("old", "old & m")


def test_diff_tells_what_otherwise_gained_and_lost(tmp_path):
    """Before, the classes are a rule and the rest; now they are the rest and a rule."""
    meant = {"old": Predicate("age", ">=", 60.0), "low": Predicate("bp", ">=", 125.0)}
    sides = ((Rule("no", parse("old"), (0.9,)), "yes"), (Rule("yes", parse("~low"), (0.9,)), "no"))
    for name, (rule, other) in zip(("a.json", "b.json"), sides, strict=True):
        rest = Rule(other, Complement(rule.formula), (0.8,))
        both = tuple(sorted((rule, rest), key=lambda one: one.label))
        facts = TableFacts("died", complete=("age", "bp"))
        rules = RuleSet(both, meant, otherwise=both.index(rest), facts=facts)
        rules_file(tmp_path / name, rules, lambda content: None)
    run = logiclens("diff", "a.json", "b.json", "--json", "-", cwd=tmp_path)
    no, yes = json.loads(run.stdout)["classes"]
    for told in (yes["now_also"], no["no_longer"]):
        assert [sorted(one.split(" and ")) for one in told] == [["age is at least 60", "bp is below 125"]]
    for told in (yes["no_longer"], no["now_also"]):
        assert [sorted(one.split(" and ")) for one in told] == [["age is below 60", "bp is at least 125"]]


def test_diff_prints_the_first_regions_and_counts_the_rest(tmp_path):
    for name, text in (("a.json", "False"), ("b.json", " | ".join(f"(a{i} & b{i})" for i in range(12)))):
        formula = parse(text)
        rules = RuleSet((Rule("yes", formula, (0.9,) * len(formula)), Rule("no", DNF.false, ())), {}, otherwise=1)
        rules_file(tmp_path / name, rules, lambda content: None)
    run = logiclens("diff", "a.json", "b.json", cwd=tmp_path)
    (line,) = [line for line in run.stdout.splitlines() if "now also where" in line]
    assert line.count("or where") == 9
    assert line.endswith("; and 2 more")


def test_models_of_different_targets_are_not_compared(tmp_path):
    message = "the models answer different questions, 'died' and 'state'"
    assert message in refused("diff", exact().folder, three().folder, "--json", tmp_path / "diff.json")
    assert list(tmp_path.iterdir()) == []
    # Exported rules do not name their target.
    other = rules_file(tmp_path / "three.json", RuleSet.load(three().folder), lambda content: None)
    assert "nothing in common to compare" in refused("diff", exact().folder, other)


def test_rules_that_differ_where_another_decides_change_no_answer(tmp_path):
    for name, well in (("a.json", parse("~old")), ("b.json", DNF.true)):
        rules = RuleSet(
            (Rule("ill", parse("old"), (0.9,)), Rule("well", well, (0.8,))),
            {"old": Predicate("age", ">=", 60.0)}, resolve="order", otherwise=1, order=(0, 1),
        )  # fmt: skip
        rules_file(tmp_path / name, rules, lambda content: None)
    run = logiclens("diff", "a.json", "b.json", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.endswith("the rules differ, but every possible row gets the same answer as before\n")
    rows = {"age": [59.0, 60.0, 61.0, None]}
    first, second = (RuleSet.load(tmp_path / name).predict(rows).tolist() for name in ("a.json", "b.json"))
    assert first == second


# explain and report -----------------------------------------------------------------------------------------------


def test_the_sheet_shows_every_class_and_its_rows():
    sheet, told = exact().run.stdout, json.loads(exact().json.read_text())
    assert sheet.startswith("data.csv: 160 rows, 6 columns; target 'died'\n")
    assert "note: the column 'id' is left out: every row has another value, as an identifier has.\n" in sheet
    for entry in told["classes"]:
        part = sheet.split(f"\n\ndied is {entry['name']}\n")[1]
        is_rest = entry["english"].startswith(f"died is {entry['name']} otherwise")
        assert part.startswith(
            f"  {entry['english']}\n  {entry['formula']}\n" if is_rest else f"  {entry['english']}\n  • "
        )
        assert f"\n  {entry['formula']}\n" in part
        assert "the formula is the network on all " in part
        assert "the network is compiled from the formula" in part
    assert sheet.count("(otherwise)\n") == 1


def test_the_sheet_shows_how_often_rules_are_found_again():
    sheet, rules = exact().run.stdout, RuleSet.load(exact().folder).rules
    counts = [count for rule in rules for count in rule.counts]
    assert counts
    for count in counts:
        assert f"; found again in {'' if count >= 5 else 'only '}{count} of 10" in sheet


def test_network_says_what_the_rules_lose_against_it(tmp_path):
    patients(400, seed=3).assign(died=lambda rows: rows["died"].sample(frac=1, random_state=0).to_numpy()).to_csv(
        tmp_path / "t.csv", index=False
    )
    accuracy = []
    for options in (("--network", "--save", "m"), ("--soft",)):
        run = logiclens("explain", "t.csv", "--target", "died", *options, "--json", "t.json", cwd=tmp_path)
        told = json.loads((tmp_path / "t.json").read_text())
        accuracy.append({metric["name"]: metric["value"] for metric in told["metrics"]}["model accuracy"])
        if "--network" in options:
            [note] = [note for note in told["notes"] if "network" in note]
            assert f"note: {note}" in run.stdout
    rules, network = accuracy
    form = (
        r".* is right on ([\d.]+)% of the held-out rows: the rules (lose|gain) ([\d.]+) points of accuracy against it."
    )
    right, word, points = re.fullmatch(form, note).groups()
    assert float(right) == pytest.approx(network, abs=0.05)
    assert float(points) * (1 if word == "lose" else -1) == pytest.approx(network - rules, abs=0.05)
    # The model is that of the rules.
    assert logiclens("verify", "m", "--quiet", cwd=tmp_path).returncode == 0


def test_where_the_model_is_saved_is_said():
    assert exact().run.stderr == "The model is in model. Check it with: logiclens verify model\n"


def test_the_json_is_the_saved_result_and_the_seconds():
    told, kept = json.loads(exact().json.read_text()), json.loads((exact().folder / "result.json").read_text())
    seconds, folds = told.pop("seconds"), told.pop("cross_validation")
    assert told == kept
    assert folds is None
    assert all(value > 0 for value in seconds.values())
    assert kept["command"] == "logiclens explain data.csv --target died"


def test_the_report_of_a_folder_equals_the_page(tmp_path):
    page = tmp_path / "page.html"
    run = logiclens("report", soft().folder, "-o", page, "--json", "-")
    assert (run.returncode, run.stderr) == (0, f"The report is in {page}.\n")
    assert page.read_bytes() == soft().report.read_bytes()
    digest = hashlib.sha256(page.read_bytes()).hexdigest()
    assert json.loads(run.stdout) == {"model": str(soft().folder), "report": str(page), "sha256": digest}


def test_a_table_with_cr_and_bom_gives_the_same_rules():
    text = b"\xef\xbb\xbf" + exact().data.read_bytes().replace(b"\n", b"\r")
    run = logiclens("explain", "-", "--target", "died", "--json", "-", stdin=text)
    told, kept = json.loads(run.stdout), json.loads(exact().json.read_text())
    over_time, left_out = run.stderr.splitlines()
    assert over_time.startswith("note: rows were held out at random although 'admitted' orders them in time")
    assert left_out == "note: the column 'id' is left out: every row has another value, as an identifier has."
    assert told["data"]["name"] == "standard input"
    for part in ("rules", "classes", "metrics", "statistics", "rows", "parts"):
        assert told[part] == kept[part], part


def test_a_numeric_target_with_gaps_has_integer_classes_and_subgroups():
    sheet, told = soft().run.stdout, json.loads(soft().json.read_text())
    assert "note: 4 of 160 rows have no value of 'died' and are left out.\n" in sheet
    assert [entry["name"] for entry in told["classes"]] == ["0", "1"]
    assert told["data"]["rows"] == 156
    for sex in ("f", "m"):
        assert f"\nwhere sex is {sex}\n  died is 0: decided on " in sheet
    assert [group["name"] for group in told["statistics"]["subgroups"]] == ["f", "m"]
    assert soft().run.stderr == "The model is in model.\nThe report is in model.html.\n"


def test_three_classes_are_told_and_predicted():
    sheet, told = three().run.stdout, json.loads(three().json.read_text())
    assert [entry["name"] for entry in told["classes"]] == ["dead", "ill", "well"]
    assert "; found again in " in sheet
    rows = pd.read_csv(three().data)
    answers = pd.Series(predicted(logiclens("predict", three().folder, three().data)))
    assert (answers == rows["state"]).mean() > 0.8


# Loading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], {"torch", "sklearn", "scipy", "pandas", "numpy", "rich"}),
        (["predict", "MODEL", "DATA", "--why"], {"torch", "sklearn", "scipy", "matplotlib"}),
        (["score", "MODEL", "DATA"], {"torch", "sklearn", "scipy", "matplotlib"}),
        (["diff", "MODEL", "MODEL", "--data", "DATA"], {"torch", "sklearn", "scipy", "matplotlib"}),
        (["diff", "MODEL", "MODEL"], {"torch", "sklearn", "scipy", "pandas"}),
        (["export", "MODEL"], {"torch", "sklearn", "scipy", "pandas"}),
        (["verify", "MODEL"], {"torch", "sklearn", "scipy", "pandas"}),
        (["explain", "DATA", "--target", "nothing"], {"torch", "sklearn", "scipy", "matplotlib"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_loads_no_more_than_it_needs(arguments, absent):
    given = [{"MODEL": str(exact().folder), "DATA": str(exact().data)}.get(word, word) for word in arguments]
    code = (
        "import atexit, sys; from logiclens.cli import main; "
        "atexit.register(lambda: print('loaded', *sys.modules, file=sys.stderr)); main()"
    )
    run = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, env=ENVIRONMENT)
    loaded = set(run.stderr.splitlines()[-1].split()[1:])
    assert run.returncode in (0, 2)
    assert "logiclens.cli.commands" in loaded
    assert absent & loaded == set()


def test_columns_to_keep_stand_beside_the_answers(tmp_path):
    rows = pd.read_csv(exact().data)
    run = logiclens(
        "predict", exact().folder, exact().data, "--keep", "id", "--keep", "age", "-o", tmp_path / "out.csv"
    )
    assert run.returncode == 0, run.stderr
    told = pd.read_csv(tmp_path / "out.csv")
    assert list(told.columns[:3]) == ["row", "id", "age"]
    assert told["id"].tolist() == rows["id"].tolist()
    assert "no column 'idd' to keep; did you mean 'id'?" in refused(
        "predict", exact().folder, exact().data, "--keep", "idd"
    )


def test_score_tells_what_always_the_same_answer_would_score(tmp_path):
    labels = pd.read_csv(exact().data)["died"]
    told = json.loads(logiclens("score", exact().folder, exact().data, "--json", "-").stdout)
    assert told["most_frequent"]["hits"] == labels.value_counts().max()


@pytest.mark.slow
def test_weights_and_balance_reach_the_model(tmp_path):
    rows = pd.read_csv(exact().data)
    rows["copies"] = np.where(np.arange(len(rows)) % 3 == 0, 2, 1)
    rows.to_csv(tmp_path / "weighed.csv", index=False)
    rows.loc[rows.index.repeat(rows["copies"])].drop(columns="copies").to_csv(tmp_path / "copied.csv", index=False)
    results = []
    for name, more in (("weighed", ("--weight", "copies")), ("copied", ())):
        run = logiclens(
            "explain", f"{name}.csv", "--target", "died", "--drop", "id", *more, "--json", "-", cwd=tmp_path
        )
        results.append(json.loads(run.stdout))
    for part in ("classes", "statistics", "confusion", "parts", "rules"):
        assert results[0][part] == results[1][part], part
    run = logiclens("explain", exact().data, "--target", "died", "--balanced", "--save", tmp_path / "m", "--quiet")
    assert run.returncode == 0, run.stderr
    assert json.loads((tmp_path / "m" / "model.json").read_text())["settings"]["class_weight"] == "balanced"


def test_rows_are_numbered_as_in_the_file_despite_gaps(tmp_path):
    rows = pd.read_csv(exact().data)
    rows["died"] = rows["died"].astype(object)
    rows.loc[:30, "died"] = None
    rows.to_csv(tmp_path / "gone.csv", index=False)
    run = logiclens("explain", tmp_path / "gone.csv", "--target", "died", "--json", "-")
    told = json.loads(run.stdout)
    assert told["data"]["rows"] == len(rows) - 31
    assert max(row["row"] for row in told["rows"]) > told["data"]["rows"]
    for row in told["rows"]:
        assert str(rows["died"][row["row"] - 1]) == row["label"]


def test_a_category_that_looks_numeric_is_read_as_in_training(tmp_path):
    ward = np.array(["1", "2", "A", "B"])[np.arange(80) % 4]
    table = pd.DataFrame({"ward": ward, "x": np.arange(80) % 7, "y": np.where((ward == "1") | (ward == "A"), "p", "q")})
    table.to_csv(tmp_path / "t.csv", index=False)
    run = logiclens("explain", "t.csv", "--target", "y", "--save", "m", "--quiet", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    (tmp_path / "new.csv").write_text("ward,x\n1,0\n2,3\n")
    run = logiclens("predict", "m", "new.csv", cwd=tmp_path)
    assert pd.read_csv(io.StringIO(run.stdout))["predicted y"].tolist() == ["p", "q"]
