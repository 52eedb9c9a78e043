# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of passes between text and the fields of a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from relax_mlir.passes.core.options import format_options, make_pass, option_fields, quoted, split_options, take_text

from relax_mlir import Pass, RelaxError


@dataclass(frozen=True)
class Sample(Pass):
    """Pass with an option of each type."""

    name: ClassVar[str] = "sample"
    count: int = 4
    ratio: float = 0.5
    fast: bool = False
    label: str = "x"
    mode: Literal["one", "two"] = "one"
    sizes: tuple[int, ...] = ()
    names: tuple[str, ...] = ("a",)
    limit: Optional[int] = None  # noqa: UP045  # the spelling that users of Python 3.9 know is read too
    other_limit: int | None = 3
    tiles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Demanding(Pass):
    """Pass that needs an option, and checks it."""

    name: ClassVar[str] = "demanding"
    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"option 'size' expects a positive number, got {self.size}")


def read(text: str, cls: type = Sample) -> Pass:
    return make_pass(cls, split_options(text))


WORDS = st.text(alphabet=st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)
SAMPLES = st.builds(
    Sample,
    count=st.integers(),
    ratio=st.floats(allow_nan=False),
    fast=st.booleans(),
    label=st.text(alphabet=st.sampled_from("ab =,:;{}[]()'\\é-"), max_size=8),
    mode=st.sampled_from(["one", "two"]),
    sizes=st.lists(st.integers(), max_size=3).map(tuple),
    names=st.lists(WORDS.map(lambda word: word.replace(",", "").replace('"', "") or "a"), max_size=3).map(tuple),
    limit=st.none() | st.integers(),
    other_limit=st.none() | st.integers(),
    tiles=st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "x:y", "{z}"]), max_size=3),
)


@given(SAMPLES)
def test_printed_options_can_be_parsed(sample: Sample) -> None:
    text = format_options(sample)
    assert read(text[1:-1]) == sample


def test_defaults_are_not_printed() -> None:
    assert format_options(Sample()) == ""
    assert format_options(Sample(count=5, fast=True, other_limit=None)) == "{count=5 fast=true other-limit=none}"
    assert Sample(label="two words").text() == 'sample{label="two words"}'


def test_underscores_and_dashes_are_the_same() -> None:
    assert read("other_limit=7") == read("other-limit=7") == Sample(other_limit=7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Sample()),
        ("fast", Sample(fast=True)),
        ("fast=yes count=0x10", Sample(fast=True, count=16)),
        ("fast=off", Sample(fast=False)),
        ("sizes=1,2,3", Sample(sizes=(1, 2, 3))),
        ("sizes={1, 2}", Sample(sizes=(1, 2))),
        ("sizes=", Sample(sizes=())),
        ("names='a b,c'", Sample(names=("a b", "c"))),
        ("label={a {b} c}", Sample(label="a {b} c")),
        ('label="a=b"', Sample(label="a=b")),
        ("label=a=b", Sample(label="a=b")),
        ("limit=3", Sample(limit=3)),
        ("limit=none", Sample(limit=None)),
        ("tiles=m:4,n:8", Sample(tiles={"m": "4", "n": "8"})),
    ],
)
def test_values_are_read_as_the_field_s_type(text: str, expected: Sample) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count=x", "pass 'sample': option 'count' expects an integer, got 'x'"),
        ("count", "pass 'sample': option 'count' needs a value: an integer"),
        ("count=" + "9" * 5000, "pass 'sample': option 'count' expects an integer, got '999"),
        ("ratio=x", "pass 'sample': option 'ratio' expects a number, got 'x'"),
        ("fast=perhaps", "pass 'sample': option 'fast' expects true or false, got 'perhaps'"),
        ("mode=on", "pass 'sample': option 'mode' expects one of one, two, got 'on'; did you mean 'one'?"),
        ("sizes=1,x", "pass 'sample': option 'sizes' expects an integer, got 'x'"),
        ("limit=x", "pass 'sample': option 'limit' expects an integer, got 'x'"),
        ("tiles=a", "pass 'sample': option 'tiles' expects pairs like a:b,c:d, got 'a'"),
        ("cont=1", "pass 'sample' has no option 'cont'; did you mean 'count'? (it takes count, ratio, "),
        ("count=1 count=2", "pass 'sample': option 'count' is given twice"),
        ("=1", "expected an option's name at '=1'"),
        ("label='a", "unbalanced quote in options"),
        ("label={a", "unbalanced brackets in options"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(RelaxError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


def test_required_and_checked_options() -> None:
    assert read("size=2", Demanding) == Demanding(2)
    with pytest.raises(RelaxError, match="pass 'demanding' needs option 'size'"):
        read("", Demanding)
    with pytest.raises(RelaxError, match="pass 'demanding': option 'size' expects a positive number, got 0"):
        read("size=0", Demanding)
    assert Demanding(2).text() == "demanding{size=2}"


@dataclass(frozen=True)
class Registered(Sample):
    """Pass with options from Python code, too."""

    name: ClassVar[str] = "test-registered-sample"


take_text(Registered)  # as register_pass does


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"names": "main"}, ("names", ("main",))),
        ({"names": "main, b"}, ("names", ("main", "b"))),
        ({"names": ["a", "b"]}, ("names", ("a", "b"))),
        ({"names": ("a", "b")}, ("names", ("a", "b"))),
        ({"sizes": "1,2"}, ("sizes", (1, 2))),
        ({"count": "7"}, ("count", 7)),
        ({"fast": "yes"}, ("fast", True)),
        ({"limit": "none"}, ("limit", None)),
        ({"label": "a,b"}, ("label", "a,b")),
    ],
)
def test_python_gives_options_as_text_and_lists(given: dict[str, object], expected: tuple[str, object]) -> None:
    made = Registered(**given)  # type: ignore[arg-type]  # that is the point
    assert getattr(made, expected[0]) == expected[1]
    assert make_pass(Registered, split_options(made.text().partition("{")[2].removesuffix("}"))) == made


def test_python_s_mistakes_are_named() -> None:
    with pytest.raises(RelaxError, match="pass 'test-registered-sample': option 'count' expects an integer, got 'x'"):
        Registered("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Registered(cuont=1)  # type: ignore[call-arg]


def test_options_of_a_pass_without_options_are_refused() -> None:
    @dataclass(frozen=True)
    class Plain(Pass):
        """Pass without options."""

        name: ClassVar[str] = "plain"

    assert option_fields(Plain) == {}
    with pytest.raises(RelaxError, match=r"pass 'plain' has no option 'a' \(it takes none\)"):
        make_pass(Plain, [("a", None)])


@given(st.text(max_size=30))
def test_junk_is_read_or_refused(text: str) -> None:
    try:
        pairs = split_options(text)
    except RelaxError:
        return
    assert all(name for name, _ in pairs)


@given(st.text(max_size=20).filter(lambda text: '"' not in text or "'" not in text))
def test_a_quoted_word_is_one_word(text: str) -> None:
    assert split_options(f"a={quoted(text)} b") == [("a", text), ("b", None)]
