# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps between integer sums and their quantization: bias, ReLU, and a single common scale.

(sums * s + b) / t is sums * (s / t) + b / t: the division moves from each result to constants.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import OpView, Value
from ....bindings.navigation import defining_op, use_count
from ....bindings.patterns import Outcome, Pattern, Rewriter
from ....dialects.core.symbols import Dim
from ....dialects.relax import const
from ....dialects.relax.known_constants import CONSTANTS, elements_of, is_constant
from ....dialects.relax.values import dtype_of, make, shape_of, with_dtype
from ..canonicalize.requantization import is_without_effect
from .numbers import Quantized, checked, dequantized, is_zero, made, plus, positive, relax, size_of

#: Relative tolerance: converters derive a bias's scale from the product's scales, sometimes with more digits.
_CLOSE = 1e-5
_VIEWS = ("relax.expand_dims", "relax.reshape")
_LIMITS = ("relax.nn.relu", "relax.clip", "relax.minimum", "relax.maximum")
_STEPS = ("relax.add", *_LIMITS)


def add_whole_bias(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite sums * s + dequantize(bias, s) to (sums + bias) * s."""
    result = op.operation.results[0]
    left, right = op.operation.operands
    for real, bias in ((left, right), (right, left)):
        scaled = defining_op(real, "relax.multiply")
        sums = None if scaled is None else _sums(scaled)
        if scaled is None or sums is None or use_count(real) != 1:
            continue
        scale = scaled.operation.operands[1]
        whole = _whole(bias, scale)
        added = None if whole is None else _add(sums, whole)
        if added is not None:
            return checked("relax.multiply", [relax.astype(added, dtype="f32"), scale], result.type)
    return None


def _add(sums: Value, bias: Value) -> Value | None:
    """Add a bias to the sums. A constant bias is merged with a constant correction."""
    before = defining_op(sums, "relax.add")
    if before is not None and is_constant(before.operation.operands[1]) and is_constant(bias):
        sums, correction = before.operation.operands
        bias = plus(correction, bias)
    return checked("relax.add", [sums, bias], sums.type)


def _sums(scaled: OpView) -> Value | None:
    """Return the i32 tensor that an operation scales, or None."""
    wide = defining_op(scaled.operation.operands[0], "relax.astype")
    sums = None if wide is None else wide.operation.operands[0]
    is_scaled = sums is not None and (dtype_of(sums), dtype_of(scaled.operation.results[0])) == ("i32", "f32")
    return sums if is_scaled else None


def _whole(bias: Value, scale: Value) -> Value | None:
    """Return the integers of a bias with the scale of the sums, or None. A view may append dimensions to the bias."""
    view = defining_op(bias, *_VIEWS)
    found = dequantized(bias if view is None else view.operation.operands[0])
    if found is None or found.dtype != "i32" or not is_zero(found.zero_point) or not _has_scale(found, scale, bias):
        return None
    if view is None:
        return found.numbers
    elements, shape = elements_of(found.numbers), shape_of(bias)
    if elements is not None and shape is not None:
        return const(elements.reshape(shape))
    operands = [found.numbers, *list(view.operation.operands)[1:]]
    attributes = dict(view.operation.attributes.items())
    return made(view.operation.name, operands, with_dtype(bias, "i32"), attributes).results[0]


def _has_scale(bias: Quantized, scale: Value, viewed: Value) -> bool:
    """Check whether a bias has the scale of the sums, along the same axis. `viewed` is the bias as it is added."""
    own, other = elements_of(bias.scale), elements_of(scale)
    if own is None or other is None:
        return False
    if own.size > 1 and other.size > 1:
        axis = _only_axis(shape_of(viewed) or ())
        if own.size != other.size or axis is None or axis != _only_axis(other.shape):
            return False
    import numpy

    return numpy.allclose(own.reshape(-1), other.reshape(-1), rtol=_CLOSE, atol=0)


def _only_axis(shape: Sequence[Dim]) -> int | None:
    """Return the only axis of a size other than 1, counted from the end, or None if none or several exist."""
    axes = [at - len(shape) for at, size in enumerate(shape) if size != 1]
    return axes[0] if len(axes) == 1 else None


def drop_limit(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite quantize(relu(x)) to quantize(x) if the quantize saturates at the same number, or earlier."""
    real, *others = op.operation.operands
    limit = defining_op(real, *_LIMITS)
    if limit is None or use_count(real) != 1 or not _is_known(limit) or not is_without_effect(real, op):
        return None
    (numbers, *_) = (operand for operand in limit.operation.operands if not is_constant(operand))
    return make(op, "relax.quantize", [numbers, *others], dict(op.operation.attributes.items()))


def _is_known(limit: OpView) -> bool:
    """Check whether all operands but the limited numbers are constants."""
    return sum(not is_constant(operand) for operand in limit.operation.operands) == 1


def rescale_once(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite quantize(sums * s + b, t) to quantize(sums * (s / t) + b / t, 1)."""
    real, scale, zero_point = op.operation.operands
    if size_of(scale) != 1 or not positive(scale) or dtype_of(scale) != "f32" or dtype_of(real) != "f32":
        return None
    elements = elements_of(scale)
    smaller = None if elements is None or elements == 1 else _divide(real, scale)
    if smaller is None:
        return None
    import numpy

    one = const(numpy.float32(1))
    return make(op, "relax.quantize", [smaller, one, zero_point], dict(op.operation.attributes.items()))


def _divide(value: Value, scale: Value) -> Value | None:
    """Return the value divided by a scale if only constants need to be divided, else None."""
    if (op := defining_op(value, "relax.multiply", *_STEPS)) is None or use_count(value) != 1:
        return None
    name, (first, *others) = op.operation.name, list(op.operation.operands)
    if name == "relax.multiply":
        quotient = None if _sums(op) is None else _quotient(others[0], scale)
        return None if quotient is None else checked(name, [first, quotient], value.type)
    quotients = [_quotient(each, scale) for each in others]
    smaller = _divide(first, scale) if all(each is not None for each in quotients) else None
    if smaller is None:
        return None
    if name != "relax.clip":
        return checked(name, [smaller, *quotients], value.type)  # type: ignore[list-item]
    low, high = quotients
    return relax.dialect.ops["minimum"](relax.dialect.ops["maximum"](smaller, low), high)


def _quotient(number: Value, scale: Value) -> Value | None:
    """Return a constant divided by a scale, in the constant's shape, or None."""
    import numpy

    elements, divisor = elements_of(number), elements_of(scale)
    if divisor is not None and elements is None and _is_made_of_constants(number):
        return relax.divide(number, const(float(divisor.reshape(())), "f32"))
    if elements is None or divisor is None or elements.dtype != "float32":
        return None
    with numpy.errstate(all="ignore"):
        made_of = elements / divisor.reshape(())
    return const(made_of) if numpy.isfinite(made_of).all() else None


def _is_made_of_constants(value: Value) -> bool:
    """Check whether a value is a compile-time constant, computed already or not."""
    if (op := defining_op(value, "relax.dequantize", *_VIEWS)) is None:
        return defining_op(value, *CONSTANTS, "relax.shape_expr") is not None
    return all(map(_is_made_of_constants, op.operation.operands))


PATTERNS = (
    Pattern("relax.add", add_whole_bias, after=("relax.multiply",)),
    Pattern("relax.quantize", drop_limit, after=_LIMITS),
    Pattern("relax.quantize", rescale_once, after=("relax.multiply", *_STEPS)),
)
