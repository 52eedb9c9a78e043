# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of matrix products, also of quantized matrices, and of determinants."""

from __future__ import annotations

from ....bindings.ir import Value
from ....bindings.navigation import defining_op
from ....dialects.core.infos import is_float
from ....support.errors import RelaxError
from ....support.suggest import counted
from ...core.node import described
from ..prelude import OnnxNode, Outputs, Tensor, cast, const, info_of, register_onnx, relax


@register_onnx("", "MatMul")
def matmul(node: OnnxNode) -> Outputs:
    left, right = node.tensor(0), node.tensor(1)
    source = _matrix_before_transposition(right)
    if source is None or not 1 <= (node.value(0).rank or 0) <= len(_LETTERS):
        return relax.matmul(left, right)
    return _product(left, source, is_transposed=True)


_LETTERS = "abcdefgh"


def _matrix_before_transposition(value: Value) -> Tensor | None:
    """Return the operand of the transposition that defines a matrix, or None if there is no transposition."""
    owner = defining_op(value, "relax.permute_dims")
    if owner is None or value.type.rank != 2 or not (owner.axes is None or [axis % 2 for axis in owner.axes] == [1, 0]):
        return None
    return owner.operands[0]


@register_onnx("", "Gemm")
def gemm(node: OnnxNode) -> Outputs:
    """Convert Gemm: alpha * A @ B + beta * C. A and B may be transposed, and C is optional."""
    dtype = node.value(0).dtype
    for index in (0, 1):
        if node.rank(index) != 2:
            raise node.fail(f"input #{index} must be a matrix, got {counted(node.rank(index), 'dimension')}")
    left = relax.permute_dims(node.tensor(0)) if node.int("transA", 0) else node.tensor(0)
    result = _scale(node, _product(left, node.tensor(1), bool(node.int("transB", 0))), "alpha", dtype)
    if not node.has(2):
        return result
    return with_bias(node, result, 2, _scale(node, node.tensor(2), "beta", dtype))


def with_bias(node: OnnxNode, result: Tensor, index: int, bias: Tensor) -> Tensor:
    """Add a bias, which comes from an input."""
    try:
        return relax.add(result, bias)
    except RelaxError:
        made = described(info_of(result))
        raise node.fail(f"the bias {node.described(index)} cannot be added to the product, {made}") from None


def _product(left: Tensor, right: Tensor, is_transposed: bool) -> Tensor:
    """Multiply matrices. Transposed weights, as in torch, are read in place, so no call transposes them."""
    if not is_transposed:
        return relax.matmul(left, right)
    rows = _LETTERS[: left.type.rank - 1]
    return relax.einsum([left, right], subscripts=f"{rows}y,xy->{rows}x")


def _scale(node: OnnxNode, tensor: Tensor, name: str, dtype: str) -> Value:
    if (factor := node.float(name, 1.0)) == 1.0:
        return tensor
    if not is_float(dtype) and factor != int(factor):
        raise node.fail(f"attribute '{name}' must be an integer for integer tensors, got {factor}", name)
    return relax.multiply(tensor, const(factor if is_float(dtype) else int(factor), dtype))


@register_onnx("", "Einsum")
def einsum(node: OnnxNode) -> Outputs:
    subscripts = node.string("equation", "").replace(" ", "")
    return relax.einsum(*[node.tensor(index) for index in range(len(node.inputs))], subscripts=subscripts)


@register_onnx("", "MatMulInteger")
def matmul_integer(node: OnnxNode) -> Outputs:
    left, right = (shifted(node, index, index + 2, _columns_behind(node, index + 2, index)) for index in (0, 1))
    return relax.matmul(left, right, out_dtype="i32")


@register_onnx("", "QLinearMatMul")
def qlinear_matmul(node: OnnxNode) -> Outputs:
    left = shifted(node, 0, 2, _columns_behind(node, 2, 0))
    right = shifted(node, 3, 5, _columns_behind(node, 5, 1))
    product = relax.astype(relax.matmul(left, right, out_dtype="i32"), dtype="f32")
    scale, columns = as_f32(node, 1), as_f32(node, 4)
    if _is_rows(node, 1, 0):
        product, scale = relax.multiply(product, relax.expand_dims(scale, axis=[1])), columns
    else:
        scale = relax.multiply(scale, columns)
    product = relax.multiply(product, scale)
    return requantized(node, product, 6, 7)


def _is_rows(node: OnnxNode, index: int, side: int) -> bool:
    return side == 0 and node.rank(index) == 1 and node.value(index).shape != (1,)


def _columns_behind(node: OnnxNode, index: int, side: int) -> int:
    """Return the number of dimensions behind a zero point's dimension: 1 if each row has a zero point, else 0."""
    return int(node.has(index) and _is_rows(node, index, side))


def shifted(node: OnnxNode, index: int, zero_point: int, behind: int = 0) -> Value:
    """Return a quantized tensor minus its zero point as 32-bit integers, or unchanged if the zero point is 0.

    Several zero points belong to a dimension with `behind` dimensions behind it.
    """
    data = node.tensor(index)
    if not node.has(zero_point):
        return data
    if (known := node.constant(zero_point)) is not None and not known.any():
        return data
    offset = relax.astype(node.tensor(zero_point), dtype="i32")
    if behind:
        offset = relax.expand_dims(offset, axis=list(range(1, 1 + behind)))
    return relax.subtract(relax.astype(data, dtype="i32"), offset)


def as_f32(node: OnnxNode, index: int = 0) -> Tensor:
    return cast(node.tensor(index), "f32")


def requantized(node: OnnxNode, real: Tensor, scale: int, zero_point: int) -> Tensor:
    """Quantize a tensor of f32 to the type of the zero point."""
    dtype = node.value(zero_point).dtype
    if node.rank(scale) == 0 or node.value(scale).shape == (1,):
        return relax.quantize(real, node.tensor(scale), node.tensor(zero_point), axis=0, out_dtype=dtype)
    scales, zeros = (
        relax.expand_dims(node.tensor(index), axis=[1]) if node.rank(index) == 1 else node.tensor(index)
        for index in (scale, zero_point)
    )
    shifted_back = relax.add(relax.round(relax.divide(real, scales)), relax.astype(zeros, dtype="f32"))
    return relax.quantize(shifted_back, const(1.0, "f32"), const(0, dtype), axis=0, out_dtype=dtype)


# ---- determinants by elimination ----


# Each row adds a step to the program.
_MOST_ROWS = 16


@register_onnx("", "Det")
def determinant(node: OnnxNode) -> Outputs:
    shape, dtype = node.value(0).shape, node.value(0).dtype
    if node.rank(0) < 2:
        raise node.fail(f"a matrix has 2 dimensions or more, not {node.rank(0)}")
    rows = None if shape is None else shape[-2] if isinstance(shape[-2], int) else shape[-1]
    if not isinstance(rows, int) or not 0 < rows <= _MOST_ROWS:
        raise node.fail(f"matrices must have a known size of at most {_MOST_ROWS}, got {rows}")
    matrix, factors = node.tensor(0), []
    for left in range(rows, 1, -1):
        factor, matrix = _eliminate(matrix, left, dtype)
        factors.append(factor)
    result = relax.squeeze(matrix, axis=[-2, -1])
    for factor in factors:
        result = relax.multiply(result, factor)
    return result


def _eliminate(matrix: Tensor, rows: int, dtype: str) -> tuple[Tensor, Tensor]:
    """Return a factor of the determinant, and the remaining matrix without the row of the pivot and the first column.

    The pivot is the first column's largest element. The first row takes the place of the pivot's row.
    """
    place = relax.argmax(relax.abs(_column(matrix, 0)), axis=-1, keepdims=True)
    is_pivot = relax.equal(const(list(range(rows)), "i64"), place)
    is_pivot_row = relax.expand_dims(is_pivot, axis=[-1])
    zero, one = const(0, dtype), const(1, dtype)
    pivot_row = relax.sum(relax.where(is_pivot_row, matrix, zero), axis=[-2], keepdims=True)
    pivot = _column(relax.squeeze(pivot_row, axis=[-2]), 0, axis=-1)
    first = relax.strided_slice(matrix, axes=[-2], begin=[0], end=[1])
    others = relax.strided_slice(relax.where(is_pivot_row, first, matrix), axes=[-2], begin=[1], end=[rows])
    # A column of zeros makes the determinant 0, regardless of the subtrahend.
    divisor = relax.where(relax.equal(pivot, zero), one, pivot)
    shares = relax.divide(_column(others, 0), relax.expand_dims(divisor, axis=[-1]))
    left = relax.subtract(others, relax.multiply(relax.expand_dims(shares, axis=[-1]), pivot_row))
    sign = relax.where(relax.equal(relax.squeeze(place, axis=[-1]), const(0, "i64")), one, const(-1, dtype))
    return relax.multiply(sign, pivot), relax.strided_slice(left, axes=[-1], begin=[1], end=[rows])


def _column(x: Tensor, index: int, axis: int = -1) -> Tensor:
    return relax.squeeze(relax.strided_slice(x, axes=[axis], begin=[index], end=[index + 1]), axis=[axis])
