# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of backward steps of resizing, sampling and padding of images."""

from __future__ import annotations

from ..prelude import Outputs, TorchNode, Value, backward_of, gradients_by, register_rows, register_torch, sizes


@register_torch(
    "aten::upsample_nearest1d_backward", "aten::upsample_nearest2d_backward", "aten::upsample_nearest3d_backward",
    "aten::_upsample_nearest_exact1d_backward", "aten::_upsample_nearest_exact2d_backward",
    "aten::_upsample_nearest_exact3d_backward", "aten::upsample_linear1d_backward",
    "aten::upsample_bilinear2d_backward", "aten::upsample_trilinear3d_backward", "aten::upsample_bicubic2d_backward",
    "aten::_upsample_bilinear2d_aa_backward", "aten::_upsample_bicubic2d_aa_backward",
)  # fmt: skip
def resizing_backward(node: TorchNode) -> Outputs:
    """Convert a backward step of resizing. Resizing is linear, so the image's elements do not matter."""
    image = Value(ssa=sizes.zeros(node.sizes("input_size"), node.dtype))
    forward = node.op.rpartition(".")[0].removesuffix("_backward")
    return gradients_by(node, forward, ("self",), [node.value("grad_output")], self=image)


@register_torch("aten::grid_sampler_2d_backward", "aten::grid_sampler_3d_backward")
def grid_sampler_backward(node: TorchNode) -> Outputs:
    names = ("input", "grid")
    wanted = [name for name, is_wanted in zip(names, node.get("output_mask"), strict=True) if is_wanted]
    forward = node.op.rpartition(".")[0].removesuffix("_backward")
    made = dict(zip(wanted, gradients_by(node, forward, wanted, [node.value("grad_output")]), strict=True))
    return [made.get(name) for name in names]


for _pad in [f"{way}_pad{count}d" for way in ("replication", "reflection") for count in (1, 2, 3)]:
    register_rows({f"aten::{_pad}_backward": backward_of(f"aten::{_pad}", "self")})
