"""A job and what became of it, wherever it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from logiclens.baselines.packages import MissingPackage
from logiclens.experiments.results import OK

Job = TypeVar("Job")


@dataclass(frozen=True)
class Outcome(Generic[Job]):
    """What became of a job: its value where the status is "ok", and else the reason in words."""

    job: Job
    status: str
    value: Any
    seconds: float


def answered(work: Callable[[Job], Any], job: Job) -> tuple[str, Any]:
    """Do a job: "ok" and its value, or "skipped" or "failed" and the reason."""
    try:
        return OK, work(job)
    except MissingPackage as error:
        return "skipped", sentence(error)
    except Exception as error:
        return "failed", sentence(error)


def outcome_of(job: Job, answer: tuple[str, Any], seconds: float) -> Outcome[Job]:
    """The outcome of a job that gave an answer."""
    kind, value = answer
    return Outcome(job, OK, value, seconds) if kind == OK else Outcome(job, f"{kind}: {value}", None, seconds)


def sentence(error: BaseException) -> str:
    """One line: results are read in tables."""
    text = " ".join(str(error).split()) or "no message"
    return text if isinstance(error, MissingPackage) else f"{type(error).__name__}: {text}"
