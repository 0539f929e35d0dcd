"""Learning in a worker process: it reports progress through a pipe, can be cancelled, and leaves a model or nothing."""

from __future__ import annotations

import json
import multiprocessing
import shlex
import signal
import threading
from collections.abc import Callable
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from logiclens.errors import LogicLensError, collected_warnings
from logiclens.progress import ProgressState
from logiclens.studio.choices import Choices

HELD_OUT = 0.25
"""The share of the rows that is held out."""
PATIENCE = 2.0
"""Seconds that a cancelled worker has to end by itself."""


class Learning:
    """A worker process that learns the rules of a work.

    Args:
        folder: the folder of the work.
        finished: is called from a thread of its own when the worker has ended, with the sentence of what went wrong;
            empty if nothing did, and None if it was cancelled.
    """

    def __init__(self, folder: Path, finished: Callable[[str | None], object]) -> None:
        """Start the process."""
        # A forked process would inherit the sockets and locks of the server.
        context = multiprocessing.get_context("spawn")
        self._receives, sends = context.Pipe(duplex=False)
        self._process = context.Process(target=run_worker, args=(str(folder), sends), daemon=True)
        self._finished, self._cancelled = finished, False
        self.state: ProgressState | None = None
        self._process.start()
        # The pipe then ends with the worker.
        sends.close()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        sentence: str | None = (
            "learning ended unexpectedly: perhaps the memory was not enough; take fewer columns or rows."
        )
        while True:
            try:
                message: dict[str, Any] = json.loads(self._receives.recv_bytes())
            except (EOFError, OSError):
                break
            if "progress" in message:
                self.state = ProgressState(**message["progress"])
            else:
                sentence = str(message["ended"])
        self._process.join()
        self._finished(None if self._cancelled else sentence)

    def cancel(self) -> None:
        """End the worker, and wait until it has ended."""
        self._cancelled = True
        self._process.terminate()
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def run_worker(folder: str, pipe: Connection) -> None:
    """Learn in this process; tell how far it is, and at the end what went wrong."""
    # Ctrl-C in the terminal is for the server, which then ends its worker.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def tell(**message: Any) -> None:
        pipe.send_bytes(json.dumps(message).encode())

    try:
        learn(Path(folder), lambda state: tell(progress=asdict(state)))
    except BrokenPipeError:
        # The server is gone; the work can be learned again.
        return
    except LogicLensError as error:
        tell(ended=str(error))
        return
    except Exception as error:
        tell(ended=f"something went wrong while learning ({type(error).__name__}: {error!s:.160}).")
        return
    tell(ended="")


def learn(folder: Path, progress: Callable[[ProgressState], object]) -> None:
    """Learn the rules of a work, and write the model and the places of the held-out rows into its folder."""
    from logiclens.estimator.classifier import EntropyClassifier
    from logiclens.estimator.persistence import classifier_files
    from logiclens.report.measurement import Source, result_of
    from logiclens.studio.work import Work

    work = Work(folder)
    problem, file, choices = work.problem(), work.table, work.record.choices
    if choices is None:
        raise LogicLensError("nothing was chosen yet: name the target.")
    with collected_warnings():
        model = EntropyClassifier(set_aside=HELD_OUT, positive=choices.positive, above=choices.above, verbose=False)
        model.fit(problem.frame, problem.labels, progress=progress)
        if model.set_aside_ is None:
            raise LogicLensError(f"{file.name} has too few rows to hold some of them out: take some dozens.")
        progress(ProgressState("measuring the rules", 0, 1, seconds=0.0))
        explanation = model.explain()
        numbers = problem.frame.index.to_numpy() + 1
        source = Source(
            file.name, len(problem.frame), problem.frame.shape[1], choices.target, file.sha256 or None,
            command(file.name, choices), numbers,
        )  # fmt: skip
        result = result_of(model, explanation, source, by=problem.groups)
        work.keep_held_out(model.set_aside_.places, model.set_aside_.measured_places)
        classifier_files(model, result, explanation.rules).write(work.model)


def command(name: str, choices: Choices) -> str:
    """Return the command that learns the same without the studio.

    >>> command("my patients.csv", Choices("died", ("id",)))
    "logiclens explain 'my patients.csv' --target died --drop id"
    """
    words = ["logiclens", "explain", name, "--target", choices.target]
    words += [word for column in choices.excluded for word in ("--drop", column)]
    words += [] if choices.above is None else ["--above", repr(choices.above)]
    words += [] if choices.by is None else ["--by", choices.by]
    words += [] if choices.positive is None else ["--positive", choices.positive]
    return shlex.join(words)
