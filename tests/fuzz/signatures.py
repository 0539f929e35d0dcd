"""Door of signatures: folders are signed, changed and verified with keys of every kind, on the command line."""

from __future__ import annotations

import copy
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from logiclens.cli.signature import new_key
from tests.fuzz import folders, hostile
from tests.fuzz.commands import Run, run
from tests.fuzz.judge import LONGEST, Failure, Outcome, Place, check_sentence, check_shown
from tests.fuzz.samples import SAMPLES, place, sample

Document = dict[str, Any]

KEYS = ("own", "own", "own", "own", "other", "wrong half", "text", "empty", "folder", "nowhere", "fifo", "long")
FIELDS = ("kind", "schema", "algorithm", "key", "signer", "time", "files", "signature", "nothing")

# Cases ---------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> Document:
    """Draw a folder that is changed before it is signed, after it, or never, and the keys of both sides."""
    name = draw(st.sampled_from(SAMPLES))
    changes = folders.edits(name) | folders.damages()
    of_signature = folders.damages().map(lambda damage: {**damage, "file": "signature.json"})
    field = st.fixed_dictionaries({"field": st.sampled_from(FIELDS), "value": hostile.json_values()})
    return {
        "sample": name,
        "before": draw(st.lists(changes, max_size=1)) if draw(st.integers(0, 3)) == 0 else [],
        "after": draw(st.lists(folders.damages() | of_signature | field, max_size=2)),
        "signed with": draw(st.sampled_from(KEYS)),
        "verified with": draw(st.sampled_from(KEYS)),
    }


# Checks --------------------------------------------------------------------------------------------------------------


@cache
def key_pairs() -> dict[str, tuple[Path, Path]]:
    """The private and the public file of two key pairs. Each process of the campaign makes its own."""
    return {name: new_key(str(place() / f"{name}-{os.getpid()}")) for name in ("own", "other")}


def _key(kind: str, public: bool, where: Place) -> str:
    """Return the path of a key, or of what is none."""
    if kind in ("own", "other"):
        return str(key_pairs()[kind][int(public)])
    if kind == "wrong half":
        return str(key_pairs()["own"][int(not public)])
    path = where.root / f"key-{'public' if public else 'private'}"
    if kind in ("text", "empty"):
        path.write_text("-----BEGIN PRIVATE KEY-----\n\x1b" if kind == "text" else "")
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    return "x" * 300 if kind == "long" else str(path)


def _check_words(ended: Run, allowed: set[int]) -> None:
    if ended.code not in allowed:
        raise Failure(f"the exit code is {ended.code}")
    for text in (ended.out, ended.err):
        check_shown(text, "what is printed for reading")
        if "Traceback" in text:
            raise Failure("a traceback is printed", text[-200:])
    if ended.code == 2 and ended.err.startswith("logiclens: "):
        check_sentence(ended.err.rstrip("\n"), LONGEST + len("logiclens: "))


def check(case: Document, where: Place) -> Outcome:
    """Sign and verify: a signature holds with the right key, as long as nothing was changed."""
    origin = sample(case["sample"])
    folder, path = folders.Folder(origin), where.outputs / "model"
    for edit in case["before"]:
        folder.apply(edit)
    folder.write(path, sealed=True)
    before = _content(path)
    ended = run(["sign", str(path), "--key", _key(case["signed with"], False, where)])
    _check_words(ended, {0, 1, 2})
    if ended.code:
        if _content(path) != before:
            raise Failure("a folder that is not signed is changed")
        if not case["before"] and origin.exact and case["signed with"] in ("own", "other"):
            raise Failure("a model that can be verified is not signed", ended.err[:200])
        return Outcome.refused
    if case["signed with"] not in ("own", "other"):
        raise Failure("a folder is signed with what is no private key")
    signed = _content(path)
    for change in case["after"]:
        _change(path, change)
    key = _key(case["verified with"], True, where)
    verified = run(["verify", str(path), "--key", key])
    _check_words(verified, {0, 1, 2, 3})
    is_right = _stated(_content(path)) == _stated(signed) and case["verified with"] == case["signed with"]
    if (verified.code == 0) != is_right:
        raise Failure("a signature holds that does not" if verified.code == 0 else "a signature does not hold")
    return Outcome.agreed if is_right else Outcome.refused


def _content(path: Path) -> dict[str, bytes | str]:
    return {
        entry.name: entry.read_bytes() if entry.is_file() and not entry.is_symlink() else "special"
        for entry in sorted(path.iterdir())
    }


def _stated(files: dict[str, bytes | str]) -> dict[str, Any]:
    """The files, and of the signature what it states: its white space is not signed."""
    try:
        return {**files, "signature.json": json.dumps(json.loads(files["signature.json"]), sort_keys=True)}
    except (KeyError, ValueError):
        return dict(files)


def _change(path: Path, change: Document) -> None:
    """Change a file of a signed folder: its bytes, what it is, or a field of the signature."""
    signature = path / "signature.json"
    if "field" in change:
        if not signature.is_file() or signature.is_symlink():
            return
        try:
            content = {**json.loads(signature.read_bytes())}
        except (OSError, ValueError, TypeError):
            return
        content[change["field"]] = copy.deepcopy(change["value"])
        signature.write_bytes(json.dumps(content).encode("utf-8", "surrogatepass"))
        return
    files = {entry.name: entry.read_bytes() for entry in path.iterdir() if entry.is_file() and not entry.is_symlink()}
    if change["do"] == "special" and change["file"] in files:
        folders.make_special(path / change["file"], change["kind"])
    elif change["do"] in ("flip", "cut", "insert", "delete", "drop", "extra"):
        left = copy.copy(files)
        folders.apply_damage(left, change)
        for name in files.keys() - left.keys():
            (path / name).unlink()
        for name, content in left.items():
            if content != files.get(name):
                (path / name).write_bytes(content)
