"""Hostile requests of the studio's own page, in any order, around a work that has learned rules.

Each is done, or refused in one sentence that leaves rules, versions and files as they were; what is shown and exported
then agrees with the rules. Uploads and requests from elsewhere are in `tests/studio/test_server.py`.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
from hypothesis import given
from hypothesis import strategies as st

from logiclens.formula.record import to_dict
from logiclens.studio.choices import Choices
from logiclens.studio.editing import MOVES, SIGNS, VERSIONS
from logiclens.studio.learning import learn
from logiclens.studio.pages import EXPORTS
from logiclens.studio.server import Studio
from logiclens.studio.work import HELD_OUT, LOCK, MODEL, NAME, RECORD, Work
from logiclens.verify import verify
from tests.fuzz import hostile, models
from tests.fuzz.judge import check_sentence, check_shown, hostile_examples, judged
from tests.fuzz.models import decided, record_of, rows_of

Document = dict[str, Any]
TOKEN, PORT = "token", 8765
OWN = {"host": f"127.0.0.1:{PORT}", "origin": f"http://127.0.0.1:{PORT}"}
VERBS = (
    "edit", "undo", "redo", "show", "comment", "look", "compare", "try", "back", "forth", "cancel", "learn", "close",
    "open", "example",
)  # fmt: skip
PATHS = (
    "", "main", "studio.js", "studio.css", "report", *(f"export/{name}" for name in (*EXPORTS, "model", "nothing")),
    "export/..%2f..%2fwork.json", "..%2f..%2fetc%2fpasswd", "export/%2e%2e/model.json", "static/../work.json", "%00",
    "held_out.npy",
)  # fmt: skip
NO_TEXTS: tuple[Any, ...] = (None, True, 0, 1.5, [], ["remove"], [[]], {}, {"a": 1})
EXPECTED = {RECORD, MODEL, HELD_OUT, LOCK, VERSIONS}
"""What the folder of a work holds beside the upload."""


# Cases ---------------------------------------------------------------------------------------------------------------


def _texts(*usual: str) -> st.SearchStrategy[str]:
    return st.sampled_from(usual) | hostile.texts()


def _sent() -> st.SearchStrategy[Document]:
    """What a page sends with a verb: fields that it has, with values that it would send or any other."""
    places = _texts("0", "1", "2", "3", "9", "-1", "٣")
    fields: dict[str, st.SearchStrategy[Any]] = {
        "move": _texts(*MOVES, *MOVES), "rule": _texts("0-1", "1-1", "0-2", "1-2", "0-99", "-", "0-1-1"),
        "condition": places, "value": _texts("60", "65.5", "MICU", "true", "2021-06-01", "1e999", ""),
        "column": _texts("unit", "age", "flag", "dose", "admitted", "agee", ""), "sign": _texts(*SIGNS),
        "text": _texts("", "", "", "age >= 60", "age >= 60 & flag", "unit is MICU", "age >= x", "not flag"),
        "why": hostile.texts(lone=True), "class": places, "version": places, "one": places,
        "two": places,
        "target": places, "use": st.lists(places, max_size=6), "above": _texts("", "3", "nan"), "by": places,
        "value-0": places, "value-1": _texts("60", "", "x"), "value-2": places, "work": _texts("open", "0" * 16, ".."),
    }  # fmt: skip
    odd = st.sampled_from(sorted(fields)).flatmap(lambda name: hostile.json_values().map(lambda value: {name: value}))
    # Where a text is expected, a list or an object cannot even be looked up.
    odd |= st.sampled_from(sorted(fields)).flatmap(lambda name: st.sampled_from(NO_TEXTS).map(lambda one: {name: one}))
    return st.builds(
        lambda usual, extra: {**usual, **extra},
        st.fixed_dictionaries({}, optional=fields),
        st.just({}) | st.just({}) | odd,
    )


def _full(move: str) -> st.SearchStrategy[Document]:
    """An edit that names all that its move needs, so that many edits are done."""
    values = {
        "rule": st.sampled_from(["0-1", "1-1", "0-2"]), "condition": st.sampled_from(["0", "1"]),
        "class": st.sampled_from(["0", "1"]), "why": _texts("", "not allowed"),
        "text": st.sampled_from(["age >= 60", "flag & dose > 3", "unit is CCU", "age is missing"]),
        "value": st.sampled_from(["30", "60", "65.5", "2021-06-01"]),
    }  # fmt: skip
    return st.fixed_dictionaries(values).map(lambda sent: {"move": move, **sent})


@st.composite
def steps(draw: st.DrawFn) -> Document:
    """Draw a request: an edit, a verb with any fields, or a page."""
    kind = draw(st.integers(0, 8))
    if kind < 4:
        step: Document = {"verb": "edit", "sent": draw(st.sampled_from(sorted(MOVES)).flatmap(_full))}
        if draw(st.integers(0, 9)) == 0:
            step["sent"][draw(st.sampled_from(sorted(step["sent"])))] = draw(st.sampled_from(NO_TEXTS))
        return step
    if kind >= 7:
        return {"path": draw(st.sampled_from(PATHS))}
    step = {"verb": draw(st.sampled_from(VERBS)), "sent": draw(_sent())}
    if draw(st.integers(0, 9)) == 0:
        step["verb"] = draw(hostile.texts())
    if draw(st.integers(0, 4)) == 0:
        step["revision"] = draw(hostile.json_values())
    if draw(st.integers(0, 9)) == 0:
        step["body"] = draw(st.binary(max_size=40) | st.just(b"[" * 10_000) | st.just(b'"' + b"x" * 70_000))
    return step


# Checks --------------------------------------------------------------------------------------------------------------


@cache
def learned() -> Path:
    """The folder of a studio with one work that has learned."""
    root = models.place() / "works"
    frame = models.table()
    table = frame.assign(died=models.labels_of(frame, "exact"))
    root.mkdir(mode=0o700)
    work = Work.begin(root, "rows.csv", ".csv")
    work.upload.write_bytes(table.to_csv(index=False).encode())
    work.change(choices=Choices("died", (), None, "unit"))
    learn(work.folder, lambda state: None)
    work.change(stage="rules")
    work.leave()
    return root


class _Idle:
    """In place of the worker, which takes seconds to start."""

    state = None

    def __init__(self, *arguments: Any) -> None:
        """Learn nothing."""

    def cancel(self) -> None:
        """There is nothing to end."""


@given(st.lists(steps(), min_size=1, max_size=6))
@hostile_examples(100)
def test_a_request_is_done_or_refused_in_one_sentence(sent: list[Document]) -> None:
    works = learned()
    with judged() as place:
        root = place.outputs / "works"
        shutil.copytree(works, root)
        [key] = [path.name for path in root.iterdir()]
        with patch("logiclens.studio.session.Learning", _Idle):
            studio = Studio(root, token=TOKEN)
            studio.port = PORT
            studio.session.open_kept(key)
            for step in sent:
                _step(studio, key, step)
            *_, last, versions, _ = _state(studio)
            studio.session.end()
            _check_files(root)
            _check_restored(root, {last: versions})


def _request(studio: Studio, method: str, path: str, **more: Any) -> httpx.Response:
    """Send one request to the application, without a socket."""

    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(app=studio.app)
        async with httpx.AsyncClient(transport=transport, base_url=OWN["origin"]) as client:
            return await client.request(method, path, **more)

    return asyncio.run(sent())


def _state(studio: Studio) -> Any:
    """What a refused request must not change."""
    session = studio.session
    key = None if session.work is None else session.work.key
    editor = session.editor() if session.stage == "rules" else None
    versions = None if editor is None else [to_dict(rules) for rules in editor.versions]
    return session.revision, session.stage, key, versions, editor and (editor.at, editor.looks)


def _edits(studio: Studio) -> int:
    return len(studio.session.editor().rules.history) if studio.session.stage == "rules" else -1


def _step(studio: Studio, key: str, step: Document) -> None:
    before, edits = _state(studio), _edits(studio)
    base = f"/{TOKEN}/"
    if "verb" in step:
        answer = _act(studio, base, key, step)
    else:
        answer = _request(studio, "GET", base + step["path"], headers=OWN)
    if answer.status_code == 200:
        if step.get("verb") == "edit":
            assert _edits(studio) == edits + 1
        _check_answer(studio, step, answer)
        return
    assert answer.status_code in (400, 404, 405, 409)
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    check_sentence(answer.json()["error"] if is_json else answer.text)
    assert _state(studio) == before, "a refused request changed something"


def _act(studio: Studio, base: str, key: str, step: Document) -> httpx.Response:
    sent = {"revision": studio.session.revision, **step["sent"]}
    if "revision" in step:
        sent["revision"] = step["revision"]
    if sent.get("work") == "open":
        sent["work"] = key
    body = step.get("body", json.dumps(sent).encode())
    verb = re.sub(r"[^\w.-]", "_", step["verb"]).encode("utf-8", "replace").decode() or "_"
    headers = OWN | {"content-type": "application/json"}
    return _request(studio, "POST", f"{base}api/{verb}", content=body, headers=headers)


class _Markup(HTMLParser):
    """Finds in a part of the page what would run."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Refuse elements and attributes that the templates do not have."""
        assert tag not in ("script", "iframe", "object", "embed", "base", "meta", "link", "img")
        for name, value in attrs:
            assert not name.startswith("on")
            # What an input holds is a text, whatever it says.
            assert name == "value" or not (value or "").strip().lower().startswith(("javascript:", "data:"))


def _check_answer(studio: Studio, step: Document, answer: httpx.Response) -> None:
    """Compare what is shown or exported with the rules, evaluated from their JSON."""
    if step.get("path") == "export/model":
        _check_model(studio, answer.content)
    if not answer.headers["content-type"].startswith("application/json"):
        return
    shown = answer.json().get("main") or answer.json().get("part") or ""
    check_shown(shown)
    _Markup().feed(shown)
    if "main" not in answer.json() or studio.session.stage != "rules":
        return
    editor = studio.session.editor()
    record, labels = to_dict(editor.rules), editor._labels[~editor._held]
    answers = [decided(record, row) for row in rows_of(editor.frame)]
    right = sum(given == str(label) for given, label in zip(answers, labels, strict=True))
    assert f'<span class="big">{100 * right / len(labels):.1f}%</span>' in shown


def _check_model(studio: Studio, content: bytes) -> None:
    """Verify the exported model, and compare its rules with those that are shown."""
    folder = studio.session.root.parent / "exported"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    verify(folder / "model")
    exported, shown = record_of(folder / "model"), to_dict(studio.session.editor().rules)
    for row in rows_of(studio.session.editor().frame):
        assert decided(exported, row) == decided(shown, row)
    shutil.rmtree(folder)


def _check_files(root: Path) -> None:
    for folder in root.iterdir():
        assert NAME.fullmatch(folder.name)
        for path in folder.iterdir():
            assert path.name in EXPECTED or path.name.startswith("table.")
    assert [path.name for path in root.parent.iterdir()] == [root.name]


def _check_restored(root: Path, versions: Mapping[str | None, Any]) -> None:
    """Open the works of the ended studio again: rules and versions are as they were."""
    again = Studio(root, token=TOKEN)
    for folder in sorted(root.iterdir()):
        if (folder / VERSIONS).exists():
            again.session.open_kept(folder.name)
            if versions.get(folder.name) is not None:
                assert _state(again)[3] == versions[folder.name]
    again.session.end()
