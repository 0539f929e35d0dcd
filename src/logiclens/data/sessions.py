"""The session of Spark that counts: the one that is there, that `SPARK_REMOTE` names, or a local one."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from logiclens.data.faults import in_a_line, stop
from logiclens.errors import LogicLensError

_PARTITIONS = "spark.sql.shuffle.partitions"
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def spark_session() -> Any:
    """The session that a program or `spark-submit` has started, or else a new one."""
    from pyspark.sql import SparkSession

    remote = os.environ.get("SPARK_REMOTE", "")
    _check_remote(remote)
    try:
        if active := SparkSession.getActiveSession():
            return active
        # Whoever submits a program has started the part in Java already.
        if remote or "PYSPARK_GATEWAY_PORT" in os.environ:
            return SparkSession.builder.getOrCreate()
        _check_java()
        local = SparkSession.builder.appName("logiclens").config("spark.ui.showConsoleProgress", "false").getOrCreate()
        # What fails is told by us, in a sentence.
        local.sparkContext.setLogLevel("OFF")
        if str(local.sparkContext.master).startswith("local") and local.conf.get(_PARTITIONS) == "200":
            # Spark's own choice is for clusters: on one machine most of its time went there.
            local.conf.set(_PARTITIONS, str(4 * local.sparkContext.defaultParallelism))
        return local
    except LogicLensError:
        raise
    except Exception as error:
        stop(error)
        raise LogicLensError(f"Spark does not start: {in_a_line(error)}") from None


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is None:
        where = f"JAVA_HOME is {home}" if home else "there is no java on the PATH"
        raise LogicLensError(
            f"Spark on this machine needs Java 17 or later, and {where}: install it, or name a server in SPARK_REMOTE."
        )


def _check_remote(remote: str) -> None:
    """Refuse a server where nobody answers: Spark itself would try for minutes, without a word."""
    if not remote.startswith("sc://") or any(name in os.environ for name in (*_PROXIES, *map(str.upper, _PROXIES))):
        return
    try:
        named = urlsplit(remote)
        socket.create_connection((named.hostname or "localhost", named.port or 15002), timeout=20).close()
    except (OSError, ValueError) as error:
        raise LogicLensError(f"no Spark answers at {remote}, which SPARK_REMOTE names: {in_a_line(error)}") from None
