"""Rules that are edited in the studio keep to the knowledge that their model was learned within."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from logiclens import EntropyClassifier, Knowledge
from logiclens.estimator.persistence import classifier_files
from logiclens.formula.knowledge import ClassKnowledge
from logiclens.report.measurement import Source, result_of
from logiclens.studio.server import Studio
from tests.studio.conftest import Tab, patients


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the patients: no rule may imply an age of 80, age never takes the risk away, a miss costs 4."""
    frame = patients()
    known = Knowledge(forbidden=("age >= 80",), classes={"yes": ClassKnowledge(increasing=("age",), miss=4)})
    model = EntropyClassifier(exact=True, set_aside=0.25, committee=3, knowledge=known)
    model.fit(frame.drop(columns="died"), frame["died"])
    explanation = model.explain()
    source = Source("patients.csv", len(frame), 3, "died")
    path = tmp_path_factory.mktemp("known") / "model"
    classifier_files(model, result_of(model, explanation, source), explanation.rules).write(path)
    return path


@pytest.fixture
def known(tabs: Callable[..., Tab], folder: Path) -> Tab:
    one = tabs()
    studio: Studio = one.studio
    studio.session.open_model(folder)
    assert one.upload(patients().to_csv(index=False).encode(), into="model").status_code == 200
    return one


def test_an_edit_that_knowledge_forbids_is_refused(known):
    editor = known.studio.session.editor()
    place, before = str(editor.rules.names.index("yes")), editor.rules
    answer = known.act("edit", move="rule", **{"class": place}, column="age", sign="at_least", value="85")
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("the knowledge of the model says that no rule implies age >= 80, but ")
    assert (editor.rules, len(editor.versions)) == (before, 1)


def test_a_direction_of_knowledge_holds_for_whole_classes(known):
    editor = known.studio.session.editor()
    place = str(editor.rules.names.index("yes"))
    answer = known.act("edit", move="rule", **{"class": place}, column="age", sign="below", value="25")
    assert answer.status_code == 400
    assert "a higher 'age' never takes yes from a row" in answer.json()["error"]
    assert len(editor.versions) == 1


def test_an_allowed_edit_is_done_and_exported(known):
    editor = known.studio.session.editor()
    place = str(editor.rules.names.index("yes"))
    answer = known.act("edit", move="rule", **{"class": place}, column="lactate", sign="at_least", value="5")
    assert answer.status_code == 200, answer.text
    assert len(editor.versions) == 2
    assert known.get("export/model").status_code == 200


def test_the_page_lists_what_knowledge_says(known):
    for page in (known.get("main").json()["main"], known.get("report").text):
        assert "no rule implies age &gt;= 80" in page
        assert "a higher &#39;age&#39; never takes yes from a row" in page


def test_an_edit_shows_at_once_what_errors_cost(known):
    editor = known.studio.session.editor()
    place = str(editor.rules.names.index("yes"))
    assert known.act("edit", move="rule", **{"class": place}, column="lactate", sign="at_least", value="5").is_success
    said, truth = np.array(editor.rules.predict(editor.frame)), patients()["died"][editor.frame.index].to_numpy()
    cost = 4 * ((truth == "yes") & (said != "yes")).sum() + ((truth != "yes") & (said == "yes")).sum()
    page = known.get("main").json()["main"]
    assert f"What errors cost on {len(truth)} rows of patients.csv, by the costs given" in page
    assert re.search(rf'The rules</th><td data-label="In all">{cost:,}</td>', page)
    assert re.search(rf'Always “no”</th><td data-label="In all">{4 * (truth == "yes").sum():,}</td>', page)
