"""Checkpoints of a training run: written whole or not at all, read without pickle, refused where they do not belong."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from logiclens.errors import LogicLensError


def save_checkpoint(path: Path, state: Mapping[str, Any], belongs: Mapping[str, str]) -> None:
    """Write tensors and plain values to a file, with what they belong to: whoever is killed here leaves the old file.

    Args:
        path: the file, in a folder that exists.
        state: tensors, numbers, texts, and lists and dictionaries of them.
        belongs: what the run was made of, a fingerprint for each part; see `load_checkpoint`.
    """
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as file:
        torch.save({"belongs": dict(belongs), "state": dict(state)}, file)
        file.flush()
        # Without this the new name may reach the disk before the bytes do.
        os.fsync(file.fileno())
    os.replace(part, path)


def load_checkpoint(path: Path, belongs: Mapping[str, str]) -> dict[str, Any] | None:
    """The state saved in a file, on the CPU; None where there is no file; refused where it is of another run."""
    if not path.exists():
        return None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        saved, state = content["belongs"], dict(content["state"])
    except (RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError) as error:
        raise LogicLensError(
            f"{path} is not a checkpoint that can be read: remove it to train from the start."
        ) from error
    others = [name for name in belongs if saved.get(name) != belongs[name]]
    if others:
        raise LogicLensError(
            f"the checkpoint {path} is of another run: its {' and '.join(others)} differ from this run's. "
            "Remove it, or name another file."
        )
    return state


def fingerprint(*parts: Tensor | NDArray[Any] | str) -> str:
    """The sha256 of arrays (their types, shapes and bytes) and texts, in order."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(f"text {len(part)} {part}".encode())
            continue
        array = np.ascontiguousarray(part.detach().cpu().numpy() if isinstance(part, Tensor) else part)
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(array.data)
    return digest.hexdigest()
