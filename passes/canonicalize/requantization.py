# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized numbers that are dequantized and quantized again, with nothing between that makes new numbers."""

from __future__ import annotations

from ...bindings.ir import OpView, Value
from ...bindings.rewriting import made_again
from ...dialects.core.infos import bit_width
from ...dialects.relax.known_constants import elements_of, floats_of
from ...dialects.relax.values import as_result, dtype_of, normal_axis, shape_of, with_dtype
from ..patterns.matched import Match
from ..patterns.operator_patterns import is_op
from .rules import X, rule

# Scales with which products and quotients neither overflow nor lose digits below the smallest normal number.
_SMALLEST, _LARGEST = {"f32": 1e-30, "f16": 1e-3}, {"f32": 1e30, "f16": 64.0}


def requantize_nothing(found: Match) -> Value | None:
    """quantize(dequantize(q)) is q, and quantize(move(dequantize(q))) is move(q), of the same scale and zero point.

    The distance to the zero point comes back as a whole number nearly, which is then rounded.
    """
    op, movers, numbers = found.op(), found.all("moved"), found[X]
    if not _are_inverse(found.op("inner"), op, moved=bool(movers)):
        return None
    for moved in reversed(movers):
        numbers = _moved(moved, numbers)
    return as_result(op, numbers)


def _moved(moved: Value, numbers: Value) -> Value:
    """The same done with the numbers."""
    mover = moved.owner.operation
    return made_again(mover, [numbers, *list(mover.operands)[1:]], [with_dtype(moved, dtype_of(numbers))]).results[0]


def _are_inverse(inner: OpView, outer: OpView, *, moved: bool) -> bool:
    """Whether both have the same scale, of an ordinary size, the same zero point and integers."""
    numbers, scale, zero_point = inner.operation.operands
    dtype, middle = dtype_of(numbers), dtype_of(inner.operation.results[0])
    if dtype != dtype_of(outer.operation.results[0]) or middle not in _SMALLEST:
        return False
    # 255 times the error of one half float's rounding is still less than a half.
    if dtype not in ("i8", "ui8", *(("i16", "ui16") if middle == "f32" else ())) or bit_width(
        dtype_of(zero_point)
    ) > bit_width(dtype):
        return False
    if not is_same(scale, outer.operation.operands[1]) or not is_same(zero_point, outer.operation.operands[2]):
        return False
    values = floats_of(scale)
    if values is None or not ((values >= _SMALLEST[middle]) & (values <= _LARGEST[middle])).all():
        return False
    if values.size == 1:
        return True
    shape = shape_of(numbers)
    return (
        not moved and shape is not None and normal_axis(inner.axis, len(shape)) == normal_axis(outer.axis, len(shape))
    )


def is_same(one: Value, other: Value) -> bool:
    """Whether two values are one, or constants with the same elements."""
    if one == other:
        return True
    left, right = elements_of(one), elements_of(other)
    return left is not None and right is not None and left.dtype == right.dtype and left.tolist() == right.tolist()


_movers = is_op(*(f"relax.{name}" for name in "reshape flatten permute_dims expand_dims squeeze strided_slice".split()))
_dequantized = is_op("relax.dequantize")(X, ...).named("inner")
_moved_or_not = _dequantized.repeated(lambda x: _movers(x, ...).used_once().named("moved"))

PATTERNS = (rule(is_op("relax.quantize")(_moved_or_not, ...), requantize_nothing),)
