"""Doors of model folders: damaged and edited folders are loaded, asked and verified.

An edit that is not sealed leaves the hashes as they were; a sealed one has them all recomputed, as a forger would.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from hypothesis import strategies as st

from logiclens.estimator import EntropyClassifier
from logiclens.formula.rule_set import RuleSet
from logiclens.verify import Report, verify
from tests.fuzz import hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt
from tests.fuzz.samples import SAMPLES, Sample, by_network, decided, rows_of, sample
from tests.fuzz.statements import Statement, Unclear

Document = dict[str, Any]
Steps = list[Any]

JSON_FILES = ("model.json", "certificate.json")
SPECIAL = ("fifo", "folder", "zero", "random", "loop", "dangling", "empty", "socket", "unreadable")
HAS_HASHES = {"content_sha256", "weights_sha256", "model_sha256", "certificate_sha256"}

# Cases ---------------------------------------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a JSON document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@cache
def documents(name: str) -> dict[str, Document]:
    """The JSON files of a sample, parsed."""
    return {file: json.loads(text) for file, text in sample(name).files.items() if file in JSON_FILES}


@cache
def paths(name: str, file: str) -> list[Steps]:
    """The path of every value in a JSON file of a sample, but not of its hashes."""
    found = [list(path) for path in places(documents(name)[file]) if path and path[-1] not in HAS_HASHES]
    # Long matrices of numbers would otherwise be nearly all that is drawn.
    return [path for path in found if path[0] not in ("settings", "metrics")] + [path for path in found if path]


def value_at(document: Any, path: Steps) -> Any:
    """Return the value at a path."""
    for step in path:
        document = document[step]
    return document


@st.composite
def near(draw: st.DrawFn, value: Any) -> Any:
    """Draw a value that looks like another one of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        nudged = [value + 1, -value, value * 3, 0, 1, value + 0.5, float(value), str(value), True, 1e308, 10**9, None]
        return draw(st.sampled_from(nudged))
    if isinstance(value, str):
        similar = [
            value + " ", " " + value, value.upper(), value.swapcase(), value + "\u200b", value.replace(" ", "\u00a0"),
            value[:-1], value + "0", "", "\u0430" + value[1:], value.replace(">=", "<"), None, [value],
        ]  # fmt: skip
        return draw(st.sampled_from(similar) | hostile.texts())
    if isinstance(value, list):
        return draw(st.sampled_from([value[::-1], value[:-1], value + value, [], value[1:] + value[:1], None, {}]))
    return draw(st.sampled_from([{}, [], None, list(value or ())]))


@st.composite
def edits(draw: st.DrawFn, name: str) -> Document:
    """Draw an edit of a JSON file."""
    file = draw(st.sampled_from(sorted(documents(name))))
    path = draw(st.sampled_from(paths(name, file)))
    do = draw(st.sampled_from(["set", "set", "set", "twin", "twin", "remove", "rename", "add", "repeat", "everywhere"]))
    edit: Document = {"do": do, "file": file, "path": path}
    if do in ("set", "twin"):
        other = st.sampled_from(paths(name, file)).map(lambda path: value_at(documents(name)[file], path))
        edit["value"] = draw(near(value_at(documents(name)[file], path)) | hostile.json_values() | other)
    elif do in ("rename", "add"):
        edit["key"] = draw(hostile.texts())
        edit["value"] = draw(hostile.json_values())
    elif do == "everywhere":
        scalars = [p for p in paths(name, file) if isinstance(value_at(documents(name)[file], p), str | int | float)]
        edit["path"] = draw(st.sampled_from(scalars))
        edit["value"] = draw(near(value_at(documents(name)[file], edit["path"])) | hostile.texts())
    return edit


@st.composite
def damages(draw: st.DrawFn) -> Document:
    """Draw damage to the bytes of a file, or to the folder."""
    file = draw(st.sampled_from(["model.json", "weights.safetensors", "certificate.json", "result.json"]))
    do = draw(
        st.sampled_from(
            ["flip"] * 4 + ["cut", "insert", "delete", "drop", "special", "extra", "tensor", "tensor", "shape"]
        )
    )
    edit: Document = {"do": do, "file": file, "at": draw(st.integers(0, 40_000))}
    if do == "flip":
        edit["xor"] = draw(st.integers(1, 255))
    elif do == "insert":
        edit["bytes"] = draw(st.binary(min_size=1, max_size=4))
    elif do == "special":
        edit["kind"] = draw(st.sampled_from(SPECIAL))
    elif do == "tensor":
        edit["value"] = draw(hostile.floats())
    return edit


def layouts() -> st.SearchStrategy[Document]:
    """Draw a change of the text of a JSON file that leaves its content, or repeats a key."""
    kinds = st.sampled_from(["sort", "reverse", "indent", "ascii", "double", "bom", "crlf", "nan"])
    return st.builds(
        lambda file, kind, at: {"do": "layout", "file": file, "kind": kind, "at": at},
        st.sampled_from(JSON_FILES), kinds, st.integers(0, 300),
    )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, names: tuple[str, ...] = SAMPLES) -> Document:
    """Draw a folder: a sample and up to three changes of it."""
    name = draw(st.sampled_from(names))
    one = edits(name) | damages() | layouts()
    return {
        "sample": name,
        "sealed": draw(st.booleans()),
        "edits": draw(st.lists(one, min_size=1, max_size=3)),
    }


def certificate_cases() -> st.SearchStrategy[Document]:
    """Draw a folder of an exact model; most are sealed."""
    exact = tuple(name for name in SAMPLES if name not in ("soft", "team"))

    @st.composite
    def drawn(draw: st.DrawFn) -> Document:
        name = draw(st.sampled_from(exact))
        one = edits(name) | edits(name) | edits(name) | damages() | layouts()
        sealed = draw(st.sampled_from([True, True, True, False]))
        return {"sample": name, "sealed": sealed, "edits": draw(st.lists(one, min_size=1, max_size=2))}

    return drawn()


# Folders -------------------------------------------------------------------------------------------------------------


class Folder:
    """The files of a sample while they are edited: JSON as documents, the rest as bytes."""

    def __init__(self, origin: Sample) -> None:
        """Take the files of a sample."""
        self.files: dict[str, bytes] = origin.files
        self.documents: dict[str, Any] = copy.deepcopy(documents(origin.name))
        self.tensors = safetensors.numpy.load(self.files["weights.safetensors"])
        self.layouts: list[Document] = []
        self.damages: list[Document] = []
        self.has_new_tensors = False

    def apply(self, edit: Document) -> None:
        """Apply one edit; nothing happens where it does not fit."""
        do, file = edit["do"], edit["file"]
        if do == "layout":
            self.layouts.append(edit)
        elif do in ("flip", "cut", "insert", "delete", "drop", "special", "extra"):
            self.damages.append(edit)
        elif do in ("tensor", "shape"):
            self._edit_tensor(edit)
        elif file in self.documents:
            self._edit(edit)

    def _edit_tensor(self, edit: Document) -> None:
        names = sorted(self.tensors)
        name = names[edit["at"] % len(names)]
        tensor = self.tensors[name].copy()
        self.has_new_tensors = True
        if edit["do"] == "shape":
            tensor = tensor.reshape(-1)[:-1] if edit["at"] % 2 else np.zeros((1, *tensor.shape), tensor.dtype)
        elif tensor.size:
            with np.errstate(all="ignore"):
                tensor.flat[edit["at"] % tensor.size] = (
                    edit["value"] == edit["value"] and edit["value"] > 0.5 if (tensor.dtype == bool) else edit["value"]
                )
        self.tensors[name] = np.ascontiguousarray(tensor)

    def _edit(self, edit: Document) -> None:
        do, file, path = edit["do"], edit["file"], edit["path"]
        if do == "everywhere":
            old = value_at(documents_of(self), [file, *path]) if self.has(file, path) else None
            if old is not None:
                self.documents = {name: _replaced(content, old, edit["value"]) for name, content in
                                  self.documents.items()}  # fmt: skip
            return
        for where, steps in twins(file, path) if do == "twin" else [(file, path)]:
            if self.has(where, steps):
                _change(value_at(self.documents[where], steps[:-1]), steps[-1], edit)

    def has(self, file: str, path: Steps) -> bool:
        """Whether there still is a value at a path."""
        try:
            value_at(self.documents[file], path)
        except (KeyError, IndexError, TypeError):
            return False
        return True

    def seal(self) -> None:
        """Recompute every hash, from the weights to the certificate."""
        model, certificate = self.documents["model.json"], self.documents.get("certificate.json")
        if isinstance(model, dict):
            model["weights_sha256"] = hashlib.sha256(self.files["weights.safetensors"]).hexdigest()
            model.pop("content_sha256", None)
            model["content_sha256"] = _hash(model, ensure_ascii=True)
        self.dump()
        digest = hashlib.sha256(self.files["model.json"]).hexdigest()
        if "result.json" in self.files:
            result = json.loads(self.files["result.json"])
            result |= {"model_sha256": digest}
            result.pop("content_sha256", None)
            result["content_sha256"] = _hash(result, ensure_ascii=True)
            self.files["result.json"] = json.dumps(result).encode()
        if isinstance(certificate, dict):
            certificate |= {"model_sha256": digest}
            certificate["weights_sha256"] = hashlib.sha256(self.files["weights.safetensors"]).hexdigest()
            certificate.pop("certificate_sha256", None)
            certificate["certificate_sha256"] = _hash(certificate, ensure_ascii=False)
            self.dump()

    def dump(self) -> None:
        """Write the documents as text, in the layouts that were asked for."""
        for file, content in self.documents.items():
            text = json.dumps(content, indent=1, ensure_ascii=False)
            # What is no longer read as JSON by Python comes last.
            for layout in sorted(self.layouts, key=lambda layout: layout["kind"] in ("crlf", "bom")):
                if layout["file"] == file:
                    text = _laid_out(text, layout)
            self.files[file] = text.encode("utf-8", "surrogatepass")

    def write(self, folder: Path, *, sealed: bool) -> None:
        """Write the folder."""
        before = dict(self.files)
        if self.has_new_tensors:
            self.files["weights.safetensors"] = safetensors.numpy.save(self.tensors)
        if sealed:
            self.seal()
        else:
            self.dump()
        for damage in self.damages:
            apply_damage(self.files, damage)
        folder.mkdir(parents=True)
        for file, content in self.files.items():
            (folder / file).write_bytes(content)
        for damage in self.damages:
            if damage["do"] == "special" and damage["file"] in before:
                make_special(folder / damage["file"], damage["kind"])


def documents_of(folder: Folder) -> dict[str, Any]:
    """The documents of a folder, as one document."""
    return folder.documents


def twins(file: str, path: Steps) -> list[tuple[str, Steps]]:
    """Return the places that hold the same fact in both copies: of model and rules, or of rules and certificate."""
    if path[0] == "predicates" and file == "model.json":
        return [(file, path), (file, ["rules", *path])]
    if path[:2] == ["rules", "predicates"]:
        return [(file, path), (file, path[1:])]
    if file == "model.json" and path[0] == "rules" and path[1:2] in (["resolve"], ["order"], ["otherwise"]):
        return [(file, path), ("certificate.json", path[1:])]
    if file == "certificate.json" and path[0] in ("resolve", "order", "otherwise"):
        return [(file, path), ("model.json", ["rules", *path])]
    if file == "model.json" and path[0] in ("labels", "class_names"):
        return [(file, [name, *path[1:]]) for name in ("labels", "class_names")]
    if file == "model.json" and path[-1] == "multilabel":
        return [(file, ["multilabel"]), (file, ["rules", "multilabel"])]
    return [(file, path)]


def _change(inner: Any, key: Any, edit: Document) -> None:
    do = edit["do"]
    if do in ("set", "twin"):
        inner[key] = copy.deepcopy(edit["value"])
    elif do == "remove":
        del inner[key]
    elif do == "repeat" and isinstance(inner, list):
        inner.insert(key, copy.deepcopy(inner[key]))
    elif do == "rename" and isinstance(inner, dict):
        inner[edit["key"]] = inner.pop(key)
    elif do == "add" and isinstance(inner, dict):
        inner[edit["key"]] = copy.deepcopy(edit["value"])


def _replaced(value: Any, old: Any, new: Any) -> Any:
    """Return a document with one scalar, also as a key, replaced by another everywhere."""
    if isinstance(value, dict):
        return {
            (str(new) if isinstance(old, str) and key == old else key): _replaced(item, old, new)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    return copy.deepcopy(new) if type(value) is type(old) and value == old else value


def _hash(content: Document, *, ensure_ascii: bool) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=ensure_ascii)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _laid_out(text: str, layout: Document) -> str:
    kind = layout["kind"]
    if kind in ("double", "nan"):
        # A key that is there twice: most readers keep the last one.
        starts = [at for at, character in enumerate(text) if character == "{"]
        at = starts[layout["at"] % len(starts)] + 1
        rest = text[at:].lstrip()
        key = json.loads(rest[: rest.index('":') + 1]) if rest.startswith('"') and '":' in rest else "x"
        return f"{text[:at]}{json.dumps(key)}: {'NaN' if kind == 'nan' else 'null'}" + (
            "" if rest.startswith("}") else ", "
        ) + text[at:]  # fmt: skip
    if kind in ("bom", "crlf"):
        return "\ufeff" + text if kind == "bom" else re.sub("\r?\n", "\r\n", text)
    content = json.loads(text)
    if kind == "reverse":
        return json.dumps(_reversed(content), ensure_ascii=False)
    return json.dumps(
        content, sort_keys=kind == "sort", indent=3 if kind == "indent" else None, ensure_ascii=kind == "ascii"
    )


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(item) for key, item in reversed(value.items())}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


def apply_damage(files: dict[str, bytes], edit: Document) -> None:
    do, file = edit["do"], edit["file"]
    if do == "extra":
        files[f"extra-{edit['at']}.json"] = b"{}"
    content = bytearray(files.get(file, b""))
    if not content:
        return
    at = edit["at"] % len(content)
    if do == "drop":
        del files[file]
    elif do == "flip":
        content[at] ^= edit["xor"]
    elif do == "cut":
        del content[at:]
    elif do == "delete":
        del content[at]
    elif do == "insert":
        content[at:at] = edit["bytes"]
    if file in files:
        files[file] = bytes(content)


def make_special(path: Path, kind: str) -> None:
    """Put something that is no regular file in the place of a file."""
    if path.is_symlink() or not path.is_file():
        return
    content = path.read_bytes()
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind in ("zero", "random"):
        path.symlink_to(f"/dev/{'zero' if kind == 'zero' else 'urandom'}")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "dangling":
        path.symlink_to("nowhere")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "socket":
        os.mknod(path, 0o600 | 0o140000)
    else:
        path.write_bytes(content)
        path.chmod(0)


# Checks --------------------------------------------------------------------------------------------------------------


def _made(case: Document, place: Place) -> tuple[Sample, Folder, Path]:
    """Write the folder of a case. Every edit can be written: a case that cannot be is a failure of its strategy."""
    origin = sample(case["sample"])
    folder, path = Folder(origin), place.inputs / "model"
    for edit in case["edits"]:
        folder.apply(edit)
    folder.write(path, sealed=case["sealed"])
    place.seal()
    return origin, folder, path


def check(case: Document, place: Place) -> Outcome:
    """Load the folder and predict; compare with the sample, or with the edited rules if the edits are sealed."""
    origin, folder, path = _made(case, place)
    model = attempt(EntropyClassifier.load, path)
    answers = model if isinstance(model, Refused) else attempt(model.predict, origin.frame)
    rules = attempt(RuleSet.load, path)
    by_rules = rules if isinstance(rules, Refused) else attempt(rules.predict, origin.frame)
    told = folder.documents["model.json"]["rules"] if case["sealed"] and not isinstance(by_rules, Refused) else None
    if not isinstance(by_rules, Refused):
        _check_rules(by_rules, origin, told or origin.rules)
    if isinstance(answers, Refused):
        return Outcome.refused
    if not all(np.isfinite(tensor).all() for tensor in folder.tensors.values()):
        raise Failure("weights that are not finite are accepted")
    is_same = folder.documents == documents(origin.name) and not folder.has_new_tensors
    if not case["sealed"] or is_same:
        if answers.tolist() != origin.answers:
            raise Failure(
                "a change that is not sealed changes the answers" if not is_same else "layout changes answers"
            )
        return Outcome.agreed
    content = folder.documents["model.json"]
    if origin.exact:
        _check_rules(answers, origin, content["rules"])
    elif not {*answers.ravel().tolist()} <= {*content["labels"]}:
        raise Failure("an answer is no label of the model")
    elif not folder.has_new_tensors:
        expected = by_network(origin, content, rows_of(origin.frame))
        if expected is not None and answers.tolist() != expected:
            raise Failure("the answers are not those of the network on the concepts in model.json")
    if model.rules_ is not None and not isinstance(loaded := attempt(model.rules_.predict, origin.frame), Refused):
        _check_rules(loaded, origin, content["rules"])
    return Outcome.agreed


def _check_rules(answers: Any, origin: Sample, rules: Any) -> None:
    try:
        expected = [decided(rules, row) for row in rows_of(origin.frame)]
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise Failure("rules that mean nothing are accepted", f"{type(error).__name__}: {error}") from None
    if answers.tolist() != expected:
        raise Failure("the answers are not those of the rules in model.json")


def check_certificate(case: Document, place: Place) -> Outcome:
    """Verify the folder. If it is verified, it answers as the printed statement says, and as its rules say."""
    origin, folder, path = _made(case, place)
    report = attempt(verify, path)
    if isinstance(report, Refused):
        return Outcome.refused
    model, rules = attempt(EntropyClassifier.load, path), attempt(RuleSet.load, path)
    if isinstance(model, Refused) or isinstance(rules, Refused):
        return Outcome.refused
    outcome, told = Outcome.refused, folder.documents["model.json"]["rules"] if case["sealed"] else origin.rules
    for asked in (model, rules):
        answers = attempt(asked.predict, origin.frame)
        if isinstance(answers, Refused):
            continue
        outcome = Outcome.agreed
        _check_rules(answers, origin, told)
        _check_statement(report, answers.tolist(), origin)
    trust = attempt(model.predict_proba, origin.frame)
    if not isinstance(trust, Refused) and not ((trust >= 0) & (trust <= 1)).all():
        raise Failure("verify passes, and a probability is not from 0 to 1")
    return outcome


def _check_statement(report: Report, answers: list[Any], origin: Sample) -> None:
    """Fail unless the model answers as the statement says, read back without any file of the folder."""
    try:
        statement = Statement(report)
        expected = [statement.answer(row) for row in rows_of(origin.frame)]
    except (Unclear, KeyError, TypeError, ValueError, SyntaxError) as error:
        raise Failure(
            "verify passes, and its statement cannot be read back", f"{type(error).__name__}: {error}"
        ) from None
    if answers != expected:
        raise Failure("verify passes, and the model does not answer as the statement says")
