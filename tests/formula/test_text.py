"""Parsing and printing: printed formulas parse to themselves, and operators mean what they say."""

from __future__ import annotations

import contextlib
import cProfile
import gc
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logiclens.errors import FormulaSyntaxError, LogicLensError, UnknownConcept
from logiclens.formula import DNF, Cube, Literal, format_first_order, format_formula, parse
from logiclens.formula.groups import Groups
from logiclens.words import readable
from tests.oracles.brute_force import every_row, meaning
from tests.strategies import AWKWARD_NAMES, CONCEPTS, dnfs_with_any_names, names

STYLES = ["ascii", "unicode", "latex"]
A, B, C = Literal("a"), Literal("b"), Literal("c")

# Ways to write the operators, each family as a user would mix it.
NOT = ["~", "!", "¬", "not ", r"\lnot ", r"\neg "]
AND = [" & ", "&", " && ", " ∧ ", "∧", " and ", r" \land ", r" \wedge "]
OR = [" | ", "|", " || ", " ∨ ", "∨", " or ", r" \lor ", r" \vee "]
TRUE, FALSE = ["True", "⊤", r"\top "], ["False", "⊥", r"\bot "]


def trees() -> st.SearchStrategy[tuple]:
    """Nested expressions over the concepts: what is meant, before it is written."""
    leaves = st.sampled_from(CONCEPTS).map(lambda name: ("name", name)) | st.booleans().map(lambda b: ("value", b))
    return st.recursive(
        leaves,
        lambda inner: (
            st.tuples(st.just("not"), inner)
            | st.tuples(st.just("and"), inner, inner)
            | st.tuples(st.just("or"), inner, inner)
        ),
        max_leaves=10,
    )


def truth(tree: tuple, row: dict[str, bool]) -> bool:
    match tree:
        case ("name", name):
            return row[name]
        case ("value", value):
            return value
        case ("not", inner):
            return not truth(inner, row)
        case ("and", left, right):
            return truth(left, row) and truth(right, row)
        case ("or", left, right):
            return truth(left, row) or truth(right, row)
    raise AssertionError(tree)


def written(tree: tuple, choose) -> str:
    """The tree as text with every pair of parentheses, each operator in a spelling that `choose` picks."""
    match tree:
        case ("name", name):
            return choose([name, f'"{name}"', rf"\text{{{name}}}"])
        case ("value", value):
            return choose(TRUE if value else FALSE)
        case ("not", inner):
            return f"{choose(NOT)}({written(inner, choose)})"
        case (kind, left, right):
            return f"({written(left, choose)}){choose(AND if kind == 'and' else OR)}({written(right, choose)})"
    raise AssertionError(tree)


# Round trips


@pytest.mark.parametrize("style", STYLES)
@given(dnfs_with_any_names())
def test_what_is_written_is_read_again(style, formula):
    again = parse(format_formula(formula, style))
    assert again == formula
    # The order is what a reader sees, so it stays too.
    assert [cube.literals for cube in again] == [cube.literals for cube in formula]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_awkward_names_come_back(style, name):
    formula = DNF([Cube([Literal(name), B.negated]), Cube([Literal(name, False)])])
    assert parse(format_formula(formula, style)) == formula


@pytest.mark.parametrize("style", ["ascii", "unicode"])
@pytest.mark.parametrize("name", ["\x1b[31mred", "\x9b1m", "\u202eevil", "\U000e0041", "\u3164", "\\x1b", "\ud800"])
def test_invisible_characters_are_written_as_escapes(style, name):
    formula = Literal(name) & B
    text = format_formula(formula, style)
    assert text == readable(text)
    assert parse(text) == formula


@given(names(), names())
def test_different_names_are_written_differently(one, other):
    for style in STYLES:
        same = format_formula(Literal(one), style) == format_formula(Literal(other), style)
        assert same == (one == other)


@pytest.mark.parametrize("style", STYLES)
def test_constants_come_back(style):
    for formula in (DNF.true, DNF.false, DNF([Cube(), Cube([A])])):
        assert parse(format_formula(formula, style)) == formula


def test_styles_look_as_documented():
    formula = DNF([Cube([Literal("age >= 72.5"), Literal("smoker", False)]), Cube([Literal("x_1")])])
    assert format_formula(formula) == str(formula) == '("age >= 72.5" & ~smoker) | x_1'
    assert format_formula(formula, "unicode") == '("age >= 72.5" ∧ ¬smoker) ∨ x_1'
    latex = r"(\text{age\ \textgreater{}=\ 72.5} \land \lnot \text{smoker}) \lor \text{x\_1}"
    assert format_formula(formula, "latex") == latex


def test_one_cube_needs_no_parentheses():
    assert format_formula(Cube([A, B])) == "a & b"
    assert format_formula(A.negated) == "~a"
    assert [format_formula(DNF.true, style) for style in STYLES] == ["True", "⊤", r"\top"]
    assert [format_formula(DNF.false, style) for style in STYLES] == ["False", "⊥", r"\bot"]


def test_repr_reads_as_the_formula():
    assert repr(DNF([Cube([A, B.negated])])) == "DNF('a & ~b')"
    assert repr(Cube([A, B.negated])) == "Cube('a & ~b')"
    assert str(B.negated) == "~b"


def test_words_of_the_language_are_quoted_as_names():
    assert format_formula(Literal("and")) == '"and"'
    assert parse('"and" and "True"') == DNF([Cube([Literal("and"), Literal("True")])])


def test_unknown_style_is_refused():
    with pytest.raises(LogicLensError, match="unknown style 'html': choose 'ascii', 'unicode' or 'latex'"):
        format_formula(A, "html")


# Meaning


@given(trees(), st.randoms(use_true_random=False))
def test_nested_texts_mean_what_they_say(tree, random):
    rows = [dict(zip(CONCEPTS, row, strict=True)) for row in every_row(len(CONCEPTS))]
    assert meaning(parse(written(tree, random.choice)), CONCEPTS) == [truth(tree, row) for row in rows]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(CONCEPTS)), min_size=1, max_size=7),
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.randoms(use_true_random=False),
)
def test_not_binds_before_and_before_or(literals, conjunctions, random):
    # Without a parenthesis: cut at the ors, then at the ands, then count the negations.
    groups, text = [[]], ""
    for i, (n_negations, name) in enumerate(literals):
        if i:
            text += random.choice(AND if conjunctions[i - 1] else OR)
            if not conjunctions[i - 1]:
                groups.append([])
        text += "".join(random.choice(NOT) for _ in range(n_negations)) + name
        groups[-1].append((name, n_negations % 2 == 0))
    rows = [dict(zip(CONCEPTS, row, strict=True)) for row in every_row(len(CONCEPTS))]
    expected = [any(all(row[name] == positive for name, positive in group) for group in groups) for row in rows]
    assert meaning(parse(text), CONCEPTS) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a & ~b", "a∧¬b", "a and not b", r"a \land \lnot b", r"\text{a} \wedge \neg \text{b}", "a&&!b", "((a))&(~(b))",
        "\n a\t&\n~b ", r"\left(a \land \lnot b\right)", r"a \land(\lnot b)", r"a \land \lnot(b)",
        r"(a \land \top) \land \lnot b", r"(\top) \land a & ~b", r"(\bot) | a & ~b",
    ],
)  # fmt: skip
def test_every_spelling_is_read(text):
    assert parse(text) == DNF([Cube([A, B.negated])])


def test_contradictions_leave_and_repetitions_fold():
    assert parse("a & ~a") == DNF.false
    assert parse("a & a | a") == DNF([Cube([A])])


def test_nesting_has_a_stated_limit():
    assert parse("(" * 99 + "a" + ")" * 99) == DNF([Cube([A])])
    assert parse("~" * 99 + "a") == DNF([Cube([A.negated])])
    with pytest.raises(FormulaSyntaxError, match="column 101: parentheses and negations nest more than 100 deep"):
        parse("(" * 5000 + "a" + ")" * 5000)


def test_long_texts_are_not_deep():
    assert len(parse(" | ".join(f"(x{i} & ~y{i})" for i in range(500)))) == 500


# Mistakes


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "expected a concept, '~' or '(', but the text ends"),
        ("   ", 4, "but the text ends"),
        ("a &", 4, "expected a concept, '~' or '(', but the text ends"),
        ("a & | b", 5, "expected a concept, '~' or '(', but found '|'"),
        ("a b", 3, "expected '&', '|' or the end, but found 'b'"),
        ("a & (b", 7, "expected ')' to close the '(' at column 5, but the text ends"),
        ("(a | (b & c) d", 14, "expected ')' to close the '(' at column 1, but found 'd'"),
        ("(a))", 4, "expected '&', '|' or the end, but found ')'"),
        ("()", 2, "expected a concept, '~' or '(', but found ')'"),
        ("a | age >= 3", 9, "unexpected '>'. Concepts are joined by & | ~ and ( ); other names stand in double quotes"),
        ("a | 3rd", 5, "unexpected '3'"),
        ('a | "b', 5, "this quote is never closed"),
        ('a | ""', 5, "a name cannot be empty"),
        (r"a | \text{}", 5, "a name cannot be empty"),
        (r"a \xor b", 3, r"unknown operator '\\xor'"),
        (r'a | "b\x1"', 7, r"unknown escape '\\x'"),
        (r'a | "b\U00110000"', 7, r"unknown escape '\\U00110000'"),
        (r'a | "b\q"', 7, r"unknown escape '\\q'"),
        (r"a | \text{b", 5, r"\text{ is never closed"),
        ("a\n& )", 5, "but found ')'"),
    ],
)
def test_syntax_errors_say_the_column(text, column, message):
    with pytest.raises(FormulaSyntaxError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"column {column}: ")
    assert caught.value.column == column
    assert message in str(caught.value)


def formula_or_error(text: str) -> DNF | FormulaSyntaxError:
    try:
        return parse(text)
    except FormulaSyntaxError as error:
        return error


@given(st.text(alphabet='ab"\\ &|~()∧¬⊤{}1texland\n', max_size=12))
def test_any_text_is_read_or_refused_with_a_column(text):
    outcome = formula_or_error(text)
    if isinstance(outcome, FormulaSyntaxError):
        assert 1 <= outcome.column <= len(text) + 1
        assert str(outcome).startswith(f"column {outcome.column}: ")
    else:
        assert parse(format_formula(outcome)) == outcome


def test_unknown_concepts_are_named():
    assert parse("smoker | ~age", names=["age", "smoker"]).concepts == ("smoker", "age")
    with pytest.raises(UnknownConcept, match=r"no concept 'smokr'\. Did you mean 'smoker'\?"):
        parse("age & ~smokr", names=["age", "smoker"])
    with pytest.raises(UnknownConcept, match=r"no concept 'weather'\. Known concepts: 'age', 'smoker'\."):
        parse("weather", names=["age", "smoker"])


# First-order


def test_equality_is_written_without_a_fidelity():
    formula = DNF([Cube([A, B.negated])])
    assert format_first_order(formula, "odd") == "∀x: odd(x) ↔ a(x) ∧ ¬b(x)"


@pytest.mark.parametrize(("fidelity", "share"), [(0.973, "97.3%"), (0.5, "50.0%"), (0.0, "0.0%")])
def test_approximation_is_written_with_its_fidelity(fidelity, share):
    line = format_first_order(DNF([Cube([A])]), "odd", fidelity=fidelity)
    assert line == f"∀x: odd(x) ≈ a(x)   [fidelity {share}]"


def test_exclusive_or_stands_where_literals_exclude_each_other():
    xor = DNF([Cube([A, B.negated]), Cube([A.negated, B])])
    assert format_first_order(xor, "h") == "∀x: h(x) ↔ (a(x) ∧ ¬b(x)) ⊕ (¬a(x) ∧ b(x))"


def test_exclusive_or_stands_where_a_group_excludes():
    odd = DNF([Cube([A]), Cube([B]), Cube([C])])
    assert format_first_order(odd, "h", groups=Groups([["a", "b", "c", "d"]])) == "∀x: h(x) ↔ a(x) ⊕ b(x) ⊕ c(x)"


def test_plain_or_stands_where_one_pair_overlaps():
    odd = DNF([Cube([A]), Cube([B]), Cube([C])])
    assert format_first_order(odd, "h") == "∀x: h(x) ↔ a(x) ∨ b(x) ∨ c(x)"
    # a and c may both be true: a group that covers only some pairs is not enough.
    assert "⊕" not in format_first_order(odd, "h", groups=Groups([["a", "b"], ["b", "c"]]))
    # Not being the one does not exclude not being the other.
    neither = DNF([Cube([A.negated]), Cube([B.negated])])
    assert "⊕" not in format_first_order(neither, "h", groups=Groups([["a", "b"]]))
    # Both cubes ask for the same member of the group.
    same = DNF([Cube([A, B]), Cube([A, C])])
    assert "⊕" not in format_first_order(same, "h", groups=Groups([["a", "d"]]))


def test_one_cube_has_no_disjunction_at_all():
    assert format_first_order(DNF([Cube([A])]), "h", groups=Groups([["a", "b"]])) == "∀x: h(x) ↔ a(x)"


def test_constants_and_awkward_names_are_sentences_too():
    assert format_first_order(DNF.false, "rare") == "∀x: rare(x) ↔ ⊥"
    assert format_first_order(DNF.true, "rare") == "∀x: rare(x) ↔ ⊤"
    assert format_first_order(DNF([Cube([Literal("age > 3")])]), "so so") == '∀x: "so so"(x) ↔ "age > 3"(x)'


def test_first_order_text_is_not_read_back():
    with pytest.raises(FormulaSyntaxError, match="column 1"):
        parse(format_first_order(DNF([Cube([A])]), "odd"))


def test_a_printed_sentence_is_refused_with_what_to_read_instead():
    with pytest.raises(FormulaSyntaxError, match="printed sentence, not a formula"):
        parse("∀x: odd(x) ↔ one(x)")


def test_a_hundred_thousand_literals_are_read_right():
    rng = random.Random(0)
    cubes = [[(f"x{j}", rng.random() < 0.5) for j in rng.sample(range(500), 10)] for _ in range(10_000)]
    text = " | ".join("(" + " & ".join("~" * (not sign) + name for name, sign in cube) + ")" for cube in cubes)
    formula = parse(text)
    assert formula.cubes == DNF(Cube(Literal(*pair) for pair in cube) for cube in cubes).cubes
    assert str(formula) == text


def test_reading_twice_the_text_takes_twice_the_calls():
    """Steps are counted as calls of Python functions, whatever the machine is doing."""

    def calls(text):
        profile = cProfile.Profile()
        profile.runcall(parse, text)
        return sum(entry.callcount for entry in profile.getstats())

    shapes = {
        "cubes": lambda n: " | ".join(f"(a{j} & ~b{j})" for j in range(n)),
        "literals": lambda n: " | ".join(f"x{j}" for j in range(n)),
        "one cube": lambda n: " & ".join(f"x{j}" for j in range(n)),
        "repeated": lambda n: " & ".join(f"x{j % 3}" for j in range(n)),
        "parenthesis": lambda n: "(a | b) & " + " & ".join(f"x{j % 50}" for j in range(n)),
    }
    for name, shape in shapes.items():
        assert calls(shape(2_000)) <= 2.1 * calls(shape(1_000)), name


def test_a_cube_is_compared_with_others_once_while_parsing(monkeypatch):
    """A million cubes of one literal are hashed a million times: no formula is built of each cube on the way."""
    hashed, plain = [], Cube.__hash__
    monkeypatch.setattr(Cube, "__hash__", lambda cube: hashed.append(cube) or plain(cube))
    assert len(parse(" | ".join(f"x{j} | (y{j} & ~z{j})" for j in range(100)))) == 200
    assert len(hashed) == 200


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("c & (a | b)", "(c & a) | (c & b)"),
        ("(a | b) & c", "(a & c) | (b & c)"),
        ("d & (b | a) & ~c & (e | f)", "(d & b & ~c & e) | (d & b & ~c & f) | (d & a & ~c & e) | (d & a & ~c & f)"),
    ],
)
def test_a_product_keeps_the_order_of_first_appearance(text, told):
    assert str(parse(text)) == told


def test_a_parenthesis_joined_to_literals_is_multiplied_out():
    assert parse("c & (a | b) & ~d & True") == parse("(a & c & ~d) | (b & c & ~d)")
    assert parse("(a | b) & c & ~c") == DNF.false
    assert parse("(a | b) & False") == DNF.false
    assert parse("a & b & a & ~b") == DNF.false
    assert parse("(a | a) & (b)") == parse("a & b")


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("text", ["a & b", "a & ("])
def test_parsing_leaves_the_garbage_collector_as_it_was(text, is_enabled):
    (gc.enable if is_enabled else gc.disable)()
    try:
        with contextlib.suppress(FormulaSyntaxError):
            parse(text)
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()
