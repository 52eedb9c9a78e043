# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that several devices do together, in modules for one device: jax writes them for meshes of one device."""

from __future__ import annotations

from ..prelude import HloNode, Outputs, const, register_stablehlo, sizes
from ..registry import SEVERAL_DEVICES


@register_stablehlo(
    "stablehlo.all_gather",
    "stablehlo.all_reduce",
    "stablehlo.all_to_all",
    "stablehlo.collective_broadcast",
    "stablehlo.reduce_scatter",
)
def among_one_device(node: HloNode) -> Outputs:
    """Return the operands: each group has one device. No group means one group of all devices."""
    groups = node.attr("replica_groups")
    if any(len(group) != 1 for group in groups) or (not groups and not _is_for_one_device(node)):
        raise node.fail(SEVERAL_DEVICES)
    return list(node.inputs)


@register_stablehlo("stablehlo.collective_permute")
def permuted_among_one_device(node: HloNode) -> Outputs:
    """Return the operand if the device sends to itself, else zeros, which a device without a sender receives."""
    pairs = node.attr("source_target_pairs")
    if not _is_for_one_device(node):
        raise node.fail(SEVERAL_DEVICES)
    return list(node.inputs) if pairs else sizes.zeros(node.sizes_of_operand(0), node.dtype)


@register_stablehlo("stablehlo.partition_id", "stablehlo.replica_id")
def place_of_one_device(node: HloNode) -> Outputs:
    if not _is_for_one_device(node):
        raise node.fail(SEVERAL_DEVICES)
    return const(0, node.dtype)


def _is_for_one_device(node: HloNode) -> bool:
    """Check whether the module says that its program is for one device."""
    return node.device_counts() == [1, 1]
