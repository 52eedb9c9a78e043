# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, also of quantized ones."""

from __future__ import annotations

from typing import Any

from ....bindings.navigation import defining_op
from ....dialects.core.infos import is_float
from ....dialects.relax import const, dialect
from ..graph_tensors import cast
from ..node import Node
from ..registry import register_onnx
from ..values import Outputs, Tensor

relax = dialect.ops


@register_onnx("", "MatMul")
def matmul(node: Node) -> Outputs:
    left, right = node.tensor(0), node.tensor(1)
    source = _matrix_before_transposition(right)
    if source is None or not 1 <= (node.value(0).rank or 0) <= len(_LETTERS):
        return relax["matmul"](left, right)
    return _product(left, source, is_transposed=True)


_LETTERS = "abcdefgh"


def _matrix_before_transposition(value: Any) -> Any:
    """What is transposed, where that is how a matrix was made; None where it was not."""
    owner = defining_op(value, "relax.permute_dims")
    return owner.operands[0] if owner is not None and value.type.rank == 2 and _is_turned(owner) else None


def _is_turned(op: Any) -> bool:
    return op.axes is None or [axis % 2 for axis in op.axes] == [1, 0]


@register_onnx("", "Gemm")
def gemm(node: Node) -> Outputs:
    """alpha * A @ B + beta * C, where A and B may be transposed and C may be missing."""
    dtype = node.value(0).dtype
    left = relax["permute_dims"](node.tensor(0)) if node.int("transA", 0) else node.tensor(0)
    result = _scaled(node, _product(left, node.tensor(1), bool(node.int("transB", 0))), "alpha", dtype)
    if not node.has(2):
        return result
    return relax["add"](result, _scaled(node, node.tensor(2), "beta", dtype))


def _product(left: Tensor, right: Tensor, is_transposed: bool) -> Tensor:
    """Weights that come transposed, as torch has them, are read as they lie: no call has to turn them round."""
    if not is_transposed:
        return relax["matmul"](left, right)
    rows = _LETTERS[: left.type.rank - 1]
    return relax["einsum"](left, right, subscripts=f"{rows}y,xy->{rows}x")


def _scaled(node: Node, tensor: Tensor, name: str, dtype: str) -> Any:
    factor = node.float(name, 1.0)
    if factor == 1.0:
        return tensor
    if not is_float(dtype) and factor != int(factor):
        raise node.fail(f"attribute '{name}' must be whole for integers, got {factor}", name)
    return relax["multiply"](tensor, const(factor if is_float(dtype) else int(factor), dtype))


@register_onnx("", "Einsum")
def einsum(node: Node) -> Outputs:
    subscripts = node.string("equation", "").replace(" ", "")
    return relax["einsum"](*[node.tensor(index) for index in range(len(node.inputs))], subscripts=subscripts)


@register_onnx("", "MatMulInteger")
def matmul_integer(node: Node) -> Outputs:
    left, right = (shifted(node, index, index + 2, _beside_matrix(node, index + 2, index)) for index in (0, 1))
    return relax["matmul"](left, right, out_dtype="i32")


@register_onnx("", "QLinearMatMul")
def qlinear_matmul(node: Node) -> Outputs:
    left = shifted(node, 0, 2, _beside_matrix(node, 2, 0))
    right = shifted(node, 3, 5, _beside_matrix(node, 5, 1))
    product = relax["astype"](relax["matmul"](left, right, out_dtype="i32"), dtype="f32")
    for index, side in ((1, 0), (4, 1)):
        scale = as_f32(node, index)
        product = relax["multiply"](
            product, relax["expand_dims"](scale, axis=[1]) if _is_rows(node, index, side) else scale
        )
    return requantized(node, product, 6, 7)


def _is_rows(node: Node, index: int, side: int) -> bool:
    return side == 0 and node.rank(index) == 1 and node.value(index).shape != (1,)


def _beside_matrix(node: Node, index: int, side: int) -> Any:
    """Whether an optional zero point holds for rows, so that it needs a dimension for columns."""
    return node.has(index) and _is_rows(node, index, side)


def shifted(node: Node, index: int, zero_point: int, is_column: bool = False) -> Any:
    """A quantized tensor less its zero point, as 32-bit integers; as it is where that is 0."""
    data = node.tensor(index)
    if not node.has(zero_point):
        return data
    known = node.constant(zero_point)
    if known is not None and not known.any():
        return data
    offset = relax["astype"](node.tensor(zero_point), dtype="i32")
    if is_column:
        offset = relax["expand_dims"](offset, axis=[1])
    return relax["subtract"](relax["astype"](data, dtype="i32"), offset)


def as_f32(node: Node, index: int = 0) -> Tensor:
    return cast(node.tensor(index), "f32")


def requantized(node: Node, real: Tensor, scale: int, zero_point: int) -> Tensor:
    """A tensor of f32 as the type that the zero point has."""
    dtype = node.value(zero_point).dtype
    if node.rank(scale) == 0 or node.value(scale).shape == (1,):
        return relax["quantize"](real, node.tensor(scale), node.tensor(zero_point), axis=0, out_dtype=dtype)
    scales, zeros = (
        relax["expand_dims"](node.tensor(index), axis=[1]) if node.rank(index) == 1 else node.tensor(index)
        for index in (scale, zero_point)
    )
    shifted_back = relax["add"](relax["round"](relax["divide"](real, scales)), relax["astype"](zeros, dtype="f32"))
    return relax["quantize"](shifted_back, const(1.0, "f32"), const(0, dtype), axis=0, out_dtype=dtype)
