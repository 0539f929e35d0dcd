"""Out of memory in Python: one error of ours with a sentence, whichever library failed to allocate."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from logiclens.errors import OutOfMemory
from logiclens.estimator import EntropyClassifier

DRAWS = np.random.default_rng(0).random((60, 2))
ROWS, LABELS = pd.DataFrame(DRAWS, columns=["a", "b"]), (DRAWS[:, 0] > 0.5).astype(int)

CHILD = """
import os, resource, sys
import numpy as np, pandas as pd
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier

def table(n):
    x = np.random.default_rng(0).random((n, 8))
    return pd.DataFrame(x, columns=list("abcdefgh")), np.where(x[:, 0] > 0.5, "high", "low")

small, labels = table(200)
model = EntropyClassifier(epochs=5, exact=sys.argv[1] == "exact").fit(small, labels)
model.explain(small, labels), model.predict(small), model.predict_proba(small), model.score(small, labels)
large, many = table(1_000_000)
calls = {
    "fit": lambda: EntropyClassifier().fit(large, many),
    "predict": lambda: model.predict(large),
    "explain": lambda: model.explain(large, many),
    "score": lambda: model.score(large, many),
}
for call in sys.argv[2:]:
    if os.fork():
        assert os.wait()[1] == 0
        continue
    held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + 8 * 2**20, resource.RLIM_INFINITY))
    try:
        calls[call]()
        print("there was enough memory")
    except MemoryError as error:
        assert isinstance(error, LogicLensError), type(error)
        print(error)
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the size of a process is read from /proc")
@pytest.mark.parametrize("words", ["soft fit predict explain", "exact predict score"])
def test_a_process_without_memory_is_told_what_to_do(words):
    kind, *calls = words.split()
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", CHILD, kind, *calls], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert len(lines) == len(calls)
    for call, line in zip(calls, lines, strict=True):
        assert line.startswith("there is not enough memory"), call
        assert "take fewer columns or rows, or let an engine count" in line, call


@pytest.fixture(scope="module")
def fitted() -> EntropyClassifier:
    return EntropyClassifier(exact=False, epochs=5).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    ("inner", "call"),
    [
        ("estimator.classifier.prepare", lambda model, rows, labels: model.fit(rows, labels)),
        ("estimator.training.fit", lambda model, rows, labels: model.fit(rows, labels)),
        ("explain.forward.read", lambda model, rows, labels: model.read(rows)),
        ("estimator.classifier.explain_learned", lambda model, rows, labels: model.explain(rows, labels)),
        ("estimator.classifier.explain_rows", lambda model, rows, labels: model.explain_local(rows)),
        ("estimator.classifier.statistics_of", lambda model, rows, labels: model.statistics(rows, labels)),
        ("estimator.classifier.classifier_files", lambda model, rows, labels: model.save("nowhere")),
        ("estimator.classifier.load_classifier", lambda model, rows, labels: model.load("nowhere")),
    ],
)
@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 5.0 GiB for an array"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory: you tried to "
                     "allocate 5368709120 bytes. Error code 12 (Cannot allocate memory)"),
    ],
    ids=["NumPy", "torch"],
)  # fmt: skip
def test_every_door_tells_a_failed_allocation(fitted, monkeypatch, inner, call, error):
    model = copy.deepcopy(fitted)

    def full(*_args: object, **_settings: object) -> None:
        raise error

    monkeypatch.setattr(f"logiclens.{inner}", full)
    with pytest.raises(OutOfMemory, match=r"5\.0 GiB were needed at once"):
        call(model, ROWS, LABELS)
