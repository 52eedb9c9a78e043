# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of backward steps of pools. Maxima have indices; averages use the gradient rule of their operator."""

from __future__ import annotations

from ..prelude import Outputs, TorchNode, backward_of, gradients_by, register_rows, register_torch, relax, sizes
from .pools import count_of


@register_torch(
    "aten::max_pool2d_with_indices_backward", "aten::max_pool3d_with_indices_backward",
    "aten::adaptive_max_pool2d_backward", "aten::adaptive_max_pool3d_backward",
    "aten::fractional_max_pool2d_backward", "aten::fractional_max_pool3d_backward",
)  # fmt: skip
def maxima_backward(node: TorchNode) -> Outputs:
    """Add each gradient at its maximum's index in the channel's image. Windows may overlap."""
    count = count_of(node)
    own, pooled = sizes.sizes_of(node.value("self")), sizes.sizes_of(node.value("grad_output"))
    lead, flat = sizes.product(own[:-count]), sizes.product(pooled[-count:])
    arriving, places = (sizes.reshaped(node.tensor(name), [lead, flat]) for name in ("grad_output", "indices"))
    zeros = sizes.zeros([lead, sizes.product(own[-count:])], node.dtype)
    return sizes.reshaped(relax.scatter_elements(zeros, places, arriving, axis=1, reduction="add"), own)


@register_torch("aten::_adaptive_avg_pool2d_backward", "aten::_adaptive_avg_pool3d_backward")
def adaptive_means_backward(node: TorchNode) -> Outputs:
    arriving = node.value("grad_output")
    wanted = sizes.sizes_of(arriving)[-count_of(node) :]
    forward = node.op.rpartition(".")[0].removesuffix("_backward")
    return gradients_by(node, forward, ["self"], [arriving], output_size=wanted)


for _name in ("avg_pool2d", "avg_pool3d"):
    register_rows({f"aten::{_name}_backward": backward_of(f"aten::{_name}", "self")})
