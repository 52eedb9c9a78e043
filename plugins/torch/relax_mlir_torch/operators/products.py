# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of products of matrices and vectors."""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects.core.infos import is_float

from ..prelude import Outputs, Tensor, TorchNode, Value, cast, info_of, register_rows, register_torch, relax, wide_float
from .elementwise import times


@register_torch("aten::linear")
def linear(node: TorchNode) -> Outputs:
    """Multiply x with the transposed weight, which is a matrix or a vector."""
    _check_types(node, "input", "weight")
    weight = node.tensor("weight")
    if node.rank("weight") == 2:
        weight = relax.permute_dims(weight, axes=[1, 0])
    if not node.has("bias"):
        return relax.matmul(node.tensor("input"), weight)
    product = relax.matmul(node.tensor("input"), weight, out_dtype=sum_type(node.dtype))
    return cast(relax.add(product, node.tensor("bias", info_of(product).dtype)), node.dtype)


register_rows(
    {
        "aten::matmul aten::mm aten::bmm aten::mv aten::dot aten::vdot": lambda node: matmul(node, 0, 1),
        "aten::addmm": lambda node: _add(node, _summand(node, "mat1", "mat2")),
        "aten::addmv": lambda node: _add(node, _summand(node, "mat", "vec")),
        "aten::baddbmm": lambda node: _add(node, _summand(node, "batch1", "batch2")),
        "aten::addbmm": lambda node: _add(node, relax.sum(_summand(node, "batch1", "batch2"), axis=[0])),
        "aten::addr": lambda node: _add(node, _outer(node, "vec1", "vec2", sum_type(node.dtype) or node.dtype)),
        "aten::outer aten::ger": lambda node: _outer(node, 0, 1, node.dtype),
        "aten::einsum": lambda node: einsum(node),
    }
)


def sum_type(dtype: str) -> str | None:
    """Return the type of a product before an addition if it is not the result's type.

    Products of narrow floats are added in f32 and rounded once, as by torch's kernels.
    """
    return "f32" if is_float(dtype) and wide_float(dtype) != dtype else None


def _summand(node: TorchNode, left: str, right: str) -> Tensor:
    return matmul(node, left, right, sum_type(node.dtype))


def matmul(node: TorchNode, left: str | int, right: str | int, out_dtype: str | None = None) -> Tensor:
    """Multiply matrices of the result's element type. Products of integers wrap around."""
    _check_types(node, left, right)
    one, other = node.tensor(left, node.dtype), node.tensor(right, node.dtype)
    if node.dtype == "i1":
        return cast(relax.matmul(cast(one, "i32"), cast(other, "i32")), "i1")
    return relax.matmul(one, other, out_dtype=out_dtype)


def _check_types(node: TorchNode, left: str | int, right: str | int) -> None:
    """Refuse factors of two element types: eager mode raises for them, and torch.export does not."""
    first, second = node.value(left).dtype, node.value(right).dtype
    if first != second:
        raise node.fail(f"expected factors of the same element type, got {first} and {second}: convert one of them")


def _outer(node: TorchNode, left: str | int, right: str | int, dtype: str) -> Tensor:
    column = relax.expand_dims(node.tensor(left, dtype), axis=[1])
    return times(column, relax.expand_dims(node.tensor(right, dtype), axis=[0]))


def _add(node: TorchNode, product: Tensor) -> Tensor:
    """Return `beta * self + alpha * product`. If beta is 0, the elements of `self` are ignored, NaN too."""
    dtype, alpha, beta = info_of(product).dtype, node.get("alpha", 1), node.get("beta", 1)
    if alpha != 1:
        product = times(product, node.operand("alpha", dtype))
    own = node.tensor("self", dtype)
    if beta == 0:
        own = relax.zeros_like(own)
    elif beta != 1:
        own = times(own, node.operand("beta", dtype))
    return relax.logical_or(product, own) if dtype == "i1" else cast(relax.add(product, own), node.dtype)


def einsum(node: TorchNode) -> Tensor:
    operands = node.tensors("tensors", node.dtype)
    return relax.einsum(operands, subscripts=node.string("equation").replace(" ", ""))


@register_torch("aten::bilinear")
def bilinear(node: TorchNode) -> Outputs:
    first, second, weight = node.tensor("input1"), node.tensor("input2"), node.tensor("weight")
    made = relax.einsum([first, weight, second], subscripts="...i,oij,...j->...o")
    return relax.add(made, node.tensor("bias")) if node.has("bias") else made


@register_torch("aten::_trilinear")
def trilinear(node: TorchNode) -> Outputs:
    """Convert _trilinear: the product of three tensors that lack some dimensions, summed over some dimensions."""
    rank = node.rank("i1") + len(node.ints("expand1"))
    letters = [chr(ord("a") + axis) for axis in range(rank)]

    def others(key: str) -> str:
        left_out = {node.axis_of(axis, rank) for axis in node.ints(key)}
        return "".join(letter for axis, letter in enumerate(letters) if axis not in left_out)

    given = ",".join(others(f"expand{number}") for number in (1, 2, 3))
    tensors = [node.tensor(f"i{number}", node.dtype) for number in (1, 2, 3)]
    return relax.einsum(tensors, subscripts=f"{given}->{others('sumdim')}")


@register_torch("aten::cross", "aten::linalg_cross")
def cross(node: TorchNode) -> Outputs:
    """Convert cross: cross products of vectors of three elements along a dimension."""
    left, right = node.tensor(0, node.dtype), node.tensor(1, node.dtype)
    rank = max(node.rank(0), node.rank(1))
    if (axis := node.int("dim", None)) is None:
        axis = next(place for place, size in enumerate(node.info.shape or ()) if size == 3)
    axis = node.axis_of(axis, rank)

    def rolled(tensor: Tensor, by: int) -> Tensor:
        places = Value(array=_rotation(by))
        return relax.take(tensor, places.ssa, axis=axis - rank + (Value(ssa=tensor).rank or 0))

    forward = relax.multiply(rolled(left, 1), rolled(right, 2))
    return relax.subtract(forward, relax.multiply(rolled(left, 2), rolled(right, 1)))


def _rotation(by: int) -> Any:
    import numpy

    return numpy.array([(index + by) % 3 for index in range(3)])
