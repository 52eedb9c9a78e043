# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Placements of distributed tensors (torch.distributed.tensor) as shardings of a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.support.errors import ModelError
from relax_mlir_shard.mesh import Mesh, Sharding
from relax_mlir_shard.relax_localize import MESH, annotate_values


def annotate_placements(function: Operation, arguments: Sequence[Any], results: Sequence[Any]) -> None:
    """Write the mesh and the shardings of a graph's nodes to the function, if some are distributed tensors."""
    tensors = [getattr(fx, "meta", {}).get("val") for fx in (*arguments, *results)]
    meshes = {_mesh_of(tensor) for tensor in tensors if hasattr(tensor, "placements")}
    if len(meshes) > 1:
        raise ModelError(f"tensors have the meshes {' and '.join(sorted(map(str, meshes)))}, and a program has one")
    for mesh in meshes:
        function.attributes[MESH] = ir.StringAttr.get(str(mesh), function.context)
        shardings = [_sharding_of(tensor, mesh) for tensor in tensors]
        annotate_values(function, "arg_attrs", shardings[: len(arguments)])
        annotate_values(function, "res_attrs", shardings[len(arguments) :])


def _mesh_of(tensor: Any) -> Mesh:
    mesh = tensor.device_mesh
    ranks = mesh.mesh.flatten().tolist()
    if ranks != list(range(len(ranks))):
        raise ModelError(f"the mesh has the ranks {ranks}: expected them in order, from 0")
    names = mesh.mesh_dim_names or [f"axis{index}" for index in range(mesh.ndim)]
    return Mesh.from_sizes(dict(zip(names, mesh.mesh.shape, strict=True)))


def _sharding_of(tensor: Any, mesh: Mesh) -> Sharding | None:
    """Return the sharding of a distributed tensor. Partial sums are left to the planner."""
    if not hasattr(tensor, "placements") or any(placement.is_partial() for placement in tensor.placements):
        return None
    sharding: list[tuple[str, ...]] = [()] * tensor.ndim
    for (axis, _), placement in zip(mesh.axes, tensor.placements, strict=True):
        if type(placement).__name__ not in ("Shard", "Replicate"):
            raise ModelError(f"a tensor has the placement {placement}: expected Shard or Replicate")
        if placement.is_shard():
            sharding[placement.dim] = (*sharding[placement.dim], axis)
    return tuple(sharding)
