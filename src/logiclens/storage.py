"""Files on disk: writes that are whole or not there, hashes, sealed JSON, and the files of a model folder.

Every module that writes a file to keep writes it through `replacing`, `open_whole` or `write_whole`, and a model folder
through `replacing_folder`. A model folder is read through `open_folder` alone. Nothing here needs the network, so rules
are read without torch.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from logiclens.errors import LogicLensError, named, quoted

try:
    import fcntl
except ImportError:
    # Windows has neither locks of folders nor folders that can be opened.
    fcntl = None  # type: ignore[assignment]

# Workspaces ----------------------------------------------------------------------------------------------------------

WORKSPACE = re.compile(r"\.(.*)\.[0-9a-f]{8}\.logiclens-part", re.DOTALL)
"""The names of workspaces. The group is the start of the name of the file or folder that is written there."""
_NAMED = 40
"""How many characters of that name are repeated. Two writers of similar names are told apart by the lock."""
_MOVED = "moved-away"
"""The name, in a workspace, of the folder that is moved out of the way where the system cannot exchange two names."""


@contextmanager
def _workspace(target: Path, *, is_scratch: bool = False) -> Iterator[Path]:
    """Give a hidden, private folder beside a target, to write its new content in. It is removed after the block.

    It is locked as long as its writer lives. What a killed writer left behind is not locked, so the next writer removes
    it; see `clear_leftovers`. Scratch space takes no place in the end: it removes nothing but other scratch space.
    """
    if is_scratch:
        clear_leftovers(target.parent, target.name, puts_back=False)
    else:
        clear_leftovers(target.parent)
    path, lock = _locked_workspace(target)
    process = os.getpid()
    try:
        yield path
    finally:
        # A forked process must not remove the folder of its parent.
        if os.getpid() == process:
            if not is_scratch:
                _put_back(path, target)
            _remove(path)
        if lock is not None:
            os.close(lock)


def _locked_workspace(target: Path) -> tuple[Path, int | None]:
    while True:
        path = target.with_name(f".{target.name[:_NAMED]}.{secrets.token_hex(4)}.logiclens-part")
        try:
            path.mkdir(0o700)
        except FileExistsError:
            continue
        try:
            return path, _lock(path)
        except (BlockingIOError, FileNotFoundError):
            # Another process took the folder for an abandoned one before it was locked, and removes it.
            continue
        except OSError:
            # The file system has no locks.
            return path, None


def _lock(folder: Path) -> int:
    """Lock a folder of this user and return the descriptor that holds the lock.

    Raise `BlockingIOError` if another process has the lock. Raise another `OSError` if there is nothing to lock: a
    link, a file, or a folder of another user, who may have put anything into it.
    """
    if fcntl is None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(folder))
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(status, os.lstat(folder)):
            raise FileNotFoundError(folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def clear_leftovers(folder: Path, name: str | None = None, *, puts_back: bool = True) -> bool:
    """Remove the workspaces of this user's killed writers in a folder; put back what they had moved away.

    Only a folder that its workspace is named after is put back, and no link is followed. With a `name`, only the
    workspaces of that file or folder count. Without `puts_back`, a workspace that holds something to put back stays.

    Return whether a writer that lives is at work.
    """
    is_busy = False
    for workspace in _workspaces(folder, name):
        try:
            lock = _lock(workspace)
        except BlockingIOError:
            is_busy = True
            continue
        except OSError:
            # It is gone, or no workspace that this user may touch, or the file system has no locks.
            continue
        try:
            if puts_back:
                for moved in _folders(workspace / _MOVED):
                    if _is_of(workspace.name, moved.name):
                        _put_back(workspace, folder / moved.name)
            if puts_back or not os.path.lexists(workspace / _MOVED):
                _remove(workspace)
        finally:
            os.close(lock)
    return is_busy


def _is_workspace(path: Path) -> bool:
    """Return whether a folder is a workspace, by its name. It belongs to no model, and the next writer removes it."""
    return WORKSPACE.fullmatch(path.name) is not None and path.is_dir() and not path.is_symlink()


def _workspaces(folder: Path, name: str | None) -> list[Path]:
    """Return what has the name of a workspace, or of a workspace of one file or folder."""
    try:
        found = [folder / entry for entry in os.listdir(folder) if WORKSPACE.fullmatch(entry)]
    except OSError:
        return []
    return found if name is None else [path for path in found if _is_of(path.name, name)]


def _is_of(workspace: str, name: str) -> bool:
    """Return whether a workspace is named after a file or folder."""
    found = WORKSPACE.fullmatch(workspace)
    return found is not None and found[1] == name[:_NAMED]


def _folders(path: Path) -> list[Path]:
    """Return the folders in a folder; none if it is a link. Links to folders are left out."""
    if path.is_symlink():
        return []
    try:
        with os.scandir(path) as entries:
            return [path / entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _put_back(workspace: Path, target: Path) -> None:
    """Give a folder its name back if it was moved away and nothing took its place."""
    moved = workspace / _MOVED / target.name
    if moved in _folders(moved.parent) and not os.path.lexists(target):
        # Somebody may have taken the name meanwhile.
        with suppress(OSError):
            os.rename(moved, target)


def _remove(folder: Path) -> None:
    """Remove a folder and follow no link. In a model folder `model.json` goes first; see `open_folder`."""
    for model in (*_folders(folder), *_folders(folder / _MOVED)):
        with suppress(OSError):
            (model / MODEL).unlink()
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a private folder for temporary files, removed at the end of the block.

    That of a killed process of the same user is removed by the next one.
    """
    with _workspace(Path(tempfile.gettempdir()) / "scratch", is_scratch=True) as folder:
        yield folder


def checked_path(given: Any) -> Path:
    """Return a path that somebody gave, if the system can look it up; it need not be there.

    >>> checked_path("a\\0b")
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: 'a\\x00b' is no name of a file: it holds a character that no name may hold.
    """
    try:
        path = Path(given)
        path.lstat()
    except TypeError:
        raise LogicLensError(f"a file or folder is named by a text or a path, got {quoted(given)}.") from None
    except (FileNotFoundError, NotADirectoryError):
        # Whoever needs it there says so.
        pass
    except ValueError:
        raise LogicLensError(
            f"{quoted(str(path))} is no name of a file: it holds a character that no name may hold."
        ) from None
    except OSError as error:
        raise LogicLensError(f"{named(path)} cannot be used: {error.strerror or error}.") from None
    return path


# Files that appear whole ---------------------------------------------------------------------------------------------


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the same folder; what is there at the end of the block takes the place of `path`.

    An error or Ctrl-C inside the block removes the temporary file or folder and leaves `path` as it was. A link is
    followed, an existing file keeps its permissions, and a device or named pipe is written to directly. What a killed
    writer leaves behind is removed by the next one that writes into the folder.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "answer.txt") as part:
    ...         _ = part.write_text("42")
    ...     os.listdir(folder)
    ['answer.txt']
    """
    given = checked_path(path)
    if given.exists() and not (given.is_file() or given.is_dir()):
        yield given
        return
    target = Path(os.path.realpath(given))
    with _workspace(target) as space:
        part = space / target.name
        yield part
        if target.is_file():
            shutil.copymode(target, part)
        os.replace(part, target)


@contextmanager
def open_whole(path: str | os.PathLike[str], *, sync: bool = False) -> Iterator[BinaryIO]:
    """Open a binary file to write that takes the place of `path` when the block ends; see `replacing`.

    With `sync`, the bytes reach the disk before the file gets its name, so that not even a power cut leaves a broken
    file. Raises `LogicLensError` if the file cannot be written.
    """
    try:
        with replacing(path) as part, open(part, "wb", opener=partial(_opened_like, Path(path))) as file:
            yield file
            file.flush()
            if sync:
                os.fsync(file.fileno())
    except OSError as error:
        raise LogicLensError(f"cannot write {os.fspath(path)}: {error.strerror or error}.") from None


def _opened_like(target: Path, part: str, flags: int) -> int:
    """Open a part to write that nobody can read who cannot read the file whose place it takes."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except OSError:
        mode = 0o666
    return os.open(part, flags, mode & 0o666 | 0o200)


def write_whole(path: str | os.PathLike[str], content: str | bytes, *, sync: bool = False) -> Path:
    """Write bytes, or text as UTF-8, to a file that is whole or not there; see `open_whole`. Return its path."""
    with open_whole(path, sync=sync) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return Path(path)


# Folders that appear whole -------------------------------------------------------------------------------------------


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder that takes the place of `path` at the end of the block, in one step.

    Whatever ends the program at whatever moment, `path` is the old folder or the new one, and whole: files and folder
    reach the disk before the folder gets its name. Where the system cannot exchange two folders in one step, there is
    a moment without any, and the next `open_folder` or `replacing_folder` puts the old one back. A link is followed,
    and an existing folder keeps its permissions. Raises `LogicLensError` if a file is too large to be read again.
    """
    target = Path(os.path.realpath(checked_path(path)))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _workspace(target) as space:
        new = space / target.name
        new.mkdir()
        yield new
        # Another writer may move the folder away at this moment.
        with suppress(FileNotFoundError):
            if target.is_dir():
                shutil.copymode(target, new)
        for file in sorted(new.iterdir()):
            _check_size(file)
            _sync(file)
        _sync(new)
        _switch(new, target)
        _sync(target.parent)


def _check_size(file: Path) -> None:
    """Refuse to keep a file of a model that is too large to be read again."""
    size, most = file.stat().st_size, MOST_BYTES.get(file.name)
    if most is not None and size > most:
        raise LogicLensError(
            f"the model is too large to keep: {file.name} has {size:,} bytes, and at most {most:,} are read again. "
            "Train on fewer columns or classes, or with a smaller network."
        )


def _sync(path: Path) -> None:
    """Wait until a file or folder is on the disk. Some folders may not be opened, some file systems sync none."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def _switch(new: Path, target: Path) -> None:
    """Put a folder in the place of another, which moves into the workspace of the new one."""
    while True:
        try:
            exchange(new, target)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
                raise
            # Neither the system nor the file system can exchange: move the old folder away first.
            moved = new.parent / _MOVED / target.name
            if moved.exists():
                _remove(moved.parent)
            moved.parent.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):
                os.rename(target, moved)
        else:
            return
        try:
            os.rename(new, target)
        except OSError as error:
            # Another writer may have been faster: then there is a folder again.
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return


def exchange(one: Path, other: Path) -> None:
    """Exchange the names of two folders in one step. Raise `OSError` with `ENOSYS` or the like where that cannot be."""
    call = _renameat2()
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    # -100 is the folder of the process (AT_FDCWD), which absolute names ignore; 2 is RENAME_EXCHANGE.
    if call(-100, os.fsencode(one.absolute()), -100, os.fsencode(other.absolute()), 2) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(other))


@cache
def _renameat2() -> Any:
    """Return Linux's `renameat2`, or None where the C library has none."""
    with suppress(OSError, AttributeError):
        call = ctypes.CDLL(None, use_errno=True).renameat2
        call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        return call
    return None


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


MOST_NESTED = 64
"""The deepest nesting of lists and objects in JSON that is read; what this project writes has less than a third."""


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file. Raise `LogicLensError` if the file is missing or cut short."""
    if not path.is_file():
        raise LogicLensError(f"there is no {path}.")
    return json_object(path.read_bytes(), path)


def json_object(text: bytes, path: Path) -> dict[str, Any]:
    """Return the JSON object that the bytes of a file hold.

    Raises `LogicLensError` if they are cut short, name a key twice, nest too deep, or hold numbers that JSON has not.
    """
    try:
        content = json.loads(text.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_number)
    # ValueError covers a syntax error, bytes that are no text, and numbers with too many digits.
    except (ValueError, RecursionError) as error:
        raise LogicLensError(f"{path} cannot be read as JSON: it may be cut short ({error}).") from None
    except KeyError as error:
        raise LogicLensError(f"{path} cannot be read: {error.args[0]}.") from None
    if not isinstance(content, dict):
        raise LogicLensError(f"{path} does not hold what was saved there.")
    _check_nesting(content, path)
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise KeyError(f"an object in it has the key {quoted(twice)} twice")
    return made


def _no_number(name: str) -> Any:
    raise KeyError(f"it holds {name}, which is no number of JSON")


def _check_nesting(content: Any, path: Path) -> None:
    level, depth = [content], 0
    while level:
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        depth += 1
        if depth > MOST_NESTED:
            raise LogicLensError(f"{path} nests lists and objects more than {MOST_NESTED} deep.")


# The model folder ----------------------------------------------------------------------------------------------------

KIND, SCHEMA = "logiclens model", 3
MODEL, WEIGHTS, CERTIFICATE, RESULT = "model.json", "weights.safetensors", "certificate.json", "result.json"
READ_ORDER = (RESULT, CERTIFICATE, WEIGHTS, MODEL)


def check_model_target(folder: str | Path) -> Path:
    """Return the path if a model can be saved there. Call this before long work.

    A model can take a new name, an empty folder, or the place of another model. Raises `LogicLensError` otherwise.
    """
    target, end = checked_path(folder), time.monotonic() + _PATIENCE
    while True:
        before = _identity(target)
        try:
            _check_model_target(target)
            return target
        except LogicLensError:
            # Another writer may replace the folder meanwhile.
            if time.monotonic() > end or not _was_replaced(target, before):
                raise


def _check_model_target(target: Path) -> None:
    own, is_file = {MODEL, WEIGHTS, CERTIFICATE, RESULT}, dict[str, bool]()
    if target.is_dir():
        with suppress(FileNotFoundError), os.scandir(target) as entries:
            is_file = {entry.name: entry.is_file() for entry in entries if not _is_workspace(target / entry.name)}
    is_model = is_file.keys() <= own and is_file.get(MODEL, False)
    if target.exists() and not (target.is_dir() and (is_model or not is_file)):
        others = sorted(is_file.keys() - own)
        beside = f" (it holds {others[0]!r})" if others else ""
        raise LogicLensError(f"{target} exists and is not a model folder alone{beside}: choose another name.")
    above = next(folder for folder in (target, *target.absolute().parents) if folder.exists())
    if not (above.is_dir() and os.access(above, os.W_OK)):
        raise LogicLensError(f"{target} cannot be made: {above} is not a folder that can be written to.")


@dataclass(frozen=True, eq=False)
class ModelFolder:
    """The files of a model folder, all read from one folder at one moment, and checked to belong together.

    Attributes:
        path: where the folder is.
        files: the bytes of each file by its name.
        content: what `model.json` holds; `logiclens.formula.model_record` reads it.
        certificate: what `certificate.json` holds; None if the model is not exact.
    """

    path: Path
    files: Mapping[str, bytes]
    content: Mapping[str, Any]
    certificate: Mapping[str, Any] | None

    def result(self) -> dict[str, Any]:
        """Return what `result.json` holds, checked to be unchanged and of this model."""
        if RESULT not in self.files:
            raise LogicLensError(
                f"{self.path} holds no result: save it with `logiclens explain DATA --target COLUMN --save DIR`."
            )
        content = json_object(self.files[RESULT], self.path / RESULT)
        check_sealed(content, self.path / RESULT)
        if content.get("model_sha256") != hashlib.sha256(self.files[MODEL]).hexdigest():
            raise LogicLensError(f"{self.path / RESULT} is of another model: the sha256 of {MODEL} differs.")
        if content.get("rules") != self.content.get("rules"):
            raise LogicLensError(f"{self.path / RESULT} has other rules than {MODEL}.")
        return content


MOST_BYTES = {MODEL: 2**25, CERTIFICATE: 2**25, RESULT: 2**28, WEIGHTS: 2**30}
"""The largest files that are read from a model folder: as in `logiclens.verify`, which does not read the result."""
_PATIENCE = 5.0
"""Seconds for which a reader tries again while writers replace the folder."""


def open_folder(folder: str | Path) -> ModelFolder:
    """Read all files of a model folder, and check that they belong together.

    A writer may replace the folder meanwhile: the files are then those of the old model or those of the new one. A
    folder that an interrupted writer had moved away is put back.

    Raises `LogicLensError` if a file is missing, cut short, changed or of an unknown schema.
    """
    path, end = checked_path(folder), time.monotonic() + _PATIENCE
    while True:
        before = _identity(path)
        try:
            return _checked_folder(path, _files_of(path))
        except LogicLensError:
            if time.monotonic() > end or not _was_replaced(path, before):
                raise
            time.sleep(0.01)


def _identity(path: Path) -> tuple[int, ...] | None:
    """Return what tells the folder of this name from another that takes its place."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns, found.st_mtime_ns


def _was_replaced(path: Path, before: tuple[int, ...] | None) -> bool:
    """Return whether a reader should look again, because the folder is or was about to be replaced."""
    after = _identity(path)
    if before is None and after is None:
        target = Path(os.path.realpath(path))
        return clear_leftovers(target.parent, target.name) or path.is_dir()
    return after != before


def _files_of(path: Path) -> dict[str, bytes]:
    """Return the files of a model folder.

    They are read from one open folder, which stays the same if another takes its name, and `model.json` last. Because
    it is also what is removed first, nothing was removed before if it is still there.
    """
    if fcntl is None:
        return _present({name: _read_file(name, None, path) for name in READ_ORDER}, path)
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        raise _no_folder(path) from None
    except OSError as error:
        raise LogicLensError(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        return _present({name: _read_file(name, folder, path) for name in READ_ORDER}, path)
    finally:
        os.close(folder)


def _no_folder(path: Path) -> LogicLensError:
    told = f"{path} is a file, and a saved model is a folder." if path.is_file() else f"there is no folder {path}."
    return LogicLensError(told)


def _present(found: Mapping[str, bytes | None], path: Path) -> dict[str, bytes]:
    """Return the files that are there; refuse a folder without `model.json`."""
    if found[MODEL] is None:
        raise LogicLensError(f"there is no {path / MODEL}.") if path.is_dir() else _no_folder(path)
    return {name: content for name, content in found.items() if content is not None}


def _read_file(name: str, folder: int | None, path: Path) -> bytes | None:
    """Return the bytes of a regular file in an open folder, or in `path` if none is open; None if there is no file."""
    # Without O_NONBLOCK, a named pipe would block until somebody writes into it. Windows knows O_BINARY instead.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    place = path / name if folder is None else name
    try:
        with open(os.open(place, flags, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise LogicLensError(f"{path / name} is not a regular file.")
            # The size may be told wrong, or change. The first read is enough for what it was, and finds the end.
            limit = MOST_BYTES[name]
            # Some files of the system call themselves regular and answer None while they have nothing to say.
            content = file.read(min(status.st_size, limit) + 1) or b""
            if len(content) > status.st_size:
                content += file.read(limit + 1 - len(content)) or b""
            if len(content) > limit:
                raise LogicLensError(f"{path / name} has more than {limit:,} bytes, the most that are read.")
            return content
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LogicLensError(f"{path / name} cannot be read: {error.strerror or error}.") from None


def _checked_folder(path: Path, files: Mapping[str, bytes]) -> ModelFolder:
    content = json_object(files[MODEL], path / MODEL)
    if content.get("kind") != KIND:
        raise LogicLensError(f"{path / MODEL} does not describe a logiclens model.")
    # The type is checked too, because True equals 1.
    if type(content.get("schema")) is not int or content["schema"] != SCHEMA:
        raise LogicLensError(
            f"{path / MODEL} has schema {quoted(content.get('schema'))}; this version reads schema {SCHEMA}. "
            "Load it with the version of logiclens that wrote it."
        )
    check_sealed(content, path / MODEL)
    if WEIGHTS not in files:
        raise LogicLensError(f"the weights are missing: there is no {path / WEIGHTS}.")
    if hashlib.sha256(files[WEIGHTS]).hexdigest() != content.get("weights_sha256"):
        raise LogicLensError(f"{path / WEIGHTS} is not the file that {MODEL} was saved with: its sha256 differs.")
    certificate = None
    if content.get("exact"):
        if CERTIFICATE not in files:
            raise LogicLensError(f"there is no {path / CERTIFICATE}.")
        certificate = json_object(files[CERTIFICATE], path / CERTIFICATE)
        if certificate.get("model_sha256") != hashlib.sha256(files[MODEL]).hexdigest():
            raise LogicLensError(f"{path / CERTIFICATE} is for another model: the sha256 of {MODEL} differs.")
    elif CERTIFICATE in files:
        raise LogicLensError(f"{path} holds a certificate, but {path / MODEL} says that the model is not exact.")
    return ModelFolder(path, files, content, certificate)
