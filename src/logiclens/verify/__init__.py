"""The independent checker: is the printed rule the network?

A certificate claims that each head of a saved model, on hard 0/1 concepts, answers as its printed formula on every row
of a stated domain, also when the network runs in float32. `verify` recomputes that claim from the weights. It needs
NumPy, safetensors and the standard library, and nothing else of logiclens: the package can be copied elsewhere, and
read in one sitting.

Read in this order: `files` (hashes), `records` (what the files say), `network` (logits and the bound on rounding),
`table` (formulas and domains), `units` (heads of more than 20 concepts), `resolution` (who decides between classes),
`meaning` and `names` (what cuts imply and what they are called), `claim` (the check).
"""

from __future__ import annotations

from .claim import verify
from .files import Refuted, Unusable, VerificationError
from .report import ClassReport, Report

__all__ = ["ClassReport", "Refuted", "Report", "Unusable", "VerificationError", "verify"]
