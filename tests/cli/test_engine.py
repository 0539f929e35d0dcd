"""`explain`, `score` and `predict` on tables that an engine counts, compared with one file of the same rows."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.cli.main import _run
from tests import cli_runs
from tests.engine.test_count import frame


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    table = frame(2_000).assign(nothing=np.nan, often=lambda rows: rows.visits)
    for k in range(3):
        table.iloc[k::3].to_parquet(folder / f"part{k}.parquet", index=False)
    table.to_parquet(folder / "whole.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    """Other rows, some without a class: as three files, and as one."""
    folder = tmp_path_factory.mktemp("new")
    (folder / "lake").mkdir()
    table = frame(900, seed=1).assign(nothing=np.nan, often=lambda rows: rows.visits)
    table.loc[::50, "y"] = None
    for k in range(3):
        table.iloc[300 * k : 300 * (k + 1)].to_parquet(folder / "lake" / f"part{k}.parquet", index=False)
    table.to_parquet(folder / "whole.parquet", index=False)
    return folder


def logiclens(*arguments, cwd):
    """A command as a user gives it, but in this process, which has loaded everything, and with fewer epochs."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings_ignored(),
        patch.dict(EntropyClassifier.__init__.__kwdefaults__, epochs=200),
    ):  # fmt: skip
        code = _run([str(argument) for argument in arguments])
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def warnings_ignored():
    """As `main` does: what they say stands in the results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refused(*arguments, cwd):
    """What a command says when it refuses: one line on standard error, nothing else, exit code 2."""
    run = logiclens(*arguments, cwd=cwd)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    return run.stderr.removeprefix("logiclens: ").rstrip("\n")


@pytest.fixture(scope="module", params=["soft", pytest.param("exact", marks=pytest.mark.slow)])
def model(request, lake):
    """A model of a lake."""
    soft = ["--soft"] if request.param == "soft" else []
    run = logiclens(
        "explain", "part*.parquet", "--target", "y", "--drop", "nothing", *soft, "--save", request.param, "-q",
        cwd=lake,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return lake / request.param


def told(*arguments, cwd):
    """What a command writes for a program."""
    run = logiclens(*arguments, "--json", "-", cwd=cwd)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_a_pattern_is_counted_and_explained(lake):
    run = cli_runs.logiclens(
        "explain", "part*.parquet", "--target", "y", "--engine", "duckdb", "--json", "-",
        "--report", "rules.html", "--save", "model", "--drop", "fine,nothing", cwd=lake,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "cuts were found on all of them" in run.stderr
    result = json.loads(run.stdout)
    assert result["data"]["rows"] == 2_000
    assert result["parts"] == {"train": 1_500, "set_aside": 500}
    assert result["data"]["columns"] == 7
    assert sum(sum(row) for row in result["confusion"]["counts"]) == 500
    assert "<html" in (lake / "rules.html").read_text(encoding="utf-8")
    again = logiclens("score", "model", "part0.parquet", cwd=lake)
    assert again.returncode == 0, again.stderr


def test_the_rules_of_a_value_are_stated(lake):
    for positive, other in (("ill", "well"), ("well", "ill")):
        result = told("explain", "part*.parquet", "--target", "y", "--positive", positive, cwd=lake)
        stated = {one["name"]: one["english"] for one in result["classes"]}
        assert set(stated) == {"ill", "well"}
        assert stated[other].startswith(f"y is {other} otherwise")
        assert stated[positive].startswith(f"y is {positive} if ")


@pytest.mark.parametrize(("options", "message"), [
    (["--target", "z"], "part*.parquet has no column 'z'"),
    (["--target", "y", "--drop", "nought"], "part*.parquet has no column 'nought'"),
    (["--target", "y", "--drop", "y"], "the target 'y' cannot be left out"),
    (["--target", "y", "--by", "unit"], "rows that an engine counts are held out without their columns, so that --by"),
    (["--target", "y", "--weight", "age"], "rows that an engine counts take no --weight"),
    (["--target", "y", "--positive", "dead"], "the target 'y' is never 'dead'; its values are 'ill', 'well'"),
    (["--target", "y", "--cuts", "soft"], 'rows of "soft" concepts differ all'),
    (["--target", "age"], "the target 'age' holds numbers with decimals"),
    (["--target", "nothing"], "the target 'nothing' has no value in any row"),
])  # fmt: skip
def test_what_cannot_be_counted_is_told_in_a_sentence(lake, options, message):
    assert refused("explain", "part*.parquet", *options, cwd=lake).startswith(message)


def same(there, here):
    """Two scores, apart from what the rows are called."""
    for one in (there, here):
        for key in ("data", "sha256"):
            del one[key]
        del one["statistics"]["source"]
    assert there == here


def test_a_score_equals_that_of_the_rows_in_one_file(model, new):
    there, here = told("score", model, "lake", cwd=new), told("score", model, "whole.parquet", cwd=new)
    assert there["rows"] == 882
    assert there["left_out"] == 18
    same(there, here)


@pytest.mark.parametrize("column", ["unit", "since"])
def test_subgroups_are_those_of_the_same_rows_in_a_file(model, new, column):
    there = told("score", model, "lake/*.parquet", "--by", column, cwd=new)
    here = told("score", model, "whole.parquet", "--by", column, cwd=new)
    assert len(here["statistics"]["subgroups"]) > 1
    same(there, here)


def test_a_score_file_by_file_is_that_of_each_file(model, new):
    there = told("score", model, "lake", "--per-file", cwd=new)["statistics"]
    assert there["by"] == "file"
    assert [group["name"] for group in there["subgroups"]] == [f"part{k}.parquet" for k in range(3)]
    for group in there["subgroups"]:
        here = told("score", model, f"lake/{group['name']}", cwd=new)
        assert group["classes"] == here["statistics"]["classes"]
    run = logiclens("score", model, "lake", "--per-file", cwd=new)
    assert "where the file is part1.parquet\n  y is ill: decided on " in run.stdout
    assert run.stderr == ""


def test_answers_are_those_of_the_same_rows_in_a_file(model, new, tmp_path):
    run = logiclens("predict", model, "lake", "-o", tmp_path / "answers.parquet", cwd=new)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
    told = "" if model.name == "exact" else "note: the rules answer, as SQL; they are about the network, and can "
    assert run.stderr.startswith(f"{told}differ from it.\n" * bool(told) + "900 rows are in ")
    run = logiclens("predict", model, "whole.parquet", "--rules", "-o", tmp_path / "file.csv", cwd=new)
    assert run.returncode == 0, run.stderr
    rows, answers = pd.read_parquet(new / "whole.parquet"), pd.read_parquet(tmp_path / "answers.parquet")
    assert list(answers.columns) == [*rows.columns, "predicted y"]
    pd.testing.assert_frame_equal(answers[list(rows.columns)], rows, check_dtype=False)
    assert list(answers["predicted y"]) == list(pd.read_csv(tmp_path / "file.csv")["predicted y"])


def test_columns_to_keep_stand_beside_the_answers_of_an_engine(model, new, tmp_path):
    out = tmp_path / "answers.parquet"
    run = logiclens(
        "predict", model, "lake/*.parquet", "--rules", "--keep", "age", "--keep", "unit", "--keep", "age", "-o", out,
        cwd=new,
    )  # fmt: skip
    assert run.stderr == f"900 rows are in {out}.\n"
    assert list(pd.read_parquet(out).columns) == ["age", "unit", "predicted y"]


@pytest.mark.parametrize(("arguments", "message"), [
    (["score", "lake", "--target", "z"], "lake has no column 'z'; its columns are"),
    (["score", "lake", "--by", "unitt"], "lake has no column 'unitt'; did you mean 'unit'?"),
    (["score", "lake", "--by", "unit", "--per-file"], "rows are told apart by a column or by their files: leave out"),
    (["score", "lake", "--target", "visits"], "the class '0' of 'visits' is not one of the model's: 'ill', 'well'."),
    (["score", "lake", "--target", "nothing"], "the target 'nothing' has no value in any row."),
    (["score", "lake", "--delimiter", ";"], "rows that an engine counts take no --delimiter."),
    (["score", "whole.parquet", "--per-file"], "--per-file tells the files of a folder or a pattern apart: name"),
    (["score", "rows.db"], "rows.db is a database, which is not read but counted: say --engine duckdb."),
    (["score", "empty"], "empty is a folder without files."),
    (["predict", "lake"], "rows that an engine answers go into a Parquet file: say -o answers.parquet."),
    (["predict", "lake", "-o", "answers.csv"], "rows that an engine answers go into a Parquet file: say -o"),
    (["predict", "lake", "-o", "a.parquet", "--why"], "rows that an engine answers take no --why."),
    (["predict", "lake", "-o", "a.parquet", "--json", "-"], "rows that an engine answers take no --json."),
    (["predict", "lake", "-o", "a.parquet", "--keep", "agee"], "lake has no column 'agee' to keep; did you mean"),
    (["predict", "lake", "-o", "lake/part0.parquet"], "lake/part0.parquet would lie among the files that are read: "),
    (["predict", "lake/*.parquet", "-o", "lake/a.parquet"], "lake/a.parquet would lie among the files that are read"),
    (["predict", "**/*.parquet", "-o", "lake/a.parquet"], "lake/a.parquet would lie among the files that are read"),
    (["predict", "lake", "-o", "nowhere/a.parquet"], "cannot write nowhere/a.parquet: there is no folder"),
    (["predict", "t[1.csv"], "no file matches t[1.csv."),
    (["predict", "t[1.csv", "--why"], "no file matches t[1.csv."),
    (["score", "t[1.csv", "--delimiter", ";"], "no file matches t[1.csv."),
    (["predict", "none.csv", "--engine", "duckdb"], "there is no file none.csv."),
    (["predict", "part*.parquet", "-o", "a.parquet"], "no file matches part*.parquet."),
])  # fmt: skip
def test_what_a_saved_model_cannot_do_is_one_sentence(lake, new, arguments, message):
    if not (lake / "soft").is_dir():
        logiclens("explain", "part*.parquet", "--target", "y", "--drop", "nothing", "--save", "soft", "-q", cwd=lake)
    (new / "empty").mkdir(exist_ok=True)
    command, *rest = arguments
    assert refused(command, lake / "soft", *rest, cwd=new).startswith(message)
    assert sorted(path.name for path in new.iterdir()) == ["empty", "lake", "whole.parquet"]


def test_rows_that_lack_a_column_of_the_rules(model, new, tmp_path):
    pd.read_parquet(new / "whole.parquet").drop(columns=["age", "often"]).to_parquet(tmp_path / "rows.parquet")
    message = refused("predict", model, "*.parquet", "-o", "answers/a.parquet", cwd=tmp_path)
    assert message.startswith("cannot write answers/a.parquet: there is no folder")
    (tmp_path / "answers").mkdir()
    message = refused("predict", model, "*.parquet", "--rules", "-o", "answers/a.parquet", cwd=tmp_path)
    assert re.match(r"\*\.parquet has no column '(age|often)', which the rules need; ", message)
    assert re.match("the table lacks the column '(age|often)'", refused("score", model, "*.parquet", cwd=tmp_path))


def test_a_comparison_reads_one_file(model, new):
    assert refused("diff", model, model, "--data", "lake", cwd=new).startswith(
        "lake is a folder or a pattern: name one"
    )
    assert refused("diff", model, model, "--data", "lake/*", cwd=new).startswith(
        "lake/* is a folder or a pattern: name"
    )
    assert refused("diff", model, model, "--data", "t[1.csv", cwd=new) == "no file matches t[1.csv."


def test_models_of_lakes_and_files_accept_each_others_rows(lake, new, tmp_path):
    rows = frame(900, seed=1)
    (tmp_path / "csv").mkdir()
    for k in range(3):
        rows.iloc[k::3].replace({"y": {"ill": "yes", "well": "no"}}).to_csv(tmp_path / "csv" / f"{k}.csv", index=False)
    for data, name in (("csv", "of_lake"), ("csv/0.csv", "of_file")):
        run = logiclens("explain", data, "--target", "y", "--save", name, "-q", cwd=tmp_path)
        assert run.returncode == 0, run.stderr
    for name in ("of_lake", "of_file"):
        there, here = (told("score", name, data, cwd=tmp_path) for data in ("csv/[1].csv", "csv/1.csv"))
        assert [one["name"] for one in there["statistics"]["classes"]] == ["no", "yes"]
        same(there, here)


def test_rows_without_a_class_are_left_out_of_a_lake(new):
    result = told("explain", "lake", "--target", "y", "--drop", "nothing", cwd=new)
    assert result["data"]["rows"] == 882
    assert "18 rows have no value of 'y' and are left out." in result["notes"]


def test_a_pattern_that_names_nothing(lake):
    assert refused("explain", "*.csv", "--target", "y", cwd=lake).startswith("no file matches *.csv.")


def test_whole_classes_that_gaps_made_floats_are_whole(tmp_path):
    rows = frame(240)
    rows["died"] = np.where(rows.y == "ill", 1.0, 0.0)
    rows.loc[::40, "died"] = None
    (tmp_path / "lake").mkdir()
    rows.drop(columns="y").to_parquet(tmp_path / "lake" / "rows.parquet", index=False)
    for data in ("lake", "lake/rows.parquet"):
        result = told("explain", data, "--target", "died", "--positive", "1", cwd=tmp_path)
        assert [one["name"] for one in result["statistics"]["classes"]] == ["0", "1"]
    run = logiclens("explain", "lake", "--target", "died", "--positive", "3", cwd=tmp_path)
    assert run.stderr == "logiclens: the target 'died' is never '3'; its values are '0', '1'.\n"
