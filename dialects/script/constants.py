# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants: numbers, and tensors of which the values are shown only while they are few."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Sequence

from ...bindings.ir import Attribute, Operation, Type
from ...bindings.mlir import ir
from .expr import quote, shorten
from .types import dim_texts, dims_text, dtype_name

#: Constants of more elements are elided.
MOST_ELEMENTS = 16
#: Of an elided constant this many are shown.
SOME_ELEMENTS = 4
#: No constant's values take more text.
MOST_VALUES_TEXT = 400
_MOST_NUMBER = 40
_MOST_RANK = 4

# MLIR's text of a constant: `dense<[1.0, 2.0]> : tensor<2xf16>`.
_DENSE = re.compile(r"dense<(.*)> : \S+", re.DOTALL)
_RESOURCE = re.compile(r'dense_resource<(?:"((?:[^"\\]|\\.)*)"|([^">]*))>')
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?\d+\.\d+(?:[eE][+-]?\d+)?|-?\d+")


def integer_text(attribute: Attribute) -> str:
    # By its text: `value` has 64 bits in some releases of the bindings.
    text = str(attribute).partition(" : ")[0]
    return {"true": "True", "false": "False"}.get(text) or shorten(text, _MOST_NUMBER)


def float_text(value: float, is_double: bool) -> str:
    """The shortest text that reads back as the same number of its type."""
    text = repr(value)
    if not is_double:
        candidates = (format(value, f".{digits}g") for digits in range(6, 10))
        text = next((short for short in candidates if _same_float(short, value)), text)
    return text if any(char in text for char in ".en") else f"{text}.0"


def _same_float(text: str, value: float) -> bool:
    try:
        return struct.pack("f", float(text)) == struct.pack("f", value)
    except OverflowError:
        return False


def number_text(attribute: Attribute) -> str:
    """The number of an IntegerAttr, BoolAttr or FloatAttr."""
    if isinstance(attribute, ir.FloatAttr):
        return float_text(attribute.value, is_double=str(attribute.type) in ("f64", "f80", "f128"))
    return integer_text(attribute)


def elements_text(attribute: Attribute) -> str:
    """A constant tensor or vector: `const([1, 2], "int32")`, `const(0.0, "float32", shape=(512, 512))`."""
    type_ = attribute.type
    return _const_text(_values_text(attribute, type_), type_)


def unreadable_text(op: Operation) -> str:
    """The constant of an operation whose attribute the bindings cannot hand out (complex elements)."""
    type_ = op.results[0].type
    if not isinstance(type_, ir.ShapedType):
        return "const(...)"
    text = op.get_asm(large_elements_limit=MOST_ELEMENTS, use_local_scope=True)
    match = _DENSE.search(text)
    return _const_text(shorten(match.group(1), MOST_VALUES_TEXT) if match else "...", type_)


def _const_text(values: str, type_: Type) -> str:
    dims = dim_texts(type_) if type_.has_rank else []
    # Values in brackets show their shape themselves.
    shows_shape = values.startswith("[") and values != "[]" and "..." not in values and len(dims) <= _MOST_RANK
    shaped = bool(dims) and not shows_shape
    shape = f", shape={dims_text(dims)}" if shaped else ""
    return f"const({values}, {quote(dtype_name(str(type_.element_type)))}{shape})"


def is_splat(attribute: Attribute) -> bool:
    return isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat


def _values_text(attribute: Attribute, type_: Type) -> str:
    if not isinstance(attribute, ir.DenseElementsAttr):
        return _resource_text(attribute)
    if attribute.is_splat:
        return number_text(attribute.get_splat_value())
    count = len(attribute)
    if count == 0:
        return "[]"
    if count <= MOST_ELEMENTS:
        numbers = _numbers(attribute, count) or _numbers_by_text(attribute)
        return shorten(_nested(numbers, list(type_.shape)), MOST_VALUES_TEXT) if len(numbers) == count else "..."
    return f"[{', '.join([*_numbers(attribute, SOME_ELEMENTS), '...'])}]"


def _numbers(attribute: Attribute, count: int) -> list[str]:
    """The first elements; none where the bindings cannot read elements of this type."""
    element = str(attribute.type.element_type)
    try:
        values = [attribute[index] for index in range(count)]
    except TypeError:
        return []
    if element == "i1":
        return [str(bool(value)) for value in values]
    return [float_text(v, element == "f64") if isinstance(v, float) else shorten(str(v), _MOST_NUMBER) for v in values]


def _numbers_by_text(attribute: Attribute) -> list[str]:
    """The elements as MLIR prints them, for element types that Python has no counterpart of."""
    match = _DENSE.match(str(attribute))
    if match is None or match.group(1).startswith('"'):
        return []
    return [_shown_number(token) for token in _NUMBER.findall(match.group(1))]


def _shown_number(token: str) -> str:
    return float_text(float(token), is_double=False) if "." in token else shorten(token, _MOST_NUMBER)


def _nested(numbers: Sequence[str], shape: Sequence[int]) -> str:
    """Numbers in row-major order as nested lists; flat where the rank is more than anybody could read."""
    if len(shape) > _MOST_RANK:
        return f"[{', '.join(numbers)}]"
    rows: Iterable[str] = numbers
    for size in reversed(shape):
        items = list(rows)
        rows = [f"[{', '.join(items[start : start + size])}]" for start in range(0, len(items), size)]
    return ", ".join(rows)


def _resource_text(attribute: Attribute) -> str:
    """Constants whose bytes lie elsewhere are known by their name."""
    match = _RESOURCE.match(str(attribute))
    return "..." if match is None else f"resource({quote(match.group(1) or match.group(2) or '')})"
