# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses."""

from __future__ import annotations

from typing import Any

from ..prelude import Node, Outputs, Tensor, register_onnx, relax


@register_onnx("", "NegativeLogLikelihoodLoss")
def nll_loss(node: Node) -> Outputs:
    return _nll_loss(node, node.tensor(0))


@register_onnx("", "SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(node: Node) -> Outputs:
    """The loss, and the logarithms of the probabilities."""
    log_probabilities = relax["nn.log_softmax"](node.tensor(0), axis=1)
    return [_nll_loss(node, log_probabilities), log_probabilities][: node.output_count]


def _nll_loss(node: Node, log_probabilities: Any) -> Tensor:
    reduction = node.choice("reduction", "mean", ("none", "sum", "mean"))
    operands = [log_probabilities, node.tensor(1), *([node.tensor(2)] if node.has(2) else [])]
    # Relax's default for the target that is left out is no class either.
    return relax["nn.nll_loss"](*operands, reduction=reduction, ignore_index=node.int("ignore_index", -100))
