"""Faults at the calls that change files: each such call below a folder is numbered, and one of them goes wrong.

A test runs a program once to count its calls, then once for each call: the program is killed there, is told to stop, or
the disk is full. A write that goes wrong has written half of its bytes.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["count", "kill", "stop", "fail"]
KINDS: tuple[Kind, ...] = ("kill", "stop", "fail")
CALLS = ("mkdir", "rmdir", "unlink", "remove", "rename", "replace", "chmod", "fsync")
VARIABLE = "LOGICLENS_TEST_FAULT"


@dataclass(frozen=True)
class Fault:
    """What goes wrong at which call below a folder; `log` gets a line per call of a run that only counts."""

    kind: Kind
    root: Path
    at: int = 0
    log: Path | None = None

    def __str__(self) -> str:
        """The form in which an environment variable holds it."""
        return "\n".join((self.kind, str(self.root), str(self.at), str(self.log or "")))

    @classmethod
    def of(cls, text: str) -> Fault:
        """Read what `str` wrote."""
        kind, root, at, log = text.split("\n")
        return cls(kind, Path(root), int(at), Path(log) if log else None)  # type: ignore[arg-type]


class Injector:
    """Numbers the calls below a folder and lets one go wrong."""

    def __init__(self, fault: Fault) -> None:
        """Start counting from 0."""
        self.fault, self.calls, self.process = fault, 0, os.getpid()
        self.root = os.path.realpath(fault.root)
        self.log = None if fault.log is None else os.open(fault.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def counts(self, path: Any, dir_fd: int | None = None) -> bool:
        """Whether a path, or the file of a descriptor, is below the folder; only the process itself is watched."""
        if os.getpid() != self.process:
            return False
        if isinstance(path, int):
            name = os.readlink(f"/proc/self/fd/{path}")
        else:
            name = os.path.join(os.readlink(f"/proc/self/fd/{dir_fd}") if dir_fd is not None else "", os.fsdecode(path))
        name = os.path.abspath(name)
        return os.path.realpath(os.path.dirname(name)).startswith(self.root)

    def strikes(self, what: str) -> bool:
        """Number a call; return whether it is the one that goes wrong."""
        if self.log is not None:
            os.write(self.log, f"{what}\n".encode())
        self.calls += 1
        return self.fault.kind != "count" and self.calls - 1 == self.fault.at

    def strike(self) -> None:
        """Go wrong."""
        if self.fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault.kind == "stop":
            # The handler of the command line raises SystemExit here.
            os.kill(os.getpid(), signal.SIGTERM)
        if self.fault.kind == "fail":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """A call that may go wrong before it does anything."""

        def call(path: Any, *args: Any, **options: Any) -> Any:
            if self.counts(path, options.get("dir_fd")) and self.strikes(f"{name} {path}"):
                self.strike()
            return real(path, *args, **options)

        return call


def install(fault: Fault) -> None:
    """Watch the calls of this process from now on."""
    injector = Injector(fault)
    for name in CALLS:
        setattr(os, name, injector.wrapped(name, getattr(os, name)))
    from logiclens import storage

    storage.exchange = injector.wrapped("exchange", storage.exchange)
    real_open, io_open = os.open, io.open

    def low_open(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & os.O_CREAT and injector.counts(path, options.get("dir_fd")) and injector.strikes(f"open {path}"):
            injector.strike()
        return real_open(path, flags, *args, **options)

    class Watched(io.FileIO):
        """A file whose writes are numbered."""

        def write(self, content: Any) -> int:
            if not injector.strikes(f"write {self.name!s}"):
                return super().write(content)
            super().write(memoryview(content)[: len(content) // 2])
            injector.strike()
            return len(content) // 2

    def opened(file: Any, mode: str = "r", buffering: int = -1, *args: Any, **options: Any) -> Any:
        if isinstance(file, int) or not set(mode) & set("wxa") or not injector.counts(file):
            return io_open(file, mode, buffering, *args, **options)
        if injector.strikes(f"open {file}"):
            injector.strike()
        raw = Watched(file, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args, **options)

    os.open = low_open  # type: ignore[assignment]
    builtins.open = io.open = opened  # type: ignore[assignment]


def cannot_exchange(*names: Any) -> None:
    """What `storage.exchange` does where the system cannot exchange names."""
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
