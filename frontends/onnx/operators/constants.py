# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that make constants, and those that only change elements' types."""

from __future__ import annotations

from typing import Any

from ....bindings.errors import RelaxError
from ....dialects.relax import dialect
from ..dtypes import dtype_of
from ..node import Node
from ..registry import register_onnx
from ..values import Value

relax = dialect.ops


@register_onnx("", "Constant")
def constant(node: Node) -> Any:
    import numpy

    if node.has_attribute("value"):
        return Value(array=node.array("value"))
    for name, read, dtype in (
        ("value_int", node.int, "int64"),
        ("value_ints", node.ints, "int64"),
        ("value_float", node.float, "float32"),
        ("value_floats", node.floats, "float32"),
    ):
        if node.has_attribute(name):
            return Value(array=numpy.array(read(name), dtype))
    found = next((each for each in ("sparse_value", "value_string", "value_strings") if node.has_attribute(each)), "")
    raise node.fail("gives no tensor of numbers" if found else "has no value", found)


@register_onnx("", "Cast")
def cast(node: Node) -> Any:
    try:
        dtype = dtype_of(node.int("to", 0))
    except RelaxError as error:
        raise node.fail(error.message, "to") from None
    return _converted(node, dtype)


@register_onnx("", "CastLike")
def cast_like(node: Node) -> Any:
    return _converted(node, node.value(1).dtype)


def _converted(node: Node, dtype: str) -> Any:
    return node.value(0) if node.value(0).dtype == dtype else relax["astype"](node.tensor(0), dtype=dtype)
