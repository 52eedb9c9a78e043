# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on each element: arithmetic, comparisons, bits, functions of numbers."""

from __future__ import annotations

import math

from ....dialects.core.infos import is_float
from ..prelude import Node, Outputs, Tensor, const, like, register_rows, register_torch, relax

_UNARY = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cos": "cos", "cosh": "cosh", "erf": "erf", "exp": "exp", "log": "log", "neg": "negative", "rsqrt": "rsqrt",
    "sigmoid": "sigmoid", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
    "square": "square", "special_erf": "erf", "special_expit": "sigmoid",
}  # fmt: skip
# Of integers these are the integers themselves.
_ROUNDING = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "fix": "trunc"}
_BINARY = {"mul": "multiply", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum"}
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "less": "less", "greater": "greater", "not_equal": "not_equal", "less_equal": "less_equal",
    "greater_equal": "greater_equal",
}  # fmt: skip
_LOGICAL = {"logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor"}
_BITS = {
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "__and__": "and",
    "__or__": "or",
    "__xor__": "xor",
}


def _unary(name: str) -> object:
    return lambda node: relax.dialect.ops[name](node.tensor(0, node.dtype))


register_rows({f"aten::{name}": _unary(ours) for name, ours in _UNARY.items()})  # type: ignore[misc]


def _rounded(name: str) -> object:
    return lambda node: relax.dialect.ops[name](node.tensor(0)) if is_float(node.dtype) else node.tensor(0)


register_rows({f"aten::{name}": _rounded(ours) for name, ours in _ROUNDING.items()})  # type: ignore[misc]


def operands(node: Node, dtype: str = "") -> tuple[Tensor, Tensor]:
    """Both operands in the type of the result, or in another one."""
    dtype = dtype or node.dtype
    return node.operand("self", dtype), node.operand("other", dtype)


def _binary(name: str) -> object:
    return lambda node: relax.dialect.ops[name](*operands(node))


register_rows({f"aten::{name}": _binary(ours) for name, ours in _BINARY.items()})  # type: ignore[misc]


def _compared(name: str) -> object:
    return lambda node: relax.dialect.ops[name](*operands(node, node.common_dtype("self", "other")))


register_rows({f"aten::{name}": _compared(ours) for name, ours in _COMPARISONS.items()})  # type: ignore[misc]


def truth(node: Node, key: str = "self") -> Tensor:
    """Whether elements are not 0."""
    value = node.value(key)
    return value.ssa if value.dtype == "i1" else relax.not_equal(value.ssa, like(value.ssa, 0))


def _logical(name: str) -> object:
    return lambda node: relax.dialect.ops[name](truth(node), truth(node, "other"))


register_rows({f"aten::{name}": _logical(ours) for name, ours in _LOGICAL.items()})  # type: ignore[misc]


def _bits(name: str) -> object:
    def convert(node: Node) -> Tensor:
        kind = "logical" if node.dtype == "i1" else "bitwise"
        return relax.dialect.ops[f"{kind}_{name}"](*operands(node))

    return convert


register_rows({f"aten::{name}": _bits(ours) for name, ours in _BITS.items()})  # type: ignore[misc]


@register_torch("aten::add", "aten::add_")
def add(node: Node) -> Outputs:
    """`self + alpha * other`."""
    left, right = operands(node)
    if node.dtype == "i1":
        return relax.logical_or(left, right)
    return relax.add(left, _times_alpha(node, right))


@register_torch("aten::sub", "aten::subtract")
def subtract(node: Node) -> Outputs:
    left, right = operands(node)
    return relax.subtract(left, _times_alpha(node, right))


@register_torch("aten::rsub")
def reversed_subtract(node: Node) -> Outputs:
    left, right = operands(node)
    return relax.subtract(right, _times_alpha(node, left))


def _times_alpha(node: Node, tensor: Tensor) -> Tensor:
    alpha = node.get("alpha", 1)
    return tensor if alpha == 1 else relax.multiply(tensor, node.operand("alpha", node.dtype))


@register_torch("aten::div", "aten::divide", "aten::true_divide")
def divide(node: Node) -> Outputs:
    """Integers are divided as floats, unless the result is rounded."""
    mode = node.string("rounding_mode")
    if mode == "floor":
        return floor_divide(node)
    left, right = operands(node)
    if mode == "trunc":
        return relax.trunc(relax.divide(left, right)) if is_float(node.dtype) else relax.divide(left, right)
    return relax.divide(left, right)


@register_torch("aten::floor_divide")
def floor_divide(node: Node) -> Outputs:
    left, right = operands(node)
    return relax.floor_divide(left, right)


register_rows(
    {
        "aten::remainder": lambda node: relax.floor_mod(*operands(node)),
        "aten::fmod": lambda node: relax.mod(*operands(node)),
        "aten::atan2 aten::arctan2": lambda node: relax.atan2(*operands(node)),
        "aten::logaddexp": lambda node: relax.log_add_exp(*operands(node)),
        "aten::__lshift__ aten::bitwise_left_shift": lambda node: relax.left_shift(*operands(node)),
        "aten::__rshift__ aten::bitwise_right_shift": lambda node: relax.right_shift(*operands(node)),
        "aten::abs aten::absolute": lambda node: node.tensor(0) if node.dtype == "i1" else relax.abs(node.tensor(0)),
        "aten::sgn aten::sign": lambda node: node.tensor(0) if node.dtype == "i1" else relax.sign(node.tensor(0)),
        "aten::logical_not": lambda node: relax.logical_not(truth(node)),
        "aten::bitwise_not": lambda node: (
            relax.logical_not(node.tensor(0)) if node.dtype == "i1" else relax.bitwise_not(node.tensor(0))
        ),
        "aten::reciprocal": lambda node: relax.divide(const(1, node.dtype), node.tensor(0, node.dtype)),
        "aten::log2": lambda node: _scaled(relax.log(node.tensor(0, node.dtype)), 1 / math.log(2)),
        "aten::log10": lambda node: _scaled(relax.log(node.tensor(0, node.dtype)), 1 / math.log(10)),
        "aten::exp2 aten::special_exp2": lambda node: relax.power(const(2, node.dtype), node.tensor(0, node.dtype)),
        "aten::deg2rad": lambda node: _scaled(node.tensor(0, node.dtype), math.pi / 180),
        "aten::rad2deg": lambda node: _scaled(node.tensor(0, node.dtype), 180 / math.pi),
        "aten::positive aten::clone aten::alias aten::detach aten::contiguous aten::lift_fresh_copy aten::lift_fresh "
        "aten::resolve_conj aten::resolve_neg aten::conj aten::real aten::conj_physical aten::alias_copy "
        "aten::detach_": lambda node: node.held(0),
        "aten::where.self": lambda node: relax.where(
            truth(node, "condition"), node.operand("self", node.dtype), node.operand("other", node.dtype)
        ),
        "aten::where.ScalarSelf aten::where.ScalarOther aten::where.Scalar": lambda node: relax.where(
            truth(node, "condition"), node.operand("self", node.dtype), node.operand("other", node.dtype)
        ),
        "aten::addcmul": lambda node: _with_product(node, relax.multiply),
        "aten::addcdiv": lambda node: _with_product(node, relax.divide),
        "aten::lerp": lambda node: _interpolated(node),
        "aten::masked_fill": lambda node: relax.where(
            node.tensor("mask"), node.operand("value", node.dtype), node.tensor("self")
        ),
    }
)


def _scaled(tensor: Tensor, factor: float) -> Tensor:
    return relax.multiply(tensor, like(tensor, factor))


def _with_product(node: Node, join: object) -> Tensor:
    """`self + value * (tensor1 joined with tensor2)`."""
    first, second = node.tensor("tensor1", node.dtype), node.tensor("tensor2", node.dtype)
    value = node.get("value", 1)
    if value != 1:
        first = relax.multiply(first, node.operand("value", node.dtype))
    return relax.add(node.tensor("self", node.dtype), join(first, second))  # type: ignore[operator]


def _interpolated(node: Node) -> Tensor:
    """As torch computes it: from the end that is nearer."""
    start, end, weight = node.tensor("self"), node.tensor("end"), node.operand("weight", node.dtype)
    step = relax.subtract(end, start)
    near_start = relax.add(start, relax.multiply(weight, step))
    near_end = relax.subtract(end, relax.multiply(relax.subtract(like(weight, 1), weight), step))
    return relax.where(relax.less(relax.abs(weight), like(weight, 0.5)), near_start, near_end)


@register_torch("aten::round")
def rounded(node: Node) -> Outputs:
    """To even; `decimals` digits behind the point."""
    x = node.tensor(0)
    decimals = node.int("decimals", 0)
    if not is_float(node.dtype):
        return x
    if not decimals:
        return relax.round(x)
    factor = like(x, 10.0 ** abs(decimals))
    scale, back = (relax.multiply, relax.divide) if decimals > 0 else (relax.divide, relax.multiply)
    return back(relax.round(scale(x, factor)), factor)


@register_torch("aten::pow")
def power(node: Node) -> Outputs:
    return relax.power(node.operand("self", node.dtype), node.operand("exponent", node.dtype))


@register_torch("aten::isnan", "aten::isinf", "aten::isfinite")
def special_values(node: Node) -> Outputs:
    x, name = node.value(0), node.op.partition("::")[2].partition(".")[0]
    if is_float(x.dtype):
        return relax.dialect.ops[name](x.ssa)
    never = relax.not_equal(x.ssa, x.ssa)
    return relax.logical_not(never) if name == "isfinite" else never


@register_torch("aten::clamp", "aten::clip")
def clamp(node: Node) -> Outputs:
    """Between limits that are numbers or tensors; where the lower is above the upper one, the upper one."""
    x = node.tensor(0, node.dtype)
    if node.has("min"):
        x = _propagating(relax.maximum, x, node.operand("min", node.dtype))
    if node.has("max"):
        x = _propagating(relax.minimum, x, node.operand("max", node.dtype))
    return x


def _propagating(join: object, left: Tensor, right: Tensor) -> Tensor:
    return join(left, right)  # type: ignore[operator, no-any-return]


register_rows(
    {
        "aten::clamp_min": lambda node: relax.maximum(node.tensor(0, node.dtype), node.operand("min", node.dtype)),
        "aten::clamp_max": lambda node: relax.minimum(node.tensor(0, node.dtype), node.operand("max", node.dtype)),
        "aten::expm1 aten::special_expm1": lambda node: _exp_minus_one(node.tensor(0, node.dtype)),
        "aten::log1p aten::special_log1p": lambda node: _log_of_one_plus(node.tensor(0, node.dtype)),
    }
)


def _exp_minus_one(x: Tensor) -> Tensor:
    """exp(x) - 1 as tanh(x/2) * (exp(x) + 1), which keeps the digits near 0."""
    half = relax.tanh(relax.multiply(x, like(x, 0.5)))
    close = relax.multiply(half, relax.add(relax.exp(x), like(x, 1)))
    return relax.where(relax.less(relax.abs(x), like(x, 0.5)), close, relax.subtract(relax.exp(x), like(x, 1)))


def _log_of_one_plus(x: Tensor) -> Tensor:
    """log(1 + x) as 2 * atanh(x / (2 + x)), which keeps the digits near 0."""
    close = relax.multiply(relax.atanh(relax.divide(x, relax.add(x, like(x, 2)))), like(x, 2))
    return relax.where(relax.less(relax.abs(x), like(x, 0.5)), close, relax.log(relax.add(x, like(x, 1))))
