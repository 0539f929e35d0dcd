"""A case as text: plain data, so that a failing one is a small file that everybody can read and replay."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SAVED = Path(__file__).parent / "cases"
"""The folder of the cases that failed once. They are replayed before any new one is drawn."""


def to_text(door: str, case: Any) -> str:
    """Return a case as JSON: bytes in base64, long integers as text, other characters than ASCII escaped."""
    return json.dumps({"door": door, "case": _plain(case)}, indent=1) + "\n"


def from_text(text: str) -> tuple[str, Any]:
    """Return the name of the door and the case."""
    content = json.loads(text)
    return content["door"], _restored(content["case"])


def save(door: str, case: Any, folder: Path) -> Path:
    """Write a case to a file that is named after its door and its content."""
    text = to_text(door, case)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{door}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.json"
    path.write_text(text, encoding="utf-8")
    return path


def saved(folder: Path = SAVED) -> Iterator[tuple[Path, str, Any]]:
    """Give each saved case with its file and its door."""
    for path in sorted(folder.glob("*.json")):
        yield path, *from_text(path.read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"$base64": base64.b64encode(value).decode()}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**64:
        return {"$integer": hex(value)}
    if isinstance(value, dict):
        if any(not isinstance(key, str) or key.startswith("$") for key in value):
            return {"$pairs": [[key, _plain(item)] for key, item in value.items()]}
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        if "$base64" in value:
            return base64.b64decode(value["$base64"])
        if "$integer" in value:
            return int(value["$integer"], 16)
        pairs = value["$pairs"] if "$pairs" in value else value.items()
        return {key: _restored(item) for key, item in pairs}
    return [_restored(item) for item in value] if isinstance(value, list) else value
