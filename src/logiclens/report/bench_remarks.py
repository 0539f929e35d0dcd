"""What did not end well, what methods said of their runs, and what has to be known of data and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logiclens.experiments.results import OK
from logiclens.report.bench_blocks import Block, Cell, Facts, Paragraph, Points, Row, Section, Table
from logiclens.report.bench_names import (
    METHODS,
    PAPER,
    REMARKS,
    SCRIPT_COLUMNS,
    SCRIPT_REMARKS,
    SCRIPT_TABLE,
    SWEEP,
    TASKS,
    in_order,
    method_title,
    task_title,
)
from logiclens.report.bench_summary import Bench, Entry, fold_words
from logiclens.report.bench_tables import NOTHING

_SHOWN_APART = ("schema",)


def header_facts(bench: Bench) -> Facts:
    """What the header of the benchmark says, whatever that is."""
    pairs = [(name, _said(value)) for name, value in bench.header.items() if name not in _SHOWN_APART]
    n_runs = [run for runs in bench.entries.values() for run in runs]
    good = sum(run.status == OK for run in n_runs)
    return Facts((("finished runs", f"{len(n_runs):,}, of which {good:,} ended well"), *pairs))


def unfinished(bench: Bench) -> Section:
    """Every run that failed, was stopped or was skipped, with its reason; runs with one reason together."""
    said = [(entry, run.fold, run.status) for entry in _in_order(bench) for run in bench.runs(entry)]
    rows = []
    for method, protocol, status, places in _together([one for one in said if one[2] != OK]):
        kind, _, reason = status.partition(":")
        cells = (protocol, kind, reason.strip() or NOTHING, places)
        rows.append(Row(method_title(method), tuple(Cell(text) for text in cells)))
    caption = "Runs that did not end well. They have no figures in any table."
    columns = ("method", "protocol", "what", "reason or limit", "tasks and folds")
    return Section("unfinished", "What failed, was stopped or skipped", _if(rows, "unfinished-runs", caption, columns))


def notes(bench: Bench) -> Section:
    """What methods said of their own runs; the same note of several runs once."""
    said = [(e, run.fold, note) for e in _in_order(bench) for run in bench.runs(e) for note in run.notes]
    rows = [
        Row(method_title(method), tuple(Cell(text) for text in (protocol, note, places)))
        for method, protocol, note, places in _together(said)
    ]
    columns = ("method", "protocol", "note", "tasks and folds")
    told = _if(rows, "notes-table", "What methods said of their own runs.", columns)
    return Section("notes", "Notes on single runs", told)


def remarks(bench: Bench) -> Section:
    """What must be said of the data, and of what the authors' scripts do beside the paper's text."""
    ran = {(task, protocol) for protocol in bench.protocols for task in bench.tasks(protocol)}
    said = tuple(
        f"{task_title(task)}{'' if protocol is None else f' under {protocol!r}'}: {text}"
        for task, protocol, text in REMARKS
        if any(task == t and protocol in (None, p) for t, p in ran)
    )
    parts = [Section("remarks-data", "The data", (Points(said),) if said else ())]
    if any(protocol == PAPER for _, protocol in ran):
        parts.append(Section("remarks-scripts", "What the authors' scripts do", _scripts()))
    return Section("remarks", "Remarks", sections=tuple(part for part in parts if not part.is_empty))


def _scripts() -> tuple[Block, ...]:
    rows = tuple(Row(topic, tuple(Cell(text) for text in texts)) for topic, texts in SCRIPT_TABLE)
    columns = ("", *(task_title(task) for task in SCRIPT_COLUMNS))
    caption = "Choices of the authors' published scripts that differ between tasks, or from the paper's text."
    return (
        Paragraph("The protocol 'paper' and the method 'Entropy net, the authors' scripts' follow these choices."),
        Table("scripts", caption, columns, rows, wide=True),
        Points(SCRIPT_REMARKS),
    )


def _if(rows: list[Row], key: str, caption: str, columns: tuple[str, ...]) -> tuple[Block, ...]:
    return (Table(key, caption, columns, tuple(rows), wide=True),) if rows else ()


def _together(said: Sequence[tuple[Entry, int, str]]) -> list[tuple[str, str, str, str]]:
    """Method, protocol, what was said, and on which tasks and folds."""
    found: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    for entry, fold, text in said:
        found.setdefault((entry.method, entry.protocol, text), {}).setdefault(_task(entry), []).append(fold)
    return [
        (*key, "; ".join(f"{task} {fold_words(folds)}" for task, folds in where.items()))
        for key, where in found.items()
    ]


def _in_order(bench: Bench) -> list[Entry]:
    tasks = in_order((entry.task for entry in bench.entries), TASKS)
    methods = in_order((entry.method for entry in bench.entries), METHODS)
    return sorted(bench.entries, key=lambda e: (tasks.index(e.task), e.protocol, methods.index(e.method)))


def _task(entry: Entry) -> str:
    swept = entry.task.startswith(SWEEP)
    return f"{task_title(entry.task)}, sweep" if swept else task_title(entry.task)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name} {_said(held)}" for name, held in value.items())
    if isinstance(value, list):
        return ", ".join(_said(held) for held in value)
    return str(value)
