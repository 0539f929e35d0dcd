"""Independent checker of certificates: does each head of a saved model compute its printed formula?

A certificate claims that each head, on hard 0/1 concepts, gives the same answer as its printed formula on every row of
a stated domain, also when the network runs in float32. `verify` recomputes that claim from the weights. The package
needs only NumPy, safetensors and the standard library. It imports nothing else from logiclens, so it can be copied and
reviewed on its own.

Read the modules in this order: `files` (files and hashes), `records`, `reader` and `settings` (contents of the files,
read strictly), `network` (logits and rounding bound), `units` (heads of more than 20 concepts), `predicates` (relations
between predicates, names of concepts), `report` (result and text), `consistency` (what `model.json` says of itself),
`claim` (the check).
"""

from __future__ import annotations

from .claim import verify
from .files import Refuted, Unusable, VerificationError
from .report import ClassReport, Report

__all__ = ["ClassReport", "Refuted", "Report", "Unusable", "VerificationError", "verify"]
