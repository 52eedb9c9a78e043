# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..steps import require_same

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall


@register_reference("relax.nn.cross_entropy_with_logits")
def cross_entropy_with_logits(call: object, predictions: ndarray, labels: ndarray) -> ndarray:
    for axis, sizes in enumerate(zip(predictions.shape, labels.shape, strict=True)):
        require_same(*sizes, f"axis {axis} of predictions and labels")
    return numpy.divide(-(predictions * labels).sum(), len(predictions) if predictions.ndim > 1 else 1)


@register_reference("relax.nn.nll_loss")
def nll_loss(call: EvaluationCall, predictions: ndarray, targets: ndarray, weights: ndarray | None) -> ndarray:
    """Return -prediction * weight of each target's class, 0 for ignored targets. The mean is weighted."""
    class_axis = min(1, predictions.ndim - 1)
    sizes = [size for axis, size in enumerate(predictions.shape) if axis != class_axis]
    for axis, pair in enumerate(zip(sizes, targets.shape, strict=True)):
        require_same(*pair, f"axis {axis} of predictions without classes and targets")
    if weights is not None:
        require_same(predictions.shape[class_axis], len(weights), "classes and weights")
    by_class = numpy.moveaxis(predictions, class_axis, -1)
    count, counts = by_class.shape[-1], targets != call.ignore_index
    # Without classes every target is an error, even an ignored one.
    wrong = targets[(counts | (count == 0)) & ((targets < 0) | (targets >= count))]
    if wrong.size:
        raise IndexError(f"target {wrong[0]} is out of range for {count} classes")
    places = numpy.where(counts, targets, 0).astype(int)
    chosen = numpy.take_along_axis(by_class, places[..., None], axis=-1)[..., 0]
    of_targets = numpy.ones(targets.shape) if weights is None else weights[places]
    losses, parts = (numpy.where(counts, each, 0) for each in (-chosen * of_targets, of_targets))
    if call.reduction == "none":
        return losses
    return losses.sum() if call.reduction == "sum" else losses.sum() / parts.sum()
