"""`logiclens explain` on tables that an engine counts."""

from __future__ import annotations

import json

import pytest

from tests.cli_runs import logiclens, refused
from tests.test_engine import frame


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    table = frame(2_000)
    for k in range(3):
        table.iloc[k::3].to_parquet(folder / f"part{k}.parquet", index=False)
    return folder


def test_a_pattern_is_counted_and_explained(lake):
    run = logiclens(
        "explain", "part*.parquet", "--target", "y", "--engine", "duckdb", "--memory", "1GB", "--json", "-",
        "--report", "rules.html", "--save", "model", "--drop", "fine", cwd=lake,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "cuts were found on all of them" in run.stderr
    result = json.loads(run.stdout)
    assert result["data"]["rows"] == 2_000
    assert result["parts"] == {"train": 1_200, "validation": 300, "set_aside": 500}
    assert result["data"]["columns"] == 6
    assert sum(sum(row) for row in result["confusion"]["counts"]) == 500
    assert "<html" in (lake / "rules.html").read_text(encoding="utf-8")
    again = logiclens("score", "model", "part0.parquet", cwd=lake)
    assert again.returncode == 0, again.stderr


def test_one_value_of_the_target_against_the_others(lake):
    run = logiclens("explain", "part*.parquet", "--target", "visits", "--positive", "7", "--json", "-", cwd=lake)
    assert run.returncode == 0, run.stderr
    assert [one["name"] for one in json.loads(run.stdout)["classes"]] == ["7", "not 7"]


@pytest.mark.parametrize(("options", "message"), [
    (["--target", "z"], "part*.parquet has no column 'z'"),
    (["--target", "y", "--drop", "nothing"], "part*.parquet has no column 'nothing'"),
    (["--target", "y", "--drop", "y"], "the target 'y' cannot be left out"),
    (["--target", "y", "--by", "unit"], "rows that an engine counts take no --by"),
    (["--target", "y", "--positive", "dead"], "'dead' is not a value of 'y'; the values are 'ill', 'well'"),
    (["--target", "y", "--cuts", "soft"], 'rows of "soft" concepts differ all'),
    (["--target", "y", "--memory", "much"], "DuckDB does not take these settings"),
    (["--target", "age"], "the target 'age' is missing in"),
])  # fmt: skip
def test_what_cannot_be_counted_is_told_in_a_sentence(lake, options, message):
    assert refused("explain", "part*.parquet", *options, cwd=lake).startswith(message)


def test_a_pattern_that_names_nothing(lake):
    assert refused("explain", "*.csv", "--target", "y", cwd=lake).startswith("*.csv names no file")
