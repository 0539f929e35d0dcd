"""What commands write: to a terminal, to files that appear whole, and as JSON."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from logiclens.errors import LogicLensError

STANDARD = "-"
"""The name that stands for standard output."""


def console(*, quiet: bool = False, errors: bool = False) -> Console:
    """Where a command prints. Formulas are never cut: a pipe gets whole lines, a terminal wraps them."""
    return Console(highlight=False, markup=False, soft_wrap=True, quiet=quiet, stderr=errors)


def check_writable(path: str | None) -> None:
    """Refuse a file that cannot be written, before any long work."""
    if path is None or path == STANDARD:
        return
    target = Path(path)
    if target.is_dir():
        raise LogicLensError(f"cannot write {path}: it is a folder; name a file in it.")
    if not target.absolute().parent.is_dir():
        raise LogicLensError(f"cannot write {path}: there is no folder {target.absolute().parent}.")
    if not os.access(target if target.exists() else target.absolute().parent, os.W_OK):
        raise LogicLensError(f"cannot write {path}: no permission.")


def write_text(text: str, path: str) -> None:
    """Write a file under a temporary name, then rename it: it is whole or not there."""
    if path == STANDARD:
        sys.stdout.write(text)
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, target)
    except OSError as error:
        raise LogicLensError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


def write_json(content: Mapping[str, Any], path: str | None) -> None:
    """Write what a command found for a program to read; "-" is standard output."""
    if path is not None:
        write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n", path)
