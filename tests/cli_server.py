"""A process that has loaded the command line and forks for every command: each is its own process, without imports.

Started as `python tests/cli_server.py FD`, where FD is a socket. A request is a line of JSON with the arguments, the
folder, changed environment variables, and three file descriptors; the answer is the exit code as a line. A test
that needs a fresh interpreter, for another hash seed for example, uses `subprocess` instead.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import socket
import sys
import tempfile
import threading
import traceback
from contextlib import redirect_stderr, suppress

STREAMS = 3
LOADED = (
    "ibis.backends.duckdb", "matplotlib.backends.backend_svg", "openpyxl", "pyarrow.parquet", "sklearn.ensemble",
    "sqlglot", "torch", "xlsxwriter", "logiclens.cli.columns", "logiclens.cli.explain",
    "logiclens.cli.models", "logiclens.cli.predict", "logiclens.cli.questions", "logiclens.cli.score",
    "logiclens.estimator.persistence", "logiclens.estimator.training", "logiclens.export.sql",
    "logiclens.export.xlsx", "logiclens.report.measurement", "logiclens.report.page", "logiclens.verify",
)  # fmt: skip


def serve(connection: socket.socket, command: str) -> None:
    """Answer requests until the other side is gone."""
    while True:
        message, streams, _, _ = socket.recv_fds(connection, 1 << 20, STREAMS)
        if not message:
            return
        request = json.loads(message)
        child = os.fork()
        if child == 0:
            connection.close()
            for place, stream in enumerate(streams):
                os.dup2(stream, place)
                os.close(stream)
            for name, value in request["environment"].items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            # Python looks for the folder of temporary files only once.
            tempfile.tempdir = request["environment"].get("TMPDIR", tempfile.tempdir)
            if fault := os.environ.get(VARIABLE):
                install(Fault.of(fault))
            os._exit(run(command, request["arguments"], request["cwd"]))
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def warm_up() -> None:
    """Load here what a command loads first thing, by running one that is refused before it does any work."""
    sys.argv = ["logiclens", "explain", os.devnull + "/nowhere.csv", "--target", "y"]
    with open(os.devnull, "w") as nothing, redirect_stderr(nothing), suppress(SystemExit):
        main()


def run(command: str, arguments: list[str], cwd: str | None) -> int:
    """Run the command line here as the interpreter would, to its end."""
    if cwd is not None:
        os.chdir(cwd)
    sys.argv = [command, *arguments]
    code = 0
    try:
        main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


if __name__ == "__main__":
    # Whatever a command may need, so that no command loads it again.
    for module in LOADED:
        importlib.import_module(module)
    from faults.injection import VARIABLE, Fault, install

    from logiclens.cli import main

    _, descriptor, command = sys.argv
    warm_up()
    serve(socket.socket(fileno=int(descriptor)), command)
