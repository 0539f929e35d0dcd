"""`explain` without a target, with a target of numbers, with a rare class, and on workbooks."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from logiclens import RuleSet
from tests.cli_runs import logiclens, patients, refused


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table with a target of numbers and one with a rare class."""
    folder = tmp_path_factory.mktemp("targets")
    rng = np.random.default_rng(3)
    frame = patients(200).drop(columns=["id", "died"])
    frame["pressure"] = (frame["age"].fillna(50) + rng.normal(60, 4, 200)).round(1)
    frame.to_csv(folder / "data.csv", index=False)
    rare = patients(800, seed=2).drop(columns=["id", "died"])
    risk = 0.25 * ((rare["age"].fillna(0) - 50) / 40).clip(0, 1) ** 2
    rare["died"] = np.where(rng.random(800) < risk + 0.01, "yes", "no")
    rare.to_csv(folder / "rare.csv", index=False)
    return folder


def test_without_a_target_the_columns_are_listed(tmp_path):
    frame = patients()
    frame.to_csv(tmp_path / "data.csv", index=False)
    run = logiclens("explain", "data.csv", "--json", "out.json", cwd=tmp_path)
    assert run.returncode == 2
    assert "It may be 'died', because of its name and its 2 values." in run.stderr
    assert run.stderr.count("\n") == 1
    rows = dict(re.findall(r"(?m)^  (\S.*?)  +(\S.*)$", run.stdout))
    assert set(rows) == {"column", *frame.columns}
    gaps = int(frame["age"].isna().sum())
    assert re.match(rf"whole numbers +{gaps} \(\d+%\) +{frame['age'].nunique()} ", rows["age"])
    assert re.match(r"dates +none +", rows["admitted"])
    assert not (tmp_path / "out.json").exists()
    assert logiclens("explain", "data.csv", "-q", cwd=tmp_path).stdout == ""


@pytest.mark.parametrize(("n_columns", "listed"), [(61, 61), (80, 60)])
def test_the_last_of_many_columns_is_listed(n_columns, listed, tmp_path):
    names = [*(f"part{number}" for number in range(n_columns - 1)), "died"]
    pd.DataFrame([[0] * n_columns, [1] * n_columns], columns=names).to_csv(tmp_path / "data.csv", index=False)
    run = logiclens("explain", "data.csv", cwd=tmp_path)
    rows = [line.split()[0] for line in run.stdout.splitlines()[2:]]
    assert [name for name in rows if name != "…"] == [*names[: listed - 1], "died"]
    assert ("… and 20 more" in run.stdout) == (listed < n_columns)


def test_a_target_of_numbers_names_the_way_out_that_works(place, tmp_path):
    message = refused("explain", place / "data.csv", "--target", "pressure")
    [value] = re.findall(r"--above ([0-9.]+)", message)
    assert "--quantiles 3" in message
    made = logiclens(
        "explain", place / "data.csv", "--target", "pressure", "--above", value, "--save", tmp_path / "model"
    )
    assert made.returncode == 0, made.stderr
    told = json.loads(logiclens("score", tmp_path / "model", place / "data.csv", "--json", "-").stdout)
    frame = pd.read_csv(place / "data.csv")
    wanted = np.where(frame["pressure"] >= float(value), f"at least {value}", f"below {value}")
    answers = RuleSet.load(tmp_path / "model").predict(frame)
    assert told["accuracy"]["value"] == (answers == wanted).mean() > 0.7
    assert logiclens("verify", tmp_path / "model", "-q").returncode == 0
    page = logiclens("report", tmp_path / "model", "-o", "-").stdout
    assert f"at least {value}" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--target", "pressure", "--above", "9999"), "leaves all rows on one side"),
        (("--target", "pressure", "--above", "nan"), "--above must be a finite number"),
        (("--target", "pressure", "--above", "high"), "--above"),
        (("--target", "unit", "--above", "3"), "cut numbers, and the target 'unit' holds"),
        (("--target", "pressure", "--quantiles", "1"), "--quantiles"),
        (("--target", "pressure", "--quantiles", "3", "--above", "3"), "leave out one of them"),
        (("--target", "pressure", "--quantiles", "3", "--folds", "3"), "leave them out, or --folds"),
        (("--target", "pressure", "--above", "3", "--positive", "x"), "leave them out, or --positive"),
        (("--target", "sex", "--min-support", "-1"), "--min-support"),
        (("--target", "sex", "--min-support", "inf"), "--min-support must be a finite number"),
        (("--target", "sex", "--split-by-time", "sex"), "'sex' is the target, which new rows do not have yet"),
        (("--target", "sex", "--sheet", "2026"), "is no workbook: leave out the sheet"),
    ],
)
def test_bad_values_of_the_options_are_refused(place, options, message, tmp_path):
    assert message in refused("explain", place / "data.csv", *options, "--save", tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_rare_class_shows_what_balancing_trades(place):
    plain = logiclens("explain", place / "rare.csv", "--target", "died").stdout
    balanced = logiclens("explain", place / "rare.csv", "--target", "died", "--balanced").stdout
    form = r"this model is right on (\d+)% of the held-out rows and finds (\d+)% of 'yes'; always answering 'no' is"
    finds = []
    for sheet, way in ((plain, "with"), (balanced, "without")):
        [note] = re.findall(r"note: 'yes' is rare.*", sheet)
        assert f"; {way} --balanced a model usually" in note
        [(right, found)] = re.findall(form, note)
        shown = re.search(r"model accuracy +([0-9.]+)%", sheet)
        assert shown is not None
        assert abs(float(shown[1]) - float(right)) <= 0.6
        finds.append(int(found))
    assert finds[0] < finds[1]


def test_a_workbook_gives_the_model_of_its_csv(tmp_path):
    frame = patients()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    models = []
    for name in ("t.csv", "t.xlsx"):
        run = logiclens("explain", name, "--target", "died", "--save", "model", "--seed", "4",
                        "--min-support", "6", cwd=tmp_path)  # fmt: skip
        assert run.returncode == 0, run.stderr
        models.append(json.loads((tmp_path / "model" / "model.json").read_text()))
    assert models[0]["rules"] == models[1]["rules"]
    assert models[0]["data_sha256"] == models[1]["data_sha256"]
    assert models[0]["settings"]["min_support"] == 6.0
    written = logiclens("predict", "model", "t.xlsx", "-o", "out.xlsx", "--keep", "id", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    back = pd.read_excel(tmp_path / "out.xlsx", engine="openpyxl")
    assert back["predicted died"].tolist() == RuleSet.load(tmp_path / "model").predict(frame).tolist()


def test_notes_ask_whether_many_whole_numbers_are_a_measurement(tmp_path):
    frame = patients(300).drop(columns=["id", "died"])
    frame["length_of_stay"] = np.arange(300) % 12 + 1
    frame.to_csv(tmp_path / "data.csv", index=False)
    run = logiclens("explain", tmp_path / "data.csv", "--target", "length_of_stay")
    assert run.returncode == 0, run.stderr
    told = " ".join((run.stdout + run.stderr).split())
    assert told.count("'length_of_stay' has 12 different numbers: if it is a measurement, cut it with --above") == 1


def test_a_support_that_is_lowered_is_noted(tmp_path):
    patients(200).to_csv(tmp_path / "data.csv", index=False)
    run = logiclens("explain", tmp_path / "data.csv", "--target", "died", "--min-support", "99999")
    assert run.returncode == 0, run.stderr
    told = " ".join((run.stdout + run.stderr).split())
    assert told.count("--min-support 99999 is more than a quarter of a class") == 1
