# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for elementwise operators: the element types they take, broadcasting, the result's type."""

from __future__ import annotations

from collections.abc import Callable

from ...core.infos import TensorInfo
from ...core.opdef import Call
from .broadcast import broadcast_shapes
from .dtypes import check_dtype, check_same_dtype
from .sizes import same_shape


def unary(*classes: str) -> Callable[[Call], TensorInfo]:
    """The result is like the one operand, which must have elements of these classes."""

    def infer(call: Call) -> TensorInfo:
        name = call.definition.operands[0].name
        check_dtype(call, name, *classes)
        return call.operands[name]

    return infer


float_unary = unary("float")
numeric_unary = unary("float", "int")


def predicate(call: Call) -> TensorInfo:
    return numeric_unary(call).with_dtype("i1")


def binary(*classes: str, result: str = "") -> Callable[[Call], TensorInfo]:
    """Two operands x1, x2 of one element type, broadcast; the result has that type or `result`."""

    def infer(call: Call) -> TensorInfo:
        check_dtype(call, "x1", *classes)
        check_same_dtype(call, "x1", "x2")
        shape = broadcast_shapes(call, ("x1", "x2"), (call.x1.shape, call.x2.shape))
        return TensorInfo(shape, result or call.x1.dtype)

    return infer


arithmetic = binary("float", "int")
comparison = binary("float", "int", "bool", result="i1")
logical = binary("bool")
bitwise = binary("int", "bool")
shift = binary("int")


def ternary(call: Call) -> TensorInfo:
    check_dtype(call, "x1", "float", "int")
    check_same_dtype(call, "x1", "x2", "x3")
    shape = call.x1.shape
    for name in ("x2", "x3"):
        shape = same_shape(call, name, shape, "the shape of the operands before it")
    return TensorInfo(shape, call.x1.dtype)
