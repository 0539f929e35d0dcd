"""Measure speed; write `lab/results/speed.json`, `speed.md`, a plot, and the table of docs/comparison.md.

    make bench-speed

Each part is a separate script that also runs alone. Both sides of a ratio are measured in this run, on the same rows,
in CPU time, several times each. GPU times come from `gpu_speed.py`, which needs a GPU and writes
`lab/results/gpu.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.scripts import fits, growth_speed, throughput
from lab.scripts.layout import aligned
from lab.scripts.speed import Line, formulas_table, table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
AT_LEAST = ", at least"
"""Suffix of a ratio if the reference was stopped before it had finished."""
PARTS = {"peers": "speed.py", "fits": "fits.py", "growth": "growth_speed.py", "evaluation": "throughput.py"}


def run(part: str, options: list[str]) -> Any:
    """Run one part in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "found.json"
        command = [sys.executable, str(HERE / PARTS[part]), "--json", str(written), *options]
        print(f"{part}: {' '.join(command[1:])}", file=sys.stderr, flush=True)
        subprocess.run(command, check=True, env={**os.environ, **ONE_THREAD}, stdout=subprocess.DEVNULL)
        return json.loads(written.read_text(encoding="utf-8"))


def lines_of(peers: dict[str, Any]) -> list[Line]:
    """Return the measurements against torch_explain."""
    given = ("what", "unit", "floor", "bounded", "most", "ours", "reference")
    return [Line(**{key: line[key] for key in given}) for line in peers["lines"]]


def gpu_table(gpu: dict[str, Any]) -> str:
    """Return times on a GPU, with the lower bound that its bytes and operations set."""
    rows = [["work", "cold", "warm", "min-max", "launch by launch", "floor", "of the roofline", "asked", "verdict"]]
    for job in gpu["jobs"]:
        low, high = job["warm_spread_s"]
        rows.append([
            job["what"], f"{job['cold_s'] * 1e3:.0f} ms", f"{job['warm_s'] * 1e3:.1f} ms",
            f"{low * 1e3:.1f}-{high * 1e3:.1f}", f"{job['launch_by_launch_s'] * 1e3:.0f} ms",
            f"{job['floor_s'] * 1e3:.2f} ms", f"{job['share_of_roofline']:.1%}", f"{job['target_s'] * 1e3:.0f} ms",
            "holds" if job["warm_s"] <= job["target_s"] else "does not hold",
        ])  # fmt: skip
    return aligned(rows)


def markdown(found: dict[str, Any]) -> str:
    """Return all tables."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    parts = [
        "# Speed\n\nWritten by `make bench-speed`; CPU seconds on one thread, medians of repeats, both sides in the "
        f"same run. {found['machine']}; {versions}; {found['date']}.",
        "![ratios](speed.svg)",
    ]
    if "peers" in found:
        parts.append(
            "## Epochs, memory, extraction and formulas beside torch_explain\n\n" + table(lines_of(found["peers"]))
        )
        parts.append("What was extracted:\n\n" + formulas_table(found["peers"]["formulas"]))
    if "fits" in found:
        parts.append("## Fit, explain and measure\n\n" + fits.markdown(found["fits"]))
    if "evaluation" in found:
        parts.append("## Evaluating a formula of 10 cubes\n\n" + throughput.markdown(found["evaluation"]))
    if "growth" in found:
        parts.append("## Growth\n\n" + growth_speed.markdown(found["growth"]))
    if "gpu" in found:
        told = (
            f"{found['gpu']['device']}, torch {found['gpu']['torch']}; warm is the median of repeated calls, each with "
        )
        parts.append(
            f"## On a GPU\n\n{told}the counting of rows and the recording of its graph.\n\n" + gpu_table(found["gpu"])
        )
    return "\n\n".join(parts) + "\n"


def ratios(found: dict[str, Any]) -> list[tuple[str, float, float, float]]:
    """Return name, ratio and spread of every comparison."""
    drawn = []
    for line in lines_of(found["peers"]) if "peers" in found else []:
        drawn.append((line.what + AT_LEAST * line.bounded, line.ratio, *line.spread))
    if "fits" in found:
        timed = [fits.Timed(**line) for line in found["fits"]["fits"]]
        ours = {line.task: line for line in timed if line.method == "minimal"}
        for line in timed:
            if line.method == "torch_explain" and line.seconds:
                mine = ours[line.task]
                pairs = [theirs / own for theirs in line.seconds for own in mine.seconds]
                name = f"fit + explain {line.task}" + AT_LEAST * bool(line.note)
                drawn.append((name, line.median / mine.median, min(pairs), max(pairs)))
    return drawn


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw one bar per ratio, with its spread, on a logarithmic axis."""
    from matplotlib.figure import Figure

    drawn = ratios(found)[::-1]
    figure = Figure(figsize=(8, 0.32 * len(drawn) + 1.2), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(drawn))
    axes.barh(places, [ratio for _, ratio, _, _ in drawn], color="#4c78a8", height=0.6)
    axes.hlines(places, [low for *_, low, _ in drawn], [high for *_, high in drawn], color="black", linewidth=1)
    axes.set_yticks(places, [name for name, *_ in drawn])
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times less than torch_explain 1.5.1\n(bar: ratio of medians, line: spread of repeats)")
    figure.savefig(path)


def comparison_rows(found: dict[str, Any]) -> str:
    """Return the table of docs/comparison.md: every ratio with its spread and its floor."""
    asked = {line.what: line.asked for line in lines_of(found["peers"])}
    asked |= {f"fit + explain {task}": f"{least:g}x" for task, least in fits.AGAINST.items()}
    rows = [["measured", "ratio", "min-max", "asked"]]
    for name, ratio, low, high in ratios(found):
        rows.append([name, f"{ratio:.1f}x", f"{low:.1f}-{high:.1f}", asked.get(name.removesuffix(AT_LEAST), "")])
    return aligned(rows)


def page_with(page: str, found: dict[str, Any]) -> str:
    """Return the page with the table of a run."""
    before, rest = page.split("<!-- speed -->")
    after = rest.split("<!-- end of speed -->")[1]
    return f"{before}<!-- speed -->\n{comparison_rows(found)}\n<!-- end of speed -->{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repeats, to see that everything runs")
    parser.add_argument("--concepts", type=Path, help="predicted concepts of the real tables, where they are kept")
    parser.add_argument("--only", choices=list(PARTS), nargs="*", default=list(PARTS), help="none: write what there is")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--slow", action="store_true", help="torch_explain on CUB too, which takes it half an hour")
    given = parser.parse_args()
    quick = ["--quick"] if given.quick else []
    concepts = [] if given.concepts is None else ["--concepts", str(given.concepts)]
    options = {
        "peers": quick,
        "fits": quick + concepts + ["--slow"] * given.slow,
        "growth": quick,
        "evaluation": ["--repeats", "3"] * given.quick,
    }
    written = given.out / "speed.json"
    # Parts that are not named keep their earlier measurements.
    found: dict[str, Any] = json.loads(written.read_text(encoding="utf-8")) if written.exists() else {}
    for part in given.only:
        found[part] = run(part, options[part])
    if (given.out / "gpu.json").exists():
        found["gpu"] = json.loads((given.out / "gpu.json").read_text(encoding="utf-8"))
    found["machine"] = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    found["versions"] = {"Python": platform.python_version(), "torch": torch.__version__, "NumPy": np.__version__}
    found["date"] = datetime.now(UTC).date().isoformat()
    given.out.mkdir(parents=True, exist_ok=True)
    written.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found, given.out / "speed.svg")
    draw(found, given.out / "speed.png")
    text = markdown(found)
    (given.out / "speed.md").write_text(text, encoding="utf-8")
    if given.out == RESULTS:
        page = HERE.parent / "docs" / "comparison.md"
        page.write_text(page_with(page.read_text(encoding="utf-8"), found), encoding="utf-8")
    print(text)
    slow = [name for name, ratio, *_ in ratios(found) if ratio < 1]
    if slow:
        print(f"Slower than torch_explain: {', '.join(slow)}.")
    print(f"Median gain over torch_explain: {statistics.median(ratio for _, ratio, *_ in ratios(found)):.0f}x.")


if __name__ == "__main__":
    main()
