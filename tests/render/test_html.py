"""Notebook output: well-formed HTML that states the values and contains no active content."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.utils import estimator_html_repr

from logiclens import EntropyClassifier
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensWarning, warn
from logiclens.estimator import learning, training
from logiclens.explain import classwise, explain_all
from logiclens.explain.certificate import HeadCertificate
from logiclens.explain.stability import Stability
from logiclens.formula import DNF, Cube, Literal, Rule, RuleSet, parse
from logiclens.formula.english import TableFacts
from logiclens.formula.predicate import Predicate
from logiclens.formula.rules import FoundAgain
from logiclens.metrics.rule_statistics import rule_statistics
from logiclens.render.html import model_html, rules_html
from tests.rigged import GRID, NAMES, Rigged, boolean, xor_net

EVIL = "<img src=x onerror=alert(1)>"
TRICKY = (EVIL, "a\"b'c & </td></table><script>alert(1)</script>", "&lt;b&gt; &#60;", "A ∧ B — Größe\n2")
TAGS = {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "code", "details", "summary", "strong"}
ATTRIBUTES = {"style", "scope", "rowspan", "colspan", "open"}


@dataclass
class Node:
    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag: str) -> list[Node]:
        inner = [child for child in self.children if isinstance(child, Node)]
        return [node for child in inner for node in ([child] if child.tag == tag else []) + child.all(tag)]


class Reader(HTMLParser):
    """Reads what we write, and refuses what is not well formed or not ours."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Node("root")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, f"the tag {tag!r} is none of ours"
        assert {name for name, _ in attrs} <= ATTRIBUTES
        for name, value in attrs:
            if name == "style":
                check_style(str(value))
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    handle_decl = handle_pi = unknown_decl = handle_comment


def check_style(style: str) -> None:
    """Nothing is loaded, and text has the colour of the page."""
    assert "url(" not in style
    assert "expression" not in style
    for name, value in (part.split(":", 1) for part in style.split(";")):
        assert name != "color" or value == "inherit"
        assert not name.startswith("background") or value in ("none", "currentColor")


def read(html: str) -> Node:
    reader = Reader()
    reader.feed(html)
    reader.close()
    (root,) = reader.open
    return root


def cells(html: str) -> list[list[str]]:
    return [[cell.text for cell in row.children] for row in read(html).all("tr")]


def shown(value: object) -> dict[str, str]:
    """What Jupyter shows: it asks for a bundle first, then for HTML."""
    bundle = getattr(value, "_repr_mimebundle_", None)
    if bundle is not None:
        return bundle(include=None, exclude=None)
    html = getattr(value, "_repr_html_", None)
    return {"text/plain": repr(value), **({} if html is None else {"text/html": html()})}


# Rules -----------------------------------------------------------------------------------------------------------

RULES = RuleSet(
    (
        Rule("ill", parse("(old & ~smoker) | bare"), (0.912, 0.5)),
        Rule("well", parse("~old"), (0.8,)),
        Rule("never", DNF.false, ()),
    ),
    {"old": Predicate("age", ">=", 72.5), "bare": Predicate("bmi", "missing")},
    otherwise=1,
)


def test_rules_are_a_table_in_words_with_the_formula_below():
    assert cells(shown(RULES)["text/html"]) == [
        ["class", "if", "trust"],
        ["ill", "age is at least 72.5 and smoker is not true", "91%"],
        ["or if bmi is missing", "50%"],
        ["(old ∧ ¬smoker) ∨ bare"],
        ["well", "age is below 72.5 (or missing)", "80%"],
        ["¬old"],
        ["never", "never", ""],
        ["⊥"],
    ]


def test_tables_name_the_target_with_every_class():
    named = replace(RULES, facts=TableFacts("state"), resolve="order", order=(1, 0, 2))
    classes = ["state is ill", "state is well", "state is never"]
    html = read(rules_html(named))
    assert [cell.text for cell in html.all("th") if cell.attributes["scope"] == "rowgroup"] == classes
    assert "The first that applies decides: state is well, then state is ill, then state is never." in html.text
    rows = {"age": [80, 20], "smoker": [0, 1], "bmi": [1.0, 1.0]}
    html = read(rule_statistics(named, rows, ["ill", "well"], by=["F", "M"])._repr_html_())
    assert [cell.text for cell in html.all("th") if cell.attributes["scope"] == "rowgroup"] == 3 * classes
    # With several labels a row, each label is a target of its own.
    several = read(rules_html(replace(RULES, facts=TableFacts("state"), multilabel=True)))
    assert "state is" not in several.text


def test_every_row_of_the_table_has_three_columns():
    width = [0] * 100
    for place, row in enumerate(read(rules_html(RULES)).all("tr")):
        for cell in row.children:
            for below in range(int(cell.attributes.get("rowspan", 1))):
                width[place + below] += int(cell.attributes.get("colspan", 1))
    assert width[:9] == [3] * 8 + [0]


def test_an_always_true_formula_is_said():
    assert cells(rules_html(RuleSet((Rule("x", DNF.true, (0.3,)),))))[1:] == [["x", "always", "30%"], ["⊤"]]


def test_who_decides_is_what_predict_does():
    both, none = {"age": [80, 80], "smoker": [0, 1], "bmi": [1.0, None]}, {"age": [80], "smoker": [1], "bmi": [1.0]}
    rules = replace(RULES, rules=(RULES.rules[0], Rule("well", parse("smoker | ~smoker & old"), (0.8, 0.95))))
    assert rules.fires(both).all(axis=1).tolist() == [True, True]
    # 0.95 beats 0.912, and 0.8 beats 0.5: the highest confidence, not the first class.
    assert rules.predict(both).tolist() == ["well", "well"]
    assert "the condition with the highest trust decides" in read(rules_html(rules)).text
    assert RULES.predict(none).tolist() == ["well"]
    assert "Where no class fires, the class is well." in read(rules_html(RULES)).text
    nobody = replace(RULES, otherwise=None)
    assert nobody.predict(none).tolist() == [None]
    assert "Where no class fires, nobody decides." in read(rules_html(nobody)).text
    refused = read(rules_html(replace(RULES, resolve="none"))).text
    assert "Where not exactly one class fires, nobody decides." in refused
    assert "the class is well" not in refused
    several = read(rules_html(replace(RULES, multilabel=True))).text
    assert "a row may have several, or none" in several
    assert "decides" not in several
    assert "several classes" not in read(rules_html(RuleSet((Rule("x", parse("a"), (0.5,)),)))).text


def test_the_upper_of_equals_decides_as_the_table_says():
    equal = RuleSet((Rule("x", parse("a"), (0.5,)), Rule("y", parse("a"), (0.5,))))
    assert equal.predict({"a": [1]}).tolist() == ["x"]
    assert "the upper of equals" in read(rules_html(equal)).text


@pytest.mark.parametrize("name", TRICKY)
def test_names_with_html_are_shown_as_they_are(name):
    rules = RuleSet(
        (Rule(name, parse("c | d"), (0.9, 0.8)),),
        {"c": Predicate(name, "==", name), "d": Predicate(f"{name}2", ">=", 2)},
    )
    told = cells(rules_html(rules))
    assert told[1] == [name, f'{name} is "{name}"', "90%"]
    assert told[2] == [f"or if {name}2 is at least 2", "80%"]


text = st.text(st.sampled_from("<>&\"' ;#/ax1\n"), min_size=1, max_size=12)


@given(text, text)
def test_no_name_can_leave_its_place(label, column):
    rules = RuleSet((Rule(label, parse("c"), (0.9,)),), {"c": Predicate(column, ">=", 1)}, otherwise=0)
    assert cells(rules_html(rules))[1] == [label, f"{column} is at least 1", "90%"]
    assert f"the class is {label}." in read(rules_html(rules)).text
    told = read(model_html(label, {"a": column}, rules, [column])).text
    assert told.startswith(f"{label}(a={column!r}), fitted")
    assert told.endswith(column)


# Explanations ----------------------------------------------------------------------------------------------------


def xor_explanation(names=NAMES, classes=("same", "other")):
    return explain_all(xor_net(), ConceptTable(GRID, names, class_names=classes))


def test_an_explanation_has_a_section_a_class():
    explanation = xor_explanation()
    sections = read(shown(explanation)["text/html"]).all("details")
    assert [section.all("strong")[0].text for section in sections] == ["same", "other"]
    other = sections[1]
    assert (
        "A row is other otherwise, that is unless one of these holds: "
        "a is not true and b is not true; a is true and b is true." in other.all("summary")[0].text
    )
    assert other.all("code")[0].text == explanation["other"].first_order
    assert "agree on all explained rows" in other.text
    assert all("open" in section.attributes for section in sections)


def test_a_class_is_shown_by_itself():
    explanation = xor_explanation()
    (section,) = read(shown(explanation["other"])["text/html"]).all("details")
    assert section.text == read(shown(explanation)["text/html"]).all("details")[1].text


def test_what_concepts_mean_is_said_where_it_is_known():
    explanation = replace(xor_explanation(), predicates={"a": Predicate("age", ">=", 60)})
    assert "age is at least 60" in read(shown(explanation)["text/html"]).all("summary")[1].text


def test_bars_show_relevance_and_are_full_for_used_concepts():
    explained = replace(xor_explanation()["other"], relevance={"a": 1.0, "d": 0.25, "b": 0.5})
    rows = read(explained._repr_html_()).all("tr")
    assert [row.children[0].text for row in rows] == ["a", "b", "d"]
    style = [row.children[1].all("div")[0].attributes["style"] for row in rows]
    widths = [float(re.search(r"width:([\d.]+)em", text)[1]) for text in style]
    assert np.divide(widths, widths[0]).tolist() == [1.0, 0.5, 0.25]
    assert ["background:currentColor" in text for text in style] == [True, True, False]
    assert [row.children[2].text for row in rows] == [
        "1.00, in the formula", "0.50, in the formula", "0.25, not in the formula: the search left it out",
    ]  # fmt: skip


def test_of_many_concepts_the_most_relevant_are_shown():
    explained = replace(xor_explanation()["other"], relevance={f"c{i}": 1 - i / 40 for i in range(20)})
    html = read(explained._repr_html_())
    # Those of the formula come first, however relevant they are.
    assert [row.children[0].text for row in html.all("tr")] == ["a", "b", *(f"c{i}" for i in range(13))]
    assert "and 7 less relevant" in html.text


def test_fidelity_is_told_and_never_rounded_to_all():
    explained = replace(xor_explanation()["other"], equals_network=False, fidelity=0.973)
    assert "agree on 97.3% of the explained rows" in read(explained._repr_html_()).text
    nearly = read(replace(explained, fidelity=0.99999)._repr_html_()).text
    assert "agree on over 99.99% of the explained rows" in nearly
    assert "100.0%" not in nearly


def test_a_constant_formula_comes_with_its_reason_and_remedy():
    network = Rigged(4, ((0,), (0,)), boolean(lambda a, b, c, d: a & ~a))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogicLensWarning)
        explanation = explain_all(network, ConceptTable(GRID, NAMES, class_names=["no", "yes"]))
    yes = read(explanation._repr_html_()).all("details")[1]
    assert "No row is yes." in yes.text
    assert explanation["yes"].reason in yes.text
    assert explanation["yes"].remedy in yes.text


def test_a_certificate_is_named():
    plain = xor_explanation()
    certificate = HeadCertificate("other", 1, ("a", "b"), plain["other"].formula, 4, 1.0, 0.1, True)
    told = read(replace(plain["other"], certificate=certificate)._repr_html_()).text
    assert "Certified: network and formula are equal on all 4 rows of its 2 concepts." in told
    assert "Certified" not in read(plain._repr_html_()).text


def test_notes_and_rules_found_again_are_told():
    plain = xor_explanation()
    (cube, *_) = plain["other"].formula
    stability = Stability(3, {"other": {cube: FoundAgain(1)}})
    root = read(replace(plain, notes=("mind <this>",), stability=stability)._repr_html_())
    assert "note: mind <this>" in root.text
    same, other = (section.text for section in root.all("details"))
    assert "found again in only 1 of 3, less than half" in other
    assert "found again" not in same


def test_many_classes_are_folded_up():
    explanation = xor_explanation()
    many = replace(explanation, classes=tuple(replace(explanation[1], name=f"k{i}") for i in range(7)))
    assert not any("open" in section.attributes for section in read(many._repr_html_()).all("details"))
    few = replace(many, classes=many.classes[:6])
    assert all("open" in section.attributes for section in read(few._repr_html_()).all("details"))


@pytest.mark.parametrize("name", TRICKY[:3])
def test_an_explanation_shows_names_with_html_as_they_are(name):
    explanation = xor_explanation(names=(name, "b", "c", "d"), classes=("same", f"{name}!"))
    stability = Stability(1, {f"{name}!": {cube: FoundAgain(1) for cube in explanation[1].formula}})
    root = read(replace(explanation, stability=stability, notes=(name,))._repr_html_())
    section = root.all("details")[1]
    assert section.all("strong")[0].text == f"{name}!"
    assert section.all("tr")[0].children[0].text in (name, "b")
    assert section.all("code")[0].text == explanation[1].first_order
    assert f"{name} is not true" in section.all("summary")[0].text


# The classifier --------------------------------------------------------------------------------------------------

TABLE = pd.DataFrame({"age": [25, 37, 61, 74] * 15, EVIL: [1.0, 2.0, 5.0] * 20})
LABELS = np.array(["well", "well", EVIL, EVIL] * 15, dtype=object)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    soft = EntropyClassifier(epochs=60, exact=False, set_aside=0.25, hidden=[20]).fit(TABLE, LABELS)
    exact = EntropyClassifier().fit(TABLE, LABELS)
    both = np.column_stack([LABELS == EVIL, TABLE[EVIL] > 1]).astype(int)
    several = EntropyClassifier(epochs=60, exact=False, set_aside=0.25).fit(TABLE, both)
    folder = tmp_path_factory.mktemp("models")
    return {
        "soft": soft,
        "exact": exact,
        "multilabel": several,
        "loaded soft": EntropyClassifier.load(soft.save(folder / "soft")),
        "loaded exact": EntropyClassifier.load(exact.save(folder / "exact")),
    }


FITTED = (
    "soft", "exact", "multilabel", "loaded soft", "loaded exact",
)  # fmt: skip


@pytest.mark.parametrize("which", FITTED)
def test_a_fitted_model_shows_its_rules(models, which, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("trained again")

    monkeypatch.setattr(training, "trained", refuse)
    monkeypatch.setattr(learning, "learn_rules", refuse)
    model = models[which]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LogicLensWarning)
        bundle = shown(model)
    assert bundle["text/plain"] == repr(model)
    assert bundle["text/html"] == model._repr_html_()
    assert cells(bundle["text/html"]) == cells(rules_html(model.rules_))
    certain = "The rules are the model" if model.exact else "The rules are about the network"
    assert certain in read(bundle["text/html"]).text


def test_a_fitted_model_shows_what_differs_from_the_defaults(models):
    def settings(model):
        return read(model._repr_html_()).all("code")[0].text

    assert settings(models["soft"]) == "(epochs=60, exact=False, set_aside=0.25)"
    # The folder keeps [20] where the default is (20,).
    assert settings(models["loaded soft"]) == "(epochs=60, exact=False, set_aside=0.25)"
    assert settings(models["exact"]) == "()"


@pytest.mark.parametrize("which", ["soft", "multilabel"])
def test_the_accuracy_is_that_on_the_rows_set_aside(models, which):
    model = models[which]
    places = model.set_aside_.places
    truth = np.column_stack([LABELS == EVIL, TABLE[EVIL] > 1]).astype(int) if which == "multilabel" else LABELS
    rows = TABLE.iloc[places]
    judged = accuracy_score(truth[places].tolist(), model.predict(rows).tolist())
    by_rules = accuracy_score(truth[places].tolist(), model.rules_.predict(rows).tolist())
    told = f"accuracy {100 * judged:.1f}%, of the rules alone {100 * by_rules:.1f}%."
    assert f"On the {len(places)} rows held out before training: {told}" in read(model._repr_html_()).text


def test_the_networks_accuracy_is_not_that_of_its_rules():
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (400, 3)), columns=["a", "b", "c"])
    labels = np.where(rows.sum(axis=1) >= 2, "many", "few")
    model = EntropyClassifier(None, exact=False, epochs=200, set_aside=0.25, max_literals=1).fit(rows, labels)
    aside = model.set_aside_
    by_rules = model.rules_.predict(rows.iloc[aside.places])
    judged = accuracy_score(labels[aside.places], by_rules)
    told = read(model._repr_html_()).text
    assert judged < 1
    assert f"accuracy 100.0%, of the rules alone {100 * judged:.1f}%." in told


def test_rendering_does_not_warn_but_explaining_later_does(monkeypatch):
    explain = classwise.explain_all
    model = EntropyClassifier(method="paper", epochs=5).fit(TABLE, LABELS)

    def warned(*values, **settings):
        warn("mind this", stacklevel=2)
        return explain(*values, **settings)

    monkeypatch.setattr(classwise, "explain_all", warned)
    kept = set(vars(model))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        told = cells(shown(model)["text/html"])
    assert caught == []
    assert set(vars(model)) == kept
    with pytest.warns(LogicLensWarning, match="mind this"):
        assert told == cells(rules_html(model.rules_))


def test_without_rows_set_aside_no_accuracy_is_told(models):
    for which in ("exact", "loaded soft", "loaded exact"):
        assert "accuracy" not in read(models[which]._repr_html_()).text


def test_before_fit_a_model_shows_what_scikit_learn_shows(models):
    for model in (EntropyClassifier(epochs=60), clone(models["soft"]), clone(models["exact"])):
        ours, theirs = shown(model)["text/html"], estimator_html_repr(model)
        # Only the ids are counted on.
        assert re.sub(r"-id-\d+", "", ours) == re.sub(r"-id-\d+", "", theirs)
        assert "sk-container-id" in model._repr_html_()


@pytest.mark.parametrize("which", ["soft", "unfitted"])
def test_who_wants_text_gets_no_html(models, which):
    model = models.get(which, EntropyClassifier())
    with sklearn.config_context(display="text"):
        assert shown(model) == {"text/plain": repr(model)}
        assert not hasattr(model, "_repr_html_")
    assert "text/html" in shown(model)


def test_a_model_with_changed_settings_says_why_rules_are_missing():
    model = EntropyClassifier().fit(TABLE, LABELS)
    before = cells(shown(model)["text/html"])
    # Rules are found by fit: what only the search asks for changes nothing afterwards.
    assert cells(shown(model.set_params(min_support="many"))["text/html"]) == before
    root = read(shown(model.set_params(exact=False))["text/html"])
    assert "The rules cannot be shown: exact was changed after the model was fitted" in root.text
    assert not root.all("table")


def test_a_look_leaves_the_model_as_it_was(models):
    model = models["soft"]
    before = model.predict_proba(TABLE), set(vars(model))
    shown(model)
    np.testing.assert_array_equal(model.predict_proba(TABLE), before[0])
    assert set(vars(model)) == before[1]


def test_long_settings_are_cut():
    told = read(model_html("M", {"cuts": list(range(500))}, None, [])).text
    assert len(told) < 300
    assert "…" in told


def test_the_reader_of_these_tests_refuses_what_it_should():
    for bad in (EVIL, "<div></p></div>", '<p style="color:red"></p>', '<p id="a"></p>', "<div><p></p>", "<!-- -->"):
        with pytest.raises((AssertionError, ValueError)):
            read(bad)
    assert read("<p>a &lt; b</p>").text == "a < b"


# Statistics ------------------------------------------------------------------------------------------------------


def test_statistics_show_every_number_that_is_printed():
    rules = RuleSet((Rule("ill", parse("(a & b) | c"), (0.9, 0.8)), Rule("well", parse("~a"), (0.7,))))
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, size=(60, 3)), columns=["a", "b", "c"])
    labels = np.where(rows.a & rows.b, "ill", "well")
    counted = rule_statistics(rules, rows, labels, by=np.where(rows.c, "x", "y"), by_name="ward")
    page = read(shown(counted)["text/html"])
    for part in re.findall(r"[\d.]+%(?: \([\d.–]+%\))?|[\d.]+×", str(counted)):
        assert part.split(" (")[0] in page.text
    assert [summary.text for summary in page.all("summary")] == ["ward = x", "ward = y"]
    assert len(page.all("table")) == 3
    first = page.all("table")[0]
    assert [cell.text for cell in first.all("th")][:8] == [
        "class", "rule", "fires on", "decides", "finds", "unique", "right when it fires", "lift"
    ]  # fmt: skip
    # Where the screen is narrow the table scrolls: a rule broken after each few letters is not read.
    assert shown(counted)["text/html"].count("min-width:9em") == 3 * (3 + 2)
    # A row for each cube, one for each whole formula, and one for the decision of each class.
    assert len(first.all("tr")) == 1 + (2 + 1 + 1) + (1 + 1 + 1)


@pytest.mark.parametrize("name", TRICKY)
def test_names_in_statistics_are_only_text(name):
    rules = RuleSet((Rule(name, DNF([Cube([Literal(name, True)])]), (0.9,)),))
    counted = rule_statistics(rules, {name: [1, 0]}, [name, name], by=[name, "y"], by_name=name, source=name)
    page = read(shown(counted)["text/html"])
    assert not page.all("img")
    assert not page.all("script")
