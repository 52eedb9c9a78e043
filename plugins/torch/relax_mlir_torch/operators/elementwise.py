# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of elementwise operators: arithmetic, powers and logarithms, angles, rounding."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.dialects.relax.known_constants import elements_of

from ..dtypes import torch_dtype
from ..prelude import (
    Convert,
    Outputs,
    Tensor,
    TorchNode,
    Value,
    cast,
    info_of,
    intrinsic_of,
    like,
    register_rows,
    register_torch,
    relax,
    wide_float,
)
from .assertions import stop_where

# relax's operators. Integers are computed as floats.
_UNARY = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cos": "cos", "cosh": "cosh", "erf": "erf", "exp": "exp", "log": "log", "neg": "negative", "rsqrt": "rsqrt",
    "sigmoid": "sigmoid", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan", "tanh": "tanh",
    "square": "square", "special_erf": "erf", "special_expit": "sigmoid",
}  # fmt: skip
# Functions that relax does not have, or not with this precision.
_FUNCTIONS = {
    "deg2rad": "deg2rad", "exp2": "exp2", "expm1": "expm1", "log10": "log10", "log1p": "log1p", "log2": "log2",
    "rad2deg": "rad2deg", "reciprocal": "reciprocal", "sinc": "sinc", "special_exp2": "exp2",
    "special_expm1": "expm1", "special_log1p": "log1p", "special_sinc": "sinc",
}  # fmt: skip
_FUNCTIONS_OF_TWO = {
    "arctan2": "atan2", "atan2": "atan2", "hypot": "hypot", "logaddexp": "logaddexp", "logaddexp2": "logaddexp2"
}  # fmt: skip
# Integers are unchanged.
_ROUNDING = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "fix": "trunc"}


def operands(node: TorchNode, dtype: str = "") -> tuple[Tensor, Tensor]:
    """Return both operands in the type of the result, or in `dtype`."""
    dtype = dtype or node.dtype
    return node.operand("self", dtype), node.operand("other", dtype)


def truth(node: TorchNode, key: str = "self") -> Tensor:
    """Return True where elements are not 0."""
    value = node.value(key)
    return value.ssa if value.dtype == "i1" else relax.not_equal(value.ssa, like(value.ssa, 0))


def in_wide(node: TorchNode, function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """Compute a function in at least f32, and cast to the type of the result."""
    wide = wide_float(node.dtype)
    return cast(function(*(cast(tensor, wide) for tensor in tensors)), node.dtype)


def _unary(name: str) -> Convert:
    return lambda node: relax.dialect.ops[name](node.tensor(0, node.dtype))


def _function(name: str) -> Convert:
    return lambda node: in_wide(node, lambda x: intrinsic_of(node, name, [x]), node.operand(0, wide_float(node.dtype)))


def _function_of_two(name: str) -> Convert:
    return lambda node: in_wide(node, lambda *both: intrinsic_of(node, name, both), *operands(node))


def _round(name: str) -> Convert:
    return lambda node: relax.dialect.ops[name](node.tensor(0)) if is_float(node.dtype) else node.tensor(0)


register_rows({f"aten::{name}": _unary(ours) for name, ours in _UNARY.items()})
register_rows({f"aten::{name}": _function(ours) for name, ours in _FUNCTIONS.items()})
register_rows({f"aten::{name}": _function_of_two(ours) for name, ours in _FUNCTIONS_OF_TWO.items()})
register_rows({f"aten::{name}": _round(ours) for name, ours in _ROUNDING.items()})


# ---- sums and products ----


@register_torch("aten::add")
def add(node: TorchNode) -> Outputs:
    """Convert add: `self + alpha * other`."""
    left, right = operands(node)
    right = _times_alpha(node, right)
    return relax.logical_or(left, right) if node.dtype == "i1" else relax.add(left, right)


@register_torch("aten::sub", "aten::subtract")
def subtract(node: TorchNode) -> Outputs:
    left, right = operands(node)
    return relax.subtract(left, _times_alpha(node, right))


@register_torch("aten::rsub")
def reversed_subtract(node: TorchNode) -> Outputs:
    left, right = operands(node)
    return relax.subtract(right, _times_alpha(node, left))


def _times_alpha(node: TorchNode, tensor: Tensor) -> Tensor:
    return tensor if node.get("alpha", 1) == 1 else times(tensor, node.operand("alpha", node.dtype))


def times(left: Tensor, right: Tensor) -> Tensor:
    """Return the product, or the conjunction of booleans."""
    return relax.logical_and(left, right) if info_of(left).dtype == "i1" else relax.multiply(left, right)


@register_torch("aten::div", "aten::divide", "aten::true_divide")
def divide(node: TorchNode) -> Outputs:
    """Convert div. Integers are divided as floats, unless the result is rounded."""
    if (mode := node.string("rounding_mode")) == "floor":
        return floor_divide(node)
    left, right = _dividend_and_divisor(node)
    if mode == "trunc" and is_float(node.dtype):
        return in_wide(node, lambda x, y: relax.trunc(relax.divide(x, y)), left, right)
    return relax.divide(left, right)


@register_torch("aten::floor_divide")
def floor_divide(node: TorchNode) -> Outputs:
    return relax.floor_divide(*_dividend_and_divisor(node))


def _dividend_and_divisor(node: TorchNode) -> tuple[Tensor, Tensor]:
    """Return both operands. Programs stop at a division of integers by 0, as eager mode does."""
    left, right = operands(node)
    known = elements_of(right)
    # A divisor that is a size of a tensor is not 0.
    may_be_0 = isinstance(node.held("other"), Value) if known is None else not known.all()
    if may_be_0 and not is_float(node.dtype):
        stop_where(relax.equal(right, like(right, 0)), "ZeroDivisionError")
    return left, right


register_rows(
    {
        "aten::mul aten::multiply": lambda node: times(*operands(node)),
        "aten::remainder": lambda node: relax.floor_mod(*_read_number_operands(node)),
        "aten::fmod": lambda node: relax.mod(*_read_number_operands(node)),
        "aten::abs aten::absolute": lambda node: node.tensor(0) if node.dtype == "i1" else relax.abs(node.tensor(0)),
        "aten::sgn aten::sign": lambda node: _sign(node.tensor(0)),
        "aten::frac": lambda node: relax.subtract(node.tensor(0), relax.trunc(node.tensor(0))),
        "aten::angle": lambda node: _angle(node.tensor(0, node.dtype)),
        "aten::addcmul": lambda node: _with_product(node, times),
        "aten::addcdiv": lambda node: _with_product(node, relax.divide),
        "aten::lerp": lambda node: in_wide(
            node, _interpolate, node.tensor("self"), node.tensor("end"), node.operand("weight", wide_float(node.dtype))
        ),
        "aten::xlogy aten::special_xlogy": lambda node: _times_log(node, "log"),
        "aten::special_xlog1py": lambda node: _times_log(node, "log1p"),
        "aten::positive aten::clone aten::alias aten::detach aten::contiguous aten::lift_fresh_copy aten::lift_fresh "
        "aten::resolve_conj aten::resolve_neg aten::conj aten::_conj aten::_neg_view_copy aten::real "
        "aten::conj_physical aten::alias_copy aten::detach_copy aten::detach_": lambda node: node.held(0),
    }
)


def _read_number_operands(node: TorchNode) -> tuple[Tensor, Tensor]:
    if node.dtype == "i1":
        raise node.fail("remainders of booleans are not defined")
    return _dividend_and_divisor(node)


def _sign(x: Tensor) -> Tensor:
    """Return the sign, which is 0 for NaN."""
    if (dtype := info_of(x).dtype) == "i1":
        return x
    if not is_float(dtype):
        return relax.sign(x)
    zero = like(x, 0)
    above, below = (cast(compare(x, zero), dtype) for compare in (relax.greater, relax.less))
    return relax.subtract(above, below)


def _angle(x: Tensor) -> Tensor:
    """Return the angle of real numbers: 0 or pi."""
    return relax.where(relax.less(x, like(x, 0)), like(x, math.pi), relax.where(relax.isnan(x), x, like(x, 0)))


def _with_product(node: TorchNode, join: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return `self + value * join(tensor1, tensor2)`, rounded once to a narrow type."""
    dtype = wide_float(node.dtype) if is_float(node.dtype) else node.dtype
    first, second = node.tensor("tensor1", dtype), node.tensor("tensor2", dtype)
    if node.get("value", 1) != 1:
        first = times(first, node.operand("value", dtype))
    return cast(relax.add(node.tensor("self", dtype), join(first, second)), node.dtype)


def _interpolate(start: Tensor, end: Tensor, weight: Tensor) -> Tensor:
    """Interpolate as torch does, from the nearer end."""
    step = relax.subtract(end, start)
    near_start = relax.add(start, relax.multiply(weight, step))
    near_end = relax.subtract(end, relax.multiply(relax.subtract(like(weight, 1), weight), step))
    return relax.where(relax.less(relax.abs(weight), like(weight, 0.5)), near_start, near_end)


def _times_log(node: TorchNode, name: str) -> Tensor:
    """Return `self * log(other)`, which is 0 if `self` is 0, unless `other` is NaN."""
    x, y = operands(node)
    made = in_wide(node, lambda x, y: relax.multiply(x, intrinsic_of(node, name, [y])), x, y)
    is_nothing = relax.logical_and(relax.equal(x, like(x, 0)), relax.logical_not(relax.isnan(y)))
    return relax.where(is_nothing, like(x, 0), made)


@register_torch("aten::pow")
def power(node: TorchNode) -> Outputs:
    if node.dtype == "i1":
        raise node.fail("powers of booleans are not defined")
    return relax.power(node.operand("self", node.dtype), node.operand("exponent", node.dtype))


@register_torch("aten::round")
def rounded(node: TorchNode) -> Outputs:
    """Convert round: to even, with `decimals` digits behind the point."""
    x, decimals = node.tensor(0), node.int("decimals", 0)
    if not is_float(node.dtype):
        return x
    return in_wide(node, lambda x: _round_to(x, decimals), x)


def _round_to(x: Tensor, decimals: int) -> Tensor:
    if not decimals:
        return relax.round(x)
    factor = like(x, 10.0 ** abs(decimals))
    scale, back = (relax.multiply, relax.divide) if decimals > 0 else (relax.divide, relax.multiply)
    return back(relax.round(scale(x, factor)), factor)


@register_torch("aten::logit", "aten::special_logit")
def logit(node: TorchNode) -> Outputs:
    """Return log(x / (1 - x)). With `eps`, x is clamped to [eps, 1 - eps]."""
    eps = node.float("eps")

    def made(x: Tensor) -> Tensor:
        kept = x if eps is None else relax.minimum(relax.maximum(x, like(x, eps)), like(x, 1 - eps))
        return relax.log(relax.divide(kept, relax.subtract(like(kept, 1), kept)))

    return in_wide(node, made, node.tensor(0))


@register_torch("aten::nan_to_num")
def nan_to_num(node: TorchNode) -> Outputs:
    """Convert nan_to_num. Infinities become the largest and the lowest number, unless the node states others."""
    x = node.tensor(0)
    if not is_float(node.dtype):
        return x
    largest = _largest(node.dtype)
    nan = like(x, node.float("nan", 0.0))
    high, low = like(x, node.float("posinf", largest)), like(x, node.float("neginf", -largest))
    x_or_nan = relax.where(relax.isnan(x), nan, x)
    x_or_high = relax.where(relax.equal(x, like(x, math.inf)), high, x_or_nan)
    return relax.where(relax.equal(x, like(x, -math.inf)), low, x_or_high)


def _largest(dtype: str) -> float:
    import torch

    return float(torch.finfo(torch_dtype(dtype)).max)


@register_torch("aten::heaviside")
def heaviside(node: TorchNode) -> Outputs:
    """Convert heaviside: 1 above 0, `values` at 0, else 0, also for NaN."""
    x, values = node.operand("self", node.dtype), node.operand("values", node.dtype)
    if node.dtype == "i1":
        return relax.logical_or(x, values)
    zero = like(x, 0)
    step = cast(relax.greater(x, zero), node.dtype)
    return relax.where(relax.equal(x, zero), values, step)
