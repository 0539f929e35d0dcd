"""The input table of `explain` and `predict`: how its columns are read, checked with pandas."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from logiclens.cli.explain import command_line
from logiclens.cli.options import TableSource
from logiclens.cli.saved_model import check_kind
from logiclens.cli.tables import ColumnRoles, check_columns, read_problem
from logiclens.errors import LogicLensError, nearest
from logiclens.tables.columns import text_of
from tests.cli_runs import exact, logiclens


@pytest.fixture(autouse=True)
def _few_rows_will_do(monkeypatch):
    monkeypatch.setattr("logiclens.cli.tables.FEWEST_ROWS", 1)


def problem(content: str, tmp_path, missing=(), **options):
    (tmp_path / "t.csv").write_text(content)
    return read_problem(TableSource(str(tmp_path / "t.csv"), missing=missing), ColumnRoles("y", **options))


def test_rows_without_a_target_are_dropped_and_the_rest_kept(tmp_path):
    content = "x,y\n1,a\n2,\n3,b\n4,a\n"
    found = problem(content, tmp_path)
    expected = pd.read_csv(io.StringIO(content)).dropna(subset="y")
    pd.testing.assert_frame_equal(found.frame, expected[["x"]])
    assert found.target.tolist() == expected["y"].tolist()
    assert found.notes == ("1 of 4 rows have no value of 'y' and are left out.",)
    assert found.file.name == "t.csv"


@pytest.mark.parametrize(
    ("cells", "labels", "kind"),
    [
        ("0 1 0 1", [0, 1, 0, 1], "i"), ("0  1 0", [0, 1, 0], "i"), ("True False True", [True, False, True], "b"),
        ("True  False", [True, False], "b"), ("a b a", ["a", "b", "a"], "O"), ("01 02 01", ["01", "02", "01"], "O"),
        ("1.0 2.0 1.0", [1, 2, 1], "i"), ("-1 1 -1", [-1, 1, -1], "i"),
        ("2021-01-01 2022-01-01", ["2021-01-01", "2022-01-01"], "O"),
    ],
)  # fmt: skip
def test_labels_are_what_the_file_says(cells, labels, kind, tmp_path):
    content = "x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells.split(" ")))
    found = problem(content, tmp_path).target
    assert found.tolist() == labels
    # Text may be the text type of pandas.
    assert found.to_numpy().dtype.kind in (kind, "T")
    assert found.name == "y"


def test_columns_that_are_dropped_are_not_looked_at(tmp_path):
    content = "x,z,y\n1,1,a\n2,two,b\n3,3,a\n"
    with pytest.raises(LogicLensError, match=r"the column 'z' holds numbers and text \('two' in row 2\)"):
        problem(content, tmp_path)
    assert list(problem(content, tmp_path, drop=("z",)).frame.columns) == ["x"]
    assert problem(content, tmp_path, missing=("two",)).frame["z"].isna().tolist() == [False, True, False]


def test_rows_are_counted_as_in_the_file_despite_gaps(tmp_path):
    with pytest.raises(LogicLensError, match=r"\('two' in row 3\)"):
        problem("x,y\n1,\n2,a\ntwo,b\n4,a\n5,b\n", tmp_path)
    with pytest.raises(LogicLensError, match=r"infinite \(inf\) in row 3"):
        problem("x,y\n1,\n2,a\ninf,b\n4,a\n5,b\n", tmp_path)


def test_the_nearest_name_in_whatever_case():
    assert nearest("AGE", ["sex", "age"]) == "age"
    assert nearest("agee", ["sex", "Age"]) == "Age"
    assert nearest("zzz", ["sex", "age"]) is None
    with pytest.raises(LogicLensError, match="It has one column only: is the delimiter another one"):
        check_columns(pd.DataFrame({"a;b": [1]}), ["b"], "t.csv")


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (1.5, "1.5"), (np.float64(-2), "-2"), (True, "True"), ("x", "x"), (3, "3")]
)
def test_a_value_as_a_person_types_it(value, text):
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("values", "kind", "fine"),
    [
        ([1, 2], "number", True), ([1.5, None], "number", True), ([True, False], "number", True),
        ([0, 1], "boolean", True), (["a"], "text", True), ([None, None], "text", True), ([None, None], "number", True),
        ([1], "text", False), (["1"], "number", False), (["2021-01-01"], "date", True), ([5], "date", False),
        ([True, None], "boolean", True), ([True, None], "text", False), (["a"], None, True), (["a"], "boolean", False),
    ],
)  # fmt: skip
def test_the_kind_of_a_column(values, kind, fine):
    column = pd.Series(values, name="c")
    if fine:
        check_kind(column, kind)
    else:
        with pytest.raises(LogicLensError, match=r"the column 'c' held .* in training and holds .* now"):
            check_kind(column, kind)


def test_the_command_is_told_without_where_its_results_go():
    given = ["/usr/bin/logiclens", "explain", "my data.csv", "--target", "y", "--save", "m", "--json=-", "-q", "--soft"]
    assert command_line(given) == "logiclens explain 'my data.csv' --target y --soft"
    assert command_line(["/lib/logiclens/__main__.py", "explain"]) == "python -m logiclens explain"


@pytest.mark.parametrize("command", [
    "explain T", "explain T --target died", "predict M T", "score M T", "why M T --rows 1", "flip M T --rows 1",
    "diff M M --data T", "edit M script.toml --data T -o new",
])  # fmt: skip
def test_every_command_says_how_a_table_was_read(command, tmp_path):
    made = exact()
    text = made.data.read_text().replace("MICU", "MICÜ")
    (tmp_path / "t.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "script.toml").write_text('[[edit]]\ndo = "reorder"\norder = ["yes", "no"]\nwhy = "it reads better"\n')
    words = [{"M": str(made.folder), "T": "t.csv"}.get(word, word) for word in command.split()]
    run = logiclens(*words, cwd=tmp_path)
    assert (run.stdout + run.stderr).count("note: t.csv is not UTF-8: it is read as Windows-1252.") == 1
    quiet = logiclens(*words, "--quiet", cwd=tmp_path)
    assert "Windows-1252" not in quiet.stdout + quiet.stderr
