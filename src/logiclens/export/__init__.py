"""Rules in other languages. Each format is an entry of `registry.FORMATS`, whose functions are loaded when used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from logiclens.export.registry import FORMATS

_OTHERS = {
    "from_dict": "logiclens.export.json",
    "from_json": "logiclens.export.json",
    "from_xlsx": "logiclens.export.xlsx",
    "rules_schema": "logiclens.export.json",
    "sql_condition": "logiclens.export.sql",
    "to_dict": "logiclens.export.json",
    "to_sympy": "logiclens.export.sympy",
}
_HOME = {**{entry.function: entry.module for entry in FORMATS}, **_OTHERS}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from logiclens.export.dmn import to_dmn as to_dmn
    from logiclens.export.english import to_english as to_english
    from logiclens.export.json import from_dict as from_dict
    from logiclens.export.json import from_json as from_json
    from logiclens.export.json import rules_schema as rules_schema
    from logiclens.export.json import to_dict as to_dict
    from logiclens.export.json import to_json as to_json
    from logiclens.export.latex import to_latex as to_latex
    from logiclens.export.pmml import to_pmml as to_pmml
    from logiclens.export.python import to_python as to_python
    from logiclens.export.sql import sql_condition as sql_condition
    from logiclens.export.sql import to_sql as to_sql
    from logiclens.export.sympy import to_sympy as to_sympy
    from logiclens.export.sympy import to_sympy_source as to_sympy_source
    from logiclens.export.xlsx import from_xlsx as from_xlsx
    from logiclens.export.xlsx import to_xlsx as to_xlsx


def __getattr__(name: str) -> Any:
    """Load a public function on first use."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'logiclens.export' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
