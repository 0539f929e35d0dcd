"""One delimited file has the same cells, and gets the same answers, in memory and in DuckDB."""

from __future__ import annotations

import csv
import io
import math
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from logiclens.engine.lake import in_engine
from logiclens.tables.files import open_table, read_table
from tests.cli_runs import exact, logiclens, patients

GAPS = {"", "NA", "N/A", "null", "NaN", "nan", "None"}
POOLS = (
    ("A", "B", "'A'", '"q"', "a b", "NA", "nan", ""), ("1", "2.5", "-3", ".5", "1e3", "NA", ""), ("007", "12", "3", ""),
    ("true", "False", "TRUE", ""), ("1,5", "2", "0,25", ""), ("x,y", "x;y", "x\ty", "p|q", "l\nm", ""), ("1", "2", "3"),
    ("1", "x", "NA"), ("",), ("12:30", "13:00"), ("yes", "no"), ("1 000", "5"),
    ("tRUE", "false", "True", ""), ("5", "\u20035", "2"), ("1,5", "2\u2003"), ("\u2003A", "A"),
)  # fmt: skip
PADS = (*[""] * 6, " ", "  ", "\t", "\xa0", " \t", "\v", "\f")


def written(seed: int, path: Path) -> str:
    """Write a file of generated cells; return its delimiter."""
    rng = random.Random(seed)
    delimiter, end = rng.choice(",,;\t|"), rng.choice(["\n", "\r\n"])
    pads = [pad for pad in PADS if delimiter not in pad]

    def field(cell: str) -> str:
        if rng.random() < 0.25 or any(letter in cell for letter in (delimiter, '"', "\n")):
            cell = rng.choice(PADS) + cell + rng.choice(PADS)
            return rng.choice(["", " "]) + '"' + cell.replace('"', '""') + '"' + rng.choice(["", " "])
        return rng.choice(pads) + cell + rng.choice(pads)

    pools = [rng.choice(POOLS) for _ in range(rng.randint(2, 5))]
    lines = [delimiter.join(rng.choice(["", " "]) + f"c{place}" for place in range(len(pools)))]
    lines += [delimiter.join(field(rng.choice(pool)) for pool in pools) for _ in range(rng.randint(3, 40))]
    path.write_bytes(b"\xef\xbb\xbf" * (seed % 2) + (end.join(lines) + end * (seed % 3 > 0)).encode())
    return delimiter


def judged(path: Path, delimiter: str) -> dict[str, list[Any]]:
    """What the documentation says of the cells that the csv module reads."""
    text = io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")
    header, *rows = filter(None, csv.reader(text, delimiter=delimiter, skipinitialspace=True))
    table: dict[str, list[Any]] = {}
    for name, *column in zip(header, *rows, strict=True):
        stripped = [cell.strip(" \t\v\f\xa0") for cell in column]
        cells = [None if cell in GAPS else cell for cell in stripped]
        present = [cell for cell in cells if cell is not None]

        def value(cell: str | None, present: list[str] = present) -> Any:
            def all_are(pattern: str) -> bool:
                return all(re.fullmatch(pattern, other) for other in present)

            if cell is None:
                return None
            if all_are("(?i:true|false)"):
                return cell.lower() == "true"
            if any(re.fullmatch(r"0\d+", one) for one in present):
                return cell
            if all_are(r"-?(\d+[.]?\d*|[.]\d+)(e\d+)?"):
                return float(cell)
            return float(cell.replace(",", ".")) if delimiter == ";" and all_are(r"\d+(,\d+)?") else cell

        table[name.strip()] = [value(cell) for cell in cells]
    return table


def plain(table: pd.DataFrame) -> dict[str, list[Any]]:
    """The cells of a frame; None where one is missing, and a float for every number."""

    def cell(value: Any) -> Any:
        if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
            return None
        return value if isinstance(value, bool | str) else float(value)

    return {name: [cell(value) for value in table[name].tolist()] for name in table}


@pytest.mark.parametrize("seed", range(40))
def test_every_door_reads_the_documented_cells(seed, tmp_path):
    path = tmp_path / "rows.csv"
    truth = judged(path, written(seed, path))
    assert plain(read_table(path).frame) == truth
    with open_table(path, rows=5) as stream:
        assert plain(pd.concat(list(stream.chunks(stream.columns)))) == truth
    assert plain(pd.DataFrame(in_engine(tmp_path).to_pyarrow().to_pydict(), dtype=object)) == truth


@pytest.mark.parametrize(
    "dates",
    [
        ["20.09.2022", "1.2.2021"], ["20.09.2022 8:30", "1.2.2021 14:05:06"], ["20/09/2022", "1/2/2021"],
        ["09/20/2022", "1/2/2021"], ["01/02/2022", "03/04/2021"], ["13/02/2022", "02/13/2021"], ["20.09.22", "1.2.99"],
        ["20.09.45", "1.2.99"], ["20-09-2022", "1-2-2021"], ["20-09-22", "1-2-21"], ["2022-09-20", "2021-01-01 "],
        ["2022-09-20 08:30", "2021-01-01"], ["2022-02-30", "2022-01-01"], ["30.02.2022", "1.1.2022"],
        ["20.09.2022", "20/09/2022"], ["20.09.2022\u2003", "1.2.2021"], ["2022-09-20T08:30Z", "2022-09-20T08:30+02:00"],
        ["2022-09-20T08:30Z", "2022-09-20"], ["2022-09-06 24:00", "2022-01-01 09:00"],
        ["2022-09-06T24:00Z", "2022-01-01T09:00Z"], ["2022-09-20T08:30+23:59", "2022-09-20T08:30-2359"],
        ["2022-09-20T08:30+99:00", "2022-09-20T08:30Z"], ["2022-09-20T08:30+15:60", "2022-09-20T08:30Z"],
        ["0000-01-01", "2022-01-01"], ["0000-01-01 09:00", "2022-01-01 09:00"], ["20.09.0000", "1.1.2022"],
        ["0001-01-01T00:00+05:00", "2022-01-01T09:00Z"], ["9999-12-31T23:00-05:00", "2022-01-01T09:00Z"],
    ],
)  # fmt: skip
def test_dates_are_the_same_in_memory_and_in_duckdb(dates, tmp_path):
    (tmp_path / "rows.csv").write_text("k,day\n" + "".join(f"1,{day}\n" for day in [*dates, ""]))
    here = read_table(tmp_path / "rows.csv").frame["day"]
    there = in_engine(tmp_path).execute()["day"]
    assert (here.dtype.kind == "M") == (there.iloc[0].__class__.__name__ != "str")
    if here.dtype.kind == "M":
        here, there = pd.to_datetime(here, utc=True), pd.to_datetime(there, utc=True)
    assert (
        here.astype(object).where(here.notna(), None).tolist()
        == there.astype(object).where(there.notna(), None).tolist()
    )


def test_one_file_gets_one_answer_through_both_doors(tmp_path):
    frame = patients(120, seed=4)
    rng = np.random.default_rng(0)
    (tmp_path / "lake").mkdir()
    padded = frame[["age", "unit", "died"]].astype(object).where(frame[["age", "unit", "died"]].notna(), "NA")
    lines = [
        ",".join(f"{rng.choice(['', ' ', chr(9)])}{cell}{rng.choice(['', ' ', chr(0xA0)])}" for cell in row)
        for row in padded.itertuples(index=False)
    ]
    (tmp_path / "lake" / "rows.csv").write_text("\n".join(["age,unit,died", *lines]), encoding="utf-8")
    frame.to_csv(tmp_path / "clean.csv", index=False)
    answers = []
    for number, data in enumerate(("clean.csv", "lake/rows.csv")):
        logiclens("predict", exact().folder, data, "-o", f"{number}.parquet", cwd=tmp_path)
        answers.append(pd.read_parquet(tmp_path / f"{number}.parquet")["predicted died"].tolist())
    logiclens("predict", exact().folder, "lake", "--rules", "-o", "lake.parquet", cwd=tmp_path)
    answers.append(pd.read_parquet(tmp_path / "lake.parquet")["predicted died"].tolist())
    assert answers[1] == answers[0]
    assert answers[2] == answers[0]
    scores = [logiclens("score", exact().folder, data, cwd=tmp_path).stdout for data in ("clean.csv", "lake")]
    here, there = (score.partition("\n\n")[2] for score in scores)
    assert there == here != ""
