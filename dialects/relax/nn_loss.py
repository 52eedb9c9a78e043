# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses."""

from __future__ import annotations

from ..core.attributes import Int, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from .dialect import reduction_op
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import Shape, check_rank, same_shape, same_size


def cross_entropy_with_logits(call: Call) -> TensorInfo:
    check_dtype(call, "predictions", "float")
    check_same_dtype(call, "predictions", "labels")
    same_shape(call, "labels", call.predictions.shape, f"the shape of {call.describe('predictions')}")
    return TensorInfo((), call.predictions.dtype)


def nll_loss(call: Call) -> TensorInfo:
    check_dtype(call, "predictions", "float")
    check_dtype(call, "targets", "int")
    losses = _losses(call)
    if call.weights is not None:
        check_same_dtype(call, "predictions", "weights")
        check_rank(call, "weights", 1)
        same_size(call, "number of classes", predictions=0 if call.predictions.rank == 1 else 1, weights=0)
    return TensorInfo(losses if call.reduction == "none" else (), call.predictions.dtype)


def _losses(call: Call) -> Shape | None:
    """Return the targets' shape: the predictions' shape, [batch, classes, ...] or [classes], without classes."""
    shape: Shape | None = call.predictions.shape
    call.require(shape != (), f"{call.describe('predictions')} must be at least 1-D")
    without_classes = None if shape is None else () if len(shape) == 1 else (shape[0], *shape[2:])
    return same_shape(call, "targets", without_classes, f"the shape of {call.describe('predictions')} without classes")


reduction_op("nn.cross_entropy_with_logits", "predictions labels", flops=(2, "predictions"),
   infer=cross_entropy_with_logits,
   doc="Sum of -predictions * labels, divided by the batch size if there is a batch.")  # fmt: skip
reduction_op("nn.nll_loss", "predictions targets weights?", attrs={
          "reduction": Str("mean", choices=("none", "sum", "mean")),
          "ignore_index": Int(-100, doc="target to ignore")}, flops=(2, "targets"), infer=nll_loss,
   doc="Negative log likelihood of each target class, weighted by class, then reduced.")  # fmt: skip
