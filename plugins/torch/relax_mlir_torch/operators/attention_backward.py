# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of backward steps of attention, which recompute the weights of the values."""

from __future__ import annotations

from ..prelude import Outputs, TorchNode, gradients_by, register_torch

_FORWARD = "aten::_scaled_dot_product_flash_attention_for_cpu"


@register_torch(f"{_FORWARD}_backward")
def flash_attention_backward(node: TorchNode) -> Outputs:
    return gradients_by(node, _FORWARD, ("query", "key", "value"), [node.value("grad_out")])


@register_torch("aten::_scaled_dot_product_flash_attention_backward")
def flash_attention_backward_of_devices(node: TorchNode) -> Outputs:
    forward = "aten::_scaled_dot_product_flash_attention"
    return gradients_by(node, forward, ("query", "key", "value"), [node.value("grad_out")])


@register_torch(
    "aten::_scaled_dot_product_efficient_attention_backward",
    "aten::_scaled_dot_product_fused_attention_overrideable_backward",
)
def masked_attention_backward(node: TorchNode) -> Outputs:
    """Return the gradients that the node requests, also by the mask."""
    names = ("query", "key", "value", "attn_bias")
    wanted = [name for name, is_wanted in zip(names, node.get("grad_input_mask"), strict=True) if is_wanted]
    arriving = node.value("grad_out" if "grad_out" in node.arguments else "grad_out_")
    forward = node.op.rpartition(".")[0].removesuffix("_backward")
    made = dict(zip(wanted, gradients_by(node, forward, wanted, [arriving]), strict=True))
    return [made.get(name) for name in names]
