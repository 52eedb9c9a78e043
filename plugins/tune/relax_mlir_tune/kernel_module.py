# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Module of one kernel: a PrimFunc, and a function that calls it as a program does."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.relax.function_attributes import function_attributes
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.frontends.module import Module


def module_of_kernel(function: Operation, call: Operation, name: str = "main") -> Module:
    """Return a module with copies of a PrimFunc and of one of its calls, in a public function.

    Constants of the call stay constants, and its other operands become arguments.
    """
    program = function.parent
    with function.context, call.location:
        made = ir.Module.create()
        for attribute in program.attributes:
            made.operation.attributes[attribute] = program.attributes[attribute]
        function.clone(ip=ir.InsertionPoint(made.body))
        given = list(dict.fromkeys(value for value in call.operands if not is_constant(value)))
        types, results = [value.type for value in given], [value.type for value in call.results]
        names = [f"x{place}" for place in range(len(given))]
        with ir.InsertionPoint(made.body):
            attributes = function_attributes(name, types, results, names)
            main = ir.Operation.create("func.func", attributes=attributes, regions=1)
        block = main.regions[0].blocks.append(*types)
        copies = dict(zip(given, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for value in call.operands:
                if value not in copies:
                    copies[value] = value.owner.clone().results[0]
            copied = call.clone()
            for place, value in enumerate(call.operands):
                copied.operands[place] = copies[value]
            ir.Operation.create("func.return", operands=list(copied.results))
    return Module.of(made.operation)
