"""Work folders: what the studio may remove, and what stays when a work cannot be begun or is gone."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from logiclens.errors import LogicLensError
from logiclens.studio import work as works
from logiclens.studio.choices import Choices
from logiclens.studio.session import Session
from logiclens.studio.work import LOCK, RECORD, Work, remove_old
from tests.studio.conftest import full

KEY = "0123456789abcdef"


def written_work(root: Path) -> Path:
    """A work that nobody has open."""
    session = Session(root)
    session.example()
    folder = session.work.folder
    session.end()
    return folder


def make_old(folder: Path, days: float = 8) -> None:
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (path.stat().st_mtime - days * 86_400,) * 2)


def descriptors_below(root: Path) -> list[str]:
    found = (os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd"))
    return [path for path in found if path.startswith(str(root))]


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.txt": "text"},
        {"lock": "text"},
        {"work.json": "{}"},
        {"work.json": "text", "thesis.txt": "text"},
        {"table.csv": "a,b\n1,2\n", "model/model.json": "{}"},
    ],
)
@pytest.mark.parametrize("days", [0, 8])
@pytest.mark.parametrize("has_locks", [True, False])
def test_a_folder_of_another_program_stays_as_it_is(tmp_path, monkeypatch, files, days, has_locks):
    if not has_locks:
        monkeypatch.setattr(works, "fcntl", None)
    folder = tmp_path / KEY
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    make_old(folder, days)
    Session(tmp_path).kept()
    found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found == files


def test_a_link_named_as_a_lock_makes_no_work(tmp_path):
    (tmp_path / "empty").touch()
    (tmp_path / "works" / KEY).mkdir(parents=True)
    (tmp_path / "works" / KEY / LOCK).symlink_to(tmp_path / "empty")
    Session(tmp_path / "works")
    assert os.listdir(tmp_path / "works" / KEY) == [LOCK]


def test_leftovers_and_empty_folders_are_removed_at_once(tmp_path):
    leftover = written_work(tmp_path)
    (leftover / RECORD).unlink()
    (tmp_path / KEY).mkdir()
    Session(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_work_with_a_damaged_record_waits_seven_days(tmp_path):
    folder = written_work(tmp_path)
    (folder / RECORD).write_text("{")
    Session(tmp_path)
    assert folder.exists()
    make_old(folder)
    Session(tmp_path)
    assert not folder.exists()


def test_what_stops_a_removal_leaves_a_folder_that_goes_later(tmp_path, monkeypatch):
    folder = written_work(tmp_path)
    (folder / "model").mkdir()
    (folder / "model" / "model.json").touch()
    with monkeypatch.context() as stopped:
        stopped.setattr(shutil, "rmtree", lambda *_, **__: None)
        works.remove_folder(folder)
    assert sorted(os.listdir(folder)) == [LOCK, "model"]
    Session(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_old_works_without_locks_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(works, "fcntl", None)
    old, young = written_work(tmp_path), written_work(tmp_path)
    make_old(old)
    remove_old(tmp_path)
    assert list(tmp_path.iterdir()) == [young]


def test_old_leftovers_without_locks_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(works, "fcntl", None)
    old, young = (Session(tmp_path).begin("patients.csv") for _ in range(2))
    for work in (old, young):
        work.upload.write_text("name,age\nJane Doe,70\n")
    make_old(old.folder)
    assert Session(tmp_path).kept() == []
    assert list(tmp_path.iterdir()) == [young.folder]


def test_a_work_that_changes_before_it_is_locked_stays(tmp_path, monkeypatch):
    folder, lock = written_work(tmp_path), works.lock
    make_old(folder)

    def lock_after_an_edit(path: Path) -> int | None:
        (path / "versions.json").write_text("{}")
        return lock(path)

    monkeypatch.setattr(works, "lock", lock_after_an_edit)
    remove_old(tmp_path)
    assert (folder / RECORD).exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP])
def test_where_nothing_can_be_locked_no_folder_stays(tmp_path, monkeypatch, code):
    def unsupported(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(works.fcntl, "flock", unsupported)
    with pytest.raises(LogicLensError, match="can be locked: name another one with --work"):
        Work.begin(tmp_path, "a.csv", ".csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("removes", ["the folder", "the record"])
def test_a_work_that_is_closed_meanwhile_says_so(tmp_path, monkeypatch, removes):
    folder = written_work(tmp_path)
    session = Session(tmp_path)
    kept = session.kept()
    if removes == "the folder":
        shutil.rmtree(folder)
    else:
        (folder / RECORD).unlink()
    monkeypatch.setattr(session, "kept", lambda: kept)
    with pytest.raises(LogicLensError, match=r"^this work is not there any more: choose the file again\.$"):
        session.open_kept(folder.name)
    assert descriptors_below(tmp_path) == []


# Doors ----------------------------------------------------------------------------------------------------------------


def begin_and_fail(session: Session) -> None:
    with session.begin("table.csv").removed_on_failure():
        full()


@pytest.mark.parametrize("door", ["example", "model", "table", "upload"])
def test_a_full_disk_leaves_neither_folder_nor_lock(learned_works, tmp_path, monkeypatch, door):
    [learned] = learned_works.iterdir()
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    session = Session(tmp_path / "works")
    opens = {
        "example": session.example,
        "model": lambda: session.open_model(learned / "model"),
        "table": lambda: session.open_table(table),
        "upload": lambda: begin_and_fail(session),
    }
    monkeypatch.setattr("logiclens.studio.session.write_whole", full)
    monkeypatch.setattr("logiclens.studio.work.write_whole", full)
    with pytest.raises(OSError, match="No space left on device"):
        opens[door]()
    assert (list(session.root.iterdir()), descriptors_below(session.root)) == ([], [])
    assert session.work is None


def test_learning_can_be_repeated_after_a_full_disk(tmp_path, monkeypatch):
    session = Session(tmp_path)
    session.example()
    for module in ("work.write_whole", "session.Learning"):
        with monkeypatch.context() as patched:
            patched.setattr(f"logiclens.studio.{module}", full)
            with pytest.raises(OSError, match="No space left on device"):
                session.learn(Choices("diagnosis", ()))
        assert (session.stage, session.learning, Work(session.work.folder).record.stage) == ("columns", None, "columns")
    session.learn(Choices("diagnosis", ()))
    assert session.stage == "learning"
    session.end()


@pytest.mark.parametrize("sentence", ["", "it has too few rows."])
def test_learning_that_ends_on_a_full_disk_is_at_columns(tmp_path, monkeypatch, sentence):
    session = Session(tmp_path)
    session.example()
    session.work.change(stage="learning")
    monkeypatch.setattr("logiclens.studio.work.write_whole", full)
    session._learned(session.work.folder, sentence)
    told = sentence or f"the studio cannot write into {tmp_path}: No space left on device."
    assert (session.stage, session.work.record.problem) == ("columns", told)
    session.end()


def test_a_full_disk_keeps_nobody_from_leaving_learning(tmp_path, monkeypatch):
    session = Session(tmp_path)
    session.example()
    for leave in (session.cancel, session.end):
        session.work.change(stage="learning")
        with monkeypatch.context() as patched:
            patched.setattr("logiclens.studio.work.write_whole", full)
            leave()
    assert (session.work, descriptors_below(tmp_path)) == (None, [])


def test_a_work_can_be_opened_after_a_full_disk(tmp_path, monkeypatch):
    folder = written_work(tmp_path)
    Work(folder).change(stage="learning")
    session = Session(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("logiclens.studio.work.write_whole", full)
        with pytest.raises(OSError, match="No space left on device"):
            session.open_kept(folder.name)
    assert (session.work, descriptors_below(tmp_path)) == (None, [])
    session.open_kept(folder.name)
    assert session.stage == "columns"
    session.end()
