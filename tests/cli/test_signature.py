"""`logiclens sign` and `verify --key`: who put the files of a model folder together."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from logiclens import storage
from logiclens.cli.models import sign_model, verify_model
from logiclens.cli.signature import check_signature, new_key, sign
from logiclens.errors import LogicLensError
from logiclens.formula import parse
from logiclens.formula.dnf import Complement
from logiclens.verify import Refuted, Unusable, verify
from logiclens.verify.files import SIGNATURE
from tests.cli_runs import logiclens, refused
from tests.oracles.compiled import saved_compiled

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> tuple[Path, Path]:
    return new_key(str(tmp_path_factory.mktemp("keys") / "auditor"))


@pytest.fixture
def model(tmp_path) -> Path:
    formula = parse("a & ~b")
    return saved_compiled([formula, Complement(formula)], ["a", "b"]).write(tmp_path / "model")


def test_a_signed_model_is_verified_from_end_to_end(model, tmp_path):
    made = logiclens("sign", "--new-key", "auditor", cwd=tmp_path)
    assert made.returncode == 0
    assert "keep it to yourself" in made.stdout
    assert logiclens("sign", "model", "--key", "auditor.private.pem", cwd=tmp_path).returncode == 0
    run = logiclens("verify", "model", "--key", "auditor.public.pem", "--json", "found.json", cwd=tmp_path)
    assert run.returncode == 0
    assert "no file was changed since." in run.stdout.splitlines()[-1]
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["signed"]["signer"] in run.stdout
    plain = logiclens("verify", "model", cwd=tmp_path)
    assert plain.returncode == 0
    assert plain.stdout.splitlines()[-1].startswith("The signature of this folder was not checked")


def test_what_sign_needs_is_said_in_one_sentence(model, tmp_path):
    assert "which model to sign and with which key" in refused("sign", "model", cwd=tmp_path)
    assert "leave out MODEL and --key" in refused("sign", "model", "--new-key", "x", cwd=tmp_path)


def test_a_private_key_is_private_and_never_overwritten(keys, tmp_path):
    private, public = keys
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    for existing in (private, public):
        name = tmp_path / "again"
        path = Path(f"{name}{existing.name.removeprefix('auditor')}")
        path.symlink_to(tmp_path / "nowhere")
        with pytest.raises(LogicLensError, match="never overwritten"):
            new_key(str(name))
        path.unlink()
    with pytest.raises(LogicLensError, match="cannot write"):
        new_key(str(tmp_path / "no" / "folder"))


def change_file(folder: Path) -> None:
    text = (folder / "certificate.json").read_text("utf-8")
    (folder / "certificate.json").write_text(text + "\n", "utf-8")


def add_file(folder: Path) -> None:
    (folder / "more.txt").write_text("x")


def remove_file(folder: Path) -> None:
    (folder / "model.json").unlink()


@pytest.mark.parametrize("change", [change_file, add_file, remove_file])
def test_a_changed_folder_refutes_its_signature(model, keys, change):
    sign(model, keys[0])
    assert check_signature(model, keys[1]).signer.startswith("sha256:")
    change(model)
    with pytest.raises(Refuted, match="was changed, added or removed after the folder was signed"):
        check_signature(model, keys[1])


def edited(model: Path, **fields: object) -> None:
    content = json.loads((model / SIGNATURE).read_text())
    (model / SIGNATURE).write_text(json.dumps({**content, **fields}))


def test_a_forged_signature_is_refuted(model, keys, tmp_path):
    sign(model, keys[0])
    for fields in (
        {"time": "2020-01-01T00:00:00Z"},
        {"files": {}},
        {"signature": base64.b64encode(bytes(64)).decode()},
    ):
        kept = (model / SIGNATURE).read_bytes()
        edited(model, **fields)
        with pytest.raises(Refuted, match="was not made with this key for what it states"):
            check_signature(model, keys[1])
        (model / SIGNATURE).write_bytes(kept)
    others = new_key(str(tmp_path / "other"))
    with pytest.raises(Refuted, match="signed with another key"):
        check_signature(model, others[1])
    # Whoever signs it again signs by his own name.
    sign(model, others[0])
    with pytest.raises(Refuted, match="signed with another key"):
        check_signature(model, keys[1])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"schema": 2}, "schema in signature.json must be 1"),
        ({"schema": True}, "schema in signature.json must be 1"),
        ({"kind": "x"}, "kind in signature.json must be"),
        ({"algorithm": "none"}, "algorithm in signature.json must be 'Ed25519'"),
        ({"more": 1}, "unknown field 'more'"),
        ({"files": 1}, "files in signature.json must be a JSON object"),
        ({"files": {"a": 1}}, "must be a string"),
        ({"time": "yesterday"}, "time in signature.json must be a time such as"),
        ({"signer": None}, "signer in signature.json must be a string"),
        ({"signature": "!"}, "signature in signature.json must be bytes in base64"),
    ],
)
def test_a_malformed_signature_could_not_be_checked(model, keys, fields, words):
    sign(model, keys[0])
    edited(model, **fields)
    with pytest.raises(Unusable, match=words):
        check_signature(model, keys[1])


def test_only_one_text_is_the_signature(model, keys):
    sign(model, keys[0])
    text = json.loads((model / SIGNATURE).read_text())["signature"]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    spare = text[:-3] + letters[letters.index(text[-3]) ^ 1] + "=="
    assert base64.b64decode(spare) == base64.b64decode(text)
    edited(model, signature=spare)
    with pytest.raises(Unusable, match="must be bytes in base64"):
        check_signature(model, keys[1])


def test_a_missing_or_special_signature_could_not_be_checked(model, keys, capsys):
    assert verify_model(model, key=keys[1], json=None, quiet=True) == 2
    assert "there is no signature.json" in capsys.readouterr().err
    (model / SIGNATURE).symlink_to("/dev/zero")
    assert verify_model(model, key=keys[1], json=None, quiet=True) == 2
    assert "is not a regular file" in capsys.readouterr().err


def test_keys_of_the_wrong_kind_could_not_be_used(model, keys, tmp_path):
    sign(model, keys[0])
    (tmp_path / "junk.pem").write_text("junk")
    for path in (keys[0], tmp_path / "junk.pem", tmp_path / "none.pem", tmp_path):
        with pytest.raises(Unusable):
            check_signature(model, path)
    for path in (keys[1], tmp_path / "junk.pem", tmp_path / "none.pem"):
        with pytest.raises(Unusable):
            sign(model, path)


def test_a_model_that_does_not_hold_is_not_signed(model, keys, capsys):
    (model / "weights.safetensors").write_bytes(b"")
    assert sign_model(model, keys[0], json=None, quiet=True) == 2
    assert not (model / SIGNATURE).exists()
    assert "not verified" in capsys.readouterr().err


def test_a_failure_of_the_check_is_no_refutation(model, keys, monkeypatch, capsys):
    sign(model, keys[0])
    monkeypatch.setattr("logiclens.cli.signature._hashes", lambda *arguments: 1 / 0)
    assert verify_model(model, key=keys[1], json=None, quiet=True) == 2
    assert "the signature could not be checked (ZeroDivisionError" in capsys.readouterr().err


def swapped(monkeypatch, model: Path, other: Path) -> None:
    """Put other files in the place of a model's as soon as they were verified."""

    def verify_and_swap(folder: Path):
        report = verify(folder)
        for path in other.iterdir():
            shutil.copy(path, folder)
        return report

    monkeypatch.setattr("logiclens.cli.models.verify", verify_and_swap)


@pytest.fixture
def other(tmp_path) -> Path:
    """A model that also holds, with another rule."""
    formula = parse("a | b")
    return saved_compiled([formula, Complement(formula)], ["a", "b"]).write(tmp_path / "other")


def test_a_signature_is_checked_for_the_files_that_were_verified(model, other, keys, monkeypatch, capsys):
    sign(model, keys[0])
    good = shutil.copytree(model, model.parent / "good")
    for path in other.iterdir():
        shutil.copy(path, model)
    swapped(monkeypatch, model, good)
    assert verify_model(model, key=keys[1], json=None, quiet=False) == 1
    printed = capsys.readouterr()
    assert "Signed by" not in printed.out
    assert "was changed, added or removed after the folder was signed" in printed.err


def test_only_what_was_verified_is_signed(model, other, keys, monkeypatch):
    kept = shutil.copytree(model, model.parent / "kept")
    swapped(monkeypatch, model, other)
    assert sign_model(model, keys[0], json=None, quiet=True) == 0
    with pytest.raises(Refuted, match="was changed"):
        check_signature(model, keys[1])
    shutil.copy(model / SIGNATURE, kept)
    assert check_signature(kept, keys[1])


def test_what_a_killed_signer_left_is_in_nobodys_way(model, keys):
    sign(model, keys[0])
    left = model / f".{SIGNATURE}.0123abcd.logiclens-part"
    left.mkdir()
    (left / SIGNATURE).write_text("{")
    assert check_signature(model, keys[1])
    assert verify_model(model, key=keys[1], json=None, quiet=True) == 0
    assert storage.check_model_target(model) == model
    assert sign_model(model, keys[0], json=None, quiet=True) == 0
    assert not left.exists()
    # A file of such a name is no such leftover.
    left.write_text("x")
    with pytest.raises(LogicLensError, match="not a model folder alone"):
        storage.check_model_target(model)
    with pytest.raises(Refuted, match="was changed, added or removed"):
        check_signature(model, keys[1])


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_no_half_pair_of_keys_is_left(tmp_path, monkeypatch, step, error):
    real, opened = os.open, []

    def fails(path, *arguments, **options):
        opened.append(path)
        if len(opened) == step:
            raise error
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", fails)
    with pytest.raises(LogicLensError if isinstance(error, OSError) else KeyboardInterrupt):
        new_key(str(tmp_path / "auditor"))
    monkeypatch.undo()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_no_half_written_key_is_left(tmp_path, monkeypatch):
    real = os.open
    made = []

    def full(path, *arguments, **options):
        made.append(os.close(real(path, *arguments, **options)))
        return real("/dev/full", os.O_WRONLY) if len(made) == 2 else real(path, os.O_WRONLY)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(LogicLensError, match=r"cannot write .*public\.pem: No space left"):
        new_key(str(tmp_path / "auditor"))
    monkeypatch.undo()
    assert os.listdir(tmp_path) == []


def test_a_key_that_is_no_file_is_told(model, keys, tmp_path):
    (tmp_path / "large.pem").write_bytes(bytes(2**16 + 1))
    for path in (tmp_path, Path("/dev/zero"), tmp_path / "large.pem"):
        for work in (sign, check_signature):
            with pytest.raises(Unusable, match="a key is a regular file of at most 65,536 bytes") as told:
                work(model, path)
            assert "save the model again" not in str(told.value)


def test_a_signed_folder_can_be_replaced_which_drops_the_signature(model, keys):
    sign(model, keys[0])
    assert storage.check_model_target(model) == model
    with storage.replacing_folder(model) as new:
        shutil.copy(model / "model.json", new)
    assert os.listdir(model) == ["model.json"]
