# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of elementwise operators: arithmetic, comparisons, bits, functions of numbers."""

from __future__ import annotations

from functools import reduce

from ....dialects.core.infos import is_float
from ...core.values import Tensor
from ..prelude import OnnxNode, Outputs, along_axis, const, like, register_onnx, register_rows, relax

_UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "BitwiseNot": "bitwise_not", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "IsNaN": "isnan", "Log": "log", "Neg": "negative", "Not": "logical_not",
    "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt",
    "Tan": "tan", "Tanh": "tanh",
}  # fmt: skip
_BINARY = {
    "Add": "add", "And": "logical_and", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Div": "divide", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greater_equal", "Less": "less", "LessOrEqual": "less_equal", "Mul": "multiply",
    "Or": "logical_or", "Sub": "subtract", "Xor": "logical_xor",
}  # fmt: skip
# Before version 7, an attribute enabled broadcasting of the second operand, from an axis on.
_BROADCASTING = {"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"}


@register_onnx("", list(_UNARY))
def unary(node: OnnxNode) -> Outputs:
    return relax.dialect.ops[_UNARY[node.op]](node.tensor(0))


@register_onnx("", list(_BINARY))
def binary(node: OnnxNode) -> Outputs:
    return relax.dialect.ops[_BINARY[node.op]](node.tensor(0), second_operand(node))


def second_operand(node: OnnxNode) -> Tensor:
    """Return the second operand, with dimensions appended if a first version of the operator broadcasts it."""
    operand = node.tensor(1)
    if node.op not in _BROADCASTING or node.version >= 7 or not node.int("broadcast", 0):
        return operand
    return along_axis(operand, node.int("axis", node.rank(0) - node.rank(1)) + node.rank(1) - 1, node.rank(0))


@register_onnx("", "Pow")
def power(node: OnnxNode) -> Outputs:
    """Convert Pow. The exponent may have another type; the result has the type of the base."""
    base, exponent = node.tensor(0), second_operand(node)
    dtype, other = node.value(0).dtype, node.value(1).dtype
    if dtype == other:
        return relax.power(base, exponent)
    if is_float(other) and not is_float(dtype):
        return relax.astype(relax.power(relax.astype(base, dtype=other), exponent), dtype=dtype)
    return relax.power(base, relax.astype(exponent, dtype=dtype))


register_rows(
    "",
    {
        "Identity": lambda node: node.held(0),
        # With fmod, the result has the sign of the first operand as in C, else of the second as in Python.
        "Mod": lambda node: relax.dialect.ops["mod" if node.int("fmod", 0) else "floor_mod"](*node.tensors(2)),
        "Reciprocal": lambda node: relax.divide(like(node.tensor(0), 1), node.tensor(0)),
        "Where": lambda node: relax.where(*node.tensors(3)),
    },
)


@register_onnx("", "BitShift")
def bit_shift(node: OnnxNode) -> Outputs:
    direction = node.choice("direction", "", ("LEFT", "RIGHT"))
    return relax.dialect.ops[f"{direction.lower()}_shift"](*node.tensors(2))


@register_onnx("", ["Max", "Min", "Sum", "Mean"])
def several(node: OnnxNode) -> Outputs:
    """Combine any number of tensors, with broadcasting."""
    name = {"Max": "maximum", "Min": "minimum"}.get(node.op, "add")
    result = reduce(relax.dialect.ops[name], node.tensors())
    if node.op != "Mean" or len(node.inputs) == 1:
        return result
    return relax.divide(result, const(len(node.inputs), node.value(0).dtype))


@register_onnx("", "IsInf")
def is_infinite(node: OnnxNode) -> Outputs:
    x, dtype = node.tensor(0), node.value(0).dtype
    zero = const(0, dtype)
    found = relax.isinf(x)
    if not node.int("detect_negative", 1):
        found = relax.logical_and(found, relax.greater(x, zero))
    if not node.int("detect_positive", 1):
        found = relax.logical_and(found, relax.less(x, zero))
    return found
