# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Requantization: dequantized numbers that are only moved or limited before they are quantized again stay integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....bindings.ir import OpView, Value
from ....bindings.rewriting import made_again
from ....dialects import relax
from ....dialects.core.infos import bit_width, is_unsigned
from ....dialects.relax import const
from ....dialects.relax.known_constants import NUMPY_NAME, elements_of, floats_of
from ....dialects.relax.values import as_result, dtype_of, normal_axis, shape_of, with_dtype
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_op
from ...patterns.tree import GraphPattern, is_const
from .rules import X, rule

if TYPE_CHECKING:
    from numpy import ndarray

# Bounds of scales for which products and quotients neither overflow nor become subnormal.
_SMALLEST, _LARGEST = {"f32": 1e-30, "f16": 1e-3}, {"f32": 1e30, "f16": 64.0}
_MOVES = frozenset(f"relax.{name}" for name in "reshape flatten permute_dims expand_dims squeeze strided_slice".split())
_RELU = "relax.nn.relu"


def requantize_nothing(match: Match) -> Value | None:
    """Fold quantize(f(dequantize(q))) with one scale and zero point to f on integers, and quantize(dequantize(q)) to q.

    The distance to the zero point is nearly an integer again, and is rounded. Each f moves elements or limits them.
    Quantization is monotonic, so that limits may be quantized and applied to integers.
    """
    op, inner, steps, numbers = match.op(), match.op("inner"), match.all("step"), match[X]
    if not _are_inverse(inner, op, moved=any(step.owner.operation.name in _MOVES for step in steps)):
        return None
    limits = [_limits(step, op) for step in steps]
    if any(limit is None for limit in limits):
        return None
    for step, limit in zip(reversed(steps), reversed(limits), strict=True):
        assert limit is not None
        numbers = _limit(numbers, limit, op.axis) if any(each is not None for each in limit) else _move(step, numbers)
    return as_result(op, numbers)


def _move(moved: Value, numbers: Value) -> Value:
    """Return the integers after an operator that moves elements. Operators without a limit keep them."""
    mover = moved.owner.operation
    if mover.name not in _MOVES:
        return numbers
    return made_again(mover, [numbers, *list(mover.operands)[1:]], [with_dtype(moved, dtype_of(numbers))]).results[0]


# ---- limits ----

#: Least and largest integer, per channel or 0-D. None is no limit.
_Limits = tuple["ndarray | None", "ndarray | None"]


def _limits(step: Value, quantize: OpView) -> _Limits | None:
    """Return the limits of an operator on reals, quantized to integers by `quantize`.

    None if a limit is unknown or NaN.
    """
    operation = step.owner.operation
    if operation.name in _MOVES:
        return None, None
    low, high = _real_limits(step)
    sides = [(None, False) if real is None else (_quantize(real, step, quantize), True) for real in (low, high)]
    if any(is_limited and integers is None for integers, is_limited in sides):
        return None
    (least, _), (most, _) = sides
    if least is not None and most is not None and (least > most).any():
        return None
    lowest, highest = _range(dtype_of(quantize.operation.results[0]))
    return (
        None if least is None or (least <= lowest).all() else least,
        None if most is None or (most >= highest).all() else most,
    )


def is_without_effect(step: Value, quantize: OpView) -> bool:
    """Check whether a quantize saturates at least as early as a limit in front of it, so that the limit is redundant.

    Rounding is monotonic. A limit that becomes the least or the largest integer of the type therefore changes nothing.
    """
    return _limits(step, quantize) == (None, None)


def _real_limits(step: Value) -> tuple[Value | float | None, Value | float | None]:
    name, operands = step.owner.operation.name, list(step.owner.operation.operands)
    if name == _RELU:
        return 0.0, None
    if name in ("relax.maximum", "relax.minimum"):
        limit = next(operand for operand in reversed(operands) if elements_of(operand) is not None)
        return (limit, None) if name == "relax.maximum" else (None, limit)
    return operands[1], operands[2]


def _quantize(real: Value | float, step: Value, quantize: OpView) -> ndarray | None:
    """Return a limit as integers, by the arithmetic of relax.quantize. 0 becomes the zero point."""
    _, scale, zero_point = quantize.operation.operands
    zeros, lowest, highest = elements_of(zero_point), *_range(dtype_of(quantize.operation.results[0]))
    if zeros is None or ((zeros < lowest) | (zeros > highest)).any():
        return None
    if real == 0.0:
        return zeros.astype("int64")
    import numpy

    limit, scales = None if isinstance(real, float) else elements_of(real), elements_of(scale)
    # Other float types round the limit before the comparison.
    if limit is None or limit.size != 1 or scales is None or scales.dtype != "float32" or dtype_of(step) != "f32":
        return None
    with numpy.errstate(all="ignore"):
        quotient = limit.reshape(()).astype("float32") / scales
    if numpy.isnan(quotient).any():
        return None
    return numpy.clip(numpy.rint(quotient) + zeros.astype("float64"), lowest, highest).astype("int64")


def _range(dtype: str) -> tuple[int, int]:
    bits = bit_width(dtype)
    return (0, 2**bits - 1) if is_unsigned(dtype) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _limit(numbers: Value, limits: _Limits, axis: int) -> Value:
    """Return the integers within limits."""
    least, most = limits
    if least is not None and most is not None and least.size == most.size == 1:
        return relax.clip(numbers, int(least.reshape(())), int(most.reshape(())))
    for name, limit in (("maximum", least), ("minimum", most)):
        if limit is not None:
            numbers = relax.dialect.ops[name](numbers, _constant(limit, numbers, axis))
    return numbers


def _constant(limit: ndarray, numbers: Value, axis: int) -> Value:
    """Return limits as a constant that broadcasts to the integers: a scalar, or a number per position of an axis."""
    rank = len(shape_of(numbers) or ())
    shape = () if limit.size == 1 else (limit.size, *[1] * (rank - 1 - normal_axis(axis, rank)))
    return const(limit.reshape(shape).astype(NUMPY_NAME[dtype_of(numbers)]))


# ---- scales ----


def _are_inverse(inner: OpView, outer: OpView, *, moved: bool) -> bool:
    """Check for equal scales of ordinary size, equal zero points and equal integer types."""
    numbers, scale, zero_point = inner.operation.operands
    dtype, middle = dtype_of(numbers), dtype_of(inner.operation.results[0])
    if dtype != dtype_of(outer.operation.results[0]) or middle not in _SMALLEST:
        return False
    # 255 times the rounding error of one f16 is still less than a half.
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
    """Check whether two values are identical, or constants with equal elements."""
    if one == other:
        return True
    left, right = elements_of(one), elements_of(other)
    return left is not None and right is not None and left.dtype == right.dtype and left.tolist() == right.tolist()


_dequantized = is_op("relax.dequantize")(X, ...).named("inner")
_moves, _limiting = is_op(*sorted(_MOVES)), is_op(_RELU, "relax.clip")
_bounds = is_op("relax.maximum", "relax.minimum")


def _step(x: GraphPattern) -> GraphPattern:
    return (_moves(x, ...) | _limiting(x, ...) | _bounds(x, is_const())).used_once().named("step")


PATTERNS = (rule(is_op("relax.quantize")(_dequantized.repeated(_step), ...), requantize_nothing),)
