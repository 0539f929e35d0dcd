"""Files on disk: writes that are whole or not there, hashes, sealed JSON, and the files of a model folder.

Every module that writes a file to keep writes it through `replacing`, `open_whole` or `write_whole`. Nothing here needs
the network, so rules are read without torch.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from logiclens.errors import LogicLensError

# Files that appear whole ---------------------------------------------------------------------------------------------


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name in the same folder; what is there at the end of the block takes the place of `path`.

    An error or Ctrl-C inside the block removes the temporary file or folder and leaves `path` as it was. A link is
    followed, an existing file keeps its permissions, and a device or named pipe is written to directly.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "answer.txt") as part:
    ...         _ = part.write_text("42")
    ...     os.listdir(folder)
    ['answer.txt']
    """
    given = Path(path)
    if given.exists() and not (given.is_file() or given.is_dir()):
        yield given
        return
    target = Path(os.path.realpath(given))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        if target.is_file():
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)


@contextmanager
def open_whole(path: str | os.PathLike[str], *, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file to write that takes the place of `path` when the block ends; see `replacing`.

    With `sync`, the bytes reach the disk before the file gets its name, so that not even a power cut leaves a broken
    file. Raises `LogicLensError` if the file cannot be written.
    """
    try:
        with replacing(path) as part, part.open("wb") as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
    except OSError as error:
        raise LogicLensError(f"cannot write {os.fspath(path)}: {error.strerror or error}.") from None


def write_whole(path: str | os.PathLike[str], content: str | bytes, *, sync: bool = False) -> Path:
    """Write bytes, or text as UTF-8, to a file that is whole or not there; see `open_whole`. Return its path."""
    with open_whole(path, sync=sync) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return Path(path)


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder that takes the place of `path` at the end of the block.

    An older folder is moved away first and removed last. If anything fails, it is put back.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield new
        # Temporary folders are private. A folder to keep is as readable as any other.
        new.chmod(0o755)
        if not target.exists():
            os.replace(new, target)
            return
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-old-", dir=target.parent) as aside:
            old = Path(aside) / target.name
            try:
                os.replace(target, old)
                os.replace(new, target)
            except BaseException:
                if old.exists() and not target.exists():
                    os.replace(old, target)
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


# Hashes and sealed JSON ----------------------------------------------------------------------------------------------


def sha256(path: Path) -> str:
    """Return the sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def json_sha256(content: Mapping[str, Any], *, ensure_ascii: bool = True) -> str:
    """Return the sha256 of JSON content, whatever the order of its keys.

    >>> json_sha256({"a": 1, "b": 2}) == json_sha256({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=ensure_ascii)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content with its own hash, so that a later change shows."""
    return {**content, "content_sha256": json_sha256(content)}


def check_sealed(content: Mapping[str, Any], path: Path) -> None:
    """Raise `LogicLensError` if the content does not fit the hash that it was sealed with."""
    if content.get("content_sha256") != json_sha256({k: v for k, v in content.items() if k != "content_sha256"}):
        raise LogicLensError(f"{path} was changed after it was saved: its content does not fit its hash.")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file. Raise `LogicLensError` if the file is missing or cut short."""
    if not path.is_file():
        raise LogicLensError(f"there is no {path}.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    # ValueError covers a syntax error, bytes that are no text, and numbers with too many digits.
    except (ValueError, RecursionError) as error:
        raise LogicLensError(f"{path} cannot be read as JSON: it may be cut short ({error}).") from None
    if not isinstance(content, dict):
        raise LogicLensError(f"{path} does not hold what was saved there.")
    return content


# The model folder ----------------------------------------------------------------------------------------------------

KIND, SCHEMA = "logiclens model", 3
MODEL, WEIGHTS, CERTIFICATE, RESULT = "model.json", "weights.safetensors", "certificate.json", "result.json"
READABLE = (1, 2, SCHEMA)
"""The schemas that this version reads. Schema 3 may hold rules with a complement or an order of classes."""


def check_model_target(folder: str | Path) -> Path:
    """Return the path if a model can be saved there. Call this before long work.

    A model can take a new name, an empty folder, or the place of another model. Raises `LogicLensError` otherwise.
    """
    target, own = Path(folder), {MODEL, WEIGHTS, CERTIFICATE, RESULT, "signature.json"}
    names = {path.name for path in target.iterdir()} if target.is_dir() else set()
    is_model = names <= own and (target / MODEL).is_file()
    if target.exists() and not (target.is_dir() and (is_model or not names)):
        others = sorted(names - own)
        beside = f" (it holds {others[0]!r})" if others else ""
        raise LogicLensError(f"{target} exists and is not a model folder alone{beside}: choose another name.")
    above = next(folder for folder in (target, *target.absolute().parents) if folder.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise LogicLensError(f"{target} cannot be made: {above} is not a folder that can be written to.")
    return target


def open_model(folder: str | Path) -> dict[str, Any]:
    """Read and check `model.json` of a model folder, and check that the other files belong to it.

    Raises `LogicLensError` if a file is missing, cut short, changed or of an unknown schema.
    """
    path = Path(folder)
    if not path.is_dir():
        raise LogicLensError(f"there is no folder {path}.")
    content = read_json(path / MODEL)
    if content.get("kind") != KIND:
        raise LogicLensError(f"{path / MODEL} does not describe a logiclens model.")
    # The type is checked too, because True equals 1.
    if type(content.get("schema")) is not int or content["schema"] not in READABLE:
        raise LogicLensError(
            f"{path / MODEL} has schema {content.get('schema')!r}; this version reads schema 1 to {SCHEMA}. "
            "Load it with the version of logiclens that wrote it."
        )
    if content["schema"] > 1 or "content_sha256" in content or "cutting" in content:
        check_sealed(content, path / MODEL)
    if not (path / WEIGHTS).is_file():
        raise LogicLensError(f"the weights are missing: there is no {path / WEIGHTS}.")
    if sha256(path / WEIGHTS) != content.get("weights_sha256"):
        raise LogicLensError(f"{path / WEIGHTS} is not the file that {MODEL} was saved with: its sha256 differs.")
    if content.get("exact"):
        certificate = read_json(path / CERTIFICATE)
        if certificate.get("model_sha256") != sha256(path / MODEL):
            raise LogicLensError(f"{path / CERTIFICATE} is for another model: the sha256 of {MODEL} differs.")
    return content


def open_rules(place: str | Path) -> dict[str, Any]:
    """Read the record of the rules of a model folder, or of a JSON file that `logiclens export --to json` wrote."""
    path = Path(place)
    if path.is_file():
        return read_json(path)
    rules: dict[str, Any] | None = open_model(path).get("rules")
    if rules is None:
        raise LogicLensError(f"{path} holds no rules.")
    return rules


def open_result(folder: str | Path) -> dict[str, Any]:
    """Read `result.json` of a model folder. Check that it is unchanged and belongs to the model beside it."""
    path = Path(folder)
    if not (path / RESULT).is_file():
        raise LogicLensError(
            f"{path} holds no result: save it with `logiclens explain DATA --target COLUMN --save DIR`."
        )
    content = read_json(path / RESULT)
    check_sealed(content, path / RESULT)
    if content.get("model_sha256") != sha256(path / MODEL):
        raise LogicLensError(f"{path / RESULT} is of another model: the sha256 of {MODEL} differs.")
    return content
