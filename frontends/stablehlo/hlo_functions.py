# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the module of a StableHLO program: its public functions at the graph level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...bindings.context import load_dialects
from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import functions_in, has_body, symbol_name, text_in
from ...dialects.core.infos import TensorInfo
from ...emit.kernels import FreshSymbols
from ...support.errors import ModelError
from ..core.complex_numbers import in_pairs, of_pairs
from ..core.limits import Limits, Room
from ..core.main_function import add_function
from ..core.node import Unsupported
from ..core.problems import Problems
from ..core.values import ComplexValue, Tensor, Value
from .dimensions import Dimensions
from .hlo_graph import HloGraph
from .hlo_types import info_of, is_complex


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
    infos, names = _arguments(function, functions, symbols)
    result_names = _result_names(function)

    def body(arguments: Sequence[Tensor]) -> tuple[list[Tensor], list[str]]:
        graph = HloGraph(functions, problems, symbols, Room(Limits(), "from_stablehlo"))
        given = [
            of_pairs(argument) if is_complex(own.type) else Value(ssa=argument)
            for own, argument in zip(block.arguments, arguments, strict=True)
        ]
        outputs = graph.add_block(block, given)
        return [] if problems.found else [_as_tensor(each) for each in outputs], result_names

    add_function(module, symbol_name(function), infos, names, body, problems)


def _arguments(
    function: Operation, functions: dict[str, Operation], symbols: FreshSymbols
) -> tuple[list[TensorInfo], list[str]]:
    """The types and names of a function's arguments."""
    arguments = function.regions[0].blocks[0].arguments
    for index, argument in enumerate(arguments):
        try:
            info_of(argument.type)
        except Unsupported as problem:
            raise ModelError(f"argument #{index} of '{symbol_name(function)}': {problem.reason}") from None
    dimensions = Dimensions(function, functions, symbols)
    infos = []
    for index, argument in enumerate(arguments):
        info = dimensions.info(index)
        infos.append(info.with_shape([*(info.shape or ()), 2]) if is_complex(argument.type) else info)
    return infos, dimensions.names


def _result_names(function: Operation) -> list[str]:
    count = len(function.attributes["function_type"].value.results)
    given: list[Any] = list(function.attributes["res_attrs"]) if "res_attrs" in function.attributes else []
    names = [_name_in(each) for each in given] or [""] * count
    return [name if name and names.count(name) == 1 else f"result{index}" for index, name in enumerate(names)]


def _name_in(attributes: Any) -> str:
    """jax says where a result stands in what the function returns."""
    for each in attributes:
        if each.name == "jax.result_info" and isinstance(each.attr, ir.StringAttr):
            return str(each.attr.value).removeprefix("result")
    return ""


def _as_tensor(held: Any) -> Tensor:
    return in_pairs(held) if isinstance(held, ComplexValue) else held.ssa
