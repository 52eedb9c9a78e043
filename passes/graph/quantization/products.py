# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and convolutions of quantized numbers: integer sums in i32, and corrections for zero points.

The sum of (a - p) * (b - q) is the sum of a * b with two corrections. One is -q times the sum of a, the other -p times
the sum of b - q. For weights, the last sum is a constant. The products themselves read the bytes as they are in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....bindings.ir import OpView, Value
from ....bindings.mlir import ir
from ....bindings.navigation import defining_op
from ....bindings.patterns import Outcome, Pattern, Rewriter
from ....dialects.core.codec import encode
from ....dialects.core.infos import TensorInfo, is_int
from ....dialects.core.verifier import call_of
from ....dialects.relax import const
from ....dialects.relax.infer.einsum import parse_subscripts
from ....dialects.relax.infer.windows import windows_of
from ....dialects.relax.known_constants import elements_of
from ....dialects.relax.values import dtype_of, ints, shape_of, with_dtype
from ..scales.weights import CONVOLUTIONS, channel_axes
from .numbers import (
    TO_UNSIGNED,
    Quantized,
    as_i32,
    checked,
    dequantized,
    dtype_attribute,
    is_byte,
    is_zero,
    known,
    made,
    number,
    relax,
    single,
    spread,
    times,
)
from .signs import unsigned

if TYPE_CHECKING:
    from numpy import ndarray

PRODUCTS = ("relax.matmul", *CONVOLUTIONS)
_REAL = ("f16", "bf16", "f32")
#: Largest number of byte products with a sum that fits into 32 bits.
_MOST_SUMMED = (2**31 - 1) // (255 * 255)
#: Number of adjacent products that byte instructions sum.
_AT_A_TIME = 4
_BYTE = range(-128, 128)


class Shifted(NamedTuple):
    """Integers less a zero point. The zero point broadcasts to them. None is 0."""

    numbers: Value
    zero_point: Value | None = None


class Axes(NamedTuple):
    """Axes of an operand: its own channels (rows, columns), their axis in the result, and the summed axes."""

    own: int | None
    result: int
    summed: tuple[int, ...]


def rescale_behind(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite dequantize(a) * dequantize(b) to a * b in i32, times both scales."""
    left, right = map(dequantized, op.operation.operands)
    result = op.operation.results[0]
    if left is None or right is None or dtype_of(result) not in _REAL:
        return None
    axes = _axes(op)
    if axes is None or _may_overflow(right.numbers, axes[1]) or _may_overflow(left.numbers, axes[0]):
        return None
    sides = (left, right)
    if not all(map(_fits, sides, axes)):
        return None
    if (sums := _sums(op, _shift_operand(left, axes[0]), _shift_operand(right, axes[1]), axes)) is None:
        return None
    rank = len(shape_of(result) or ())
    scale = times(*(spread(side.scale, own.result, rank) for side, own in zip(sides, axes, strict=True)))
    real = relax.astype(sums, dtype="f32")
    if dtype_of(result) == "f32":
        return checked("relax.multiply", [real, scale], result.type)
    scaled = checked("relax.multiply", [real, relax.astype(scale, dtype="f32")], with_dtype(result, "f32"))
    return None if scaled is None else relax.astype(scaled, dtype=dtype_of(result))


def correct_behind(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite (a - p) * (b - q) to a * b in i32 plus the corrections for p and q."""
    if dtype_of(op.operation.results[0]) != "i32":
        return None
    left, right = map(_match_subtraction, op.operation.operands)
    axes = _axes(op)
    if axes is None or left is None or right is None or left.zero_point is right.zero_point is None:
        return None
    if not (_is_one_along(left, axes[0]) and _is_one_along(right, axes[1])):
        return None
    return _sums(op, left, right, axes)


def as_matmul(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite an einsum that multiplies by transposed weights to a matmul, because einsum has no other sum type."""
    subscripts = parse_subscripts(op.subscripts)
    if len(subscripts.operands) != 2:
        return None
    left, right = subscripts.operands
    if len(right) != 2 or len(left) < 2 or right[1] != left[-1] or subscripts.result != (*left[:-1], right[0]):
        return None
    data, weight = op.operation.operands
    product = relax.matmul(data, relax.permute_dims(weight, axes=[1, 0]))
    return product if product.type == op.operation.results[0].type and len(set(left + right)) == len(left) + 1 else None


#: Patterns for real numbers, and for integers less their zero points.
OF_DEQUANTIZED = (
    Pattern("relax.einsum", as_matmul, only_after=("relax.dequantize",)),
    Pattern(PRODUCTS, rescale_behind, only_after=("relax.dequantize",)),
)
OF_INTEGERS = (Pattern(PRODUCTS, correct_behind, after=("relax.subtract",)),)


# ---- operands ----


def _axes(op: OpView) -> tuple[Axes, Axes] | None:
    shapes = [shape_of(value) for value in (*op.operation.operands, op.operation.results[0])]
    if any(shape is None for shape in shapes):
        return None
    left, right, result = (len(shape or ()) for shape in shapes)
    if op.operation.name == "relax.matmul":
        if min(left, right) < 2:
            return None
        return Axes(left - 2, result - 2, (left - 1,)), Axes(right - 1, result - 1, (right - 2,))
    if (found := channel_axes(op)) is None:
        return None
    _, channels, (outputs, *others) = found
    return Axes(None, channels, ()), Axes(outputs, channels, tuple(sorted(others)))


def _may_overflow(numbers: Value, axes: Axes) -> bool:
    """Check whether sums of products may overflow 32 bits."""
    shape, count = shape_of(numbers) or (), 1
    for axis in axes.summed:
        size = shape[axis]
        count *= size if isinstance(size, int) else 1
    return count > _MOST_SUMMED


def _fits(side: Quantized, axes: Axes) -> bool:
    """Check whether bytes have one scale, or one per position of an axis that the result has, too."""
    if not is_byte(side.dtype) or not is_int(dtype_of(side.zero_point)) or dtype_of(side.scale) != "f32":
        return False
    if side.is_single:
        return True
    rank = len(shape_of(side.numbers) or ())
    return axes.own is not None and side.axis(rank) == axes.own


def _shift_operand(side: Quantized, axes: Axes) -> Shifted:
    if is_zero(side.zero_point):
        return Shifted(side.numbers)
    rank = len(shape_of(side.numbers) or ())
    zero = as_i32(side.zero_point)
    return Shifted(side.numbers, zero if axes.own is None else spread(zero, axes.own, rank))


def _match_subtraction(value: Value) -> Shifted | None:
    """Return the operand as bytes, or as bytes cast to i32 less a zero point. None for anything else."""
    if is_byte(dtype_of(value)):
        return Shifted(value)
    op = defining_op(value, "relax.subtract")
    inner = None if op is None else defining_op(op.operation.operands[0], "relax.astype")
    if op is None or inner is None or dtype_of(value) != "i32" or not is_byte(dtype_of(inner.operation.operands[0])):
        return None
    numbers = inner.operation.operands[0]
    return Shifted(numbers, op.operation.operands[1]) if numbers.type.shape == value.type.shape else None


def _is_one_along(side: Shifted, axes: Axes) -> bool:
    """Check whether the zero point is constant along all summed axes and batches."""
    if side.zero_point is None:
        return True
    rank, shape = len(shape_of(side.numbers) or ()), shape_of(side.zero_point)
    if shape is None:
        return False
    behind = rank - len(shape)
    return all(size == 1 or axis + behind == axes.own for axis, size in enumerate(shape))


# ---- sums ----


def _sums(op: OpView, left: Shifted, right: Shifted, axes: tuple[Axes, Axes]) -> Value | None:
    left, right = _make_unsigned(_make_signed(left)), _make_signed(right)
    if op.operation.name != "relax.matmul":
        if not _is_summed_once(op):
            right = _subtract_from_weights(right)
        if right.zero_point is not None and known(right.zero_point) is None:
            return None
        return _convolve_integers(op, left, right, axes[1])
    type_ = with_dtype(op.operation.results[0], "i32")
    sums: Value | None = _again(op, left.numbers, right.numbers, {})
    for one, other, own in ((right, Shifted(left.numbers), axes[0]), (left, right, axes[1])):
        if one.zero_point is not None and sums is not None:
            summed = _sum_operand(other, own, keepdims=True)
            sums = checked("relax.add", [sums, _negative_product(summed, one.zero_point)], type_)
    return sums


def _again(op: OpView, left: Value, right: Value, changes: dict[str, ir.Attribute]) -> Value:
    operation = op.operation
    result = operation.results[0]
    attributes = {**dict(operation.attributes.items()), "out_dtype": dtype_attribute("i32", result), **changes}
    return made(operation.name, [_bytes(left), _bytes(right)], with_dtype(result, "i32"), attributes).results[0]


def _bytes(numbers: Value) -> Value:
    """Widen integers of fewer bits to bytes."""
    return numbers if dtype_of(numbers) in ("i8", "ui8", "i16") else relax.astype(numbers, dtype="i8")


def _negative_product(sums: Value, zero_point: Value) -> Value:
    one, other = elements_of(sums), elements_of(zero_point)
    if other is None:
        return relax.negative(relax.multiply(sums, zero_point))
    if one is None:
        return relax.multiply(sums, _constant(-other, "int32"))
    return _constant(-(one.astype("int64") * other), "int32")


def _sum_operand(side: Shifted, axes: Axes, *, keepdims: bool) -> Value:
    elements = known(side.numbers)
    zero = None if side.zero_point is None else known(side.zero_point)
    if elements is not None and (side.zero_point is None or zero is not None):
        whole = elements if zero is None else elements.astype("int32") - zero
        return _constant(whole.sum(axes.summed, "int32", keepdims=keepdims), "int32")
    numbers = as_i32(side.numbers)
    if side.zero_point is not None:
        numbers = relax.subtract(numbers, side.zero_point)
    return relax.sum(numbers, axis=list(axes.summed), keepdims=keepdims)


def _make_signed(side: Shifted) -> Shifted:
    """Return constant weights as signed bytes, without a zero point if possible."""
    elements = known(side.numbers)
    zero = None if side.zero_point is None else known(side.zero_point)
    if elements is None or (side.zero_point is not None and zero is None) or elements.dtype.itemsize != 1:
        return side
    if zero is None and elements.dtype == "int8":
        return side
    whole = elements.astype("int32") - (0 if zero is None else zero)
    if whole.size == 0 or (whole.min() in _BYTE and whole.max() in _BYTE):
        return Shifted(_constant(whole, "int8"))
    if elements.dtype != "uint8":
        return side
    shifted = (0 if zero is None else zero) - TO_UNSIGNED
    return Shifted(_constant(elements.astype("int32") - TO_UNSIGNED, "int8"), _constant(shifted, "int32"))


def _constant(array: ndarray | int, dtype: str) -> Value:
    import numpy

    return const(numpy.asarray(array).astype(dtype))


def _make_unsigned(side: Shifted) -> Shifted:
    """Return data as unsigned bytes if its zero point needs a correction anyway. For results of ReLU it becomes 0."""
    zero = None if side.zero_point is None else single(side.zero_point)
    numbers = unsigned(side.numbers) if zero is not None else None
    if zero is None or numbers is None:
        return side
    zero += TO_UNSIGNED
    return Shifted(numbers, number(zero, "i32") if zero else None)


# ---- convolutions ----


def _subtract_from_weights(side: Shifted) -> Shifted:
    """Return weights less their zero point as 16-bit integers.

    The alternative, sums of data under windows, would cost as much as the rest of the convolution.
    """
    elements = known(side.numbers)
    zero = None if side.zero_point is None else known(side.zero_point)
    if elements is None or zero is None:
        return side
    return Shifted(_constant(elements.astype("int32") - zero, "int16"))


def _is_summed_once(op: OpView) -> bool:
    """Check whether all output channels have the same windows. Their sums then cost as much as one channel."""
    return op.operation.name in ("relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d") and op.groups == 1


def _pad_to_fours(op: OpView, data: Shifted, weights: Shifted) -> tuple[Shifted, Shifted]:
    """Pad the input channels of data and weights with zeros to four, because four bytes are multiplied at a time.

    An image has three channels.
    """
    elements, found = known(weights.numbers), channel_axes(op)
    shape = shape_of(data.numbers)
    if elements is None or found is None or shape is None or op.groups > 1:
        return data, weights
    channels, _, (_, inputs, *_) = found
    missing = -elements.shape[inputs] % _AT_A_TIME
    if not 0 < missing < _AT_A_TIME - 1 or shape[channels] != elements.shape[inputs]:
        return data, weights
    import numpy

    behind = [(0, missing if axis == inputs else 0) for axis in range(elements.ndim)]
    pads = [each for axis in range(len(shape)) for each in (0, missing if axis == channels else 0)]
    wider = relax.nn.pad(data.numbers, pad_width=pads)
    return data._replace(numbers=wider), weights._replace(numbers=const(numpy.pad(elements, behind)))


def _pad_data(op: OpView, data: Shifted) -> Value | None:
    """Pad the data with its zero point, the quantized 0, if the convolution pads. None if the zero point is unknown."""
    if data.zero_point is None or not any(op.padding):
        return data.numbers
    if (zero := single(data.zero_point)) is None:
        return None
    windows = windows_of(call_of(op.definition, op.operation))
    found = [windows.get(letter) for letter in op.data_layout]
    pads = [width for each in found for width in ((0, 0) if each is None else (each.before, each.after))]
    return relax.nn.pad(data.numbers, pad_width=pads, pad_value=float(zero))


def _convolve_integers(op: OpView, left: Shifted, right: Shifted, axes: Axes) -> Value | None:
    data, weights = _pad_to_fours(op, left, right)
    if (padded := _pad_data(op, data)) is None:
        return None
    padding = {} if left.zero_point is None else {"padding": ints([0] * len(op.padding))}
    sums: Value | None = _again(op, padded, weights.numbers, padding)
    result = op.operation.results[0]
    rank, type_ = len(shape_of(result) or ()), with_dtype(result, "i32")
    if right.zero_point is not None:
        # The border of padding channels has the zero point as well, so these channels are not summed.
        own = padded if data is left else _pad_data(op, left)
        under = None if own is None else _sum_windows(op, own, right.numbers, padding)
        less = None if under is None else _negative_product(under, _reshape_along(right.zero_point, axes, rank))
        sums = None if less is None or sums is None else checked("relax.add", [sums, less], type_)
    if left.zero_point is None or sums is None:
        return sums
    by_channel = spread(_sum_operand(right, axes, keepdims=False), axes.result, rank)
    return checked("relax.add", [sums, _negative_product(by_channel, left.zero_point)], type_)


def _reshape_along(zero_point: Value, axes: Axes, rank: int) -> Value:
    """Reshape the weights' constant zero points to the channel axis of the result."""
    elements = known(zero_point)
    assert elements is not None
    flat = _constant(elements.reshape(-1), "int32")
    return _constant(elements.reshape(()), "int32") if elements.size == 1 else spread(flat, axes.result, rank)


def _sum_windows(op: OpView, data: Value, weights: Value, padding: dict[str, ir.Attribute]) -> Value | None:
    """Return the sums of the data under each window: first over channels, then within the window."""
    found, elements = channel_axes(op), known(weights)
    if found is None or elements is None:
        return None
    channels, place, (outputs, inputs, *_) = found
    import numpy

    added = relax.sum(as_i32(data), axis=[channels], keepdims=True)
    windows = [1 if axis in (outputs, inputs) else size for axis, size in enumerate(elements.shape)]
    ones = numpy.ones(windows, "int32")
    operation, result = op.operation, op.operation.results[0]
    attributes = {**dict(operation.attributes.items()), "out_dtype": dtype_attribute("i32", result), **padding}
    sizes = tuple(1 if axis == place else size for axis, size in enumerate(shape_of(result) or ()))
    type_ = encode(TensorInfo(sizes, "i32"), result.context)
    return made(operation.name, [added, const(ones)], type_, attributes).results[0]
