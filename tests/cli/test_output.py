"""What commands print: nothing that a name or a cell of a table does to a terminal."""

from __future__ import annotations

import json
import re
import shutil
from functools import cache

import numpy as np
import pandas as pd
import pytest

from logiclens.cli.output import LONGEST_MESSAGE, print_error
from tests.cli_runs import Explained, Terminal, explain, logiclens, patients, refused

HOSTILE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
"""Characters that none of our own output has in a pipe."""
AGE, YES, MICU = "age\x1b]0;owned\x07\u202e", "yes\x1b[31m\x9b2J", "MI\u2066CU\u200b"


def hostile(seed: int = 0) -> pd.DataFrame:
    """Patients whose column, label and category hold terminal escapes, overrides and invisible characters."""
    frame = patients(160, seed).drop(columns=["id", "admitted"]).rename(columns={"age": AGE})
    frame["unit"] = frame["unit"].replace("MICU", MICU)
    frame["died"] = np.where(frame["died"] == "yes", YES, "no")
    return frame


@cache
def model() -> Explained:
    """An exact model of them."""
    return explain(hostile(), "hostile", "--target", "died", "--by", "sex")


def commands(made: Explained, folder) -> list[tuple[str, ...]]:
    """Commands that print names for people."""
    other = shutil.copytree(made.folder, folder / "other\x1b[1m")
    return [
        ("score", str(made.folder), str(made.data), "--by", "unit"),
        ("verify", str(made.folder)),
        ("diff", str(made.folder), str(other), "--data", str(made.data)),
    ]


def test_the_sheet_escapes_what_a_terminal_would_obey():
    sheet = model().run.stdout + model().run.stderr
    assert re.findall(HOSTILE, sheet) == []
    assert "age\\x1b]0;owned\\x07\\u202e" in sheet
    assert "yes\\x1b[31m\\x9b2J" in sheet


@pytest.mark.parametrize("place", range(3))
def test_score_verify_and_diff_escape_names(place, tmp_path):
    run = logiclens(*commands(model(), tmp_path)[place])
    assert run.returncode == 0, run.stderr
    assert re.findall(HOSTILE, run.stdout + run.stderr) == []


def test_files_keep_the_characters(tmp_path):
    folder = model().folder
    assert logiclens("predict", folder, model().data, "-o", tmp_path / "out.jsonl").returncode == 0
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert YES in {record["predicted died"] for record in records}
    exported = logiclens("export", folder, "--to", "json").stdout
    assert AGE in {predicate["column"] for predicate in json.loads(exported)["predicates"].values()}


def test_a_terminal_gets_predictions_escaped(tmp_path):
    shown = Terminal("predict", model().folder, model().data, "--why", cwd=tmp_path).read()
    assert "yes\\x1b[31m" in shown
    assert re.findall(HOSTILE, shown.replace("\r\n", "\n")) == []


def test_errors_escape_names_of_files_and_columns(tmp_path):
    shutil.copy(model().data, tmp_path / "new\x1b[2J\u202e.csv")
    message = refused("score", model().folder, "new\x1b[2J\u202e.csv", "--target", "a\x1bge", cwd=tmp_path)
    assert re.findall(HOSTILE, message) == []
    assert message.startswith("new\\x1b[2J\\u202e.csv has no column 'a\\x1bge'")
    assert re.findall(HOSTILE, logiclens("verify", "no\x1b[2Jwhere").stderr) == []


def test_the_page_escapes_names_in_its_sentences(tmp_path):
    assert logiclens("report", model().folder, "-o", tmp_path / "page.html").returncode == 0
    page = re.sub("<script.*?</script>", "", (tmp_path / "page.html").read_text(), flags=re.DOTALL)
    assert re.findall(HOSTILE, page) == []
    assert "age\\x1b]0;owned\\x07\\u202e" in page


@pytest.mark.parametrize(
    ("share", "options", "said"),
    [
        (0.05, (), "with --balanced a model usually"),
        (0.05, ("--set-aside", "0.9"), "--set-aside 0.9 leaves"),
        (0.3, ("--min-support", "9999"), "--min-support 9999 is more than"),
    ],
)
def test_notes_speak_of_options_and_plain_numbers(share, options, said, tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({f"x{place}": rng.normal(size=400).round(2) for place in range(12)})
    frame["ill"] = (rng.random(400) < share).astype(int)
    frame.to_csv(tmp_path / "noise.csv", index=False)
    run = logiclens("explain", tmp_path / "noise.csv", "--target", "ill", *options)
    notes = [line for line in run.stdout.splitlines() if line.startswith("note: ")]
    assert any(said in note for note in notes), notes
    assert not re.search(r"np\.|\w=(True|False|None|['\"\d])", "".join(notes))


def test_a_message_is_one_line_of_limited_length(capsys):
    print_error(f"the cell\n{'a ' * 100_000}is odd")
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert shown.startswith("the cell a ")
    assert shown.endswith("is odd\n")
    assert len(shown) <= LONGEST_MESSAGE + 4
