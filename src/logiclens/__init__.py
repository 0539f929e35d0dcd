"""Neural networks that explain their predictions in first-order logic.

The package loads public names and subpackages on first use, so importing it is fast. "First-order" is the paper's word:
a formula is about one universally quantified object, so it is a propositional formula over the concepts of that object.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Booleaniser": "logiclens.concepts.booleaniser",
    "ClassKnowledge": "logiclens.formula.knowledge",
    "ConceptTable": "logiclens.concepts.concept_table",
    "CountedRows": "logiclens.formula.counted_rows",
    "Cube": "logiclens.formula.dnf",
    "DNF": "logiclens.formula.dnf",
    "EntropyClassifier": "logiclens.estimator.classifier",
    "Knowledge": "logiclens.formula.knowledge",
    "Literal": "logiclens.formula.dnf",
    "LogicLensError": "logiclens.errors",
    "Predicate": "logiclens.formula.predicate",
    "ProgressState": "logiclens.progress",
    "RuleSet": "logiclens.formula.rule_set",
    "TruthTable": "logiclens.formula.truth_table",
    "explain_all": "logiclens.explain.classwise",
    "explain_class": "logiclens.explain.classwise",
    "explain_local": "logiclens.explain.local",
    "minimise": "logiclens.formula.minimisation",
    "parse": "logiclens.formula.text",
    "read_knowledge": "logiclens.formula.knowledge",
}
_PACKAGES = (
    "bench",
    "concepts",
    "engine",
    "errors",
    "estimator",
    "explain",
    "export",
    "formula",
    "logic",
    "metrics",
    "nn",
    "render",
    "report",
    "studio",
    "storage",
    "tables",
    "train",
    "verify",
)

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from logiclens.concepts.booleaniser import Booleaniser as Booleaniser
    from logiclens.concepts.concept_table import ConceptTable as ConceptTable
    from logiclens.errors import LogicLensError as LogicLensError
    from logiclens.estimator.classifier import EntropyClassifier as EntropyClassifier
    from logiclens.explain.classwise import explain_all as explain_all
    from logiclens.explain.classwise import explain_class as explain_class
    from logiclens.explain.local import explain_local as explain_local
    from logiclens.formula.counted_rows import CountedRows as CountedRows
    from logiclens.formula.dnf import DNF as DNF
    from logiclens.formula.dnf import Cube as Cube
    from logiclens.formula.dnf import Literal as Literal
    from logiclens.formula.knowledge import ClassKnowledge as ClassKnowledge
    from logiclens.formula.knowledge import Knowledge as Knowledge
    from logiclens.formula.knowledge import read_knowledge as read_knowledge
    from logiclens.formula.minimisation import minimise as minimise
    from logiclens.formula.predicate import Predicate as Predicate
    from logiclens.formula.rule_set import RuleSet as RuleSet
    from logiclens.formula.text import parse as parse
    from logiclens.formula.truth_table import TruthTable as TruthTable
    from logiclens.progress import ProgressState as ProgressState


def __getattr__(name: str) -> Any:
    """Load a public name or a subpackage on first use."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"logiclens.{name}")
    raise AttributeError(f"module 'logiclens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])
