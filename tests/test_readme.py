"""Every Python snippet of the README and the guides runs, and every command in them exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
# The snippets of scale.md need a lake: tests/engine runs them.
GUIDES = sorted({path.stem for path in (ROOT / "docs").glob("*.md")} - {"scale"})
SNIPPETS = [
    snippet
    for text in (README, *((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in GUIDES))
    for snippet in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
]


def test_there_are_snippets():
    assert SNIPPETS


def test_the_readme_has_at_most_150_lines():
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet_runs_and_prints_what_it_says(snippet, capsys):
    exec(compile(snippet, "README.md", "exec"), {})
    # A line `# prints: text` in the snippet must be printed.
    printed = capsys.readouterr().out.splitlines()
    for line in re.findall(r"# prints: (.+)", snippet):
        assert line in printed


def test_make_targets_named_in_the_documents_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    documents = (
        "README.md",
        "CONTRIBUTING.md",
        "docs/speed.md",
        "docs/comparison.md",
        "docs/why.md",
        "lab/README.md",
    )
    for document in documents:
        for target in re.findall(r"\bmake ([a-z-]+)", (ROOT / document).read_text()):
            assert target in targets, f"{document}: make {target}"
