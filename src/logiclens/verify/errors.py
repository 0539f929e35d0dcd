"""The two ways a verification can fail."""

from __future__ import annotations


class VerificationError(Exception):
    """The folder was not verified: the message says what was expected, what came, and what to do."""

    exit_code = 2


class Unusable(VerificationError):
    """The files cannot be judged: one is missing, broken, of another version, or not the one that was certified."""

    exit_code = 2


class Refuted(VerificationError):
    """The files were read and belong together, and what the certificate claims is not so."""

    exit_code = 1
