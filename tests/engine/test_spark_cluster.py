"""Spark as users run it: a standalone cluster with a killed worker, Spark Connect, and spark-submit."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark", reason="needs pyspark")

from logiclens import EntropyClassifier
from logiclens.engine.count import classes_of, count_rows
from logiclens.engine.lake import in_engine
from tests import cli_runs
from tests.cli_runs import COMMAND, Terminal
from tests.engine.test_count import frame
from tests.spark_processes import (
    ENVIRONMENT,
    HOME,
    at_work,
    descendants,
    executors,
    free_port,
    kill,
    started,
    tasks_lost,
)
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"),
]
GUIDE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows") / "lake"
    folder.mkdir()
    rows = frame(2_000)
    for k in range(3):
        rows.iloc[k::3].to_parquet(folder / f"part{k}.parquet", index=False, coerce_timestamps="us")
    return folder


@pytest.fixture(scope="module")
def by_duckdb(lake: Path) -> dict[str, Any]:
    return explained([str(COMMAND)], lake, "duckdb", ENVIRONMENT)


def explained(command: list[str], lake: Path, engine: str, environment: dict[str, str]) -> dict[str, Any]:
    """What a command finds, but for times and for what it says of the engine."""
    out = lake.parent / f"{os.urandom(6).hex()}.json"
    run = subprocess.run(
        [*command, "explain", "lake/*.parquet", "--target", "y", "--engine", engine, "--json", out.name, "--quiet"],
        cwd=lake.parent, env=environment, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return {name: found[name] for name in ("classes", "confusion", "parts", "rules")}


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[tuple[Any, list[subprocess.Popen[bytes]]]]:
    """A session at a master with two workers."""
    from pyspark.sql import SparkSession

    port = free_port()
    address, start = f"spark://127.0.0.1:{port}", str(HOME / "bin" / "spark-class")
    of_worker = ("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1",
                 "--memory", "1g")  # fmt: skip
    master = started(
        start, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0",
        log=tmp_path / "master.log", ready="I have been elected leader",
    )  # fmt: skip
    first, second = (
        started(
            start, *of_worker, "--work-dir", str(tmp_path / f"work{k}"), address, log=tmp_path / f"worker{k}.log",
            ready="Successfully registered with master",
        )
        for k in range(2)
    )  # fmt: skip
    with master, first as one, second as other:
        builder = SparkSession.builder.master(address).appName("tests").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.executor.memory", "512m").config("spark.sql.shuffle.partitions", "4")
        spark = builder.getOrCreate()
        try:
            yield spark, [one, other]
        finally:
            spark.stop()


def test_killing_a_standalone_worker_while_counting_changes_nothing(tmp_path, standalone):
    spark, workers = standalone
    rng = np.random.default_rng(0)
    (tmp_path / "lake").mkdir()
    for k in range(16):
        rows = pd.DataFrame({f"x{j}": rng.integers(0, 4, 150_000).astype(np.int32) for j in range(12)})
        rows["y"] = np.where((rows.x0 > 1) & (rows.x1 > 2), "a", "b")
        rows.to_parquet(tmp_path / "lake" / f"part{k:02}.parquet", index=False)
    cutting = (
        EntropyClassifier(epochs=5).fit(in_engine(tmp_path / "lake" / "part00.parquet"), target="y").schema_.cutting
    )
    expected = count_rows(in_engine(tmp_path / "lake"), cutting, "y", ["a", "b"])
    table = in_engine(tmp_path / "lake", "spark")
    until(lambda: all(executors(worker.pid) for worker in workers))
    hit: list[int] = []
    ended = threading.Event()

    def kill_one() -> None:
        until(lambda: any(at_work(spark, worker.pid) for worker in workers) or ended.is_set())
        for worker in workers:
            if not hit and (busy := at_work(spark, worker.pid)) and not ended.is_set():
                hit.extend([*busy, worker.pid])
        for pid in hit:
            kill(pid)

    killer = threading.Thread(target=kill_one)
    killer.start()
    counted = count_rows(table, cutting, "y", ["a", "b"])
    ended.set()
    killer.join()
    # A worker and what it had started, while they were counting, not after.
    assert len(hit) == 2
    [lost] = [worker for worker in workers if worker.pid in hit]
    assert lost.wait(60) == -signal.SIGKILL
    assert until(lambda: tasks_lost(spark))
    assert counted == expected
    assert classes_of(table, "y")[0] == ["a", "b"]


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of whoever uses a server of Spark Connect."""
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    port = free_port()
    settings = {
        "spark.connect.grpc.binding.port": port, "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": 4, "spark.driver.host": "127.0.0.1",
    }  # fmt: skip
    server = started(
        str(HOME / "bin" / "spark-submit"), "--master", "local[2]",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")), "spark-internal",
        log=tmp_path_factory.mktemp("connect") / "server.log", ready="Spark Connect server started",
    )  # fmt: skip
    with server:
        yield {**ENVIRONMENT, "SPARK_REMOTE": f"sc://127.0.0.1:{port}"}


def test_a_server_that_spark_remote_names_counts_the_same(lake, by_duckdb, remote):
    # Whoever has a server needs no Java.
    there = {**remote, "PATH": str(COMMAND.parent)}
    there.pop("JAVA_HOME", None)
    assert explained([str(COMMAND)], lake, "spark", there) == by_duckdb


ANSWERED = """
import sys
from logiclens import EntropyClassifier
from logiclens.engine.lake import in_engine
from logiclens.errors import LogicLensError

table = in_engine(sys.argv[1], "spark")
print(type(table.get_backend()._session).__module__)
model = EntropyClassifier(epochs=20, set_aside=0.2).fit(sys.argv[1], target="y")
print(model.predict_into(table, sys.argv[2]))
print(model.score(table, "y") == model.score(sys.argv[1], "y"))
try:
    in_engine(sys.argv[3], "spark").count().execute()
    model.score(in_engine(sys.argv[3], "spark"), "y")
except LogicLensError as error:
    print(error)
"""


def test_a_server_writes_answers_and_its_failures_are_told(lake, remote, tmp_path):
    from tests.engine.test_failures import damage, write_lake

    damage(write_lake(tmp_path / "damaged", compression="snappy")[1], "page")
    out = tmp_path / "answers.parquet"
    run = subprocess.run(
        [sys.executable, "-c", ANSWERED, str(lake), str(out), str(tmp_path / "damaged")], env=remote,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    session, written, same, told = run.stdout.splitlines()
    assert session.startswith("pyspark.sql.connect."), run.stderr
    assert written == str(out)
    assert same == "True"
    assert len(pd.read_parquet(out)) == 2_000
    assert told.startswith(f"{tmp_path}/damaged/part1.parquet cannot be read: "), run.stderr


def test_spark_submit_counts_the_same_as_the_guide_says(lake, by_duckdb, tmp_path):
    [script] = re.findall(r"```sh\n(echo .*?)```", GUIDE, flags=re.DOTALL)
    making, submitting = script.strip().split("\n", 1)
    subprocess.run(["bash", "-c", making], cwd=lake.parent, check=True)
    command = submitting[: submitting.index(" explain ")].split()
    assert command[0] == "spark-submit"
    assert explained(command, lake, "spark", ENVIRONMENT) == by_duckdb


def test_ctrl_c_while_spark_counts(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(cli_runs, "ENVIRONMENT", {**ENVIRONMENT, "COLUMNS": "80"})
    run = Terminal("explain", lake, "--target", "y", "--engine", "spark", "--save", "model", cwd=tmp_path)
    run.read(until=b"counting")
    assert "counting" in run.shown.decode()
    java = descendants(run.process.pid)
    assert java
    os.kill(run.process.pid, signal.SIGINT)
    assert run.close() == 130
    assert "logiclens: stopped; nothing is half-written." in run.shown.decode()
    assert "Traceback" not in run.shown.decode()
    assert list(tmp_path.iterdir()) == []
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in java))
