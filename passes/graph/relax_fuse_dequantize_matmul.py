# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fusion of products with matrices that are dequantized block by block: relax.matmul_nbits reads the codes.

Exporters write weights of 2 to 8 bits as matmul(x, (codes - zero points) * scales), with a scale repeated for each
element of its block. As numbers the weights would take up to eight times the memory, in each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Operation, OpView, Value
from ...bindings.patterns import apply_greedy
from ...dialects import relax
from ...dialects.core.infos import bit_width, is_int, is_unsigned
from ...dialects.relax import const
from ...dialects.relax.constants import array_of_attribute
from ...dialects.relax.nbits import REALS, WIDTHS, WORD
from ...dialects.relax.values import dtype_of, result_type, shape_of, stated
from ..core.base import Pass
from ..core.registry import register_pass
from ..patterns.matched import Match
from ..patterns.operator_patterns import is_op
from ..patterns.tree import GraphPattern, is_const, wildcard
from .canonicalize.data_movement import permutation
from .canonicalize.rules import rule
from .quantization.kept import multiplies_quantized

if TYPE_CHECKING:
    from numpy import ndarray


@register_pass
@dataclass(frozen=True)
class FuseDequantizeMatmul(Pass):
    """Fuse the dequantization of matrices by blocks into their products."""

    name: ClassVar[str] = "relax-fuse-dequantize-matmul"
    anchor: ClassVar[str] = "any"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith",)

    #: Fuse weights with scales per column or tensor, too, which helps if memory bandwidth is the limit.
    columns: bool = False
    #: Keep products with dequantized numbers that may become integer products.
    keep_quantized: bool = False

    def run(self, op: Operation) -> None:
        product = _OF_COLUMNS.where(_is_of_real_numbers) if self.keep_quantized else _OF_COLUMNS
        of_columns = [rule(product, _fuse_columns)] if self.columns else []
        apply_greedy(op, [rule(_OF_BLOCKS, _fuse), *of_columns], what=self.name)


def _cast(pattern: GraphPattern) -> GraphPattern:
    return pattern.optional(lambda inner: is_op("relax.astype")(inner))


def _constant(name: str) -> GraphPattern:
    """Match a constant. Constants of unsigned integers are operations of relax."""
    return (is_const() | is_op("relax.constant")).named(name)


def _spread(name: str) -> GraphPattern:
    """Match a number repeated for each element of its block. A slice cuts off what the last block has too much."""
    repeated = is_op("relax.repeat")(_constant(name)).named(f"{name}_repeated")
    return _cast(repeated.optional(lambda whole: is_op("relax.strided_slice")(whole).named(f"{name}_cut")))


_CODES = is_op("relax.astype")(_constant("codes"))
_DIFFERENCE = is_op("relax.subtract")(_CODES, _spread("zero_point")) | _CODES
_NUMBERS = _cast(is_op("relax.multiply")(_DIFFERENCE, _spread("scale")).named("numbers"))
_DEQUANTIZED = is_op("relax.dequantize")(*map(_constant, ("codes", "scale", "zero_point"))).named("numbers")


def _product(numbers: GraphPattern) -> GraphPattern:
    matrix = numbers | is_op("relax.permute_dims")(numbers).named("permuted")
    x = wildcard().named("x")
    return is_op("relax.matmul")(x, matrix) | is_op("relax.einsum")([x, matrix])


_OF_BLOCKS, _OF_COLUMNS = _product(_NUMBERS), _product(_cast(_DEQUANTIZED))


def _is_of_real_numbers(match: Match) -> bool:
    return not multiplies_quantized(match.op().operation)


def _fuse(match: Match) -> Value | None:
    axis, bits = _depth_axis(match), bit_width(dtype_of(match["codes"]))
    if axis is None or not _has_types(match, bits):
        return None
    if not (block := _block(match, axis)) or block * bits % (8 * WORD):
        return None
    codes, scale = (_columns(match[name], axis) for name in ("codes", "scale"))
    packed = packed_codes(_to_unsigned(codes, match["codes"]), bits, block)
    operands = match["x"], const(packed), const(scale), _zero_points(match, axis, scale.shape)
    return stated(relax.matmul_nbits(*operands, None, bits=bits, block_size=block), result_type(match.op()))


def _fuse_columns(match: Match) -> Value | None:
    """Fuse a product with blocks of whole columns."""
    axis, bits = _depth_axis(match), bit_width(dtype_of(match["codes"]))
    if axis is None or not _has_types(match, bits) or not all(_is_by_column(match, name, axis) for name in _OF_BLOCK):
        return None
    codes = _columns(match["codes"], axis)
    word = 8 * WORD // bits
    block = -(-codes.shape[1] // word) * word
    packed = packed_codes(_to_unsigned(codes, match["codes"]), bits, block)
    scale, zeros = (_broadcast_to_columns(match[name], len(codes)) for name in _OF_BLOCK)
    operands = match["x"], const(packed), const(scale), const(_to_unsigned(zeros, match["zero_point"]))
    return stated(relax.matmul_nbits(*operands, None, bits=bits, block_size=block), result_type(match.op()))


_OF_BLOCK = ("scale", "zero_point")


def _is_by_column(match: Match, name: str, axis: int) -> bool:
    """Check whether there is a number for each column of the product, or one for all."""
    shape = shape_of(match[name])
    return shape is not None and (all(size == 1 for size in shape) or match["numbers"].owner.axis % 2 != axis)


def _broadcast_to_columns(value: Value, count: int) -> ndarray:
    import numpy

    array = array_of_attribute(value.owner.operation.attributes["value"], dtype_of(value), value.type.shape)
    return numpy.ascontiguousarray(numpy.broadcast_to(array.reshape(-1, 1), (count, 1)))


def _has_types(match: Match, bits: int) -> bool:
    """Check whether codes and zero points are integers of few bits, and all other operands floats."""
    codes, zero_point = dtype_of(match["codes"]), match.get("zero_point")
    is_code = is_int(codes) and bits in WIDTHS and (zero_point is None or dtype_of(zero_point) == codes)
    return is_code and all(dtype_of(match[name]) in REALS for name in ("x", "scale", "numbers"))


def _depth_axis(match: Match) -> int | None:
    """Return the axis of the codes that a matrix product sums over with the last axis of x, or None."""
    op, shape, codes = match.op(), shape_of(match["x"]), shape_of(match["codes"])
    if shape is None or codes is None or len(codes) != 2 or not all(map(_is_size, codes)):
        return None
    axis = 0
    if op.operation.name == "relax.einsum":
        operands, arrow, result = op.subscripts.replace(" ", "").partition("->")
        one, _, other = operands.partition(",")
        if not arrow or "." in operands or not one or len(other) != 2 or len(set(one + other)) != len(one) + 1:
            return None
        axis = other.find(one[-1])
        if axis < 0 or result != one[:-1] + other[1 - axis]:
            return None
    elif op.out_dtype is not None or len(shape) < 1:
        return None
    if (permuted := match.get("permuted")) is not None:
        if (order := permutation(permuted.owner)) is None:
            return None
        axis = order[axis]
    return axis if shape[-1] == codes[axis] else None


def _is_size(size: object) -> bool:
    return isinstance(size, int) and size > 0


def _block(match: Match, axis: int) -> int:
    """Return the number of elements in a block of scales and zero points, or 0 if blocks are not along the axis."""
    codes = shape_of(match["codes"])
    assert codes is not None
    sizes = set()
    for name in ("scale", "zero_point"):
        if match.get(name) is None:
            continue
        repeated, cut, shape = match[f"{name}_repeated"], match.get(f"{name}_cut"), shape_of(match[name])
        if repeated.owner.axis is None or repeated.owner.axis % 2 != axis or shape_of(cut or repeated) != codes:
            return 0
        if shape is None or shape[1 - axis] != codes[1 - axis] or not _is_front(cut):
            return 0
        sizes.add(repeated.owner.repeats)
    return int(sizes.pop()) if len(sizes) == 1 else 0


def _is_front(cut: Value | None) -> bool:
    """Check whether a slice takes the first elements, with stride 1."""
    if cut is None:
        return True
    op: OpView = cut.owner
    return all(begin == 0 for begin in op.begin) and all(stride == 1 for stride in op.strides or ())


def _columns(value: Value, axis: int) -> ndarray:
    """Return a constant's elements, with a row for each column of the product."""
    import numpy

    array = array_of_attribute(value.owner.operation.attributes["value"], dtype_of(value), value.type.shape)
    return numpy.ascontiguousarray(array if axis else array.T)


def _to_unsigned(array: ndarray, value: Value) -> ndarray:
    """Return the codes as unsigned numbers."""
    import numpy

    dtype = dtype_of(value)
    offset = 0 if is_unsigned(dtype) else 1 << (bit_width(dtype) - 1)
    return (array.astype(numpy.int16) + offset).astype(numpy.uint8)


def _zero_points(match: Match, axis: int, shape: tuple[int, ...]) -> Value | None:
    """Return the zero points of unsigned codes, or None if they are the middle of the range."""
    import numpy

    if (zero_point := match.get("zero_point")) is not None:
        return const(_to_unsigned(_columns(zero_point, axis), zero_point))
    return const(numpy.zeros(shape, "uint8")) if is_unsigned(dtype_of(match["codes"])) else None


def packed_codes(codes: ndarray, bits: int, block: int) -> ndarray:
    """Pack bytes [columns, depth] to [columns, blocks, bytes], the first code in the lowest bits."""
    import numpy

    columns, depth = codes.shape
    count = 8 // bits
    whole = numpy.zeros((columns, -(-depth // block) * block), numpy.uint8)
    whole[:, :depth] = codes
    parts = whole.reshape(columns, -1, count)
    packed = parts[..., 0].copy()
    for place in range(1, count):
        packed |= parts[..., place] << (bits * place)
    return packed.reshape(columns, -1, block // count)
