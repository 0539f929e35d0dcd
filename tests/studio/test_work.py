"""Work folders: what the studio may remove, and what stays when a work cannot be begun or is gone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from logiclens.studio import work as works
from logiclens.studio.session import Session
from logiclens.studio.work import LOCK, RECORD, remove_old

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


def test_a_work_that_changes_before_it_is_locked_stays(tmp_path, monkeypatch):
    folder, lock = written_work(tmp_path), works.lock
    make_old(folder)

    def lock_after_an_edit(path: Path) -> int | None:
        (path / "versions.json").write_text("{}")
        return lock(path)

    monkeypatch.setattr(works, "lock", lock_after_an_edit)
    remove_old(tmp_path)
    assert (folder / RECORD).exists()
