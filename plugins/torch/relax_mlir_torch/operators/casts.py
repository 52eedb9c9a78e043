# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of element types. The target decides about devices and memory layouts."""

from __future__ import annotations

from ..prelude import Outputs, TorchNode, register_torch


@register_torch(
    "aten::_to_copy", "aten::to", "aten::type_as", "prims::convert_element_type", "aten::float", "aten::int",
    "aten::_cast_Float", "aten::_autocast_to_reduced_precision", "aten::_autocast_to_full_precision",
)  # fmt: skip
def converted(node: TorchNode) -> Outputs:
    return node.tensor(0, node.dtype)
