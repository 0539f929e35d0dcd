"""`logiclens predict` reads, answers and writes a table in chunks; the output is that of the table in one chunk."""

from __future__ import annotations

import gzip
import json
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.cli.options import TableSource
from logiclens.cli.predict import predict_table
from logiclens.errors import LogicLensError
from tests.cli_runs import exact, explain, logiclens, patients, place, refused, soft, three

KEPT = ("id", "whole", "gaps", "flag", "flags", "day", "time", "german", "text", "nothing")
WHOLE = 10**9


@cache
def table(name: str) -> Path:
    """New patients with further columns of every type, whose first and last rows differ in form."""
    n_rows = 23
    frame = patients(n_rows, seed=3).drop(columns="died")
    frame["whole"] = np.arange(n_rows)
    frame["gaps"] = [None if row == 17 else row for row in range(n_rows)]
    frame["flag"] = [row % 2 == 0 for row in range(n_rows)]
    frame["flags"] = [None if row < 5 else row % 3 == 0 for row in range(n_rows)]
    frame["day"] = frame["admitted"]
    frame["time"] = frame["admitted"] + pd.to_timedelta([0] * 20 + [0, 90, 0.5], unit="s")
    frame["german"] = [f"{row % 28 + 1}/{row % 12 + 1}/2021" for row in range(n_rows)]
    frame["text"] = ["12"] * 20 + ["007", "=1+1", None]
    frame["nothing"] = None
    path = place() / name
    if name.endswith(".csv"):
        frame.to_csv(path, index=False)
    elif name.endswith(".jsonl"):
        path.write_text(frame.to_json(orient="records", lines=True, date_format="iso"))
    else:
        frame.to_parquet(path, row_group_size=4)
    return path


def written(monkeypatch, size: int, source: Path, out: str, folder: Path, **options) -> bytes:
    """What `predict` writes if a chunk has so many rows."""
    for module in ("delimited", "records"):
        monkeypatch.setattr(f"logiclens.tables.{module}.chunk_rows", lambda _: size)
    monkeypatch.setattr("logiclens.tables.files.MOST_ROWS", size)
    path = folder / f"{size}{out}"
    asked = {"why": False, "keep": (), "by_rules": False, "out": None, "json": None, "quiet": True} | options
    predict_table(asked.pop("model")().folder, TableSource(str(source)), **{**asked, _option(out): str(path)})
    content = path.read_bytes()
    return gzip.decompress(content) if out.endswith(".gz") else content


def _option(out: str) -> str:
    return "json" if out.endswith(".json") else "out"


@pytest.mark.parametrize("out", [".csv", ".tsv.gz", ".jsonl", ".json"])
@pytest.mark.parametrize("source", ["new.csv", "new.jsonl", "new.parquet"])
def test_small_chunks_write_the_same_bytes(monkeypatch, tmp_path, source, out):
    options = {"model": exact, "why": True, "keep": KEPT}
    whole = written(monkeypatch, WHOLE, table(source), out, tmp_path, **options)
    for size in (1, 4):
        assert written(monkeypatch, size, table(source), out, tmp_path, **options) == whole


@pytest.mark.parametrize("options", [{"model": soft}, {"model": soft, "by_rules": True, "why": True}, {"model": three}])
def test_networks_and_rules_answer_chunks_alike(monkeypatch, tmp_path, options):
    whole = written(monkeypatch, WHOLE, table("new.csv"), ".csv", tmp_path, **options)
    assert written(monkeypatch, 3, table("new.csv"), ".csv", tmp_path, **options) == whole


@pytest.mark.parametrize("source", ["new.csv", "new.jsonl", "new.parquet"])
def test_small_chunks_write_the_same_parquet(monkeypatch, tmp_path, source):
    options = {"model": exact, "why": True, "keep": KEPT}
    for size in (WHOLE, 4):
        written(monkeypatch, size, table(source), ".parquet", tmp_path, **options)
    whole, parts = (pd.read_parquet(tmp_path / f"{size}.parquet") for size in (WHOLE, 4))
    pd.testing.assert_frame_equal(parts, whole)
    assert len(whole) == 23


def test_json_is_what_the_json_module_writes(monkeypatch, tmp_path):
    text = written(monkeypatch, 4, table("new.csv"), ".json", tmp_path, model=exact, keep=("id",)).decode()
    content = json.loads(text)
    assert text == json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    assert [row["row"] for row in content["rows"]] == list(range(1, 24))


@pytest.mark.parametrize(("cell", "shown"), [("old", "'old' in row 20"), ("7" * 400, "is infinite (inf) in row 20")])
def test_a_late_bad_cell_is_named_and_nothing_written(monkeypatch, tmp_path, cell, shown):
    frame = pd.read_csv(table("new.csv"), dtype=str)
    frame.loc[19, "age"] = cell
    frame.to_csv(tmp_path / "bad.csv", index=False)
    for size in (2, WHOLE):
        with pytest.raises(LogicLensError) as caught:
            written(monkeypatch, size, tmp_path / "bad.csv", ".csv", tmp_path, model=exact)
        assert shown in str(caught.value)
    assert os.listdir(tmp_path) == ["bad.csv"]


def test_nothing_is_printed_before_an_error(tmp_path):
    frame = patients(12_000)
    frame["age"] = frame["age"].astype(object)
    frame.loc[11_999, "age"] = "old"
    assert "'old' in row 12000" in refused("predict", exact().folder, "-", stdin=frame.to_csv(index=False).encode())


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    frame, peaks = patients(20_000), []
    code = "from logiclens.cli import main; main()"
    for copies in (1, 8):
        pd.concat([frame] * copies).to_csv(tmp_path / "new.csv", index=False)
        out = ["-q", "-o", str(tmp_path / "out.csv")]
        arguments = ["predict", str(exact().folder), str(tmp_path / "new.csv"), *out]
        child = os.posix_spawn(sys.executable, [sys.executable, "-c", code, *arguments], os.environ)
        _, status, usage = os.wait4(child, 0)
        assert status == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] < peaks[0] + 20


# Formulas ------------------------------------------------------------------------------------------------------------

FORMULAS = ("=1+1", "@SUM(A1)", "+x", "-x", "\tx", "'=x")


@cache
def formulas():
    """A model with a label that is a formula."""
    frame = patients().drop(columns="id")
    frame["died"] = frame["died"].replace("yes", '=HYPERLINK("x")')
    return explain(frame, "formulas", "--target", "died")


def test_labels_that_are_formulas_are_escaped_in_csv(tmp_path):
    folder, data = formulas().folder, formulas().data
    shown = logiclens("predict", folder, data).stdout
    assert "\"'=HYPERLINK" in shown
    run = logiclens("predict", folder, data, "--keep-formulas", "-o", tmp_path / "out.csv")
    assert run.returncode == 0
    assert set(pd.read_csv(tmp_path / "out.csv")["predicted died"]) == {"no", '=HYPERLINK("x")'}
    assert logiclens("predict", folder, data, "-o", tmp_path / "out.parquet").returncode == 0
    assert set(pd.read_parquet(tmp_path / "out.parquet")["predicted died"]) == {"no", '=HYPERLINK("x")'}


def test_kept_texts_are_escaped_and_numbers_are_not(tmp_path):
    frame = patients(len(FORMULAS)).drop(columns="died")
    frame["=note"], frame["number"] = FORMULAS, -5
    # The tab at the beginning of a cell would be lost in CSV.
    frame.to_parquet(tmp_path / "new.parquet")
    arguments = ("predict", exact().folder, tmp_path / "new.parquet", "--keep", "=note", "--keep", "number")
    assert logiclens(*arguments, "-o", tmp_path / "out.csv").returncode == 0
    found = pd.read_csv(tmp_path / "out.csv")
    assert found["'=note"].tolist() == [f"'{text}" for text in FORMULAS]
    assert found["number"].tolist() == [-5] * len(FORMULAS)


@pytest.mark.parametrize("name", ["row", "probability", "why", "predicted died"])
def test_columns_named_like_answers_cannot_be_kept(tmp_path, name):
    patients(5, seed=3).drop(columns="died").assign(**{name: 1}).to_csv(tmp_path / "t.csv", index=False)
    told = refused("predict", exact().folder, "t.csv", "--keep", name, "--why", cwd=tmp_path)
    assert told == f"the column '{name}' cannot be kept, because a column of the answers has this name: rename it."
    # Without --why no answer is called so.
    run = logiclens("predict", exact().folder, "t.csv", "--keep", name, cwd=tmp_path)
    assert (run.returncode == 0) == (name == "why")


@pytest.mark.parametrize("mode", [(), ("--soft",)])
def test_a_prediction_needs_no_column_that_was_left_out(mode, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(300), "age": rng.integers(20, 90, 300), "site": 1, "dose": rng.normal(size=300)})
    frame["ill"] = np.where((frame["age"] >= 60) ^ (frame["dose"] > 0), "yes", "no")
    frame.to_csv(tmp_path / "t.csv", index=False)
    made = logiclens("explain", "t.csv", "--target", "ill", *mode, "--save", "model", cwd=tmp_path)
    assert "the column 'id' is left out" in made.stdout
    assert "the column 'site' is left out" in made.stdout
    (tmp_path / "some").mkdir()
    some = frame[["age", "dose", "ill"]]
    some.to_csv(tmp_path / "some" / "t.csv", index=False)
    every, fewer = (logiclens("predict", "model", data, cwd=tmp_path) for data in ("t.csv", "some/t.csv"))
    assert fewer.stdout == every.stdout != ""
    for engine in ((), ("--engine", "duckdb")):
        scores = [logiclens("score", "model", data, *engine, cwd=tmp_path).stdout for data in ("t.csv", "some/t.csv")]
        whole, part = (score.partition("\n  accuracy of the model ")[2] for score in scores)
        assert part == whole != ""
    model = EntropyClassifier.load(tmp_path / "model")
    answers = model.predict(frame)
    for rows in (some, some.drop(columns="ill"), tmp_path / "some" / "t.csv", frame.drop(columns="id")):
        np.testing.assert_array_equal(model.predict(rows), answers)
