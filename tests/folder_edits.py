"""Random edits of the JSON files of a model folder, sealed again, as by someone who wants them to go unnoticed."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 0.5, 1.5, 1e308, 10**9, 10**30, "", "x", "order", "none", "confidence", "text",
    "number", "boolean", "date", ">=", "==", "missing", [], {}, [[]], [0], {"x": 1},
)  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """What was done, and where."""

    file: str
    kind: str
    path: tuple[Any, ...]

    def __str__(self) -> str:
        """One line."""
        return f"{self.kind} {'.'.join(map(str, self.path))} of {self.file}"


def places(content: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a JSON value, itself left out."""
    entries = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [found for key, inner in entries for found in [(*path, key), *places(inner, (*path, key))]]


def parent_of(content: Any, path: tuple[Any, ...]) -> Any:
    """The object or list that holds the last step of a path."""
    for key in path[:-1]:
        content = content[key]
    return content


def delete(holder: Any, key: Any, rng: random.Random) -> None:
    """Remove the entry."""
    del holder[key]


def rename(holder: Any, key: Any, rng: random.Random) -> None:
    """Give the entry another name, or put a copy of it at another place."""
    if isinstance(holder, dict):
        holder[rng.choice([f"{key} ", f"{key}\u200b", str(key).upper(), "other"])] = holder.pop(key)
    else:
        holder.insert(rng.randrange(len(holder) + 1), holder[key])


def retype(holder: Any, key: Any, rng: random.Random) -> None:
    """Put a value of another kind there."""
    holder[key] = rng.choice(VALUES)


def change(holder: Any, key: Any, rng: random.Random) -> None:
    """Put another value of the same kind there."""
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = not value
    elif isinstance(value, int | float):
        holder[key] = rng.choice([value + 1, value - 1, value * 2, -value, value + 0.5])
    elif isinstance(value, str):
        holder[key] = rng.choice([f"{value} ", value.swapcase(), f"{value}\u200b", "x", value[1:]])
    elif isinstance(value, list):
        rng.shuffle(value)
    else:
        holder[key] = dict(sorted(value.items(), key=lambda entry: rng.random())) if value else None


def swap(holder: Any, key: Any, rng: random.Random) -> None:
    """Exchange the value with that of another entry."""
    other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


KINDS: dict[str, Callable[[Any, Any, random.Random], None]] = {
    made.__name__: made for made in (delete, rename, retype, change, swap)
}


def edit_folder(folder: Path, rng: random.Random) -> Edit:
    """Make one edit in one of the JSON files of a folder, and seal all files again."""
    file = rng.choices(["model.json", "certificate.json", "result.json"], [6, 2, 1])[0]
    if not (folder / file).exists():
        file = "model.json"
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    sealed_by = ("content_sha256", "certificate_sha256", "model_sha256", "weights_sha256")
    path = rng.choice([path for path in places(content) if path[0] not in sealed_by])
    kind = rng.choice([*KINDS, "duplicate"])
    if kind == "duplicate" and isinstance(path[-1], str):
        return duplicate(folder, Edit(file, kind, path), rng)
    kind = rng.choice(list(KINDS)) if kind == "duplicate" else kind
    KINDS[kind](parent_of(content, path), path[-1], rng)
    reseal(folder, {file: content})
    return Edit(file, kind, path)


def duplicate(folder: Path, made: Edit, rng: random.Random) -> Edit:
    """Write a key twice into a file, the second time with another value. Hashes of the content see the last one."""
    content = json.loads((folder / made.file).read_text(encoding="utf-8"))
    holder, marker = parent_of(content, made.path), "\u0001 again"
    value = rng.choice(VALUES)
    entries = [(key, value) for key in holder for key, value in ((key, holder[key]),)]
    entries.insert([key for key, _ in entries].index(made.path[-1]), (marker, value))
    holder.clear()
    holder.update(entries)
    name = json.dumps(made.path[-1], ensure_ascii=False)
    reseal(folder, {made.file: content}, lambda text: text.replace(json.dumps(marker), name))
    return made


def reseal(folder: Path, contents: dict[str, Any], last: Callable[[str], str] = lambda text: text) -> None:
    """Write contents and recompute every hash; `last` changes the text of the file before it is hashed as a file."""

    def read(name: str) -> Any:
        return contents.get(name) or json.loads((folder / name).read_text(encoding="utf-8"))

    def write(name: str, content: dict[str, Any], seal: str, ascii_only: bool) -> None:
        bare = {key: value for key, value in content.items() if key != seal and "\u0001" not in key}
        text = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=ascii_only)
        if seal in content or seal == "certificate_sha256":
            content[seal] = hashlib.sha256(text.encode()).hexdigest()
        made = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (folder / name).write_text(last(made) if name in contents else made, encoding="utf-8")

    if "model.json" in contents:
        write("model.json", contents["model.json"], "content_sha256", True)
    digest = hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()
    for name, seal, ascii_only in (
        ("certificate.json", "certificate_sha256", False),
        ("result.json", "content_sha256", True),
    ):
        if (folder / name).exists():
            write(name, {**read(name), "model_sha256": digest}, seal, ascii_only)
