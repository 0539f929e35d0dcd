"""`logiclens predict`: the class of each row of a table, by a saved model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd

from logiclens.cli.options import Reading
from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json, write_text
from logiclens.cli.saved_model import SavedModel
from logiclens.cli.tables import Counting, check_column, check_columns
from logiclens.errors import LogicLensError
from logiclens.tables.files import write_table
from logiclens.tables.formats import PARQUET, WRITTEN


def predict_table(
    folder: Path,
    reading: Reading,
    *,
    why: bool,
    keep: Sequence[str],
    by_rules: bool,
    out: str | None,
    json: str | None,
    quiet: bool,
) -> None:
    """Write the class of each row, and on request the rule that decides."""
    check_outputs(json, data=reading.source, table=out)
    _check_name(out)
    model = SavedModel(folder, by_rules=by_rules)
    if why and model.rules.multilabel:
        raise LogicLensError("reasons are told for one class a row; this model gives several labels.")
    file = reading.table()
    check_columns(file.frame, keep, file.name, " to keep")
    table = _table(model, model.rows(file.frame, file.name), why=why)
    for place, column in enumerate(dict.fromkeys(keep), start=1):
        table.insert(place, column, file.frame[column].to_numpy())
    if json is not None:
        records = table.astype(object).where(table.notna(), None).to_dict("records")
        write_json({"model": str(folder), "data": file.name, "sha256": file.sha256, "rows": records}, json)
    if out not in (None, STANDARD):
        write_table(table, str(out))
        Printer(quiet=quiet).note(f"{len(table):,} rows are in {out}.")
    elif out == STANDARD or json is None:
        write_text(table.to_csv(index=False, lineterminator="\n"), STANDARD)


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


def _table(model: SavedModel, rows: pd.DataFrame, *, why: bool) -> pd.DataFrame:
    answers = model.predict(rows)
    if answers.ndim == 2:
        table = pd.DataFrame(answers, columns=[f"predicted {label}" for label in model.rules.names])
    else:
        table = pd.DataFrame({_name(model): answers, "confidence": model.probability(rows).round(4)})
    if why:
        table["why"] = model.reasons(rows, answers)
    table.insert(0, "row", np.arange(1, len(table) + 1))
    return table


def _check_name(out: str | None) -> None:
    """Refuse, before any work, a table that cannot be written."""
    if out in (None, STANDARD):
        return
    name = Path(str(out)).name.lower()
    if not name.removesuffix(".gz").endswith(WRITTEN) and not name.endswith(PARQUET):
        raise LogicLensError(
            f"cannot write {out}: its name must end in .csv, .tsv, .jsonl (or that and .gz) or .parquet."
        )
