"""Rules that are edited in the studio keep to the knowledge that their model was learned within."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier, Knowledge
from logiclens.estimator.persistence import classifier_files
from logiclens.formula.english import cube_words
from logiclens.formula.knowledge import ClassKnowledge
from logiclens.formula.rule_set import RuleSet
from logiclens.report.measurement import Source, result_of
from logiclens.report.result import ProtectedColumn
from logiclens.studio.server import Studio
from tests.studio.conftest import Tab, patients


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the patients: no rule may imply an age of 80, age never takes the risk away, a miss costs 4."""
    known = Knowledge(forbidden=("age >= 80",), classes={"yes": ClassKnowledge(increasing=("age",), miss=4)})
    return written_model(known, tmp_path_factory.mktemp("known") / "model")


def written_model(known: Knowledge, path: Path) -> Path:
    """Learn from the patients within some knowledge."""
    frame = wards()
    model = EntropyClassifier(set_aside=0.25, knowledge=known)
    model.fit(frame.drop(columns="died"), frame["died"])
    explanation = model.explain()
    source = Source("patients.csv", len(frame), 4, "died")
    classifier_files(model, result_of(model, explanation, source), explanation.rules).write(path)
    return path


def wards() -> pd.DataFrame:
    """The patients with a column that no rule needs."""
    return patients().assign(ward=lambda rows: np.arange(len(rows)) % 3)


def opened(tabs: Callable[..., Tab], folder: Path, table: pd.DataFrame) -> Tab:
    """Open a model with a table."""
    one = tabs()
    studio: Studio = one.studio
    studio.session.open_model(folder)
    assert one.upload(table.to_csv(index=False).encode(), into="model").status_code == 200
    return one


@pytest.fixture
def known(tabs: Callable[..., Tab], folder: Path) -> Tab:
    return opened(tabs, folder, wards())


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
    assert known.act("edit", move="rule", **{"class": place}, column="lactate", sign="at_least", value="3").is_success
    said, truth = np.array(editor.rules.predict(editor.frame)), patients()["died"][editor.frame.index].to_numpy()
    cost = 4 * ((truth == "yes") & (said != "yes")).sum() + ((truth != "yes") & (said == "yes")).sum()
    page = known.get("main").json()["main"]
    assert f"What errors cost on {len(truth)} rows of patients.csv, by the costs given" in page
    assert re.search(rf'The rules</th><td data-label="In all">{cost:,}</td>', page)
    assert re.search(rf'Always “no”</th><td data-label="In all">{4 * (truth == "yes").sum():,}</td>', page)
    # So does a comparison of two versions.
    said = np.array(editor.versions[0].predict(editor.frame))
    first = 4 * ((truth == "yes") & (said != "yes")).sum() + ((truth != "yes") & (said == "yes")).sum()
    part = known.act("compare", one="0", two="1").json()["part"]
    cells = rf'What errors cost</th><td data-label="version 1">{first:,}</td><td data-label="version 2">{cost:,}</td>'
    assert first != cost
    assert re.search(cells, part)


# Protected columns --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fair_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the patients whose rules are measured by sex, by quarters of age, and by ward."""
    known = Knowledge(protected_columns=("sex", "age", "ward"))
    return written_model(known, tmp_path_factory.mktemp("fair") / "model")


@pytest.fixture
def fair(tabs: Callable[..., Tab], fair_folder: Path) -> Tab:
    return opened(tabs, fair_folder, wards())


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def check_groups(told: ProtectedColumn, rules: RuleSet, rows: pd.DataFrame, groups: Any) -> None:
    """Count again, with pandas, how the rules do in each group."""
    said, groups = np.array(rules.predict(rows)), pd.Series(np.asarray(groups))
    assert [group.name for group in told.groups] == [str(one) for one in sorted(groups.unique())]
    for group in told.groups:
        own = (groups.astype(str) == group.name).to_numpy()
        for klass in group.classes:
            decided, truth = said == klass.name, (rows["died"] == klass.name).to_numpy()
            shares = (
                (klass.decision.decided, decided[own].sum(), own.sum()),
                (klass.decision.precision, (decided & truth)[own].sum(), decided[own].sum()),
                (klass.decision.recall, (decided & truth)[own].sum(), truth[own].sum()),
            )
            for share, hits, total in shares:
                assert (share.hits, share.total) == (hits, total), (group.name, klass.name)


def edited(tab: Tab) -> RuleSet:
    """Add a rule that uses a protected column."""
    editor = tab.studio.session.editor()
    place = str(editor.rules.names.index("yes"))
    answer = tab.act("edit", move="rule", **{"class": place}, text="age >= 60 & sex is woman")
    assert answer.status_code == 200, answer.text
    return editor.rules


def test_edited_rules_are_measured_in_the_groups_of_protected_columns(fair):
    rules, session, frame = edited(fair), fair.studio.session, wards()
    for result in (session.shown(), session.report()):
        sex, age, ward = result.protected
        check_groups(sex, rules, frame, frame["sex"])
        check_groups(ward, rules, frame, frame["ward"])
        assert [column.column for column in result.protected] == ["sex", "age", "ward"]
        assert sum(group.classes[0].prevalence.total for group in age.groups) == len(frame)
        assert len(age.groups) == 4
        assert ward.used_by == ()
        assert '"age >= 60" ∧ "sex is woman"' in set(sex.used_by) & set(age.used_by)


def test_page_and_report_show_protected_columns_and_mark_rules(fair):
    rules, frame = edited(fair), wards()
    made = rules.rules[rules.names.index("yes")].cubes[-1]
    words = cube_words(made, rules.predicates, rules.facts)
    women = frame[frame["sex"] == "woman"]
    fires = int((women["age"] >= 60).sum())
    for page in (fair.get("main").json()["main"], fair.get("report").text):
        text = text_of(page)
        assert "Protected column sex Rules that use it: " in text
        assert "Protected column ward No rule uses it." in text
        assert re.search(rf"{re.escape(words)} \(uses it\) {len(women)} {100 * fires / len(women):.0f}%", text)


def test_learned_rules_have_the_figures_of_protected_columns_too(fair):
    frame, session = wards(), fair.studio.session
    check_groups(session.shown().protected[0], session.editor().rules, frame, frame["sex"])


def test_a_protected_column_that_cannot_be_measured_says_so(fair, monkeypatch):
    # No concept was made of the first, so that the model does not need it; the second has too many values.
    monkeypatch.setattr("logiclens.metrics.rule_statistics.MAX_SUBGROUPS", 2)
    fair.studio.session._editor = None
    editor = fair.studio.session.editor()
    columns = tuple(ProtectedColumn(column, (), ()) for column in ("bed", "ward", "sex"))
    editor.learned = replace(editor.learned, protected=columns)
    fair.studio.session.changed()
    told = fair.studio.session.shown().protected
    assert told[:2] == columns[:2]
    assert len(told[2].groups) == 2
    text = text_of(fair.get("main").json()["main"])
    assert "Protected column bed No rule uses it." in text
    assert text.count("Its groups could not be measured") == 2


def test_infinite_values_of_one_protected_column_spoil_no_other(tabs, tmp_path):
    folder = written_model(Knowledge(protected_columns=("sex", "ward"), forbidden_columns=("ward",)), tmp_path / "m")
    rows = wards().astype({"ward": float})
    rows.loc[3, "ward"] = np.inf
    one = opened(tabs, folder, rows)
    sex, ward = one.studio.session.shown().protected
    check_groups(sex, one.studio.session.editor().rules, rows, rows["sex"])
    assert ward.groups == ()
    text = text_of(one.get("main").json()["main"])
    assert text.count("Its groups could not be measured") == 1
    assert "it has too many values, or one of them belongs to no group." in text


def test_an_error_while_groups_are_told_apart_is_not_remembered(fair, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError

    editor = fair.studio.session.editor()
    editor._grouped.clear()
    with monkeypatch.context() as failing:
        failing.setattr(type(editor.rows), "grouped", broken)
        with pytest.raises(RuntimeError):
            editor.result(editor.measured())
    assert [len(one.groups) for one in editor.result(editor.measured()).protected] == [2, 4, 3]


def test_the_report_measures_protected_columns_on_held_out_rows(learned):
    editor = learned.studio.session.editor()
    editor.learned = replace(editor.learned, protected=(ProtectedColumn("sex", (), ()),))
    learned.studio.session.changed()
    rules = edited(learned)
    aside = np.zeros(len(patients()), dtype=bool)
    aside[learned.studio.session.work.held_out()] = True
    for result, rows in ((learned.studio.session.shown(), ~aside), (learned.studio.session.report(), aside)):
        check_groups(result.protected[0], rules, patients()[rows], patients()["sex"][rows])
