"""The session of one server: the work that is open, and what the page can ask of it."""

from __future__ import annotations

import io
import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from logiclens.errors import LogicLensError, no_column, quoted
from logiclens.export.registry import format_named
from logiclens.formula.column_kinds import Scalar
from logiclens.formula.model_record import read_record
from logiclens.formula.rule_set import RuleSet
from logiclens.report.panel import Field, panel_fields
from logiclens.report.result import Result, read_result
from logiclens.storage import open_folder, scratch_folder, write_whole
from logiclens.studio.choices import Choices, TableView, check_choices, problem_of, sent_text, table_view
from logiclens.studio.editing import Editor, forget_versions, kept_edits
from logiclens.studio.learning import Learning
from logiclens.studio.work import MODEL, Gone, Kept, Work, kept_works, private_folder, remove_old, suffix_of_upload
from logiclens.tables.demo import breast_cancer

INTERRUPTED = "Learning was interrupted: start it again."


class OutOfDate(LogicLensError):
    """The page is older than the work: another tab has changed it."""

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__("the work has changed in another tab; the page now shows it: try again.")


@dataclass(frozen=True)
class Download:
    """A file for the browser to save."""

    name: str
    content: bytes
    media_type: str


class Session:
    """The work that is open, and the worker that learns.

    Every change counts `revision` up, so that each tab knows whether it shows the last one. Requests are answered one
    at a time.

    Args:
        root: the folder of all works.
    """

    def __init__(self, root: Path) -> None:
        """Remove works that became too old while no server ran."""
        self.root, self.revision = private_folder(root), 0
        self.work: Work | None = None
        self.learning: Learning | None = None
        self.guard = threading.RLock()
        self._views: dict[str, Any] = {}
        self._editor: Editor | None = None
        self._remove_old()

    # What there is ---------------------------------------------------------------------------------------------------

    @property
    def stage(self) -> str:
        """How far the work is: `start` without one."""
        return "start" if self.work is None else self.work.record.stage

    def opened(self, *stages: str) -> Work:
        """Return the work; refuse what cannot be asked at this stage."""
        if self.work is None or self.work.record.stage not in stages:
            raise LogicLensError(f"this cannot be done now: the work is at the step “{self.stage}”.")
        return self.work

    def known(self, name: str, made: Callable[[], Any]) -> Any:
        """Return what was made before, or make it; a change of the work forgets it."""
        if name not in self._views:
            self._views[name] = made()
        return self._views[name]

    def view(self) -> TableView:
        """Return the description of the table."""
        work = self.opened("columns")
        found: TableView = self.known("table", lambda: table_view(work.table.frame))
        return found

    def result(self) -> Result:
        """Return the result of the learned rules, measured on held-out rows."""
        work = self.opened("rules")
        if self._editor is not None:
            # An edit changes neither the model nor its result.
            return self._editor.learned
        found: Result = self.known("result", lambda: read_result(open_folder(work.model).result()))
        return found

    def editor(self) -> Editor:
        """Return the versions of the rules; refuse a work without a table."""
        work = self.opened("rules")
        if not work.record.suffix:
            raise LogicLensError("edits are measured on a table: choose the table of this model first.")
        if self._editor is None:
            self._editor = Editor(work, self.result())
        return self._editor

    def shown(self) -> Result:
        """Return the result of the rules that the page shows: as learned, or as edited and measured in training."""
        if not self.opened("rules").record.suffix:
            return self.result()
        editor = self.editor()
        found: Result = self.known("shown", lambda: editor.result(editor.measured()))
        return found

    def report(self) -> Result:
        """Return the result for the report, which is measured on held-out rows; of an edited version that is a look.

        Where no rows were held out, because a table was given to a model, it is measured on the rows of the table.
        """
        if not self.opened("rules").record.suffix or not self.editor().at:
            return self.result()
        editor = self.editor()
        if not editor.has_held_out:
            return editor.result(editor.measured(), for_report=True)
        if editor.held_out_right() is None:
            editor.look()
            self.changed()
        return editor.result(editor.measured_aside(), is_held_out=True, for_report=True)

    def cannot_write(self, error: OSError) -> str:
        """Say that something cannot be written, for example because the disk is full."""
        return f"the studio cannot write into {self.root}: {error.strerror or error}."

    def check_revision(self, known: object) -> None:
        """Refuse what a page asks that shows an earlier revision, or names none."""
        # In Python, True and 1.0 equal 1.
        if type(known) is not int or known != self.revision:
            raise OutOfDate

    def changed(self) -> None:
        """Count a change."""
        self.revision += 1
        self._views.clear()

    # Beginning and ending --------------------------------------------------------------------------------------------

    def kept(self) -> list[Kept]:
        """Return the works that can be gone on with; those that became too old while the server ran are removed."""
        self._remove_old()
        return kept_works(self.root)

    def _remove_old(self) -> None:
        remove_old(self.root, but=None if self.work is None else self.work.folder)

    def _begin(self, name: str, suffix: str) -> Work:
        with self.guard:
            self._remove_old()
        return Work.begin(self.root, name, suffix)

    def begin(self, name: str) -> Work:
        """Make the folder of a new upload; `take` opens it when the upload is whole."""
        return self._begin(name, suffix_of_upload(name))

    def take(self, work: Work) -> None:
        """Open a new work whose upload is whole, in place of the one that is open, which stays in its folder."""
        if not len(work.table.frame.columns):
            raise LogicLensError(f"{work.record.name} has no columns.")
        self._open(work)

    def _open(self, work: Work) -> None:
        """Keep a new work whose files are whole, and open it."""
        with self.guard:
            work.keep()
            self._leave()
            self.work = work
            self.changed()

    def example(self) -> None:
        """Open the bundled example."""
        raw = breast_cancer()
        with self._begin("tumours.csv", ".csv").removed_on_failure() as work:
            write_whole(work.upload, raw.frame.assign(diagnosis=raw.labels).to_csv(index=False))
            self.take(work)

    def open_model(self, folder: Path) -> None:
        """Open a copy of a saved model."""
        opened = open_folder(folder)
        read_result(opened.result())
        with self._begin(folder.name, "").removed_on_failure() as work:
            (work.folder / MODEL).mkdir()
            for name, content in opened.files.items():
                write_whole(work.folder / MODEL / name, content)
            work.record = replace(work.record, stage="rules")
            self._open(work)

    def open_table(self, path: Path) -> None:
        """Open a copy of a table."""
        with self.begin(path.name).removed_on_failure() as work:
            try:
                shutil.copyfile(path, work.upload)
            except OSError as error:
                raise LogicLensError(f"cannot read {path}: {error.strerror or error}.") from None
            self.take(work)

    def open_kept(self, key: str) -> None:
        """Go on with a work of an earlier start. Learning that was interrupted is at the columns again."""
        if key not in [kept.key for kept in self.kept()]:
            raise Gone
        work = Work.opened(self.root / key)
        if work.record.stage == "learning":
            try:
                work.change(stage="columns", problem=INTERRUPTED)
            except BaseException:
                work.leave()
                raise
        self._leave()
        self.work = work
        self.changed()

    def close(self) -> None:
        """Close the work, and remove its folder with the upload."""
        self._leave(removes=True)
        self.changed()

    def _leave(self, *, removes: bool = False) -> None:
        """Leave the work in its folder, or remove it; a worker ends."""
        learning, self.learning = self.learning, None
        if learning is not None:
            learning.cancel()
        if self.work is not None and removes:
            self.work.remove()
        elif self.work is not None:
            if self.work.record.stage == "learning":
                to_columns(self.work, INTERRUPTED)
            self.work.leave()
        self.work = self._editor = None

    def end(self) -> None:
        """End with the server: the worker is stopped, the work stays in its folder."""
        with self.guard:
            self._leave()

    # Learning --------------------------------------------------------------------------------------------------------

    def learn(self, choices: Choices) -> None:
        """Check the choices, and start a worker."""
        work = self.opened("columns")
        check_choices([str(column) for column in work.table.frame.columns], work.record.name, choices)
        problem_of(work.table, choices)
        work.change(choices=choices, stage="learning", problem="")
        folder = work.folder
        try:
            self.learning = Learning(folder, lambda sentence: self._learned(folder, sentence))
        except OSError:
            to_columns(work, INTERRUPTED)
            raise
        self.changed()

    def _learned(self, folder: Path, sentence: str | None) -> None:
        """Note that the worker has ended."""
        with self.guard:
            work = self.work
            if sentence is None or work is None or work.folder != folder:
                return
            self.learning = None
            if not sentence:
                # Versions of the rules that were learned before are of another model.
                self._editor = None
                try:
                    forget_versions(folder)
                    work.change(stage="rules", problem="", learned=None, model="")
                except OSError as error:
                    sentence = self.cannot_write(error)
            if sentence:
                to_columns(work, sentence)
            self.changed()

    def cancel(self) -> None:
        """Stop learning, and go back to the columns."""
        work = self.opened("learning")
        learning, self.learning = self.learning, None
        if learning is not None:
            learning.cancel()
        to_columns(work, "Learning was cancelled.")
        self.changed()

    def back(self) -> None:
        """Go back from the rules to the columns, to learn again."""
        work = self.opened("rules")
        if not work.record.suffix:
            raise LogicLensError("this work began with a model, and has no table to learn from.")
        sha256 = self.result().model_sha256 or ""
        work.change(stage="columns", problem="", learned=work.record.choices, model=sha256)
        self.changed()

    @property
    def can_return(self) -> bool:
        """Whether the rules that were learned before are still there while columns are chosen."""
        work = self.work
        if work is None or work.record.stage != "columns" or work.record.learned is None:
            return False
        # A worker whose server was killed may have left another model.
        return read_result(open_folder(work.model).result()).model_sha256 == work.record.model

    def forth(self) -> None:
        """Go back to the rules that were learned before, with their edits."""
        work = self.opened("columns")
        if not self.can_return:
            raise LogicLensError("there are no rules yet: learn them.")
        work.change(stage="rules", problem="", choices=work.record.learned, learned=None, model="")
        self.changed()

    @property
    def edits(self) -> int:
        """How many versions of the rules would be lost with the work."""
        if self._editor is not None:
            return len(self._editor.versions) - 1
        return 0 if self.work is None else kept_edits(self.work.folder)

    # Questions about the rules ---------------------------------------------------------------------------------------

    def attach(self, new: Work) -> None:
        """Give a work that began with a model the table of an upload, to measure edits on."""
        work, result = self.opened("rules"), self.result()
        if work.record.suffix:
            raise LogicLensError("this work has a table already.")
        frame, target = new.table.frame, result.data.target
        columns = [str(column) for column in frame.columns]
        for column in (target, *read_record(open_folder(work.model)).needed_columns):
            if column not in columns:
                raise no_column(column, columns, new.record.name, ", which the model needs")
        needed = {target, *read_record(open_folder(work.model)).needed_columns}
        above = read_record(open_folder(work.model)).cuts_of_target
        choices = Choices(
            target,
            tuple(column for column in columns if column not in needed),
            None if above is None else above.thresholds[0],
        )
        problem_of(new.table, choices)
        os.replace(new.upload, work.folder / f"table{new.record.suffix}")
        work.change(suffix=new.record.suffix, choices=choices, table=new.record.name)
        work.__dict__.pop("table", None)
        new.remove()
        self.changed()

    def fields(self) -> tuple[Field, ...]:
        """Return the fields of a row to try."""
        found: tuple[Field, ...] = self.known("fields", self._fields)
        return found

    def _fields(self) -> tuple[Field, ...]:
        fields = panel_fields(self.shown())
        return tuple(map(self.editor().field, fields)) if self.opened("rules").record.suffix else fields

    def try_row(self, values: Mapping[str, Any]) -> Any:
        """Return why the rules answer as they do on a row: one text, or the place of a choice, for each field."""
        row: dict[str, Scalar | None] = {}
        for place, field in enumerate(self.fields()):
            row[field.column] = cell(field, sent_text(values, f"value-{place}"))
        return self.shown().rules.why(row)

    def export(self, name: str) -> Download:
        """Return the rules in a format, or the model folder with its certificate."""
        work = self.opened("rules")
        rules = self.editor().signed() if work.record.suffix else self.result().rules
        if name == "model":
            return Download("model.zip", self._model_files(work, rules), "application/zip")
        found = format_named(name)
        kind = "application/octet-stream" if found.is_binary else "text/plain; charset=utf-8"
        return Download(f"rules{found.suffix}", found.content(rules), kind)

    def _model_files(self, work: Work, rules: RuleSet) -> bytes:
        """Return the model folder as a zip file: as learned, or with edited rules compiled and certified anew."""
        if not work.record.suffix or not self.editor().at:
            return zipped(work.model)
        from logiclens.estimator.classifier import EntropyClassifier

        made = EntropyClassifier.load(work.model).adopt(rules)
        with scratch_folder() as scratch:
            return zipped(made.save(scratch / MODEL))


def to_columns(work: Work, problem: str) -> None:
    """Go back from learning to the columns, also where this cannot be written: on disk, such a work was interrupted."""
    try:
        work.change(stage="columns", problem=problem)
    except OSError:
        work.record = replace(work.record, stage="columns", problem=problem)


def cell(field: Field, text: str) -> Scalar | None:
    """Return the value of a field; None if it is missing. Refuse a text that is none."""
    if field.input == "choice":
        place = int(text) if text.isdecimal() and len(text) < 6 else -1
        if not 0 <= place < len(field.choices):
            raise LogicLensError(f"{quoted(field.column)} is none of the values that the list offers.")
        choice = field.choices[place]
        return "\x00 another value" if choice.is_other else choice.value
    if not text:
        return None
    if field.kind != "number":
        return text
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise LogicLensError(f"{quoted(field.column)} must be a number, got {quoted(text)}.")
    return number


def zipped(folder: Path) -> bytes:
    """Return a model folder as a zip file that holds the folder `model`."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(open_folder(folder).files.items()):
            archive.writestr(zipfile.ZipInfo(f"model/{name}"), content)
    return held.getvalue()
