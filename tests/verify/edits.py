"""Edits of saved models whose hashes are made right again, and a judge of what the checker lets pass."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from logiclens import EntropyClassifier
from logiclens.cli.saved_model import SavedModel
from logiclens.concepts.booleaniser import Booleaniser
from logiclens.errors import LogicLensError
from logiclens.storage import sealed
from logiclens.verify import VerificationError, verify

Document = dict[str, Any]
Path_ = tuple[Any, ...]


# Models --------------------------------------------------------------------------------------------------------------


def rows(n_rows: int = 240) -> pd.DataFrame:
    """Numbers, texts, dates, durations, truth values, texts that look like numbers, and gaps."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "age": rng.integers(20, 95, n_rows),
        "unit": rng.choice(["CCU", "MICU", "SICU"], n_rows),
        "bmi": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(27, 5, n_rows).round(1)),
        "admitted": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n_rows), "D"),
        "stay": pd.to_timedelta(rng.integers(1, 400, n_rows), "h"),
        "smoker": rng.random(n_rows) < 0.4,
        "code": rng.choice(["1", "2", "x"], n_rows),
        "city": rng.choice([f"c{i:02}" for i in range(40)], n_rows),
    })  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A saved model and the rows that it is asked about."""

    folder: Path
    asked: Any

    @property
    def model(self) -> Document:
        return json.loads((self.folder / "model.json").read_text("utf-8"))

    @property
    def certificate(self) -> Document:
        return json.loads((self.folder / "certificate.json").read_text("utf-8"))


def make_cases(folder: Path) -> dict[str, Case]:
    """Two classes, three classes by order and by confidence, labels, missing values, texts, dates, durations, …."""
    frame = rows()
    age, unit, smoker = frame["age"], frame["unit"], frame["smoker"]
    cut = Booleaniser("quantile", n_cuts=2).set_output(transform="pandas").fit_transform(frame[["age", "unit"]])
    own = pd.DataFrame({"old": (age >= 60) * 1.0, "smoker": smoker, "in icu": unit != "CCU"})
    by_date = np.where(frame["admitted"] >= "2021-12-01", 2, np.where(frame["bmi"].isna(), 1, 0))
    leaves = frame["admitted"] + frame["stay"]
    weekend_or_long = (frame["admitted"].dt.day_of_week >= 5) | (leaves.dt.normalize() - frame["admitted"] >= "7 days")
    problems: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "two": (frame[["age", "unit", "smoker"]], np.where((age >= 60) & (unit == "MICU"), "yes", "no"), {}),
        "three": (frame.drop(columns="city"), np.where(age >= 70, "old", np.where(smoker, "smokes", "rest")), {}),
        "dates": (frame[["age", "bmi", "admitted"]], by_date, {"resolve": "confidence"}),
        "parts": (frame[["age", "admitted"]].assign(leaves=leaves), np.where(weekend_or_long, "y", "n"), {}),
        "none": (frame[["age", "bmi"]].to_numpy(), by_date, {"resolve": "none"}),
        "stay": (frame[["stay", "code"]], (frame["stay"] >= "6 days") & (frame["code"] == "2"), {}),
        "labels": (frame.drop(columns="city"), pd.DataFrame({"a": age >= 60, "b": smoker, "c": unit == "CCU"}) * 1, {}),
        "concepts": (cut, np.where(age >= 60, "y", "n"), {"booleanise": None}),
        "own": (own, np.where((age >= 60) & (unit != "CCU"), "y", "n"), {"booleanise": None}),
        "soft": (frame[["age", "bmi", "stay", "admitted"]], np.where(age >= 58, "y", "n"), {"booleanise": "soft"}),
        "cities": (frame[["city", "age"]], np.where((frame["city"] < "c20") & (age > 50), "y", "n"), {}),
    }
    cases = {}
    for name, (table, labels, settings) in problems.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = EntropyClassifier(**{"exact": True, **settings}).fit(table, labels)
            cases[name] = Case(model.save(folder / name), table)
    return cases


# Edits ---------------------------------------------------------------------------------------------------------------


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all values inside a JSON document, without its root."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def at(document: Any, path: Path_) -> Any:
    for step in path:
        document = document[step]
    return document


def replaced_everywhere(value: Any, old: Any, new: Any) -> Any:
    """The document with a value replaced wherever it stands, as a key too."""
    if isinstance(value, dict):
        return {
            new if isinstance(new, str) and key == old else key: replaced_everywhere(item, old, new)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [replaced_everywhere(item, old, new) for item in value]
    return new if type(value) is type(old) and value == old else value


def another(value: Any, random_: random.Random, others: list[Any]) -> Any:
    """Another value: of another type, near, of similar looks, or from elsewhere in the document."""
    anything = [None, True, False, 0, 1, -1, 2.5, 1e308, -1e308, 10**30, "", "x", [], {}, [[]], "age", "age >= 60"]
    if isinstance(value, bool):
        return random_.choice([not value, int(value), *anything])
    if isinstance(value, int | float):
        return random_.choice([value + 1, value - 1, -value, value * 2, value + 0.5, str(value), *anything])
    if isinstance(value, str):
        looks = [f"{value} ", f" {value}", value.upper(), value.title(), f"{value}\u200b", value.replace("a", "\u0430")]
        looks += [value.replace(" ", "\u00a0"), value.replace(">=", "\u2265"), value.replace("e", "\uff45"), value[:-1]]
        looks += [
            value.replace(">=", ">"),
            value.replace(">=", "<"),
            value.replace("0", "1"),
            f"{value}0",
            f"{value}\n",
        ]
        return random_.choice([*looks, *(random_.choice(others) for _ in range(8)), *anything])
    if isinstance(value, list):
        turned = [value[::-1], value[1:], value[:-1], value + value[:1], [*value, random_.choice(others)]]
        return copy.deepcopy(random_.choice([*turned, *anything]))
    if value is None:
        return random_.choice(anything[1:])
    less = dict(list(value.items())[1:])
    return copy.deepcopy(random_.choice([less, {**value, "more": 1}, *anything]))


@dataclass(frozen=True)
class Edit:
    """One edit, and in words what it does."""

    words: str
    change: Callable[[Document, Document], tuple[Document, Document]]


def random_edit(case: Case, random_: random.Random) -> Edit:
    """Change, remove or add one field of one file, or a value wherever it stands in both files."""
    model, certificate = case.model, case.certificate
    in_model = random_.random() < 0.8
    root = model if in_model else certificate
    path = random_.choice([path for path in places(root) if "sha256" not in str(path[-1])])
    others = [value for place in places(root) if isinstance(value := at(root, place), str | int | float)]
    value = at(root, path)
    new, how = another(value, random_, others), random_.random()
    file = "model" if in_model else "certificate"

    def change(model: Document, certificate: Document) -> tuple[Document, Document]:
        if how < 0.35 and isinstance(value, str | int | float) and not isinstance(value, bool):
            return replaced_everywhere(model, value, new), replaced_everywhere(certificate, value, new)
        root = model if in_model else certificate
        inner = at(root, path[:-1])
        if how > 0.93:
            del inner[path[-1]]
        elif how > 0.9 and isinstance(inner, dict):
            inner["unknown"] = new
        else:
            inner[path[-1]] = new
            if "predicates" in path and "rules" not in path and in_model and how < 0.75:
                # Both copies of a predicate.
                copied = root["rules"]["predicates"].get(path[1])
                if copied is not None and len(path) == 3:
                    copied[path[2]] = new
        return model, certificate

    wide = "everywhere" if how < 0.35 else "remove" if how > 0.93 else "add" if how > 0.9 else "change"
    return Edit(f"{file} {wide} {path}: {value!r:.60} -> {new!r:.60}", change)


def write_edited(case: Case, edit: Edit, folder: Path) -> Path:
    """Write the edited model with every hash made right again."""
    model, certificate = edit.change(case.model, case.certificate)
    weights = (case.folder / "weights.safetensors").read_bytes()
    model = {key: value for key, value in model.items() if key != "content_sha256"}
    if "weights_sha256" in model:
        model["weights_sha256"] = hashlib.sha256(weights).hexdigest()
    text = json.dumps(sealed(model), indent=1, ensure_ascii=False).encode()
    rest = {key: value for key, value in certificate.items() if key != "certificate_sha256"}
    rest["model_sha256"], rest["weights_sha256"] = (hashlib.sha256(part).hexdigest() for part in (text, weights))
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    rest["certificate_sha256"] = hashlib.sha256(canonical).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights.safetensors").write_bytes(weights)
    (folder / "model.json").write_bytes(text)
    (folder / "certificate.json").write_text(json.dumps(rest, indent=1, ensure_ascii=False), "utf-8")
    return folder


# The judge -----------------------------------------------------------------------------------------------------------


Loaded = tuple[EntropyClassifier, SavedModel]


def load(folder: Path) -> Loaded:
    """The model as Python and the command line load it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EntropyClassifier.load(folder), SavedModel(folder)


def answers(both: Loaded, asked: Any) -> list[Any]:
    """What the command line and Python answer, and how sure they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded, model = both
        found: list[Any] = [loaded.predict(asked).tolist(), loaded.predict_proba(asked).round(4).tolist()]
        found += [loaded.classes_.tolist(), [str(name) for name in loaded.schema_.class_names]]
        if hasattr(asked, "columns"):
            table = model.rows(asked, "rows")
            predicted = model.predict(table)
            found += [predicted.tolist(), model.target]
            if predicted.ndim == 1:
                found += [model.probability(table).round(4).tolist(), model.reasons(table, predicted)]
    return [repr(part) for part in found]


WRONG = ("changed", "crashed")


@dataclass(frozen=True)
class Verdict:
    """`kind` is one of refuted, not verified, same, described, not loaded, or of `WRONG`, which must never
    be.

    `changed`: an answer changed and the statement did not. `crashed`: an answer failed and the statement is the same.
    """

    kind: str
    words: str = ""


def judged(case: Case, edit: Edit, expected: list[Any], statement: str) -> Verdict:
    with tempfile.TemporaryDirectory() as place:
        try:
            folder = write_edited(case, edit, Path(place) / "model")
        except (KeyError, TypeError, IndexError, UnicodeEncodeError, AttributeError):
            return Verdict("no edit")
        try:
            stated = str(verify(folder))
        except VerificationError as error:
            return Verdict("refuted" if error.exit_code == 1 else "not verified", str(error))
        try:
            both = load(folder)
        except Exception as error:
            return Verdict("not loaded", f"{type(error).__name__}: {error}"[:200])
        try:
            found = answers(both, case.asked)
        except LogicLensError as error:
            return Verdict("described" if stated != statement else "crashed", f"{error}")
        except Exception as error:
            # scikit-learn tells by a ValueError that the table lacks a column which the statement names.
            told = stated != statement and "feature names" in str(error)
            return Verdict("described" if told else "crashed", f"{type(error).__name__}: {error}"[:200])
    if found == expected:
        return Verdict("same")
    return Verdict("described" if stated != statement else "changed")


def outcomes_of(cases: dict[str, Case], n_edits: int, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """The number of edits by outcome, and those that must not be."""
    random_, outcomes, wrong = random.Random(seed), Counter[str](), []
    known = {name: (answers(load(case.folder), case.asked), str(verify(case.folder))) for name, case in cases.items()}
    while sum(outcomes.values()) < n_edits:
        name = random_.choice(sorted(cases))
        edit = random_edit(cases[name], random_)
        verdict = judged(cases[name], edit, *known[name])
        if verdict.kind == "no edit":
            continue
        outcomes[verdict.kind] += 1
        if verdict.kind in WRONG:
            wrong.append(f"{name}: {edit.words}: {verdict.kind} {verdict.words}")
    return outcomes, wrong
