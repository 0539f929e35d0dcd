"""The real command line, as a user starts it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("logiclens")


def logiclens(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(COMMAND), *arguments], capture_output=True, text=True, cwd=cwd)


@pytest.fixture(scope="module")
def explained() -> str:
    run = logiclens("explain", "--folds", "2")
    assert run.returncode == 0, run.stderr
    # No bar in a pipe, no warnings: what there is to know stands in the output.
    assert run.stderr == ""
    return run.stdout


def test_explain_prints_the_six_metrics_with_the_companions_of_fidelity(explained):
    for metric in (
        "model accuracy", "explanation accuracy", "complexity", "fidelity", "fidelity, macro-F1",
        "fidelity of constant False", "constant formulas", "extraction time", "consistency",
    ):  # fmt: skip
        assert re.search(rf"^  {metric}\b.*\d", explained, flags=re.MULTILINE), metric


def test_explain_prints_for_each_class_formula_scores_relevance_and_two_rows(explained):
    for name in ("benign", "malignant"):
        part = explained.split(f"\n\n{name}\n")[1]
        assert part.startswith(f"  ∀x: {name}(x) ")
        scores = re.search(r"on unseen rows F1 ([\d.]+)%, fidelity ([\d.]+)%; \d+ literals? in \d+ cubes?", part)
        assert all(60 < float(score) <= 100 for score in scores.groups())
        assert re.search(r"    .+ >= [\d.]+ +█+.* 1\.00", part)
        assert len(re.findall(rf"^    row \d+: {name} \([\d.]+%\): ", part, flags=re.MULTILINE)) >= 2


def test_explain_is_the_same_for_a_seed():
    def without_times(text: str) -> list[str]:
        return [line for line in text.splitlines() if "extraction time" not in line]

    first, second = (logiclens("explain", "--folds", "2", "--seed", "3").stdout for _ in range(2))
    assert without_times(first) == without_times(second)


@pytest.fixture(scope="module")
def exact(tmp_path_factory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("saved") / "model"
    run = logiclens("explain", "--exact", "--folds", "2", "--save", str(folder))
    assert run.returncode == 0, run.stderr
    return run.stdout, folder


def test_exact_prints_rules_that_are_the_network(exact):
    printed, folder = exact
    assert re.search(r"^  fidelity +100\.00 ± 0\.00 %", printed, flags=re.MULTILINE)
    assert re.search(r"^  agreement with the soft network +\d", printed, flags=re.MULTILINE)
    for name in ("benign", "malignant"):
        part = printed.split(f"\n\n{name}\n")[1]
        assert part.startswith(f"  ∀x: {name}(x) ↔ ")
        assert re.search(r"the formula is the network on all [\d,]+ rows of its (one|\d+) concepts?", part)
        assert int(re.search(r"(\d+) literals? in", part)[1]) <= 9
    assert re.search(r"On unseen rows: of \d+ rows, .* fire exactly one formula, .* none and .* several", printed)
    assert f"logiclens verify {folder}" in printed


def test_verify_says_that_the_rules_are_the_model(exact):
    _, folder = exact
    run = logiclens("verify", str(folder))
    assert (run.returncode, run.stderr) == (0, "")
    assert "The printed rules are the model" in run.stdout
    assert all(f"{name}: equal on all" in run.stdout for name in ("benign", "malignant"))


def test_verify_names_the_row_that_disagrees_and_exits_with_1(exact, tmp_path):
    from tests.test_store import reseal, tamper_literal

    folder = shutil.copytree(exact[1], tmp_path / "changed")
    tamper_literal(folder)
    reseal(folder)
    model, claim = (json.loads((folder / name).read_text()) for name in ("model.json", "certificate.json"))
    for rule, entry in zip(model["rules"]["classes"], claim["classes"], strict=True):
        for cube, literals in zip(rule["cubes"], entry["formula"], strict=True):
            cube["if"] = literals
    (folder / "model.json").write_text(json.dumps(model))
    reseal(folder)
    run = logiclens("verify", str(folder))
    assert run.returncode == 1
    assert re.search(r"on the row .* = [01].* the formula says (yes|no), the head (yes|no)", run.stderr)
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("spoil", ["missing", "truncated", "schema", "nowhere"])
def test_verify_refuses_what_it_cannot_use_with_exit_code_2(exact, tmp_path, spoil):
    folder = shutil.copytree(exact[1], tmp_path / "spoiled")
    if spoil == "missing":
        (folder / "weights.safetensors").unlink()
    elif spoil == "truncated":
        (folder / "model.json").write_text((folder / "model.json").read_text()[:99])
    elif spoil == "schema":
        claim = json.loads((folder / "certificate.json").read_text())
        (folder / "certificate.json").write_text(json.dumps({**claim, "schema": 9}))
    run = logiclens("verify", str(tmp_path / "nowhere" if spoil == "nowhere" else folder))
    assert run.returncode == 2
    assert run.stderr.startswith("not verified: ")
    assert "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("sql", "CASE"), ("python", "def predict(row)"), ("json", '"logiclens rules"'), ("pmml", "<RuleSetModel"),
        ("latex", r"\begin"), ("english", "A row is benign if "),
    ],
)  # fmt: skip
def test_export_prints_the_rules_in_another_language(exact, form, part):
    run = logiclens("export", str(exact[1]), "--to", form)
    assert (run.returncode, run.stderr) == (0, "")
    assert part in run.stdout


def test_an_unknown_dialect_and_an_unsaved_model_are_one_sentence(exact, tmp_path):
    for run in (
        logiclens("export", str(exact[1]), "--dialect", "cobol"),
        logiclens("export", str(tmp_path)),
        logiclens("explain", "--folds", "2", "--save", str(Path(__file__).parent)),
    ):
        assert run.returncode == 2
        assert "Traceback" not in run.stderr
        assert len(run.stderr.splitlines()) == 1


def test_toy_draws_four_figures_and_prints_formulas_and_counts(tmp_path):
    run = logiclens("toy", "--epochs", "30", "--seeds", "1", "--out", str(tmp_path / "figures"))
    assert run.returncode == 0, run.stderr
    names = {"model_a_weights.png", "model_b_relevance.png", "model_c_relevance.png", "model_c_network.png"}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == names
    for name in names:
        assert (tmp_path / "figures" / name).read_bytes().startswith(b"\x89PNG")
    assert run.stdout.count("∀x: ") == 8
    assert re.search(r"minimal \d of 1", run.stdout)


def test_toy_into_a_file_is_one_sentence_and_exit_code_2(tmp_path):
    (tmp_path / "taken").write_text("x")
    run = logiclens("toy", "--epochs", "1", "--seeds", "1", "--out", str(tmp_path / "taken"))
    assert run.returncode == 2
    assert run.stderr.startswith("logiclens: cannot write into")
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


@pytest.mark.parametrize(
    "arguments", [("explain", "--folds", "1"), ("explain", "--method", "magic"), ("explode",), ("toy", "--epochs", "0")]
)
def test_bad_arguments_exit_with_2_and_no_traceback(arguments):
    run = logiclens(*arguments)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_help_and_version():
    assert "explain" in logiclens("--help").stdout
    assert "Example" in logiclens("toy", "--help").stdout
    assert re.fullmatch(r"logiclens \d+\.\d+\.\d+\n", logiclens("--version").stdout)
