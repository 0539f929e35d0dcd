"""`logiclens edit` and `import` on the real command line, from a saved model to a verified one."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from logiclens import EntropyClassifier, Knowledge, RuleSet
from tests.cli_runs import exact, logiclens, refused, soft


def script(folder: Path, text: str) -> Path:
    path = folder / "script.toml"
    path.write_text(text, encoding="utf-8")
    return path


def first() -> str:
    return str(RuleSet.load(exact().folder).rule_ids[0])


@pytest.mark.parametrize("saved", [exact, soft])
def test_a_script_makes_a_verified_model_with_its_history(tmp_path: Path, saved) -> None:
    rules = RuleSet.load(saved().folder)
    label = rules.rule_ids[0].label
    path = script(
        tmp_path,
        f'who = "W"\nwhen = 2026-03-01\n[[edit]]\ndo = "with_rule"\nclass = "{label}"\nconditions = "age >= 91.5"\n'
        'why = "every expert knows"\n[[edit]]\ndo = "with_threshold"\ncondition = "age >= 91.5"\nvalue = 92\n',
    )
    new = tmp_path / "new"
    run = logiclens("edit", saved().folder, path, "--data", saved().data, "-o", new, "--json", tmp_path / "told.json")
    assert run.returncode == 0, run.stderr
    assert "because: every expert knows (W, 2026-03-01): accuracy" in run.stdout
    told = json.loads((tmp_path / "told.json").read_text())
    assert [line["why"] for line in told["edits"]] == ["every expert knows", None]
    assert told["edits"][1]["before"] == told["edits"][0]["after"]
    frame = pd.read_csv(saved().data)
    wanted = rules.with_rule(label, "age >= 92").predict(frame).tolist()
    assert RuleSet.load(new).predict(frame).tolist() == wanted
    shown = logiclens("verify", new)
    assert shown.returncode == 0
    assert "Edited, as stated and not checked:" in shown.stdout
    changed = logiclens("diff", saved().folder, new, "--data", saved().data)
    assert "age is at least 92 (edited by hand)" in changed.stdout


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "script.toml holds no edits: write [[edit]] above each of them."),
        ("x = 1", "script.toml has an unknown key 'x': it takes edit, who and when."),
        ("[[edit]", "script.toml is not TOML:"),
        ('[[edit]]\ndo = "witout"', "edit 1 of {}: 'do' must name an edit, got 'witout'; did you mean 'without'?"),
        ('[[edit]]\ndo = "without"', "edit 1 of {}: 'without' needs 'rule'."),
        ('[[edit]]\ndo = "pin"\nrule = "{rule}"\nx = 1', "edit 1 of {}: 'pin' takes no 'x'; it takes 'do', 'rule',"),
        (
            '[[edit]]\ndo = "pin"\nrule = "{rule}"\n[[edit]]\ndo = "with_threshold"\ncondition = "agee >= 1"\n'
            "value = 2",
            "edit 2 of {}: the rules know no column 'agee'; did you mean 'age'?",
        ),
    ],
)
def test_a_bad_script_is_refused_and_nothing_is_written(tmp_path: Path, text: str, sentence: str) -> None:
    path = script(tmp_path, text.replace("{rule}", first()))
    said = refused("edit", exact().folder, path, "-o", tmp_path / "new")
    assert sentence.replace("{}", str(path)) in said
    assert not (tmp_path / "new").exists()


def test_the_edited_model_does_not_replace_its_source(tmp_path: Path) -> None:
    model, sheet = tmp_path / "model", tmp_path / "rules.xlsx"
    shutil.copytree(exact().folder, model)
    (tmp_path / "link").symlink_to(model)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    assert logiclens("export", model, "--to", "xlsx", "-o", sheet).returncode == 0
    path = script(tmp_path, f'[[edit]]\ndo = "pin"\nrule = "{first()}"\n')
    for out in (model, tmp_path / "link", tmp_path / "x" / ".." / "model"):
        (tmp_path / "x").mkdir(exist_ok=True)
        said = refused("edit", model, path, "-o", out)
        assert f"-o {out} is the model that is edited: name another folder" in said
        assert "is the model that is edited" in refused("import", sheet, "--model", model, "-o", out)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    # Another model may be replaced.
    for _ in range(2):
        assert logiclens("edit", model, path, "-o", tmp_path / "new").returncode == 0


def test_a_sheet_comes_back(tmp_path: Path) -> None:
    sheet = tmp_path / "rules.xlsx"
    assert logiclens("export", exact().folder, "--to", "xlsx", "-o", sheet).returncode == 0
    run = logiclens("import", sheet, "--model", exact().folder, "-o", tmp_path / "same")
    assert "Nothing was changed." in run.stdout, run.stderr
    assert RuleSet.load(tmp_path / "same") == RuleSet.load(exact().folder)
    book = openpyxl.load_workbook(io.BytesIO(sheet.read_bytes()))
    content = json.loads((exact().folder / "result.json").read_text())
    [first_cube, *_] = [cube for klass in content["statistics"]["classes"] for cube in klass["cubes"]]
    shares = [first_cube[name]["value"] for name in ("confidence", "coverage")]
    assert [book["rules"][f"{column}2"].value for column in "GHI"] == [first_cube["support"]["hits"], *shares]
    book["rules"]["B2"], book["rules"]["D2"] = "no", "not allowed"
    book.save(sheet)
    run = logiclens(
        "import", sheet, "--model", exact().folder, "--data", exact().data, "--who", "W", "-o", tmp_path / "n"
    )
    assert "because: not allowed (W): accuracy" in run.stdout, run.stderr
    assert logiclens("verify", tmp_path / "n").returncode == 0
    book["rules"]["J2"] = "agee >= 3"
    book.save(sheet)
    said = refused("import", sheet, "--model", exact().folder, "-o", tmp_path / "m")
    assert f"cell J2 of {sheet}: the rules know no column 'agee'; did you mean 'age'?" in said
    assert not (tmp_path / "m").exists()


def test_what_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "rules.dmn"
    other.write_text("x")
    told = ["--model", exact().folder, "-o", tmp_path / "m"]
    assert "is no sheet (.xlsx): edit the sheet that export --to xlsx writes." in refused("import", other, *told)
    assert "there is no file" in refused("import", tmp_path / "none.xlsx", *told)


def test_a_workbook_is_not_printed() -> None:
    assert "Excel is no text: name a file, such as -o rules.xlsx." in refused("export", exact().folder, "--to", "xlsx")


@pytest.mark.parametrize(
    ("form", "name", "told"),
    [
        ("xlsx", "rules.csv", "cannot write rules.csv: it would hold Excel; its name must end in .xlsx."),
        ("json", "rules.xlsm", "cannot write rules.xlsm: it would hold JSON; say --to xlsx, or name another file."),
        ("sql", "rules.XLSX", "cannot write rules.XLSX: it would hold SQL; say --to xlsx, or name another file."),
    ],
)
def test_no_name_promises_a_workbook_falsely(tmp_path, form, name, told):
    assert refused("export", exact().folder, "--to", form, "-o", name, cwd=tmp_path) == told
    assert list(tmp_path.iterdir()) == []


def test_an_edit_is_held_to_the_knowledge_unless_let_go(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"age": [25, 37, 61, 74] * 20, "unit": ["A", "B"] * 40, "died": ["no", "no", "yes", "yes"] * 20}
    )
    model = EntropyClassifier(knowledge=Knowledge(forbidden=["unit is B"]))
    model.fit(frame, target="died").save(tmp_path / "model")
    path = script(tmp_path, '[[edit]]\ndo = "with_rule"\nclass = "yes"\nconditions = "unit is B & age >= 30"\n')
    said = refused("edit", tmp_path / "model", path, "-o", tmp_path / "new")
    assert "no rule implies unit is B, but the rule of yes" in said
    assert not (tmp_path / "new").exists()
    run = logiclens("edit", tmp_path / "model", path, "-o", tmp_path / "new", "--without-knowledge")
    assert run.returncode == 0, run.stderr
    assert EntropyClassifier.load(tmp_path / "new").knowledge is None
