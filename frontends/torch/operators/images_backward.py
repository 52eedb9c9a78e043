# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backward steps of resizing, sampling and padding of images."""

from __future__ import annotations

from ....passes.gradient.reverse import gradients_at
from ..prelude import Node, Outputs, Tensor, Value, const, gradients_by, register_torch, relax, sizes


@register_torch(
    "aten::upsample_nearest1d_backward", "aten::upsample_nearest2d_backward", "aten::upsample_nearest3d_backward",
    "aten::_upsample_nearest_exact1d_backward", "aten::_upsample_nearest_exact2d_backward",
    "aten::_upsample_nearest_exact3d_backward", "aten::upsample_linear1d_backward",
    "aten::upsample_bilinear2d_backward", "aten::upsample_trilinear3d_backward", "aten::upsample_bicubic2d_backward",
    "aten::_upsample_bilinear2d_aa_backward", "aten::_upsample_bicubic2d_aa_backward",
)  # fmt: skip
def resizing_backward(node: Node) -> Outputs:
    """Resizing is linear: what the image was does not matter."""
    image = Value(ssa=sizes.zeros(node.sizes("input_size"), node.dtype))
    forward = node.op.rpartition(".")[0].removesuffix("_backward")
    return gradients_by(node, forward, ("self",), [node.value("grad_output")], self=image)


@register_torch("aten::grid_sampler_2d_backward", "aten::grid_sampler_3d_backward")
def grid_sampler_backward(node: Node) -> Outputs:
    names = ("input", "grid")
    wanted = [name for name, is_wanted in zip(names, node.get("output_mask"), strict=True) if is_wanted]
    forward = node.op.rpartition(".")[0].removesuffix("_backward")
    made = dict(zip(wanted, gradients_by(node, forward, wanted, [node.value("grad_output")]), strict=True))
    return [made.get(name) for name in names]


@register_torch(
    "aten::replication_pad1d_backward", "aten::replication_pad2d_backward", "aten::replication_pad3d_backward"
)
def replication_pad_backward(node: Node) -> Outputs:
    """Of reading each dimension at indices that stop at its ends."""
    widths, x = node.ints("padding"), node.tensor("self")

    def padded(x: Tensor) -> Tensor:
        rank = x.type.rank
        for place in range(len(widths) // 2):
            x = _padded_along(x, rank - 1 - place, widths[2 * place], widths[2 * place + 1])
        return x

    return gradients_at([x], padded, node.tensor("grad_output"))


def _padded_along(x: Tensor, axis: int, before: int, after: int) -> Tensor:
    size = sizes.size_of(x, axis)
    places = relax.subtract(sizes.count_up(sizes.plus(size, before + after)), const(before, "i64"))
    last = relax.subtract(relax.reshape(sizes.as_tensor([size]), ()), const(1, "i64"))
    return relax.take(x, relax.minimum(relax.maximum(places, const(0, "i64")), last), axis=axis)
