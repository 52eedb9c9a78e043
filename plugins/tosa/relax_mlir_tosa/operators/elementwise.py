# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operations: arithmetic, comparisons, bits, choices, tables."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.dialects.core.infos import bit_width, is_bool, is_float
from relax_mlir.emit.numbers import divide, intrinsic, select

from ..prelude import (
    Convert,
    Number,
    Outputs,
    Tensor,
    TosaNode,
    cast,
    const,
    elementwise,
    intrinsic_of,
    like,
    register_rows,
    register_tosa,
    relax,
    wide_float,
)

Function = Callable[..., Tensor]


def _make_plain_converter(function: Function) -> Convert:
    """Return the converter to a relax operator with the same operands."""
    return lambda node: function(*node.tensors())


def _make_wide_converter(function: Function) -> Convert:
    """Return the converter to a relax operator that is computed in at least f32."""

    def convert(node: TosaNode) -> Outputs:
        wide = wide_float(node.dtype)
        return cast(function(*(cast(tensor, wide) for tensor in node.tensors())), node.dtype)

    return convert


def _make_scalar_converter(function: Callable[..., Number], *names: str) -> Convert:
    """Return the converter to a function of scalars, with attributes as further arguments."""
    return lambda node: elementwise(node, function, node.tensors(), *map(node.attr, names), dtype=node.dtype)


def _arithmetic_right_shift(x: Number, by: Number, rounds: bool) -> Number:
    shifted = x >> by
    if not rounds:
        return shifted
    last = select(by > 0, (x >> (by - 1)) & 1, 0)
    return shifted + select(by > 0, last, 0)


def _logical_right_shift(x: Number, by: Number) -> Number:
    return x.shift_right_unsigned(by)


register_rows(
    {
        "tosa.abs": _make_plain_converter(relax.abs),
        "tosa.add": _make_plain_converter(relax.add),
        "tosa.sub": _make_plain_converter(relax.subtract),
        "tosa.ceil": _make_plain_converter(relax.ceil),
        "tosa.floor": _make_plain_converter(relax.floor),
        "tosa.exp": _make_wide_converter(relax.exp),
        "tosa.log": _make_wide_converter(relax.log),
        "tosa.sin": _make_wide_converter(relax.sin),
        "tosa.cos": _make_wide_converter(relax.cos),
        "tosa.erf": _make_wide_converter(relax.erf),
        "tosa.tanh": _make_wide_converter(relax.tanh),
        "tosa.sigmoid": _make_wide_converter(relax.sigmoid),
        "tosa.rsqrt": _make_wide_converter(lambda x: relax.divide(like(x, 1), relax.sqrt(x))),
        "tosa.reciprocal": _make_wide_converter(lambda x: relax.divide(like(x, 1), x)),
        "tosa.pow": _make_wide_converter(relax.power),
        "tosa.bitwise_not": _make_plain_converter(relax.bitwise_not),
        "tosa.bitwise_and": _make_plain_converter(relax.bitwise_and),
        "tosa.bitwise_or": _make_plain_converter(relax.bitwise_or),
        "tosa.bitwise_xor": _make_plain_converter(relax.bitwise_xor),
        "tosa.logical_not": _make_plain_converter(relax.logical_not),
        "tosa.logical_and": _make_plain_converter(relax.logical_and),
        "tosa.logical_or": _make_plain_converter(relax.logical_or),
        "tosa.logical_xor": _make_plain_converter(relax.logical_xor),
        "tosa.logical_left_shift": _make_plain_converter(relax.left_shift),
        "tosa.logical_right_shift": _make_scalar_converter(_logical_right_shift),
        "tosa.arithmetic_right_shift": _make_scalar_converter(_arithmetic_right_shift, "round"),
        "tosa.intdiv": _make_scalar_converter(divide),
        "tosa.clz": lambda node: intrinsic_of(node, "clz", node.tensors()),
        "tosa.equal": _make_plain_converter(relax.equal),
        "tosa.greater": _make_plain_converter(relax.greater),
        "tosa.greater_equal": _make_plain_converter(relax.greater_equal),
        "tosa.select": _make_plain_converter(relax.where),
    }
)


# ---- maximum and minimum ----


def chosen(name: str) -> Callable[..., Number]:
    """Return the maximum or minimum of two numbers. NaN wins, unless NaN is ignored."""
    return {"max": _larger, "min": _smaller}[name]


def _larger(x: Number, y: Number, ignores_nan: bool) -> Number:
    return _fix_nan(select(x > y, x, y), x, y, ignores_nan)


def _smaller(x: Number, y: Number, ignores_nan: bool) -> Number:
    return _fix_nan(select(x < y, x, y), x, y, ignores_nan)


def _fix_nan(made: Number, x: Number, y: Number, ignores_nan: bool) -> Number:
    """Fix the result for NaN operands: the comparison returns y if either is NaN."""
    if not x.is_float:
        return made
    if ignores_nan:
        return select(y != y, x, made)
    return select(x != x, x, made)


def _extreme(name: str) -> Convert:
    return lambda node: elementwise(node, chosen(name), node.tensors(), node.ignores_nan)


register_rows({"tosa.maximum": _extreme("max"), "tosa.minimum": _extreme("min")})


@register_tosa("tosa.clamp")
def clamp(node: TosaNode) -> Outputs:
    """Clamp. NaN stays NaN; if NaN is ignored, the result is the lower bound."""
    x = node.tensor(0)
    low, high = node.attr("min_val"), node.attr("max_val")
    if not is_float(node.dtype):
        return relax.minimum(relax.maximum(x, const(low, node.dtype)), const(high, node.dtype))
    bounds = [const(low, node.dtype), const(high, node.dtype)]
    return elementwise(node, _clamp, [x, *bounds], node.ignores_nan)


def _clamp(x: Number, low: Number, high: Number, ignores_nan: bool) -> Number:
    made = select(x < low, low, select(x > high, high, x))
    return select(x != x, low, made) if ignores_nan else made


# ---- products, signs, types ----


@register_tosa("tosa.mul")
def mul(node: TosaNode) -> Outputs:
    """Multiply. Products of i32 are shifted right and rounded; narrower integers give the whole product."""
    x, y = node.tensor(0), node.tensor(1)
    shift = node.scalar(2)
    if is_float(node.dtype) or shift == 0:
        return relax.multiply(cast(x, node.dtype), cast(y, node.dtype))
    return elementwise(node, _shifted_product, [x, y, node.tensor(2)], node.dtype, dtype=node.dtype)


def _shifted_product(x: Number, y: Number, shift: Number, dtype: str) -> Number:
    wide = x.to("i64") * y.to("i64")
    by = shift.to("i64")
    return ((wide + select(by > 0, wide.constant(1) << select(by > 0, by - 1, 0), 0)) >> by).to(dtype)


@register_tosa("tosa.negate")
def negate(node: TosaNode) -> Outputs:
    """Negate. Integers have zero points and are clipped."""
    x = node.tensor(0)
    if is_float(node.dtype):
        return relax.negative(x)
    return elementwise(node, _negate, [x, node.tensor(1), node.tensor(2)], node.dtype)


def _negate(x: Number, zero: Number, made_zero: Number, dtype: str) -> Number:
    return clipped(zero.to("i64") - x.to("i64") + made_zero.to("i64"), dtype)


def clipped(x: Number, dtype: str, unsigned: bool = False) -> Number:
    """Clip a wide integer to the range of a type, which may be interpreted as unsigned."""
    bits = bit_width(dtype)
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    limited = select(x < low, low, x)
    return select(limited > high, high, limited).to(dtype)


@register_tosa("tosa.cast")
def convert(node: TosaNode) -> Outputs:
    """Convert elements. Floats become the nearest integers, ties to even, clipped to the range."""
    x = node.tensor(0)
    source = node.value(0).dtype
    if is_float(source) and not is_float(node.dtype) and not is_bool(node.dtype):
        return elementwise(node, _nearest, [x], wide_float(source), node.dtype, dtype=node.dtype)
    return cast(x, node.dtype)


def _nearest(x: Number, wide: str, dtype: str) -> Number:
    return intrinsic("nearbyint", x.to(wide)).to(dtype)


@register_tosa("tosa.table")
def table(node: TosaNode) -> Outputs:
    """Look up a table: by an entry for each i8, or between two of 513 entries for i16 with 7 fractional bits."""
    x, entries = cast(node.tensor(0), "i32"), node.tensor(1)
    if node.value(0).dtype == "i8":
        return relax.take(entries, relax.add(x, const(128, "i32")), axis=0)
    place = relax.add(relax.right_shift(x, const(7, "i32")), const(256, "i32"))
    wide = cast(entries, "i32")
    first = relax.take(wide, place, axis=0)
    after = relax.take(wide, relax.add(place, const(1, "i32")), axis=0)
    rest = relax.bitwise_and(x, const(0x7F, "i32"))
    slope = relax.multiply(relax.subtract(after, first), rest)
    return relax.add(relax.left_shift(first, const(7, "i32")), slope)
