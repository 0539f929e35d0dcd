"""A PostgreSQL server for the tests, in a temporary folder and on a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


def binaries() -> Path:
    """The folder of the server's programs: the one on PATH, or the newest where Debian puts them.

    Without one the test is skipped; with LOGICLENS_POSTGRES=required, which `.ci/run` sets, it fails.
    """
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    if found := shutil.which("postgres") or shutil.which("pg_ctl"):
        # A link on PATH leads to the folder that has all of them.
        folders.append(Path(found).resolve().parent)
    needed = ("initdb", "postgres", "pg_isready")
    for folder in reversed(folders):
        if all((folder / name).exists() for name in needed):
            return folder
    lacking = "PostgreSQL is not installed: there is no initdb on PATH or in /usr/lib/postgresql (make postgres)"
    if os.environ.get("LOGICLENS_POSTGRES") == "required":
        pytest.fail(lacking)
    pytest.skip(lacking)


def _user() -> dict[str, Any]:
    """Whom to run as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = known.get("postgres") or known["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def server(folder_of_binaries: Path) -> Iterator[str]:
    """A running server; gives what a client connects with."""
    # The path of a socket is short by law, so that pytest's deep folders will not do.
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user, data = _user(), str(home / "data")
    quiet: dict[str, Any] = {
        "cwd": home, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "HOME": str(home)},
        "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **user,
    }  # fmt: skip
    process = None
    try:
        if user:
            os.chown(home, user["user"], user["group"])
        initdb = [str(folder_of_binaries / "initdb"), "-D", data, "-U", "tester", "--auth=trust", "--no-sync"]
        subprocess.run([*initdb, "--encoding=UTF8", "--locale=C"], check=True, timeout=60, **quiet)
        # A child of ours and not pg_ctl's, so that it can be ended whatever happens while it starts.
        postgres = [str(folder_of_binaries / "postgres"), "-D", data, "-k", str(home), "-h", "", "-F"]
        process = subprocess.Popen(postgres, **quiet)
        ready = [str(folder_of_binaries / "pg_isready"), "-h", str(home), "-d", "postgres", "-t", "1"]
        for _ in range(300):
            if process.poll() is not None or subprocess.run(ready, check=False, timeout=60, **quiet).returncode == 0:
                break
            time.sleep(0.1)
        yield f"host={home} user=tester dbname=postgres"
    finally:
        if process is not None:
            process.send_signal(signal.SIGQUIT)
            process.wait(timeout=60)
        shutil.rmtree(home, ignore_errors=True)
