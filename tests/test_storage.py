"""Files that are whole or not there, sealed JSON, and the model folder without the network."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from logiclens import storage
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier
from logiclens.formula import RuleSet
from logiclens.report import Source, result_of
from logiclens.storage import (
    open_folder,
    open_whole,
    replacing,
    replacing_folder,
    scratch_folder,
    sealed,
    write_whole,
)
from logiclens.verify.files import LIMITS
from tests.faults.injection import cannot_exchange

ROWS = pd.DataFrame({"age": [20.0, 35, 50, 61, 72, 90] * 12, "unit": ["A", "B", "C"] * 24})
LABELS = np.where((ROWS["age"] >= 60) & (ROWS["unit"] != "A"), "ill", "well")


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> tuple[EntropyClassifier, Path]:
    model = EntropyClassifier(set_aside=0.25).fit(ROWS, pd.Series(LABELS, name="state"))
    result = result_of(model, model.explain(), Source("rows.csv", len(ROWS), 2, "state"))
    return model, model.save(tmp_path_factory.mktemp("folder") / "model", result)


@pytest.fixture
def folder(made, tmp_path) -> Path:
    return shutil.copytree(made[1], tmp_path / "model")


def edit(path: Path, change, *, seal: bool = False) -> None:
    content = json.loads(path.read_text())
    change(content)
    if seal:
        content = sealed({key: value for key, value in content.items() if key != "content_sha256"})
    path.write_text(json.dumps(content))


# Files that are whole or not there --------------------------------------------------------------------------------


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("content", ["größer\n", b"\x00\xff", ""])
def test_text_is_utf_8_and_bytes_stay_bytes(tmp_path, content):
    write_whole(tmp_path / "file", content)
    assert content_of(tmp_path) == {"file": content.encode() if isinstance(content, str) else content}


@pytest.mark.parametrize("older", [None, b"older"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("odd"), OSError(28, "No space left on device")])
def test_an_error_halfway_leaves_what_was_there(tmp_path, older, error):
    if older is not None:
        (tmp_path / "file").write_bytes(older)
    before = content_of(tmp_path)

    def write() -> None:
        with open_whole(tmp_path / "file") as file:
            file.write(b"half")
            raise error

    with pytest.raises(LogicLensError if isinstance(error, OSError) else type(error)):
        write()
    assert content_of(tmp_path) == before


@pytest.mark.parametrize(("number", "text"), [(13, "Permission denied"), (28, "No space left on device")])
@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_disk_that_fails_is_told_in_a_sentence(tmp_path, monkeypatch, number, text, step):
    def fails(*args, **options):
        raise OSError(number, text)

    (tmp_path / "file").write_bytes(b"older")
    monkeypatch.setattr(os, step, fails)
    with pytest.raises(LogicLensError) as caught:
        write_whole(tmp_path / "file", b"newer", sync=True)
    assert str(caught.value) == f"cannot write {tmp_path / 'file'}: {text}."
    assert content_of(tmp_path) == {"file": b"older"}


def test_bytes_reach_the_disk_before_the_name_does(tmp_path, monkeypatch):
    steps, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (steps.append(os.fstat(file).st_size), sync(file)))
    monkeypatch.setattr(os, "replace", lambda *names: (steps.append("replace"), replace(*names)))
    assert write_whole(str(tmp_path / "plain"), b"12345") == tmp_path / "plain"
    write_whole(tmp_path / "synced", b"12345", sync=True)
    assert steps == ["replace", 5, "replace"]


def test_a_reader_never_sees_half_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"older")
    with open_whole(tmp_path / "file") as file:
        file.write(b"newer")
        file.flush()
        assert (tmp_path / "file").read_bytes() == b"older"
    assert (tmp_path / "file").read_bytes() == b"newer"


def test_two_writers_at_once_do_not_mix(tmp_path):
    with open_whole(tmp_path / "file") as one, open_whole(tmp_path / "file") as other:
        one.write(b"one")
        other.write(b"other")
    assert content_of(tmp_path) == {"file": b"one"}


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o400])
def test_a_part_is_as_private_as_what_it_replaces(tmp_path, mode):
    (tmp_path / "file").write_bytes(b"older")
    (tmp_path / "file").chmod(mode)
    with open_whole(tmp_path / "file") as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode | 0o200
        file.write(b"newer")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    assert content_of(tmp_path) == {"file": b"newer"}


def test_a_file_keeps_its_permissions_and_a_link_its_target(tmp_path):
    (tmp_path / "real").write_bytes(b"older")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"newer")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"newer"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640


def test_a_link_to_nothing_makes_the_file_it_names(tmp_path):
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_a_named_pipe_is_written_to_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_standard_output_by_its_device_reaches_a_pipe():
    code = "from logiclens.storage import write_whole; write_whole('/dev/stdout', 'through')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "through"


def test_a_folder_is_refused_as_a_file(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(LogicLensError, match=r"cannot write .*folder: Is a directory"):
        write_whole(tmp_path / "folder", b"x")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_folder_of_files_appears_under_one_name(tmp_path):
    for error in (KeyboardInterrupt, None):
        try:
            with replacing(tmp_path / "answers") as part:
                part.mkdir()
                (part / "0").write_bytes(b"x")
                if error:
                    raise error
        except KeyboardInterrupt:
            assert os.listdir(tmp_path) == []
    assert content_of(tmp_path / "answers") == {"0": b"x"}
    assert os.listdir(tmp_path) == ["answers"]


# Folders that are whole or not there ------------------------------------------------------------------------------


def test_a_folder_is_replaced_whole(tmp_path):
    for content in (b"older", b"newer"):
        with replacing_folder(tmp_path / "deep" / "folder") as new:
            (new / content.decode()).write_bytes(content)
        assert content_of(tmp_path / "deep" / "folder") == {content.decode(): content}
    assert os.listdir(tmp_path / "deep") == ["folder"]
    assert stat.S_IMODE((tmp_path / "deep" / "folder").stat().st_mode) == 0o755


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_folder(tmp_path, mask):
    before = os.umask(mask)
    try:
        made_folder(tmp_path / "folder")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o777 & ~mask


def test_a_folder_keeps_its_permissions(tmp_path):
    for mode in (0o700, 0o750):
        made_folder(tmp_path / "folder").chmod(mode)
        made_folder(tmp_path / "folder")
        assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == mode


class Refused(Exception):
    pass


@pytest.mark.parametrize(("can_exchange", "call"), [(True, 1), (False, 1), (False, 2)])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(5, "Input/output error"), Refused])
def test_a_folder_that_cannot_be_replaced_is_put_back(tmp_path, monkeypatch, can_exchange, call, error):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"older")
    calls = []

    def failing(real):
        def fails(*names):
            calls.append(names)
            # The steps that undo a switch work.
            if len(calls) == call:
                raise error
            real(*names)

        return fails

    if can_exchange:
        monkeypatch.setattr(storage, "exchange", failing(storage.exchange))
    else:
        monkeypatch.setattr(storage, "exchange", cannot_exchange)
        monkeypatch.setattr(os, "rename", failing(os.rename))
    kind = error if isinstance(error, type) else type(error)
    with pytest.raises(kind), replacing_folder(tmp_path / "folder") as new:
        (new / "file").write_bytes(b"newer")
    assert content_of(tmp_path / "folder") == {"file": b"older"}
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_behind_a_link_is_replaced_in_its_place(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(storage, "exchange", cannot_exchange)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for content in (b"older", b"newer"):
        with replacing_folder(tmp_path / "link") as new:
            (new / "file").write_bytes(content)
        assert (tmp_path / "link").is_symlink()
        assert content_of(tmp_path / "real") == {"file": content}
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


def test_files_and_folder_reach_the_disk_before_the_name(tmp_path, monkeypatch):
    steps, real = [], {"fsync": os.fsync, "exchange": storage.exchange}
    monkeypatch.setattr(os, "fsync", lambda descriptor: (steps.append("fsync"), real["fsync"](descriptor)))
    monkeypatch.setattr(storage, "exchange", lambda *names: (steps.append("exchange"), real["exchange"](*names)))
    (tmp_path / "folder").mkdir()
    with replacing_folder(tmp_path / "folder") as new:
        (new / "one").write_bytes(b"1")
        (new / "two").write_bytes(b"2")
    assert steps == ["fsync", "fsync", "fsync", "exchange", "fsync"]


# What killed writers leave behind -----------------------------------------------------------------------------------


def workspace(folder: Path, name: str) -> Path:
    path = folder / f".{name}.0123abcd.logiclens-part"
    path.mkdir()
    return path


@pytest.mark.parametrize("write", [write_whole, lambda path, content: shutil.rmtree(made_folder(path))])
def test_the_next_writer_removes_what_a_killed_one_left(tmp_path, write):
    (workspace(tmp_path, "file") / "file").write_bytes(b"half")
    write(tmp_path / "other", b"x")
    assert [name for name in os.listdir(tmp_path) if name != "other"] == []


def made_folder(path: Path) -> Path:
    with replacing_folder(path) as new:
        (new / "file").write_bytes(b"x")
    return path


def test_what_only_looks_like_a_leftover_stays(tmp_path):
    for name in (".file.0123abcd.part", "file.0123abcd.logiclens-part", ".file.0123abcg.logiclens-part"):
        (tmp_path / name).mkdir()
    (tmp_path / ".other.0123abcd.logiclens-part").write_bytes(b"a file")
    (tmp_path / ".link.0123abcd.logiclens-part").symlink_to(tmp_path / ".file.0123abcd.part")
    before = sorted(os.listdir(tmp_path))
    write_whole(tmp_path / "new", b"x")
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "new"])


def test_the_workspace_of_a_living_writer_is_left_alone(tmp_path):
    with replacing(tmp_path / "one") as part:
        part.write_bytes(b"1")
        write_whole(tmp_path / "two", b"2")
    assert content_of(tmp_path) == {"one": b"1", "two": b"2"}


def test_a_workspace_taken_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    real, tries = storage._lock, []

    def taken_at_first(folder):
        tries.append(folder)
        if len(tries) == 1:
            # A writer that looks for leftovers was faster.
            folder.rmdir()
        return real(folder)

    monkeypatch.setattr(storage, "_lock", taken_at_first)
    write_whole(tmp_path / "file", b"x")
    assert len(tries) == 2
    assert content_of(tmp_path) == {"file": b"x"}


def test_files_are_written_where_nothing_can_be_locked(tmp_path, monkeypatch):
    monkeypatch.setattr(storage.fcntl, "flock", no_locks)
    left = workspace(tmp_path, "old")
    write_whole(tmp_path / "file", b"x")
    assert content_of(tmp_path) == {"file": b"x"}
    assert left.is_dir()


def write_scratch(folder: Path) -> None:
    with scratch_folder():
        pass


def write_file(folder: Path) -> None:
    write_whole(folder / "file", b"x")


def read_missing(folder: Path) -> None:
    with pytest.raises(LogicLensError, match="there is no folder"):
        open_folder(folder / "x")


@pytest.mark.parametrize("work", [write_scratch, write_file, read_missing])
@pytest.mark.parametrize("name", ["x", "scratch", "models"])
@pytest.mark.parametrize("place", ["moved-away", "x", "moved-away/x", "moved-away/models"])
def test_no_link_in_a_planted_workspace_is_followed(tmp_path, monkeypatch, work, name, place):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shared"))
    for path in (tmp_path / "shared", tmp_path / "models", tmp_path / "models" / "x", tmp_path / "models" / "models"):
        path.mkdir()
        if path.parent != tmp_path:
            (path / "model.json").write_text("precious")
    (tmp_path / "models" / "model.json").write_text("precious")
    link = workspace(tmp_path / "shared", name) / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / "models")
    work(tmp_path / "shared")
    assert sorted(str(path.relative_to(tmp_path / "models")) for path in (tmp_path / "models").rglob("*")) == [
        "model.json", "models", "models/model.json", "x", "x/model.json",
    ]  # fmt: skip
    assert {path.name for path in (tmp_path / "shared").iterdir()} <= {
        "file",
        link.relative_to(tmp_path / "shared").parts[0],
    }


@pytest.mark.parametrize("work", [write_scratch, write_file, read_missing])
def test_the_workspace_of_another_user_is_left_alone(tmp_path, monkeypatch, work):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = [workspace(tmp_path, name) / "moved-away" / name for name in ("x", "scratch")]
    for path in left:
        path.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    work(tmp_path)
    assert [path.is_dir() for path in left] == [True, True]


def test_only_what_a_workspace_is_named_after_is_put_back(tmp_path):
    long = "long" * 20
    for name in ("model", long):
        path = workspace(tmp_path, name[:40]) / "moved-away"
        for moved in (name, "other"):
            (path / moved).mkdir(parents=True)
    write_file(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["file", long, "model"]


def test_scratch_space_leaves_what_a_killed_save_moved_away(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("scratch", "model"):
        (workspace(tmp_path, name) / "moved-away" / name).mkdir(parents=True)
    before = sorted(os.listdir(tmp_path))
    write_scratch(tmp_path)
    assert sorted(os.listdir(tmp_path)) == before
    write_file(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["file", "model", "scratch"]


def test_nobody_else_can_enter_a_workspace(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.umask(0)
    try:
        with (
            replacing(tmp_path / "one") as part,
            replacing_folder(tmp_path / "two") as new,
            scratch_folder() as scratch,
        ):
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (part.parent, new.parent, scratch)]
            part.write_bytes(b"x")
    finally:
        os.umask(before)
    assert modes == [0o700] * 3


def no_locks(*arguments: object) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_only_a_living_writer_of_the_folder_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / ".x.00000000.logiclens-part").write_bytes(b"a file")
    monkeypatch.setattr(storage.time, "sleep", lambda seconds: pytest.fail("it waited"))
    read_missing(tmp_path)
    with replacing(tmp_path / "other") as part:
        part.write_bytes(b"x")
        read_missing(tmp_path)
    workspace(tmp_path, "x")
    for owner in (0, 1):
        monkeypatch.setattr(os, "geteuid", lambda owner=owner: tmp_path.stat().st_uid + owner)
        monkeypatch.setattr(storage.fcntl, "flock", no_locks)
        read_missing(tmp_path)
    monkeypatch.setattr(storage, "fcntl", None)
    read_missing(tmp_path)


def test_a_living_writer_of_the_folder_is_waited_for(tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr(storage, "_PATIENCE", 0.1)
    monkeypatch.setattr(
        storage.time, "sleep", lambda seconds, sleep=time.sleep: (waits.append(seconds), sleep(seconds))
    )
    with replacing_folder(tmp_path / "x"):
        read_missing(tmp_path)
    assert waits


# The model folder -------------------------------------------------------------------------------------------------


def test_a_folder_moved_away_meanwhile_is_replaced(tmp_path, monkeypatch):
    def vanish(source: Path, _: Path) -> None:
        shutil.rmtree(source)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    (tmp_path / "model").mkdir()
    monkeypatch.setattr(shutil, "copymode", vanish)
    with replacing_folder(tmp_path / "model") as new:
        (new / "file").write_bytes(b"new")
    assert (tmp_path / "model" / "file").read_bytes() == b"new"


def test_models_are_kept_where_folders_cannot_be_opened(folder, tmp_path, monkeypatch):
    expected = open_folder(folder).files
    monkeypatch.setattr(storage, "fcntl", None)
    monkeypatch.setattr(storage, "exchange", cannot_exchange)
    for _ in range(2):
        with replacing_folder(tmp_path / "copy") as new:
            for name, content in expected.items():
                (new / name).write_bytes(content)
    assert open_folder(tmp_path / "copy").files == expected
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    with pytest.raises(LogicLensError, match="there is no folder"):
        open_folder(tmp_path / "nowhere")


def test_the_rules_of_a_folder_predict_what_the_model_does(made, folder):
    rules = RuleSet.load(folder)
    assert rules == made[0].rules_
    assert rules.predict(ROWS).tolist() == made[0].predict(ROWS).tolist()
    assert rules.predict(ROWS.to_dict("list")).tolist() == rules.predict(ROWS).tolist()


def test_loading_and_predicting_needs_no_torch_scikit_learn_or_pandas(folder):
    code = f"""
import sys
for name in ('torch', 'sklearn', 'scipy', 'pandas', 'narwhals', 'safetensors'):
    sys.modules[name] = None
from logiclens import RuleSet
rules = RuleSet.load({str(folder)!r})
print(list(rules.predict({{"age": [90, 20, None], "unit": ["B", "B", None]}})))
print(sorted({{'torch', 'sklearn', 'scipy', 'pandas'}} & {{name for name, module in sys.modules.items() if module}}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = RuleSet.load(folder).predict({"age": [90, 20, None], "unit": ["B", "B", None]})
    assert run.stdout.splitlines() == [str([np.str_(label) for label in expected]), "[]"]


def test_the_seal_is_the_hash_of_the_content(folder):
    content = dict(open_folder(folder).content)
    told = content.pop("content_sha256")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert told == hashlib.sha256(text.encode()).hexdigest()
    assert (
        open_folder(folder).result()["model_sha256"] == hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()
    )


@pytest.mark.parametrize("name", ["model.json", "certificate.json", "result.json"])
@pytest.mark.parametrize("left", [0, 0.5, 0.99])
def test_what_was_cut_short_is_refused(folder, name, left):
    text = (folder / name).read_bytes()
    (folder / name).write_bytes(text[: int(left * len(text))])
    with pytest.raises(LogicLensError, match=rf"{name} cannot be read as JSON: it may be cut short"):
        open_folder(folder).result() if name == "result.json" else RuleSet.load(folder)


def test_weights_that_were_cut_short_or_changed_are_refused(folder):
    weights = (folder / "weights.safetensors").read_bytes()
    for other in (weights[:-7], weights[:-1] + bytes([weights[-1] ^ 1])):
        (folder / "weights.safetensors").write_bytes(other)
        with pytest.raises(
            LogicLensError, match=r"is not the file that model\.json was saved with: its sha256 differs"
        ):
            open_folder(folder)
    (folder / "weights.safetensors").unlink()
    with pytest.raises(LogicLensError, match="the weights are missing"):
        open_folder(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["rules"]["classes"][0]["cubes"][0].update(confidence=0.123),
        lambda content: content["rules"].update(otherwise=1 - content["rules"]["otherwise"]),
        lambda content: content.update(target="another"),
        lambda content: content["settings"].update(epochs=41),
        lambda content: content.update(extra=1),
        lambda content: content.pop("metrics"),
    ],
)
def test_a_change_of_the_model_is_refused(folder, change):
    edit(folder / "model.json", change)
    with pytest.raises(LogicLensError, match=r"model\.json was changed after it was saved"):
        open_folder(folder)
    # Who seals it again meets the certificate.
    edit(folder / "model.json", lambda content: None, seal=True)
    with pytest.raises(LogicLensError, match=r"certificate\.json is for another model"):
        open_folder(folder)


@pytest.mark.parametrize("schema", [0, 4, 99, None, "2", [1], True, {"long": list(range(999))}])
def test_a_schema_that_is_not_known_is_refused(folder, schema):
    edit(folder / "model.json", lambda content: content.update(schema=schema), seal=True)
    with pytest.raises(LogicLensError, match=r"this version reads schema 3") as told:
        open_folder(folder)
    assert len(str(told.value).replace(str(folder), "")) < 200


def test_a_changed_result_or_one_of_another_model_is_refused(folder):
    edit(folder / "result.json", lambda content: content["metrics"][0].update(value=12.5))
    with pytest.raises(LogicLensError, match=r"result\.json was changed after it was saved"):
        open_folder(folder).result()
    edit(folder / "result.json", lambda content: content.update(model_sha256="0" * 64), seal=True)
    with pytest.raises(LogicLensError, match=r"result\.json is of another model"):
        open_folder(folder).result()
    (folder / "result.json").unlink()
    with pytest.raises(LogicLensError, match="holds no result: save it with `logiclens explain"):
        open_folder(folder).result()


def test_what_is_no_model_is_named(folder, tmp_path):
    with pytest.raises(LogicLensError, match="there is no folder"):
        RuleSet.load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogicLensError, match=r"there is no .*model\.json"):
        RuleSet.load(tmp_path / "empty")
    edit(folder / "model.json", lambda content: content.update(kind="a cake"))
    with pytest.raises(LogicLensError, match="does not describe a logiclens model"):
        RuleSet.load(folder)
    (folder / "model.json").write_text("[1, 2]")
    with pytest.raises(LogicLensError, match="does not hold what was saved there"):
        RuleSet.load(folder)


# Limits -------------------------------------------------------------------------------------------------------------


def test_what_can_be_read_can_be_verified():
    assert {name: storage.MOST_BYTES[name] for name in LIMITS} == LIMITS


@pytest.mark.parametrize("name", ["model.json", "certificate.json", "weights.safetensors", "result.json"])
def test_what_is_too_large_is_not_read_or_kept(folder, tmp_path, monkeypatch, name):
    most = (folder / name).stat().st_size
    monkeypatch.setitem(storage.MOST_BYTES, name, most)
    open_folder(folder)
    with (folder / name).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(LogicLensError, match=rf"{name} has more than {most:,} bytes"):
        open_folder(folder)
    with (
        pytest.raises(LogicLensError, match=rf"too large to keep: {name} has {most + 1:,} bytes"),
        replacing_folder(tmp_path / "copy") as new,
    ):
        shutil.copy(folder / name, new)
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("told", [0, 3, 10**9])
def test_a_size_that_is_told_wrong_changes_nothing(folder, monkeypatch, told):
    expected, real = open_folder(folder).files, os.fstat

    def lying(file: int) -> os.stat_result:
        found = real(file)
        return os.stat_result((*found[:6], told, *found[7:]))

    monkeypatch.setattr(os, "fstat", lying)
    assert open_folder(folder).files == expected
    monkeypatch.setitem(storage.MOST_BYTES, "model.json", len(expected["model.json"]) - 1)
    with pytest.raises(LogicLensError, match=r"model\.json has more than"):
        open_folder(folder)


def test_a_folder_that_keeps_changing_is_not_read_without_pause(tmp_path, monkeypatch):
    waits, numbers = [], iter(range(10**9))
    monkeypatch.setattr(storage, "_PATIENCE", 0.05)
    monkeypatch.setattr(storage, "_identity", lambda path: (next(numbers),))
    monkeypatch.setattr(
        storage.time, "sleep", lambda seconds, sleep=time.sleep: (waits.append(seconds), sleep(seconds))
    )
    read_missing(tmp_path)
    assert 2 < len(waits) < 10


# What the system must not do behind our back ---------------------------------------------------------------------


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_no_descriptor_stays_open(folder, tmp_path):
    workspace(tmp_path, "left")
    before = open_descriptors()
    for _ in range(3):
        write_whole(tmp_path / "file", b"x", sync=True)
        made_folder(tmp_path / "other")
        open_folder(folder)
        storage.clear_leftovers(tmp_path)
        for path, words in (
            (tmp_path / "file", "file is a file, and a saved model is a folder"),
            (tmp_path / "other", "there is no .*model"),
        ):
            with pytest.raises(LogicLensError, match=words):
                open_folder(path)
    with open_whole(tmp_path / "file"), pytest.raises(OSError, match="temporarily unavailable"):
        storage._lock(next(tmp_path.glob(".file.*")))
    assert open_descriptors() == before


def test_a_folder_replaced_while_it_is_locked_is_not_locked(tmp_path, monkeypatch):
    path, real = workspace(tmp_path, "file"), storage.fcntl.flock

    def replace_first(descriptor, operation):
        path.rename(tmp_path / "away")
        path.mkdir()
        real(descriptor, operation)

    monkeypatch.setattr(storage.fcntl, "flock", replace_first)
    with pytest.raises(FileNotFoundError):
        storage._lock(path)


def test_a_forked_process_leaves_the_workspace_to_its_parent(tmp_path):
    block = replacing(tmp_path / "file")
    part = block.__enter__()
    part.write_bytes(b"x")
    child = os.fork()
    if child == 0:
        try:
            block.__exit__(ValueError, ValueError("odd"), None)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert part.read_bytes() == b"x"
    block.__exit__(None, None, None)
    assert content_of(tmp_path) == {"file": b"x"}
    assert os.listdir(tmp_path) == ["file"]


def test_a_living_writer_makes_a_folder_busy(tmp_path):
    assert not storage.clear_leftovers(tmp_path / "nowhere")
    workspace(tmp_path, "left")
    assert not storage.clear_leftovers(tmp_path)
    assert os.listdir(tmp_path) == []
    with replacing(tmp_path / "file") as part:
        part.write_bytes(b"x")
        assert storage.clear_leftovers(tmp_path)


def test_a_folder_moved_away_by_a_killed_writer_comes_back(folder, tmp_path):
    expected = open_folder(folder).files
    for has_new in (False, True):
        moved = workspace(tmp_path, "model") / "moved-away"
        moved.mkdir()
        if has_new:
            shutil.copytree(folder, moved / "model")
        else:
            folder.rename(moved / "model")
        assert open_folder(folder).files == expected
        storage.clear_leftovers(tmp_path)
        assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize(("depth", "is_read"), [(64, True), (65, False)])
def test_json_nests_at_most_so_deep(tmp_path, depth, is_read):
    (tmp_path / "file").write_text('{"a": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}")
    if is_read:
        assert list(storage.read_json(tmp_path / "file")) == ["a"]
    else:
        with pytest.raises(LogicLensError, match="nests lists and objects more than 64 deep"):
            storage.read_json(tmp_path / "file")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"b": 1, "a": 1, "a": 2}', "an object in it has the key 'a' twice"),
        ('{"K": 1, "K": 2}'.replace("K", "k" * 79), f"an object in it has the key '{'k' * 77}…' twice"),
        ('{"K": 1, "K": 2}'.replace("K", "k" * 78), f"an object in it has the key '{'k' * 78}' twice"),
        ('{"a": NaN}', "it holds NaN, which is no number of JSON"),
    ],
)
def test_json_that_can_be_read_in_two_ways_is_refused(tmp_path, text, words):
    (tmp_path / "file").write_text(text)
    with pytest.raises(LogicLensError) as caught:
        storage.read_json(tmp_path / "file")
    assert str(caught.value) == f"{tmp_path / 'file'} cannot be read: {words}."
    with pytest.raises(LogicLensError, match="there is no "):
        storage.read_json(tmp_path / "nothing")


def test_a_model_takes_new_names_empty_folders_and_models(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for path in (folder, tmp_path / "empty", tmp_path / "new" / "deep"):
        assert storage.check_model_target(str(path)) == path
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(LogicLensError, match=r"file exists and is not a model folder alone: choose another name"):
        storage.check_model_target(tmp_path / "file")
    with pytest.raises(LogicLensError, match=r"cannot be made: .*file is not a folder that can be written to"):
        storage.check_model_target(tmp_path / "file" / "model")
    (folder / "notes").write_bytes(b"x")
    (folder / "zebra").write_bytes(b"x")
    with pytest.raises(LogicLensError, match=r"not a model folder alone \(it holds 'notes'\)"):
        storage.check_model_target(folder)
    for name in ("notes", "zebra", "model.json"):
        (folder / name).unlink()
    with pytest.raises(LogicLensError, match="exists and is not a model folder alone: choose"):
        storage.check_model_target(folder)


def test_a_result_with_other_rules_is_refused(folder):
    edit(folder / "result.json", lambda content: content["rules"].update(otherwise=None), seal=True)
    with pytest.raises(LogicLensError, match=r"result\.json has other rules than model\.json"):
        open_folder(folder).result()


def test_an_exact_model_needs_its_certificate(folder):
    edit(folder / "model.json", lambda content: content.update(target="other"), seal=True)
    with pytest.raises(LogicLensError, match=r"certificate\.json is for another model"):
        open_folder(folder)
    (folder / "certificate.json").unlink()
    with pytest.raises(LogicLensError, match=r"there is no .*certificate\.json"):
        open_folder(folder)


@pytest.mark.parametrize("was_there", [True, False])
def test_a_faster_writer_is_replaced_without_exchange(tmp_path, monkeypatch, was_there):
    real, faster = os.rename, []

    def rename(old, new):
        if Path(new) == tmp_path / "a" / "b" / "folder" and len(faster) < 2:
            faster.append(old)
            Path(new).mkdir()
            (Path(new) / "faster").write_bytes(b"x")
        real(old, new)

    if was_there:
        made_folder(tmp_path / "a" / "b" / "folder")
    monkeypatch.setattr(storage, "exchange", cannot_exchange)
    monkeypatch.setattr(os, "rename", rename)
    made_folder(tmp_path / "a" / "b" / "folder")
    assert len(faster) == 2
    assert content_of(tmp_path / "a" / "b" / "folder") == {"file": b"x"}
    assert os.listdir(tmp_path / "a" / "b") == ["folder"]


def test_what_took_the_place_of_a_moved_folder_stays(tmp_path):
    moved = workspace(tmp_path, "folder") / "moved-away" / "folder"
    moved.mkdir(parents=True)
    (moved / "file").write_bytes(b"older")
    (tmp_path / "folder").mkdir()
    storage.clear_leftovers(tmp_path)
    assert content_of(tmp_path / "folder") == {}


def test_a_certificate_beside_a_model_that_is_not_exact(folder):
    edit(folder / "model.json", lambda content: content.update(exact=False), seal=True)
    with pytest.raises(LogicLensError, match=r"holds a certificate, but .* says that the model is not exact"):
        open_folder(folder)


# Names that no file can have -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("x" * 300, r"x…x+ cannot be used: File name too long"),
        ("a/" * 3000, "cannot be used: File name too long"),
        ("a\0b", r"'a\\x00b' is no name of a file"),
        ("a\ud800b", r"'a\\ud800b' is no name of a file"),
        (3, "named by a text or a path, got 3"),
        (None, "named by a text or a path, got None"),
        (b"model", "named by a text or a path, got b'model'"),
    ],
)
@pytest.mark.parametrize(
    "door",
    [open_folder, RuleSet.load, EntropyClassifier.load, storage.check_model_target, lambda name: write_whole(name, "")],
)
def test_a_name_that_no_file_has_is_one_sentence(door, name, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LogicLensError, match=sentence) as caught:
        door(name)
    assert len(str(caught.value)) < 300
    assert os.listdir(tmp_path) == []


def test_a_folder_that_may_not_be_entered_is_one_sentence(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "lstat", refuse)
    with pytest.raises(LogicLensError, match="cannot be used: Permission denied"):
        open_folder(tmp_path / "model")
