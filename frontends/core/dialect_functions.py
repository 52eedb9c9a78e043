# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Construction of the relax module of an MLIR program: its public functions at the graph level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...bindings.context import load_dialects
from ...bindings.ir import Operation
from ...bindings.navigation import functions_in, has_body, symbol_name, text_in
from ...dialects.core.infos import TensorInfo
from ...emit.kernels import FreshSymbols
from ...support.errors import ModelError
from .complex_numbers import in_pairs
from .dialect_graph import DialectGraph
from .limits import Limits, Room
from .main_function import add_function
from .node import Unsupported
from .problems import Problems
from .values import ComplexValue, Tensor, Value


class FunctionSignature(NamedTuple):
    """Types and names of a function's arguments, and names of its results."""

    infos: list[TensorInfo]
    names: list[str]
    result_names: list[str]


#: `signature(function, functions of the program by name, names of free sizes)`.
SignatureOf = Callable[[Operation, dict[str, Operation], FreshSymbols], FunctionSignature]


def add_functions(
    module: Operation,
    program: Operation,
    problems: Problems,
    graph_class: type[DialectGraph],
    signature_of: SignatureOf,
    front_end: str,
) -> None:
    """Add the public functions of a program to a module of the same context.

    Operations that cannot be imported are added to `problems`. `front_end` is the name of the called function, for
    messages.
    """
    load_dialects(module.context, ("scf", "tensor"))
    functions = {symbol_name(each): each for each in functions_in(program)}
    public = [each for each in functions.values() if has_body(each) and text_in(each, "sym_visibility") != "private"]
    if not public:
        raise ModelError("the module has no public function with a body")
    for function in public:
        _check_arguments(function, graph_class)
        symbols = FreshSymbols(module)
        signature = signature_of(function, functions, symbols)
        graph = graph_class(functions, problems, symbols, Room(Limits(), front_end))
        _add_function(module, function, graph, signature)


def _check_arguments(function: Operation, graph_class: type[DialectGraph]) -> None:
    for index, argument in enumerate(function.regions[0].blocks[0].arguments):
        try:
            graph_class.node_class.info_of(argument.type)
        except Unsupported as problem:
            raise ModelError(f"argument #{index} of '{symbol_name(function)}': {problem.reason}") from None


def _add_function(module: Operation, function: Operation, graph: DialectGraph, signature: FunctionSignature) -> None:
    block = function.regions[0].blocks[0]

    def body(arguments: Sequence[Tensor]) -> tuple[list[Tensor], list[str]]:
        pairs = zip(arguments, block.arguments, strict=True)
        outputs = graph.add_block(block, [graph.argument(argument, own.type) for argument, own in pairs])
        if graph.problems.found:
            return [], signature.result_names
        return [_as_tensor(function, index, output) for index, output in enumerate(outputs)], signature.result_names

    add_function(module, symbol_name(function), signature.infos, signature.names, body, graph.problems)


def _as_tensor(function: Operation, index: int, held: object) -> Tensor:
    if isinstance(held, ComplexValue):
        return in_pairs(held)
    if not isinstance(held, Value):
        raise ModelError(f"result #{index} of '{symbol_name(function)}' is not a tensor: return its parts instead")
    return held.ssa
