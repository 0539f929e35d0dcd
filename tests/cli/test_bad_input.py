"""Tables that cannot be used as they are: the command line refuses each in one sentence."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from logiclens import RuleSet
from tests.cli_runs import exact, logiclens, patients, refused, soft

HEADER = "age,unit,died\n"
DIGITS = "7" * 400, "7" * 5000
ROWS = "".join(f"{20 + i % 50},{'AB'[i % 2]},{'yn'[i % 2]}\n" for i in range(40))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (HEADER + ROWS, "--target dide", "bad.csv has no column 'dide'; did you mean 'died'?"),
        (HEADER + ROWS, "--target DIED", "bad.csv has no column 'DIED'; did you mean 'died'?"),
        (HEADER + ROWS, "--target zzz", "bad.csv has no column 'zzz'; its columns are 'age', 'unit', 'died'."),
        (HEADER + ROWS, "--target died --drop untis", "bad.csv has no column 'untis'; did you mean 'unit'?"),
        (HEADER + ROWS, "--target died --positive Y", "the target 'died' is never 'Y'; did you mean 'y'?"),
        (HEADER + ROWS, "--target died --drop age --drop unit", "bad.csv has no column beside the target 'died'"),
        (HEADER + "1,A,y\n" * 30, "--target died", "the target 'died' is 'y' in every row: there is nothing to tell"),
        (HEADER + "1,A,1\n" * 30, "--target died --positive 1", "the target 'died' is '1' in every row"),
        (HEADER + "1,A,\n2,B,\n", "--target died", "the target 'died' has no value in any row."),
        (HEADER + "1,A,y\n1,A,n\n" * 30, "--target died", "every column has one value only: there is nothing to tell"),
        (HEADER + ROWS + "old,A,y\n", "--target died", "the column 'age' holds numbers and text ('old' in row 41)"),
        (HEADER + ROWS + "inf,A,y\n", "--target died", "the column 'age' is infinite (inf) in row 41: put the largest"),
        (HEADER + ROWS + "-inf,A,y\n", "--target died", "the column 'age' is infinite (-inf) in row 41"),
        ("age,unit,age\n1,A,2\n", "--target age", "columns 1 and 3 of bad.csv are both named 'age': rename one."),
        ("", "--target died", "bad.csv is empty."),
        ("\ufeff\r\n", "--target died", "bad.csv is empty."),
        (HEADER, "--target died", "bad.csv has no rows."),
        ((HEADER + ROWS).replace(",", ";"), "--target died --delimiter ,", "with the delimiter ',' bad.csv has one"),
        ((HEADER + ROWS).replace(",", "~"), "--target died", "bad.csv has no column 'died'; its columns are 'age~unit"),
        (HEADER + "1,A\n" + ROWS, "--target died", "line 2 of bad.csv has 2 fields, but the header has 3"),
        (HEADER + "1,A,y\n2,B,n\n3,A,y\n", "--target died", "bad.csv has 3 rows with a value of 'died', too few"),
        (HEADER + ROWS, "--target died --by unti", "bad.csv has no column 'unti' to compare subgroups by; did you"),
        (HEADER + ROWS, "--target died --by died", "'died' is the target: name another column to compare"),
        (HEADER + ROWS, "--target died --delimiter ab", "the delimiter must be one character"),
        (HEADER + ROWS, "--target died --split-by-time aeg", "the table has no column 'aeg'; did you mean 'age'?"),
        (HEADER + ROWS, "--target died --split-by-time unit", "rows are split by time along dates or numbers, and"),
        (HEADER + ROWS, "--target died --soft --network", "with --soft a network predicts: leave out --soft or"),
        (HEADER + ROWS, "--target died --soft --teacher-column age", "rules explain a network or the teacher: leave"),
        (HEADER + ROWS, "--target died --network --teacher-column age", "rules that explain a teacher match its"),
        (HEADER + ROWS, "--target died --split-by-time age --folds 3", "folds are drawn at random, whatever the time"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used(content, options, message, tmp_path):
    (tmp_path / "bad.csv").write_bytes(content.encode())
    assert refused("explain", "bad.csv", *options.split(), "--save", "m", cwd=tmp_path).startswith(message)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.linspace(0, 1, 60).round(3),
            "the target 'y' holds numbers with decimals such as 0.017, not classes: cut them with --above",
        ),
        (np.tile([1.5, 2.0, 3.0], 20), "the target 'y' holds numbers with decimals such as 1.5, not classes: cut"),
        (np.arange(60), "the target 'y' has 60 different numbers, more than 50 classes: cut them with --above 30"),
        ([f"v{i}" for i in range(60)], "the target 'y' has 60 different values, more than 50 classes: add a column"),
    ],
)
def test_a_target_that_is_no_list_of_classes(values, message, tmp_path):
    pd.DataFrame({"x": np.arange(60) % 7, "y": values}).to_csv(tmp_path / "t.csv", index=False)
    assert refused("explain", tmp_path / "t.csv", "--target", "y").startswith(message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.csv", "there is no file nowhere.csv; did you mean somewhere.csv?"),
        ("lost/x.csv", "there is no file lost/x.csv, and no folder lost either."),
        ("notes.docx", "notes.docx is of no known format: its name must end in one of .csv"),
        (".", ". holds files of several kinds ("),
        ("broken.parquet", "broken.parquet is not a whole Parquet file"),
        ("broken.jsonl", "line 1 of broken.jsonl is not JSON"),
        ("latin.csv", "latin.csv is not UTF-8: byte 0x81 at position 2"),
    ],
)
def test_a_file_that_cannot_be_read(name, message, tmp_path):
    (tmp_path / "somewhere.csv").write_text(HEADER + ROWS)
    (tmp_path / "notes.docx").write_text("x")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    (tmp_path / "broken.jsonl").write_text("{'age': 1}\n")
    (tmp_path / "latin.csv").write_bytes("café,t\n1,2\n".encode("latin-1").replace(b"caf", b"ca\x81"))
    assert refused("explain", name, "--target", "died", cwd=tmp_path).startswith(message)


def test_keys_categories_and_gaps_are_reduced_with_a_note(tmp_path):
    rng = np.random.default_rng(0)
    n = 12_000
    frame = pd.DataFrame({"key": np.arange(n), "city": [f"c{i}" for i in rng.integers(0, 10_000, n)]})
    frame["age"] = rng.integers(20, 90, n)
    frame["well"] = (frame["age"] < 55).astype(object)
    frame.loc[:99, "well"] = "none"
    frame["far"] = "near"
    frame.loc[5, "far"] = "1"
    frame.to_csv(tmp_path / "cities.csv", index=False)
    options = ("--target", "well", "--drop", "far", "--missing", "none", "--json", "-")
    run = logiclens("explain", "cities.csv", *options, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert [entry["name"] for entry in told["classes"]] == ["False", "True"]
    assert run.stderr.splitlines() == [f"note: {note}" for note in told["notes"]]
    assert told["notes"][0] == "100 of 12,000 rows have no value of 'well' and are left out."
    assert "the column 'key' is left out: every row has another value, as an identifier has." in told["notes"]
    (categories,) = [note for note in told["notes"] if "'city'" in note]
    assert "categories: the 20 most frequent become concepts" in categories
    assert {metric["name"]: metric["value"] for metric in told["metrics"]}["model accuracy"] > 99
    assert told["data"]["columns"] == 3
    assert told["command"] == "logiclens explain cities.csv --target well --drop far --missing none"


def test_each_unusable_column_is_named_until_none_is_left(tmp_path):
    frame = patients(80)
    frame["age"] = frame["age"].map(lambda age: "?" if np.isnan(age) else f"{age:g}")
    frame["bmi"] = ["a lot" if i % 9 == 0 else str(i % 30) for i in range(80)]
    frame.to_csv(tmp_path / "t.csv", index=False, sep="|")
    arguments = ("explain", "t.csv", "--target", "died")
    assert refused(*arguments, cwd=tmp_path).startswith("the column 'age' holds numbers and text ('?' in row ")
    assert refused(*arguments, "--missing", "?", cwd=tmp_path).startswith("the column 'bmi' holds numbers and text")
    assert refused(*arguments, "--missing", "?", "--drop", "bmi", "--by", "weather", cwd=tmp_path).startswith(
        "t.csv has no column 'weather' to compare subgroups by; its columns are 'id', 'age', "
    )


def test_only_near_names_that_are_not_needed_are_suggested(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"DEBTINC": rng.normal(size=200), "DELINQ": rng.normal(size=200), "DEBTINK": 0.5})
    frame["BAD"] = np.where((frame["DEBTINC"] > 0) ^ (frame["DELINQ"] > 0), "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.drop(columns=["DEBTINC", "DEBTINK"]).to_csv(tmp_path / "none.csv", index=False)
    frame.drop(columns="DEBTINC").to_csv(tmp_path / "near.csv", index=False)
    logiclens("explain", "t.csv", "--target", "BAD", "--save", "model", cwd=tmp_path)
    said = "has no column 'DEBTINC', which the model needs;"
    assert refused("predict", "model", "none.csv", cwd=tmp_path) == f"none.csv {said} its columns are 'DELINQ', 'BAD'."
    assert refused("predict", "model", "near.csv", cwd=tmp_path) == f"near.csv {said} did you mean 'DEBTINK'?"
    frame = frame.rename(columns={"DEBTINC": "DEBTIN", "DELINQ": "DEBTINC"})
    frame.rename(columns={"DEBTIN": "DELINQUENT"}).to_csv(tmp_path / "other.csv", index=False)
    message = refused("predict", "model", "other.csv", cwd=tmp_path)
    assert message == "other.csv has no column 'DELINQ', which the model needs; did you mean 'DELINQUENT'?"


# When a model is applied ------------------------------------------------------------------------------------------


def table(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def test_a_column_that_is_missing_is_named_with_the_nearest():
    frame = patients(30, seed=1)
    message = refused("predict", exact().folder, "-", stdin=table(frame.rename(columns={"unit": "units"})))
    assert message == "standard input has no column 'unit', which the model needs; did you mean 'units'?"
    message = refused("score", exact().folder, "-", stdin=table(frame.drop(columns="age")))
    assert message.startswith("standard input has no column 'age', which the model needs; ")
    message = refused("diff", exact().folder, exact().folder, "--data", "-", stdin=table(frame.drop(columns="age")))
    assert message.startswith("standard input has no column 'age', which the models need; ")


@pytest.mark.parametrize("made", [exact, soft], ids=["exact", "soft"])
def test_a_column_of_another_kind_is_refused(made):
    frame = patients(30, seed=1)
    frame["unit"] = frame["unit"].map({"CCU": 1, "MICU": 2, "SICU": 3})
    message = refused("predict", made().folder, "-", stdin=table(frame))
    assert message.startswith("the column 'unit' held text in training and holds numbers now (")
    frame = patients(30, seed=1).astype({"age": object})
    frame.loc[11, "age"] = "old"
    message = refused("predict", made().folder, "-", stdin=table(frame))
    assert message == (
        "the column 'age' held numbers in training and holds text now ('old' in row 12): mend it, or say --missing "
        "'old' if that means there is no value."
    )
    if made is exact:
        run = logiclens("predict", made().folder, "-", "--missing", "old", stdin=table(frame))
        assert run.returncode == 0, run.stderr
    frame = patients(30, seed=1)
    frame.loc[3, "age"] = np.inf
    message = refused("predict", made().folder, "-", stdin=table(frame))
    assert message.startswith("the column 'age' is infinite (inf) in row 4: ")


def test_new_categories_and_gaps_are_answered_as_documented():
    # A category that was not seen is none of those known, and a missing value is above no cut.
    frame = pd.DataFrame({"age": [90.0, None, 90.0, None], "unit": ["ER", "MICU", None, None]})
    run = logiclens("predict", exact().folder, "-", stdin=table(frame))
    answers = [line.split(",")[1] for line in run.stdout.splitlines()[1:]]
    assert answers == ["no", "no", "no", "no"]
    known = pd.DataFrame({"age": [90.0, 20.0, 90.0, 20.0], "unit": ["CCU", "MICU", "SICU", "CCU"]})
    assert answers == RuleSet.load(exact().folder).predict(known).tolist()


def test_an_empty_table_is_refused_too():
    assert refused("predict", exact().folder, "-", stdin=b"") == "standard input is empty."
    assert refused("predict", exact().folder, "-", stdin=b"age,unit\n") == "standard input has no rows."
    assert refused("score", exact().folder, "-", stdin=b"age,unit,died\n1,A,\n") == (
        "the target 'died' has no value in any row."
    )


# Cells that no library expects -------------------------------------------------------------------------------------

LINES = [{"age": 20 + i % 50, "unit": "AB"[i % 2], "died": "yn"[i % 2]} for i in range(40)]


def lines(**changed: object) -> bytes:
    """JSON lines whose fourth record has other values."""
    return "".join(json.dumps(row | changed if place == 3 else row) + "\n" for place, row in enumerate(LINES)).encode()


@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_of_many_digits_are_infinite(digits, sign):
    told = f"the column 'age' is infinite ({sign}inf) in row 41"
    assert refused("explain", "-", "--target", "died", stdin=f"{HEADER}{ROWS}{sign}{digits},A,y\n".encode()).startswith(
        told
    )
    with_digits = lines().replace(b'"age": 23', f'"age": {sign}{digits}'.encode(), 1)
    assert "is infinite" in refused("explain", "-", "--target", "died", stdin=with_digits)


@pytest.mark.parametrize("changed", [{"unit": "\ud800"}, {"died": "\udfff"}, {"a\ud800": 1}])
def test_lone_surrogates_are_named_with_their_line(changed):
    message = refused("explain", "-", "--target", "died", stdin=lines(**changed))
    assert "in line 4 of standard input holds half a character" in message


def test_long_cells_labels_and_names_are_quoted_short(tmp_path):
    long, frame = "x" * 15_000, pd.DataFrame(LINES)
    tables = {
        "cell": frame.astype({"age": object}).assign(age=[long, *frame["age"][1:]]),
        "label": frame.assign(died=long),
        "name": frame.rename(columns={"age": long}).assign(**{long: [np.inf, *range(39)]}),
        "date": frame.assign(day=["2021-01-01"] * 30 + [long] * 10),
        "number": frame.assign(pay=["$1"] * 39 + ["$" + "7" * 15_000]),
    }
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        assert len(refused("explain", f"{name}.csv", "--target", "died", cwd=tmp_path)) < 500, name
    assert len(refused("explain", "label.csv", "--target", "died", "--engine", "duckdb", cwd=tmp_path)) < 500
    assert len(refused("explain", "name.csv", "--target", long, cwd=tmp_path)) < 500
    assert len(refused("score", exact().folder, "label.csv", "--target", "died", cwd=tmp_path)) < 500


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (lines(x=1).replace(b'"x": 1', b'"x": ' + b"[" * 100_000 + b"]" * 100_000), "line 4 of t.jsonl is nested too"),
        (b"[\n" * 100_000, "line 101 of t.jsonl is nested too deeply: expected flat objects."),
        (lines(died="n\0"), "the target 'died' holds a zero byte in 'n\\x00', which no query can name: leave it out."),
        (lines(unit="A\0"), "duckdb cannot count this table: a text holds a zero byte, which no query can name"),
    ],
)
def test_duckdb_never_sees_what_it_cannot_take(tmp_path, content, told):
    (tmp_path / "t.jsonl").write_bytes(content)
    assert refused("explain", "t.jsonl", "--target", "died", "--engine", "duckdb", cwd=tmp_path).startswith(told)


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.jsonl.zst"])
def test_packed_json_for_duckdb_is_checked_too(tmp_path, name):
    with pa.output_stream(tmp_path / name, compression="gzip" if name.endswith("gz") else "zstd") as packed:
        packed.write(lines(x=1).replace(b'"x": 1', b'"x": ' + b"[" * 100_000 + b"]" * 100_000))
    asked = ("explain", name, "--target", "died", "--engine", "duckdb")
    assert refused(*asked, cwd=tmp_path) == f"line 4 of {name} is nested too deeply: expected flat objects."
    whole = (tmp_path / name).read_bytes()
    for damaged in (whole[:40], b"no archive"):
        (tmp_path / name).write_bytes(damaged)
        assert refused(*asked, cwd=tmp_path).startswith(f"{name} cannot be read: ")


@pytest.mark.parametrize("word", ["x" * 3000, "\x1b" * 3000, "--" + "x" * 3000, "--\u202e" * 900])
def test_a_long_argument_is_not_quoted_whole(word):
    message = refused("predict", "model", "rows.csv", word)
    assert len(message) <= 511
    assert "--help" in message
