"""torch_explain 1.5.1 in its own interpreter: its formulas and outputs compared with ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.peers.torch_explain import (
    NOTHING,
    PEER,
    VARIABLE,
    PeerLearned,
    PeerResult,
    TorchExplain,
    read_formula,
    run_peer,
)
from lab.runs.authors import Aggregation, aggregate_as_authors, untrained
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError, MissingPackage, UnknownConcept
from logiclens.formula.dnf import DNF
from logiclens.formula.text import parse
from logiclens.nn.layers import EntropyNet

PYTHON = Path(os.environ.get(VARIABLE) or Path(__file__).parents[2] / ".venv-reference" / "bin" / "python")
needs_it = pytest.mark.skipif(
    not PYTHON.is_file(), reason=f"needs an interpreter with torch_explain 1.5.1 (${VARIABLE} or .venv-reference)"
)
N_CASES = 40
# One start of the interpreter for all cases: it takes longer than the cases.
DRIVER = """
import runpy, sys
main = runpy.run_path(sys.argv[1])["main"]
for i in range(int(sys.argv[3])):
    main(f"{sys.argv[2]}/given{i}.npz", f"{sys.argv[2]}/found{i}.npz")
"""


@dataclass(frozen=True, eq=False)
class Case:
    """A table, how many of its rows are for training, a method with all its settings, and a network of ours or none."""

    rows: ConceptTable
    n_train: int
    method: TorchExplain
    seed: int
    carried: EntropyNet | None

    @property
    def parts(self) -> tuple[ConceptTable, ConceptTable]:
        return self.rows.take(range(self.n_train)), self.rows.take(range(self.n_train, len(self.rows)))


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    n_rows, n_concepts, n_classes = (int(rng.integers(*span)) for span in ((30, 100), (2, 7), (2, 4)))
    values = rng.integers(0, 2, (n_rows, n_concepts))
    noise = rng.choice([0.1, 1.0]) * rng.normal(size=(n_rows, n_classes))
    labels = (values @ rng.normal(size=(n_concepts, n_classes)) + noise).argmax(axis=1)
    method = TorchExplain(
        PYTHON,
        hidden=(6,) if seed % 2 else (5, 4),
        temperature=float(rng.choice([0.5, 2.0, 5.0])),
        epochs=int(rng.integers(20, 80)),
        batch_size=None if seed % 3 else 16,
        loss="binary" if rng.random() < 0.5 else "cross_entropy",
        top_k=int(rng.integers(1, 9)),
        exact_only=bool(rng.random() < 0.2),
        max_minterm=None if rng.random() < 0.6 else int(rng.integers(1, n_concepts + 1)),
    )
    rows = ConceptTable(values, [f"c{j}" for j in range(n_concepts)], labels, [str(i) for i in range(n_classes)])
    carried = None
    if seed % 4 == 0:
        generator = torch.Generator().manual_seed(seed)
        carried = untrained(n_concepts, n_classes, method.hidden, temperature=method.temperature, generator=generator)
        with torch.no_grad():
            for parameter in carried.parameters():
                parameter.normal_(generator=generator)
    return Case(rows, 2 * n_rows // 3, method, seed, carried)


def with_other_validation_rows(each: Case) -> Case:
    train, held = each.parts
    labels = (held.labels + 1) % len(held.class_names)
    held = ConceptTable(1 - held.values, held.names, labels, held.class_names)
    return replace(each, rows=train.append(held))


@pytest.fixture(scope="module")
def answered(tmp_path_factory) -> list[tuple[Case, PeerResult]]:
    folder = tmp_path_factory.mktemp("peer")
    cases = [case(seed) for seed in range(N_CASES)]
    cases.append(with_other_validation_rows(cases[1]))
    for i, each in enumerate(cases):
        given = each.method.given(each.rows, n_train=each.n_train, seed=each.seed, network=each.carried)
        np.savez(folder / f"given{i}.npz", **given)
    run_peer([str(PYTHON), "-I", "-c", DRIVER, str(PEER), str(folder), str(len(cases))], folder)
    return [(each, each.method.answered(folder / f"found{i}.npz", each.rows)) for i, each in enumerate(cases)]


@needs_it
def test_outputs_of_the_network_built_again_here_are_theirs(answered):
    for each, found in answered:
        mine = found.network(torch.tensor(each.rows.values)).detach().numpy()
        assert mine.shape == found.logits.shape
        assert np.abs(mine - found.logits).max() < 1e-5


@needs_it
def test_a_carried_network_is_taken_as_it_is(answered):
    carried = [(each.carried, found.network) for each, found in answered if each.carried is not None]
    assert len(carried) == N_CASES // 4
    for mine, theirs in carried:
        assert all(torch.equal(a, b) for a, b in zip(mine.parameters(), theirs.parameters(), strict=True))


@needs_it
def test_validation_rows_do_not_reach_the_weights(answered):
    (one, found), (other, found_again) = answered[1], answered[N_CASES]
    assert one.carried is None
    assert not np.array_equal(one.rows.values, other.rows.values)
    for a, b in zip(found.network.parameters(), found_again.network.parameters(), strict=True):
        assert torch.equal(a, b)


@needs_it
def test_our_aggregation_with_their_settings_means_what_they_find(answered):
    """No exception is made for any case: by meaning all agree, with and without formula."""
    n_formulas = n_nothing = n_long = 0
    for seed, (each, found) in enumerate(answered):
        method = each.method
        how = Aggregation(method.top_k, method.exact_only, "accuracy", method.max_minterm, 0.0, "scored")
        ours = aggregate_as_authors(found.network, *each.parts, how)
        for target, (text, rules) in enumerate(zip(found.texts, ours, strict=True)):
            theirs = read_formula(text, each.rows.names)
            assert rules.found == (text not in NOTHING), (seed, target)
            assert theirs.equivalent(rules.formula), (seed, target, str(theirs), str(rules.formula))
            n_formulas, n_nothing = n_formulas + rules.found, n_nothing + (not rules.found)
            n_long += len(rules.formula) > 1
    # All kinds are among them, or nothing is compared.
    assert n_formulas >= 35
    assert n_nothing >= 5
    assert n_long >= 8


@needs_it
def test_the_learner_gives_predictions_formulas_and_times():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (90, 3))
    rows = ConceptTable(values, ["tall", "dark", "kind"], values[:, 0] ^ values[:, 1], ["same", "differ"])
    train, held = rows.take(range(60)), rows.take(range(60, 90))
    learned = TorchExplain(PYTHON, hidden=(20,), epochs=300)(train, held, seed=0)
    assert isinstance(learned, PeerLearned)
    assert learned.predict(held).tolist() == held.labels.tolist()
    assert learned.formulas[0].equivalent(parse("(tall & dark) | (~tall & ~dark)"))
    assert learned.formulas[1].equivalent(parse("(tall & ~dark) | (~tall & dark)"))
    assert learned.notes == ()
    assert learned.seconds == learned.seconds_training + learned.seconds_extracting
    assert learned.seconds_training > 0
    assert learned.seconds_extracting > 0


# Without the other interpreter -----------------------------------------------------------------------------------

TABLE = ConceptTable([[0, 1], [1, 0]], ["a", "b"], [0, 1], ["no", "yes"])


def test_texts_are_read_in_the_names_of_the_table():
    names = ["age >= 72.5", "smoker"]
    assert read_formula("", names) == read_formula("None", names) == DNF.false
    assert read_formula("True", names) == DNF.true
    found = read_formula("feature0000000001 | (feature0000000000 & ~feature0000000001)", names)
    assert found == parse('smoker | ("age >= 72.5" & ~smoker)')
    with pytest.raises(UnknownConcept, match="feature0000000002"):
        read_formula("feature0000000002", names)
    with pytest.raises(LogicLensError):
        read_formula("__import__('os')", names)


def test_a_missing_interpreter_is_named_with_what_to_do(tmp_path, monkeypatch):
    message = "python -m venv .venv-reference && .venv-reference/bin/pip install torch torch_explain==1.5.1"
    with pytest.raises(MissingPackage) as missing:
        TorchExplain(tmp_path / "nowhere")(TABLE, TABLE, seed=0)
    assert message in str(missing.value)
    assert str(tmp_path / "nowhere") in str(missing.value)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "elsewhere"))
    with pytest.raises(MissingPackage, match="elsewhere"):
        TorchExplain()(TABLE, TABLE, seed=0)
    monkeypatch.delenv(VARIABLE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingPackage, match=r"none at \.venv-reference/bin/python"):
        TorchExplain()(TABLE, TABLE, seed=0)


def test_settings_and_rows_that_make_no_sense_are_refused():
    for wrong in (
        {"hidden": ()},
        {"hidden": (0,)},
        {"epochs": 0},
        {"top_k": 0},
        {"batch_size": -1},
        {"max_minterm": -1},
    ):
        with pytest.raises(LogicLensError, match="must be at least 1"):
            TorchExplain(**wrong)
    with pytest.raises(LogicLensError, match="loss must be 'binary' or 'cross_entropy', got 'hinge'"):
        TorchExplain(loss="hinge")
    with pytest.raises(LogicLensError, match="one class number each"):
        TorchExplain().given(TABLE.per_class(), n_train=1, seed=0)


def test_a_failure_of_the_other_interpreter_shows_its_last_line(tmp_path):
    with pytest.raises(LogicLensError, match=r"failed with status 1: KeyError: 'weight of class 3'$"):
        run_peer([sys.executable, "-c", "print('fine'); raise KeyError('weight of class 3')"], tmp_path)
    with pytest.raises(LogicLensError, match=r"failed with status 3: it said nothing\."):
        run_peer([sys.executable, "-c", "raise SystemExit(3)"], tmp_path)
    run_peer([sys.executable, "-c", "pass"], tmp_path)


def test_outputs_that_are_not_numbers_are_an_error(tmp_path):
    found = {"texts": np.array(["", ""]), "logits": np.array([[np.nan, 0.0]])}
    np.savez(tmp_path / "found.npz", **found)
    with pytest.raises(LogicLensError, match="NaN or infinite outputs: raise the temperature"):
        TorchExplain().answered(tmp_path / "found.npz", TABLE)


SLEEPER = """
import os, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(30)
open(sys.argv[1], "a").write(" slept")
"""


def test_the_other_interpreter_is_ended_when_its_time_is_up(tmp_path):
    mark = tmp_path / "pid"
    with pytest.raises(LogicLensError, match=r"it was not done after 2 seconds"):
        run_peer([sys.executable, "-c", SLEEPER, str(mark)], tmp_path, timeout=2)
    # A number alone: it was not waited for.
    assert not alive(int(mark.read_text()))


@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_the_other_interpreter_ends_with_this_process(tmp_path, how):
    """Interrupted, it is killed by us; where we are killed, it sees its standard input close."""
    mark = tmp_path / "pid"
    watching = f"import runpy, threading; leave = runpy.run_path({str(PEER)!r})['leave_with_parent']; "
    watching += "threading.Thread(target=leave, daemon=True).start()"
    child = [sys.executable, "-c", watching + SLEEPER, str(mark)]
    code = "from pathlib import Path; from lab.peers.torch_explain import run_peer; "
    code += f"run_peer({child!r}, Path({str(tmp_path)!r}))"
    parent = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    wait_until(lambda: mark.exists() and mark.read_text() != "")
    pid = int(mark.read_text())
    assert alive(pid)
    parent.send_signal(how)
    parent.wait()
    wait_until(lambda: not alive(pid))
    assert mark.read_text() == str(pid)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come about within a minute")
