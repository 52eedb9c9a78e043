# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decompositions of reductions and losses into sums."""

from __future__ import annotations

from .....bindings.ir import OpView
from ..registry import register_decomposition
from ..tensor_formulas import Tensor, apply, count_over
from ..wide import computed_wide, known_shape, rank_of, require_same


@register_decomposition("relax.mean", by_types=True)
@computed_wide
def mean(op: OpView, x: Tensor) -> Tensor:
    axes = [axis % rank_of(x.value) for axis in (range(rank_of(x.value)) if op.axis is None else op.axis)]
    return apply("sum", x, axis=axes, keepdims=op.keepdims) / Tensor(count_over(x.value, axes))


@register_decomposition("relax.variance", by_types=True)
@computed_wide
def variance(op: OpView, x: Tensor) -> Tensor:
    return _variance(op, x)


@register_decomposition("relax.std", by_types=True)
@computed_wide
def std(op: OpView, x: Tensor) -> Tensor:
    return apply("sqrt", _variance(op, x))


def _variance(op: OpView, x: Tensor) -> Tensor:
    """Return the mean of the squared deviations from the mean."""
    axes = None if op.axis is None else list(op.axis)
    distances = x - apply("mean", x, axis=axes, keepdims=True)
    return apply("mean", distances * distances, axis=axes, keepdims=op.keepdims)


@register_decomposition("relax.nn.cross_entropy_with_logits", by_types=True)
@computed_wide
def cross_entropy_with_logits(op: OpView, predictions: Tensor, labels: Tensor) -> Tensor:
    shape = known_shape(predictions.value)
    for axis, (one, other) in enumerate(zip(shape, known_shape(labels.value), strict=True)):
        require_same(one, other, what=f"predictions and labels along axis {axis}")
    total = -apply("sum", predictions * labels)
    return total / Tensor(count_over(predictions.value, [0])) if len(shape) > 1 else total
