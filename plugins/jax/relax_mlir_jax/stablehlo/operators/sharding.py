# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardy's operations: constraints, and functions that are written for one device, as jax.shard_map writes them."""

from __future__ import annotations

from relax_mlir.bindings.mlir import ir
from relax_mlir_shard.collectives import ccl
from relax_mlir_shard.mesh import Mesh, Sharding, show, whole
from relax_mlir_shard.sdy_attributes import parse_axes

from ..prelude import HloNode, Outputs, register_stablehlo
from ..sdy_shardings import shardings_at
from .reductions import Held, of_parts


@register_stablehlo("sdy.sharding_constraint")
def sharding_constraint(node: HloNode) -> Outputs:
    """Mark the operand. Loops have whole values, so that marks in their regions mean nothing."""
    (constraint,) = shardings_at(node.operation, node.attr("sharding"))
    if constraint.mesh.size == 1 or ir.InsertionPoint.current.block.owner.operation.name != "func.func":
        return list(node.inputs)
    return _view(node.held(0), constraint.mesh, constraint.sharding, constraint.sharding)


@register_stablehlo("sdy.manual_computation")
def manual_computation(node: HloNode) -> Outputs:
    """Build the region between views. Axes that are not manual divide nothing in it."""
    before = shardings_at(node.operation, node.attr("in_shardings"))
    after = shardings_at(node.operation, node.attr("out_shardings"))
    axes, meshes = parse_axes(node.attr("manual_axes")), {sharding.mesh for sharding in (*before, *after)}
    if all(mesh.size == 1 for mesh in meshes):
        return node.run_body([node.held(index) for index in range(len(node.inputs))])
    (mesh,) = meshes
    operands = []
    for index, sharding in enumerate(before):
        source = sharding.restrict(axes)
        operands.append(_view(node.held(index), mesh, source, whole(len(source))))
    results = []
    for value, sharding in zip(node.run_body(operands), after, strict=True):
        target = sharding.restrict(axes)
        results.append(_view(value, mesh, whole(len(target)), target))
    return results


def _view(value: Held, mesh: Mesh, source: Sharding, target: Sharding) -> Held:
    return of_parts(value, lambda x: ccl.view(x, mesh=str(mesh), source=show(source), target=show(target)))
