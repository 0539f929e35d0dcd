"""Files of a lake: their columns file by file, with the kinds that they have in memory."""

from __future__ import annotations

import os
import shutil
import sqlite3

import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.engine.lake import in_engine, short_names
from logiclens.errors import LogicLensError
from logiclens.estimator.on_engine import predict_into
from logiclens.formula import Predicate, Rule, RuleSet, parse
from logiclens.tables.files import read_table
from tests.engine.test_count import frame, in_duckdb

MONTHS = ("january", "fe[b]ruary 2", "march%20+")


@pytest.fixture(scope="module")
def model():
    rows = frame(600)
    return EntropyClassifier(epochs=40).fit(rows.drop(columns="y"), rows.y)


def written(folder, kind: str) -> dict[str, pd.DataFrame]:
    """Three files in two folders, by what they are to be called."""
    tables = {
        f"{place}/{name}.{kind}": frame(200, seed) for seed, (place, name) in enumerate(zip("aab", MONTHS, strict=True))
    }
    for name, rows in tables.items():
        (folder / name).parent.mkdir(exist_ok=True)
        if kind == "parquet":
            rows.to_parquet(folder / name, index=False, coerce_timestamps="us")
        elif kind == "csv":
            rows.to_csv(folder / name, index=False)
        else:
            texts = rows.assign(since=rows.since.dt.strftime("%Y-%m-%d %H:%M:%S"))
            texts.to_json(folder / name, orient="records", lines=True)
    return tables


def check_files(model, source, tables: dict[str, pd.DataFrame]) -> None:
    """The statistics of each file are those of its rows in memory."""
    found = model.statistics(source, "y", per_file=True)
    assert found.by == "file"
    assert found.n_rows == 600
    assert list(found.subgroups) == sorted(tables)
    for name, rows in tables.items():
        here = model.statistics(rows.drop(columns="y"), rows.y)
        assert [one.to_dict() for one in found.subgroups[name]] == [one.to_dict() for one in here.classes]


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_statistics_of_each_file_are_those_of_its_rows(model, tmp_path, kind):
    tables = written(tmp_path, kind)
    check_files(model, tmp_path, tables)
    check_files(model, f"{tmp_path}/**/*.{kind}", tables)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java")
def test_spark_tells_files_apart_as_duckdb_does(model, tmp_path):
    spark = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    tables = written(tmp_path, "parquet")
    there = in_engine(tmp_path, "spark", per_file=True)
    try:
        check_files(model, there, tables)
    finally:
        spark.SparkSession.getActiveSession().stop()


def test_files_are_called_by_what_tells_them_apart():
    assert short_names(["/lake/2026/01.csv"]) == {"/lake/2026/01.csv": "01.csv"}
    assert list(short_names(["01.csv", "more/01.csv"]).values()) == ["01.csv", "more/01.csv"]
    address = "file:///a%20lake/x%2520%5B1%5D+.csv"
    assert short_names([address, "file:///a%20lake/sub/y.csv"])[address] == "x%20[1]+.csv"


def test_a_column_called_file_is_a_column(model, tmp_path):
    for k in range(2):
        frame(100, k).assign(file="mine", filename="his").to_parquet(tmp_path / f"{k}.parquet", index=False)
    assert list(model.statistics(tmp_path, "y", by="file").subgroups) == ["mine"]
    assert list(model.statistics(tmp_path, "y", per_file=True).subgroups) == ["0.parquet", "1.parquet"]


def test_what_has_no_files_is_refused(model, tmp_path):
    rows = frame(50)
    with sqlite3.connect(tmp_path / "rows.db") as database:
        rows.drop(columns="since").to_sql("rows", database, index=False)
    with pytest.raises(LogicLensError, match="a table of Ibis has no files to tell apart: name the files instead"):
        model.statistics(in_duckdb(rows), "y", per_file=True)
    with pytest.raises(LogicLensError, match=r"rows.db is a database, whose rows come from no files"):
        in_engine(tmp_path / "rows.db", per_file=True)
    with pytest.raises(LogicLensError, match="name these as the rows"):
        model.statistics(rows.drop(columns="y"), rows.y, per_file=True)
    with pytest.raises(LogicLensError, match="leave out by or per_file"):
        model.statistics(tmp_path, "y", by="unit", per_file=True)
    with pytest.raises(LogicLensError, match="leave out sample_weight"):
        model.statistics(in_duckdb(rows), "y", sample_weight=[1.0])


def test_columns_of_many_values_are_no_subgroups(model, monkeypatch):
    rows = frame(300).assign(number=range(300))
    monkeypatch.setattr("logiclens.estimator.on_engine.MAX_SUBGROUPS", 50)
    with pytest.raises(LogicLensError, match="'number' has 300 values: cut it into ranges, since at most 50 subgroups"):
        model.statistics(in_duckdb(rows), "y", by="number")
    # 300 moments in 30 months.
    assert len(model.statistics(in_duckdb(rows), "y", by="since").subgroups) == 31


def test_too_many_files_are_no_subgroups(model, tmp_path, monkeypatch):
    written(tmp_path, "csv")
    monkeypatch.setattr("logiclens.estimator.on_engine.MAX_SUBGROUPS", 2)
    with pytest.raises(LogicLensError, match="these are 3 files: name fewer, since at most 2 subgroups are told apart"):
        model.statistics(tmp_path, "y", per_file=True)


def test_text_columns_have_the_kinds_they_have_in_memory(tmp_path):
    text = (
        "answer,truth,loud,hour,gaps\nyes,true,TRUE,12:30,True\nno,false,FALSE,13:00,NA\nno,false,FALSE,13:15,False\n"
    )
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    there, here = in_engine(tmp_path), read_table(tmp_path / "rows.csv").frame
    assert {name: str(kind) for name, kind in there.schema().items()} == {
        "answer": "string", "truth": "boolean", "loud": "boolean", "hour": "string", "gaps": "boolean",
    }  # fmt: skip
    assert there.to_pyarrow().to_pydict() == {
        name: here[name].astype(object).where(here[name].notna(), None).tolist() for name in here
    }


def test_settings_of_duckdb_are_not_for_spark(tmp_path):
    frame(50).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(LogicLensError, match="memory and threads are told to DuckDB"):
        in_engine(tmp_path, "spark", memory="4GB")


def test_folders_that_cannot_be_counted_are_told_apart(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogicLensError, match=r"empty is a folder without files\.$"):
        in_engine(tmp_path / "empty")
    for name in ("a.csv", "b.parquet", "README"):
        (tmp_path / name).write_text("x\n1\n", encoding="utf-8")
    with pytest.raises(
        LogicLensError, match=r"several kinds \(\.csv, \.parquet, none\): name those of one, as in '.*/\*\.parquet'"
    ):
        in_engine(tmp_path)


def test_columns_to_keep_are_written_beside_the_answers(model, tmp_path):
    rows = frame(100)
    out = predict_into(model.rules_, in_duckdb(rows), tmp_path / "answers.parquet", keep=("visits", "unit"))
    found = pd.read_parquet(out)
    assert list(found.columns) == ["visits", "unit", "prediction"]
    assert list(found.prediction) == list(model.rules_.predict(rows.drop(columns="y")))


def test_several_labels_are_columns_of_their_own(tmp_path):
    rules = RuleSet(
        (Rule("old", parse("a"), (0.9,)), Rule("often", parse("b"), (0.9,))),
        {"a": Predicate("age", ">=", 60), "b": Predicate("visits", ">=", 5)}, multilabel=True,
    )  # fmt: skip
    rows = frame(100)
    found = pd.read_parquet(predict_into(rules, in_duckdb(rows), tmp_path / "answers.parquet", keep=("age",)))
    assert list(found.columns) == ["age", "old", "often"]
    assert (found.old == (rows.age >= 60)).all()
    with pytest.raises(LogicLensError, match="has a column 'often' already"):
        predict_into(rules, in_duckdb(rows.assign(often=1)), tmp_path / "more.parquet")
