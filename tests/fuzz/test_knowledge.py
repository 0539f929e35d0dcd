"""A file of knowledge is refused in one sentence, or is the same after its own dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from logiclens.formula.knowledge import Knowledge, read_knowledge
from tests.fuzz import hostile
from tests.fuzz.judge import Refused, attempt, hostile_examples, judged

LISTS = ("forbidden_columns", "late_columns", "preferred_columns", "protected_columns", "forbidden")
PIECES = (
    "[classes.died]", "=", "[", "]", "'", '"', "\n", "{", "}", "1e999", "nan", "miss", "inf", "2021-01-01", "\x00",
)  # fmt: skip
TEXTS = ("age >= 70", "age < 1", "unit is A", "not x", "a & b", "a &", "&", "is", "x is missing", "x > 3", "")


@st.composite
def files(draw: st.DrawFn) -> str:
    """Draw the lines of a file, and pieces put into it."""
    texts = st.sampled_from(TEXTS) | hostile.texts()
    names = draw(st.lists(st.sampled_from(LISTS), max_size=3))
    lines = [f"{name} = {draw(st.lists(texts, max_size=2))!r}" for name in names]
    if draw(st.booleans()):
        number = draw(st.sampled_from(["1", "-1", "0", "nan", "'x'", "1e400", "true"]))
        lines += ["[classes.died]", f"required_rules = {draw(st.lists(texts, max_size=2))!r}", f"miss = {number}"]
    text = "\n".join(lines)
    for piece in draw(st.lists(st.sampled_from(PIECES), max_size=2)):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + piece + text[at:]
    return text


@given(files())
@hostile_examples(400)
def test_a_file_of_knowledge_round_trips_or_is_refused(text: str) -> None:
    with judged() as place:
        file = place.write("known.toml", text.encode("utf-8", "replace"))
        place.seal()
        known = attempt(read_knowledge, file)
    if not isinstance(known, Refused):
        assert Knowledge.from_dict(known.to_dict()) == known
