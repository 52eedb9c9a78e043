# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functional collectives of torch. Their groups must divide a mesh, because a program is for all ranks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy
import relax_mlir as rx
from relax_mlir import relax
from relax_mlir.bindings.ir import Value
from relax_mlir.support.errors import OptionError

from .collectives import KINDS, ccl, exchange_along

_NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd")


def _register(name: str) -> Any:
    return rx.register_torch(*(f"{namespace}::{name}.default" for namespace in _NAMESPACES))


def mesh_groups(ranks: Sequence[int], size: int) -> list[list[int]]:
    """Return the groups of all ranks, if one of them is `ranks`, along a dimension of a mesh."""
    count = len(ranks)
    step = ranks[1] - ranks[0] if count > 1 else 1
    groups = [[start + step * index for index in range(count)]
              for outer in range(0, size, max(step * count, 1)) for start in range(outer, outer + step)]  # fmt: skip
    if list(ranks) not in groups or sorted(itertools.chain(*groups)) != list(range(size)):
        raise OptionError(
            f"its group has the ranks {list(ranks)} of {size}: expected those along a dimension of a mesh"
        )
    return groups


def _group_attributes(node: Any) -> dict[str, Any]:
    import torch.distributed as distributed

    name = node.get("group_name")
    if not distributed.is_initialized():
        raise node.fail(f"group '{name}' is unknown: call torch.distributed.init_process_group as its program did")
    try:
        group = distributed.distributed_c10d._resolve_process_group(name)
        groups = mesh_groups(distributed.get_process_group_ranks(group), distributed.get_world_size())
    except (OptionError, RuntimeError, ValueError, LookupError) as error:
        raise node.fail(f"group '{name}': {error}") from None
    return {"groups": [rank for members in groups for rank in members], "group_size": len(groups[0])}


def _combine(node: Any, x: Value, collective: Any, **options: Any) -> Value:
    """Return the result of a collective with the node's kind. An average is a sum, divided by the ranks."""
    kind, groups = {"product": "prod"}.get(name := node.get("reduce_op"), name), _group_attributes(node)
    if kind not in (*KINDS, "avg"):
        raise node.fail(f"reduce_op is '{name}', expected sum, avg, product, max or min")
    total = collective(x, kind="sum" if kind == "avg" else kind, **options, **groups)
    if kind != "avg":
        return total
    count = relax.astype(relax.const(numpy.float32(groups["group_size"])), dtype=node.dtype)
    return relax.divide(total, count)


@_register("wait_tensor")
def wait_tensor(node: Any) -> Any:
    return node.tensor(0)


@_register("all_reduce")
def all_reduce(node: Any) -> Any:
    return _combine(node, node.tensor("input"), ccl.all_reduce)


@_register("reduce_scatter_tensor")
def reduce_scatter_tensor(node: Any) -> Any:
    return _combine(node, node.tensor("input"), ccl.reduce_scatter, axis=0)


@_register("all_gather_into_tensor")
def all_gather_into_tensor(node: Any) -> Any:
    return ccl.all_gather(node.tensor("input"), axis=0, **_group_attributes(node))


@_register("broadcast")
def broadcast(node: Any) -> Any:
    return ccl.broadcast(node.tensor("input"), root=node.int("src"), **_group_attributes(node))


@_register("all_to_all_single")
def all_to_all_single(node: Any) -> Any:
    splits = [*node.get("input_split_sizes"), *node.get("output_split_sizes")]
    if any(size != splits[0] for size in splits):
        raise node.fail(f"its parts have the sizes {splits}, which other ranks may not have: expected equal parts")
    return exchange_along(node.tensor("input"), 0, **_group_attributes(node))
