"""What all results of a folder have in common, written beside them so that they are never mixed with others."""

from __future__ import annotations

import fcntl
import json
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from logiclens import __version__
from logiclens.errors import LogicLensError

FILE = "bench.json"
LOCK = ".lock"
STUDY = "search.db"
"""Where a search in a folder is kept, if nothing else is said."""
SCHEMA = 1
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "imodels", "wittgenstein", "mlxtend", "interpret-core")


@dataclass(frozen=True)
class Header:
    """The settings that every run of a folder shares."""

    protocols: tuple[str, ...]
    folds: int
    seed: int
    encoder_epochs: int | None


def begun(folder: Path) -> bool:
    """Whether a bench was begun in a folder."""
    return (folder / FILE).exists()


def open_folder(folder: Path, header: Header) -> None:
    """Begin a folder of results, or see that one that is there was begun with the same settings."""
    path = folder / FILE
    if folder.exists() and not folder.is_dir():
        raise LogicLensError(f"{folder} is a file: name a folder for the results with --out.")
    if not path.exists():
        # Concepts may have been predicted into it before, and settings searched for.
        if folder.exists() and any(entry.name not in ("concepts", STUDY) for entry in folder.iterdir()):
            raise LogicLensError(f"{folder} is not empty and holds no {FILE} of a bench: name another folder.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            temporary = folder / f".{FILE}.tmp"
            temporary.write_text(json.dumps(_content(header), indent=1) + "\n", encoding="utf-8")
            os.replace(temporary, path)
        except OSError as error:
            raise LogicLensError(f"cannot write into {folder}: {error.strerror or error}.") from None
        return
    _check(folder, read_header(folder), header)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a folder to one bench at a time: two would write each other's runs over."""
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LogicLensError(
                f"another bench is writing into {folder}: wait for it, or name another --out."
            ) from None
        try:
            yield
        finally:
            (folder / LOCK).unlink(missing_ok=True)


def read_header(folder: Path) -> dict[str, Any]:
    """What a folder says of its results; nothing where it says nothing."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise LogicLensError(f"{path} is not JSON: put the header of the benchmark there, or take it away.") from None
    if not isinstance(content, dict) or content.get("schema", SCHEMA) != SCHEMA:
        raise LogicLensError(f"{path} must hold an object with schema {SCHEMA}: it was written by another version.")
    return content


def _check(folder: Path, there: dict[str, Any], header: Header) -> None:
    if there.get("version") != __version__:
        raise LogicLensError(
            f"{folder} holds results of logiclens {there.get('version')}, this is {__version__}: "
            "name another folder with --out."
        )
    for name, mine in (("folds", header.folds), ("seed", header.seed), ("encoder_epochs", header.encoder_epochs)):
        if there.get(name) != mine:
            raise LogicLensError(
                f"{folder} holds results with {name} {there.get(name)}, asked for was {mine}: "
                "name another folder with --out, or ask for the same."
            )
    others = [protocol for protocol in header.protocols if protocol not in there.get("protocols", ())]
    if others:
        raise LogicLensError(
            f"{folder} holds results under the protocol {_listed(there.get('protocols', ()))}, asked for was "
            f"{_listed(header.protocols)}: name another folder with --out."
        )


def _listed(names: Sequence[str]) -> str:
    return " and ".join(repr(name) for name in names)


def _content(header: Header) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": __version__,
        "protocols": list(header.protocols),
        "folds": header.folds,
        "seed": header.seed,
        "encoder_epochs": header.encoder_epochs,
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def machine() -> dict[str, Any]:
    """What the times were measured on, without a name."""
    import torch

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
