"""Rules as a sheet that a domain expert can edit: one row per rule, with a cell per condition.

Texts are written as texts, also those that begin with = + - @, so that no spreadsheet computes them.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from logiclens.errors import LogicLensError, named, nearest, quoted, quoted_names
from logiclens.export.registry import rules_of
from logiclens.export.round_trip import ALWAYS, Line, Measure, changed, comment_of, written_rule
from logiclens.formula.condition import Condition, condition_text, read_conditions
from logiclens.formula.edits import NO_NOTE, Note
from logiclens.formula.rule_set import RuleSet, who_decides
from logiclens.metrics.rule_statistics import RuleStatistics, Share, ShareRecord, StatisticsRecord
from logiclens.storage import checked_path, scratch_folder
from logiclens.tables.workbooks import LONGEST_TEXT, address, sheet_cells

FIXED = ("rule", "use", "class", "comment", "trust", "stability")
MEASURED = ("rows it fires on", "right when it fires", "finds")
"""Columns of statistics, which are empty where rules were not measured; nothing reads them back."""
Cell: TypeAlias = str | int | float | None
CONDITION = "condition"
SHEET = "rules"
FEWEST_CONDITIONS = 4
"""There are at least so many columns for conditions, to add some."""
_USED = {"yes": True, "on": True, "true": True, "1": True, "x": True, "": True,
         "no": False, "off": False, "false": False, "0": False}  # fmt: skip


def to_xlsx(rules: Any, *, statistics: RuleStatistics | StatisticsRecord | None = None) -> bytes:
    """Return the rules as an Excel workbook; `from_xlsx` reads what people changed in it.

    Args:
        rules: a rule set, an explanation, or an exact model.
        statistics: what was measured of the rules, shown beside them. Default: None.

    >>> from logiclens.formula import Rule, parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),))
    >>> to_xlsx(rules)[:2]
    b'PK'
    """
    import xlsxwriter  # type: ignore[import-untyped]

    known = rules_of(rules)
    out = io.BytesIO()
    with scratch_folder() as scratch:
        book = xlsxwriter.Workbook(
            out, {"tmpdir": str(scratch), "strings_to_formulas": False, "strings_to_urls": False, "in_memory": True}
        )
        # The same rules give the same bytes.
        book.set_properties({"created": datetime(2000, 1, 1)})
        sheet, about = book.add_worksheet(SHEET), book.add_worksheet("about")
        bold, percent = book.add_format({"bold": True}), book.add_format({"num_format": "0.0%"})
        table = _table(known, statistics)
        for row, cells in enumerate(table):
            for column, cell in enumerate(cells):
                if isinstance(cell, int):
                    sheet.write_number(row, column, cell)
                elif isinstance(cell, float):
                    sheet.write_number(row, column, cell, percent)
                elif cell:
                    _write(sheet, row, column, str(cell), bold if row == 0 else None)
        sheet.freeze_panes(1, 3)
        sheet.data_validation(1, 1, len(table) + 100, 1, {"validate": "list", "source": ["yes", "no"]})
        sheet.set_column(2, len(table[0]), 18)
        about.set_column(0, 0, 100)
        for row, sentence in enumerate(_about(known)):
            _write(about, row, 0, sentence, None)
        book.close()
    return out.getvalue()


def _write(sheet: Any, row: int, column: int, text: str, form: Any) -> None:
    if len(text) > LONGEST_TEXT:
        raise LogicLensError(
            f"a cell holds at most {LONGEST_TEXT:,} characters, {address(column, row + 1)} needs more."
        )
    sheet.write_string(row, column, text, form)


def _about(rules: RuleSet) -> list[str]:
    return [
        who_decides(rules),
        "Each row of the sheet 'rules' is one rule: it applies where all its conditions hold.",
        "Write no into 'use' to leave a rule out. Change, add or remove conditions, add rows; say why in 'comment'.",
        "A condition: age >= 70, age < 70, unit is MICU, unit is not MICU, smoker, not smoker, bmi is missing.",
        "Figures and stability are not read back: logiclens import measures again.",
    ]


def _table(rules: RuleSet, statistics: RuleStatistics | StatisticsRecord | None) -> list[list[Cell]]:
    longest = max([FEWEST_CONDITIONS, *(len(cube) for rule in rules.rules for cube in rule.cubes)])
    header: list[Cell] = [*FIXED, *MEASURED, *(f"{CONDITION} {n}" for n in range(1, longest + 1))]
    table = [header]
    for place, rule in enumerate(rules.rules):
        for at, (cube, confidence, stability) in enumerate(
            zip(rule.cubes, rule.confidence, rule.recurrence, strict=False)
        ):
            texts = [condition_text(literal, rules) for literal in cube] or [ALWAYS]
            figures: list[Cell] = [None] * len(MEASURED)
            if statistics is not None:
                one = statistics.classes[place].cubes[at]
                fires = one.support.hits
                figures = [int(fires) if fires == int(fires) else fires, _share(one.confidence), _share(one.coverage)]
            # Without rows, a confidence is 0.
            trust = float(confidence) or None
            comment = comment_of(rules, place, cube)
            table.append([f"{rule.name}#{at + 1}", "yes", rule.name, comment, trust, stability, *figures, *texts])
    return table


def _share(share: Share | ShareRecord) -> float | None:
    return share.hits / share.total if share.total else None


def from_xlsx(
    source: bytes | str | Path,
    rules: Any,
    *,
    note: Note = NO_NOTE,
    name: str | None = None,
    measure: Measure | None = None,
) -> RuleSet:
    """Return the rules of a sheet that `to_xlsx` wrote and people changed, with a line in the history per change.

    Args:
        source: the workbook, as bytes or as the name of a file.
        rules: the rules that were written to it.
        note: by whom and when it was edited. Default: unknown.
        name: what messages call the workbook. Default: its name.
        measure: a function that measures rules, called after each edit. Default: None, not measured.

    Raises:
        LogicLensError: with the address of the cell, if it cannot be read.

    >>> from logiclens.formula import Rule, parse
    >>> rules = RuleSet((Rule("ill", parse("old & ~smoker"), (0.9,)),))
    >>> from_xlsx(to_xlsx(rules), rules) == rules
    True
    """
    known = rules_of(rules)
    called = name or ("the workbook" if isinstance(source, bytes) else str(source))
    if isinstance(source, bytes):
        with tempfile.NamedTemporaryFile(suffix=".xlsx") as file:
            file.write(source)
            file.flush()
            cells = sheet_cells(Path(file.name), called, SHEET)
    else:
        try:
            cells = sheet_cells(checked_path(source), called, SHEET)
        except OSError as error:
            raise LogicLensError(f"{named(source)} cannot be read: {error.strerror or error}.") from None
    columns = _columns(cells, called)
    rows = sorted({row for row, _ in cells if row > 1})
    lines: list[Line] = []
    for row in rows:
        if (line := _line(cells, row, columns, known, called, lines)) is not None:
            lines.append(line)
    return changed(known, lines, note, measure=measure)


def _columns(cells: Mapping[tuple[int, int], str], called: str) -> dict[str, list[int]]:
    """Return the places of the columns by their names; several are conditions."""
    found: dict[str, list[int]] = {}
    for (row, column), text in sorted(cells.items()):
        if row != 1:
            continue
        title = text.strip().lower()
        kind = CONDITION if title.startswith(CONDITION) else title
        if kind not in (*FIXED, *MEASURED, CONDITION):
            near = nearest(kind, [*FIXED, *MEASURED, f"{CONDITION} 1"])
            hint = f"did you mean {quoted(near)}?" if near else f"the columns are {quoted_names([*FIXED, CONDITION])}."
            raise LogicLensError(
                f"cell {address(column, 1)} of {called} names no column of rules, {quoted(text)}; {hint}"
            )
        if kind != CONDITION and kind in found:
            raise LogicLensError(f"cell {address(column, 1)} of {called} names the column {quoted(text)} again.")
        found.setdefault(kind, []).append(column)
    for needed in ("class", CONDITION):
        if needed not in found:
            raise LogicLensError(f"the first row of {called} must name the columns, and lacks {quoted(needed)}.")
    return found


def _line(
    cells: Mapping[tuple[int, int], str],
    row: int,
    columns: Mapping[str, list[int]],
    rules: RuleSet,
    called: str,
    above: Sequence[Line],
) -> Line | None:
    def raw(kind: str) -> str:
        return cells.get((row, columns[kind][0]), "") if kind in columns else ""

    def text(kind: str) -> str:
        return raw(kind).strip()

    def where(kind: str) -> str:
        return f"cell {address(columns[kind][0], row)} of {called}"

    titled = {column for places in columns.values() for column in places}
    for (at, column), cell in cells.items():
        if at == row and column not in titled:
            raise LogicLensError(f"cell {address(column, row)} of {called} holds {quoted(cell)} below no title.")
    filled = [column for column in columns[CONDITION] if cells.get((row, column), "").strip()]
    if not filled and not text("class") and not text("rule"):
        return None
    # Names of classes may differ in spaces only: the exact one counts first.
    label = raw("class") if raw("class") in rules.names else text("class")
    if label not in rules.names:
        names = quoted_names(rules.names)
        raise LogicLensError(f"{where('class')} must name a class, {names}, got {quoted(text('class'))}.")
    place = rules.names.index(label)
    try:
        written = written_rule(raw("rule"), rules, above)
    except LogicLensError as error:
        raise LogicLensError(f"{where('rule')}: {error}") from None
    use = text("use").lower()
    # A row that somebody added may leave it empty.
    if use not in _USED or (not use and text("rule") and "use" in columns):
        raise LogicLensError(f"{where('use')} must be yes or no, got {quoted(text('use'))}.")
    conditions: list[Condition] = []
    for column in filled:
        cell = cells[row, column].strip()
        if cell.lower() == ALWAYS.lower() and len(filled) == 1:
            continue
        try:
            conditions += read_conditions(cell, rules)
        except LogicLensError as error:
            raise LogicLensError(f"cell {address(column, row)} of {called}: {error}") from None
    line = Line(place, tuple(conditions), f"row {row} of {called}", text("comment") or None, _USED[use], written)
    if not filled:
        first = f"cell {address(columns[CONDITION][0], row)} of {called}"
        raise LogicLensError(f"{first}: a rule needs at least one condition; write no into 'use' to leave it out.")
    return line
