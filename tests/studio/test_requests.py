"""Whatever a request holds in a field, it is done or refused in one sentence: every verb, field and kind of value."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from logiclens.studio.editing import MOVES
from logiclens.studio.server import Studio
from tests.fuzz.judge import check_sentence

OTHERS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 1.5, 1e308, float("nan"), 10**400, [], [[]], ["remove"], [None, 1, {}], {}, {"a": 1},
)  # fmt: skip
"""One value of each kind of JSON that is no text."""
TEXTS = (
    "", "0", "x", "-1", "²", "٣", "1e999", "\x00", "a\nb", "0-²", "é" * 5000, "(" * 1900, "~" * 1900, '"' * 1900,
    "not " * 400, "age >= " + "9" * 1900, "9" * 1900,
)  # fmt: skip
"""Texts that are no names, places or numbers, and long ones."""
ORIGIN = "http://127.0.0.1:8765"


class Idle:
    """In place of the worker, which takes seconds to start."""

    state = None

    def __init__(self, *arguments: Any) -> None:
        pass

    def cancel(self) -> None:
        pass


@pytest.fixture
def studio(learned_works: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """A studio that has learned, and does not learn again."""
    monkeypatch.setattr("logiclens.studio.session.Learning", Idle)
    shutil.copytree(learned_works, tmp_path / "works")
    made = Studio(tmp_path / "works")
    made.port = 8765
    open_rules(made)
    return made


def open_rules(studio: Studio) -> None:
    """Open the work that has learned; revisions are none of the values above."""
    if studio.session.work is None:
        [folder] = studio.session.root.iterdir()
        studio.session.open_kept(folder.name)
    if studio.session.stage == "learning":
        studio.session.cancel()
    if studio.session.stage == "columns":
        studio.session.forth()
    studio.session.revision += 1000


def post(studio: Studio, path: str, **more: Any) -> httpx.Response:
    """Send a request without a socket; an error that the application does not catch is raised here."""

    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(app=studio.app)
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            headers = {"origin": ORIGIN, "content-type": "application/json"}
            return await client.post(f"{ORIGIN}/{studio.token}/{path}", headers=headers, **more)

    return asyncio.run(sent())


def act(studio: Studio, verb: str, sent: dict[str, Any]) -> httpx.Response:
    answer = post(studio, f"api/{verb}", content=json.dumps({"revision": studio.session.revision, **sent}))
    assert answer.status_code in (200, 400, 409), (verb, sent, answer.text)
    if answer.status_code != 200:
        check_sentence(answer.json()["error"])
    return answer


def check_fields(studio: Studio, verb: str, usual: dict[str, Any], ready: Callable[[], None]) -> None:
    """Put each value into each field, beside fields as the page sends them."""
    for field in usual:
        for value in (*OTHERS, *TEXTS):
            ready()
            answer = act(studio, verb, usual | {field: value})
            if field != "use" and not isinstance(value, str):
                assert answer.status_code == 400, (verb, field, value)


@pytest.mark.parametrize("move", MOVES)
def test_an_edit_with_any_value_in_a_field(studio, move):
    editor = studio.session.editor()
    place = next(place for place, rule in enumerate(editor.rules.rules) if rule.cubes and not rule.is_complement)
    rule, condition = {"rule": f"{place}-1"}, {"text": "", "column": "age", "sign": "at_least", "value": "60"}
    fields: dict[str, dict[str, Any]] = {
        "remove": rule, "drop": rule | {"condition": "0"}, "add": rule | condition, "pin": rule, "unpin": rule,
        "threshold": rule | {"condition": "0", "value": "60"}, "rule": {"class": str(place)} | condition,
        "first": {"class": str(place)},
    }  # fmt: skip

    def ready() -> None:
        editor.at = 0
        studio.session.changed()

    check_fields(studio, "edit", {"move": move, "why": ""} | fields[move], ready)


@pytest.mark.parametrize(
    ("verb", "usual"),
    [
        ("open", {"work": "0" * 16}),
        ("show", {"version": "0"}),
        ("comment", {"version": "1", "why": "so"}),
        ("compare", {"one": "0", "two": "1"}),
        ("try", {"value-0": "60"}),
    ],
)
def test_a_verb_with_any_value_in_a_field(studio, verb, usual):
    assert act(studio, "edit", {"move": "rule", "class": "0", "text": "age >= 33"}).status_code == 200
    check_fields(studio, verb, usual, lambda: open_rules(studio))


def test_choices_with_any_value_in_a_field(studio):
    def ready() -> None:
        open_rules(studio)
        studio.session.back()

    check_fields(studio, "learn", {"target": "3", "use": ["0", "1"], "above": "", "by": "2"}, ready)
    for value in (*OTHERS, *TEXTS):
        ready()
        act(studio, "learn", {"target": "3", "use": ["0", value]})


def test_any_revision_but_the_last_is_refused(studio):
    # In Python, True and 1.0 equal 1.
    studio.session.revision = 1
    others = [value for value in (*OTHERS, *TEXTS, "1", 1.0) if not (type(value) is int and value == 1)]
    for verb in studio._verbs:
        for value in others:
            assert act(studio, verb, {"revision": value}).status_code == 409, (verb, value)
    assert studio.session.revision == 1


@pytest.mark.parametrize("body", [json.dumps(value) for value in (*OTHERS, *TEXTS) if not isinstance(value, dict)])
def test_a_request_that_is_no_object_is_refused(studio, body):
    answer = post(studio, "api/edit", content=body)
    assert answer.status_code == 400
    check_sentence(answer.json()["error"])


@pytest.mark.parametrize("field", ["name", "into", "revision"])
@pytest.mark.parametrize("value", TEXTS)
def test_an_upload_with_any_text_in_a_field(studio, field, value):
    params = {"name": "a.csv", "revision": str(studio.session.revision), "into": ""} | {field: value}
    answer = post(studio, "upload", params=params, content=b"a,b\n1,2\n")
    assert answer.status_code in (200, 400, 409)
    if answer.status_code != 200:
        check_sentence(answer.json()["error"])
