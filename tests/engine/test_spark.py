"""Spark counts what DuckDB counts, even if a worker is killed meanwhile."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator

import ibis
import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.concepts.cuts import Tally
from logiclens.engine.count import classes_of, count_rows
from logiclens.engine.histogram import tallies
from logiclens.engine.lake import in_engine
from logiclens.engine.query import COUNT, kept
from logiclens.errors import LogicLensError
from logiclens.tables.frames import columns_of
from tests.engine.test_count import frame
from tests.engine.test_failures import DAMAGES, damage, write_lake
from tests.engine.test_histogram import SHAPES, check, set_most
from tests.waiting import until

pytest.importorskip("pyspark", reason="needs pyspark")

from tests.spark_processes import active_stages, at_work, kill_with_a_task, tasks_lost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"),
]


def session(master: str):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("tests").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.driver.bindAddress", "127.0.0.1")
    return builder.config("spark.driver.host", "127.0.0.1").config("spark.executor.memory", "512m").getOrCreate()


@pytest.fixture
def lake(tmp_path):
    table = frame(2_000)
    for k in range(4):
        table.iloc[k::4].to_parquet(tmp_path / f"part{k}.parquet", index=False, coerce_timestamps="us")
    return f"{tmp_path}/*.parquet"


@pytest.fixture
def local() -> Iterator[object]:
    spark = session("local[2]")
    yield spark
    spark.stop()


@pytest.fixture
def cluster() -> Iterator[object]:
    """Two workers in processes of their own."""
    spark = session("local-cluster[2,1,1024]")
    yield spark
    spark.stop()


def test_spark_counts_what_duckdb_counts(lake, local, tmp_path):
    there = in_engine(lake, "spark")
    model = EntropyClassifier(epochs=60, set_aside=0.2).fit(there, target="y")
    twin = EntropyClassifier(epochs=60, set_aside=0.2).fit(lake, target="y")
    assert model.table_.counted() == twin.table_.counted()
    assert str(model.explain()) == str(twin.explain())
    assert model.score(there, "y") == twin.score(lake, "y")
    assert model.statistics(there, "y", by="since").to_dict() == twin.statistics(lake, "y", by="since").to_dict()
    out = model.predict_into(there, tmp_path / "answers.parquet")
    answers = pd.read_parquet(out)
    assert len(answers) == 2_000
    assert list(answers.prediction) == list(model.rules_.predict(answers.drop(columns=["y", "prediction"])))


def test_spark_parts_columns_of_many_values_as_memory_does(tmp_path, local, monkeypatch):
    set_most(monkeypatch, parts=4_096, values=2_000)
    names = ["normal", "skewed", "one value often", "with gaps", "wide whole numbers", "whole with gaps", "moments"]
    rows = pd.DataFrame({name: SHAPES[name] for name in names})
    rows.to_parquet(tmp_path / "rows.parquet", index=False, coerce_timestamps="us")
    table = in_engine(tmp_path / "rows.parquet", "spark")
    for column, found in zip(columns_of(rows), tallies(table, names, len(rows)), strict=True):
        check(Tally.of(column, np.ones(len(rows))), found)


def test_spark_keeps_rows_that_repeat_while_they_are_looked_at(tmp_path, local):
    rows = frame(60).sample(3_000, replace=True, random_state=0, ignore_index=True)
    rows.to_parquet(tmp_path / "rows.parquet", index=False, coerce_timestamps="us")
    table = in_engine(tmp_path / "rows.parquet", "spark")
    before = table.get_backend().list_tables()
    with kept(table, table.columns) as few:
        assert few[COUNT].sum().execute() == 3_000
        assert few.count().execute() <= 60
    assert table.get_backend().list_tables() == before
    model = EntropyClassifier(epochs=60).fit(table, target="y")
    twin = EntropyClassifier(epochs=60, cuts_on="all").fit(rows.drop(columns="y"), rows.y)
    assert model.table_.counted() == twin.table_.counted()


@pytest.mark.parametrize(("kind", "how", "options"), DAMAGES)
def test_spark_too_names_a_file_damaged_in_the_middle(tmp_path, local, kind, how, options):
    files = write_lake(tmp_path / "lake", kind, **options)
    damage(files[1], how)
    with pytest.raises(LogicLensError) as told:
        EntropyClassifier(epochs=2).fit(in_engine(tmp_path / "lake", "spark"), target="y")
    said = str(told.value)
    assert said.startswith((f"{files[1]} cannot be read: ", f"spark cannot read {files[1]}: "))
    assert "part0" not in said
    assert "part2" not in said
    assert "\n" not in said
    assert len(said) < 600


def test_a_worker_that_is_killed_while_it_counts_changes_nothing(tmp_path, cluster):
    rng = np.random.default_rng(0)
    for k in range(12):
        rows = pd.DataFrame({f"x{j}": rng.integers(0, 4, 200_000).astype(np.int32) for j in range(12)})
        rows["y"] = np.where((rows.x0 > 1) & (rows.x1 > 2), "a", "b")
        rows.to_parquet(tmp_path / f"part{k:02}.parquet", index=False)
    pattern = f"{tmp_path}/*.parquet"
    # A task for each file, so that one that is stopped has tasks ahead.
    cluster.conf.set("spark.sql.files.maxPartitionBytes", "1m")
    fitted = EntropyClassifier(epochs=5).fit(
        ibis.duckdb.connect().read_parquet(f"{tmp_path}/part00.parquet"), target="y"
    )
    cutting = fitted.schema_.cutting
    table = in_engine(pattern, "spark")
    classes, _ = classes_of(table, "y")
    expected = count_rows(in_engine(pattern), cutting, "y", classes)
    lost: list[int] = []
    ended = threading.Event()

    def kill_one() -> None:
        found = until(lambda: at_work(cluster, os.getpid(), ahead=4) or ended.is_set())
        if not ended.is_set():
            stages = active_stages(cluster)
            kill_with_a_task(cluster, found[0])
            # Before a later attempt of the stage hides the failures of this one.
            lost.append(until(lambda: tasks_lost(cluster, stages)))

    killer = threading.Thread(target=kill_one)
    killer.start()
    counted = count_rows(table, cutting, "y", classes)
    ended.set()
    killer.join()
    # While it was counting, not after.
    assert lost
    assert counted == expected
