"""The independent checker gives a verdict on any JSON, any bytes and any tensors."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logiclens.formula.dnf import Complement
from logiclens.verify import Refuted, Report, Unusable, VerificationError, verify
from tests.examples import examples
from tests.oracles.certified import Saved
from tests.oracles.compiled import random_formula, saved_compiled
from tests.verify.certificates import CONCEPTS, write_certificate
from tests.verify.edits import at, places

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(CONCEPTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


NAMES = [f"c{j}" for j in range(24)]
FORMULA = random_formula(np.random.default_rng(0), NAMES, 6, 10)
WIDE = saved_compiled([FORMULA, Complement(FORMULA)], NAMES)
"""A compiled model whose heads are proved unit by unit."""


def subject(data: st.DataObject, saved: Saved) -> Saved:
    return (WIDE if data.draw(st.booleans()) else saved).copy()


@examples(400)
@given(data=st.data())
def test_whatever_the_json_says_there_is_a_verdict(saved, data):
    tampered = subject(data, saved)
    for _ in range(data.draw(st.integers(1, 3))):
        root = data.draw(st.sampled_from([tampered.model, tampered.certificate]))
        path = data.draw(st.sampled_from(list(places(root))))
        inner = at(root, path[:-1])
        how = data.draw(st.sampled_from(["replace", "remove", "repeat"]))
        if how == "replace":
            inner[path[-1]] = data.draw(JSON)
        elif how == "repeat" and isinstance(inner, list):
            inner.insert(path[-1], copy.deepcopy(inner[path[-1]]))
        else:
            del inner[path[-1]]
    with tempfile.TemporaryDirectory() as folder:
        try:
            tampered.write(Path(folder))
        except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 file can hold
            return
        assert_verdict(Path(folder))


@examples(400)
@given(data=st.data(), right=st.booleans())
def test_whatever_the_bytes_are_there_is_a_verdict(saved, data, right):
    with tempfile.TemporaryDirectory() as folder:
        path = saved.write(Path(folder)) / data.draw(
            st.sampled_from(["model.json", "weights.safetensors", "certificate.json"])
        )
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            position = data.draw(st.integers(0, max(len(content) - 1, 0)))
            how = data.draw(st.sampled_from(["cut", "put", "insert"]))
            if how == "cut":
                del content[position:]
            elif how == "insert":
                content[position:position] = data.draw(st.binary(max_size=4))
            else:
                content[position : position + 1] = data.draw(st.binary(min_size=1, max_size=1))
        path.write_bytes(content)
        certificate = saved.certificate
        if path.name == "certificate.json":
            try:
                certificate = json.loads(content)
            except (ValueError, RecursionError):
                right = False
            right = right and isinstance(certificate, dict)
        if right:
            try:
                write_certificate(Path(folder), certificate)
            except UnicodeEncodeError:
                return
        assert_verdict(Path(folder))


@examples(200)
@given(data=st.data())
def test_whatever_the_tensors_hold_there_is_a_verdict(saved, data):
    tampered = subject(data, saved)
    name = data.draw(st.sampled_from(sorted(tampered.weights)))
    tensor = tampered.weights[name]
    how = data.draw(st.sampled_from(["value", "scale", "shape", "dtype", "drop", "bits"]))
    if how == "value":
        tensor.flat[data.draw(st.integers(0, tensor.size - 1))] = data.draw(st.floats(width=32))
    elif how == "scale":
        with np.errstate(all="ignore"):
            tampered.weights[name] = (tensor * np.float32(10.0 ** data.draw(st.integers(-45, 38)))).astype(tensor.dtype)
    elif how == "shape":
        tampered.weights[name] = tensor.reshape(-1)[: data.draw(st.integers(0, tensor.size))].copy()
    elif how == "dtype":
        tampered.weights[name] = tensor.astype(data.draw(st.sampled_from([np.float16, np.float64, np.int8, np.bool_])))
    elif how == "drop":
        del tampered.weights[name]
    else:
        raw = bytearray(tensor.tobytes())
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
        tampered.weights[name] = np.frombuffer(bytes(raw), tensor.dtype).reshape(tensor.shape).copy()
    with tempfile.TemporaryDirectory() as folder:
        assert_verdict(tampered.write(Path(folder)))


def assert_verdict(folder: Path) -> None:
    """A report or one of the two errors, in one line; never a warning (pytest would show it) or another exception."""
    verdict: Report | VerificationError
    try:
        with np.errstate(all="raise"):
            verdict = verify(folder)
    except VerificationError as error:
        verdict = error
    if isinstance(verdict, Report):
        str(verdict).encode()
    else:
        assert type(verdict) in (Unusable, Refuted)
        assert "\n" not in str(verdict)
        assert len(str(verdict)) < 1000
