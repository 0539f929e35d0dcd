"""Engines other than DuckDB and Spark: any Ibis table can be counted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import ibis
import pyarrow as pa
import pytest

from logiclens import EntropyClassifier
from tests.engine.test_count import frame
from tests.postgres import binaries, server

SOME = frame(600)
REPEATED = frame(40).sample(1_500, replace=True, random_state=0, ignore_index=True)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with server(binaries()) as told:
        named = dict(part.split("=") for part in told.split())
        connection = ibis.postgres.connect(
            host=named["host"], user=named["user"], database=named["dbname"], password=""
        )
        yield connection
        connection.disconnect()


@pytest.mark.parametrize("rows", [SOME, REPEATED], ids=["some", "repeated"])
def test_postgresql_counts_what_memory_counts(postgres, rows):
    table = postgres.create_table("rows", pa.Table.from_pandas(rows, preserve_index=False), overwrite=True)
    model = EntropyClassifier(epochs=30, set_aside=0.2).fit(table, target="y")
    twin = EntropyClassifier(epochs=30, set_aside=0.2, cuts_on="all").fit(rows.drop(columns="y"), rows.y)
    assert model.table_.counted() == twin.table_.counted()
    assert str(model.explain()) == str(twin.explain())
    assert model.score(table, "y") == twin.score(rows.drop(columns="y"), rows.y)
    by_month = model.statistics(table, "y", by="since")
    assert sum(months[0].whole.support.total for months in by_month.subgroups.values()) == len(rows)
    assert model.predict_into(table, f"answers{len(rows)}") == f"answers{len(rows)}"
    answers = postgres.table(f"answers{len(rows)}").to_pandas()
    assert list(answers.prediction) == list(model.rules_.predict(answers.drop(columns=["y", "prediction"])))


@pytest.mark.parametrize("rows", [SOME, REPEATED], ids=["some", "repeated"])
def test_sqlite_counts_what_memory_counts(tmp_path, rows):
    # It knows neither dates nor truth values.
    plain = rows.drop(columns="since").astype({"flag": int})
    with sqlite3.connect(tmp_path / "rows.db") as database:
        plain.to_sql("rows", database, index=False)
    table = ibis.sqlite.connect(tmp_path / "rows.db").table("rows")
    model = EntropyClassifier(epochs=30, set_aside=0.2).fit(table, target="y")
    twin = EntropyClassifier(epochs=30, set_aside=0.2, cuts_on="all").fit(plain.drop(columns="y"), plain.y)
    assert model.table_.counted() == twin.table_.counted()
    assert str(model.explain()) == str(twin.explain())
