"""The export formats, one entry each: the command line, its help, `logiclens.export` and the documentation read them.

`rules_of` finds the rules in what an export is given. Nothing is loaded until a format is used, so that
`logiclens --help` stays fast.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from logiclens.errors import LogicLensError, unknown
from logiclens.words import enumeration

if TYPE_CHECKING:
    from logiclens.formula.rule_set import RuleSet


@dataclass(frozen=True)
class ExportFormat:
    """A format that rules can be exported to.

    Attributes:
        name: what `--to` takes.
        title: the name in a sentence.
        module: where the function is.
        function: its name; it takes rules and returns text.
        help: what the text is, in one line.
        suffix: of a file with such text.
        options: keyword arguments that the function takes from the command line.
        is_binary: whether the function returns bytes, which belong into a file.
    """

    name: str
    title: str
    module: str
    function: str
    help: str
    suffix: str
    options: tuple[str, ...] = ()
    is_binary: bool = False

    def content(self, rules: Any, **options: Any) -> bytes:
        """Return a file with the rules in this format; options that it does not take are ignored."""
        made = self._made(rules, options)
        if isinstance(made, bytes):
            return made
        return (made if made.endswith("\n") else f"{made}\n").encode("utf-8")

    def text(self, rules: Any, **options: Any) -> str:
        """Return the rules in this format as text; options that it does not take are ignored."""
        if self.is_binary:
            raise LogicLensError(f"{self.title} is no text: name a file, such as -o rules{self.suffix}.")
        return str(self._made(rules, options))

    def _made(self, rules: Any, options: Mapping[str, Any]) -> str | bytes:
        function = getattr(importlib.import_module(self.module), self.function)
        made: str | bytes = function(rules, **{name: value for name, value in options.items() if name in self.options})
        return made


FORMATS: tuple[ExportFormat, ...] = (
    ExportFormat(
        "sql", "SQL", "logiclens.export.sql", "to_sql", "a query that predicts each row of a table", ".sql",
        options=("dialect", "table"),
    ),
    ExportFormat(
        "python", "Python", "logiclens.export.python", "to_python", "a function predict(row) that needs no package",
        ".py",
    ),
    ExportFormat(
        "json", "JSON", "logiclens.export.json", "to_json", "rules that logiclens reads back, with a schema", ".json"
    ),
    ExportFormat("latex", "LaTeX", "logiclens.export.latex", "to_latex", "formulas as an align* block", ".tex"),
    ExportFormat("english", "English", "logiclens.export.english", "to_english", "one sentence per class", ".txt"),
    ExportFormat(
        "sympy", "sympy", "logiclens.export.sympy", "to_sympy_source", "Python source that makes sympy expressions",
        ".py",
    ),
    ExportFormat("pmml", "PMML", "logiclens.export.pmml", "to_pmml", "a RuleSetModel for scoring engines", ".pmml"),
    ExportFormat("dmn", "DMN", "logiclens.export.dmn", "to_dmn", "a decision table for decision engines", ".dmn"),
    ExportFormat(
        "xlsx", "Excel", "logiclens.export.xlsx", "to_xlsx", "a sheet to edit that logiclens import reads back",
        ".xlsx", options=("statistics",), is_binary=True,
    ),
)  # fmt: skip
"""Every format, in the order of the help."""


def format_named(name: str) -> ExportFormat:
    """Return the format of a name, or raise an error that lists the names.

    >>> format_named("python").suffix
    '.py'
    >>> format_named("qsl")
    Traceback (most recent call last):
    logiclens.errors.LogicLensError: there is no export format 'qsl', did you mean 'sql'? There are sql, python, ...
    """
    for entry in FORMATS:
        if entry.name == name:
            return entry
    raise LogicLensError(unknown("export format", name, [entry.name for entry in FORMATS]))


def format_names() -> str:
    """Return the names of all formats as a list in a sentence."""
    return enumeration([entry.name for entry in FORMATS], last="or")


def help_lines() -> str:
    """Return one line for each format, as the help of the command prints them."""
    width = max(len(entry.name) for entry in FORMATS)
    return "\n".join(f"  {entry.name:<{width}}  {entry.help}" for entry in FORMATS)


def documentation_table() -> str:
    """Return the table of the formats as Markdown."""
    rows = [
        ("`--to`", "in Python", "what it is", "file"),
        ("---",) * 4,
        *(
            (
                f"`{entry.name}`",
                f"`{entry.function}`",
                entry.help,
                f"`{entry.suffix}`",
            )
            for entry in FORMATS
        ),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def rules_of(given: Any) -> RuleSet:
    """Return the rules of a rule set, an explanation, an exact model or a formula; raise an error for anything else.

    The rules of a formula answer True where it holds, and False elsewhere.
    """
    from logiclens.formula.dnf import DNF, Complement, Cube, Literal, as_formula, written
    from logiclens.formula.rule_set import Rule, RuleSet

    if isinstance(given, RuleSet):
        return given
    if isinstance(given, DNF | Complement | Cube | Literal):
        stated, holds = written(as_formula(given)), not isinstance(given, Complement)
        decides = Rule(holds, stated, (1.0,) * len(stated))
        return RuleSet((decides, Rule(not holds, Complement(stated), (1.0,))), resolve="order", otherwise=1)
    for name in ("rules_", "rules"):
        rules = getattr(given, name, None)
        if isinstance(rules, RuleSet):
            return rules
    raise LogicLensError(
        f"rules are exported from a RuleSet, an explanation or an exact model, got {type(given).__name__}: "
        "pass model.explain(), its rules, or a formula."
    )
