"""What a verification found, as values and as text."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from .words import name_text, printable


@dataclass(frozen=True)
class ClassReport:
    """A head that was found equal to its formula."""

    name: str
    formula: str
    domain: str
    rows: int
    smallest_logit: float
    bound: float

    def __str__(self) -> str:
        """Two lines."""
        # Rounded to the safe side: nothing that is printed is better than what was found.
        smallest = Context(prec=2, rounding=ROUND_FLOOR).create_decimal_from_float(self.smallest_logit)
        bound = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(self.bound)
        return (
            f"{name_text(self.name)}: equal on {self.domain}; "
            f"smallest |logit| {float(smallest):g}, float32 rounding at most {float(bound):.1e}\n  {self.formula}"
        )


@dataclass(frozen=True)
class Report:
    """All heads of a model, each equal to its formula, and what the certificate leaves open."""

    classes: tuple[ClassReport, ...]
    does_not_cover: tuple[str, ...]

    def __str__(self) -> str:
        """A paragraph for each class and a verdict."""
        verdict = "The printed rules are the model, on hard 0/1 concepts."
        if self.does_not_cover:
            verdict += "\nNot covered:" + "".join(f"\n- {printable(sentence)}" for sentence in self.does_not_cover)
        return "\n".join([*(str(entry) for entry in self.classes), verdict])
