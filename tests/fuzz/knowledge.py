"""Door of files of knowledge: TOML texts that are well formed, mutated, or hostile."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from logiclens.formula.knowledge import Knowledge, read_knowledge
from tests.fuzz import hostile
from tests.fuzz.judge import Failure, Outcome, Place, Refused, attempt

LISTS = ("forbidden_columns", "late_columns", "preferred_columns", "protected_columns", "forbidden")
PIECES = (
    "[classes.died]",
    "=",
    "[",
    "]",
    "'",
    '"',
    "\n",
    "{",
    "}",
    "1e999",
    "nan",
    "miss",
    "inf",
    "2021-01-01",
    "\x00",
)
TEXTS = ("age >= 70", "age < 1", "unit is A", "not x", "a & b", "a &", "&", "is", "x is missing", "x > 3", "")


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the lines of a file, and pieces put into it."""
    texts = st.sampled_from(TEXTS) | hostile.texts(lone=False)
    lines = [
        f"{draw(st.sampled_from(LISTS))} = {draw(st.lists(texts, max_size=2))!r}"
        for _ in range(draw(st.integers(0, 3)))
    ]
    if draw(st.booleans()):
        number = draw(st.sampled_from(["1", "-1", "0", "nan", "'x'", "1e400", "true"]))
        lines += ["[classes.died]", f"required_rules = {draw(st.lists(texts, max_size=2))!r}", f"miss = {number}"]
    text = "\n".join(lines)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at:]
    return {"text": text}


def check(case: dict[str, Any], place: Place) -> Outcome:
    """Read the file: it is refused in one sentence, or survives its own dictionary."""
    file = place.write("known.toml", case["text"].encode("utf-8", "replace"))
    place.seal()
    known = attempt(read_knowledge, file)
    if isinstance(known, Refused):
        return Outcome.refused
    if Knowledge.from_dict(known.to_dict()) != known:
        raise Failure("knowledge changes when it is written", repr(known)[:200])
    return Outcome.agreed
