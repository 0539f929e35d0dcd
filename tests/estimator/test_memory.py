"""Out of memory in Python: one error of ours with a sentence, whichever library failed to allocate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from logiclens.errors import OutOfMemory
from logiclens.estimator import EntropyClassifier
from logiclens.estimator import classifier as module

CHILD = """
import resource, sys
import numpy as np, pandas as pd
from logiclens.errors import LogicLensError
from logiclens.estimator import EntropyClassifier

def table(n):
    x = np.random.default_rng(0).random((n, 8))
    return pd.DataFrame(x, columns=list("abcdefgh")), np.where(x[:, 0] > 0.5, "high", "low")

small, labels = table(200)
model = EntropyClassifier(epochs=5, committee=None, exact=sys.argv[2] == "exact").fit(small, labels)
model.explain(small, labels), model.predict(small), model.predict_proba(small), model.score(small, labels)
large, many = table(1_000_000)
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 32 * 2**20, resource.RLIM_INFINITY))
try:
    {
        "fit": lambda: EntropyClassifier(epochs=5, committee=None).fit(large, many),
        "predict": lambda: model.predict(large),
        "explain": lambda: model.explain(large, many),
        "score": lambda: model.score(large, many),
    }[sys.argv[1]]()
except MemoryError as error:
    assert isinstance(error, LogicLensError), type(error)
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the size of a process is read from /proc")
@pytest.mark.parametrize(
    ("call", "kind"),
    [("fit", "soft"), ("predict", "soft"), ("predict", "exact"), ("explain", "soft"), ("score", "exact")],
)
def test_a_process_without_memory_is_told_what_to_do(call, kind):
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", CHILD, call, kind], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("there is not enough memory")
    assert "take fewer columns or rows, or let an engine count" in run.stdout
    assert run.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("inner", "call"),
    [
        ("prepare", lambda model, rows, labels: model.fit(rows, labels)),
        ("train_all", lambda model, rows, labels: model.fit(rows, labels)),
        ("read", lambda model, rows, labels: model.read(rows)),
        ("explain_learned", lambda model, rows, labels: model.explain(rows, labels)),
        ("explain_rows", lambda model, rows, labels: model.explain_local(rows)),
        ("statistics_of", lambda model, rows, labels: model.statistics(rows, labels)),
        ("classifier_files", lambda model, rows, labels: model.save("nowhere")),
        ("load_classifier", lambda model, rows, labels: model.load("nowhere")),
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
def test_every_door_tells_a_failed_allocation(monkeypatch, inner, call, error):
    draws = np.random.default_rng(0).random((60, 2))
    rows, labels = pd.DataFrame(draws, columns=["a", "b"]), (draws[:, 0] > 0.5).astype(int)
    exact = inner == "read"
    model = EntropyClassifier(epochs=5, committee=None, exact=exact).fit(rows, labels)

    def full(*_args: object, **_settings: object) -> None:
        raise error

    monkeypatch.setattr(module, inner, full)
    with pytest.raises(OutOfMemory, match=r"5\.0 GiB were needed at once"):
        call(model, rows, labels)
