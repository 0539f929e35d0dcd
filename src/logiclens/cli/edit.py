"""`logiclens edit` and `logiclens import`: rules that people changed become a new exact model."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from logiclens.cli.options import TableSource
from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json
from logiclens.codec import to_plain
from logiclens.errors import LogicLensError, named, nearest, quoted, quoted_names
from logiclens.formula import edits
from logiclens.formula.edits import Note
from logiclens.formula.rule_set import Edit, Figures, RuleSet
from logiclens.storage import check_model_target
from logiclens.words import percent

MOST_BYTES = 2**20
"""The most bytes of a script that is read."""


@dataclass(frozen=True)
class Move:
    """One kind of edit: the keys that its entry needs and may have, and what it does."""

    needs: tuple[str, ...]
    apply: Callable[[RuleSet, Mapping[str, Any], Note], RuleSet]
    may: tuple[str, ...] = ()


MOVES: Mapping[str, Move] = {
    "without": Move(("rule",), lambda rules, at, note: edits.without(rules, at["rule"], note)),
    "with_rule": Move(
        ("class", "conditions"), lambda rules, at, note: edits.with_rule(rules, at["class"], at["conditions"], note)
    ),
    "with_condition": Move(
        ("rule", "condition"), lambda rules, at, note: edits.with_condition(rules, at["rule"], at["condition"], note)
    ),
    "without_condition": Move(
        ("rule", "condition"), lambda rules, at, note: edits.without_condition(rules, at["rule"], at["condition"], note)
    ),
    "with_threshold": Move(
        ("condition", "value"),
        lambda rules, at, note: edits.with_threshold(rules, at["condition"], at["value"], at.get("rule"), note),
        ("rule",),
    ),
    "reorder": Move(("order",), lambda rules, at, note: edits.reorder(rules, _listed(at["order"]), note)),
    "pin": Move(("rule",), lambda rules, at, note: edits.pin(rules, at["rule"], True, note)),
    "unpin": Move(("rule",), lambda rules, at, note: edits.pin(rules, at["rule"], False, note)),
}
"""The edits of a script, by the name of the method of `RuleSet`."""
NOTES = ("why", "who", "when")


def _listed(order: Any) -> list[Any]:
    if not isinstance(order, list):
        raise LogicLensError(f"'order' must be a list of classes or rules, got {quoted(order)}.")
    return order


# The command edit ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EditOptions:
    """What `edit` and `import` are told alike.

    Args:
        reading: the table to measure the rules on; None for none.
        target: the column of the table with the classes, where its name is not the model's.
        who: the person, for the history.
        out: the folder of the new model.
        json: where to write the figures as JSON.
        quiet: print nothing.
        with_knowledge: refuse rules that do not keep to the knowledge of the model.
    """

    reading: TableSource | None
    target: str | None
    who: str | None
    out: Path
    json: str | None
    quiet: bool
    with_knowledge: bool

    def check(self, model: Path) -> None:
        """Refuse outputs that cannot be written, or would replace the model, before anything is read."""
        check_outputs(self.json, data=None if self.reading is None else self.reading.source)
        check_model_target(self.out)
        is_model = False
        with suppress(OSError, ValueError):
            is_model = self.out.samefile(model)
        if is_model:
            raise LogicLensError(
                f"-o {self.out} is the model that is edited: name another folder, so that the model and the figures "
                "of its report stay."
            )


def edit_model(folder: Path, script: Path, options: EditOptions) -> None:
    """Apply the edits of a script to the rules of a saved model, and save the model of the new rules."""
    options.check(folder)
    entries = read_script(script)
    opened = _Opened(folder, options.reading, options.target)
    rules = opened.rules
    for number, entry in enumerate(entries, 1):
        try:
            rules = apply(entry, rules, options.who)
        except LogicLensError as error:
            raise LogicLensError(f"edit {number} of {named(script)}: {error}") from None
        rules = opened.measured(rules)
    _save(opened, rules, options)


def read_script(path: Path) -> list[dict[str, Any]]:
    """Return the edits of a script, each with its reason.

    Args:
        path: a TOML file with one table `[[edit]]` per edit; `who` and `when` may stand above all of them.

    Raises:
        LogicLensError: if it is no such script.
    """
    content = _toml(path)
    shared = {key: content[key] for key in ("who", "when") if key in content}
    if unknown := [key for key in content if key not in ("edit", "who", "when")]:
        raise LogicLensError(f"{named(path)} has an unknown key {quoted(unknown[0])}: it takes edit, who and when.")
    entries = content.get("edit")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise LogicLensError(f"{named(path)} holds no edits: write [[edit]] above each of them.")
    return [shared | entry for entry in entries]


def _toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise LogicLensError(f"cannot read {named(path)} ({error.strerror or error}).") from None
    if len(data) > MOST_BYTES:
        raise LogicLensError(f"{named(path)} has more than {MOST_BYTES:,} bytes, which no script of edits needs.")
    try:
        return tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise LogicLensError(f"{named(path)} is not text in UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise LogicLensError(f"{named(path)} is not TOML: {str(error) or 'it is nested too deeply'}.") from None


def apply(entry: Mapping[str, Any], rules: RuleSet, who: str | None = None) -> RuleSet:
    """Apply one entry of a script.

    Args:
        entry: `do`, the keys of that edit, and `why`, `who` and `when` if they are known.
        rules: the rules.
        who: the person, where the entry names none.

    Raises:
        LogicLensError: if the entry is no edit, or cannot be applied.
    """
    name = entry.get("do")
    if not isinstance(name, str) or name not in MOVES:
        near = nearest(name, list(MOVES)) if isinstance(name, str) else None
        hint = f"did you mean {quoted(near)}?" if near else f"there are {', '.join(MOVES)}."
        raise LogicLensError(f"'do' must name an edit, got {quoted(name)}; {hint}")
    move = MOVES[name]
    for key in move.needs:
        if key not in entry:
            raise LogicLensError(f"{quoted(name)} needs {quoted(key)}.")
    known = ("do", *move.needs, *move.may, *NOTES)
    if unknown := [key for key in entry if key not in known]:
        raise LogicLensError(f"{quoted(name)} takes no {quoted(unknown[0])}; it takes {quoted_names(known)}.")
    when = entry.get("when")
    if isinstance(when, date) and not isinstance(when, datetime):
        when = when.isoformat()
    return move.apply(rules, entry, Note(entry.get("why"), entry.get("who", who), when))


# The command import --------------------------------------------------------------------------------------------------


def import_rules(file: Path, folder: Path, options: EditOptions) -> None:
    """Read rules that people changed in a sheet, and save the model of the new rules."""
    options.check(folder)
    if file.suffix.lower() not in (".xlsx", ".xlsm"):
        raise LogicLensError(f"{named(file)} is no sheet (.xlsx): edit the sheet that export --to xlsx writes.")
    if not file.is_file():
        raise LogicLensError(f"there is no file {named(file)}.")
    opened = _Opened(folder, options.reading, options.target)
    # Imported here, because it loads pandas.
    from logiclens.export.xlsx import from_xlsx

    note = Note(None, options.who, None)
    rules = from_xlsx(file, opened.rules, note=note, name=named(file), measure=opened.measured)
    _save(opened, opened.measured(rules), options)


# Both ----------------------------------------------------------------------------------------------------------------


class _Opened:
    """A saved model whose rules are edited, and the table that they are measured on."""

    def __init__(self, folder: Path, reading: TableSource | None, target: str | None) -> None:
        """Load the model, and measure its rules on the table if there is one."""
        # Imported here, because they load pandas and scikit-learn.
        from logiclens.cli.saved_model import SavedModel
        from logiclens.estimator.classifier import EntropyClassifier
        from logiclens.storage import open_folder

        opened = open_folder(folder)
        self.model = EntropyClassifier.load(opened)
        self.table = None
        self.rules = self.model.rules_
        if reading is None:
            return
        saved = SavedModel(folder, by_rules=True)
        self.table, known = _measured_table(saved, reading, target)
        self.rules = self.measured(self.rules.knowing(known))

    def measured(self, rules: RuleSet) -> RuleSet:
        """Return the rules with their figures on the table, if there is one."""
        return rules if self.table is None else self.table.measure(rules).rules


def _measured_table(saved: Any, reading: TableSource, target: str | None) -> tuple[Any, Any]:
    from logiclens.cli.tables import check_columns
    from logiclens.metrics.measured_table import MeasuredTable

    wanted = target or saved.target
    if wanted is None:
        raise LogicLensError("the model does not know the name of its target: say --target COLUMN.")
    if saved.rules.multilabel:
        raise LogicLensError("rules that give several labels are measured in Python: leave out --data.")
    file = reading.table()
    check_columns(file.frame, [wanted], file.name, ", the target" if target is None else "")
    kept = file.frame[file.frame[wanted].notna()]
    if kept.empty:
        raise LogicLensError(f"the target {quoted(wanted)} has no value in any row.")
    # Rules may come to use any column of the model that the table has.
    saved.columns = tuple(dict.fromkeys([*saved.columns, *(c for c in saved.known_columns if c in file.frame.columns)]))
    rows = saved.rows(file.frame, file.name).loc[kept.index]
    source = f"{len(rows):,} rows of {file.name}"
    return MeasuredTable(rows, saved.labels(kept[wanted]), source=source), rows


def _save(opened: _Opened, rules: RuleSet, options: EditOptions) -> None:
    old, out, json = opened.rules, options.out, options.json
    adopted = opened.model.adopt(rules, with_knowledge=options.with_knowledge)
    adopted.save(out)
    made = rules.history[len(old.history) :]
    write_json(
        {
            "model": str(out),
            "edits": to_plain(made),
            "before": to_plain(old.measured),
            "after": to_plain(rules.measured),
        },
        json,
    )
    printer = Printer(quiet=options.quiet or json == STANDARD)
    for number, line in enumerate(made, 1):
        printer.say(f"{number}. {_without_figures(line)}{_change(line.before, line.after)}")
    if not made:
        printer.say("Nothing was changed.")
    if rules.measured is not None and old.measured is not None:
        told = f"{_figures(old.measured)} before, {_figures(rules.measured)} now"
        printer.say(f"On {rules.measured.source}: {told}.")
    else:
        printer.say("Nothing was measured: edited rules have no trust until --data DATA names a table.")
    printer.say(f"The model of these rules is in {out}; logiclens verify {out} proves it and tells the history.")


def _without_figures(line: Edit) -> str:
    return str(replace(line, before=None, after=None))


def _change(before: Figures | None, after: Figures | None) -> str:
    if before is None or after is None or before.accuracy is None or after.accuracy is None:
        return ""
    return f": accuracy {percent(before.accuracy, 1)} → {percent(after.accuracy, 1)}"


def _figures(figures: Figures) -> str:
    accuracy = "unknown" if figures.accuracy is None else percent(figures.accuracy, 1)
    score = "unknown" if figures.macro_f1 is None else percent(figures.macro_f1, 1)
    return f"accuracy {accuracy}, macro-F1 {score}"
