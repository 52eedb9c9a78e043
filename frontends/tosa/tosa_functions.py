# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the module of a TOSA program: its public functions at the graph level."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.context import load_dialects
from ...bindings.diagnostics import locate
from ...bindings.ir import Block, Operation
from ...bindings.mlir import ir
from ...bindings.navigation import functions_in, has_body, symbol_name, text_in
from ...dialects.core.infos import TensorInfo
from ...dialects.core.symbols import sym
from ...emit.kernels import FreshSymbols
from ...support.errors import ModelError
from ..core.limits import Limits, Room
from ..core.main_function import add_function
from ..core.node import Unsupported
from ..core.problems import Problems
from ..core.values import Tensor, Value
from .tosa_graph import TosaGraph
from .tosa_types import info_of


def add_functions(module: Operation, program: Operation, problems: Problems) -> None:
    """Adds the public functions of a program to a module of the same context; what cannot be imported is in `problems`
    afterwards.
    """
    load_dialects(module.context, ("scf", "tensor"))
    functions = {symbol_name(each): each for each in functions_in(program)}
    public = [each for each in functions.values() if has_body(each) and text_in(each, "sym_visibility") != "private"]
    if not public:
        raise ModelError("the module has no public function with a body")
    for function in public:
        _add_function(module, function, functions, problems)


def _add_function(module: Operation, function: Operation, functions: dict[str, Operation], problems: Problems) -> None:
    block = function.regions[0].blocks[0]
    symbols = FreshSymbols(module)
    count = len(function.attributes["function_type"].value.results)

    def body(arguments: Sequence[Tensor]) -> tuple[list[Tensor], list[str]]:
        graph = TosaGraph(functions, problems, symbols, Room(Limits(), "from_tosa"))
        outputs = graph.add_block(block, [Value(ssa=each) for each in arguments])
        names = _names(function, "res_attrs", [f"result{index}" for index in range(count)])
        return [] if problems.found else [each.ssa for each in outputs], names

    infos = _argument_infos(function, block, symbols)
    add_function(module, symbol_name(function), infos, _argument_names(function, block), body, problems)


def _argument_infos(function: Operation, block: Block, symbols: FreshSymbols) -> list[TensorInfo]:
    """A dynamic size gets a name."""
    infos = []
    for index, argument in enumerate(block.arguments):
        try:
            info = info_of(argument.type)
        except Unsupported as problem:
            raise ModelError(f"argument #{index} of '{symbol_name(function)}': {problem.reason}") from None
        infos.append(info.with_shape([sym(symbols.next()) if size is None else size for size in info.shape or ()]))
    return infos


def _argument_names(function: Operation, block: Block) -> list[str]:
    located = [locate(argument.location)[3] for argument in block.arguments]
    otherwise = [name if name.isidentifier() else f"arg{index}" for index, name in enumerate(located)]
    return _names(function, "arg_attrs", otherwise)


def _names(function: Operation, key: str, otherwise: list[str]) -> list[str]:
    """What exporters call the arguments or the results: `tosa.tensor_name`, or TensorFlow's."""
    given = [_name_in(each) for each in function.attributes[key]] if key in function.attributes else []
    names = [name or own for name, own in zip(given or otherwise, otherwise, strict=True)]
    return names if len(set(names)) == len(names) else otherwise


def _name_in(attributes: ir.DictAttr) -> str:
    known = ("tosa.tensor_name", "ml_program.identifier", "tf_saved_model.index_path")
    found = [each.attr for each in attributes if each.name in known and isinstance(each.attr, ir.StringAttr)]
    return str(found[0].value) if found else ""
