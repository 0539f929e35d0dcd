"""Count the instructions of six fixed jobs and compare them with a baseline.

    python -m lab.scripts.instructions.py            compare; exit code 1 if a job grew by more than 10%
    python -m lab.scripts.instructions.py --write    write a new lab/results/instructions.json

On a shared machine seconds vary by more than the cost of a careless change; instructions do not. All jobs run in one
process under valgrind's callgrind, on one thread, with fixed seeds and hashes. Imports and a first run of each job are
not counted. A call into libc that nothing else makes marks the start and the end of each job, and callgrind writes a
file at each of these calls. This takes about a minute.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from logiclens.concepts.concept_table import ConceptTable
from logiclens.explain.classwise import explain_all
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.minimisation import minimise, row_bits
from logiclens.formula.packed_rows import PackedRows, pack_columns
from logiclens.formula.truth_table import TruthTable
from logiclens.nn.layers import EntropyNet
from logiclens.train.config import TrainConfig
from logiclens.train.fit_many import fit_many
from logiclens.train.loop import fit

BASELINE = Path(__file__).resolve().parents[1] / "results" / "instructions.json"
TOLERANCE = 0.10
"""Growth or fall of a job that is ignored."""
MARK = "sched_get_priority_max"
"""The libc function whose calls separate the jobs."""
FIXED = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    **{"MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "PYTHONHASHSEED": "0",
}
"""One thread, and kernels that every processor has: valgrind takes a thousand times as long for fused multiply-adds."""
CONFIG = TrainConfig(epochs=50, progress=False)

Work = Callable[[], object]


def rows(n_rows: int, n_concepts: int, seed: int) -> ConceptTable:
    """Make random Boolean rows of two classes, separated by two cubes of four concepts."""
    bits = np.random.default_rng(seed).integers(0, 2, (n_rows, n_concepts)).astype(np.bool_)
    labels = (bits[:, 0] & bits[:, 1]) | (~bits[:, 2] & bits[:, 3])
    return ConceptTable(bits, None, labels.astype(np.int64), ["no", "yes"])


def network(seed: int) -> EntropyNet:
    return EntropyNet(90, 2, (20,), generator=torch.Generator().manual_seed(seed))


def one_model() -> Work:
    made, table, held = network(0), rows(1_136, 90, 0), rows(284, 90, 1)
    return lambda: fit(made, table, CONFIG, validation=held)


def twelve_models() -> Work:
    made, table, held = [network(seed) for seed in range(12)], rows(1_136, 90, 0), rows(284, 90, 1)
    return lambda: fit_many(made, table, CONFIG, validation=held)


def extraction() -> Work:
    """Explain a network with fixed weights, which is the same on every machine."""
    made, table, held = network(0), rows(1_136, 90, 0), rows(284, 90, 1)
    with torch.no_grad():
        # Eight concepts of equal strength, far above the others: they are the relevant ones of both heads.
        weight = made.entropy.weight[:, :, :8]
        weight *= 4 / weight.abs().sum(dim=1, keepdim=True)
    return lambda: explain_all(made, table, validation=held)


def counting() -> Work:
    table = rows(100_000, 30, 0)
    return table.counted


def evaluation() -> Work:
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 2, (30, 1_000_000), dtype=np.int8).view(np.bool_)
    names = tuple(f"c{j}" for j in range(30))
    cubes = [rng.choice(30, 4, replace=False).tolist() for _ in range(10)]
    formula = DNF(Cube(Literal(names[j], positive=(j + k) % 3 > 0) for j in cube) for k, cube in enumerate(cubes))
    packed = PackedRows(pack_columns(matrix), matrix.shape[1], names)
    return lambda: formula.evaluate_packed(packed)


def minimising() -> Work:
    """Minimise three of four rows of a planted formula; the others are don't-cares."""
    rng = np.random.default_rng(0)
    seen = row_bits(np.arange(1 << 10), 10)[rng.random(1 << 10) < 0.75]
    planted = seen[:, :3].all(axis=1) | (seen[:, 3] & ~seen[:, 4] & seen[:, 5])
    answers = planted ^ seen[:, 6:9].all(axis=1)
    table = TruthTable.of(seen, [f"c{j}" for j in range(10)], answers)
    return lambda: minimise(table)


JOBS: dict[str, Callable[[], Work]] = {
    "fit, 1,136 rows, 90 concepts, 50 epochs": one_model,
    "fit_many, 12 such models": twelve_models,
    "explain_all, a fixed network": extraction,
    "count 100,000 rows of 30 concepts": counting,
    "evaluate 10 cubes on 1,000,000 packed rows": evaluation,
    "minimise a table of 10 concepts": minimising,
}


@dataclass(frozen=True)
class Comparison:
    """The comparison with the baseline: reasons to fail, and remarks."""

    failures: tuple[str, ...]
    remarks: tuple[str, ...]


def compared(before: Mapping[str, int], now: Mapping[str, int]) -> Comparison:
    """Return one line per job that grew or is missing, and one per job that fell or is new."""
    failures, remarks = [], []
    unknown = [job for job in now if job not in before]
    for job, was in before.items():
        if job not in now:
            alike = [new for new in unknown if abs(now[new] / was - 1) <= TOLERANCE]
            hint = f" {alike[0]!r} takes as many instructions: if it was renamed, --write." if alike else ""
            failures.append(f"missing: {job!r} is in the baseline, but was not counted.{hint}")
            continue
        change = now[job] / was - 1
        if now[job] > (1 + TOLERANCE) * was:
            failures.append(f"grew: {job!r} takes {now[job]:,} instructions, {change:.1%} more than {was:,}.")
        elif now[job] < (1 - TOLERANCE) * was:
            remarks.append(
                f"fell: {job!r} takes {now[job]:,} instructions, {-change:.1%} fewer than {was:,}: --write renews "
                "the baseline."
            )
    remarks += [f"new: {job!r} is not in the baseline: --write takes it in." for job in unknown]
    return Comparison(tuple(failures), tuple(remarks))


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return one line per version that differs from the baseline."""
    return tuple(
        f"differs: {name} is {now.get(name, 'missing')}, the baseline was written with {before.get(name, 'none')}."
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    )


def versions() -> dict[str, str]:
    """Return the versions that a count depends on."""
    valgrind = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    packages = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "torch")}
    return {"python": platform.python_version(), **packages, "valgrind": valgrind.removeprefix("valgrind-")}


def counted() -> dict[str, int]:
    """Count the instructions of each job."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "valgrind", "--tool=callgrind", "--instr-atstart=no", f"--dump-before={MARK}",
            f"--callgrind-out-file={folder}/out", sys.executable, __file__, "--inside",
        ]  # fmt: skip
        # No other environment variables, because their size moves the stack.
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = {**kept, **FIXED, "TMPDIR": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the jobs did not end under valgrind:\n{done.stdout}{done.stderr}")
        # File 1 is what came before the first job; then a job and what lies between two take turns.
        return {job: _total(Path(folder) / f"out.{2 * place}") for place, job in enumerate(JOBS, start=1)}


def _total(file: Path) -> int:
    found = re.search(r"^totals: (\d+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"callgrind wrote no total to {file.name}.")
    return int(found[1])


def inside() -> None:
    """Run under valgrind: every job once uncounted, then each between two marks."""
    # One processor: the solver behind minimise would start a thread for every two, and these spin.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for prepare in JOBS.values():
        prepare()()
    switch = subprocess.Popen(["callgrind_control", "--instr=on", str(os.getpid())], stdout=subprocess.DEVNULL)
    # Valgrind hears it between two instructions of ours: waiting without running would need ptrace.
    while switch.poll() is None:
        pass
    if switch.returncode:
        raise SystemExit("callgrind_control could not switch counting on.")
    # Garbage collection depends on all earlier allocations.
    gc.disable()
    for prepare in JOBS.values():
        work = prepare()
        gc.collect()
        os.sched_get_priority_max(os.SCHED_OTHER)
        work()
        os.sched_get_priority_max(os.SCHED_OTHER)


def table(now: Mapping[str, int], before: Mapping[str, int]) -> str:
    lines = ["| job | instructions | baseline | change |", "| --- | --- | --- | --- |"]
    for job, count in now.items():
        was = before.get(job)
        rest = " | " if was is None else f"{was:,} | {count / was - 1:+.1%}"
        lines.append(f"| {job} | {count:,} | {rest} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the baseline instead of comparing with it")
    parser.add_argument("--baseline", type=Path, default=BASELINE, help="another file in place of the committed one")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        inside()
        return 0
    if shutil.which("valgrind") is None or shutil.which("callgrind_control") is None:
        print("valgrind is needed to count instructions: apt-get install valgrind.", file=sys.stderr)
        return 2
    if not asked.write and not asked.baseline.exists():
        print(
            f"there is no {asked.baseline}: make it with python -m lab.scripts.instructions.py --write.",
            file=sys.stderr,
        )
        return 2
    before: dict[str, Any] = {"instructions": {}, "versions": {}}
    if asked.baseline.exists():
        before = json.loads(asked.baseline.read_text(encoding="utf-8"))
    now = {"versions": versions(), "instructions": counted()}
    print(table(now["instructions"], before["instructions"]))
    if asked.write:
        asked.baseline.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
        print(f"written: {asked.baseline}")
        return 0
    found = compared(before["instructions"], now["instructions"])
    for line in (*differing(before["versions"], now["versions"]), *found.remarks, *found.failures):
        print(line)
    if found.failures:
        return 1
    print(f"no job grew by more than {TOLERANCE:.0%}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
