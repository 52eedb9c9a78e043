# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of losses."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.decompose.tensor_formulas import relax
from relax_mlir.passes.graph.gradient_rules import register_gradient

from ..gradient_call import Gradient, GradientCall
from ..requirements import known_shape
from ..reverse import gradients_at


@register_gradient("relax.nn.nll_loss", by_types=True)
def nll_loss(call: GradientCall) -> Sequence[Gradient]:
    """Differentiate the loss as a sum of products with a mask of the targets, by rules of these operators."""
    shape = known_shape(call, call.predictions, "its predictions")
    axis = min(len(shape) - 1, 1)
    at_target = _mark_targets(call, axis, shape)

    def forward(predictions: Value, *weights: Value) -> Value:
        counted = at_target
        if weights:
            behind = list(range(1, len(shape) - axis))
            counted = relax.multiply(
                counted, relax.dialect.ops["expand_dims"](*weights, axis=behind) if behind else weights[0]
            )
        losses = relax.negative(relax.sum(relax.multiply(predictions, counted), axis=[axis]))
        if call.reduction == "none":
            return losses
        total = relax.sum(losses)
        return total if call.reduction == "sum" else relax.divide(total, relax.sum(counted))

    floats = [call.predictions] if call.weights is None else [call.predictions, call.weights]
    values = gradients_at(floats, forward, call.gradient)
    return [values[0], None, *values[1:]]


def _mark_targets(call: GradientCall, axis: int, shape: Sequence[Dim]) -> Value:
    """Return 1 where a class is the target and not ignored, and 0 elsewhere."""
    dtype = dtype_of(call.targets)
    targets = relax.expand_dims(call.targets, axis=[axis])
    behind = list(range(1, len(shape) - axis))
    classes = relax.arange(0, shape[axis], 1, dtype=dtype)
    classes = relax.expand_dims(classes, axis=behind) if behind else classes
    is_counted = relax.not_equal(targets, const(call.ignore_index, dtype))
    chosen = relax.logical_and(relax.equal(targets, classes), is_counted)
    return relax.astype(chosen, dtype=dtype_of(call.predictions))
