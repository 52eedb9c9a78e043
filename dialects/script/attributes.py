# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants and attributes as Python values: `(1, 2)`, `"NCHW"`, `@callee`; what is large is cut."""

from __future__ import annotations

import re
import struct
from collections.abc import Container, Iterable, Iterator, Sequence

from ...bindings.ir import Attribute, Attributes, Operation, Type
from ...bindings.mlir import ir
from .expr import as_tuple, decoded, few, one_line, quote, shorten
from .types import dim_texts, dims_text, dtype_name, is_scalar, type_text

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


def _item_text(array: Attribute, index: int, depth: int) -> str:
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


def value_text(value: object) -> str:
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


def _attribute_text_of(attributes: Attributes, name: str) -> str | None:
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
