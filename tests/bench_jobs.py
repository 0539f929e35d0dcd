"""Jobs for the processes of a bench, in a module that those processes can import."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from logiclens.errors import MissingPackage


def doubled(job: int) -> int:
    """A job that ends well."""
    return 2 * job


def pid(_job: int) -> int:
    """Who does it."""
    return os.getpid()


def behaves(job: str) -> str:
    """Jobs that end in every way there is."""
    if job == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if job == "exits":
        os._exit(3)
    if job == "leaves":
        os._exit(0)
    if job == "unpicklable":
        return lambda: None  # type: ignore[return-value]
    if job == "hangs":
        time.sleep(600)
    if job == "raises":
        raise RuntimeError("singular\nmatrix")
    if job == "lacks":
        raise MissingPackage("package 'nothing' is not installed.")
    if job == "prints":
        print("noise")
        print("noise", file=sys.stderr)
    return job


def beats(path: Path) -> None:
    """A job that shows for ten minutes that it is alive."""
    for count in range(6000):
        path.write_text(str(count))
        time.sleep(0.1)


def hangs_with_child(path: Path) -> None:
    """A job that waits for a process of its own."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    path.write_text(str(child.pid))
    child.wait()
