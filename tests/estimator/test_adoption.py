"""An adopted model answers as its edited rules on every row, is verified, and remembers what was edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier, RuleSet
from logiclens.errors import LogicLensError
from logiclens.export.registry import FORMATS
from logiclens.storage import json_sha256
from logiclens.verify import VerificationError, verify


def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 95, 300).astype(float),
            "pulse": rng.normal(80, 15, 300).round(),
            "sepsis": rng.random(300) < 0.4,
            "unit": rng.choice(["MICU", "CCU", "SICU"], 300),
            "admitted": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 300), "D"),
        }
    )
    frame.loc[rng.random(300) < 0.1, "pulse"] = np.nan
    frame["state"] = np.where(
        (frame.age >= 60) & frame.sepsis | (frame.unit == "CCU") & (frame.pulse > 85), "ill", "well"
    )
    return frame


ROWS = table()
EDITS: dict[str, Any] = {
    "threshold": lambda rules: rules.with_rule("ill", "age >= 33.5 & age < 41"),
    "gaps": lambda rules: rules.with_rule("ill", "pulse < 50 & sepsis").with_rule("ill", "pulse is missing & sepsis"),
    "dates": lambda rules: rules.with_rule("ill", "admitted >= 2024-05-01 & weekday of admitted >= 6"),
    "above": lambda rules: rules.with_rule("ill", "age > 50 & age <= 90 & not sepsis"),
    "rest": lambda rules: rules.with_rule("well", "age < 25"),
    "category": lambda rules: rules.with_rule("ill", "unit is SICU"),
    "removed": lambda rules: rules.without("ill#1"),
    "nothing left": lambda rules: [rules := rules.without("ill#1") for _ in rules.rule_ids][-1],
}  # fmt: skip


@pytest.fixture(scope="module", params=[False, True], ids=["soft", "exact"])
def model(request: pytest.FixtureRequest) -> EntropyClassifier:
    return EntropyClassifier(exact=request.param, epochs=30).fit(ROWS, target="state")


@pytest.mark.parametrize("name", EDITS)
def test_an_adopted_model_answers_as_its_rules_and_is_verified(
    model: EntropyClassifier, tmp_path: Path, name: str
) -> None:
    rules = EDITS[name](model.rules_)
    adopted = model.adopt(rules)
    assert (adopted.predict(ROWS) == rules.predict(ROWS)).all()
    assert adopted.exact
    folder = adopted.save(tmp_path / "model")
    report = verify(folder)
    assert "Edited, as stated and not checked:" in str(report)
    assert len(report.history) == len(rules.history)
    loaded = EntropyClassifier.load(folder)
    assert (loaded.predict(ROWS) == rules.predict(ROWS)).all()
    assert loaded.rules_.history == rules.history
    heads = loaded.read(ROWS).yes
    assert (heads == rules.fires(ROWS)).all()
    assert (RuleSet.load(folder).predict(ROWS) == rules.predict(ROWS)).all()


def test_the_certificate_records_the_history(model: EntropyClassifier, tmp_path: Path) -> None:
    rules = model.rules_.measure(ROWS, "state").rules.with_rule(
        "ill", "age >= 33.5 & pulse >= 100", why="guideline", who="W"
    )
    folder = model.adopt(rules.measure(ROWS, "state").rules).save(tmp_path / "model")
    certificate = json.loads((folder / "certificate.json").read_bytes())
    (line,) = certificate["history"]
    assert (line["why"], line["who"], line["before"]["rows"]) == ("guideline", "W", 300)
    assert line["after"]["accuracy"] == rules.measure(ROWS, "state").accuracy
    certificate["history"][0]["why"] = "no reason"
    rest = {key: value for key, value in certificate.items() if key != "certificate_sha256"}
    sealed = {**rest, "certificate_sha256": json_sha256(rest, ensure_ascii=False)}
    (folder / "certificate.json").write_text(json.dumps(sealed, ensure_ascii=False), encoding="utf-8")
    with pytest.raises(VerificationError, match="tells another history of the rules"):
        verify(folder)
    with pytest.raises(LogicLensError, match="differ in the history of the rules"):
        EntropyClassifier.load(folder)


def test_a_saved_model_adopts_rules_as_a_fitted_one_does(model: EntropyClassifier, tmp_path: Path) -> None:
    loaded = EntropyClassifier.load(model.save(tmp_path / "first"))
    rules = loaded.rules_.with_rule("ill", "age >= 33.5 & pulse >= 100")
    folder = loaded.adopt(rules).save(tmp_path / "second")
    assert verify(folder).classes
    again = EntropyClassifier.load(folder)
    third = again.adopt(again.rules_.with_threshold("age >= 33.5", 34)).save(tmp_path / "third")
    assert len(verify(third).history) == 2


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_export_takes_edited_rules(model: EntropyClassifier, form: Any) -> None:
    adopted = model.adopt(model.rules_.with_rule("ill", "age >= 33.5 & pulse >= 100"))
    content = form.content(adopted, dialect="duckdb", table="t")
    assert content[:2] == b"PK" if form.is_binary else b"33.5" in content


def test_rules_of_other_classes_or_columns_are_refused(model: EntropyClassifier) -> None:
    other = EntropyClassifier(epochs=30).fit(ROWS.assign(state=ROWS.state + "!"), target="state")
    with pytest.raises(LogicLensError, match=r"the rules are of the classes \['ill!', 'well!'\], the model is of"):
        model.adopt(other.rules_)
    more = model.rules_.knowing({"height": [1.7, 1.8]}).with_rule("ill", "height >= 1.75")
    with pytest.raises(LogicLensError, match="the model has no column 'height' that 'height >= 1"):
        model.adopt(more)
    with pytest.raises(LogicLensError, match="a model adopts a RuleSet"):
        model.adopt("rules")  # type: ignore[arg-type]
