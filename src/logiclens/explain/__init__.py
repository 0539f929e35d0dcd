"""Formulas from networks: explain all classes, one class or one row, or compile formulas into a network.

What needs torch is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from logiclens.explain.certificate import Certificate
from logiclens.explain.exact import compile_formulas, explain_exact
from logiclens.explain.gap import SplitSuggestion
from logiclens.explain.length import FormulaLimits
from logiclens.explain.local import LocalExplanation, explain_local
from logiclens.explain.paper_method import TraceStep
from logiclens.explain.reading import Reading
from logiclens.explain.result import ClassExplanation, Explanation

if TYPE_CHECKING:
    from logiclens.explain.classwise import explain_all, explain_bottleneck, explain_class
    from logiclens.explain.forward import read

__all__ = [
    "Certificate",
    "ClassExplanation",
    "Explanation",
    "FormulaLimits",
    "LocalExplanation",
    "Reading",
    "SplitSuggestion",
    "TraceStep",
    "compile_formulas",
    "explain_all",
    "explain_bottleneck",
    "explain_class",
    "explain_exact",
    "explain_local",
    "read",
]

_HOME = {
    "explain_all": "classwise",
    "explain_bottleneck": "classwise",
    "explain_class": "classwise",
    "read": "forward",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
