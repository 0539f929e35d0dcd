"""Exports accept rules, or an object that has rules."""

from __future__ import annotations

import pytest

from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain import explain_all
from logiclens.export import to_json, to_latex, to_pmml, to_python, to_sql
from tests.rigged import GRID, NAMES, xor_net

EXPORTS = [to_sql, to_python, to_json, to_pmml, to_latex]


@pytest.mark.parametrize("export", EXPORTS)
def test_an_explanation_is_exported_as_its_rules(export):
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, class_names=["same", "other"]))
    assert export(explanation) == export(explanation.rules)


@pytest.mark.parametrize("export", EXPORTS)
def test_what_has_no_rules_is_named(export):
    with pytest.raises(LogicLensError, match="from a RuleSet, an explanation or an exact model, got int"):
        export(3)
