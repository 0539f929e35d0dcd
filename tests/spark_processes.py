"""Start Spark servers on this machine, each in its own process, from the installed pyspark."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from tests.waiting import until

HOME = Path(os.environ.get("SPARK_HOME", Path(pyspark.__file__).parent))
ENVIRONMENT = {
    **os.environ,
    "SPARK_HOME": str(HOME),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "OMP_NUM_THREADS": "1",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def started(*command: str, log: Path, ready: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server that has said that it is ready; it and all that it has started end with the test."""
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, env=ENVIRONMENT, start_new_session=True)
    try:
        until(lambda: ready in log.read_text(errors="replace") or process.poll() is not None)
        assert process.poll() is None, log.read_text(errors="replace")
        yield process
    finally:
        for pid in (*descendants(process.pid), process.pid):
            kill(pid)
        process.wait(60)


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    found = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(line.split()[0]): int(line.split()[1]) for line in found.splitlines()}
    known = [pid]
    for one in known:
        known += [child for child, parent in parents.items() if parent == one]
    return known[1:]


def executors(pid: int) -> list[int]:
    """Those of them that count."""
    return [one for one in descendants(pid) if "CoarseGrainedExecutorBackend" in command_line(one)]


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def kill(pid: int) -> None:
    """End a process at once, if it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def at_work(spark: Any, pid: int) -> list[int]:
    """The executors, of those that a process has started, that have some tasks behind them and one at hand."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    if not any(one and one.numActiveTasks > 0 and 0 < one.numCompletedTasks < one.numTasks for one in stages):
        return []
    found = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    each = [found.apply(place) for place in range(found.size())]
    busy = [f"--executor-id {one.id()} " for one in each if one.activeTasks() > 0]
    return [one for one in executors(pid) if any(words in command_line(one) for words in busy)]


def tasks_lost(spark: Any) -> int:
    """How many tasks were at work in executors that are gone."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    each = [found.apply(place) for place in range(found.size())]
    return sum(one.failedTasks() for one in each if not one.isActive())
