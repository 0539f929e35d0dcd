"""The real command line, as a user starts it."""

from __future__ import annotations

import re
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
