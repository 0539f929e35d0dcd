"""A work: one private folder with an upload, what was chosen, and what was learned. The server restores it from there.

work.json      what was chosen and how far the work is; it is written last, so that a folder without it is no work yet
table.csv      the upload, under a name of ours
model/         the learned model, with its result
held_out.npy   the places of the held-out rows, and below them whether each is measured
"""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logiclens.codec import from_plain, to_plain
from logiclens.errors import LogicLensError, quoted
from logiclens.storage import read_json, write_whole
from logiclens.studio.choices import Choices, Problem, problem_of
from logiclens.tables.files import TableFile, read_table
from logiclens.tables.formats import JSON, PARQUET, TEXT, WORKBOOK

try:
    import fcntl
except ImportError:
    # Windows has no locks of folders.
    fcntl = None  # type: ignore[assignment]

KIND, SCHEMA = "logiclens studio work", 1
RECORD, MODEL, HELD_OUT, LOCK = "work.json", "model", "held_out.npy", "lock"
DAYS = 7
"""A work none of whose files changed for so many days is removed with its upload."""
SUFFIXES = tuple(f"{suffix}{packed}" for suffix in (*TEXT, *PARQUET, *JSON, *WORKBOOK) for packed in ("", ".gz"))
NAME = re.compile(r"[0-9a-f]{16}")
"""The names of work folders, which are drawn at random."""

MOST_UNPACKED = 2**31
"""The most bytes that a compressed upload may unpack to, as for a workbook."""
MOST_TRIES = 20
"""How often a folder for a new work is made until one can be locked."""

STAGES = ("columns", "learning", "rules")
"""How far a work can be."""


@dataclass(frozen=True)
class Record:
    """What `work.json` holds.

    Attributes:
        kind: what the file is.
        schema: the version of its form.
        name: what the browser called the upload; it is shown, and never opened.
        suffix: of the file of the upload; empty if there is none.
        stage: how far the work is.
        choices: what was chosen about the columns. Default: None, nothing yet.
        problem: what went wrong last, in one sentence. Default: none.
        table: what the browser called a table that was given to a model. Default: none was.
        learned: what had been chosen when the model was learned, as long as other columns are chosen. Default: None.
        model: the hash of that model. Default: none.
    """

    kind: str
    schema: int
    name: str
    suffix: str
    stage: str
    choices: Choices | None = None
    problem: str = ""
    table: str = ""
    learned: Choices | None = None
    model: str = ""

    def __post_init__(self) -> None:
        """Refuse a record that this version did not write."""
        if self.kind != KIND or self.schema != SCHEMA:
            raise LogicLensError(f"this is no work of the studio of schema {SCHEMA}.")
        if self.stage not in STAGES:
            raise LogicLensError(f"the work is at no known stage, {quoted(self.stage)}.")
        if self.suffix not in ("", *SUFFIXES):
            raise LogicLensError(f"the work names an upload of no known format, {quoted(self.suffix)}.")


class Gone(LogicLensError):
    """The work is not there any more: another studio has closed it, or it became too old."""

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__("this work is not there any more: choose the file again.")


@dataclass(frozen=True)
class Kept:
    """A work of an earlier start that can be gone on with."""

    key: str
    name: str
    stage: str
    seconds: float


def default_root() -> Path:
    """Return the folder of all works of this user."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "logiclens" / "studio"


class Work:
    """One work in its folder, locked as long as the server has it open.

    Args:
        folder: the folder, which exists.
        record: what is known of a work that has no record in its folder yet. Default: None, it is read.
    """

    def __init__(self, folder: Path, record: Record | None = None) -> None:
        """Read the record."""
        self.folder, self._lock = folder, None if record is None else lock(folder)
        self.record = from_plain(Record, read_json(folder / RECORD), "the work") if record is None else record

    @classmethod
    def begin(cls, root: Path, name: str, suffix: str) -> Work:
        """Make a private folder for a new work, and lock it; `keep` makes it a work when its files are whole."""
        private_folder(root)
        record = Record(KIND, SCHEMA, name, suffix, "columns")
        for _ in range(MOST_TRIES):
            folder = root / secrets.token_hex(8)
            folder.mkdir(0o700)
            try:
                return cls(folder, record)
            except (LogicLensError, FileNotFoundError):
                # Another studio that starts in this moment may remove the folder before it is locked.
                remove_folder(folder)
        raise LogicLensError(f"no folder in {root} can be locked: name another one with --work.")

    @classmethod
    def opened(cls, folder: Path) -> Work:
        """Open a work of an earlier start, and lock it; refuse one that another studio has open, or has closed."""
        try:
            descriptor = lock(folder)
        except FileNotFoundError:
            raise Gone from None
        try:
            if not (folder / RECORD).exists():
                raise Gone
            work = cls(folder)
        except BaseException:
            unlock(descriptor)
            raise
        work._lock = descriptor
        return work

    @contextmanager
    def removed_on_failure(self) -> Iterator[Work]:
        """Remove a new work whose files do not become whole, whatever stops them."""
        try:
            yield self
        except BaseException:
            self.remove()
            raise

    def leave(self) -> None:
        """Leave the work in its folder for others to open."""
        unlock(self._lock)
        self._lock = None

    def keep(self) -> None:
        """Write the record of a work whose files are whole: only now it can be listed and opened."""
        if self.record.suffix:
            # Otherwise the record may reach the disk before the upload does.
            with self.upload.open("rb+") as file:
                os.fsync(file.fileno())
        write_record(self.folder, self.record)

    @property
    def key(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @property
    def upload(self) -> Path:
        """Where the upload is."""
        return self.folder / f"table{self.record.suffix}"

    def change(self, **changes: Any) -> None:
        """Write a changed record, whole or not at all."""
        changed = replace(self.record, **changes)
        write_record(self.folder, changed)
        self.record = changed

    @property
    def table_name(self) -> str:
        """What the browser called the table."""
        return self.record.table or self.record.name

    @cached_property
    def table(self) -> TableFile:
        """The table of the upload."""
        return read_table(self.upload, name=self.table_name, most_bytes=MOST_UNPACKED)

    def problem(self) -> Problem:
        """Return the table to learn from, by what was chosen."""
        if self.record.choices is None:
            raise LogicLensError("nothing was chosen yet: name the target.")
        return problem_of(self.table, self.record.choices)

    @property
    def model(self) -> Path:
        """The folder of the learned model."""
        return self.folder / MODEL

    def keep_held_out(self, places: NDArray[np.intp], measured: NDArray[np.intp]) -> None:
        """Write the places of the held-out rows, and which of them are measured: of copies one."""
        held = io.BytesIO()
        np.save(held, np.stack([places, np.isin(places, measured)]).astype(np.int64), allow_pickle=False)
        write_whole(self.folder / HELD_OUT, held.getvalue())

    def held_out(self, *, measured: bool = False) -> NDArray[np.int64]:
        """Return the places of the held-out rows among those that have a target; none if nothing was held out."""
        path = self.folder / HELD_OUT
        if not path.exists():
            return np.zeros(0, dtype=np.int64)
        held = np.asarray(np.load(path, allow_pickle=False), dtype=np.int64)
        places: NDArray[np.int64] = held[0, held[1] > 0] if measured else held[0]
        return places

    def remove(self) -> None:
        """Remove the folder with the upload."""
        remove_folder(self.folder)
        self.leave()


def remove_folder(folder: Path) -> None:
    """Remove the folder of a work.

    The record goes first, so that a leftover is no work; the lock goes last, so that a leftover is known as one.
    """
    with suppress(OSError):
        for name in sorted(os.listdir(folder), key=lambda name: (name != RECORD, name == LOCK)):
            if name == LOCK and os.listdir(folder) != [LOCK]:
                return
            _remove(folder / name)
        folder.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def write_record(folder: Path, record: Record) -> None:
    """Write `work.json`."""
    write_whole(folder / RECORD, json.dumps(to_plain(record), ensure_ascii=False, indent=1), sync=True)


def private_folder(path: Path) -> Path:
    """Make a folder that only this user can enter. Refuse one of another user, and a link."""
    path.mkdir(0o700, parents=True, exist_ok=True)
    if path.is_symlink() or not path.is_dir() or (hasattr(os, "getuid") and path.stat().st_uid != os.getuid()):
        raise LogicLensError(f"{path} is not a folder of your own: name another one with --work.")
    path.chmod(0o700)
    return path


def lock(folder: Path) -> int | None:
    """Lock a work as long as this process lives; return the descriptor, None where the system has no locks.

    Raise `LogicLensError` if another studio has it open, `FileNotFoundError` if it is gone.
    """
    path = folder / LOCK
    if fcntl is None:
        # It says that the folder is ours, so that the leftover of an upload is removed later.
        path.touch(0o600)
        return None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it locked may have removed it.
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
            raise FileNotFoundError(path)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, FileNotFoundError):
            raise
        raise LogicLensError("another studio has this work open: close it there first.") from None
    return descriptor


def unlock(descriptor: int | None) -> None:
    """Let go of what `lock` returned."""
    if descriptor is not None:
        os.close(descriptor)


def kept_works(root: Path) -> list[Kept]:
    """Return the works that can be gone on with, the latest first."""
    found = []
    for folder in _folders(root):
        try:
            record, seconds = Work(folder).record, time.time() - last_change(folder)
        except (LogicLensError, OSError):
            continue
        found.append(Kept(folder.name, record.name, record.stage, max(0.0, seconds)))
    return sorted(found, key=lambda kept: kept.seconds)


def last_change(folder: Path) -> float:
    """Return when a file of a work last changed, in seconds; each edit, for example, writes the versions alone.

    Opening a work, which locks it, is no change.
    """
    times = [
        os.lstat(os.path.join(where, name)).st_mtime
        for where, _, names in os.walk(folder)
        for name in names
        if name != LOCK
    ]
    return max(times, default=folder.stat().st_mtime)


def remove_old(root: Path, *, days: float = DAYS, but: Path | None = None) -> None:
    """Remove works that nobody has open and nobody changed for some days, and at once the leftovers of cut-off uploads.

    Args:
        root: the folder of all works; folders in it that are no works stay.
        days: how long a work is kept after its last change. Default: seven days.
        but: a work that stays because it is open here, where the system has no locks. Default: None.
    """
    for folder in _folders(root):
        with suppress(OSError, LogicLensError):
            if folder == but or not _is_due(folder, days):
                continue
            if not os.listdir(folder):
                # Without a file it cannot be locked, and whoever begins a work in it makes another folder.
                folder.rmdir()
                continue
            descriptor = lock(folder)
            try:
                # Another studio may have changed it, or its upload become whole, before the lock was free.
                if _is_due(folder, days):
                    remove_folder(folder)
            finally:
                unlock(descriptor)


def _is_due(folder: Path, days: float) -> bool:
    """Return whether a folder is a work that became too old, or the leftover of an upload: ours, without a record."""
    has_record = (folder / RECORD).exists()
    # Other programs may name their folders alike.
    if not (_has_lock(folder) or (_is_work(folder) if has_record else not os.listdir(folder))):
        return False
    # Without locks, nobody knows whether an upload still arrives.
    is_leftover = fcntl is not None and not has_record
    return is_leftover or time.time() - last_change(folder) > days * 86_400


def _is_work(folder: Path) -> bool:
    """Return whether a studio of any release wrote the record of a folder."""
    try:
        return bool(read_json(folder / RECORD).get("kind") == KIND)
    except LogicLensError:
        return False


def _has_lock(folder: Path) -> bool:
    """Return whether a folder holds a lock as we make it: an empty file."""
    try:
        found = os.lstat(folder / LOCK)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and not found.st_size


def _folders(root: Path) -> list[Path]:
    try:
        names = [name for name in os.listdir(root) if NAME.fullmatch(name)]
    except OSError:
        return []
    return [root / name for name in names if (root / name).is_dir() and not (root / name).is_symlink()]


def suffix_of_upload(name: str) -> str:
    """Return the suffix that the name of an upload ends in; refuse a format that is not read."""
    lower = name.lower()
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if lower.endswith(suffix):
            return suffix
    known = " ".join((*TEXT, *PARQUET, *JSON, *WORKBOOK))
    raise LogicLensError(f"{quoted(name)} is of no known format: its name must end in one of {known}, or that and .gz.")
