# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs relax-canonicalize on a function and compares what it returns before and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreted import function_of, run_function, same
from relax_mlir.bindings.mlir import ir
from relax_mlir.passes.relax_canonicalize import Canonicalize

import relax_mlir as rx


def changes_nothing(type_: str, array: Any, build: Callable[[Any], list[Any]]) -> int:
    """Checks that canonicalization keeps what the function of one parameter returns; says how many operators go."""
    module = rx.Module()
    with module:
        tensor = ir.Type.parse(type_)
        attributes = {"sym_name": ir.StringAttr.get("main")}
        attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([tensor], []))
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        block = function.regions[0].blocks.append(tensor)
        with ir.InsertionPoint(block):
            results = build(block.arguments[0])
            ir.Operation.create("func.return", operands=results)
        signature = ir.FunctionType.get([tensor], [value.type for value in results])
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
    module.verify()
    expected = run_function(module, [array])
    before = count_operators(function)
    Canonicalize()(module)
    for index, (one, other) in enumerate(zip(expected, run_function(module, [array]), strict=True)):
        assert same(one, other), f"result #{index} of\n{module}"
    return before - count_operators(function_of(module))


def count_operators(function: Any) -> int:
    """Those that compute: a shape is written where a permutation is a reshape, and costs nothing."""
    names = [op.operation.name for op in function.operation.regions[0].blocks[0].operations]
    return sum(name.startswith("relax.") and name != "relax.shape_expr" for name in names)
