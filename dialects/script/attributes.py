# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes as Python literals, or as MLIR text if there is no literal: `I.attr("affine_map<(i) -> (i)>")`."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from ...bindings.ir import Attribute
from ...bindings.mlir import ir
from .expr import as_tuple, is_name
from .types import type_text
from .words import quoted


def attribute_text(attribute: Attribute, inner: Callable[[Attribute], str] | None = None) -> str:
    """Return text that parses to the same attribute. `inner` prints the items of a list or dictionary."""
    kind = type(attribute).__name__
    nested, write = _NESTED.get(kind), _WRITERS.get(kind)
    try:
        text = nested(attribute, inner or attribute_text) if nested else write(attribute) if write else ""
    except TypeError:  # an item has no class in the bindings
        text = ""
    return text or f"I.attr({quoted(str(attribute))})"


def _string(attribute: Attribute) -> str:
    if not str(attribute).endswith('"'):  # the string has a type
        return ""
    try:
        return quoted(attribute.value_bytes.decode())
    except UnicodeDecodeError:
        return ""


def _integer(attribute: Attribute) -> str:
    text, _, type_ = str(attribute).partition(" : ")
    return text if type_ == "i64" else ""


def _float(attribute: Attribute) -> str:
    is_plain = isinstance(attribute.type, ir.F64Type) and math.isfinite(attribute.value)
    return repr(attribute.value) if is_plain else ""


def _array(attribute: Attribute, inner: Callable[[Attribute], str]) -> str:
    return f"[{', '.join(map(inner, attribute))}]"


def _dictionary(attribute: Attribute, inner: Callable[[Attribute], str]) -> str:
    # `item.attr` would end the process for attributes without a class in the bindings.
    return f"{{{', '.join(f'{quoted(item.name)}: {inner(attribute[item.name])}' for item in attribute)}}}"


def _symbol(attribute: Attribute) -> str:
    name = str(attribute).removeprefix("@")
    return f"cls.{name}" if is_name(name) else ""


_NESTED = {"ArrayAttr": _array, "DictAttr": _dictionary}
_WRITERS: dict[str, Callable[[Attribute], str]] = {
    "StringAttr": _string,
    "BoolAttr": lambda attribute: str(bool(attribute.value)),
    "IntegerAttr": _integer,
    "FloatAttr": _float,
    "UnitAttr": lambda _: "I.unit",
    "DenseI64ArrayAttr": lambda attribute: as_tuple([str(item) for item in attribute]),
    "FlatSymbolRefAttr": _symbol,
    "TypeAttr": lambda attribute: type_text(attribute.value),
}


# ---- numbers ----


def number_text(attribute: Attribute) -> str:
    """Return the literal of an integer or float constant, or an empty string if Python has no literal."""
    if isinstance(attribute, ir.FloatAttr):
        value = attribute.value
        return float_text(value, attribute.type) if math.isfinite(value) and attribute.type.width <= 64 else ""
    text = str(attribute).partition(" : ")[0]
    return {"true": "True", "false": "False"}.get(text, text)


def special_number(attribute: Attribute) -> str:
    """Return "inf", "-inf" or "nan" if the word identifies the number, else an empty string."""
    if not isinstance(attribute, ir.FloatAttr) or math.isfinite(attribute.value):
        return ""
    text = str(attribute.value)
    with ir.Location.unknown(attribute.context):
        # Parsed again, as a reader does: NaNs have a sign and a payload.
        return text if ir.FloatAttr.get(attribute.type, float(text)) == attribute else ""


def float_text(value: float, type_: object) -> str:
    """Return the shortest text that parses to the same number of its type."""
    text = repr(value)
    if isinstance(type_, ir.F32Type):
        candidates = (format(value, f".{digits}g") for digits in range(6, 10))
        text = next((short for short in candidates if _same_float(short, value)), text)
    return text if any(char in text for char in ".en") else f"{text}.0"


def _same_float(text: str, value: float) -> bool:

    try:
        return struct.pack("f", float(text)) == struct.pack("f", value)
    except OverflowError:
        return False


def elements_text(attribute: Attribute) -> str:
    """Return the elements of a tensor as nested lists, or a number for rank 0.

    Return an empty string without Python numbers.
    """
    element, shape = attribute.type.element_type, list(attribute.type.shape)
    try:
        values = [attribute[index] for index in range(len(attribute))]
    except (TypeError, ValueError):  # the bindings have no numbers for elements of less than a byte
        text = str(attribute).removeprefix("dense<").rpartition("> :")[0]
        return text if isinstance(element, ir.IntegerType) and '"' not in text else ""
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return ""
    is_bool = isinstance(element, ir.IntegerType) and element.width == 1
    texts = [
        float_text(value, element) if isinstance(value, float) else str(bool(value) if is_bool else value)
        for value in values
    ]
    for size in reversed(shape):
        if size == 0:
            return "[]"
        texts = [f"[{', '.join(texts[start : start + size])}]" for start in range(0, len(texts), size)]
    return texts[0]
