# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module construction for a StableHLO program: its public functions at the graph level."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import body_of, operations_of
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core import dialect_functions
from relax_mlir.frontends.core.dialect_functions import FunctionSignature
from relax_mlir.frontends.core.problems import Problems

from .dimensions import Dimensions
from .hlo_graph import HloGraph
from .hlo_types import is_complex


def add_functions(module: Operation, program: Operation, problems: Problems) -> None:
    """Add the public functions of a program to a module of the same context.

    Operations that cannot be imported are recorded in `problems`.
    """
    dialect_functions.add_functions(module, program, problems, HloGraph, _signature, "from_stablehlo")
    if any(operation.name == "sdy.mesh" for operation in operations_of(body_of(program))):
        from .sdy_shardings import copy_shardings

        copy_shardings(program, module)


def _signature(function: Operation, functions: dict[str, Operation], symbols: FreshSymbols) -> FunctionSignature:
    dimensions = Dimensions(function, functions, symbols)
    arguments = function.regions[0].blocks[0].arguments
    infos = [_argument_info(dimensions.info(index), argument.type) for index, argument in enumerate(arguments)]
    return FunctionSignature(infos, dimensions.names, _result_names(function))


def _argument_info(info: TensorInfo, type_: Type) -> TensorInfo:
    """Return the type of an argument. Complex numbers are pairs in an additional last dimension."""
    return info.with_shape([*(info.shape or ()), 2]) if is_complex(type_) else info


def _result_names(function: Operation) -> list[str]:
    count = len(function.attributes["function_type"].value.results)
    dict_attrs: list[ir.DictAttr] = list(function.attributes["res_attrs"]) if "res_attrs" in function.attributes else []
    names = [_name_in(dict_attr) for dict_attr in dict_attrs] or [""] * count
    return [name if name and names.count(name) == 1 else f"result{index}" for index, name in enumerate(names)]


def _name_in(attributes: ir.DictAttr) -> str:
    """Return the position of a result in the function's output, which jax records, or ""."""
    for attribute in attributes:
        if attribute.name == "jax.result_info" and isinstance(attribute.attr, ir.StringAttr):
            return str(attribute.attr.value).removeprefix("result")
    return ""
