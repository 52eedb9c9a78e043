# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is done with sums of whole numbers before they are quantized again: a bias, a ReLU, one scale for all of it.

(sums * s + b) / t is sums * (s / t) + b / t: what divides each result otherwise divides constants.
"""

from __future__ import annotations

from ...bindings.ir import OpView, Value
from ...bindings.navigation import defining_op, use_count
from ...bindings.patterns import Outcome, Pattern, Rewriter
from ...dialects.relax import const
from ...dialects.relax.known_constants import CONSTANTS, elements_of, is_constant
from ...dialects.relax.values import dtype_of, make, shape_of, with_dtype
from .numbers import Quantized, checked, dequantized, is_zero, made, plus, positive, relax, size_of

#: Scales of a bias are what a converter has made of those of the product, maybe with more digits.
_CLOSE = 1e-5
_VIEWS = ("relax.expand_dims", "relax.reshape")
_STEPS = ("relax.add", "relax.nn.relu", "relax.clip", "relax.minimum", "relax.maximum")


def add_whole_bias(op: OpView, rewriter: Rewriter) -> Outcome:
    """sums * s + dequantize(bias, s) is (sums + bias) * s."""
    result = op.operation.results[0]
    left, right = op.operation.operands
    for real, bias in ((left, right), (right, left)):
        scaled = defining_op(real, "relax.multiply")
        sums = None if scaled is None else _sums(scaled)
        if scaled is None or sums is None or use_count(real) != 1:
            continue
        scale = scaled.operation.operands[1]
        whole = _whole(bias, scale)
        added = None if whole is None else _added(sums, whole)
        if added is not None:
            return checked("relax.multiply", [relax.astype(added, dtype="f32"), scale], result.type)
    return None


def _added(sums: Value, bias: Value) -> Value | None:
    """Corrections and a bias are one addition where both are constants."""
    before = defining_op(sums, "relax.add")
    if before is not None and is_constant(before.operation.operands[1]) and is_constant(bias):
        sums, correction = before.operation.operands
        bias = plus(correction, bias)
    return checked("relax.add", [sums, bias], sums.type)


def _sums(scaled: OpView) -> Value | None:
    """What is scaled, where that is a tensor of i32."""
    wide = defining_op(scaled.operation.operands[0], "relax.astype")
    sums = None if wide is None else wide.operation.operands[0]
    is_scaled = sums is not None and (dtype_of(sums), dtype_of(scaled.operation.results[0])) == ("i32", "f32")
    return sums if is_scaled else None


def _whole(bias: Value, scale: Value) -> Value | None:
    """The whole numbers of a bias that has the scale of the sums; a view may give it dimensions behind."""
    view = defining_op(bias, *_VIEWS)
    found = dequantized(bias if view is None else view.operation.operands[0])
    if found is None or found.dtype != "i32" or not is_zero(found.zero_point) or not _has_scale(found, scale):
        return None
    if view is None:
        return found.numbers
    elements, shape = elements_of(found.numbers), shape_of(bias)
    if elements is not None and shape is not None:
        return const(elements.reshape(shape))
    operands = [found.numbers, *list(view.operation.operands)[1:]]
    attributes = dict(view.operation.attributes.items())
    return made(view.operation.name, operands, with_dtype(bias, "i32"), attributes).results[0]


def _has_scale(bias: Quantized, scale: Value) -> bool:
    own, other = elements_of(bias.scale), elements_of(scale)
    if own is None or other is None or (own.size != other.size and 1 not in (own.size, other.size)):
        return False
    import numpy

    return numpy.allclose(own.reshape(-1), other.reshape(-1), rtol=_CLOSE, atol=0)


def rescale_once(op: OpView, rewriter: Rewriter) -> Outcome:
    """quantize(sums * s + b, t) is quantize(sums * (s / t) + b / t, 1)."""
    real, scale, zero_point = op.operation.operands
    if size_of(scale) != 1 or not positive(scale) or dtype_of(scale) != "f32" or dtype_of(real) != "f32":
        return None
    elements = elements_of(scale)
    smaller = None if elements is None or elements == 1 else _over(real, scale)
    if smaller is None:
        return None
    import numpy

    one = const(numpy.float32(1))
    return make(op, "relax.quantize", [smaller, one, zero_point], dict(op.operation.attributes.items()))


def _over(value: Value, scale: Value) -> Value | None:
    """The value over a scale, where that divides constants only."""
    op = defining_op(value, "relax.multiply", *_STEPS)
    if op is None or use_count(value) != 1:
        return None
    name, (first, *others) = op.operation.name, list(op.operation.operands)
    if name == "relax.multiply":
        quotient = None if _sums(op) is None else _quotient(others[0], scale)
        return None if quotient is None else checked(name, [first, quotient], value.type)
    quotients = [_quotient(each, scale) for each in others]
    smaller = _over(first, scale) if all(each is not None for each in quotients) else None
    if smaller is None:
        return None
    if name != "relax.clip":
        return checked(name, [smaller, *quotients], value.type)  # type: ignore[list-item]
    low, high = quotients
    return relax.dialect.ops["minimum"](relax.dialect.ops["maximum"](smaller, low), high)


def _quotient(number: Value, scale: Value) -> Value | None:
    """A constant over a scale, of the constant's shape."""
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
    """Whether it is a compile-time constant, maybe not computed yet."""
    op = defining_op(value, "relax.dequantize", *_VIEWS)
    if op is None:
        return defining_op(value, *CONSTANTS, "relax.shape_expr") is not None
    return all(map(_is_made_of_constants, op.operation.operands))


PATTERNS = (
    Pattern("relax.add", add_whole_bias, after=("relax.multiply",)),
    Pattern("relax.quantize", rescale_once, after=("relax.multiply", *_STEPS)),
)
