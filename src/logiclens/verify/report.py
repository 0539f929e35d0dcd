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
    agreement: float | None = None
    """Set where the head was compiled from the formula: how often the rules decide as the committee, as stated."""

    def __str__(self) -> str:
        """Two lines, and a third for a compiled head."""
        # Rounded to the safe side: nothing that is printed is better than what was found.
        smallest = Context(prec=2, rounding=ROUND_FLOOR).create_decimal_from_float(self.smallest_logit)
        bound = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(self.bound)
        origin = ""
        if self.agreement is not None:
            share = Context(prec=4, rounding=ROUND_FLOOR).create_decimal_from_float(100 * self.agreement)
            origin = (
                "\n  compiled from the formula, so no reason of a trained network; the rules decide as the committee "
                f"on {float(share):g}% of the training rows (as stated, not checked)"
            )
        return (
            f"{name_text(self.name)}: equal on {self.domain}; "
            f"smallest |logit| {float(smallest):g}, float32 rounding at most {float(bound):.1e}\n"
            f"  {self.formula}{origin}"
        )


@dataclass(frozen=True)
class Report:
    """All heads of a model, each equal to its formula, and what the certificate leaves open."""

    classes: tuple[ClassReport, ...]
    does_not_cover: tuple[str, ...]
    decides: str = ""
    """Who decides between classes, in words, where the certificate says so and the stored rules agree."""

    def __str__(self) -> str:
        """A paragraph for each class and a verdict."""
        verdict = "The printed rules are the model, on hard 0/1 concepts."
        if self.does_not_cover:
            verdict += "\nNot covered:" + "".join(f"\n- {printable(sentence)}" for sentence in self.does_not_cover)
        return "\n".join([*(str(entry) for entry in self.classes), *filter(None, [self.decides]), verdict])
