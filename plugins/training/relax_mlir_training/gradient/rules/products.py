# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of products of matrices and tensors."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import partial

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.relax.infer.einsum import Subscripts, parse_subscripts
from relax_mlir.dialects.relax.values import dtype_of, same_known_shape, shape_of
from relax_mlir.passes.graph.decompose.tensor_formulas import cast, relax, shape_operand
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall
from ..requirements import rank_of
from ..reverse import gradients_at


@register_gradient("relax.matmul", by_types=True)
def matmul(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate matmul. A vector counts as a matrix of one row on the left, or of one column on the right."""
    left, right, gradient = call.x1, call.x2, call.gradient
    ranks = [rank_of(call, each, "an operand") for each in (left, right)]
    gradient = cast(gradient, dtype_of(left))
    # The later new dimension comes first, because axes refer to the result.
    if ranks[1] == 1:
        gradient = relax.expand_dims(gradient, axis=[-1])
    if ranks[0] == 1:
        gradient = relax.expand_dims(gradient, axis=[-2])
    rows = relax.expand_dims(left, axis=[0]) if ranks[0] == 1 else left
    columns = relax.expand_dims(right, axis=[1]) if ranks[1] == 1 else right
    return [
        lambda: _like(relax.matmul(gradient, _transpose(columns)), rows, left),
        lambda: _like(relax.matmul(_transpose(rows), gradient), columns, right),
    ]


def _transpose(matrix: Value) -> Value:
    """Transpose the matrices in the last two dimensions."""
    rank = len(shape_of(matrix) or ())
    return relax.permute_dims(matrix, axes=[*range(rank - 2), rank - 1, rank - 2])


def _like(product: Value, matrix: Value, operand: Value) -> Value:
    """Sum a product over broadcast batches, and reshape it to the operand's shape."""
    summed = product if same_known_shape(product, matrix) else relax.collapse_sum_like(product, matrix)
    return summed if matrix is operand else relax.reshape(summed, shape_operand(operand))


@register_gradient("relax.outer", by_types=True)
def outer(call: GradientCall) -> Sequence[Gradient]:
    return [
        lambda: relax.matmul(call.gradient, call.x2),
        lambda: relax.matmul(call.x1, call.gradient),
    ]


@register_gradient("relax.einsum", by_types=True)
def einsum(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate einsum: each operand gets the product of the gradient and the others, under its own labels."""
    subscripts = _spell_out(call)
    if any(len(set(labels)) < len(labels) for labels in subscripts.operands):
        # Without repeated labels: the product reads diagonals of the operands.
        diagonals = [_Diagonal(*each) for each in zip(call.operands, subscripts.operands, strict=True)]
        text = ",".join("".join(diagonal.labels) for diagonal in diagonals) + "->" + "".join(subscripts.result)

        def forward(*operands: Value) -> Value:
            taken = [diagonal.of(operand) for diagonal, operand in zip(diagonals, operands, strict=True)]
            return relax.einsum(taken, subscripts=text)

        return gradients_at(call.operands, forward, call.gradient)

    def gradient(index: int) -> Value:
        operand, labels = call.operands[index], subscripts.operands[index]
        others = [place for place in range(len(call.operands)) if place != index]
        terms = [subscripts.result, *(subscripts.operands[place] for place in others)]
        # The operand is summed over a label that no other term has: its gradient is constant along that label.
        kept = [label for label in labels if any(label in term for term in terms)]
        text = ",".join("".join(term) for term in terms) + "->" + "".join(kept)
        product = relax.einsum([call.gradient, *(call.operands[place] for place in others)], subscripts=text)
        missing = [axis for axis, label in enumerate(labels) if label not in kept]
        if missing:
            return relax.broadcast_to(relax.expand_dims(product, axis=missing), shape_operand(operand))
        return product if same_known_shape(product, operand) else relax.collapse_sum_like(product, operand)

    return [partial(gradient, index) for index in range(len(call.operands))]


def _spell_out(call: GradientCall) -> Subscripts:
    """Return the subscripts with labels instead of ellipses, which are aligned at their last dimensions."""
    subscripts = parse_subscripts(call.subscripts)
    free = [letter for letter in string.ascii_letters if letter not in call.subscripts]
    ranks = [rank_of(call, operand, "an operand") for operand in call.operands]
    pairs = list(zip(subscripts.operands, ranks, strict=True))
    counts = [rank - len(labels) + 1 for labels, rank in pairs if "..." in labels]
    most = max(counts, default=0)

    def spelled(labels: Sequence[str], count: int) -> tuple[str, ...]:
        if "..." not in labels:
            return tuple(labels)
        place = labels.index("...")
        return (*labels[:place], *free[most - count : most], *labels[place + 1 :])

    operands = tuple(spelled(labels, rank - len(labels) + 1) for labels, rank in pairs)
    return Subscripts(operands, spelled(subscripts.result, most))


class _Diagonal:
    """Diagonal of an operand with repeated labels, along the dimensions of each label."""

    def __init__(self, operand: Value, labels: Sequence[str]):
        self._all = labels
        self.labels = tuple(dict.fromkeys(labels))
        self._sizes = dict(zip(labels, shape_of(operand) or (), strict=True))

    def of(self, x: Value) -> Value:
        """Return the diagonal: elements elsewhere become 0, and repeated dimensions are summed."""
        extra = [place for place, label in enumerate(self._all) if label in self._all[:place]]
        for place in extra:
            first = self._all.index(self._all[place])
            is_on = relax.equal(*(self._places(each) for each in (first, place)))
            x = relax.where(is_on, x, relax.zeros_like(x))
        return relax.sum(x, axis=extra) if extra else x

    def _places(self, axis: int) -> Value:
        numbers = relax.arange(0, self._sizes[self._all[axis]], 1, dtype="i64")
        behind = list(range(1, len(self._all) - axis))
        return relax.expand_dims(numbers, axis=behind) if behind else numbers
