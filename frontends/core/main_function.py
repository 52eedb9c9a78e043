# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A function of the graph level that a front end fills."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...bindings.ir import Block, Operation
from ...bindings.mlir import ir
from ...dialects.core.codec import encode
from ...dialects.core.infos import TensorInfo
from ...dialects.core.ir_attributes import RESULT_NAMES
from ...dialects.relax.function_attributes import function_attributes
from .problems import Problems
from .values import Tensor

_MOVEMENTS = ("relax.permute_dims", "relax.broadcast_to", "relax.reshape")
#: `body(arguments)`: what a function returns, and what its results are called.
Body = Callable[[Sequence[Tensor]], tuple[Sequence[Tensor], Sequence[str]]]


def add_function(
    module: Operation,
    name: str,
    inputs: Sequence[TensorInfo],
    names: Sequence[str],
    body: Body,
    problems: Problems,
    place: str = "",
) -> Operation | None:
    """Adds a function to a module; None, and nothing is added, where there are problems afterwards.

    `names` are those of its arguments; `place` is what the model is called.
    """
    with module.context, ir.Location.name(place or name):
        types = [encode(info, module.context) for info in inputs]
        with ir.InsertionPoint(module.regions[0].blocks[0]):
            attributes = function_attributes(name, types, [], names)
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        block = function.regions[0].blocks.append(*types)
        try:
            with ir.InsertionPoint(block):
                results, result_names = body(list(block.arguments))
                ir.Operation.create("func.return", operands=list(results))
            _erase_unused_movements(block)
        except BaseException:
            function.erase()
            raise
        if problems.found:
            function.erase()
            return None
        type_ = ir.FunctionType.get(types, [value.type for value in results])
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
        function.attributes[RESULT_NAMES] = ir.ArrayAttr.get([ir.StringAttr.get(each) for each in result_names])
        return function


def _erase_unused_movements(block: Block) -> None:
    """Products read transposed matrices in place, elementwise operators what was broadcast: what nobody reads goes."""
    for view in reversed(list(block.operations)):
        operation = view.operation
        if operation.name in _MOVEMENTS and not any(True for _ in operation.result.uses):
            operation.erase()
