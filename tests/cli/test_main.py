"""The real command line: help, usage, exit codes, terminals, pipes and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from logiclens import EntropyClassifier
from tests.cli_runs import COMMAND, ENVIRONMENT, Terminal, exact, explain, logiclens, patients, positive, refused, soft

COMMANDS = (
    "explain",
    "predict",
    "score",
    "why",
    "flip",
    "check",
    "verify",
    "export",
    "diff",
    "edit",
    "import",
    "report",
    "studio",
)


# Help and usage ---------------------------------------------------------------------------------------------------


def test_help_reads_like_a_manual():
    run = logiclens("--help")
    assert (run.returncode, run.stderr) == (0, "")
    assert max(map(len, run.stdout.splitlines())) <= 80
    assert "..." not in run.stdout.split("Commands:")[1]
    listed = re.findall(r"^  (\w+)  ", run.stdout.split("Commands:")[1], flags=re.MULTILINE)
    assert tuple(listed) == COMMANDS
    for line in re.findall(r"^    logiclens .*", run.stdout, flags=re.MULTILINE):
        assert line.split()[1] in COMMANDS


@pytest.mark.parametrize(
    ("typed", "offered"), [("logiclens exp", "explain export"), ("logiclens explain --bal", "--balanced")]
)
def test_the_shell_completes_commands_and_options(typed, offered):
    # What the script of `logiclens --show-completion` asks for when the tabulator key is pressed.
    asked = {"_LOGICLENS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    run = subprocess.run([COMMAND], env=ENVIRONMENT | asked, capture_output=True, text=True, check=False)
    assert run.stdout.split() == offered.split()
    assert run.stderr == ""


def test_without_a_command_there_is_the_help():
    run = logiclens()
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == logiclens("--help").stdout


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "studio"])
def test_every_command_has_examples_and_json(command):
    """Bench is a group, whose results are a table of its own; the studio answers in the browser."""
    run = logiclens(command, "--help")
    assert (run.returncode, run.stderr) == (0, "")
    assert f"Usage: logiclens {command} [OPTIONS]" in run.stdout
    assert not set("{}") & set(run.stdout)
    assert re.search(r"^  Examples?:\n    .*logiclens " + command, run.stdout, flags=re.MULTILINE)
    assert "--json FILE" in run.stdout
    assert "--quiet" in run.stdout
    # Every option that an example uses exists.
    examples, options = re.split(r"(?m)^[A-Z][a-z ]+:\n", run.stdout, maxsplit=1)
    assert set(re.findall(r" (--[a-z-]+)", examples)) <= set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", options))


def test_version():
    told = logiclens("--version").stdout
    assert re.fullmatch(r"logiclens \d+\.\d+\.\d+\n", told)
    assert subprocess.run([sys.executable, "-m", "logiclens", "--version"], capture_output=True).stdout.decode() == told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("explian", "there is no command 'explian'; did you mean explain?"),
        ("frobnicate", "there is no command 'frobnicate'; logiclens --help shows what there is."),
        ("explain x.csv --tarrget y", "logiclens explain has no option --tarrget; did you mean --target?"),
        ("explain x.csv --target", "option '--target' requires an argument; see logiclens --help."),
        ("predict", "MODEL is missing; the form is: logiclens predict [OPTIONS] MODEL DATA"),
        ("predict model", "DATA is missing; the form is: logiclens predict [OPTIONS] MODEL DATA"),
        ("report model", "--out is missing; the form is: logiclens report [OPTIONS] MODEL"),
        ("explain a.csv b.csv", "got unexpected extra argument"),
        ("explain --folds 1", "--folds: "),
        ("explain --folds many", "--folds: "),
        ("explain --seed -1", "--seed: "),
        ("explain x.csv", "there is no file x.csv."),
        ("explain --target died", "--target is about a table, and without one the bundled example is explained"),
        ("explain --drop died", "--drop is about a table, and without one the bundled example is explained"),
        ("explain x.csv --target y --json - --report -", "standard output can take one result only"),
        ("explain x.csv --target y --json o --report ./o", "two results cannot be written to one file"),
        ("explain x.csv --target y --json no/where.json", "cannot write no/where.json: there is no folder "),
        ("explain x.csv --target y --report .", "cannot write .: it is a folder; name a file in it."),
        ("predict model x.csv -o no/where.csv", "cannot write no/where.csv: there is no folder "),
        ("predict model x.csv -o out.ods", "cannot write out.ods: its name must end in .csv"),
        ("verify model --json no/where", "cannot write no/where: there is no folder "),
        ("score model x.csv --json no/where", "cannot write no/where: there is no folder "),
        ("diff a b --json no/where", "cannot write no/where: there is no folder "),
        ("export model -o no/where", "cannot write no/where: there is no folder "),
        ("predict nowhere x.csv", "there is no folder nowhere."),
        ("diff nowhere nowhere", "there is no folder nowhere."),
        ("export nowhere", "there is no folder nowhere."),
        ("report nowhere -o x.html", "there is no folder nowhere."),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence_before_any_work(arguments, message, tmp_path):
    assert refused(*arguments.split(), cwd=tmp_path).startswith(message)
    assert os.listdir(tmp_path) == []


def test_what_may_not_be_written_is_named_before_any_work(tmp_path):
    patients(40).to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    run = ("explain", "p.csv", "--target", "died", "--save", "mine")
    assert refused(*run, cwd=tmp_path) == (
        "mine exists and is not a model folder alone (it holds 'thesis.txt'): choose another name."
    )
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    if os.geteuid() != 0:
        (tmp_path / "mine").chmod(0o500)
        assert "may be written into" in refused(
            "explain", "p.csv", "--target", "died", "--json", "mine/x", cwd=tmp_path
        )


def test_no_table_is_written_over_with_something_else(tmp_path):
    patients(40).to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "other.csv").write_text("years of work")
    before = (tmp_path / "p.csv").read_bytes()
    run = ("explain", "p.csv", "--target", "died")
    for option in ("--report", "--json"):
        assert refused(*run, option, "p.csv", cwd=tmp_path) == (
            "cannot write p.csv: that is the table to read; name another file."
        )
        assert refused(*run, option, "other.csv", cwd=tmp_path) == (
            "cannot write other.csv: there is a table of that name; name another file."
        )
    assert refused(*run, "--report", "page.pdf", cwd=tmp_path) == (
        "cannot write page.pdf: a report is a page, whose name ends in .html."
    )
    assert (tmp_path / "p.csv").read_bytes() == before
    assert (tmp_path / "other.csv").read_text() == "years of work"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--by", "age"), "'age' has 40 different values, too many to compare: name a column with at most 20"),
        (("--drop", "age,unitt"), "p.csv has no column 'unitt'; did you mean 'unit'"),
        (("--drop", "died"), "'died' is the target: it cannot be left out, weigh, teach or group as well."),
        (("--weight", "died"), "'died' is the target: it cannot be left out, weigh, teach or group as well."),
        (("--weight", "unit"), "the weights in 'unit' must be numbers from 0 on, one in every row."),
        (("--weight", "age", "--folds", "2"), "cross-validation counts every row once: leave out --folds or --weight."),
    ],
)
def test_columns_that_cannot_be_what_they_are_asked_to_be(options, told, tmp_path):
    rows = pd.DataFrame({"age": [i + 0.5 for i in range(40)], "unit": ["a", "b"] * 20, "died": ["yes", "no"] * 20})
    rows.to_csv(tmp_path / "p.csv", index=False)
    assert refused("explain", "p.csv", "--target", "died", *options, cwd=tmp_path).startswith(told)


# The bundled example ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bundled", "target", "classes"),
    [(False, "died", ("no", "yes")), pytest.param(True, "diagnosis", ("benign", "malignant"), marks=pytest.mark.slow)],
    ids=["own", "bundled"],
)
def test_folds_print_the_six_metrics_and_the_sheet(bundled, target, classes, tmp_path):
    patients().to_csv(tmp_path / "p.csv", index=False)
    # Rules that are the model agree with it everywhere, so fidelity is for a network.
    data = () if bundled else ("p.csv", "--target", target, "--soft")
    run = logiclens("explain", *data, "--folds", "2", "--json", "result.json", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    told = json.loads((tmp_path / "result.json").read_text())
    names = (
        "model accuracy", "explanation accuracy", "complexity", "fidelity", "fidelity, macro-F1",
        "fidelity of constant False", "constant formulas", "extraction time, with training", "consistency, of columns",
    )  # fmt: skip
    assert [metric["name"] for metric in told["cross_validation"]] == list(names)
    for metric in told["cross_validation"]:
        line = re.search(rf"^  {metric['name']} +([\d.]+)", run.stdout, flags=re.MULTILINE)
        if bundled and ("fidelity" in metric["name"] or metric["name"] == "constant formulas"):
            assert line is None
            continue
        assert float(line[1]) == pytest.approx(metric["mean"], abs=0.005), metric
    for name in classes:
        assert re.search(rf"\n\n{target} is {name}\n  {target} is {name} (if|otherwise, that is unless) ", run.stdout)
    # One formula, and the other class is the rest.
    assert run.stdout.count("   (otherwise)\n") == 1
    assert {metric["name"]: metric["value"] for metric in told["metrics"]}["model accuracy"] > 85


# Terminals and pipes ----------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path) -> Path:
    patients().to_csv(tmp_path / "p.csv", index=False)
    return tmp_path


def test_a_terminal_shows_progress_and_lines_that_fit():
    shown = positive().run.stdout
    assert re.search(r"\[#+\.*\] searching rules \d+/\d+", shown)
    # The bar is wiped away before the sheet begins.
    sheet = shown.rsplit("\x1b[2K", 1)[1].replace("\r\n", "\n")
    assert sheet.startswith("data.csv: 160 rows")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", sheet)
    assert max(map(len, plain.splitlines())) <= 80
    # Broken between words: every word of the result is there whole.
    flat = " ".join(plain.split())
    for entry in json.loads(positive().json.read_text())["classes"]:
        assert entry["english"] in flat
        assert " ".join(entry["formula"].split()) in flat


def test_ctrl_c_during_learning_leaves_all_files_as_they_were(table):
    (table / "out.html").write_text("older")
    before = sorted(os.listdir(table))
    terminal = Terminal(
        "explain", "p.csv", "--target", "died", "--save", "m", "--report", "out.html", "--json", "out.json", cwd=table
    )
    terminal.read(until=b"] searching rules ")
    terminal.process.send_signal(signal.SIGINT)
    shown = terminal.read()
    assert terminal.close() == 130
    assert shown.rsplit("\x1b[2K", 1)[1] == "logiclens: stopped; nothing is half-written.\r\n"
    assert sorted(os.listdir(table)) == before
    assert (table / "out.html").read_text() == "older"


def test_quiet_is_silent_on_a_terminal_and_output_reproducible(tmp_path):
    first = soft()
    shutil.copy(first.data, tmp_path / "data.csv")
    outputs = ("--save", "m", "--report", "m.html", "--json", "m.json", "--quiet")
    # A fresh interpreter, where sets have another order than in the first run.
    terminal = Terminal("explain", "data.csv", "--target", "died", "--soft", "--by", "sex", *outputs, cwd=tmp_path)
    assert terminal.read() == ""
    assert terminal.close() == 0
    for name in ("model.json", "result.json", "weights.safetensors"):
        assert (tmp_path / "m" / name).read_bytes() == (first.folder / name).read_bytes(), name
    assert (tmp_path / "m.html").read_bytes() == first.report.read_bytes()


PATCHED = """
import os, sys, time
real = os.replace
def slow(source, target):
    print("writing", flush=True)
    time.sleep({seconds})
    real(source, target)
os.replace = slow
sys.argv = ["logiclens", *sys.argv[1:]]
from logiclens.cli import main
main()
"""


def interrupted(seconds: float, number: int, *arguments: object, cwd: Path) -> tuple[int, str]:
    """A command that takes its time to write, and gets a signal while it does."""
    process = subprocess.Popen(
        [sys.executable, "-c", PATCHED.format(seconds=seconds), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=ENVIRONMENT,
    )  # fmt: skip
    assert process.stdout.readline() == "writing\n"
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_during_a_write_keeps_the_older_file(number, code, tmp_path):
    (tmp_path / "out.csv").write_text("older")
    found = interrupted(60, number, "predict", exact().folder, exact().data, "-o", "out.csv", cwd=tmp_path)
    told = "logiclens: stopped; nothing is half-written.\n" if number == signal.SIGINT else ""
    assert found == (code, told)
    assert os.listdir(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "older"


def test_ctrl_c_while_writing_text_keeps_the_older_file(tmp_path):
    (tmp_path / "rules.sql").write_text("older")
    found = interrupted(60, signal.SIGINT, "export", exact().folder, "-o", "rules.sql", cwd=tmp_path)
    assert found == (130, "logiclens: stopped; nothing is half-written.\n")
    assert os.listdir(tmp_path) == ["rules.sql"]
    assert (tmp_path / "rules.sql").read_text() == "older"


def test_ctrl_c_waits_while_a_model_folder_is_replaced(table):
    # Between moving the older folder away and moving the new one in there must be no gap.
    arguments = ("explain", "p.csv", "--target", "died", "--save", "m", "--json", "out.json")
    code, errors = interrupted(0.5, signal.SIGINT, *arguments, cwd=table)
    assert (code, errors) == (130, "logiclens: stopped; nothing is half-written.\n")
    assert sorted(os.listdir(table)) == ["m", "p.csv"]
    files = {"certificate.json", "model.json", "result.json", "weights.safetensors"}
    assert {path.name for path in (table / "m").iterdir()} == files


def test_a_reader_that_closes_the_pipe_causes_no_error(tmp_path):
    big = patients(20_000)
    big.to_csv(tmp_path / "big.csv", index=False)
    shell = f"set -o pipefail; {COMMAND} predict {exact().folder} big.csv | head -2"
    run = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert run.stdout.count("\n") == 2
    assert run.stderr == ""
    assert run.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("streams", [">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("explain p.csv --target died --save made", 0),
        ("predict {model} p.csv", 0),
        ("predict {model} p.csv --json -", 0),
        ("score {model} p.csv", 0),
        ("why {model} --row age=80,unit=MICU", 0),
        ("verify {model}", 0),
        ("--help", 0),
        ("predict {model} nowhere.csv", 2),
    ],
)
def test_a_command_without_standard_streams_ends_as_usual(arguments, code, streams, tmp_path):
    patients().to_csv(tmp_path / "p.csv", index=False)
    shell = f"{COMMAND} {arguments.format(model=exact().folder)} {streams}"
    run = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert (run.returncode, run.stdout) == (code, "")
    assert "Traceback" not in run.stderr
    if arguments.startswith("explain"):
        # A file that was opened in place of a stream would hold what is printed.
        assert logiclens("verify", tmp_path / "made").returncode == 0


def test_a_model_is_saved_though_nobody_reads_the_sheet(table):
    shell = f"{COMMAND} explain p.csv --target died --save m | head -0"
    run = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=table, env=ENVIRONMENT)
    assert (run.stdout, run.stderr) == ("", "")
    assert (table / "m" / "result.json").is_file()


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    run = logiclens("export", exact().folder, "-o", tmp_path / "pipe")
    assert run.returncode == 0, run.stderr
    assert os.read(reader, 1 << 16).startswith(b"-- logiclens rules for DuckDB")
    os.close(reader)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_link_is_written_through_and_modes_are_kept(tmp_path):
    (tmp_path / "real.sql").write_text("older")
    (tmp_path / "real.sql").chmod(0o640)
    (tmp_path / "link.sql").symlink_to("real.sql")
    assert logiclens("export", exact().folder, "-o", tmp_path / "link.sql").returncode == 0
    assert (tmp_path / "link.sql").is_symlink()
    assert (tmp_path / "real.sql").read_text().startswith("-- logiclens rules for DuckDB")
    assert (tmp_path / "real.sql").stat().st_mode & 0o777 == 0o640


def test_a_terminal_without_the_symbols_of_logic_gets_the_rest():
    narrow = {**ENVIRONMENT, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run = subprocess.run(
        [COMMAND, "score", exact().folder, exact().data], capture_output=True, text=True, env=narrow, check=True
    )
    assert run.stdout.isascii()
    assert "accuracy of the model" in run.stdout
    told = subprocess.run(
        [COMMAND, "diff", exact().folder, exact().folder, "--json", "-"], capture_output=True, env=narrow, check=True
    )
    assert "∧" in json.loads(told.stdout)["classes"][0]["before"]


# Memory and files that the system refuses ---------------------------------------------------------------------------


def test_out_of_memory_is_one_sentence(tmp_path):
    code = (
        "import sys; import logiclens.cli.tables as tables; from logiclens.cli import main\n"
        "def full(*_): raise MemoryError('Unable to allocate 5.0 GiB for an array')\n"
        "tables.read_problem = full; main()"
    )
    arguments = [sys.executable, "-c", code, "explain", "new.csv", "--target", "died"]
    run = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("logiclens: there is not enough memory: 5.0 GiB were needed at once; take fewer")
    assert run.stderr.count("\n") == 1


def test_no_memory_to_load_a_library_is_one_sentence(tmp_path):
    code = (
        "import sys\n"
        "class Full:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pandas': raise ImportError('pandas.so: failed to map segment from shared object')\n"
        "sys.meta_path.insert(0, Full())\n"
        "from logiclens.cli import main; main()"
    )
    (tmp_path / "new.csv").write_text("a,died\n1,yes\n2,no\n")
    arguments = [sys.executable, "-c", code, "explain", "new.csv", "--target", "died"]
    run = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("logiclens: there is not enough memory; take fewer")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "explain LONG.csv --target y",
        "explain LONG.csv --target y --engine duckdb",
        "predict MODEL DATA -o LONG.csv",
        "predict LONG DATA",
        "score MODEL LONG.csv",
        "diff LONG LONG",
        "export MODEL -o LONG",
        "report MODEL -o LONG.html",
    ],
)
def test_a_name_of_300_characters_is_refused(command):
    names = {"LONG": "a" * 300, "MODEL": str(exact().folder), "DATA": str(exact().data)}
    message = refused(*(re.sub("LONG|MODEL|DATA", lambda found: names[found[0]], word) for word in command.split()))
    assert len(message) < 400


def test_a_dropped_column_is_watched(tmp_path):
    options = ("--target", "died", "--drop", "unit, id", "--protected", "unit,sex")
    made = explain(patients(), "watched", *options)
    told = json.loads(made.json.read_text())
    assert {
        column["column"]: {group["name"] for group in column["groups"]} >= {"MICU"} for column in told["protected"]
    } == {"unit": True, "sex": False}
    assert all(one["used_by"] == [] for one in told["protected"] if one["column"] == "unit")
    assert told["knowledge"][0] == {
        "constraint": "no rule uses 'unit'",
        "holds": True,
        "reason": "no rule mentions 'unit'",
    }
    assert told["data"]["columns"] == patients().shape[1] - 3
    assert not {"unit", "id"} & set(EntropyClassifier.load(made.folder).schema_.columns)
    # Without it, new rows are decided.
    patients().drop(columns=["unit", "died"]).to_csv(tmp_path / "new.csv", index=False)
    assert logiclens("predict", made.folder, tmp_path / "new.csv").returncode == 0
