"""Where DuckDB puts what does not fit into memory: a folder of its own among the temporary ones, gone afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PREFIX = "logiclens-duckdb-"
_LOCK = "lock"


def connected(connect: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """A connection with a folder that goes when it goes, at the end of the process at the latest.

    What processes have left there that were killed is taken away. Where no folder can be made, DuckDB chooses.
    """
    try:
        _sweep(Path(tempfile.gettempdir()))
        folder, held = _made()
    except OSError:
        return connect(**settings)
    try:
        connection = connect(temp_directory=str(folder), **settings)
    except BaseException:
        _remove(folder, held, os.getpid())
        raise
    weakref.finalize(connection, _remove, folder, held, os.getpid())
    return connection


def _made() -> tuple[Path, int | None]:
    """A new folder, and the lock on it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            return folder, _locked(folder / _LOCK, create=True)
        except BlockingIOError:
            # Another process took it for one that was left behind, and removes it.
            continue
        except OSError:
            return folder, None


def _remove(folder: Path, held: int | None, process: int) -> None:
    if os.getpid() != process:
        # A fork has no say in it.
        return
    shutil.rmtree(folder, ignore_errors=True)
    if held is not None:
        os.close(held)


def _sweep(place: Path) -> None:
    """Remove folders whose process is gone: however it ended, the system has then given its lock free."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            held = _locked(folder / _LOCK, create=False)
        except OSError:
            continue
        if held is not None:
            _remove(folder, held, os.getpid())


def _locked(path: Path, *, create: bool) -> int | None:
    """A lock on a file, an OSError where another process has it; None where the system knows no such locks."""
    try:
        import fcntl
    except ImportError:
        return None
    opened = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        raise
    return opened
