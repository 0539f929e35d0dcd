"""Import the scripts of `lab.scripts` as modules."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent


def benchmark_script(name: str) -> ModuleType:
    """One of them."""
    return importlib.import_module(f"lab.scripts.{name}")
