"""A model folder with damaged bytes, missing files or special files is refused in one sentence, or answers as before.

Edits of the JSON with every hash made right again are in `tests/estimator/test_persistence.py` and `tests/verify`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from logiclens.estimator import EntropyClassifier
from logiclens.formula.rule_set import RuleSet
from logiclens.verify import verify
from tests.fuzz.judge import Refused, attempt, hostile_examples, judged
from tests.fuzz.models import NAMES, Model, decided, fit_all, model, record_of, rows_of

Damage = Callable[[Path], object]

FILES = ("model.json", "weights.safetensors", "certificate.json", "result.json")


def changed(at: int, length: int, new: bytes) -> Damage:
    """Put bytes in the place of some others."""

    def change(path: Path) -> None:
        content = path.read_bytes()
        start = at % len(content)
        path.write_bytes(content[:start] + new + content[start + length :])

    return change


def laid_out(old: bytes, new: bytes) -> Damage:
    """Change the text of JSON, but not its meaning to most readers."""
    return lambda path: path.write_bytes(path.read_bytes().replace(old, new))


def replaced(make: Damage) -> Damage:
    """Put something else in the place of the file."""

    def change(path: Path) -> None:
        path.unlink()
        make(path)

    return change


def damages() -> st.SearchStrategy[Damage]:
    some_bytes = st.builds(changed, st.integers(0, 40_000), st.sampled_from([0, 1, 1, 1, 10**6]), st.binary(max_size=2))
    layouts = [
        laid_out(b"\n", b"\r\n"), laid_out(b"  ", b" "), laid_out(b'"exact":', b'"exact": false, "exact":'),
        lambda path: path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes()),
    ]  # fmt: skip
    specials = [
        Path.mkdir, Path.touch, os.mkfifo, lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path.name), lambda path: path.symlink_to("nowhere"), lambda path: None,
    ]  # fmt: skip
    return some_bytes | st.sampled_from(layouts) | st.sampled_from([replaced(make) for make in specials])


@given(name=st.sampled_from(NAMES), file=st.sampled_from(FILES), damage=damages())
@hostile_examples(400)
def test_a_damaged_folder_is_refused_or_answers_as_before(name: str, file: str, damage: Damage) -> None:
    fit_all()
    origin = model(name)
    with judged() as place:
        folder = place.inputs / "model"
        folder.mkdir()
        for other, content in origin.files.items():
            (folder / other).write_bytes(content)
        if file in origin.files:
            damage(folder / file)
        place.seal()
        # The certificate says nothing of a result.
        check_answers(origin, folder, is_proved=file != "result.json")


def check_answers(origin: Model, folder: Path, *, is_proved: bool) -> None:
    loaded, rules = attempt(EntropyClassifier.load, folder), attempt(RuleSet.load, folder)
    if not isinstance(loaded, Refused):
        assert loaded.predict(origin.frame).tolist() == origin.answers
    if not isinstance(rules, Refused):
        record = record_of(origin.folder)
        assert rules.predict(origin.frame).tolist() == [decided(record, row) for row in rows_of(origin.frame)]
    if is_proved and not isinstance(attempt(verify, folder), Refused):
        assert not isinstance(loaded, Refused)
