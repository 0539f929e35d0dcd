"""The registry of export formats: everything that names formats reads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import logiclens.export
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain import explain_all
from logiclens.export import to_json, to_latex, to_pmml, to_python, to_sql
from logiclens.export.registry import FORMATS, documentation_table, format_named
from tests.cli_runs import ENVIRONMENT, exact
from tests.rigged import GRID, NAMES, xor_net

EXPORTS = [to_sql, to_python, to_json, to_pmml, to_latex]
DOCUMENT = Path(__file__).parents[2] / "docs" / "export.md"
TOY = """
def to_shout(rules, *, table):
    return f"{table.upper()}! {', '.join(rule.name for rule in rules.rules)}!"
"""
WITH_TOY = """
import sys
from logiclens.export import registry
registry.FORMATS += (registry.ExportFormat(
    "shout", "Shouting", "shout", "to_shout", "all in capitals", ".txt", options=("table",)),)
from logiclens.cli import main
main()
"""


def with_toy(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command line with one more entry in the registry, whose module is in a folder."""
    (folder / "shout.py").write_text(TOY)
    path = {**ENVIRONMENT, "PYTHONPATH": f"{folder}:{ENVIRONMENT.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-c", WITH_TOY, "export", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=path)


def test_one_file_and_one_entry_make_a_format(tmp_path):
    told = " ".join(with_toy(tmp_path, "--help").stdout.split())
    assert "English, sympy, PMML, DMN, Excel or Shouting." in told
    assert "sympy, pmml, dmn, xlsx or shout." in told
    assert "shout all in capitals" in told
    run = with_toy(tmp_path, exact().folder, "--to", "shout", "--table", "rows", "--dialect", "none", "--quiet")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("ROWS! ")


def test_every_function_of_the_registry_is_public():
    for entry in FORMATS:
        assert getattr(logiclens.export, entry.function).__module__ == entry.module
    assert set(dir(logiclens.export)) >= {entry.function for entry in FORMATS}


def test_the_document_has_the_table_of_formats():
    assert documentation_table() in DOCUMENT.read_text(encoding="utf-8")


def test_an_unknown_format_is_refused_with_the_nearest():
    with pytest.raises(LogicLensError, match="no export format 'qsl', did you mean 'sql'"):
        format_named("qsl")
    with pytest.raises(AttributeError, match="no attribute 'to_cobol'"):
        logiclens.export.to_cobol  # noqa: B018


@pytest.mark.parametrize("export", EXPORTS)
def test_an_explanation_is_exported_as_its_rules(export):
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, class_names=["same", "other"]))
    assert export(explanation) == export(explanation.rules)


@pytest.mark.parametrize("export", EXPORTS)
def test_what_has_no_rules_is_named(export):
    with pytest.raises(LogicLensError, match="from a RuleSet, an explanation or an exact model, got int"):
        export(3)
