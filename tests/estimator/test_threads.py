"""One model in sixteen threads: every method answers as it does alone."""

from __future__ import annotations

import csv
import warnings

import numpy as np
import pandas as pd
import pytest

from logiclens import EntropyClassifier
from logiclens.errors import LogicLensWarning, collected_warnings, warn
from tests.at_once import at_once


def rows_and_labels(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"b": rng.normal(size=n), "a": rng.normal(size=n), "c": rng.choice(["x", "y", "z"], n)})
    return rows, np.where((rows.a > 0) & (rows.b < 0.5) | (rows.c == "x"), "yes", "no")


ROWS, LABELS = rows_and_labels()
KINDS = {
    "soft": {"booleanise": "soft"},
    "exact": {"exact": True},
    "paper": {"method": "paper"},
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = {}
    for kind, settings in KINDS.items():
        model = EntropyClassifier(epochs=30, set_aside=0.25, **settings).fit(ROWS, LABELS)
        made[f"{kind} fitted"] = model
        made[f"{kind} loaded"] = EntropyClassifier.load(model.save(tmp_path_factory.mktemp("models") / kind))
    return made


def answers_of(model, folder):
    """What every method of a model answers, as values that can be compared."""
    fitted = hasattr(model, "table_")
    known = None if fitted else ROWS
    row = ROWS.iloc[3].to_dict()
    table = folder / "rows.csv"
    ROWS.to_csv(table, index=False)
    calls = {
        "predict a file": lambda: model.predict(str(table)).tolist(),
        "predict": lambda: model.predict(ROWS).tolist(),
        "predict_proba": lambda: model.predict_proba(ROWS).tolist(),
        "score": lambda: model.score(ROWS, LABELS),
        "concepts": lambda: model.concepts(ROWS).to_dict(),
        "explain": lambda: str(model.explain(known)),
        "explain other rows": lambda: str(model.explain(ROWS[:50], LABELS[:50])),
        "explain_local": lambda: str(model.explain_local(ROWS[:30])),
        "why": lambda: str(model.why(row)),
        "flip": lambda: str(model.rules_.flip(row)),
        "gap": lambda: str(model.explain(known).gap()),
        "statistics": lambda: str(model.statistics(ROWS, LABELS)),
        "relevance": lambda: model.relevance_.to_dict(),
        "html": lambda: model._repr_html_(),
    }
    if fitted:
        calls["statistics of held-out rows"] = lambda: str(model.statistics())
        calls["save"] = lambda: saved(model, folder)
    if not hasattr(model, "_rules") and not fitted:
        # The paper's rules come from the rows that a loaded model does not have.
        for name in ("why", "flip", "statistics", "html"):
            del calls[name]
    return calls


def saved(model, folder):
    path = folder / f"{np.random.default_rng().integers(2**62)}"
    model.save(path)
    return {file.name: file.read_bytes() for file in path.iterdir()}


@pytest.mark.parametrize("when", ["fitted", "loaded"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_answers_in_threads_as_it_does_alone(models, kind, when, tmp_path):
    model = models[f"{kind} {when}"]
    calls = answers_of(model, tmp_path)
    expected = {name: call() for name, call in calls.items()}
    filters, limit = list(warnings.filters), csv.field_size_limit()
    # pandas and scikit-learn change the filters of the whole process; this package must not.
    with warnings.catch_warnings():
        found = dict(zip(calls, at_once(list(calls.values())), strict=True))
        ours = [entry for entry in warnings.filters if entry[2] is LogicLensWarning and entry not in filters]
    assert ours == []
    differ = {name for name, results in found.items() if any(result != expected[name] for result in results)}
    assert not differ
    assert csv.field_size_limit() == limit


def test_threads_may_be_the_first_to_ask_a_model(tmp_path):
    """No cached value exists yet when the threads start."""
    path = EntropyClassifier(exact=False, epochs=30).fit(ROWS, LABELS).save(tmp_path / "model")
    expected = EntropyClassifier.load(path).predict_proba(ROWS).tolist()
    fresh = EntropyClassifier.load(path)
    (found,) = at_once([lambda: fresh.predict_proba(ROWS).tolist()], repeats=2)
    assert found == [expected] * len(found)


def test_warnings_of_one_thread_are_not_collected_by_another():
    def collect():
        with collected_warnings() as sentences:
            warn("one", stacklevel=1)
            warn("two", stacklevel=1)
        return sentences

    (found,) = at_once([collect], repeats=20)
    assert found == [["one", "two"]] * len(found)
    with pytest.warns(LogicLensWarning, match="three") as caught:
        warn("three", stacklevel=1)
    assert caught[0].filename == __file__


def test_explaining_by_the_papers_method_warns_in_every_thread():
    model = EntropyClassifier(method="paper", epochs=1).fit(ROWS, LABELS)
    for parameter in model.network_.parameters():
        # A network of zeros answers all rows alike.
        parameter.data.zero_()
    with pytest.warns(LogicLensWarning, match="predicts") as alone:
        model.explain()
    filters = list(warnings.filters)
    with pytest.warns(LogicLensWarning, match="predicts") as caught:
        at_once([lambda: model.explain()], repeats=4)
    assert warnings.filters == filters
    assert len(caught) == 16 * 4 * len(alone)
    assert {warning.filename for warning in caught} == {__file__}
