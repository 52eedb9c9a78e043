# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of products of matrices and tensors."""

from __future__ import annotations

from typing import Any

from ....bindings.ir import Value
from ....dialects.relax.infer.einsum import parse_subscripts
from ...canonicalize.support import dtype_of, same_known_shape, shape_of
from ..registry import GradientCall, register_gradient
from ..tensors import rank_of, relax, shape_operand


@register_gradient("relax.matmul")
def matmul(call: GradientCall) -> list[Any]:
    """A vector is a matrix of one row on the left, of one column on the right."""
    left, right, gradient = call.x1, call.x2, call.gradient
    ranks = [rank_of(call, each, "an operand") for each in (left, right)]
    if dtype_of(gradient) != dtype_of(left):
        gradient = relax["astype"](gradient, dtype=dtype_of(left))
    # The later new dimension first: places count in the result.
    if ranks[1] == 1:
        gradient = relax["expand_dims"](gradient, axis=[-1])
    if ranks[0] == 1:
        gradient = relax["expand_dims"](gradient, axis=[-2])
    rows = relax["expand_dims"](left, axis=[0]) if ranks[0] == 1 else left
    columns = relax["expand_dims"](right, axis=[1]) if ranks[1] == 1 else right
    return [
        lambda: _like(relax["matmul"](gradient, _turned(columns)), rows, left),
        lambda: _like(relax["matmul"](_turned(rows), gradient), columns, right),
    ]


def _turned(matrix: Value) -> Value:
    """Matrices in the last two dimensions, transposed."""
    rank = len(shape_of(matrix) or ())
    return relax["permute_dims"](matrix, axes=[*range(rank - 2), rank - 1, rank - 2])


def _like(product: Value, matrix: Value, operand: Value) -> Value:
    """A product without the batches to which the matrix was broadcast, in the operand's shape."""
    summed = product if same_known_shape(product, matrix) else relax["collapse_sum_like"](product, matrix)
    return summed if matrix is operand else relax["reshape"](summed, shape_operand(operand))


@register_gradient("relax.outer")
def outer(call: GradientCall) -> list[Any]:
    return [
        lambda: relax["matmul"](call.gradient, call.x2),
        lambda: relax["matmul"](call.x1, call.gradient),
    ]


@register_gradient("relax.einsum")
def einsum(call: GradientCall) -> list[Any]:
    """The product of the gradient and the other operands, under the operand's labels."""
    subscripts = parse_subscripts(call.subscripts)
    for labels in subscripts.operands:
        if "..." in labels or len(set(labels)) < len(labels):
            raise call.fail(f"its subscripts '{call.subscripts}' have an ellipsis, or a label twice in an operand")

    def gradient(index: int) -> Value:
        operand, labels = call.operands[index], subscripts.operands[index]
        others = [place for place in range(len(call.operands)) if place != index]
        terms = [subscripts.result, *(subscripts.operands[place] for place in others)]
        # A label of this operand alone is a sum over it: the product has it not, and is the same all along it.
        kept = [label for label in labels if any(label in term for term in terms)]
        text = ",".join("".join(term) for term in terms) + "->" + "".join(kept)
        product = relax["einsum"]([call.gradient, *(call.operands[place] for place in others)], subscripts=text)
        missing = [axis for axis, label in enumerate(labels) if label not in kept]
        if missing:
            return relax["broadcast_to"](relax["expand_dims"](product, axis=missing), shape_operand(operand))
        return product if same_known_shape(product, operand) else relax["collapse_sum_like"](product, operand)

    return [lambda index=index: gradient(index) for index in range(len(call.operands))]
