"""Everything about speed: `lab/results/speed.{json,md,svg}` and the table of docs/comparison.md."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lab.pages.charts import ratio_chart, save
from lab.pages.markdown import read_json, table, write
from lab.pages.summary import Bench
from lab.peers.torch_explain_peer import cpu_seconds
from lab.runs.fold_data import Source
from lab.runs.results import RESULTS, data_folder
from lab.speed import reference, sizes
from lab.speed.rows import SHAPES
from logiclens.formula.dnf import DNF, Cube, Literal
from logiclens.formula.packed_rows import PackedRows, pack_columns

PARTS = ("peers", "sweep", "evaluation", "growth")
PEERS = ("tree", "torch_explain", "ripper", "figs", "rule-list")
AGAINST = {"mimic2": 10.0, "vdem": 10.0, "mnist": 100.0, "cub": 5.0}
"""Least ratio of the CPU time of torch_explain to ours."""
AT_LEAST = ", at least"
"""Suffix of a ratio if the reference was stopped before it had finished."""
NUMPY, PACKED, COPY = "NumPy Boolean expression", "packed, answer packed", "copy of the packed columns"
GAIN, SHARE = 5.0, 0.3
"""The least gain over NumPy, and the least share of the copy's speed, at 10^7 rows."""


def measure(parts: Iterable[str], repeats: int, limit: float, concepts: Path, *, quick: bool) -> dict[str, Any]:
    torch.set_num_threads(1)
    result = read_json("speed.json")
    for part in parts:
        if part == "peers":
            result[part] = reference.measure(repeats, limit, ["mimic"] if quick else SHAPES)
        elif part == "sweep":
            result[part] = sizes.measure_sweep(Source(data_folder(), concepts), 1 if quick else repeats)
        elif part == "evaluation":
            result[part] = evaluation([10_000, 1_000_000] + [10_000_000] * (not quick), repeats)
        else:
            result[part] = sizes.measure_growth(1_000 if quick else float("inf"))
    result["gpu"] = read_json("gpu.json")
    result["machine"] = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()})"
    result["versions"] = {"Python": platform.python_version(), "torch": torch.__version__, "NumPy": np.__version__}
    result["date"] = datetime.now(UTC).date().isoformat()
    write(RESULTS / "speed.json", json.dumps(result, indent=1) + "\n")
    return result


def evaluation(n_all: Iterable[int], repeats: int) -> list[dict[str, Any]]:
    """Return the rows per second of evaluating 10 cubes of 4 literals: packed columns, NumPy, and a memory copy.

    NumPy gets each concept as a contiguous Boolean column, its best case. Packing is timed separately, because it is
    done once per table. The copy moves as many bytes as the packed columns have, which is a lower bound.
    """
    formula = DNF(Cube(Literal(f"c{4 * k + i}", positive=(k + i) % 3 > 0) for i in range(4)) for k in range(10))
    names = list(formula.concepts)
    lines = []
    for n_rows in n_all:
        rng = np.random.default_rng(0)
        matrix = np.stack([rng.integers(0, 2, n_rows, dtype=np.uint8).view(np.bool_) for _ in names])
        columns = dict(zip(names, matrix, strict=True))
        packed = PackedRows(pack_columns(matrix), n_rows, tuple(names))
        target = np.empty_like(packed.words)

        def plain(columns: dict[str, Any] = columns) -> Any:
            return np.logical_or.reduce([
                np.logical_and.reduce([columns[x.concept] if x.positive else ~columns[x.concept] for x in cube])
                for cube in formula
            ])  # fmt: skip

        actions: dict[str, Any] = {
            NUMPY: plain,
            PACKED: lambda packed=packed: formula.evaluate_packed(packed),
            "packed, answer as Booleans": lambda packed=packed: formula.evaluate(packed),
            "packing alone": lambda matrix=matrix: pack_columns(matrix),
            COPY: lambda target=target, packed=packed: np.copyto(target, packed.words),
        }
        # Repeat short actions until the clock can measure them.
        calls = {name: max(1, round(0.02 / max(cpu_seconds(action), 1e-6))) for name, action in actions.items()}
        rates: dict[str, list[float]] = {name: [] for name in actions}
        for _ in range(repeats):
            for name, action in actions.items():
                seconds = cpu_seconds(partial(_repeat, action, calls[name])) / calls[name]
                rates[name].append(n_rows / seconds)
        lines += [{"rows": n_rows, "what": name, "rows_a_second": values} for name, values in rates.items()]
    return lines


def _repeat(action: Callable[[], object], times: int) -> None:
    for _ in range(times):
        action()


def lines_of(result: dict[str, Any]) -> list[reference.Line]:
    names = reference.Line.__dataclass_fields__
    lines = result.get("peers", {"lines": []})["lines"]
    return [reference.Line(**{name: line[name] for name in names if name in line}) for line in lines]


def fits(bench: Bench) -> Iterator[tuple[str, str, float, list[float]]]:
    """Yield task, method, CPU seconds and the ratios to ours of every fold, from the runs of the paper's comparison."""
    for task in AGAINST:
        runs = {
            method: {x["fold"]: x["cpu_seconds"] for x in bench.good((task, "clean", method)) if "cpu_seconds" in x}
            for method in ("minimal", *PEERS)
        }
        for method, seconds in runs.items():
            if seconds:
                ratios = [seconds[fold] / runs["minimal"][fold] for fold in seconds if fold in runs["minimal"]]
                yield task, method, statistics.median(seconds.values()), ratios


def ratios(result: dict[str, Any], bench: Bench) -> list[tuple[str, float, float, float]]:
    listed = [(line.what + AT_LEAST * line.bounded, line.ratio, *line.spread) for line in lines_of(result)]
    for task, method, _, values in fits(bench):
        if method == "torch_explain" and values:
            listed.append((f"fit + explain {task}", statistics.median(values), min(values), max(values)))
    return listed


def comparison_table(result: dict[str, Any], bench: Bench) -> str:
    goals = {line.what: line.goal for line in lines_of(result)}
    goals |= {f"fit + explain {task}": f"{least:g}x" for task, least in AGAINST.items()}
    rows = [["measured", "ratio", "min-max", "asked"]]
    for name, ratio, low, high in ratios(result, bench):
        rows.append([name, f"{ratio:.1f}x", f"{low:.1f}-{high:.1f}", goals.get(name.removesuffix(AT_LEAST), "")])
    return table(rows)


def write_page(result: dict[str, Any], bench: Bench) -> None:
    save(ratio_chart(ratios(result, bench)), RESULTS / "speed.svg")
    write(RESULTS / "speed.md", page(result, bench))


def page(result: dict[str, Any], bench: Bench) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    parts = [
        "# Speed\n\nWritten by `python -m lab speed`; CPU seconds on one thread, medians of repeats, both sides in the "
        f"same run. {result['machine']}; {versions}; {result['date']}.\n\n![ratios](speed.svg)"
    ]
    if "peers" in result:
        head = ["measured", "ours", "reference", "ratio", "min-max", "floor", "verdict"]
        parts.append(
            "## Epochs, memory, extraction and formulas beside torch_explain\n\n"
            + table([head, *(line.cells() for line in lines_of(result))])
            + "\n\nWhat was extracted:\n\n"
            + table(_extracted(result["peers"]["formulas"]))
        )
    about = "Medians over the clean folds of the paper's tables, from the runs of the comparison."
    parts.append(f"## Fit and explain\n\n{about}\n\n" + table(_fitted(bench)))
    if "sweep" in result:
        parts.append(_sweep(result["sweep"]))
    if "evaluation" in result:
        parts.append("## Evaluating a formula of 10 cubes\n\n" + table(_evaluated(result["evaluation"])))
    if "growth" in result and isinstance(result["growth"]["axes"]["rows"]["points"][0]["parts"]["counting"], list):
        parts.append("## Growth\n\n" + sizes.growth_page(result["growth"]["axes"]))
    if result.get("gpu"):
        about = f"{result['gpu']['device']}, torch {result['gpu']['torch']}; warm is the median of repeated calls."
        parts.append(f"## On a GPU\n\n{about}\n\n" + table(_gpu(result["gpu"]["jobs"])))
    return "\n\n".join(parts) + "\n"


def _extracted(notes: dict[str, Any]) -> list[list[str]]:
    rows = [["extracted", "relevant", "side", "formulas", "accuracy", "literals"]]
    for name, note in notes.items():
        for side in ("ours", "reference"):
            result = note[side]
            stated = f"{result['formulas']} of {result['asked']}" + (" at the limit" if result["over_limit"] else "")
            numbers = ["-" if result[key] is None else f"{result[key]:.3g}" for key in ("accuracy", "literals")]
            rows.append([name, f"{note['network']['relevant_concepts']:.0f}", side, stated, *numbers])
    return rows


def _fitted(bench: Bench) -> list[list[str]]:
    rows = [["task", "method", "CPU s", "against ours", "min-max", "asked", "F1 %", "literals"]]
    for task, method, seconds, values in fits(bench):
        cells = ["", "", ""]
        if method != "minimal" and values:
            ratio = statistics.median(values)
            goal = f"at least {AGAINST[task]:g}x" if method == "torch_explain" else ""
            shown = f"{ratio:.1f}x" if ratio >= 1 else f"1/{1 / ratio:.1f}"
            cells = [shown, f"{min(values):.3g}-{max(values):.3g}", goal]
        scores = [bench.estimate((task, "clean", method), name) for name in ("explanation_accuracy", "complexity")]
        score_texts = ("" if one is None else f"{one.mean:.1f}" for one in scores)
        rows.append([task, method, f"{seconds:.3f}", *cells, *score_texts])
    return rows


def _sweep(sweep: dict[str, Any]) -> str:
    together, apart = (statistics.median(sweep[key]) for key in ("together_s", "apart_s"))
    return (
        f"{sweep['models']} models on V-Dem (5 folds x 12 settings): {together:.2f} CPU s in one pass, {apart:.2f} one "
        f"after another: {sweep['ratio']:.1f}x (asked: {sweep['asked']:g}x, "
        f"{'holds' if sweep['ratio'] >= sweep['asked'] else 'does not hold'}). One after another by autograd: "
        f"{sweep['autograd_s']:.1f} CPU s, {sweep['autograd_s'] / together:.0f}x."
    )


def _evaluated(lines: list[dict[str, Any]]) -> list[list[str]]:
    rows = [["rows", "what", "median, M rows/s", "min-max", "against NumPy", "of the copy", "verdict"]]
    for line in lines:
        middle = {one["what"]: statistics.median(one["rows_a_second"]) for one in lines if one["rows"] == line["rows"]}
        mine = middle[line["what"]]
        gain, share = mine / middle[NUMPY], mine / middle[COPY]
        verdict = "holds" if gain >= GAIN and share >= SHARE else "does not hold"
        low, high = min(line["rows_a_second"]) / 1e6, max(line["rows_a_second"]) / 1e6
        rows.append([
            f"{line['rows']:,}", line["what"], f"{mine / 1e6:,.0f}", f"{low:,.0f}-{high:,.0f}", f"{gain:.1f}x",
            f"{share:.0%}", verdict if line["what"] == PACKED and line["rows"] == 10_000_000 else "",
        ])  # fmt: skip
    return rows


def _gpu(jobs: list[dict[str, Any]]) -> list[list[str]]:
    rows = [["work", "cold", "warm", "min-max", "asked", "verdict"]]
    for job in jobs:
        low, high = job["warm_spread_s"]
        rows.append([
            job["what"], f"{job['cold_s'] * 1e3:.0f} ms", f"{job['warm_s'] * 1e3:.1f} ms",
            f"{low * 1e3:.1f}-{high * 1e3:.1f}", f"{job['target_s'] * 1e3:.0f} ms",
            "holds" if job["warm_s"] <= job["target_s"] else "does not hold",
        ])  # fmt: skip
    return rows
