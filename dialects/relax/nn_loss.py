# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses."""

from __future__ import annotations

from ..core.attributes import Int, Str
from .dialect import op
from .infer.nn_loss import cross_entropy_with_logits, nll_loss

op(
    "nn.cross_entropy_with_logits",
    "predictions labels",
    infer=cross_entropy_with_logits,
    doc="The sum of -predictions * labels, divided by the batch size where there is a batch.",
)
op(
    "nn.nll_loss",
    "predictions targets weights?",
    attrs={
        "reduction": Str("mean", choices=("none", "sum", "mean")),
        "ignore_index": Int(-100, doc="the target left out"),
    },
    infer=nll_loss,
    doc="Negative log likelihood of each target class, weighted by class, then reduced.",
)
