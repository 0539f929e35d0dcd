"""Start Spark servers on this machine, each in its own process, from the installed pyspark."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
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


def at_work(spark: Any, pid: int, ahead: int = 1) -> list[int]:
    """The executors, of those that a process has started, that have some tasks behind them and one at hand.

    `ahead` is the least number of tasks of the stage that have not ended.
    """
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in active_stages(spark)]
    if not any(one and one.numActiveTasks > 0 and 0 < one.numCompletedTasks <= one.numTasks - ahead for one in stages):
        return []
    return [one for one in executors(pid) if _executor_id(one) in _with_tasks(spark)]


def active_stages(spark: Any) -> list[int]:
    """The ids of the stages that are running."""
    return list(spark.sparkContext.statusTracker().getActiveStageIds())


def kill_with_a_task(spark: Any, pid: int) -> None:
    """Kill an executor that has a task for certain, of a stage with tasks ahead.

    The task that it was seen with may have ended since. So it is stopped first: Spark then gives it a task that it
    cannot end, and all others come to rest.
    """
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: _with_tasks(spark) == [_executor_id(pid)])
    finally:
        kill(pid)


def _executor_id(pid: int) -> str:
    return command_line(pid).partition("--executor-id ")[2].partition(" ")[0]


def _with_tasks(spark: Any) -> list[str]:
    """The ids of the executors that have a task, as far as the driver knows."""
    found = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    each = [found.apply(place) for place in range(found.size())]
    return [one.id() for one in each if one.activeTasks() > 0]


def tasks_lost(spark: Any, stages: Sequence[int] = ()) -> int:
    """How many tasks were at work in executors that are gone, or failed in stages.

    An executor does not count a failure that Spark hears of after its end, a stage does.
    """
    found = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    each = [found.apply(place) for place in range(found.size())]
    tracker = spark.sparkContext.statusTracker()
    failed = sum(one.numFailedTasks for stage in stages if (one := tracker.getStageInfo(stage)) is not None)
    return max(failed, sum(one.failedTasks() for one in each if not one.isActive()))
