"""What can go wrong, as few named errors whose messages say what to do."""

from __future__ import annotations


class LogicLensError(ValueError):
    """Something the caller can put right: the message says what was expected, what came, and what to do."""


class FormulaSyntaxError(LogicLensError):
    """A formula text that cannot be read; `column` counts from 1."""

    def __init__(self, message: str, column: int) -> None:
        """Keep the column beside the message."""
        super().__init__(message)
        self.column = column


class FormulaTooLarge(LogicLensError):
    """An operation on formulas whose result would have more cubes than the stated limit."""


class UnknownConcept(LogicLensError):
    """A formula or a call names a concept that the rows do not have."""


class NoConcepts(LogicLensError):
    """A table of which no column tells rows apart."""


class NoEntropyLayer(LogicLensError):
    """A model was given that has no entropy layer to read relevance from."""


class LogicLensWarning(UserWarning):
    """Something the caller should know of, though the work goes on."""
