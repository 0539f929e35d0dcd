"""The live page of the rules: every figure follows an edit, and versions can be undone, compared and exported."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from logiclens.export import from_xlsx
from logiclens.export.registry import format_named
from logiclens.formula.record import to_dict
from logiclens.formula.rule_set import RuleSet
from logiclens.studio.pages import EXPORTS
from tests.cli_runs import logiclens
from tests.studio.conftest import full, patients


def shown(answer) -> str:
    assert answer.status_code == 200, answer.text
    return answer.json()["main"]


def test_an_edit_changes_every_figure_as_a_new_measurement_says(learned):
    editor = learned.studio.session.editor()
    before = editor.rules
    page = shown(learned.act("edit", move="remove", rule=first_rule(before), why="not allowed"))
    after = learned.studio.session.editor().rules
    place = int(first_rule(before).split("-")[0])
    assert len(after.rules[place].cubes) == len(before.rules[place].cubes) - 1
    held = learned.studio.session.work.held_out()
    rows = patients().drop(index=held)
    answers = after.predict(rows)
    right = int((answers == rows["died"].to_numpy()).sum())
    assert f'<span class="big">{100 * right / len(rows):.1f}%</span>' in page
    for truth in ("yes", "no"):
        for said in ("yes", "no"):
            count = int(((rows["died"] == truth).to_numpy() & (answers == said)).sum())
            assert re.search(rf'data-label="said {said}" class="[^"]*">{count}<', page), (truth, said, count)
    men = rows[rows["sex"] == "man"]
    decided = int((after.predict(men) == "yes").sum())
    assert f"{decided} of {len(men)}" in page or f"{100 * decided / len(men):.0f}%" in page
    assert "not allowed" in page


def first_rule(rules: RuleSet) -> str:
    place = next(place for place, rule in enumerate(rules.rules) if rule.cubes)
    return f"{place}-1"


def sheet_rows(content: bytes) -> list[tuple]:
    return list(openpyxl.load_workbook(io.BytesIO(content))["rules"].iter_rows(min_row=2, values_only=True))


def movable(rules: RuleSet) -> tuple[str, str, str]:
    """A rule and a condition with a threshold: their names on the page, and the column."""
    for place, rule in enumerate(rules.rules):
        for number, cube in enumerate(rule.cubes, 1):
            for at, literal in enumerate(cube):
                if rules.predicate(literal.concept).column == "age":
                    return f"{place}-{number}", str(at), literal.concept
    raise AssertionError(rules)


def test_each_move_makes_a_version_that_undo_takes_back(learned):
    editor = learned.studio.session.editor()
    rule, condition, _ = movable(editor.rules)
    texts = [str(editor.rules)]
    moves = [
        {"move": "threshold", "rule": rule, "condition": condition, "value": "65"},
        {"move": "add", "rule": rule, "column": "sex", "sign": "is", "value": "woman"},
        {"move": "drop", "rule": rule, "condition": condition},
        {"move": "rule", "class": "0", "column": "lactate", "sign": "at_least", "value": "5"},
        {"move": "rule", "class": "1", "column": "lactate", "sign": "missing", "value": ""},
    ]
    for move in moves:
        shown(learned.act("edit", **move))
        texts.append(str(editor.rules))
    assert len(set(texts)) == len(texts)
    assert "65" in texts[1]
    for text in reversed(texts[:-1]):
        shown(learned.act("undo"))
        assert str(editor.rules) == text
    for text in texts[1:]:
        shown(learned.act("redo"))
        assert str(editor.rules) == text
    refused = learned.act("redo")
    assert (refused.status_code, refused.json()["error"]) == (
        400, "there is nothing to redo: this is the latest version.",
    )  # fmt: skip


def test_a_pinned_rule_stays_until_it_is_unpinned(learned):
    rule = first_rule(learned.studio.session.editor().rules)
    assert "pinned" in shown(learned.act("edit", move="pin", rule=rule))
    refused = learned.act("edit", move="remove", rule=rule)
    assert refused.status_code == 400
    assert "is pinned and cannot be removed" in refused.json()["error"]
    shown(learned.act("edit", move="unpin", rule=rule))
    shown(learned.act("edit", move="remove", rule=rule))


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"move": "rule", "class": "0", "text": "agee >= 80"}, "'agee'"),
        ({"move": "rule", "class": "0", "column": "age", "sign": "at_least", "value": "old"}, "'old'"),
        ({"move": "rule", "class": "0", "column": "age", "sign": "is", "value": "old"}, "a number, got 'old'."),
        ({"move": "rule", "class": "0", "column": "age", "sign": "is", "value": "not 60"}, "a number, got 'not 60'."),
        ({"move": "rule", "class": "0", "column": "sex", "sign": "is", "value": "1"}, "has '1' in 'sex'"),
        ({"move": "rule", "class": "0", "column": "", "sign": "is", "value": "1"}, "choose a column"),
        ({"move": "rule", "class": "0", "column": "age", "sign": "is", "value": ""}, "'age' needs a value"),
        ({"move": "rule", "class": "9", "column": "age", "sign": "is", "value": "1"}, "'class'"),
        ({"move": "remove", "rule": "0-99"}, "the rule is not there any more"),
        ({"move": "remove", "rule": ["0-1"]}, "'rule' must be a text"),
        ({"move": "explode"}, "there is no move 'explode'"),
        ({"move": "add", "rule": None}, "'rule' must be a text"),
    ],
)
def test_a_bad_edit_is_one_sentence_and_rules_stay(learned, sent, sentence):
    editor = learned.studio.session.editor()
    before, revision = editor.rules, learned.studio.session.revision
    answer = learned.act("edit", **sent)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert (editor.rules, len(editor.versions), learned.studio.session.revision) == (before, 1, revision)


def test_half_a_character_in_a_comment_changes_nothing(learned):
    editor, revision = learned.studio.session.editor(), learned.studio.session.revision
    body = json.dumps({"revision": revision, "move": "pin", "rule": first_rule(editor.rules), "why": "\ud800"})
    headers = learned.own | {"content-type": "application/json"}
    answer = learned.client.post(learned.base + "api/edit", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (400, "the page sent something that is not JSON.")
    assert (len(editor.versions), learned.studio.session.revision) == (1, revision)


@pytest.mark.parametrize("verb", ["edit", "undo", "redo", "show", "comment", "look"])
def test_a_full_disk_leaves_rules_and_versions(learned, monkeypatch, verb):
    editor = learned.studio.session.editor()
    place, kept = place_of(editor, "yes"), learned.studio.session.work.folder / "versions.json"
    for age in ("61", "62", "63"):
        shown(learned.act("edit", move="rule", text=f"age >= {age}", why="as before", **{"class": place}))
    shown(learned.act("undo"))
    sent = {
        "edit": {"move": "rule", "text": "age >= 64", "class": place},
        "show": {"version": "0"},
        "comment": {"version": "1", "why": "another"},
    }.get(verb, {})

    def state():
        versions = [to_dict(version) for version in editor.versions]
        return versions, editor.at, editor.looks, editor.held_out_right(), learned.get("export/sql").content

    before, page, written = state(), learned.get("main").json(), kept.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("logiclens.studio.editing.write_whole", full)
        refused = learned.act(verb, **sent)
    assert (refused.status_code, "No space left on device" in refused.json()["error"]) == (400, True)
    assert (state(), learned.get("main").json(), kept.read_bytes()) == (before, page, written)
    shown(learned.act(verb, **sent))
    assert kept.read_bytes() != written
    assert len(json.loads(kept.read_bytes())["versions"]) == len(editor.versions)


@pytest.mark.parametrize("path", ["report", "export/model"])
def test_a_full_disk_is_told_where_a_file_was_asked(learned, monkeypatch, path):
    shown(learned.act("edit", move="remove", rule=first_rule(learned.studio.session.editor().rules)))
    monkeypatch.setattr("logiclens.studio.editing.write_whole", full)
    monkeypatch.setattr("logiclens.studio.session.scratch_folder", full)
    answer = learned.get(path)
    sentence = f"the studio cannot write into {learned.studio.session.root}: No space left on device."
    assert (answer.status_code, answer.text) == (400, sentence)
    assert learned.studio.session.editor().looks == 0


def test_a_threshold_that_is_no_number_names_the_column(learned):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    answer = learned.act("edit", move="threshold", rule=rule, condition=condition, value="seventy")
    assert answer.status_code == 400
    assert "seventy" in answer.json()["error"]


def test_held_out_rows_are_measured_on_request_and_counted(learned):
    rule = first_rule(learned.studio.session.editor().rules)
    page = shown(learned.act("edit", move="remove", rule=rule))
    assert "not measured" in page
    page = shown(learned.act("look"))
    held = patients().loc[learned.studio.session.work.held_out()]
    right = (learned.studio.session.editor().rules.predict(held) == held["died"].to_numpy()).mean()
    assert f'<span class="big">{100 * right:.1f}%</span> <span class="small">of {len(held)} rows' in page
    # What is known already uses nothing up.
    shown(learned.act("look"))
    assert learned.studio.session.editor().looks == 1
    shown(learned.act("edit", move="rule", text="age >= 60", **{"class": "1"}))
    shown(learned.act("look"))
    assert learned.studio.session.editor().looks == 2
    assert "looked 2 times at the held-out rows" in str(learned.studio.session.editor().signed().history[-1])


def test_the_figure_of_the_learned_rules_is_no_look(learned):
    page, head = learned.get("main").json()["main"], learned.studio.session.result().headline
    assert (
        f'<span class="big">{100 * head.right.value:.1f}%</span> <span class="small">of {head.right.total:.0f} rows'
        in page
    )
    shown(learned.act("look"))
    assert learned.studio.session.editor().looks == 0


def test_looks_stay_counted_when_the_same_table_is_learned_again(learned):
    shown(learned.act("edit", move="remove", rule=first_rule(learned.studio.session.editor().rules), why="not allowed"))
    shown(learned.act("look"))
    page = shown(learned.act("back"))
    assert "Learning again discards 1 edit of the rules" in page
    shown(learned.act("forth"))
    assert len(learned.studio.session.editor().versions) == 2
    shown(learned.act("back"))
    shown(learned.learn(patients()))
    learned.wait("rules")
    editor = learned.studio.session.editor()
    assert (len(editor.versions), editor.looks) == (1, 1)
    assert '<span class="big">1</span> <span class="small">the fewer' in learned.get("main").json()["main"]


def test_the_first_edit_knows_what_was_before(learned):
    editor = learned.studio.session.editor()
    before = (editor.versions[0].predict(editor.frame) == patients().loc[editor.frame.index, "died"].to_numpy()).mean()
    shown(learned.act("edit", move="remove", rule=first_rule(editor.rules)))
    assert editor.rules.history[0].before.accuracy == pytest.approx(before)
    assert editor.rules.history[0].before.rows == len(editor.frame)


def test_the_history_speaks_as_the_page_does(learned):
    editor = learned.studio.session.editor()
    rule, condition, _ = movable(editor.rules)
    place, number = (int(part) for part in rule.split("-"))
    name = f"Rule {number} for {editor.rules.names[place]}"
    was = editor.rule_views()[place][number - 1].conditions[int(condition)].words
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65"))
    now = next(one.words for one in editor.rule_views()[place][number - 1].conditions if "65" in one.words)
    assert editor.history()[0].what == f"{name}: “{was}” became “{now}”"
    shown(learned.act("edit", move="add", rule=rule, column="sex", sign="is", value="woman"))
    assert editor.history()[0].what == f"{name}: condition added: sex is woman"
    shown(learned.act("edit", move="pin", rule=rule))
    assert editor.history()[0].what == f"{name} pinned"


def test_moves_of_a_pinned_rule_are_disabled_with_a_reason(learned):
    rule = first_rule(learned.studio.session.editor().rules)
    page = shown(learned.act("edit", move="pin", rule=rule))
    assert "This rule is pinned: it must not change. Unpin it to change it." in page
    assert f'<fieldset class="plain" disabled aria-describedby="pinned-{rule}">' in page
    assert f'id="remove-{rule}" class="danger" disabled' in page


def test_the_class_that_decides_first_stands_first(learned):
    editor = learned.studio.session.editor()
    shown(learned.act("edit", move="rule", text="age >= 60", **{"class": "0"}))
    page = shown(learned.act("edit", move="rule", text="age >= 60", **{"class": "1"}))
    for _ in editor.rules.names:
        order = editor.rules.order
        assert page.index(f'id="class-{order[0]}"') < page.index(f'id="class-{order[1]}"')
        assert f'id="first-{order[0]}"' not in page
        page = shown(learned.act("edit", move="first", **{"class": str(order[1])}))


def test_an_edited_card_says_so_where_stability_stood(learned):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    page = shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65"))
    assert "<dt>Found again</dt><dd><strong>edited by hand</strong>" in page


def test_values_to_try_are_those_of_the_table(learned):
    shown(learned.act("edit", move="rule", text="sex is woman", **{"class": "0"}))
    field = next(field for field in learned.studio.session.fields() if field.column == "sex")
    assert [choice.words for choice in field.choices] == ["man", "woman", "another value", "missing"]


def test_comments_stay_with_their_version(learned):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65"))
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="60"))
    page = shown(learned.act("comment", version="1", why="a round <b>number</b>"))
    assert "a round &lt;b&gt;number&lt;/b&gt;" in page
    history = learned.studio.session.editor().rules.history
    assert [entry.why for entry in history] == ["a round <b>number</b>", None]


def test_a_comment_is_the_reason_of_the_changed_rule(learned):
    editor = learned.studio.session.editor()
    rule, condition, _ = movable(editor.rules)
    place, number = map(int, rule.split("-"))
    added = {"class": str(place), "column": "lactate", "sign": "at_least", "value": "6"}
    shown(learned.act("edit", move="rule", why="as measured", **added))
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65"))
    shown(learned.act("edit", move="pin", rule=rule))
    shown(learned.act("comment", version="2", why="the guideline says 65"))

    def reasons(at):
        explained = editor.versions[at].rules[place]
        found = [explained.reasons.get(cube) for cube in explained.cubes]
        return found.pop(number - 1), found.pop()

    assert reasons(1) == (None, "as measured")
    assert reasons(2) == reasons(3) == ("the guideline says 65", "as measured")
    comments = [row[3] for row in sheet_rows(learned.get("export/xlsx").content)]
    assert {"the guideline says 65", "as measured"} <= set(comments)
    # A later word counts more, and what is taken back leaves the reason of before.
    shown(learned.act("comment", version="3", why="pinned by the board"))
    assert reasons(3) == ("pinned by the board", "as measured")
    shown(learned.act("comment", version="3", why=""))
    shown(learned.act("comment", version="1", why=""))
    assert reasons(3) == ("the guideline says 65", None)


def test_a_comment_keeps_reasons_of_versions_that_were_dropped(learned, monkeypatch):
    monkeypatch.setattr("logiclens.studio.editing.MOST_VERSIONS", 3)
    editor = learned.studio.session.editor()
    place = place_of(editor, "yes")
    for age, why in (("61", "A"), ("62", "B"), ("63", "C")):
        shown(learned.act("edit", move="rule", text=f"age >= {age}", why=why, **{"class": place}))

    def reasons():
        return [list(version.rules[int(place)].reasons.values()) for version in editor.versions]

    assert reasons() == [[], ["A", "B"], ["A", "B", "C"]]
    shown(learned.act("comment", version="1", why="B, said again"))
    assert reasons() == [[], ["A", "B, said again"], ["A", "B, said again", "C"]]
    shown(learned.act("comment", version="1", why=""))
    assert reasons() == [[], ["A"], ["A", "C"]]


def test_equal_comments_of_dropped_versions_are_told_apart(learned, tabs, monkeypatch):
    monkeypatch.setattr("logiclens.studio.editing.MOST_VERSIONS", 3)
    place = place_of(learned.studio.session.editor(), "yes")
    for age, why in (("61", "guideline"), ("62", "guideline"), ("63", "C")):
        shown(learned.act("edit", move="rule", text=f"age >= {age}", why=why, **{"class": place}))
    work, root = learned.studio.session.work, learned.studio.session.root

    def comment_and_read(tab):
        shown(tab.act("comment", version="1", why="because of Dr. B"))
        versions = tab.studio.session.editor().versions
        return [list(version.rules[int(place)].reasons.values()) for version in versions]

    expected = [[], ["guideline", "because of Dr. B"], ["guideline", "because of Dr. B", "C"]]
    assert comment_and_read(learned) == expected
    shown(learned.act("comment", version="1", why="guideline"))
    learned.ends()
    tab = tabs(root)
    shown(tab.act("open", work=work.key))
    assert comment_and_read(tab) == expected


def test_without_the_dropped_version_a_comment_changes_no_reason(learned, tabs, monkeypatch):
    monkeypatch.setattr("logiclens.studio.editing.MOST_VERSIONS", 3)
    place = place_of(learned.studio.session.editor(), "yes")
    for age in ("61", "62", "63"):
        shown(learned.act("edit", move="rule", text=f"age >= {age}", why=age, **{"class": place}))
    work, root = learned.studio.session.work, learned.studio.session.root
    learned.ends()
    path = work.folder / "versions.json"
    path.write_text(
        json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "dropped"})
    )
    tab = tabs(root)
    shown(tab.act("open", work=work.key))
    shown(tab.act("comment", version="1", why="another"))
    editor = tab.studio.session.editor()
    assert list(editor.versions[1].rules[int(place)].reasons.values()) == ["61", "62"]
    assert editor.versions[1].history[-1].why == "another"


@pytest.mark.parametrize("move", ["rule", "add"])
@pytest.mark.parametrize(
    ("column", "sign", "value"),
    [
        ("age", "is", "60 & sex is woman"),
        ("age", "at_least", "60 and sex is woman"),
        ("age", "below", "90 & age >= 20"),
        ("age", "is", "missing"),
        ("age", "is_not", "MISSING"),
    ],
)
def test_a_value_that_says_more_is_refused(learned, move, column, sign, value):
    editor = learned.studio.session.editor()
    rule = first_rule(editor.rules)
    sent = {"move": move, "rule": rule, "class": place_of(editor, "yes"), "column": column, "sign": sign}
    answer = learned.act("edit", value=value, **sent)
    assert (answer.status_code, answer.json()["error"]) == (
        400, f"'age' is compared with one value, got {value!r}: add other conditions one by one.",
    )  # fmt: skip
    assert len(editor.versions) == 1


@pytest.mark.parametrize(
    ("column", "sign", "value", "meant"),
    [
        ("age", "is", "60", "age is 60"),
        ("age", "is_not", "60", '~"age is 60"'),
        ("age", "below", "60", '~"age >= 60"'),
        ("age", "missing", "anything", "age is missing"),
        ("lactate", "below", "2", "lactate < 2"),
        ("lactate", "known", "", '~"lactate is missing"'),
        ("sex", "is_not", "man", '~"sex is man"'),
    ],
)
def test_one_value_is_one_condition(learned, column, sign, value, meant):
    editor = learned.studio.session.editor()
    place = place_of(editor, "no")
    shown(learned.act("edit", move="rule", column=column, sign=sign, value=value, **{"class": place}))
    [literal] = editor.rules.rules[int(place)].cubes[-1]
    assert str(literal).replace('"', "") == meant.replace('"', "")


def test_texts_may_read_like_conditions(tabs):
    one, rows = tabs(), patients().replace({"man": "man & age is 5", "woman": "missing"})
    assert one.upload(rows.to_csv(index=False).encode()).status_code == 200
    shown(one.learn(rows))
    one.wait("rules")
    editor = one.studio.session.editor()
    for value in ("man & age is 5", "missing"):
        move = {"move": "rule", "class": place_of(editor, "no"), "column": "sex", "sign": "is", "value": value}
        shown(one.act("edit", **move))
        [literal] = editor.rules.rules[editor.rules.names.index("no")].cubes[-1]
        assert editor.rules.predicate(literal.concept).value == value


def test_versions_are_compared_by_figures_rules_and_answers(learned):
    editor = learned.studio.session.editor()
    rule = first_rule(editor.rules)
    shown(learned.act("edit", move="remove", rule=rule))
    answer = learned.act("compare", one="0", two="1")
    assert answer.status_code == 200
    part = answer.json()["part"]
    rows = editor.frame
    differ = int((editor.versions[0].predict(rows) != editor.versions[1].predict(rows)).sum())
    assert f"They answer differently on {differ} of {len(rows)} training rows." in part
    assert "Only in version 1:" in part
    assert "Only in version 2:" not in part
    assert learned.act("compare", one="0", two="7").json()["error"] == "there is no version 8."


def test_a_row_is_tried_with_the_edited_rules(learned):
    editor, session = learned.studio.session.editor(), learned.studio.session
    shown(
        learned.act(
            "edit", move="rule", **{"class": place_of(editor, "yes")}, column="age", sign="at_least", value="30"
        )
    )
    values = {f"value-{at}": ("50" if field.column == "age" else "0" if field.choices else "1")
              for at, field in enumerate(session.fields())}  # fmt: skip
    part = learned.act("try", **values).json()["part"]
    assert "died is yes" in part
    place = next(at for at, field in enumerate(session.fields()) if field.column == "age")
    wrong = learned.act("try", **values | {f"value-{place}": "old"})
    assert wrong.json()["error"] == "'age' must be a number, got 'old'."


def place_of(editor, name: str) -> str:
    return str(editor.rules.names.index(name))


def test_an_edited_model_is_exported_and_verified(learned, tmp_path):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65", why="guideline"))
    answer = learned.get("export/model")
    assert answer.headers["content-disposition"] == 'attachment; filename="model.zip"'
    zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path)
    run = logiclens("verify", str(tmp_path / "model"))
    assert run.returncode == 0, run.stderr
    rules = RuleSet.load(tmp_path / "model")
    assert rules.predict(patients()).tolist() == learned.studio.session.editor().rules.predict(patients()).tolist()
    assert "guideline" in str(rules.history[0])


@pytest.mark.parametrize("name", EXPORTS)
def test_formats_are_exported_by_their_name_alone(learned, name):
    assert f'href="export/{name}"' in learned.get("main").json()["main"]
    answer = learned.get(f"export/{name}")
    assert answer.status_code == 200
    assert answer.content == format_named(name).content(learned.studio.session.editor().rules)
    refused = learned.get(f"export/{name}x")
    assert (refused.status_code, "there is no export format" in refused.text) == (400, True)


def test_the_sheet_is_read_back(learned):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65"))
    rules = learned.studio.session.editor().rules
    assert from_xlsx(learned.get("export/xlsx").content, rules) == rules


def test_the_report_of_edited_rules_is_of_held_out_rows(learned):
    assert "not used to make them" in learned.get("report").text
    assert learned.studio.session.editor().looks == 0
    shown(learned.act("edit", move="remove", rule=first_rule(learned.studio.session.editor().rules)))
    page = learned.get("report").text
    assert f"{len(learned.studio.session.work.held_out())} rows held out before training" in page
    assert "edited by hand" in page
    assert learned.studio.session.editor().looks == 1
    assert "The held-out rows were looked at once meanwhile" in page
    assert "The rules were edited by hand (1 edit, listed below). The exported model is compiled from them" in page
    for gone in ("approximate the network", "To repeat it", "What the network leans on", "exact: the network"):
        assert gone not in page


def test_copies_of_held_out_rows_are_measured_once(tab):
    frame = patients(120).assign(glucose=np.random.default_rng(1).normal(6, 1, 120).round(3))
    copied = frame.loc[np.repeat(frame.index, 3)].reset_index(drop=True)
    assert tab.upload(copied.to_csv(index=False).encode()).status_code == 200
    assert tab.learn(copied).status_code == 200
    tab.wait("rules")
    held = copied.loc[tab.studio.session.work.held_out()]
    assert len(held) == 3 * len(held.drop_duplicates())
    shown(tab.act("edit", move="remove", rule=first_rule(tab.studio.session.editor().rules)))
    assert f"of {len(held) // 3} rows" in shown(tab.act("look"))


def test_edits_are_restored_after_the_server_was_killed(learned, tabs):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65"))
    shown(learned.act("look"))
    before = learned.studio.session.editor()
    text, key = str(before.rules), learned.studio.session.work.key
    root = learned.studio.session.root
    learned.studio.session.end()
    again = tabs(root)
    page = shown(again.act("open", work=key))
    # The figure that was looked at is still there.
    held = patients().loc[again.studio.session.work.held_out()]
    right = (before.rules.predict(held) == held["died"].to_numpy()).mean()
    assert f'<span class="big">{100 * right:.1f}%</span> <span class="small">of {len(held)} rows' in page
    after = again.studio.session.editor()
    assert (str(after.rules), after.at, after.looks) == (text, 1, 1)
    shown(again.act("undo"))
    assert str(after.rules) == str(before.versions[0])


def test_a_version_is_written_without_the_history_before_it(learned, tabs):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    for value in ("65", "66", "67"):
        shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value=value, why=f"now {value}"))
    shown(learned.act("comment", version="1", why="as the guideline says"))
    shown(learned.act("undo"))
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="68"))
    session = learned.studio.session
    before, folder = [to_dict(rules) for rules in session.editor().versions], session.work.folder
    assert [len(one["history"]) for one in before[1:]] == [1, 2, 3]
    kept = json.loads((folder / "versions.json").read_text("utf-8"))
    assert [len(one.get("history", ())) for one in kept["versions"]] == [0, 1, 1, 1]
    session.end()
    again = tabs(session.root)
    shown(again.act("open", work=folder.name))
    assert [to_dict(rules) for rules in again.studio.session.editor().versions] == before
    again.studio.session.end()


def test_an_edit_reads_neither_the_model_nor_the_versions_again(learned, monkeypatch):
    rule, condition, _ = movable(learned.studio.session.editor().rules)
    learned.get("main")
    read = []
    monkeypatch.setattr("logiclens.studio.session.read_result", lambda content: read.append(content))
    monkeypatch.setattr("logiclens.studio.editing.read_json", lambda path: read.append(path))
    shown(learned.act("edit", move="threshold", rule=rule, condition=condition, value="65"))
    assert not read


def test_a_model_alone_is_shown_and_gets_its_table(learned, tabs, tmp_path):
    model = tmp_path / "saved"
    Path(learned.studio.session.work.model).rename(model)
    one = tabs(tmp_path / "other")
    one.studio.session.open_model(model)
    page = one.get("main").json()["main"]
    assert "choose the table of this model" in page
    refused = one.act("edit", move="remove", rule="0-1")
    assert "choose the table of this model first" in refused.json()["error"]
    lacking = one.upload(patients().drop(columns="age").to_csv(index=False).encode(), into="model")
    assert "has no column 'age'" in lacking.json()["error"]
    page = shown(one.upload(patients().to_csv(index=False).encode(), into="model"))
    assert "Change rule 1" in page
    rule, condition, _ = movable(one.studio.session.editor().rules)
    page = shown(one.act("edit", move="threshold", rule=rule, condition=condition, value="66"))
    # The model does not know whether it was learned from these rows.
    assert "Right on the rows of patients.csv" in page
    assert "240 rows of patients.csv" in page
    assert "training rows" not in page
    assert "Right on the held-out rows" not in page
    report = one.get("report").text
    assert "on 240 rows of patients.csv" in report
    assert "held-out rows" not in report.partition('id="rules"')[0]
    assert "not used to make them" not in report
