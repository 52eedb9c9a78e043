# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations of elementwise operators: integers, and float operations that IEEE 754 rounds correctly.

exp, sin and the like differ between libraries and are left to the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from ....dialects.relax.known_constants import NUMPY_NAME
from .. import ratios
from ..elements import NotKnown, alike, applied, is_symbolic, numbers
from ..ratios import Ratio
from ..registry import EvaluationCall, register_evaluation

if TYPE_CHECKING:
    from numpy import dtype, ndarray

Rule = Callable[..., object]
# Check of arrays that raises NotKnown if NumPy's function differs from the program's.
Check = Callable[..., None]


def _anything(*arrays: ndarray) -> None:
    """Accept all arrays."""


def _require(condition: object) -> None:
    if not condition:
        raise NotKnown


def _integers(*arrays: ndarray) -> None:
    _require(arrays[0].dtype.kind != "f")


def _divisible(left: ndarray, right: ndarray) -> None:
    """Require divisors other than zero, and no division of the smallest integer by -1."""
    import numpy

    _integers(left)
    _require((right != 0).all())
    if left.dtype.kind == "i":
        _require(not ((left == numpy.iinfo(left.dtype).min) & (right == -1)).any())


def _comparable(left: ndarray, right: ndarray) -> None:
    """Require an order: for NaN, and for zeros with different signs, the larger operand is undefined."""
    import numpy

    if left.dtype.kind == "f":
        zeros = (left == 0) & (right == 0) & (numpy.signbit(left) != numpy.signbit(right))
        _require(not (zeros.any() or numpy.isnan(left).any() or numpy.isnan(right).any()))


def _shiftable(left: ndarray, right: ndarray) -> None:
    _require(((right >= 0) & (right < left.dtype.itemsize * 8)).all())


def elementwise(name: str, of_objects: Rule | None = None, *, only: Check = _anything) -> Rule:
    """Return a rule that calls the NumPy function `name`, or `of_objects` on single elements if some are symbols."""

    def rule(call: EvaluationCall, *arrays: ndarray) -> ndarray:
        import numpy

        if not any(map(is_symbolic, arrays)):
            only(*arrays)
            return getattr(numpy, name)(*arrays)
        _require(of_objects)
        found = applied(of_objects, *arrays)  # type: ignore[arg-type]
        return found if call.result.dtype != "i1" else numpy.asarray(found, bool)

    return rule


_TABLE: dict[str, Rule] = {
    **{name: elementwise(name) for name in "square logical_and logical_or logical_xor logical_not bitwise_and "
       "bitwise_or bitwise_xor isnan isinf isfinite trunc sqrt".split()},
    "bitwise_not": elementwise("invert"),
    "left_shift": elementwise("left_shift", only=_shiftable),
    "right_shift": elementwise("right_shift", only=_shiftable),
    "sign": elementwise("sign", only=_integers),
    "add": elementwise("add", operator.add),
    "subtract": elementwise("subtract", operator.sub),
    "multiply": elementwise("multiply", operator.mul),
    "negative": elementwise("negative", operator.neg),
    "abs": elementwise("absolute", ratios.absolute),
    "floor": elementwise("floor", Ratio.floor),
    "ceil": elementwise("ceil", Ratio.ceil),
    "maximum": elementwise("maximum", ratios.larger, only=_comparable),
    "minimum": elementwise("minimum", ratios.smaller, only=_comparable),
    "floor_divide": elementwise("floor_divide", ratios.floor_divided, only=_divisible),
    "floor_mod": elementwise("remainder", ratios.remainder, only=_divisible),
    "mod": elementwise("fmod", ratios.cut_remainder, only=_divisible),
    "equal": elementwise("equal", ratios.is_same),
    "not_equal": elementwise("not_equal", lambda left, right: not ratios.is_same(left, right)),
    "greater": elementwise("greater", ratios.is_larger),
    "greater_equal": elementwise("greater_equal", lambda left, right: not ratios.is_larger(right, left)),
    "less": elementwise("less", lambda left, right: ratios.is_larger(right, left)),
    "less_equal": elementwise("less_equal", lambda left, right: not ratios.is_larger(left, right)),
}  # fmt: skip

for _name, _rule in _TABLE.items():
    register_evaluation(f"relax.{_name}", symbols=True)(_rule)


@register_evaluation("relax.divide", symbols=True)
def divide(call: EvaluationCall, left: ndarray, right: ndarray) -> ndarray:
    import numpy

    if is_symbolic(left) or is_symbolic(right):
        return applied(ratios.divided, left, right)
    if left.dtype.kind == "f":
        return left / right
    _divisible(left, right)
    quotient, rest = left // right, left % right
    # NumPy rounds down. Truncation adds one if the signs differ and there is a remainder.
    return quotient + ((rest != 0) & ((left < 0) != (right < 0))).astype(numpy.asarray(left).dtype)


@register_evaluation("relax.round")
def round_(call: EvaluationCall, array: ndarray) -> ndarray:
    import numpy

    return numpy.rint(array) if array.dtype.kind == "f" else array


@register_evaluation("relax.clip", symbols=True)
def clip(call: EvaluationCall, x: ndarray, low: ndarray, high: ndarray) -> ndarray:
    import numpy

    for bound in (low, high):
        _require(numbers(bound).dtype.kind != "f" and call.result.dtype != "i1")
    if is_symbolic(x):
        return applied(ratios.smaller, applied(ratios.larger, x, low), high)
    _integers(x)
    limits = numpy.iinfo(x.dtype)
    _require(all(limits.min <= bound <= limits.max for bound in (low, high)))
    return numpy.minimum(numpy.maximum(x, low.astype(x.dtype)), high.astype(x.dtype))


@register_evaluation("relax.where", symbols=True)
def where(call: EvaluationCall, condition: ndarray, x1: ndarray, x2: ndarray) -> ndarray:
    import numpy

    return numpy.where(numbers(condition), *alike([x1, x2]))


@register_evaluation("relax.astype", symbols=True)
def astype(call: EvaluationCall, array: ndarray) -> ndarray:
    import numpy

    target = _target(call)
    if is_symbolic(array):
        if target.kind == "b":
            return applied(lambda each: not ratios.is_same(each, 0), array).astype(bool)
        return applied(ratios.as_ratio if target.kind == "f" else ratios.truncated, array)
    if array.dtype.kind == "f" and target.kind in "iu":
        whole = numpy.trunc(array.astype(numpy.float64))
        # 2**63 - 1 is no float, so the upper bound is the power of two.
        limits = numpy.iinfo(target)
        high = float(limits.max) + (1 if target.itemsize < 8 else 0)
        _require(((whole >= float(limits.min)) & (whole < high)).all())
    return array.astype(target)


@register_evaluation("relax.bitcast")
def bitcast(call: EvaluationCall, array: ndarray) -> ndarray:
    import numpy

    target = _target(call)
    # A boolean occupies a byte, of which the program defines one bit.
    _require(call.x.dtype in NUMPY_NAME and "b" not in (array.dtype.kind, target.kind))
    return numpy.ascontiguousarray(array).view(target).reshape(array.shape)


def _target(call: EvaluationCall) -> dtype:
    """Return NumPy's type of the result's elements. Raise NotKnown if there is none."""
    import numpy

    name = NUMPY_NAME.get(call.result.dtype)
    _require(name)
    return numpy.dtype(name)


# ---- quantized numbers ----


@register_evaluation("relax.dequantize")
def dequantize(call: EvaluationCall, array: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray:
    import numpy

    _integers(array)
    _integers(zero_point)
    wide = numpy.int32 if max(array.dtype.itemsize, zero_point.dtype.itemsize) <= 2 else numpy.int64
    scale, zero_point = (_put_along(call, each, array.ndim) for each in (scale, zero_point))
    difference = (array.astype(wide) - zero_point.astype(wide)).astype(numpy.float32)
    difference *= scale.astype(numpy.float32)
    return difference.astype(_target(call), copy=False)


@register_evaluation("relax.quantize")
def quantize(call: EvaluationCall, array: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray:
    import numpy

    target = _target(call)
    _require(target.kind in "iu" and zero_point.dtype.itemsize <= 2)
    scale, zero_point = (_put_along(call, each, array.ndim).astype(numpy.float32) for each in (scale, zero_point))
    whole = numpy.rint(array.astype(numpy.float32) / scale) + zero_point
    limits = numpy.iinfo(target)
    return numpy.nan_to_num(numpy.clip(whole, limits.min, limits.max)).astype(target)


def _put_along(call: EvaluationCall, values: ndarray, rank: int) -> ndarray:
    """Reshape values to broadcast: one value for all, or one per position along the axis."""
    shape = [1] * rank
    if values.size != 1:
        shape[call.axis % rank] = values.size
    return values.reshape(shape)
