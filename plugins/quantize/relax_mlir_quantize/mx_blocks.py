# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OCP's microscaling formats (MX): blocks along the summed axis, with a power of two as the scale.

The exponent of a scale is that of the block's largest magnitude, less the largest exponent of the numbers. Blocks are
rows of a matrix [blocks, numbers], so that relax.quantize and relax.dequantize take one scale per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.constants import storage_dtype
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.dialects.relax.values import dtype_of, shape_of
from relax_mlir.passes.graph.recipes.operand_types import OperandType
from relax_mlir.passes.patterns.matched import Match

from .runtime_scales import Dynamic

if TYPE_CHECKING:
    from numpy import ndarray

_SCALE = "f8E8M0FNU"
#: Bits of the mantissa of f32, and the code of infinity and NaN in its exponent.
_MANTISSA, _NOT_FINITE = 23, 255
#: The largest code of a finite scale. 2**-127 has the code 0.
_MOST = 254


def summed_axis(reader: Operation, place: int, value: Value) -> int | None:
    """Return the axis of an operand that a product sums, or None for other operators and unknown ranks."""
    shape = shape_of(value)
    if reader.name != "relax.matmul" or not shape:
        return None
    return len(shape) - 1 if place == 0 or len(shape) == 1 else len(shape) - 2


def can_be_in_mx_blocks(match: Match, name: str, type_: OperandType) -> bool:
    """Check whether the readers of an operand sum whole blocks, all along one axis."""
    value = match[name]
    places = [
        (operation, at)
        for operation in match.operations
        for at, operand in enumerate(operation.operands)
        if operand == value
    ]
    axes = {summed_axis(reader, at, value) for reader, at in places}
    axis = axes.pop() if len(axes) == 1 else None
    size = None if axis is None else (shape_of(value) or ())[axis]
    return isinstance(size, int) and size > 0 and size % type_.block == 0


@dataclass(frozen=True, eq=False)
class MxBlocks:
    """Constant operand in MX blocks."""

    type: OperandType
    #: Numbers in the quantized type [blocks, numbers].
    numbers: ndarray
    #: Scales [blocks], in f8E8M0FNU.
    scale: ndarray
    axis: int
    shape: tuple[int, ...]

    def rounded(self) -> ndarray:
        """Return the real numbers of the operand."""
        import numpy

        real = self.numbers.astype(numpy.float32) * self.scale.astype(numpy.float32)[:, None]
        moved = [size for at, size in enumerate(self.shape) if at != self.axis]
        return numpy.ascontiguousarray(numpy.moveaxis(real.reshape(*moved, self.shape[self.axis]), -1, self.axis))


def in_mx_blocks(array: ndarray, type_: OperandType, axis: int) -> MxBlocks:
    """Return a constant operand in MX blocks along an axis."""
    import numpy

    rows = numpy.moveaxis(array.astype(numpy.float32), axis, -1).reshape(-1, type_.block)
    codes = (abs(rows).max(1).view(numpy.int32) >> _MANTISSA) - type_.mx_exponent
    scale = codes.clip(0, _MOST).astype(numpy.uint8).view(storage_dtype(_SCALE))
    least, most = type_.limits
    quotient = rows / scale.astype(numpy.float32)[:, None]
    numbers = (quotient if type_.is_float else numpy.rint(quotient)).clip(least, most)
    return MxBlocks(type_, numbers.astype(storage_dtype(type_.dtype)), scale, axis, array.shape)


def insert_constant(blocks: MxBlocks, reader: Operation, place: int) -> None:
    """Let an operation read a constant in MX blocks."""
    value = reader.operands[place]
    with value.owner.location, ir.InsertionPoint(reader):
        dynamic = Dynamic(const(blocks.numbers), const(blocks.scale), const(0, blocks.type.dtype))
        reader.operands[place] = _restore(dynamic, value, blocks.axis)


def insert_at_run_time(value: Value, type_: OperandType, reader: Operation, place: int) -> None:
    """Let an operation read a tensor that is computed at run time in MX blocks."""
    axis = summed_axis(reader, place, value)
    assert axis is not None, "placement refuses others"
    with reader.location, ir.InsertionPoint(reader):
        rows = relax.reshape(_move_axis(value, axis, -1), [-1, type_.block])
        scale, zero_point = _scale(rows, type_), const(0, type_.dtype)
        numbers = relax.quantize(rows, scale, zero_point, axis=0, out_dtype=type_.dtype)
        reader.operands[place] = _restore(Dynamic(numbers, scale, zero_point), value, axis)


def _scale(rows: Value, type_: OperandType) -> Value:
    """Return the scale of each row. Rows with NaN or infinite numbers have the scale NaN."""
    most = relax.astype(relax.max(relax.abs(rows), axis=[1]), dtype="f32")
    exponent = relax.right_shift(relax.bitcast(most, dtype="i32"), const(_MANTISSA, "i32"))
    code = relax.clip(relax.subtract(exponent, const(type_.mx_exponent, "i32")), 0, _MOST)
    code = relax.where(relax.equal(exponent, const(_NOT_FINITE, "i32")), const(_NOT_FINITE, "i32"), code)
    return relax.bitcast(relax.astype(code, dtype="ui8"), dtype=_SCALE)


def _restore(dynamic: Dynamic, like: Value, axis: int) -> Value:
    """Return the real numbers of blocks in the shape of an operand."""
    real = relax.dequantize(*dynamic, axis=0, out_dtype=dtype_of(like))
    if is_constant(like):
        sizes = [size for size in shape_of(like) or () if isinstance(size, int)]
        sizes.append(sizes.pop(axis))
        return _move_axis(relax.reshape(real, sizes), -1, axis)
    return _move_axis(relax.reshape(real, relax.shape_of(_move_axis(like, axis, -1))), -1, axis)


def _move_axis(value: Value, start: int, end: int) -> Value:
    """Move an axis of a tensor to another place."""
    order = list(range(len(shape_of(value) or ())))
    order.insert(end % len(order), order.pop(start))
    return value if order == sorted(order) else relax.permute_dims(value, axes=order)
