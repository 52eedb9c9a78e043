# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of pipelines: printed text reads back, and malformed text is refused without a crash of the parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.bindings.pipeline_text import PipelineElement, parse_pipeline

from relax_mlir import RelaxError

NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{0,8}", fullmatch=True)
WORDS = st.from_regex(r"[a-z0-9=,;:+-]{1,8}", fullmatch=True)
VALUES = st.recursive(
    WORDS | WORDS.map(lambda word: f'"{word} }} {{ ("') | WORDS.map(lambda word: f"'{word} \" )'"),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(lambda items: "{" + " ".join(items) + "}"),
    max_leaves=4,
)
OPTIONS = st.lists(st.builds("{}={}".format, WORDS, VALUES), max_size=3).map(" ".join)
ELEMENTS = st.recursive(
    st.builds(PipelineElement, NAMES, OPTIONS, st.none(), st.just(0)),
    lambda inner: st.builds(PipelineElement, NAMES, OPTIONS, st.lists(inner, max_size=3).map(tuple), st.just(0)),
    max_leaves=8,
)


def without_columns(elements: tuple[PipelineElement, ...]) -> tuple[PipelineElement, ...]:
    return tuple(
        element._replace(column=0, children=element.children and without_columns(element.children))
        for element in elements
    )


@given(st.lists(ELEMENTS, max_size=4).map(tuple))
def test_printed_pipelines_parse_to_the_same_elements(elements: tuple[PipelineElement, ...]) -> None:
    text = ",".join(map(str, elements))
    assert without_columns(parse_pipeline(text)) == without_columns(elements)


@given(st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple))
def test_space_between_elements_means_nothing(elements: tuple[PipelineElement, ...]) -> None:
    text = " ,\n\t".join(map(str, elements))
    assert without_columns(parse_pipeline(f"  {text}\n")) == without_columns(elements)


@given(st.text(alphabet=st.sampled_from("ab.({[\"'=,]}) \n\\\0é"), max_size=30) | st.text(max_size=30))
def test_junk_is_read_or_refused(text: str) -> None:
    try:
        elements = parse_pipeline(text)
    except RelaxError as error:
        assert "pipeline" in error.message
    else:
        assert without_columns(parse_pipeline(",".join(map(str, elements)))) == without_columns(elements)


def test_an_element_knows_its_column() -> None:
    (group,) = parse_pipeline("builtin.module(a, b{x=1})")
    assert group.children is not None
    assert [(child.name, child.options, child.column) for child in group.children] == [("a", "", 15), ("b", "x=1", 18)]


def test_an_empty_group_is_not_a_pass() -> None:
    assert parse_pipeline("a")[0].children is None
    assert parse_pipeline("a()")[0].children == ()
    assert parse_pipeline("") == ()


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("a(b", "unbalanced '('", 2),
        ("a)", "unbalanced ')'", 2),
        ("a(b))", "unbalanced ')'", 5),
        ("a{x", "unbalanced '{'", 2),
        ('a{x="}', "unbalanced '{'", 2),
        ("a,,b", "expected a pass name", 3),
        ("a,", "expected a pass after ','", 3),
        ("a(b,)", "expected a pass after ','", 5),
        ("a(,b)", "expected a pass name", 3),
        ("a b", "expected a pass name", 1),
        ("a{}b", "expected ','", 4),
        ("x(a{}b)", "expected ',' or ')'", 6),
        ("(a)", "expected a pass name", 1),
    ],
)
def test_malformed_text_is_refused_with_its_column(text: str, message: str, column: int) -> None:
    with pytest.raises(RelaxError) as caught:
        parse_pipeline(text)
    assert caught.value.message == f"{message} in pass pipeline at column {column}"
    assert caught.value.notes == (text, " " * (column - 1) + "^")


def test_deep_nesting_is_refused() -> None:
    assert parse_pipeline("a(" * 60 + ")" * 60)
    with pytest.raises(RelaxError, match="more than 64 nested groups"):
        parse_pipeline("a(" * 5000 + ")" * 5000)


@pytest.mark.parametrize("text", ["a\0b", "a\udcff", "\x1b[2J"])
def test_characters_that_cannot_be_printed_are_refused(text: str) -> None:
    with pytest.raises(RelaxError, match="characters that cannot be printed") as caught:
        parse_pipeline(text)
    assert str(caught.value).isprintable()
