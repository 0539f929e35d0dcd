"""`logiclens why`, `flip` and `check`: questions to the rules of a saved model."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logiclens.cli.options import TableSource
from logiclens.cli.output import STANDARD, Printer, check_outputs, write_json
from logiclens.errors import LogicLensError, named, nearest, no_column, quoted, quoted_names
from logiclens.formula.check import Check, Property, parse_property
from logiclens.formula.flip import Flip
from logiclens.formula.knowledge import Knowledge
from logiclens.formula.model_record import read_record
from logiclens.formula.rule_set import RuleSet
from logiclens.formula.rules import DecisionRules
from logiclens.formula.why import ClassReason, Why
from logiclens.storage import ModelFolder, open_folder

if TYPE_CHECKING:
    from logiclens.cli.saved_model import SavedModel

MOST_SHOWN = 10
"""The most rows of a table that are answered if the user names none."""
MOST_ROWS = 1_000
"""The most rows that the user may name."""
READ_TRUST = (
    "note: trust is how often a rule is right at least, on the rows that it was made from: the lower end of the 95% "
    "interval."
)
WITH_COMMA = """--row '"job=a,b",age=70'"""
"""How a value with a comma is written, as the shell takes it."""
GIVEN = "--row"
"""The name of rows on the command line in messages."""


@dataclass(frozen=True)
class RowSource:
    """The rows of a question: written on the command line, or numbers of rows of a table."""

    given: tuple[str, ...] = ()
    table: TableSource | None = None
    numbers: str | None = None

    def check(self) -> None:
        """Refuse no rows, rows from two places, and numbers that cannot be read."""
        if bool(self.given) == (self.table is not None):
            raise LogicLensError(
                "name the row with --row age=70,sex=man, or a table DATA with --rows 1-5: one of them."
            )
        if self.table is not None and "=" in (asked := str(self.table.source)) and not os.path.exists(asked):
            raise LogicLensError(f"there is no file {named(asked)}; a row is given as --row {named(asked)}.")
        if self.numbers is not None:
            if self.table is None:
                raise LogicLensError("--rows picks rows of a table: name the table after the model.")
            row_numbers(self.numbers)


def row_numbers(text: str) -> list[int]:
    """Return the numbers that a text such as `1,5-7` names, counted from 1."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*([0-9]{1,15})(?:\s*-\s*([0-9]{1,15}))?\s*", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise LogicLensError(f"--rows must be numbers counted from 1, such as 3 or 1,5-7, got {quoted(text)}.")
        if len(found) + last - first >= MOST_ROWS:
            raise LogicLensError(f"--rows names more than {MOST_ROWS:,} rows: use logiclens predict --why for so many.")
        found.extend(range(first, last + 1))
    return list(dict.fromkeys(found))


def answer_why(folder: Path, source: RowSource, *, json: str | None, quiet: bool) -> None:
    """Print for each row which rule decides and what every other rule lacks."""
    rows = _Questions(folder, source, json, quiet=quiet)
    told = []
    for number, row in rows:
        reasons = rows.model.rules.why(row)
        gaps = () if reasons.decided is None else rows.model.gaps.get(reasons.decided.cube, ())
        told.append({"row": number, **_why(reasons), "gaps": [asdict(count) for count in gaps]})
        lines = [f"of the held-out rows on which this rule fires, {count}" for count in gaps]
        because, *rest = str(reasons).split("\n")
        rows.say(number, "\n".join([because, *lines, *rest]))
    rows.write(told, READ_TRUST)


def answer_flip(
    folder: Path,
    source: RowSource,
    *,
    to: str | None,
    of: str | None,
    freeze: Sequence[str],
    json: str | None,
    quiet: bool,
) -> None:
    """Print for each row the smallest change that changes its answer."""
    rows = _Questions(folder, source, json, quiet=quiet)
    rules = rows.model.rules
    known = rows.model.known_columns
    freeze = [name for given in freeze for name in ([given] if given in known else map(str.strip, given.split(",")))]
    for name in freeze:
        if name not in known:
            raise no_column(name, known, "the model", " to freeze")
    if rules.multilabel and of is None:
        raise LogicLensError(
            f"this model gives several labels a row: say --of LABEL, one of {quoted_names(rules.names)}."
        )
    frozen = [name for name in freeze if name in rules.columns]
    told: list[dict[str, Any]] = []
    for number, row in rows:
        if to is not None and _answer(rules, row) == rules.rule(to).name:
            told.append({"row": number, "before": rules.rule(to).label, "after": rules.rule(to).label, "changes": []})
            rows.say(number, f"{rules.class_heading(rules.rule(to).label)} already")
            continue
        change = rules.flip(row, frozen=frozen, to=to, of=of)
        told.append({"row": number, **_flip(change)})
        rows.say(number, str(change))
    rows.write(told)


def answer_check(folder: Path, properties: Sequence[str], *, of: str | None, json: str | None, quiet: bool) -> int:
    """Print whether the rules have each property on all possible rows; return the exit code.

    Without a property, every constraint of the model's knowledge is proved again.
    """
    check_outputs(json)
    wanted = [_named(parse_property, text, properties, text) for text in properties]
    opened = open_folder(folder)
    record = read_record(opened)
    if record.rules is None:
        raise LogicLensError(f"{folder} holds no rules.")
    written = record.settings.get("knowledge")
    if not wanted:
        if of is not None:
            raise LogicLensError(
                "--of picks a class for a property: name a property too, such as \"never uses 'sex'\"."
            )
        if written is None:
            raise LogicLensError(
                f"{named(folder)} has no knowledge to prove: name a property, such as logiclens check "
                f"{named(folder)} \"never uses 'sex'\"."
            )
        return _prove_knowledge(folder, opened, exact=record.exact, json=json, quiet=quiet)
    removed = () if written is None else Knowledge.from_dict(written).removed
    rules = RuleSet.from_dict(opened.content["rules"])
    known = list(dict.fromkeys((*(record.columns or record.concepts), *record.predicates, *rules.concepts, *removed)))

    def answer(asked: Property) -> Check:
        column = getattr(asked, "column", None)
        if column is not None and column not in known:
            raise no_column(column, known, "the model")
        found = rules.check(asked, of=of)
        if found.holds and column in removed:
            return replace(found, reason=f"the knowledge of the model forbids {column!r}, and no rule mentions it")
        return found

    results = [_named(answer, asked, properties, text) for asked, text in zip(wanted, properties, strict=True)]
    content = [
        {
            "property": str(result.property),
            "holds": result.holds,
            "reason": result.reason,
            "classes": [{"class": part.label, "holds": part.holds, "reason": part.reason} for part in result.classes],
        }
        for result in results
    ]
    write_json({"model": str(folder), "exact": record.exact, "properties": content}, json)
    printer = Printer(quiet=quiet or json == STANDARD, notes=not quiet)
    for result in results:
        printer.say(str(result))
    _note(printer, exact=record.exact)
    return int(not all(result.holds for result in results))


def _named(answer: Callable[[Any], Any], asked: Any, properties: Sequence[str], text: str) -> Any:
    """Return an answer; of several properties, an error says which one it is about."""
    try:
        return answer(asked)
    except LogicLensError as error:
        if len(properties) == 1 or quoted(text) in str(error):
            raise
        raise LogicLensError(f"the property {quoted(text)}: {error}") from None


def _prove_knowledge(folder: Path, opened: ModelFolder, *, exact: bool, json: str | None, quiet: bool) -> int:
    """Prove every constraint of the knowledge of a model again, from its folder alone; return the exit code."""
    # Imported here, because it loads scikit-learn.
    from logiclens.estimator.classifier import EntropyClassifier

    proofs = EntropyClassifier.load(opened).knowledge_proofs()
    content = [{"constraint": one.constraint, "holds": one.holds, "reason": one.reason} for one in proofs]
    write_json({"model": str(folder), "exact": exact, "knowledge": content}, json)
    printer = Printer(quiet=quiet or json == STANDARD, notes=not quiet)
    for one in proofs:
        printer.say(str(one))
    if not proofs:
        printer.say("the knowledge of this model binds no rule: there is nothing to prove")
    _note(printer, exact=exact)
    return int(not all(one.holds for one in proofs))


def _note(printer: Printer, *, exact: bool) -> None:
    if not exact:
        printer.note(
            "note: the rules answer. They are about the network, which may answer otherwise: logiclens predict --why "
            "says where it does."
        )


class _Questions:
    """The rows of a question with the model that answers, and what was said about them."""

    def __init__(self, folder: Path, source: RowSource, json: str | None, *, quiet: bool) -> None:
        source.check()
        data = None if source.table is None else source.table.source
        check_outputs(json, data=data)
        # Imported here, because it loads pandas.
        from logiclens.cli.saved_model import SavedModel

        self.model: SavedModel = SavedModel(folder, by_rules=True)
        self.json, self.quiet, self.source = json, quiet, source
        self.notes: list[str] = []
        self._lines: list[tuple[int, str]] = []
        self._rows = self._read()

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """Yield each row, as a table of one row, with its number from 1."""
        for place in range(len(self._rows)):
            number, row = int(self._rows.index[place]) + 1, self._rows.iloc[[place]]
            self._note_unseen(number, row)
            yield number, row

    def _note_unseen(self, number: int, row: Any) -> None:
        """Note texts of a row that no training row had: they may be misspelled; and fractions among whole numbers."""
        rules = self.model.rules
        held = {column: row[column].iloc[0] for column in rules.columns if column in row.columns}
        for column in rules.facts.whole:
            value = held.get(column)
            if isinstance(value, float) and math.isfinite(value) and value % 1:
                told = f"{column!r} held whole numbers in training: of {value:g}, “to {value // 1:g}” holds too"
                self.notes.append(f"note: {told}, because it means below {value // 1 + 1:g}.")
        for column, categories in rules.facts.categories.items():
            value = held.get(column)
            if isinstance(value, str) and value not in categories:
                near = nearest(value, categories)
                hint = f"did you mean {quoted(near)}?" if near is not None else f"seen were {quoted_names(categories)}."
                where = "" if self.source.given and len(self._rows) == 1 else f"row {number}: "
                self.notes.append(f"note: {where}no training row has {quoted(value)} in {quoted(column)}; {hint}")

    def _read(self) -> Any:
        if self.source.table is None:
            return given_rows(self.source.given, self.model)
        file = self.source.table.table()
        rows = self.model.rows(file.frame, file.name)
        if self.source.numbers is None:
            if len(rows) > MOST_SHOWN:
                self.notes.append(
                    f"note: these are the first {MOST_SHOWN} of {len(rows):,} rows; say --rows to see others."
                )
            return rows.head(MOST_SHOWN)
        places = [number - 1 for number in row_numbers(self.source.numbers)]
        if places and max(places) >= len(rows):
            raise LogicLensError(f"{file.name} has {len(rows):,} rows, --rows asks for row {max(places) + 1:,}.")
        return rows.iloc[places]

    def say(self, number: int, text: str) -> None:
        """Keep what is printed about a row until every row is answered."""
        self._lines.append((number, text))

    def write(self, told: list[dict[str, Any]], reading: str = "") -> None:
        """Write the answers as JSON and print them, then what explains a word of them."""
        write_json({"model": str(self.model.folder), "exact": self.model.exact, "rows": told}, self.json)
        printer = Printer(quiet=self.quiet or self.json == STANDARD, notes=not self.quiet)
        for place, (number, text) in enumerate(self._lines):
            if len(self._lines) == 1 and self.source.given:
                printer.say(text)
                continue
            head, *rest = text.split("\n")
            if place and rest:
                printer.say()
            printer.say("\n".join([f"row {number}: {head}", *rest]))
        if reading:
            printer.note(reading)
        for note in self.notes:
            printer.note(note)
        _note(printer, exact=self.model.exact)


def given_rows(texts: Sequence[str], model: SavedModel) -> Any:
    """Return rows such as `age=70,sex=man` as a table with the types that the same cells of a file would have.

    Fields are separated as in CSV, so that a name or value with a comma stands in quotation marks. `age=` has no value.
    """
    from logiclens.cli.tables import check_cells
    from logiclens.tables.files import read_table

    rows = [_fields(text, model.known_columns) for text in texts]
    for row in rows:
        if lacking := [column for column in model.columns if column not in row]:
            raise LogicLensError(
                f"the row lacks {quoted(lacking[0])}, which the rules need: say {named(lacking[0])}=VALUE, or "
                f"{named(lacking[0])}= if it has none."
            )
    if not model.columns:
        import pandas as pd

        return pd.DataFrame(index=range(len(rows)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(model.columns)
    writer.writerows([row[column] for column in model.columns] for row in rows)
    content = io.BytesIO(text.getvalue().encode("utf-8", "surrogateescape"))
    frame = read_table("-", delimiter=",", stream=content).frame
    check_cells(frame, of_file=False)
    return model.rows(frame, GIVEN)


def _fields(text: str, columns: Sequence[str]) -> dict[str, str]:
    """Return the cells of a row that is written `column=value,…`."""
    try:
        [fields] = csv.reader([text.replace("\n", " ")], strict=True)
    except (ValueError, csv.Error):
        raise LogicLensError(
            f"--row {quoted(text)} cannot be read: write age=70,sex=man; a field with a comma stands in double quotes: "
            f"{WITH_COMMA}."
        ) from None
    row: dict[str, str] = {}
    for field in fields:
        # A name may contain the sign itself.
        parts = [field[:place] for place, sign in enumerate(field) if sign == "="]
        if not parts:
            raise LogicLensError(
                f"--row needs column=value, such as age=70,sex=man, got {quoted(field)}; a field with a comma stands "
                f"in double quotes: {WITH_COMMA}."
            )
        name = next((part for part in reversed(parts) if part.strip() in columns), parts[0])
        if name.strip() not in columns:
            raise no_column(name.strip(), columns, "the model")
        if name.strip() in row:
            raise LogicLensError(f"--row names {quoted(name.strip())} twice: leave one out.")
        row[name.strip()] = field[len(name) + 1 :].strip()
    return row


def _answer(rules: DecisionRules, row: Any) -> str | None:
    """Return the name of the class of one row; None if undecided."""
    place = int(rules.predict_places(row)[0])
    return rules.names[place] if place >= 0 else None


def _why(reasons: Why) -> dict[str, Any]:
    answer = list(reasons.answer) if isinstance(reasons.answer, tuple) else reasons.answer
    return {
        "answer": answer,
        "because": reasons.because,
        "classes": [_class(reason) for reason in reasons.classes],
    }


def _class(reason: ClassReason) -> dict[str, Any]:
    cubes = reason.unless if reason.is_complement else reason.cubes
    return {
        "class": reason.label,
        "fires": reason.fires,
        "otherwise": reason.is_complement,
        "rules": [
            {
                "rule": cube.words,
                "fires": cube.fires,
                "confidence": cube.confidence,
                "lacks": [{"column": lack.column, "wanted": lack.wanted, "told": lack.told} for lack in cube.failed],
            }
            for cube in cubes
        ],
    }


def _flip(change: Flip) -> dict[str, Any]:
    return {
        "before": change.before,
        "after": change.after,
        "changes": [{"columns": list(each.columns), "wanted": each.wanted, "was": each.was} for each in change.changes],
        "reason": change.reason,
    }
