"""The independent checker: what it accepts and refuses, and its messages."""

from __future__ import annotations

import copy
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logiclens.nn import EntropyNet
from logiclens.verify import Refuted, Report, Unusable, VerificationError, verify
from tests.examples import examples
from tests.oracles.certified import Saved, all_rows, certify, float64_logits, random_net
from tests.oracles.compiled import random_formula, saved_compiled
from tests.verify.certificates import CONCEPTS, flip, refused, write_certificate

# ---- success


def test_a_true_certificate_is_verified_with_its_figures(saved, tmp_path):
    report = verify(saved.write(tmp_path))
    assert isinstance(report, Report)
    assert [entry.name for entry in report.classes] == ["low", "high"]
    for entry in report.classes:
        claim = saved.entry(entry.name)
        assert entry.rows == claim["rows_checked"]
        assert entry.smallest_logit == pytest.approx(claim["smallest_logit"], abs=1e-12)
        assert 1e-9 < entry.bound < 1e-2
    assert report.classes[1].domain == "all 16 rows of its 4 concepts"
    assert report.classes[0].domain == "all 8 rows of its 3 concepts"
    assert verify(str(tmp_path)) == report


@pytest.mark.parametrize("seed", range(12))
def test_a_head_of_any_shape_uses_just_what_it_keeps(seed, tmp_path):
    rng = np.random.default_rng(seed)
    hidden = [(5,), (20,), (20, 10), (7, 6, 5)][seed % 4]
    kept = sorted(rng.choice(9, int(rng.integers(0, 6)), replace=False).tolist())
    saved = certify(random_net(seed, [kept], 9, hidden, temperature=100.0), [f"c{j}" for j in range(9)], ["x"])
    used = {concept for cube in saved.entry("x")["formula"] for concept in cube}
    idle = [f"c{j}" for j in kept if f"c{j}" not in used]
    if idle:
        assert f"keeps {idle[0]!r}, which its formula does not use" in str(refused(saved, tmp_path))
    else:
        assert verify(saved.write(tmp_path)).classes[0].rows == 2 ** len(kept)


def test_cubes_may_come_in_any_order(saved, tmp_path):
    shuffled = saved.copy()
    shuffled.entry()["formula"] = [dict(reversed(cube.items())) for cube in reversed(saved.entry()["formula"])]
    assert verify(shuffled.write(tmp_path)).classes[1].rows == 16


def test_a_certificate_may_be_indented_otherwise(saved, tmp_path):
    folder = saved.write(tmp_path)
    content = json.loads((folder / "certificate.json").read_text())
    (folder / "certificate.json").write_text(json.dumps(content, indent=7, sort_keys=True))
    assert len(verify(folder).classes) == 2


def test_a_weight_may_change_without_changing_answers_or_figures(saved, tmp_path):
    changed = saved.copy()
    weight = changed.weights["tail.1.weight"]
    weight[1, 0, 0] = np.nextafter(weight[1, 0, 0], np.float32(np.inf))
    assert verify(changed.write(tmp_path / "seen")).classes[1].rows == 16
    # A concept that is not kept has relevance exactly 0, whatever its weights are.
    changed.weights["entropy.weight"][1, :, 1] = 1e6
    assert verify(changed.write(tmp_path / "unseen")).classes[1].rows == 16


def test_twenty_concepts_take_seconds_and_little_memory(tmp_path):
    names = [f"c{j}" for j in range(20)]
    saved = saved_compiled([random_formula(np.random.default_rng(0), names, 40, 8)], names)
    folder = saved.write(tmp_path)
    start = time.process_time()
    report = verify(folder)
    assert time.process_time() - start < 60
    assert report.classes[0].rows == 2**20
    tracemalloc.start()
    verify(folder)
    assert tracemalloc.get_traced_memory()[1] < 200e6
    tracemalloc.stop()


# ---- changes behind the certificate's back


def change_weight(saved: Saved) -> None:
    saved.weights["entropy.weight"][0, 0, 0] += 1


def change_cut(saved: Saved) -> None:
    saved.model["predicates"]["age >= 60"]["value"] = 61.0


def change_name(saved: Saved) -> None:
    saved.model["concepts"][3] = "Sepsis"


def change_rule(saved: Saved) -> None:
    flip(saved.rules()["cubes"][0]["if"])


def change_formula(saved: Saved) -> None:
    flip(saved.entry()["formula"][0])


@pytest.mark.parametrize(
    ("change", "file"),
    [(change_weight, "weights.safetensors"), (change_cut, "model.json"), (change_name, "model.json"),
     (change_rule, "model.json"), (change_formula, "certificate.json")],
)  # fmt: skip
def test_a_change_with_stale_hashes_fails_by_its_hash(saved, tmp_path, change, file):
    tampered = saved.frozen()
    change(tampered)
    error = refused(tampered, tmp_path)
    assert isinstance(error, Unusable)
    assert str(error).startswith(file)
    assert "sha256 differs" in str(error)
    if file != "certificate.json":
        assert "is not the file this certificate was made for" in str(error)


@examples(300)
@given(data=st.data())
def test_no_single_byte_can_change_unnoticed(saved, data):
    with tempfile.TemporaryDirectory() as folder:
        path = saved.write(Path(folder)) / data.draw(
            st.sampled_from(["model.json", "weights.safetensors", "certificate.json"])
        )
        content = bytearray(path.read_bytes())
        said = json.loads(content) if path.name == "certificate.json" else None
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = (content[position] + data.draw(st.integers(1, 255))) % 256
        path.write_bytes(content)
        try:
            verify(folder)
        except Unusable:
            return
        # Only what the certificate says is hashed: a blank between two of its words may be another blank.
        assert said is not None
        assert json.loads(content) == said


def test_hashes_come_before_anything_else(saved, tmp_path):
    tampered = saved.frozen()
    tampered.model["kind"], tampered.model["schema"] = "something else", 7
    assert "sha256 differs" in str(refused(tampered, tmp_path))
    tampered = saved.frozen()
    tampered.certificate["schema"] = 7
    assert "sha256 differs" in str(refused(tampered, tmp_path))
    folder = saved.write(tmp_path)
    (folder / "weights.safetensors").write_bytes(b"")
    (folder / "model.json").write_bytes(b"{")
    with pytest.raises(Unusable, match=r"model\.json is not the file this certificate was made for"):
        verify(folder)


# ---- changes with the hashes made right again


def test_a_changed_literal_is_refuted_with_a_deciding_row(saved, tmp_path):
    tampered = saved.copy()
    cubes = copy.deepcopy(saved.entry()["formula"])
    flip(cubes[0])
    tampered.set_formula(cubes)
    assert_names_a_wrong_row(refused(tampered, tmp_path), tampered)


def test_a_dropped_cube_is_refuted_with_a_row_it_covered(saved, tmp_path):
    tampered = saved.copy()
    tampered.set_formula(saved.entry()["formula"][1:])
    error = refused(tampered, tmp_path)
    assert_names_a_wrong_row(error, tampered)
    assert "the formula says no, the head yes (logit " in str(error)


def test_weights_that_turn_one_row_are_refuted_with_that_row(saved, tmp_path):
    tampered = saved.copy()
    kept = [0, 2, 3, 4]
    values = head_logits(tampered, 1)
    # Just over the logit nearest to 0 among the yeses: no other row changes.
    nearest = min(value for value in values if value >= 0)
    tampered.weights["tail.1.bias"][1, 0] -= np.float32(nearest + 0.01)
    assert sum((values >= 0) != (head_logits(tampered, 1) >= 0)) == 1
    row = all_rows(4)[values.tolist().index(nearest)]
    words = ", ".join(f"{CONCEPTS[j]} = {int(value)}" for j, value in zip(kept, row, strict=True))
    error = refused(tampered, tmp_path)
    assert isinstance(error, Refuted)
    assert str(error).startswith(
        f"class 'high': on the row {words} the formula says yes, the head no (logit -0.01). Do not take"
    )


def head_logits(saved: Saved, head: int) -> np.ndarray:
    kept = np.flatnonzero(saved.weights["entropy.keep"][head]).tolist()
    net = EntropyNet(
        len(saved.model["concepts"]), len(saved.model["class_names"]), hidden=saved.model["network"]["hidden"],
        temperature=saved.model["network"]["temperature"],
    )  # fmt: skip
    net.load_state_dict({name: torch.tensor(value) for name, value in saved.weights.items()})
    return float64_logits(net, head, kept)


def assert_names_a_wrong_row(error: VerificationError, saved: Saved) -> None:
    assert isinstance(error, Refuted)
    text = str(error)
    row = dict(part.rsplit(" = ", 1) for part in text.split("on the row ")[1].split(" the formula says")[0].split(", "))
    row = {name: int(value) for name, value in row.items()}
    names = saved.entry()["concepts"]
    assert list(row) == names
    position = int("".join(str(row[name]) for name in names), 2)
    head = head_logits(saved, 1)[position] >= 0
    formula = any(all(row[name] == value for name, value in cube.items()) for cube in saved.entry()["formula"])
    assert head != formula
    says, answers = ("yes", "no") if formula else ("no", "yes")
    assert f"the formula says {says}, the head {answers}" in text


def test_a_margin_within_rounding_is_refuted(saved, tmp_path):
    tampered = saved.copy()
    values = head_logits(tampered, 1)
    nearest = min(values, key=abs)
    tampered.weights["tail.1.bias"][1, 0] -= np.float32(nearest * (1 - 1e-6))
    left = float(min(abs(head_logits(tampered, 1))))
    assert ((head_logits(tampered, 1) >= 0) == (values >= 0)).all()
    tampered.entry().update(smallest_logit=left, rounding_bound=left / 2)
    error = refused(tampered, tmp_path)
    assert isinstance(error, Refuted)
    assert "and may be as large as " in str(error)


def test_large_weights_cannot_be_certified(saved, tmp_path):
    for name, value in [("entropy.weight", 3e38), ("tail.1.weight", 3e38), ("entropy.bias", 3e38)]:
        tampered = saved.copy()
        tampered.weights[name][1] = value
        assert "may overflow" in str(refused(tampered, tmp_path))
    tampered = saved.copy()
    tampered.model["network"]["temperature"] = 1e-30
    tampered.weights["entropy.weight"][:] = tampered.weights["entropy.weight"][:, :, :1]
    assert "lose the relevance" in str(refused(tampered, tmp_path))


def test_an_idle_head_whose_strengths_overflow_is_not_certified(tmp_path):
    # It keeps nothing, and yet float32 makes NaN of it: infinite strength minus the largest.
    saved = certify(random_net(1, [[]], 2), ["a", "b"], ["idle"])
    saved.weights["entropy.weight"][:] = 1e38
    assert "may overflow" in str(refused(saved, tmp_path))


Change = Callable[[Saved], object]


def at(*path: Any, to: Any) -> Change:
    """Put a value somewhere in one of the files: at("entry", "head", to=3)."""

    def change(saved: Saved) -> None:
        place: Any = {"entry": saved.entry(), "rules": saved.rules()}.get(path[0]) or getattr(saved, path[0])
        for step in path[1:-1]:
            place = place[step]
        place[path[-1]] = to

    return change


REFUTED: list[tuple[str, Change, str]] = [
    ("rules", lambda s: s.rules()["cubes"].pop(), "not the one that model.json prints"),
    ("formula", lambda s: s.entry()["formula"].pop(), "not the one that model.json prints"),
    ("rules gone", lambda s: s.model["rules"]["classes"].pop(), "class 'high': model.json prints no rules for it"),
    (
        "rules of no class",
        lambda s: s.model["rules"]["classes"].append({"class": "odd", "cubes": []}),
        "model.json prints rules for a class 'odd', which it does not have",
    ),
    ("concept dropped", lambda s: s.entry()["concepts"].pop(), "the head keeps the concepts ["),
    ("concepts turned", lambda s: s.entry()["concepts"].reverse(), "the head keeps the concepts ["),
    ("keep", at("weights", "entropy.keep", (1, 1), to=True), "the head keeps the concepts ["),
    (
        "unkept concept",
        lambda s: s.set_formula([*s.entry()["formula"], {"red": True, "icu": True}]),
        "the formula speaks of 'red', a concept that the head does not keep",
    ),
    ("rows", at("entry", "rows_checked", to=15), "its concepts have 16 rows, and certificate.json says 15 were"),
    ("margin", at("entry", "smallest_logit", to=30.5), "and certificate.json says 30.5"),
    ("bound 0", at("entry", "rounding_bound", to=0), "its rounding_bound must be above 0 and below its smallest_logit"),
    ("bound below 0", at("entry", "rounding_bound", to=-1e-9), "must be above 0 and below"),
    ("bound large", at("entry", "rounding_bound", to=1e9), "must be above 0 and below its smallest_logit, got 1e+09"),
    ("class gone", lambda s: s.certificate["classes"].pop(), "class 'high': certificate.json says nothing of it"),
    ("no classes", at("certificate", "classes", to=[]), "class 'low': certificate.json says nothing of it"),
    ("class name", at("entry", "class", to="High"), "class 'High': head 1 is the head of class 'high'"),
    (
        "values descend",
        at("model", "predicates", "age >= 72.5", "value", to=59),
        "'age >= 72.5' implies 'age >= 60', and by their predicates it does not: a chain needs one column",
    ),
    ("other column", at("model", "predicates", "age >= 72.5", "column", to="bmi"), "by their predicates it does not"),
    ("other operator", at("model", "predicates", "age >= 60", "operator", to="<="), "by their predicates it does not"),
    (
        "a date before a number",
        at("model", "predicates", "age >= 60", "value", to="1960-01-01"),
        "by their predicates it does not",
    ),
    (
        "missing before a comparison",
        lambda s: s.model["predicates"]["age >= 60"].update(operator="missing", value=True),
        "by their predicates it does not",
    ),
    (
        "dates descend",
        lambda s: [s.model["predicates"][CONCEPTS[k]].update(value=f"2021-03-0{2 - k}") for k in (0, 1)],
        "by their predicates it does not",
    ),
    (
        "values of one column alike",
        lambda s: s.model["predicates"]["green"].update(value="red"),
        "'red' and 'green' exclusive, and by their predicates both are true of some values of 'light'",
    ),
    (
        "missing twice",
        lambda s: [s.model["predicates"][n].update(operator="missing", value=True) for n in ("red", "green")],
        "both are true of some values of 'light'",
    ),
    (
        "strict limit first",
        lambda s: s.model["predicates"]["age >= 60"].update(operator=">", value=72.5),
        "by their predicates it does not",
    ),
    (
        "one less beyond 2^53",
        lambda s: [s.model["predicates"][CONCEPTS[k]].update(value=2**53 + 1 - k) for k in (0, 1)],
        "by their predicates it does not",
    ),
    (
        "chain over a gap",
        lambda s: s.model.update(implied=[["age >= 72.5", "icu", "age >= 60"]]),
        "'icu' implies 'age >= 72.5', and by their predicates it does not",
    ),
    (
        "thresholds exclusive",
        lambda s: s.model["exclusive"].append(["age >= 60", "age >= 72.5"]),
        "'age >= 60' and 'age >= 72.5' exclusive, and by their predicates both are true of some values of 'age'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), [case[1:] for case in REFUTED], ids=[case[0] for case in REFUTED])
def test_what_is_refuted_and_in_which_words(saved, tmp_path, change, words):
    tampered = saved.copy()
    change(tampered)
    error = refused(tampered, tmp_path)
    assert isinstance(error, Refuted), error
    assert words in str(error)
    assert str(error).endswith("save it again to have a certificate made from its weights.")
    assert error.exit_code == 1


# ---- files of the wrong form

UNUSABLE: list[tuple[str, Change, str]] = [
    ("schema", at("certificate", "schema", to=7), "certificate.json has schema 7; this logiclens verifies schema 2."),
    ("model schema", at("model", "schema", to=4), "model.json has schema 4; this logiclens verifies schema 3."),
    ("certificate schema", at("certificate", "schema", to=3), "certificate.json has schema 3; this logiclens verifie"),
    ("schema true", at("model", "schema", to=True), "schema in model.json must be a whole number, 0 or more, got True"),
    ("kind", at("certificate", "kind", to="x"), "certificate.json must be of kind 'logiclens certificate', got 'x'"),
    ("model kind", at("model", "kind", to="x"), "model.json must be of kind 'logiclens model', got 'x'"),
    ("no version", lambda s: s.model.pop("logiclens"), "model.json has no logiclens."),
    ("version", at("certificate", "logiclens", to=1), "logiclens in certificate.json must be a string, got 1"),
    ("head", at("entry", "head", to=0), "must name each head once, got head 0 twice"),
    ("head text", at("entry", "head", to="1"), "classes[1].head in certificate.json must be a whole number, 0 or more"),
    ("head true", at("entry", "head", to=True), "must be a whole number, 0 or more, got True"),
    ("head beyond", at("entry", "head", to=2), "must be one of the model's 2 heads, counted from 0, got 2"),
    ("head below", at("entry", "head", to=-1), "must be a whole number, 0 or more, got -1"),
    ("classes", at("certificate", "classes", to={}), "classes in certificate.json must be a list, got {}"),
    ("class", at("certificate", "classes", 1, to=5), "classes[1] in certificate.json must be a JSON object, got 5"),
    ("class name", at("entry", "class", to=None), "classes[1].class in certificate.json must be a string, got None"),
    ("no concepts", lambda s: s.entry().pop("concepts"), "certificate.json has no classes[1].concepts."),
    ("concepts", at("entry", "concepts", to="icu"), "classes[1].concepts in certificate.json must be a list of string"),
    ("concept twice", at("entry", "concepts", to=["icu", "icu"]), "strings that differ from each other"),
    ("concept new", at("entry", "concepts", to=["rain"]), "names the concept 'rain', which the model does not have"),
    ("formula", at("entry", "formula", to=None), "classes[1].formula in certificate.json must be a list, got None"),
    ("cube", at("entry", "formula", to=[[]]), "classes[1].formula[0] in certificate.json must be a JSON object, got ["),
    ("literal", at("entry", "formula", to=[{"icu": 1}]), "formula[0].icu in certificate.json must be true or false, g"),
    ("literal new", at("entry", "formula", to=[{"rain": True}]), "formula[0] in certificate.json names the concept 'r"),
    ("rows", at("entry", "rows_checked", to=16.0), "classes[1].rows_checked in certificate.json must be a whole numbe"),
    ("margin", at("entry", "smallest_logit", to="1"), "smallest_logit in certificate.json must be a finite number, go"),
    ("margin large", at("entry", "smallest_logit", to=10**400), "must be a finite number, got 1000"),
    ("bound", at("entry", "rounding_bound", to=None), "rounding_bound in certificate.json must be a finite number"),
    ("minimal", at("entry", "proved_minimal", to="yes"), "proved_minimal in certificate.json must be true or false"),
    ("not covered", at("certificate", "does_not_cover", to=[1]), "does_not_cover in certificate.json must be a list o"),
    ("model concepts", at("model", "concepts", 1, to="icu"), "concepts in model.json must be a list of strings that d"),
    ("n_concepts", at("model", "network", "n_concepts", to=8), "network.n_concepts in model.json must be the number o"),
    ("n_heads", at("model", "network", "n_heads", to=3), "network.n_heads in model.json must be the number of class n"),
    ("class names", at("model", "class_names", to=["high", "high"]), "class_names in model.json must be a list of str"),
    ("hidden", at("model", "network", "hidden", to=[]), "network.hidden in model.json must be a list of at least one"),
    ("hidden 0", at("model", "network", "hidden", to=[0]), "must be a list of at least one width, each at least 1, go"),
    ("hidden text", at("model", "network", "hidden", to=["20"]), "network.hidden in model.json must be a list of whol"),
    ("temperature", at("model", "network", "temperature", to=0), "must be a number above 0 that float32 can hold, got"),
    ("temperature low", at("model", "network", "temperature", to=1e-50), "a number above 0 that float32 can hold"),
    ("activation", at("model", "network", "activation", to="tanh"), "must be 'relu', the only one whose heads are ver"),
    ("predicate", at("model", "predicates", "smoker", to=3), "predicates.smoker in model.json must be a JSON object,"),
    ("predicate new", at("model", "predicates", "rain", to={}), "predicates in model.json names the concept 'rain'"),
    (
        "predicate value",
        at("model", "predicates", "age >= 60", "value", to=10**400),
        "predicates.'age >= 60'.value in model.json must be a finite number",
    ),
    (
        "operator",
        at("model", "predicates", "age >= 60", "operator", to="!="),
        "predicates.'age >= 60'.operator in model.json must be one of '>=', '>', '<=', '<', '==', 'missing', got '!='",
    ),
    (
        "predicate null",
        at("model", "predicates", "red", "value", to=None),
        "predicates.red.value in model.json must be a number, a string, true or false, got None",
    ),
    (
        "no date",
        at("model", "predicates", "age >= 60", "value", to="sixty"),
        "value in model.json must be a number or a date such as '2021-03-01' or a duration such as '2 days' beside the "
        "operator >=, got 'sixty'",
    ),
    (
        "no such date",
        at("model", "predicates", "age >= 60", "value", to="2021-02-30"),
        "must be a number or a date such as '2021-03-01' or a duration such as '2 days' beside the "
        "operator >=, got '2021-02-30'",
    ),
    (
        "order of true",
        at("model", "predicates", "age >= 60", "value", to=True),
        "must be a number or a date such as '2021-03-01' or a duration such as '2 days' beside the "
        "operator >=, got True",
    ),
    (
        "missing something",
        at("model", "predicates", "red", "operator", to="missing"),
        "predicates.red.value in model.json must be true beside the operator missing, got 'red'",
    ),
    ("exclusive", at("model", "exclusive", to=None), "exclusive in model.json must be a list of lists of strings"),
    ("implied", at("model", "implied", to=[[]]), "implied in model.json must hold lists of strings that differ"),
    ("group twice", at("model", "exclusive", to=[["red", "red"]]), "from each other, got ['red', 'red']"),
    ("rules", at("model", "rules", to=[]), "rules in model.json must be a JSON object, got []"),
    (
        "rules twice",
        lambda s: s.model["rules"]["classes"].append(s.rules()),
        "rules.classes in model.json must hold each class once, got one of them twice",
    ),
    ("rules if", at("rules", "cubes", to=[{}]), "model.json has no rules.classes[1].cubes[0].if."),
    ("no tensor", lambda s: s.weights.pop("tail.1.bias"), "weights.safetensors has no tail.1.bias: the tensors must b"),
    ("one more tensor", at("weights", "x", to=np.zeros(1)), "weights.safetensors has an unexpected 'x': the tensors m"),
    (
        "shape",
        at("weights", "tail.1.weight", to=np.zeros((2, 20), np.float32)),
        "tail.1.weight in weights.safetensors must be float32 of shape [2, 1, 20], got float32 of shape [2, 20]",
    ),
    (
        "dtype",
        at("weights", "tail.1.bias", to=np.zeros((2, 1))),
        "tail.1.bias in weights.safetensors must be float32 of shape [2, 1], got float64 of shape [2, 1]",
    ),
    (
        "keep",
        at("weights", "entropy.keep", to=np.ones((2, 7), np.uint8)),
        "entropy.keep in weights.safetensors must be bool of shape [2, 7], got uint8 of shape [2, 7]",
    ),
    (
        "keep of 2",
        at("weights", "entropy.keep", to=np.full((2, 7), 2, np.uint8).view(np.bool_)),
        "entropy.keep in weights.safetensors must hold the bytes 0 and 1 only",
    ),
    ("nan", at("weights", "entropy.bias", (0, 3), to=np.nan), "entropy.bias in weights.safetensors must be finite, an"),
    ("inf", at("weights", "entropy.weight", (0, 3, 1), to=np.inf), "entropy.weight in weights.safetensors must be fin"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), [case[1:] for case in UNUSABLE], ids=[case[0] for case in UNUSABLE])
def test_what_is_unusable_and_in_which_words(saved, tmp_path, change, words):
    tampered = saved.copy()
    change(tampered)
    error = refused(tampered, tmp_path)
    assert isinstance(error, Unusable), error
    assert words in str(error)
    assert len(str(error)) < 400
    assert error.exit_code == 2


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("certificate.json", "Only an exact model has one"),
        ("model.json", "fresh copy"),
        ("weights.safetensors", "fresh"),
    ],
)
def test_a_missing_file_is_named(saved, tmp_path, file, words):
    folder = saved.write(tmp_path)
    (folder / file).unlink()
    with pytest.raises(Unusable, match=f"there is no {file} in .*{words}"):
        verify(folder)
    (folder / file).mkdir()
    with pytest.raises(Unusable, match=f"{file} is not a regular file"):
        verify(folder)


def test_a_folder_that_is_not_there(tmp_path):
    for folder in (tmp_path / "none", "a\0b", "x" * 5000):
        with pytest.raises(Unusable, match=r"there is no folder .* Pass the folder that the model was saved in"):
            verify(folder)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is not valid JSON (Expecting value"),
        (b'{"kind": "logi', "is not valid JSON (Unterminated string"),
        (b"\xff\xfe{}", "is not valid JSON ('utf-8' codec can't decode"),
        (b'\xef\xbb\xbf{"a": 1}', "is not valid JSON (Unexpected UTF-8 BOM"),
        (b"[1]", "must be a JSON object, got [1]"),
        (b'{"a": NaN}', "is not valid JSON (it contains NaN)"),
        (b'{"a": -Infinity}', "is not valid JSON (it contains -Infinity)"),
        (b'{"a": {"icu": true, "icu": false}}', "is not valid JSON (an object has the key 'icu' twice)"),
        (b'{"a": "\\ud800"}', "is not valid JSON ('utf-8' codec can't encode"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "is nested too deeply to be read"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is not valid JSON (Exceeds the limit"),
        (b"{}", "has no certificate_sha256"),
        (b'{"certificate_sha256": 5}', "certificate_sha256 in certificate.json must be a string, got 5"),
    ],
)
def test_a_certificate_that_is_not_json(saved, tmp_path, text, words):
    folder = saved.write(tmp_path)
    (folder / "certificate.json").write_bytes(text)
    with pytest.raises(Unusable) as caught:
        verify(folder)
    assert str(caught.value).startswith("certificate.json ") or words in str(caught.value)
    assert words in str(caught.value)
    # The same in model.json, with the right hash.
    if b"sha256" not in text and text != b"{}":
        (folder / "model.json").write_bytes(text)
        write_certificate(folder, saved.certificate)
        with pytest.raises(Unusable) as caught:
            verify(folder)
        assert f"model.json {words}" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"junk",
        bytes(7),
        b"\xff" * 64,
        (2**62).to_bytes(8, "little") + b"{}",
        (8).to_bytes(8, "little") + b'{"a": 1}',
    ],
)
def test_weights_that_are_not_safetensors(saved, tmp_path, content):
    folder = saved.write(tmp_path)
    (folder / "weights.safetensors").write_bytes(content)
    write_certificate(folder, saved.certificate)
    with pytest.raises(Unusable, match=r"weights\.safetensors cannot be read \("):
        verify(folder)


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [2**40, 2**40, 0], "data_offsets": [0, 0]}},
        {"a": {"dtype": "F32", "shape": [1] * 100, "data_offsets": [0, 4]}},
    ],
)
def test_tensors_that_numpy_does_not_have(saved, tmp_path, header):
    text = json.dumps(header).encode()
    folder = saved.write(tmp_path)
    (folder / "weights.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    write_certificate(folder, saved.certificate)
    with pytest.raises(Unusable, match=r"weights\.safetensors (cannot be read|has no)"):
        verify(folder)
