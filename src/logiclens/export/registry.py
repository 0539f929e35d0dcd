"""The export formats, one entry each: the command line, its help, `logiclens.export` and the documentation read them.

`rules_of` finds the rules in what an export is given. Nothing is loaded until a format is used, so that
`logiclens --help` stays fast.
"""

from __future__ import annotations

import importlib
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
    """

    name: str
    title: str
    module: str
    function: str
    help: str
    suffix: str
    options: tuple[str, ...] = ()

    def text(self, rules: Any, **options: str) -> str:
        """Return the rules in this format; options that it does not take are ignored."""
        function = getattr(importlib.import_module(self.module), self.function)
        taken = {name: value for name, value in options.items() if name in self.options}
        return str(function(rules, **taken))


FORMATS: tuple[ExportFormat, ...] = (
    ExportFormat(
        "sql", "SQL", "logiclens.export.sql", "to_sql", "a query that predicts each row of a table", ".sql",
        options=("dialect", "table"),
    ),
    ExportFormat(
        "python", "Python", "logiclens.export.python", "to_python", "a function predict(row) without imports", ".py"
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
    """Return the rules of a rule set, an explanation or an exact model; raise an error for anything else."""
    from logiclens.formula.rule_set import RuleSet

    if isinstance(given, RuleSet):
        return given
    for name in ("rules_", "rules"):
        rules = getattr(given, name, None)
        if isinstance(rules, RuleSet):
            return rules
    raise LogicLensError(
        f"rules are exported from a RuleSet, an explanation or an exact model, got {type(given).__name__}: "
        "pass model.explain() or its rules."
    )
