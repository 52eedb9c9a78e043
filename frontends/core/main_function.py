# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Creation of a graph-level function by a front end."""

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
#: `body(arguments)` returns the results of a function, and their names.
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
    """Add a function to a module. If there are problems afterwards, return None and add nothing.

    `names` are the names of the arguments; `place` is the name of the model.
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
        function.attributes[RESULT_NAMES] = ir.ArrayAttr.get(
            [ir.StringAttr.get(result_name) for result_name in result_names]
        )
        return function


def _erase_unused_movements(block: Block) -> None:
    """Erase data movements without users.

    Products read transposed matrices in place, and elementwise operators broadcast their operands themselves.
    """
    for view in reversed(list(block.operations)):
        operation = view.operation
        if operation.name in _MOVEMENTS and not any(True for _ in operation.result.uses):
            operation.erase()
