"""Many processes that replace one model folder while others read it: no read fails, and each sees one whole model."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pytest

from logiclens import storage
from logiclens.formula import RuleSet, parse
from logiclens.formula.model_record import open_record
from logiclens.storage import open_folder
from tests.faults.injection import cannot_exchange

SETTINGS = {
    "booleanise": None, "class_weight": None, "cuts_on": "train", "epochs": 1, "exact": False, "hidden": [1],
    "learning_rate": 0.01, "max_distinct": 10, "max_literals": None, "method": "search",
    "penalty_weight": 0.001, "random_state": 0, "resolve": "order",
    "set_aside": 0.0, "temperature": 1.0, "validation": 0.2,
}  # fmt: skip


def files(number: int) -> dict[str, bytes]:
    """A small model that is not exact, whose files all say which one it is; nobody reads its weights."""
    import hashlib

    from logiclens.formula import Rule
    from logiclens.formula.record import to_dict
    from logiclens.formula.rules import DecisionRules

    weights = f"weights of {number}".encode() * 1_000
    rules = DecisionRules((Rule("a", parse("x"), (0.5,)), Rule("b", parse("~x"), (0.5,))), otherwise=0)
    content: dict[str, Any] = {
        "kind": storage.KIND, "schema": storage.SCHEMA, "logiclens": "0", "concepts": ["x"], "predicates": {},
        "network": {
            "n_concepts": 1, "n_heads": 2, "hidden": [1], "temperature": 1.0,
            "activation": "relu",
        },
        "columns": [], "positional": False, "cutting": None, "exclusive": [], "implied": [], "class_names": ["a", "b"],
        "labels": ["a", "b"], "multilabel": False, "exact": False, "rules": to_dict(rules), "settings": SETTINGS,
        "metrics": {
            "rows": number, "best_epoch": 0, "accuracy_on_these_rows": None,
        },
        "data_sha256": "", "target": None, "weights_sha256": hashlib.sha256(weights).hexdigest(),
    }  # fmt: skip
    model = json.dumps(storage.sealed(content)).encode()
    result = {"kind": "logiclens result", "rules": content["rules"], "number": number}
    result["model_sha256"] = hashlib.sha256(model).hexdigest()
    return {
        "weights.safetensors": weights,
        "model.json": model,
        "result.json": json.dumps(storage.sealed(result)).encode(),
    }


def save(folder: Path, number: int) -> None:
    """Replace the model as `EntropyClassifier.save` does, without torch."""
    target = storage.check_model_target(folder)
    with storage.replacing_folder(target) as new:
        for name, content in files(number).items():
            (new / name).write_bytes(content)


def write_for(folder: Path, number: int, seconds: float, exchanges: bool, done: Any) -> None:
    """Save again and again."""
    if not exchanges:
        storage.exchange = cannot_exchange
    end, count = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end:
            save(folder, number)
            count += 1
        done.put(("writes", count, ""))
    except BaseException as error:
        done.put(("writes", count, repr(error)))


def read_for(folder: Path, seconds: float, done: Any) -> None:
    """Open again and again, through every door."""
    end, count = time.monotonic() + seconds, 0
    try:
        while time.monotonic() < end:
            opened = open_folder(folder)
            assert opened.result()["number"] == open_record_of(opened)
            assert len(RuleSet.load(folder).rules) == 2
            open_record(folder)
            count += 3
        done.put(("reads", count, ""))
    except BaseException as error:
        done.put(("reads", count, repr(error)))


def open_record_of(opened: storage.ModelFolder) -> int:
    """The number of the model that was opened."""
    from logiclens.formula.model_record import read_record

    number = read_record(opened).metrics.rows
    assert opened.files == files(number)
    return number


@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize(("each", "seconds"), [(2, 2.0), pytest.param(8, 30.0, marks=pytest.mark.slow)])
def test_no_read_fails_while_others_replace_the_model(tmp_path, each, seconds, exchanges):
    save(tmp_path / "model", 0)
    context = multiprocessing.get_context("spawn")
    done = context.SimpleQueue()
    writers = [(write_for, (tmp_path / "model", k, seconds, exchanges, done)) for k in range(each)]
    readers = [(read_for, (tmp_path / "model", seconds, done)) for _ in range(each)]
    processes = [context.Process(target=work, args=arguments) for work, arguments in (*writers, *readers)]
    for process in processes:
        process.start()
    told = [done.get() for _ in processes]
    for process in processes:
        process.join()
    assert [error for _, _, error in told if error] == []
    assert min(count for _, count, _ in told) > 0
    assert os.listdir(tmp_path) == ["model"]
