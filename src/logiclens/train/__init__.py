"""Training of networks, concept encoders and bottlenecks: settings, loops and their history.

What needs torch is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from logiclens.train.config import History, TrainConfig, TrainResult

if TYPE_CHECKING:
    from logiclens.train.bottleneck import BottleneckConfig, fit_bottleneck
    from logiclens.train.encoder import EncoderConfig, encode, fit_encoder
    from logiclens.train.loop import fit

__all__ = [
    "BottleneckConfig",
    "EncoderConfig",
    "History",
    "TrainConfig",
    "TrainResult",
    "encode",
    "fit",
    "fit_bottleneck",
    "fit_encoder",
]

_HOME = {
    "BottleneckConfig": "bottleneck",
    "EncoderConfig": "encoder",
    "encode": "encoder",
    "fit": "loop",
    "fit_bottleneck": "bottleneck",
    "fit_encoder": "encoder",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
