# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of a function's results before and after relax-canonicalize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interpreted import function_of, run_function, same
from relax_mlir.bindings.mlir import ir
from relax_mlir.passes.graph.relax_canonicalize import Canonicalize

import relax_mlir as rx


def changes_nothing(type_: str, array: Any, build: Callable[[Any], list[Any]]) -> int:
    """Check that canonicalization keeps the results of a function of one parameter, and return the number of removed
    operators."""
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
    """Count the operators that compute.

    A shape does not count: it appears where a permutation becomes a reshape, and is free.
    """
    names = [op.operation.name for op in function.operation.regions[0].blocks[0].operations]
    return sum(name.startswith("relax.") and name != "relax.shape_expr" for name in names)
