# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers of the Python tests: build one operator in a fresh function and inspect the result."""

from __future__ import annotations

import functools
import io
from typing import Any

from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.dialects.core.codec import decode, encode
from relax_mlir.dialects.core.dialect import find_op
from relax_mlir.dialects.core.infos import Info


@functools.lru_cache(maxsize=1)
def shared_context() -> Any:
    """Return the context for operators of tests: making one takes ten times as long as an operator."""
    return create_context()


def build_function(op_name: str, *operands: Any, **arguments: Any) -> Any:
    """Return a verified module with one function that applies the operator to function arguments.

    An info becomes a function argument, and a list of infos a list of arguments. Anything else is passed unchanged.
    """
    context = shared_context()
    infos = [info for item in operands for info in (item if isinstance(item, list) else [item]) if _is_info(info)]
    with context, ir.Location.unknown():
        module = ir.Module.create()
        types = [encode(info, context) for info in infos]
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                    "sym_visibility": ir.StringAttr.get("private"),
                },
                regions=1,
            )
        block = function.regions[0].blocks.append(*types)
        values = iter(block.arguments)

        def take(item: Any) -> Any:
            return next(values) if _is_info(item) else item

        with ir.InsertionPoint(block):
            built = [[take(part) for part in item] if isinstance(item, list) else take(item) for item in operands]
            find_op(op_name)(*built, **arguments)
            ir.Operation.create("func.return")
        module.operation.verify()
    return module


def built_op(module: Any) -> Any:
    """Return the operation before the function's return."""
    block = module.body.operations[0].regions[0].blocks[0]
    return block.operations[len(block.operations) - 2]


def infer(op_name: str, *operands: Any, **arguments: Any) -> list[Info]:
    """Return the inferred results of an operator, after a round trip of text and bytecode."""
    module = build_function(op_name, *operands, **arguments)
    text = str(module)
    with module.context:
        assert str(ir.Module.parse(text)) == text
        stream = io.BytesIO()
        module.operation.write_bytecode(stream)
        assert str(ir.Module.parse(stream.getvalue())) == text
    return [decode(result.type) for result in built_op(module).operation.results]


def _is_info(item: Any) -> bool:
    return hasattr(item, "_fields")
