"""Run a worker of a study that is killed in the middle of a trial."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from lab.runs.study import SharedStudy

HEADER = {"task": "bowl"}
DIRECTIONS = ("maximize", "minimize")


def opened(url: str, *, seed: int = 7, header: dict[str, Any] = HEADER) -> SharedStudy:
    """The study of these tests."""
    return SharedStudy(url, "bowl", header=header, directions=DIRECTIONS, seed=seed)


def suggest(trial: Any) -> None:
    """Two numbers and, for one kind, a third."""
    trial.suggest_float("x", 1e-3, 10, log=True)
    if trial.suggest_categorical("kind", ("plain", "cut")) == "cut":
        trial.suggest_int("n", 1, 5)


def values(params: dict[str, Any]) -> tuple[float, float]:
    """Two ends that pull apart."""
    return params["x"] - params.get("n", 0), params["x"] ** 2


def carry_out(url: str, total: int, *, seed: int = 7) -> int:
    """Trials until there are as many as asked for; returns how many were done here."""
    done = 0
    with opened(url, seed=seed) as study:
        while (asked := study.ask(total, suggest)) is not None:
            study.tell(asked, values(asked.trial.params))
            done += 1
    return done


if __name__ == "__main__":
    address, n_before = sys.argv[1], int(sys.argv[2])
    carry_out(address, n_before)
    with opened(address) as begun:
        begun.ask(n_before + 1, suggest)
        os.kill(os.getpid(), signal.SIGKILL)
