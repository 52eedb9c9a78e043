# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the script cuts what is long: what just fits is there whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.script.attributes import attribute_text, value_text
from relax_mlir.dialects.script.names import location_name
from relax_mlir.dialects.script.types import dims_text, type_text

ITEMS = 16


@pytest.fixture(autouse=True, scope="module")
def context() -> Iterator[None]:
    with ir.Context() as made:
        made.allow_unregistered_dialects = True
        yield


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def cut(count: int) -> list[str]:
    """What is shown of so many numbers."""
    return numbers(count) if count <= ITEMS else [*numbers(ITEMS), "..."]


@pytest.mark.parametrize("count", [2, ITEMS, ITEMS + 1, 100])
def test_items(count: int) -> None:
    listed, shown = ", ".join(numbers(count)), ", ".join(cut(count))
    assert dims_text(numbers(count)) == f"({shown})"
    assert value_text(tuple(range(count))) == f"({shown})"
    assert attribute_text(ir.Attribute.parse(f"array<i64: {listed}>")) == f"({shown})"
    assert attribute_text(ir.Attribute.parse(f"[{listed}]")) == f"[{shown}]"


@pytest.mark.parametrize(("inputs", "results"), [(ITEMS, 0), (7, 9), (ITEMS, 1), (20, 30)])
def test_types_of_functions(inputs: int, results: int) -> None:
    of_inputs, of_results = (", ".join(["index"] * count) for count in (inputs, results))
    text = attribute_text(ir.Attribute.parse(f"({of_inputs}) -> ({of_results})"))
    if inputs + results > ITEMS:
        assert text == f"({inputs} types) -> ({results} types)"
    else:
        assert text.count("index") == inputs + results and "types" not in text


def test_lists_in_lists() -> None:
    assert attribute_text(ir.Attribute.parse("[[[[7]]]]")) == "[[[[7]]]]"
    assert attribute_text(ir.Attribute.parse("[[[[[7]]]]]")) == "[[[[[...]]]]]"
    assert attribute_text(ir.Attribute.parse("[[[[[]]]]]")) == "[[[[[]]]]]"


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_fused_names(count: int) -> None:
    names = [f"node{number}" for number in range(count)]
    location = ir.Location.fused([ir.Location.name(name) for name in [*names, names[0]]])  # one of them twice
    shown = names if count <= 3 else [*names[:3], "..."]
    assert location_name(location) == " + ".join(shown)


@pytest.mark.parametrize("length", [59, 60, 61, 200])
def test_long_texts(length: int) -> None:
    name = "n" * length
    type_ = f"!mine.{'n' * (length - 6)}"
    for text, shown in ((name, location_name(ir.Location.name(name))), (type_, type_text(ir.Type.parse(type_)))):
        assert len(text) == length, text
        assert shown == (text if length <= 60 else text[:57] + "...")


def test_locations_in_locations() -> None:
    unknown = ir.Location.unknown()
    assert location_name(ir.Location.callsite(ir.Location.name("callee"), [ir.Location.name("caller")])) == "callee"
    assert location_name(unknown) == location_name(ir.Location.file("a.py", 1, 2)) == ""
    nested = ir.Location.name("inner")
    for _ in range(9):
        nested = ir.Location.callsite(nested, [unknown])
    assert location_name(nested) == "inner"
    assert location_name(ir.Location.callsite(nested, [unknown])) == ""
