"""The independent checker as a program: its output, its exit codes, and what it imports."""

from __future__ import annotations

import ast
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import logiclens.verify
from logiclens.explain import certificate
from logiclens.verify import Refuted, verify
from logiclens.verify.__main__ import _say, main
from logiclens.verify.records import Predicate
from logiclens.verify.report import (
    NOT_COVERED,
    NOT_WATCHED,
    ClassReport,
    Report,
    domain_text,
    formula_text,
    label_text,
    meaning_text,
    name_text,
)
from tests.oracles.certified import certify, random_net
from tests.verify.certificates import flip, refused

ROOT = Path(__file__).parents[2]


def test_the_command_line_prints_a_paragraph_for_each_class(saved, tmp_path, capsys):
    assert main([str(saved.write(tmp_path))]) == 0
    low, _, _, high, formula, _, *rest = capsys.readouterr().out.splitlines()
    assert low.startswith("low: equal on all 8 rows of its 3 concepts; ")
    margin, bound = high.removeprefix("high: equal on all 16 rows of its 4 concepts; smallest |logit| ").split(
        ", float32 rounding at most "
    )
    report = verify(tmp_path)
    entry = report.classes[1]
    # Rounded to the safe side, to two digits.
    assert entry.smallest_logit * 0.9 < float(margin) <= entry.smallest_logit
    assert entry.bound <= float(bound) < entry.bound * 1.1
    assert formula == "  " + entry.formula
    assert rest[:2] == ['red means: light is "red"', 'green means: light is "green"']
    assert rest[2] == (
        "Columns: age (number), smoker (true or false), sepsis (true or false), icu (true or false), light (text)."
    )
    assert rest[3].startswith(
        "Where several formulas fire, the cube with the highest confidence decides, the first of "
    )
    assert rest[3].endswith("; otherwise low.")
    assert rest[4:6] == ["The printed rules are the model, on hard 0/1 concepts.", "Not covered:"]
    assert rest[6:] == [f"- {sentence}" for sentence in report.does_not_cover]


def test_what_is_not_covered_is_the_checkers_own_text(saved, tmp_path):
    forged = saved.copy()
    forged.certificate["does_not_cover"] = ["Nothing at all."]
    report = verify(forged.write(tmp_path))
    assert "Nothing at all" not in str(report)
    assert report.does_not_cover == NOT_COVERED
    # The writer says the same, for those who read the file.
    assert (certificate.NOT_COVERED, certificate.NOT_WATCHED) == (NOT_COVERED, NOT_WATCHED)


def test_the_documentation_says_what_is_not_covered():
    text = " ".join((ROOT / "docs" / "exact.md").read_text("utf-8").split())
    for sentence in (*NOT_COVERED, NOT_WATCHED):
        assert f"- {sentence}" in text


def test_the_command_line_exits_with_the_kind_of_failure(saved, tmp_path, capsys):
    wrong = saved.copy()
    wrong.entry()["rows_checked"] = 3
    assert main([str(wrong.write(tmp_path / "refuted"))]) == 1
    assert capsys.readouterr().err.startswith("refuted: class 'high': its concepts have 16 rows")
    assert main([str(tmp_path / "none")]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("not verified: there is no folder ")
    assert main([]) == 2
    assert main(["--help"]) == 0


def run_module(folder: Path, package: str = "logiclens.verify", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", package, str(folder)], capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_the_module_runs_by_itself_also_where_it_is_copied(saved, tmp_path):
    folder = saved.write(tmp_path / "model")
    shutil.copytree(Path(logiclens.verify.__file__).parent, tmp_path / "elsewhere" / "auditor")
    here = run_module(folder)
    there = run_module(folder, "auditor", PYTHONPATH=str(tmp_path / "elsewhere"))
    assert (here.returncode, here.stderr) == (0, "")
    assert (there.returncode, there.stdout) == (0, here.stdout)
    (folder / "certificate.json").write_text("{}")
    assert (run_module(folder).returncode, run_module(tmp_path / "none").returncode) == (2, 2)


def test_a_terminal_without_unicode_gets_a_verdict(saved, tmp_path):
    net = random_net(2, [[0, 1]], 2, temperature=100.0)
    folder = certify(net, ["größe ≥ 3", "日本"], ["ja"]).write(tmp_path)
    done = run_module(folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gr\\xf6\\xdfe \\u2265 3" in done.stdout


def test_names_cannot_forge_a_verdict(tmp_path):
    names = ["a\nhigh: equal on all 4 rows", "b | c", "\x1b[2K", "d\u202e", 'e"']
    saved = certify(random_net(6, [[0, 1, 2, 3, 4]], 5, temperature=100.0), names, ["x: equal on all\nrows"])
    printed = str(verify(saved.write(tmp_path)))
    lines = printed.splitlines()
    assert len(lines) == 17
    assert lines[0].startswith('"x: equal on all\\nrows": equal on all 32 rows')
    assert lines[-1].startswith("- Arithmetic")
    assert '"a\\nhigh: equal on all 4 rows"' in lines[1]
    assert '"b | c"' in printed
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    # A row is named in words that cannot be forged either.
    flip(saved.entry("x: equal on all\nrows")["formula"][0])
    saved.set_formula(saved.entry("x: equal on all\nrows")["formula"], "x: equal on all\nrows")
    assert '"b | c" = ' in str(refused(saved, tmp_path))


def test_it_loads_numpy_and_safetensors_and_nothing_else_of_ours():
    code = """
import sys, logiclens.verify, logiclens.verify.__main__
ours = [name for name in sys.modules if name.split('.')[0] == 'logiclens']
print(sorted(name for name in ours if name != 'logiclens' and not name.startswith('logiclens.verify')))
print(sorted({'torch', 'scipy', 'sklearn', 'pandas', 'jaxtyping'} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]


def test_its_source_imports_relatively_and_from_three_places_only():
    for path in Path(logiclens.verify.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            else:
                assert not isinstance(node, ast.ImportFrom) or node.level == 1
                continue
            for module in modules:
                top = module.split(".")[0]
                assert top in ("numpy", "safetensors") or top in sys.stdlib_module_names, f"{path.name}: {module}"
                assert module != "safetensors.torch"


def test_errors_cannot_steer_the_terminal(saved, tmp_path, capsys, monkeypatch):
    assert main(["a", "b\x1b[2J\u202e\nverified"]) == 2
    error = capsys.readouterr().err
    assert "b\\x1b[2J\\u202e\\nverified" in error
    assert error.replace("\n", "").isprintable()

    def refuse(folder: str) -> None:
        raise Refuted("class x\x1b[2J\nverified")

    monkeypatch.setattr("logiclens.verify.__main__.verify", refuse)
    assert main(["a"]) == 1
    assert capsys.readouterr().err == "refuted: class x\\x1b[2J\\nverified\n"


def test_figures_of_the_report_are_not_covered(saved, tmp_path):
    folder = saved.write(tmp_path)
    (folder / "result.json").write_text("any figures")
    assert "- Figures in result.json, which `logiclens report` shows: that file is not read." in str(verify(folder))


def test_a_report_prints_these_lines_exactly():
    compiled = ClassReport("ill", "a & ~b", "all 4 rows of its 2 concepts", 4, 0.1299, 1.01e-7, (0.91239, 1.0))
    plain = ClassReport("1", "True", "the one row of no concepts", 1, 2.0, 1e-7, label=1)
    rest = ("Somebody decides.", "Columns: a.", ("a means: b",), "my x")
    report = Report((compiled, plain), ("This.", "That."), *rest)
    assert str(report).splitlines() == [
        "ill: equal on all 4 rows of its 2 concepts; smallest |logit| 0.12, float32 rounding at most 1.1e-07",
        "  a & ~b",
        "  confidence 0.9124, 1 (as stated, not checked)",
        "1: equal on the one row of no concepts; smallest |logit| 2, float32 rounding at most 1.0e-07",
        "  True",
        "a means: b",
        "Columns: a.",
        'They predict "my x".',
        "Somebody decides.",
        "The printed rules are the model, on hard 0/1 concepts.",
        "Not covered:",
        "- This.",
        "- That.",
    ]


def test_names_and_values_are_quoted_where_they_could_mislead():
    names = ["True", "False", "", " a", "a ", "a", "x & y", 'q"', "a >= 6", "a.b", "LISU"]
    quoted = ['"True"', '"False"', '""', '" a"', '"a "', "a", '"x & y"', '"q\\""', "a >= 6", "a.b", "LISU"]
    assert [name_text(name) for name in names] == quoted
    assert [label_text(label) for label in ("1e3", "nan", "x", True, 2.5)] == ['"1e3"', '"nan"', "x", "True", "2.5"]
    meanings = [
        Predicate("a", "missing", True),
        Predicate("a", "==", 'q"'),
        Predicate("my a", "<", 2),
        Predicate("a", "==", True),
    ]
    assert [meaning_text(meant) for meant in meanings] == ["a is missing", 'a is "q\\""', '"my a" < 2', "a is True"]
    assert domain_text(["a"]) == "all 2 rows of its 1 concept"
    assert domain_text(["a"] * 30) == "all 2^30 rows of its 30 concepts, proved unit by unit"
    for comparison in (">=", "<=", "==", "!="):
        assert name_text(f"a {comparison} 6") == f"a {comparison} 6"
    assert formula_text(((("a", True), ("b", False)), ())) == "(a & ~b) | True"


def test_the_help_names_the_program_and_its_files(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: python -m logiclens.verify [-h] folder\n")
    assert "holds model.json, weights.safetensors and certificate.json\n" in out


def test_what_a_terminal_cannot_show_is_escaped():
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    _say("größe", terminal)
    terminal.seek(0)
    assert terminal.read() == "gr\\xf6\\xdfe\n"
    plain = io.StringIO()
    _say("größe", plain)
    assert plain.getvalue() == "größe\n"
