# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes as Python's literals; what Python has none for is MLIR's text: `I.attr("affine_map<(i) -> (i)>")`."""

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
    """What reads back as the same attribute. `inner` writes what is in a list or a dictionary."""
    kind = type(attribute).__name__
    nested, write = _NESTED.get(kind), _WRITERS.get(kind)
    try:
        text = nested(attribute, inner or attribute_text) if nested else write(attribute) if write else ""
    except TypeError:  # it has something in it that the bindings have no class for
        text = ""
    return text or f"I.attr({quoted(str(attribute))})"


def _string(attribute: Attribute) -> str:
    if not str(attribute).endswith('"'):  # it has a type
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
    # Not `item.attr`, which ends the process where the bindings have no class for it.
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
    """The literal of an integer's or float's constant; empty for what Python's literals cannot say."""
    if isinstance(attribute, ir.FloatAttr):
        value = attribute.value
        return float_text(value, attribute.type) if math.isfinite(value) and attribute.type.width <= 64 else ""
    text = str(attribute).partition(" : ")[0]
    return {"true": "True", "false": "False"}.get(text, text)


def special_number(attribute: Attribute) -> str:
    """ "inf", "-inf" or "nan", where that says which one it is."""
    if not isinstance(attribute, ir.FloatAttr) or math.isfinite(attribute.value):
        return ""
    text = str(attribute.value)
    with ir.Location.unknown(attribute.context):
        # Anew, as a reader does: NaNs have a sign and bits of their own.
        return text if ir.FloatAttr.get(attribute.type, float(text)) == attribute else ""


def float_text(value: float, type_: object) -> str:
    """The shortest text that reads back as the same number of its type."""
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
    """The elements of a tensor as nested lists; of rank 0 the number. Empty where Python's numbers cannot say them."""
    element, shape = attribute.type.element_type, list(attribute.type.shape)
    try:
        values = [attribute[index] for index in range(len(attribute))]
    except (TypeError, ValueError):  # the bindings have no numbers for those of less than a byte
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
