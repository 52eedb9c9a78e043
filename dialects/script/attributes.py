# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes as Python values: `(1, 2)`, `"NCHW"`, `@callee`; what is large is cut."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

from ...bindings.ir import Attribute, Operation, Type
from ...bindings.mlir import ir
from .constants import elements_text, float_text, number_text
from .expr import as_tuple, decoded, few, one_line, quote, shorten
from .types import dtype_name, is_scalar, type_text

_MOST_ITEMS = 16
_MOST_DEPTH = 4

# An attribute that is one word, `#arith.fastmath<fast>`: the word says it.
_WORD = re.compile(r"#[\w.]+<([\w, ]+)>")

# How many operands and results there are of each kind is seen from what is printed. Promises about overflow,
# which lowering makes at every index, would split each expression.
_NEVER_SHOWN = frozenset({"operandSegmentSizes", "resultSegmentSizes", "overflowFlags"})

# Attributes that upstream operations have in full even where they say nothing.
_DEFAULTS = {
    "fastmath": "#arith.fastmath<none>",
    "invariant": "false",
    "nontemporal": "false",
    "cast": "#linalg.type_fn<cast_signed>",
}


def attribute_text(attribute: Attribute, depth: int = 0) -> str:
    if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr)):
        return number_text(attribute)
    if isinstance(attribute, ir.StringAttr):
        return quote(decoded(attribute))
    if isinstance(attribute, ir.UnitAttr):
        return "True"
    if isinstance(attribute, ir.TypeAttr):
        return _type_attribute_text(attribute.value)
    if isinstance(attribute, ir.ArrayAttr):
        return _array_text(attribute, depth)
    if isinstance(attribute, ir.DenseElementsAttr):
        return elements_text(attribute)
    if type(attribute).__name__.startswith("Dense") and hasattr(attribute, "__len__"):
        return _dense_array_text(attribute)
    text = one_line(str(attribute))
    word = _WORD.fullmatch(text)
    return quote(word.group(1)) if word else shorten(text)


def _type_attribute_text(type_: Type) -> str:
    if is_scalar(type_):
        return quote(dtype_name(str(type_)))
    if not isinstance(type_, ir.FunctionType):
        return type_text(type_)
    inputs, results = list(type_.inputs), list(type_.results)
    if len(inputs) + len(results) > _MOST_ITEMS:
        return f"({len(inputs)} types) -> ({len(results)} types)"
    return f"({', '.join(map(type_text, inputs))}) -> ({', '.join(map(type_text, results))})"


def _array_text(attribute: Attribute, depth: int) -> str:
    count = len(attribute)
    if depth >= _MOST_DEPTH and count:
        return "[...]"
    items = [_item_text(attribute, index, depth) for index in range(min(count, _MOST_ITEMS + 1))]
    return f"[{', '.join(few(items, _MOST_ITEMS))}]"


def _item_text(array: Any, index: int, depth: int) -> str:
    try:
        item = array[index]
    except (TypeError, RuntimeError):
        return "..."
    return attribute_text(item, depth + 1)


def _dense_array_text(attribute: Attribute) -> str:
    is_double = isinstance(attribute, ir.DenseF64ArrayAttr)
    values = [attribute[index] for index in range(min(len(attribute), _MOST_ITEMS + 1))]
    items = [float_text(value, is_double) if isinstance(value, float) else _integer_text(value) for value in values]
    return as_tuple(few(items, _MOST_ITEMS))


def _integer_text(value: int) -> str:
    return "?" if value == ir.ShapedType.get_dynamic_size() else str(value)


def value_text(value: Any) -> str:
    """An operator's attribute as its kind has decoded it."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, ir.Attribute):
        return attribute_text(value)
    if isinstance(value, float):
        return float_text(value, is_double=True)
    if isinstance(value, tuple):
        return as_tuple(few([value_text(item) for item in value[: _MOST_ITEMS + 1]], _MOST_ITEMS))
    return shorten(one_line(str(value)))


def attribute_items(op: Operation, shown: Container[str]) -> Iterator[tuple[str, str]]:
    """Names and texts of an operation's attributes, without those that are shown already or are defaults."""
    attributes = op.attributes
    if not len(attributes):
        return
    try:
        names = list(attributes)
    except RuntimeError:
        # A name that is not UTF-8.
        yield "...", "True"
        return
    for name in names:
        if name in shown or name in _NEVER_SHOWN:
            continue
        text = _attribute_text_of(attributes, name)
        if text is not None:
            yield one_line(name), text


def _attribute_text_of(attributes: Any, name: str) -> str | None:
    try:
        attribute = attributes[name]
    except (TypeError, RuntimeError):
        # The bindings have no class for some attributes (complex elements, locations).
        return "..."
    if _DEFAULTS.get(name) == str(attribute if name in _DEFAULTS else ""):
        return None
    return attribute_text(attribute)


def other_attributes(op: Operation, shown: Container[str]) -> str:
    """What is left of an operation's attributes: ` {relax.composite="dnnl.conv", tir.noalias}` or nothing."""
    items = [short_item(name, text) for name, text in attribute_items(op, shown)]
    return f" {{{', '.join(items)}}}" if items else ""


def short_item(name: str, text: str) -> str:
    return name if text == "True" else f"{name}={text}"
