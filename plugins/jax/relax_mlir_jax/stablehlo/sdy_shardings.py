# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes and shardings of Shardy's dialect in a program. Only programs with a mesh import this module."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, functions_in, last_of, operations_of, symbol_name
from relax_mlir.frontends.core.node import Unsupported
from relax_mlir.support.errors import ModelError, OptionError
from relax_mlir_shard.factors import shape_of
from relax_mlir_shard.mesh import Mesh, Sharding
from relax_mlir_shard.relax_localize import MESH, annotate_values
from relax_mlir_shard.sdy_attributes import MeshSharding, parse_mesh, parse_sharding, parse_shardings

#: Attribute of arguments and results.
_SHARDING = "sdy.sharding"


def shardings_at(operation: Operation, text: str) -> list[MeshSharding]:
    """Return the shardings in the text of an attribute of an operation in a module."""
    while operation.name != "builtin.module":
        operation = operation.parent
    try:
        return parse_shardings(text, _meshes_in(operation))
    except OptionError as error:
        raise Unsupported(error.message) from None


def _meshes_in(module: Operation) -> Mapping[str, Mesh]:
    views = [operation.attributes for operation in operations_of(body_of(module)) if operation.name == "sdy.mesh"]
    # Portable artifacts have lost the attributes.
    views = [attributes for attributes in views if "mesh" in attributes]
    return {attributes["sym_name"].value: parse_mesh(attributes["mesh"].value) for attributes in views}


def copy_shardings(program: Operation, module: Operation) -> None:
    """Copy the mesh, and the shardings of arguments and results, from functions of a program to a module's."""
    meshes = {mesh for mesh in _meshes_in(program).values() if mesh.size > 1}
    if len(meshes) > 1:
        raise ModelError(f"the module has the meshes {' and '.join(sorted(map(str, meshes)))}, and a program has one")
    sources = {symbol_name(function): function for function in functions_in(program)}
    for function, mesh in itertools.product(functions_in(module), meshes):
        function.attributes[MESH] = ir.StringAttr.get(str(mesh), module.context)
        source = sources[symbol_name(function)]
        annotate_values(function, "arg_attrs", _shardings_of(source, "arg_attrs", body_of(function).arguments))
        annotate_values(function, "res_attrs", _shardings_of(source, "res_attrs", last_of(body_of(function)).operands))


def _shardings_of(function: Operation, name: str, values: Sequence[Value]) -> list[Sharding | None]:
    """Return the shardings of arguments or results. Complex numbers have an additional last dimension."""
    annotated = list(function.attributes[name]) if name in function.attributes else [{}] * len(values)
    shardings: list[Sharding | None] = []
    meshes = _meshes_in(function.parent)
    for value, attributes in zip(values, annotated, strict=True):
        if _SHARDING not in attributes:
            shardings.append(None)
            continue
        one = parse_sharding(str(attributes[_SHARDING]), meshes)
        shardings.append((*one.sharding, *[()] * (len(shape_of(value)) - len(one.sharding))))
    return shardings
