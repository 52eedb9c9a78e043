# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converter of backward steps of convolutions. The gradient rule of the forward operator makes convolutions of them."""

from __future__ import annotations

from ..prelude import Outputs, TorchNode, gradients_by, register_torch, relax


@register_torch("aten::convolution_backward", "aten::convolution_backward_overrideable")
def convolution_backward(node: TorchNode) -> Outputs:
    """Return the requested gradients by data, weight and bias."""
    by_data, by_weight, by_bias = node.get("output_mask")
    names = [name for name, is_wanted in (("input", by_data), ("weight", by_weight)) if is_wanted]
    tensors = gradients_by(node, "aten::convolution", names, [node.value("grad_output")], bias=None)
    found = dict(zip(names, tensors, strict=True))
    bias = None
    if by_bias:
        arriving = node.tensor("grad_output")
        bias = relax.sum(arriving, axis=[axis for axis in range(arriving.type.rank) if axis != 1])
    return [found.get("input"), found.get("weight"), bias]
