"""Real failures: full disks, killed runs, damaged files and missing packages."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from logiclens import EntropyClassifier
from logiclens.engine.count import fetched
from logiclens.engine.lake import Reader, in_engine
from logiclens.errors import LogicLensError
from logiclens.storage import WORKSPACE
from tests.cli_runs import COMMAND, ENVIRONMENT, Terminal, logiclens, refused
from tests.engine.test_count import frame

KINDS = {"parquet": ".parquet", "csv": ".csv", "packed": ".csv.gz", "json": ".jsonl"}


def write_lake(folder: Path, kind: str = "parquet", n: int = 90_000, **options: Any) -> list[Path]:
    """Three files of some rows."""
    folder.mkdir(exist_ok=True)
    rows, files = frame(n), []
    for k in range(3):
        part, file = rows.iloc[k::3], folder / f"part{k}{KINDS[kind]}"
        if kind == "parquet":
            part.to_parquet(file, index=False, coerce_timestamps="us", **options)
        elif kind == "json":
            part.to_json(file, orient="records", lines=True, date_format="iso")
        else:
            part.to_csv(file, index=False)
        files.append(file)
    return files


SLOW = pytest.mark.slow
DAMAGES: list[tuple[str, str, dict[str, Any]]] = [
    ("parquet", "page", {"compression": "snappy"}),
    ("parquet", "page", {"compression": "none"}),
    *((kind, how, {}) for kind in ("csv", "packed", "json") for how in ("truncated", "garbled")),
]
"""Kinds of files, how they are damaged, and how they are written."""


def damage(file: Path, how: str) -> None:
    """Spoil the middle of a file, and leave what is before and after as it is."""
    content = bytearray(file.read_bytes())
    # Beyond what an engine looks at first.
    middle = len(content) * 9 // 10
    noise = np.random.default_rng(0).bytes(4_000)
    if how == "truncated":
        # Within a line, and not at its end.
        del content[content.index(b"\n", middle) + 9 if b"\n" in content[middle:] else middle :]
    elif how == "garbled":
        content[middle : middle + len(noise)] = noise
    elif how == "page":
        chunk = pq.read_metadata(file).row_group(0).column(pq.read_schema(file).names.index("unit"))
        start, size = chunk.data_page_offset, chunk.total_compressed_size
        end = chunk.dictionary_page_offset + size
        # Behind the header of the page.
        content[start + 60 : end] = (noise * (size // len(noise) + 1))[: end - start - 60]
    file.write_bytes(content)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> EntropyClassifier:
    folder = tmp_path_factory.mktemp("rows")
    write_lake(folder, n=600)
    return EntropyClassifier(epochs=20, set_aside=0.2).fit(folder, target="y")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount to make a small disk with")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 512)
    assert os.statvfs(disk).f_bavail == 0


def test_answers_do_not_half_appear_on_a_full_disk(model, tmp_path, disk):
    write_lake(tmp_path / "lake", n=3_000)
    out = disk / "answers.parquet"
    out.write_bytes(b"earlier answers")
    fill(disk)
    with pytest.raises(LogicLensError, match=r"answers.parquet was not written: .*No space left on device\.$"):
        model.predict_into(tmp_path / "lake", out)
    assert out.read_bytes() == b"earlier answers"
    assert sorted(path.name for path in disk.iterdir()) == ["answers.parquet", "filler"]


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake, and in a folder beside it what a run has left behind."""
    folder = tmp_path_factory.mktemp("earlier")
    write_lake(folder / "lake", n=600)
    (folder / "results").mkdir()
    arguments = ("--json", "result.json", "--report", "rules.html", "--save", "model", "--quiet")
    run = logiclens("explain", folder / "lake", "--target", "y", *arguments, cwd=folder / "results")
    assert run.returncode == 0, run.stderr
    return folder


@pytest.mark.parametrize(("option", "name", "message"), [
    ("--json", "result.json", "cannot write result.json: No space left on device."),
    ("--report", "rules.html", "cannot write rules.html: No space left on device."),
    ("--save", "model", "the model cannot be written to model ("),
])  # fmt: skip
def test_results_do_not_half_appear_on_a_full_disk(earlier, disk, option, name, message):
    shutil.copytree(earlier / "results", disk, dirs_exist_ok=True)
    fill(disk)
    before = {path: path.is_file() and path.read_bytes() for path in disk.rglob("*")}
    said = refused("explain", earlier / "lake", "--target", "y", "--seed", "1", option, name, cwd=disk)
    assert said.startswith(message)
    assert "No space left on device" in said
    assert {path: path.is_file() and path.read_bytes() for path in disk.rglob("*")} == before


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million and a half numbers, which all differ."""
    folder = tmp_path_factory.mktemp("numbers")
    rng = np.random.default_rng(0)
    for k in range(3):
        pd.DataFrame({"fine": rng.normal(size=500_000)}).to_parquet(folder / f"part{k}.parquet", index=False)
    return folder


def counted_by_value(table: Any) -> dict[str, list[Any]]:
    """What takes more memory than is given."""
    values = table.group_by("fine").agg(n=table.count())
    return fetched(values.group_by("n").agg(m=values.count())).to_pydict()


def test_data_beyond_memory_goes_to_temporary_files_that_vanish(numbers, tmp_path, monkeypatch):
    place, here = tmp_path / "temporary", tmp_path / "here"
    for folder in (place, here):
        folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.chdir(here)
    table = in_engine(numbers, memory="60MB", threads=2)
    [spill] = place.iterdir()
    assert WORKSPACE.fullmatch(spill.name)
    # A process that lives keeps its folder.
    other = in_engine(numbers)
    assert spill.exists()
    assert counted_by_value(table) == {"n": [1], "m": [1_500_000]}
    assert list(here.iterdir()) == []
    del table, other
    gc.collect()
    assert list(place.iterdir()) == []


def test_a_full_disk_of_temporary_files_is_told(numbers, disk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    with pytest.raises(LogicLensError) as told:
        counted_by_value(in_engine(numbers, memory="30MB", threads=2))
    assert str(told.value) == (
        f"duckdb cannot count this table: what does not fit into memory goes into {disk}, and there is no more room; "
        "let TMPDIR name a larger folder, or allow more memory."
    )


ENDLESS = """
import os, signal, sys, threading
from logiclens.engine.count import fetched
from logiclens.engine.lake import in_engine
table = in_engine(sys.argv[1], threads=1)
pairs = table.cross_join(table.view()).agg(s=(table.fine * 2).sum())
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    fetched(pairs)
except KeyboardInterrupt:
    print("stopped")
"""


def test_ctrl_c_stops_an_engine_within_a_query(numbers):
    run = subprocess.run(
        [sys.executable, "-c", ENDLESS, str(numbers)], capture_output=True, text=True, env=ENVIRONMENT, timeout=120
    )
    assert run.stdout == "stopped\n", run.stderr


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two million rows."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    for k in range(4):
        # First what takes an engine longest.
        rows = pd.DataFrame({f"fine{j}": rng.normal(size=500_000) for j in range(2)})
        rows = rows.assign(**{f"x{j}": rng.integers(0, 4, 500_000).astype(np.int32) for j in range(2)})
        rows["y"] = np.where((rows.x0 > 1) & (rows.x1 > 2) | (rows.fine0 > 1), "a", "b")
        rows.to_parquet(folder / f"part{k}.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def undisturbed(large: Path) -> dict[str, Any]:
    return explained(large, Path(tempfile.gettempdir()))


def explained(large: Path, temporary: Path) -> dict[str, Any]:
    run = subprocess.run(
        [str(COMMAND), "explain", str(large), "--target", "y", "--json", "-"],
        capture_output=True, env={**ENVIRONMENT, "TMPDIR": str(temporary)}, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    result: dict[str, Any] = json.loads(run.stdout)
    # Times are never the same, and names of places are not ours.
    return {name: value for name, value in result.items() if name not in ("seconds", "made_at", "command")}


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_stopped_while_counting_leaves_nothing_and_restarts(
    large, undisturbed, tmp_path, monkeypatch, sent, code
):
    temporary, here = tmp_path / "temporary", tmp_path / "here"
    for folder in (temporary, here):
        folder.mkdir()
    monkeypatch.setitem(ENVIRONMENT, "TMPDIR", str(temporary))
    arguments = ("--json", "result.json", "--report", "rules.html", "--save", "model")
    run = Terminal("explain", large, "--target", "y", *arguments, cwd=here)
    run.read(until=b"counting")
    assert "counting" in run.shown.decode()
    time.sleep(0.3)
    os.kill(run.process.pid, sent)
    assert run.close() == code
    if sent == signal.SIGINT:
        assert run.shown.decode().rstrip().endswith("logiclens: stopped; nothing is half-written.")
    assert list(here.iterdir()) == []
    # Who is killed cannot tidy up: whoever comes next does.
    left = [path.name for path in temporary.iterdir()]
    assert [bool(WORKSPACE.fullmatch(name)) for name in left] == [True] * (sent == signal.SIGKILL)
    assert explained(large, temporary) == undisturbed
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "how", "options"),
    # One damage of each kind of file; the slow tests see the others.
    [pytest.param(*one, marks=[SLOW] if place in (1, 3, 5, 7) else []) for place, one in enumerate(DAMAGES)],
)
def test_a_file_that_is_damaged_in_the_middle_is_named(tmp_path, kind, how, options):
    files = write_lake(tmp_path / "lake", kind, **options)
    damage(files[1], how)
    said = refused("explain", f"lake/*{KINDS[kind]}", "--target", "y", cwd=tmp_path)
    name = f"lake/part1{KINDS[kind]}"
    assert said.startswith((f"{name} cannot be read: ", f"duckdb cannot read {name}: "))
    assert "part0" not in said
    assert "part2" not in said


def test_threads_name_the_broken_file_of_their_own_table(tmp_path, monkeypatch):
    """Tables of the same name, in two connections."""
    monkeypatch.setattr(Reader, "_name", lambda _: "logiclens_rows")
    both, told = threading.Barrier(2, timeout=60), {}

    def read(place: str) -> None:
        files = write_lake(tmp_path / place, n=30_000)
        table = in_engine(tmp_path / place)
        damage(files[1], "page")
        both.wait()
        try:
            fetched(table.group_by("unit").agg(n=table.count()))
        except LogicLensError as error:
            told[place] = str(error).startswith(f"{files[1]} cannot be read")

    threads = [threading.Thread(target=read, args=(place,)) for place in ("one", "other")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == {"one": True, "other": True}


def test_where_the_engine_fails_no_file_is_blamed(tmp_path):
    write_lake(tmp_path / "lake", n=300)
    table = in_engine(tmp_path / "lake")
    with pytest.raises(LogicLensError, match=r"^duckdb cannot count this table: ") as told:
        fetched(table.select(v=table.unit.cast("int64")))
    assert "part" not in str(told.value)


LACKING = """
import sys
raise ModuleNotFoundError("No module named " + repr(__name__), name=__name__)
"""


@pytest.mark.parametrize(("engine", "lacks", "message"), [
    ("duckdb", "duckdb", "counting in DuckDB needs duckdb: pip install 'logiclens[scale]'."),
    pytest.param("duckdb", "ibis", "counting in DuckDB needs ibis: pip install 'logiclens[scale]'.", marks=SLOW),
    pytest.param("spark", "ibis", "counting in Spark needs ibis: pip install 'logiclens[spark]'.", marks=SLOW),
    ("spark", "pyspark", "counting in Spark needs pyspark: pip install 'logiclens[spark]'."),
])  # fmt: skip
def test_a_package_that_lacks_is_named(tmp_path, monkeypatch, engine, lacks, message):
    write_lake(tmp_path / "lake", n=300)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / f"{lacks}.py").write_text(LACKING)
    path = os.pathsep.join([str(tmp_path / "first"), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", path)
    assert refused("explain", "lake", "--target", "y", "--engine", engine, cwd=tmp_path) == message


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_spark_without_java_is_told(tmp_path, monkeypatch, home):
    pytest.importorskip("pyspark", reason="needs pyspark")
    write_lake(tmp_path / "lake", n=300)
    monkeypatch.setitem(ENVIRONMENT, "PATH", str(tmp_path))
    monkeypatch.delitem(ENVIRONMENT, "JAVA_HOME", raising=False)
    if home is not None:
        monkeypatch.setitem(ENVIRONMENT, "JAVA_HOME", home)
    said = refused("explain", "lake", "--target", "y", "--engine", "spark", cwd=tmp_path)
    where = "there is no java on the PATH" if home is None else "JAVA_HOME is /nowhere"
    assert said == (
        f"Spark on this machine needs Java 17 or later, and {where}: install it, or name a server in SPARK_REMOTE."
    )


def test_a_spark_that_does_not_answer_is_told_at_once(tmp_path, monkeypatch):
    pytest.importorskip("pyspark", reason="needs pyspark")
    write_lake(tmp_path / "lake", n=300)
    for name in [name for name in ENVIRONMENT if name.lower().endswith("_proxy")]:
        monkeypatch.delitem(ENVIRONMENT, name)
    monkeypatch.setitem(ENVIRONMENT, "SPARK_REMOTE", "sc://127.0.0.1:1")
    said = refused("explain", "lake", "--target", "y", "--engine", "spark", cwd=tmp_path)
    assert said == "no Spark answers at sc://127.0.0.1:1, which SPARK_REMOTE names: [Errno 111] Connection refused."
