# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of comparisons, extremes, limits, selection and logical operators."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir.dialects.core.infos import is_float, is_unsigned

from ..prelude import (
    Convert,
    Outputs,
    Tensor,
    TorchNode,
    const,
    info_of,
    intrinsic_of,
    like,
    register_rows,
    register_torch,
    relax,
)
from .elementwise import operands, truth

_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "less": "less", "greater": "greater", "not_equal": "not_equal", "less_equal": "less_equal",
    "greater_equal": "greater_equal",
}  # fmt: skip
_LOGICAL = ("logical_and", "logical_or", "logical_xor")


def _compare(name: str) -> Convert:
    return lambda node: relax.dialect.ops[name](*operands(node, node.common_dtype("self", "other")))


def _logical(name: str) -> Convert:
    return lambda node: relax.dialect.ops[name](truth(node), truth(node, "other"))


register_rows({f"aten::{name}": _compare(ours) for name, ours in _COMPARISONS.items()})
register_rows({f"aten::{name}": _logical(name) for name in _LOGICAL})


def larger(left: Tensor, right: Tensor) -> Tensor:
    """Return the maximum, which is NaN if an operand is."""
    return relax.logical_or(left, right) if info_of(left).dtype == "i1" else relax.maximum(left, right)


def smaller(left: Tensor, right: Tensor) -> Tensor:
    return relax.logical_and(left, right) if info_of(left).dtype == "i1" else relax.minimum(left, right)


def _not_nan(name: str, join: Callable[[Tensor, Tensor], Tensor]) -> Convert:
    """Return the converter of an extreme that ignores NaN."""

    def convert(node: TorchNode) -> Tensor:
        left, right = operands(node)
        return intrinsic_of(node, name, [left, right]) if is_float(node.dtype) else join(left, right)

    return convert


register_rows(
    {
        "aten::maximum aten::max.other": lambda node: larger(*operands(node)),
        "aten::minimum aten::min.other": lambda node: smaller(*operands(node)),
        "aten::fmax": _not_nan("fmax", larger),
        "aten::fmin": _not_nan("fmin", smaller),
        "aten::clamp_min": lambda node: larger(node.tensor(0, node.dtype), node.operand("min", node.dtype)),
        "aten::clamp_max": lambda node: smaller(node.tensor(0, node.dtype), node.operand("max", node.dtype)),
        "aten::logical_not": lambda node: relax.logical_not(truth(node)),
        "aten::where.self aten::where.ScalarSelf aten::where.ScalarOther aten::where.Scalar": lambda node: relax.where(
            truth(node, "condition"), *operands(node)
        ),
        "aten::masked_fill": lambda node: relax.where(
            node.tensor("mask"), node.operand("value", node.dtype), node.tensor("self")
        ),
        "aten::isposinf": lambda node: _is_number(node.tensor(0), math.inf),
        "aten::isneginf": lambda node: _is_number(node.tensor(0), -math.inf),
    }
)


@register_torch("aten::clamp", "aten::clip")
def clamp(node: TorchNode) -> Outputs:
    """Convert clamp between numbers or tensors. If the lower limit exceeds the upper, the result is the upper."""
    x = node.tensor(0, node.dtype)
    if node.has("min"):
        x = larger(x, node.operand("min", node.dtype))
    return smaller(x, node.operand("max", node.dtype)) if node.has("max") else x


# ---- predicates ----


def _nowhere(x: Tensor) -> Tensor:
    return relax.logical_and(relax.not_equal(x, x), const(False, "i1"))


def _is_number(x: Tensor, number: float) -> Tensor:
    """Check whether elements equal a number that only floats can be."""
    return relax.equal(x, like(x, number)) if is_float(info_of(x).dtype) else _nowhere(x)


@register_torch("aten::isnan", "aten::isinf", "aten::isfinite")
def special_values(node: TorchNode) -> Outputs:
    x, name = node.tensor(0), node.op.partition("::")[2].partition(".")[0]
    if is_float(info_of(x).dtype):
        return relax.dialect.ops[name](x)
    return relax.logical_not(_nowhere(x)) if name == "isfinite" else _nowhere(x)


@register_torch("aten::signbit")
def signbit(node: TorchNode) -> Outputs:
    """Convert signbit, which is also true for -0 and negative NaN."""
    x, dtype = node.tensor(0), node.value(0).dtype
    if is_float(dtype):
        return intrinsic_of(node, "signbit", [x], "i1")
    return _nowhere(x) if dtype == "i1" or is_unsigned(dtype) else relax.less(x, like(x, 0))


@register_torch("aten::isclose")
def isclose(node: TorchNode) -> Outputs:
    """Convert isclose: `|self - other| <= atol + rtol * |other|`. Equal infinities are close, others are not."""
    dtype = node.common_dtype("self", "other")
    left, right = operands(node, dtype)
    close = relax.equal(left, right)
    if node.bool("equal_nan") and is_float(dtype):
        close = relax.logical_or(close, relax.logical_and(relax.isnan(left), relax.isnan(right)))
    rtol, atol = node.float("rtol"), node.float("atol")
    if rtol == 0 and atol == 0 or dtype == "i1":
        return close
    if not is_float(dtype):
        left, right = (relax.astype(each, dtype="f64") for each in (left, right))
    distance = relax.abs(relax.subtract(left, right))
    allowed = relax.add(like(right, atol), relax.abs(relax.multiply(like(right, rtol), right)))
    is_near = relax.logical_and(relax.isfinite(distance), relax.less_equal(distance, allowed))
    return relax.logical_or(close, is_near)
