"""Special files, files that are too large, and failures of the checker: none of them is a refutation."""

from __future__ import annotations

import io
import os
import socket
from pathlib import Path

import pytest

from logiclens.verify import Unusable, claim, files, verify
from logiclens.verify.__main__ import main
from logiclens.verify.files import read_regular

NAMES = ("certificate.json", "model.json", "weights.safetensors")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def link_zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def link_null(path: Path) -> None:
    path.symlink_to("/dev/null")


def make_folder(path: Path) -> None:
    path.mkdir()


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def link_itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("make", [make_pipe, link_zero, link_null, make_folder, make_socket, link_itself])
def test_special_files_are_not_read(saved, tmp_path, capsys, name, make):
    folder = saved.write(tmp_path)
    (folder / name).unlink()
    make(folder / name)
    assert main([str(folder)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"not verified: {name} ")
    assert error.count("\n") == 1


def test_a_link_to_a_regular_file_is_read(saved, tmp_path):
    folder = saved.write(tmp_path / "model")
    (folder / "model.json").rename(tmp_path / "elsewhere.json")
    (folder / "model.json").symlink_to(tmp_path / "elsewhere.json")
    assert verify(folder).classes


@pytest.mark.parametrize("name", NAMES)
def test_a_file_beyond_the_limit_is_not_read(saved, tmp_path, name):
    folder = saved.write(tmp_path)
    os.truncate(folder / name, files.LIMITS[name] + 1)
    with pytest.raises(Unusable, match=f"{name} is larger than [0-9,]+ bytes, the most that is read"):
        verify(folder)


def test_a_file_of_the_largest_size_is_read(tmp_path):
    (tmp_path / "some").write_bytes(b"12345")
    assert read_regular(tmp_path / "some", 5) == b"12345"
    with pytest.raises(Unusable, match="larger than 4 bytes"):
        read_regular(tmp_path / "some", 4)
    (tmp_path / "none").write_bytes(b"")
    assert read_regular(tmp_path / "none", 0) == b""


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "some").write_bytes(b"12345")
    status = os.stat(tmp_path / "some")

    class Shorter:
        st_mode, st_size = status.st_mode, 3

    monkeypatch.setattr(os, "fstat", lambda descriptor: Shorter)
    with pytest.raises(Unusable, match="was changed while it was read"):
        read_regular(tmp_path / "some", 5)


def test_no_descriptor_stays_open(tmp_path):
    (tmp_path / "some").write_bytes(b"12345")
    before = len(os.listdir("/proc/self/fd"))
    for limit in (5, 4):
        for path in (tmp_path / "some", tmp_path):
            try:
                read_regular(path, limit)
            except Unusable:
                continue
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (MemoryError(), "not verified: there is not enough memory"),
        (ZeroDivisionError("x"), "not verified: the checker"),
    ],
)
def test_a_failing_checker_refutes_nothing(saved, tmp_path, capsys, monkeypatch, failure, words):
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(claim, "read_heads", fail)
    assert main([str(saved.write(tmp_path))]) == 2
    error = capsys.readouterr().err
    assert error.startswith(words)
    assert error.count("\n") == 1


def test_a_file_without_stored_contents_is_refused(saved, tmp_path, capsys, monkeypatch):
    class Waiting(io.BytesIO):
        def read(self, size: int | None = -1) -> None:  # type: ignore[override]
            return None

    # As reading /proc/kmsg does without waiting.
    monkeypatch.setattr(files, "open", lambda *_, **__: Waiting(), raising=False)
    assert main([str(saved.write(tmp_path))]) == 2
    error = capsys.readouterr().err
    assert error.startswith("not verified: certificate.json has no stored contents")
    assert error.count("\n") == 1


def test_long_values_are_cut_in_messages():
    for length, is_whole in ((files.SHOWN - 2, True), (files.SHOWN - 1, False)):
        text = files.shown("x" * length)
        assert len(text) == files.SHOWN
        assert text.endswith("x'" if is_whole else "x...")
