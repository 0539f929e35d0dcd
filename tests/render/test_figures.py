"""Figures: relevance bars and curves of a model, on screen and in notebooks."""

from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.metrics import accuracy_score, f1_score

from logiclens import EntropyClassifier
from logiclens.cli.sheet import bar
from logiclens.concepts.concept_table import ConceptTable
from logiclens.errors import LogicLensError
from logiclens.explain import explain_all
from logiclens.formula import DNF, Complement, Cube, Literal, Predicate, Rule, RuleSet, parse
from logiclens.formula.date_parts import DatePart
from logiclens.formula.english import TableFacts, cube_words
from logiclens.render.figures import (
    plot_history,
    plot_pareto,
    plot_relevance,
    short_names,
)
from logiclens.train import History
from tests.rigged import GRID, NAMES, xor_net


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def history(validation: bool) -> History:
    falling, rising = np.array([0.9, 0.5, 0.4]), np.array([0.5, 0.8, 0.7])
    nothing = np.full(3, np.nan)
    return History(falling, falling, rising, falling if validation else nothing, rising if validation else nothing, 1)


@pytest.mark.parametrize("validation", [True, False])
def test_history_is_drawn_with_the_kept_epoch(validation):
    axes = plot_history(history(validation))
    labels = [line.get_label() for line in axes.lines]
    assert ("validation accuracy" in labels) == validation
    drawn = next(line for line in axes.lines if line.get_label() == "training loss")
    assert drawn.get_ydata().tolist() == [0.9, 0.5, 0.4]
    kept = next(line for line in axes.lines if line.get_label() == "kept epoch")
    assert kept.get_xdata()[0] == 1


def test_bar_fills_with_the_share():
    assert [bar(share, 4).count("█") for share in (0.0, 0.5, 1.0, 7.0)] == [0, 2, 4, 4]
    assert all(len(bar(share, 4)) == 4 for share in (0.0, 0.3, 0.99, 1.0))


# Plots that a notebook shows -------------------------------------------------------------------------------------

LONG = [f"a column with a name of sixty letters that a registry gave it {i}, in mg per dl" for i in range(4)]


def bars(axes):
    """Class, concept, length and whether it is full, of every bar from the top."""
    written = {
        round(float(place)): label.get_text()
        for place, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    }
    bold = {place for place, label in enumerate(axes.get_yticklabels()) if label.get_fontweight() == "bold"}
    drawn = {round(bar.get_y() + bar.get_height() / 2): bar for bar in axes.patches}
    assert set(written) == set(drawn) | bold
    found, klass = [], ""
    for place in sorted(written):
        if place in bold:
            klass = written[place]
        else:
            bar = drawn[place]
            full = bar.get_hatch() is None and bar.get_facecolor()[3] == 1
            assert full or (bar.get_hatch() and bar.get_facecolor()[3] == 0)
            found.append((klass, written[place], bar.get_width(), full))
    return found


def overlaps(axes):
    axes.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    ordered = sorted(boxes, key=lambda box: -box.y1)
    return [one for one, below in itertools.pairwise(ordered) if below.y1 > one.y0 + 1]


def test_relevance_is_drawn_class_under_class_the_most_relevant_first():
    axes = plot_relevance({"no": {"a": 0.2, "b": 1.0, "c": 0.0}, "yes": {"a": 1.0, "b": 0.5}}, {"no": ["b"], "yes": []})
    assert bars(axes) == [
        ("no", "b", 1.0, True), ("no", "a", 0.2, False), ("yes", "a", 1.0, False), ("yes", "b", 0.5, False)
    ]  # fmt: skip
    # From top to bottom.
    assert axes.yaxis_inverted()
    assert [text.get_text() for text in axes.texts] == ["1.00", "0.20", "1.00", "0.50"]
    full, hatched = axes.get_legend().get_patches()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["used in the formula", "not used"]
    assert full.get_hatch() is None
    assert hatched.get_hatch()


def test_a_class_shows_fifteen_concepts_and_all_used_ones():
    shares = {f"c{i}": 1 - i / 100 for i in range(40)}
    drawn = bars(plot_relevance({"k": shares}, {"k": ["c39", "c20"]}))
    assert [concept for _, concept, _, full in drawn if full] == ["c20", "c39"]
    assert [concept for _, concept, _, full in drawn if not full] == [f"c{i}" for i in range(13)]
    assert [length for _, _, length, _ in drawn] == sorted((length for _, _, length, _ in drawn), reverse=True)


def test_irrelevant_concepts_are_drawn_only_where_formulas_use_them():
    drawn = bars(plot_relevance({"k": {"a": 1.0, "b": 0.0, "c": 0.001}}, {"k": ["b", "elsewhere"]}))
    assert {concept for _, concept, _, _ in drawn} == {"a", "b", "elsewhere"}
    axes = plot_relevance({"k": {"a": 0.0}}, {"k": []})
    assert [label.get_text() for label in axes.get_yticklabels()] == ["k: no concept"]


@pytest.mark.parametrize(
    "names", [["age", "bmi"], LONG, ["haemoglobin_" * 7, "haemoglobin_" * 6 + "haemoglobin-", "x " * 50]]
)
def test_names_beside_the_bars_do_not_overlap(names):
    shares = dict.fromkeys(names, 1.0)
    axes = plot_relevance(
        {"one": shares, names[0] + " as a class": shares}, {"one": [], names[0] + " as a class": names}
    )
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert overlaps(axes) == []
    assert len(set(labels)) == len(names) + 2
    # The bars still have room.
    assert axes.get_position().width > 0.3


def test_a_crowd_of_names_is_seen_to_overlap():
    axes = plot_relevance({"k": {f"c{i}": 1.0 for i in range(15)}}, {"k": []}, Figure(figsize=(3, 1)).add_subplot())
    assert overlaps(axes)


def test_names_are_not_read_as_mathematics():
    name, klass = r"cost in $ or $\bad{$", r"_$\worse$"
    axes = plot_relevance({klass: {name: 1.0}}, {klass: []})
    axes.figure.draw_without_rendering()
    assert [label.get_text() for label in axes.get_yticklabels()] == [klass, name]
    axes = plot_pareto({klass: [(1, 0.5)]}, {klass: (1, 0.5)}, "F1")
    axes.figure.draw_without_rendering()
    assert axes.get_legend().get_texts()[0].get_text() == klass


@given(
    st.lists(st.text(st.sampled_from("ab _≥"), min_size=1, max_size=70), unique=True, max_size=6), st.integers(8, 40)
)
def test_short_names_tell_apart_what_names_do(names, length):
    short = short_names(names, length)
    plain = {name: " ".join(name.split()) for name in names}
    for one in names:
        assert short[one] == plain[one] or ("…" in short[one] and len(short[one]) < len(plain[one]))
        if "…" in short[one]:
            begin, end = short[one].split("…")
            assert plain[one].startswith(begin)
            assert plain[one].endswith(end)
        for other in names:
            assert short[one] != short[other] or plain[one] == plain[other]
    if len({name[:3] for name in plain.values()}) == len(names):
        assert all(len(text) <= length for text in short.values())


def test_names_that_differ_in_the_middle_only_are_cut_less():
    names = ["x" * 40 + letter + "y" * 40 for letter in "abc"]
    short = short_names([*names, "z" * 90], 20)
    assert len({short[name] for name in names}) == 3
    assert len(short["z" * 90]) == 20


def test_the_curve_is_drawn_with_what_was_chosen_ringed():
    curves = {"no": [(1, 0.6), (3, 0.8)], "yes": [(2, 0.7), (12, 0.9)]}
    axes = plot_pareto(curves, {"no": (3, 0.8), "yes": (4, 0.65)}, "macro-F1")
    drawn = [list(zip(*line.get_data(), strict=True)) for line in axes.lines]
    assert drawn[:4] == [curves["no"], [(3, 0.8)], curves["yes"], [(4, 0.65)]]
    no, ring, yes, _ = axes.lines[:4]
    assert ring.get_markersize() > no.get_markersize()
    assert ring.get_color() == no.get_color()
    # Not by colour only.
    assert no.get_linestyle() != yes.get_linestyle()
    assert no.get_marker() != yes.get_marker()
    assert set(axes.lines[4].get_xdata()) == {9}
    told = [text.get_text() for text in axes.get_legend().get_texts()]
    assert told == ["no", "yes", "the formula chosen", "9 literals: what a person can hold"]
    left, right = axes.get_xlim()
    assert left < 1
    assert right > 12
    assert axes.get_ylabel() == "macro-F1"
    assert plot_pareto({"k": [(1, 1.0)]}, {"k": (1, 1.0)}, "F1").get_xlim()[1] > 9


def test_new_figures_are_those_of_pyplot_and_given_axes_stay():
    before = dict(plt.rcParams)
    rules = RuleSet((Rule("k", parse("a"), (0.9,)),))
    draw = [
        lambda ax: plot_relevance({"k": {"a": 1.0}}, {"k": []}, ax),
        lambda ax: plot_history(history(True), ax),
        lambda ax: plot_pareto({"k": [(1, 1.0)]}, {"k": (1, 1.0)}, "F1", ax),
        lambda ax: rules.plot({"a": [1, 0]}, ax=ax),
    ]
    for one in draw:
        new = one(None)
        # `plt.show()` shows it, and `plt.title` writes on it.
        assert plt.get_fignums() == [new.figure.number]
        assert plt.gca() is new
        plt.close("all")
        figure, ax = plt.subplots()
        assert one(ax) is ax
        assert plt.get_fignums() == [figure.number]
        plt.close("all")
        alone = Figure()
        assert one(alone.add_subplot()).figure is alone
        assert plt.get_fignums() == []
        with pytest.raises(LogicLensError, match=r"^ax must be axes of Matplotlib, such as plt.gca\(\), got 3\.$"):
            one(3)
        assert plt.get_fignums() == []
    assert dict(plt.rcParams) == before


# Through explanations and models -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(240, 3)), columns=["u", "v", "w"])
    frame["class"] = np.where(frame.u > 0.3, 30, np.where(frame.v + frame.w + 0.5 * frame.u > 0, 20, 10))
    return frame


@pytest.fixture(scope="module")
def model(table):
    return EntropyClassifier("quantile", exact=False, epochs=80).fit(table[["u", "v", "w"]], table["class"])


def test_the_relevance_of_a_model_is_drawn(model):
    drawn = bars(model.plot_relevance())
    explanation = model.explain()
    for heading, concept, length, full in drawn:
        klass = heading.removeprefix("class is ")
        assert length == pytest.approx(model.relevance_.loc[klass, concept])
        assert full == (concept in explanation[klass].formula.concepts)
    assert list(dict.fromkeys(klass for klass, *_ in drawn)) == ["class is 10", "class is 20", "class is 30"]
    assert bars(explanation.plot_relevance()) == drawn
    # By its label, not its place, and by its name.
    for target in (20, "20"):
        only = [bar for bar in drawn if bar[0] == "class is 20"]
        assert bars(model.plot_relevance(target)) == bars(explanation.plot_relevance(target)) == only


def test_the_curves_of_a_model_are_scored_by_scikit_learn(model, table):
    explanation = model.explain()
    names = ("10", "20", "30")
    for score, judge in (("f1", lambda t, p: f1_score(t, p, average="macro")), ("accuracy", accuracy_score)):
        axes = model.plot_pareto(score=score)
        points = explanation.pareto()
        assert any(p.literals < explanation[p.name].formula.n_literals for p in points)
        for place, name in enumerate(names):
            curve, ring = axes.lines[2 * place : 2 * place + 2]
            of_class = [(p.literals, getattr(p, score)) for p in points if p.name == name]
            wanted = [(n, best) for n, best in of_class if all(other < best for m, other in of_class if m < n)]
            assert list(zip(*curve.get_data(), strict=True)) == wanted
            fires = explanation.fires(model.concepts(table[["u", "v", "w"]]))[:, place]
            judged = judge(table["class"].astype(str) == name, fires)
            assert ring.get_ydata()[0] == pytest.approx(judged)
            assert ring.get_xdata()[0] == explanation[name].formula.n_literals
    assert axes.get_ylabel() == "accuracy on the explained rows"
    written = [text.get_text() for text in axes.get_legend().get_texts()]
    assert written[:3] == [f"class is {name}" for name in names]
    (only, _, mark) = explanation.plot_pareto(target=30, score="accuracy").lines
    assert only.get_xydata().tolist() == axes.lines[4].get_xydata().tolist()
    assert mark.get_xdata()[0] == 9


def test_curves_of_other_rows_are_scored_on_them(model, table):
    part = table.iloc[:60]
    rows, labels = part[["u", "v", "w"]], part["class"]
    axes = model.plot_pareto(rows, labels, target=20)
    explanation = model.explain()
    judged = f1_score(labels == 20, explanation.fires(model.concepts(rows))[:, 1], average="macro")
    assert axes.lines[1].get_ydata()[0] == pytest.approx(judged)
    assert axes.get_ylabel() == "macro-F1 on the rows given"


def test_rows_without_labels_are_scored_against_the_network():
    explanation = explain_all(xor_net(), ConceptTable(GRID, NAMES, class_names=["same", "other"]))
    axes = explanation.plot_pareto(target="other")
    assert axes.get_ylabel() == "macro-F1 against the network on the explained rows"
    assert axes.lines[1].get_xydata().tolist() == [[4, 1.0]]


def test_an_exact_and_a_loaded_model_are_drawn(model, table, tmp_path):
    rows, labels = table[["u", "v", "w"]], table["class"]
    exact = EntropyClassifier().fit(rows, labels)
    for kind, fitted in (("soft", model), ("exact", exact)):
        loaded = EntropyClassifier.load(fitted.save(tmp_path / kind))
        assert bars(loaded.plot_relevance()) == bars(fitted.plot_relevance())
        assert loaded.relevance_.to_numpy().max() == 1
        assert loaded.plot_pareto(rows, labels).get_legend() is not None
        with pytest.raises(LogicLensError, match="a loaded model keeps no rows"):
            loaded.plot_pareto()
        with pytest.raises(LogicLensError, match="there is no training history"):
            loaded.plot_history()
    assert exact.plot_pareto().lines[1].get_xdata()[0] == exact.rules_.rules[0].formula.n_literals


def test_several_labels_a_row_are_drawn(table):
    labels = pd.DataFrame({"high": table.u > 0, "right": table.v > 0}).astype(int)
    several = EntropyClassifier(exact=False, epochs=20).fit(table[["u", "v", "w"]], labels)
    assert {klass for klass, *_ in bars(several.plot_relevance())} == {"high", "right"}
    assert len(several.plot_pareto().lines) == 5


def test_everything_can_be_drawn_on_axes_that_are_given(model):
    given_axes = Figure(figsize=(6, 4)).add_subplot()
    explanation = model.explain()
    for draw in (model.plot_relevance, model.plot_history, model.plot_pareto):
        assert draw(ax=given_axes) is given_axes
    for draw in (explanation.plot_relevance, explanation.plot_pareto):
        assert draw(ax=given_axes) is given_axes
    assert plt.get_fignums() == []
    assert model.plot_history().lines[0].get_ydata().tolist() == model.history_.loss.tolist()


def test_what_cannot_be_drawn_is_said(model):
    explanation = model.explain()
    for draw in (model.plot_relevance, explanation.plot_relevance):
        with pytest.raises(LogicLensError, match="there is no class 1; the classes are '10', '20', '30'"):
            draw(1)
    for draw in (model.plot_pareto, explanation.plot_pareto):
        with pytest.raises(LogicLensError, match="there is no class 'x'; the classes are '10', '20', '30'"):
            draw(target="x")
        with pytest.raises(LogicLensError, match="score must be 'f1' or 'accuracy', got 'auc'"):
            draw(score="auc")
    for draw in (EntropyClassifier().plot_relevance, EntropyClassifier().plot_history, EntropyClassifier().plot_pareto):
        with pytest.raises(LogicLensError, match="not fitted"):
            draw()


# Rules -----------------------------------------------------------------------------------------------------------


def test_rules_are_drawn_with_their_coverage_and_overlap():
    rules = RuleSet(
        (Rule("ill", parse("(old & smoker) | sepsis"), (0.9, 0.8)), Rule("well", parse("~old"), (0.7,))), otherwise=1
    )
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, size=(97, 3)), columns=["old", "smoker", "sepsis"])
    axes = rules.plot(rows)
    # An independent count, row by row.
    wanted = np.zeros((4, 3))
    for old, smoker, sepsis in rows.to_numpy().tolist():
        fires = [old and smoker, sepsis, not old]
        for place, kin in ((0, 1), (1, 0)):
            if fires[place]:
                wanted[place, 2 if fires[2] else 1 if fires[kin] else 0] += 1
        if fires[2]:
            wanted[2, 2 if fires[0] or fires[1] else 0] += 1
        wanted[3, 0] += not any(fires)
    drawn = np.array([[bar.get_width() for bar in part] for part in axes.containers]).T
    assert drawn == pytest.approx(wanted / 97)
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels[0].startswith("ill: old")
    assert labels[3] == "no rule fires"
    assert axes.get_xlabel() == "share of 97 rows"
    assert axes.texts[0].get_text() == f"{100 * wanted[0].sum() / 97:.1f}%"


def test_rules_of_two_classes_are_drawn_with_otherwise(model, table):
    part = table[["u", "v", "w"]]
    two = EntropyClassifier("quantile").fit(part, np.where(part.u > 0, "$a$", "b"))
    axes = two.rules_.plot(part)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-1].endswith(": otherwise")
    widths = sum(bar.get_width() for part in axes.containers for bar in part)
    assert widths == pytest.approx(1) or len(labels) > 2
    # Dollar signs in names are no mathematics.
    assert not any(label.get_parse_math() for label in axes.get_yticklabels())
    axes.figure.draw_without_rendering()


def test_many_rules_leave_out_those_that_cover_least():
    names = [f"c{i}" for i in range(40)]
    rules = RuleSet((Rule("k", parse(" | ".join(names)), (0.5,) * 40),))
    rows = np.triu(np.ones((40, 40)))
    axes = rules.plot(rows, names=names)
    assert len(axes.get_yticks()) == 31
    assert "10 rules that cover less are left out" in axes.get_xlabel()
    assert "c39" in "".join(label.get_text() for label in axes.get_yticklabels())
    assert "c5 " not in " ".join(label.get_text() for label in axes.get_yticklabels())


@pytest.mark.parametrize(
    ("rows", "names", "said"),
    [
        ({"b": [1]}, None, "'a'"),
        (np.ones((2, 1)), ["b"], "'a'"),
        ({"a": []}, None, "there are no rows to plot the rules on"),
    ],
)
def test_rows_that_rules_cannot_read_are_not_drawn(rows, names, said):
    with pytest.raises(LogicLensError, match=said):
        RuleSet((Rule("k", parse("a"), (0.9,)),)).plot(rows, names=names)
    assert plt.get_fignums() == []


def test_labels_of_rules_have_whole_words_inside_the_figure():
    month = DatePart("month", ("admitted on",))
    meant = {"job": Predicate("job", "==", "cook"), "late": Predicate(month.name, ">=", 10, month)}
    rules = RuleSet((Rule("dead", parse("job & late"), (0.9,)),), meant)
    table = {"job": ["cook", "nurse"], "admitted on": ["2021-11-03", "2021-02-01"]}
    axes = rules.plot(table)
    words = cube_words(rules.rules[0].cubes[0], rules.predicates, rules.facts)
    label = axes.get_yticklabels()[0]
    assert label.get_text().replace("\n", " ") == f"dead: {words}"
    axes.figure.draw_without_rendering()
    assert label.get_window_extent().x0 >= 0
    plt.close("all")
    names = [f"a condition of {letter * 6}" for letter in "abcdefgh"]
    long = RuleSet((Rule("dead", DNF([Cube(map(Literal, names))]), (0.9,)),))
    text = long.plot({name: [1, 0] for name in names}).get_yticklabels()[0].get_text()
    assert text.count("\n") == 2
    kept = text.replace("\n", " ").split(" … ")
    full = "dead: " + cube_words(long.rules[0].cubes[0], {}, long.facts)
    assert full.startswith(f"{kept[0]} ")
    assert full.endswith(f" {kept[1]}")
    plt.close("all")


def test_categories_of_one_column_are_one_bar():
    meant = {job: Predicate("job", "==", job) for job in ("cook", "nurse")}
    formula = parse("(cook & old) | (nurse & old) | sick")
    rules = RuleSet((Rule("ill", formula, (0.9,) * 3),), meant)
    table = {"job": ["cook", "nurse", "cook", "clerk"], "old": [1, 1, 0, 1], "sick": [0, 1, 0, 0]}
    axes = rules.plot(table)
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels == ["ill: job is cook or nurse and old is true", "ill: sick is true", "no rule fires"]
    drawn = np.array([[bar.get_width() for bar in part] for part in axes.containers]).T
    assert drawn.tolist() == [[0.25, 0.25, 0], [0, 0.25, 0], [0.5, 0, 0]]


def test_labels_of_rules_are_in_the_words_of_the_rules():
    meant = {"m": Predicate("sex", "==", "man"), "a": Predicate("age", ">=", 40), "b": Predicate("age", ">=", 60)}
    facts = TableFacts(target="died", whole=("age",), complete=("age", "sex"), categories={"sex": ("man", "woman")})
    formula = parse("m & a & ~b")
    rules = (Rule("no", Complement(formula), (0.9,)), Rule("yes", formula, (0.9,)))
    axes = RuleSet(rules, meant, order=(1,), resolve="order", otherwise=0, facts=facts).plot(
        {"sex": ["man", "woman"], "age": [50, 70]}
    )
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels == ["died is yes: sex is man and age from 40 to 59", "died is no: otherwise"]
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["no other rule fires", "others of its class fire too", "rules of other classes fire too"]
    assert [text.get_text() for text in axes.texts] == ["50.0%", "50.0%"]


def test_rules_without_rows_say_how_to_pass_them():
    with pytest.raises(LogicLensError, match=r"^plot counts rows, .*: pass a table, such as rules\.plot\(table\)\.$"):
        RuleSet((Rule("k", parse("a"), (0.9,)),)).plot()
    assert plt.get_fignums() == []
