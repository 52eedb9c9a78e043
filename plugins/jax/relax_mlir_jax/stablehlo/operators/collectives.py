# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that several devices do together. jax writes them for meshes of one device, too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
from relax_mlir.bindings.navigation import operations_of
from relax_mlir_shard.collectives import ccl, exchange_along

from ..prelude import HloNode, Outputs, Tensor, Value, cast, register_stablehlo, relax, sizes
from ..registry import SEVERAL_DEVICES
from .bodies import combined
from .reductions import of_parts

#: Kinds of combiners. Booleans are numbers, 0 and 1.
_KINDS = {"sum": "sum", "prod": "prod", "max": "max", "min": "min", "any": "max", "all": "min"}


def _convert(node: HloNode, collective: Callable[..., Tensor], **options: Any) -> Outputs:
    """Return the results of a collective for each operand. In groups of one device they are the operands."""
    groups = node.attr("replica_groups")
    if groups and all(len(group) == 1 for group in groups):
        return list(node.inputs)
    count = _device_count(node)
    groups = groups or [list(range(count))]
    if sorted(rank for group in groups for rank in group) != list(range(count)) or len(set(map(len, groups))) > 1:
        raise node.fail(f"its groups {groups} do not divide the {count} devices of the module into equal parts")
    ranks = [rank for group in groups for rank in group]
    if count == 1:
        return list(node.inputs)
    options = {"groups": ranks, "group_size": len(groups[0]), **options}
    return [of_parts(node.held(index), lambda x: collective(x, **options)) for index in range(len(node.inputs))]


def _kind(node: HloNode) -> str:
    body = node.body()
    for operation in operations_of(body):
        if operation.name == "sdy.sharding_constraint":
            operation.results[0].replace_all_uses_with(operation.operands[0])
            operation.erase()
    kinds = {_KINDS.get(combined(body, index, len(node.inputs)), "") for index in range(len(node.inputs))}
    if len(kinds) > 1 or "" in kinds or (node.is_complex and kinds != {"sum"}):
        raise node.fail("it combines elements by another function than a sum, product, maximum or minimum")
    return kinds.pop()


@register_stablehlo("stablehlo.all_reduce")
def all_reduce(node: HloNode) -> Outputs:
    return _convert(node, ccl.all_reduce, kind=_kind(node))


@register_stablehlo("stablehlo.all_gather")
def all_gather(node: HloNode) -> Outputs:
    return _convert(node, ccl.all_gather, axis=node.attr("all_gather_dim"))


@register_stablehlo("stablehlo.reduce_scatter")
def reduce_scatter(node: HloNode) -> Outputs:
    return _convert(node, ccl.reduce_scatter, axis=node.attr("scatter_dimension"), kind=_kind(node))


@register_stablehlo("stablehlo.collective_broadcast")
def collective_broadcast(node: HloNode) -> Outputs:
    return _convert(node, ccl.broadcast)


@register_stablehlo("stablehlo.all_to_all")
def all_to_all(node: HloNode) -> Outputs:
    split, joined = node.attr("split_dimension"), node.attr("concat_dimension")
    if split == joined:
        return _convert(node, exchange_along, axis=split)
    return _convert(node, ccl.all_to_all, split_axis=split, concat_axis=joined)


@register_stablehlo("stablehlo.collective_permute")
def collective_permute(node: HloNode) -> Outputs:
    """Send the operand. A device without a sender receives zeros."""
    pairs = node.attr("source_target_pairs")
    if _device_count(node) == 1:
        return list(node.inputs) if pairs else sizes.zeros(node.sizes_of_operand(0), node.dtype)
    ranks = [rank for pair in pairs for rank in pair]
    return of_parts(node.held(0), lambda x: ccl.permute(x, pairs=ranks))


@register_stablehlo("stablehlo.partition_id", "stablehlo.replica_id")
def device_number(node: HloNode) -> Outputs:
    """Return this rank's part of all numbers."""
    count = _device_count(node)
    numbers = numpy.arange(count if _is_along(node) else 1)
    options = {"groups": list(range(count)), "group_size": count}
    number = ccl.part(relax.const(numbers), axis=0, **options) if len(numbers) > 1 else relax.const(numbers)
    return Value(ssa=cast(relax.squeeze(number, axis=[0]), node.dtype))


def _is_along(node: HloNode) -> bool:
    """Return True if devices differ in the number that the operation returns."""
    return node.device_counts()[node.op == "stablehlo.replica_id"] > 1


def _device_count(node: HloNode) -> int:
    """Return the number of devices that the module states: partitions or replicas."""
    counts = node.device_counts()
    if 1 not in counts or len(counts) < 2:
        raise node.fail(SEVERAL_DEVICES)
    return math.prod(counts)
