"""Dates on the command line: parts of dates, splits by time, and predictions with both."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.cli_runs import Explained, explain, logiclens
from tests.estimator.test_dates import stays


@pytest.fixture(scope="module")
def explained() -> Explained:
    frame, labels = stays(400)
    return explain(frame.assign(end=labels), "stays", "--target", "end", "--split-by-time", "admitted")


def test_the_sheet_tells_weekends_and_the_latest_rows(explained):
    shown = explained.run.stdout + explained.run.stderr
    assert "from Monday to Friday" in shown or "on a Saturday or Sunday" in shown
    assert "latest by 'admitted'" in " ".join(shown.split())
    assert any("latest by 'admitted'" in note for note in json.loads(explained.json.read_text("utf-8"))["notes"])


def test_a_file_of_dates_is_predicted_with_their_parts(explained, tmp_path):
    frame, labels = stays(100, seed=4)
    frame.to_csv(tmp_path / "new.csv", index=False)
    run = logiclens("predict", explained.folder, "new.csv", "--out", "out.csv", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert pd.read_csv(tmp_path / "out.csv")["predicted end"].tolist() == labels.tolist()
