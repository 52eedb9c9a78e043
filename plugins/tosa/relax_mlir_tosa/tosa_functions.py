# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module construction for a TOSA program: its public functions at the graph level."""

from __future__ import annotations

from relax_mlir.bindings.diagnostics import locate
from relax_mlir.bindings.ir import Block, Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import sym
from relax_mlir.emit.kernels import FreshSymbols
from relax_mlir.frontends.core import dialect_functions
from relax_mlir.frontends.core.dialect_functions import FunctionSignature
from relax_mlir.frontends.core.problems import Problems

from .tosa_graph import TosaGraph
from .tosa_types import info_of


def add_functions(module: Operation, program: Operation, problems: Problems) -> None:
    """Add the public functions of a program to a module of the same context.

    Operations that cannot be imported are recorded in `problems`.
    """
    dialect_functions.add_functions(module, program, problems, TosaGraph, _signature, "from_tosa")


def _signature(function: Operation, functions: dict[str, Operation], symbols: FreshSymbols) -> FunctionSignature:
    block = function.regions[0].blocks[0]
    results = [f"result{index}" for index in range(len(function.attributes["function_type"].value.results))]
    return FunctionSignature(
        [_argument_info(argument.type, symbols) for argument in block.arguments],
        _argument_names(function, block),
        _names(function, "res_attrs", results),
    )


def _argument_info(type_: Type, symbols: FreshSymbols) -> TensorInfo:
    """Return the type of an argument with new symbols for dynamic sizes."""
    info = info_of(type_)
    return info.with_shape([sym(symbols.next()) if size is None else size for size in info.shape or ()])


def _argument_names(function: Operation, block: Block) -> list[str]:
    located = [locate(argument.location)[3] for argument in block.arguments]
    otherwise = [name if name.isidentifier() else f"arg{index}" for index, name in enumerate(located)]
    return _names(function, "arg_attrs", otherwise)


def _names(function: Operation, key: str, otherwise: list[str]) -> list[str]:
    """Return the exporter's names of arguments or results: `tosa.tensor_name`, or TensorFlow's attribute."""
    given = [_name_in(each) for each in function.attributes[key]] if key in function.attributes else []
    names = [name or own for name, own in zip(given or otherwise, otherwise, strict=True)]
    return names if len(set(names)) == len(names) else otherwise


def _name_in(attributes: ir.DictAttr) -> str:
    known = ("tosa.tensor_name", "ml_program.identifier", "tf_saved_model.index_path")
    attrs = [
        attribute.attr
        for attribute in attributes
        if attribute.name in known and isinstance(attribute.attr, ir.StringAttr)
    ]
    return str(attrs[0].value) if attrs else ""
