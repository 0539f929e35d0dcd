"""`logiclens predict`: the class of each row of a table, by a saved model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from fnmatch import fnmatch
from json import dumps
from pathlib import Path
from typing import Any

import pandas as pd

from logiclens.cli.options import TableSource
from logiclens.cli.output import STANDARD, Printer, check_outputs, print_notes, text_sink
from logiclens.cli.saved_model import KindChanged, SavedModel, check_kind
from logiclens.cli.tables import Counting, check_column, check_names
from logiclens.errors import LogicLensError, named, quoted
from logiclens.tables.files import NAMES, csv_writer, json_value, records_of, table_writer
from logiclens.tables.formats import PARQUET, WRITTEN, suffix_of
from logiclens.tables.streams import TableStream

ROW, PROBABILITY, WHY = "row", "probability", "why"
"""Columns of the answers, beside the predicted class."""


def predict_table(
    folder: Path,
    reading: TableSource,
    *,
    why: bool,
    keep: Sequence[str],
    by_rules: bool,
    out: str | None,
    json: str | None,
    quiet: bool,
    keep_formulas: bool = False,
) -> None:
    """Write the class of each row, and on request the rule that decides. The table is read in chunks."""
    check_outputs(json, data=reading.source, table=out)
    _check_name(out)
    model = SavedModel(folder, by_rules=by_rules)
    if why and model.rules.multilabel:
        raise LogicLensError("reasons are told for one class a row; this model gives several labels.")
    with reading.stream() as stream, ExitStack() as outputs:
        check_names(stream.columns, model.columns, stream.name, ", which the model needs")
        check_names(stream.columns, keep, stream.name, " to keep")
        _check_kept(keep, [ROW, *_answer_names(model, why=why)])
        writers: list[Callable[[pd.DataFrame], None]] = []
        if json is not None:
            head = {"model": str(folder), "data": stream.name, "sha256": stream.sha256}
            writers.append(outputs.enter_context(_json_writer(json, head)))
        if out not in (None, STANDARD):
            write = outputs.enter_context(table_writer(str(out), keep_formulas=keep_formulas))
            is_text = suffix_of(Path(str(out))) in (".csv", ".tsv")
            writers.append(_with_date_texts(write, stream, keep) if is_text else write)
        elif out == STANDARD or json is None:
            write = outputs.enter_context(_csv_printer(keep_formulas=keep_formulas))
            writers.append(_with_date_texts(write, stream, keep))
        for table in _tables(model, stream, tuple(dict.fromkeys(keep)), why=why):
            for write in writers:
                write(table)
        n_rows = len(stream)
        print_notes(stream.notes, quiet=quiet)
    if out not in (None, STANDARD):
        Printer(quiet=quiet).note(f"{n_rows:,} rows are in {out}.")


def _tables(model: SavedModel, stream: TableStream, keep: Sequence[str], *, why: bool) -> Iterator[pd.DataFrame]:
    """Yield the answers for the rows of a table, chunk by chunk."""
    columns = list(dict.fromkeys((*model.columns, *keep)))
    for chunk in stream.chunks(columns):
        try:
            rows = model.rows(chunk, stream.name)
        except KindChanged as error:
            _blame_cell(model, stream, error.column)
            raise
        table = _answers(model, rows, why=why)
        table.insert(0, ROW, chunk.index.to_numpy() + 1)
        for place, column in enumerate(keep, start=1):
            cells = chunk[column].reset_index(drop=True)
            # Truth values with gaps: a chunk may hold nothing but gaps.
            table.insert(place, column, cells.astype("boolean") if cells.dtype == object else cells)
        yield table


def _blame_cell(model: SavedModel, stream: TableStream, column: str) -> None:
    """Raise the error for a column that is no longer numbers for the first cell that is none, if there is one."""
    for chunk in stream.chunks([column]):
        cells = chunk[column]
        if cells.dtype.kind != "O":
            return
        odd = cells[cells.notna() & pd.to_numeric(cells, errors="coerce").isna()]
        if len(odd):
            check_kind(odd, model.kinds.get(column))


@contextmanager
def _json_writer(path: str, head: Mapping[str, str]) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Give a function that writes further rows of the JSON that `write_json` would write of all of them."""
    # Escaped on standard output, whose encoding may not be UTF-8.
    options: dict[str, Any] = {"indent": 1, "ensure_ascii": path == STANDARD, "allow_nan": False}
    before = dumps({**head, "rows": []}, **options).removesuffix("]\n}")
    with text_sink(path) as sink:

        def write(table: pd.DataFrame) -> None:
            nonlocal before
            for record in records_of(table):
                text = dumps(record, default=json_value, **options).replace("\n", "\n  ")
                sink.write(f"{before}\n  {text}".encode())
                before = ","

        yield write
        sink.write(b"\n ]\n}\n")


@contextmanager
def _csv_printer(*, keep_formulas: bool) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Give a function that writes further rows as CSV to standard output."""
    with text_sink(STANDARD) as sink, closing(csv_writer(sink, keep_formulas=keep_formulas)) as writer:
        next(writer)
        yield writer.send


def _with_date_texts(
    write: Callable[[pd.DataFrame], None], stream: TableStream, keep: Sequence[str]
) -> Callable[[pd.DataFrame], None]:
    """Return a function that writes dates and durations as texts of one form.

    pandas writes a column of dates without the time of day if no date has one, so the whole column decides.
    """
    finest: dict[str, pd.Series] = {}
    for chunk in stream.chunks(list(dict.fromkeys(keep))) if keep else ():
        clocks = [column for column in chunk.columns if chunk[column].dtype.kind in "mM"]
        if not clocks:
            break
        for column in clocks:
            known = pd.concat([finest.get(column, chunk[column][:0]), chunk[column].dropna()], ignore_index=True)
            finest[column] = _finest(known)

    def write_texts(table: pd.DataFrame) -> None:
        for column, example in finest.items():
            texts = pd.Series(_date_texts(table[column], example), dtype="str")
            table = table.assign(**{column: texts})
        write(table)

    return write_texts


def _finest(clock: pd.Series) -> pd.Series:
    """Return one of the dates or durations with the smallest unit, such as one with seconds among days."""
    for unit in ("s", "ms", "us", "ns"):
        rest = clock[clock != clock.dt.floor("D" if unit == "s" else {"ms": "s", "us": "ms", "ns": "us"}[unit])]
        if rest.empty:
            break
        clock = rest
    return clock[:1]


def _date_texts(clock: pd.Series, example: pd.Series) -> list[str | None]:
    """Return the texts that pandas writes for dates in a column with this example."""
    both = pd.DataFrame({"clock": pd.concat([clock, example], ignore_index=True), "end": 0})
    lines = both.to_csv(index=False, header=False, lineterminator="\n").splitlines()
    return [line.rpartition(",")[0] or None for line in lines[: len(clock)]]


def predict_lake(
    folder: Path, asked: Counting, *, keep: Sequence[str], by_rules: bool, out: str | None, quiet: bool
) -> None:
    """Let an engine write the class that the rules give each row of a table that is not read."""
    if out is None or not out.endswith(".parquet"):
        raise LogicLensError("rows that an engine answers go into a Parquet file: say -o answers.parquet.")
    check_outputs(data=asked.source, table=out)
    if _lies_in(out, asked.source):
        raise LogicLensError(f"{out} would lie among the files that are read: name another folder.")
    model = SavedModel(folder, by_rules=True)
    # Imported after the folder was checked, because they load slowly.
    from pyarrow import parquet

    from logiclens.engine.lake import files_of
    from logiclens.estimator.on_engine import predict_into

    table = asked.table()
    for column in (*model.columns, *keep):
        check_column(table, column, asked.source, " to keep" if column in keep else ", which the rules need")
    printer = Printer(quiet=quiet)
    if not (by_rules or model.exact):
        printer.note("note: the rules answer, as SQL; they are about the network, and can differ from it.")
    predict_into(model.rules, table, out, name=_name(model), keep=tuple(dict.fromkeys(keep)) or None)
    n_rows = sum(parquet.read_metadata(file).num_rows for file in files_of(out))
    printer.note(f"{n_rows:,} rows are in {out}.")


def _lies_in(path: str, source: str) -> bool:
    """Return whether a file is, or would be, among those that a source names."""
    place, named = Path(os.path.realpath(path)), os.path.realpath(source)
    # Two stars stand for any number of folders, one for none.
    matches = fnmatch(str(place), named.replace("**/", "*")) if "**" in named else place.match(named)
    return matches or place.is_relative_to(named)


def _name(model: SavedModel) -> str:
    """Return the name of the column of answers."""
    return f"predicted {model.target or 'class'}"


def _answer_names(model: SavedModel, *, why: bool) -> list[str]:
    """Return the names of the columns that `_answers` writes."""
    if model.rules.multilabel:
        return [f"predicted {label}" for label in model.rules.names]
    return [_name(model), PROBABILITY, *([WHY] if why else [])]


def _check_kept(keep: Sequence[str], answers: Sequence[str]) -> None:
    """Refuse to keep a column whose name one of the answers has."""
    if taken := [column for column in keep if column in answers]:
        raise LogicLensError(
            f"the column {quoted(taken[0])} cannot be kept, because a column of the answers has this name: rename it."
        )


def _answers(model: SavedModel, rows: pd.DataFrame, *, why: bool) -> pd.DataFrame:
    """Return the answers for some rows; the dtypes do not depend on which rows they are."""
    answers, labels = model.predict(rows), [rule.label for rule in model.rules.rules]
    if answers.ndim == 2:
        table = pd.DataFrame(answers, columns=_answer_names(model, why=False))
    else:
        # Of the type of all labels; a row that no class decides has None.
        dtype = pd.Series(labels).convert_dtypes().dtype if answers.dtype == object else None
        texts = all(isinstance(label, str) for label in labels)
        classes = pd.Series(answers, dtype="str" if texts else dtype)
        table = pd.DataFrame({_name(model): classes, PROBABILITY: model.probability(rows).round(4)})
    if why:
        table[WHY] = pd.Series(model.reasons(rows, answers), dtype="str")
    return table


def _check_name(out: str | None) -> None:
    """Refuse, before any work, a table that cannot be written."""
    if out in (None, STANDARD):
        return
    name = Path(str(out)).name.lower()
    if not name.removesuffix(".gz").endswith(WRITTEN) and not name.endswith((*PARQUET, ".xlsx")):
        raise LogicLensError(f"cannot write {named(out)}: its name must end in {NAMES}.")
