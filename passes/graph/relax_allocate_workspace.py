# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workspace of codegens' functions (temporary memory) in the program's arena."""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, function_type_of, last_of, operations_in, symbol_name, text_in
from ...bindings.rewriting import located_error, replace_op
from ...dialects import relax
from ...dialects.core.ir_attributes import CODEGEN, WORKSPACE
from ...support.blaming import blaming
from ..core.base import Pass
from ..core.external import external_modules, is_external
from ..core.registry import register_pass
from .partition.codegen import Codegen, made_codegen
from .relax_run_codegen import CALL


@register_pass
class AllocateWorkspace(Pass):
    """Append a result for the workspace, uint8[bytes], to functions of external modules that need memory.

    No operation reads the result, so it is alive in the arena only during the call. Other tensors use the same memory
    before and after the call.
    """

    name: ClassVar[str] = "relax-allocate-workspace"
    sees_externals: ClassVar[bool] = True
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func",)

    def run(self, op: Operation) -> None:
        grown: dict[tuple[str, ...], int] = {}
        for module in external_modules(op):
            for name, function in Codegen.functions(module).items():
                if size := _bytes_needed(module, function):
                    _add_result(function, size)
                    grown[symbol_name(module), name] = size
        if grown:
            for call in operations_in(op, is_external):
                if call.name == CALL:
                    size = grown.get(tuple(ir.SymbolRefAttr(call.attributes["func"]).value), 0)
                    if size:
                        _add_result_to_call(call, size)


def _bytes_needed(module: Operation, function: Operation) -> int:
    if WORKSPACE in function.attributes:
        size = ir.IntegerAttr(function.attributes[WORKSPACE]).value
        del function.attributes[WORKSPACE]
    else:
        codegen = made_codegen(text_in(module, CODEGEN))
        with blaming(f"codegen '{codegen.name}': workspace() of @{symbol_name(function)}", codegen.workspace):
            size = codegen.workspace(function)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 1 << 63:
        problem = f"codegen '{text_in(module, CODEGEN)}' needs {size!r} bytes of workspace for @{symbol_name(function)}"
        raise located_error(f"{problem}: expected a number, 0 or more", function.location)
    return size


def _add_result(function: Operation, size: int) -> None:
    end = last_of(body_of(function))
    type_ = function_type_of(function)
    with end.location, ir.InsertionPoint(end):
        memory = relax.zeros((size,), dtype="uint8")
        ir.Operation.create("func.return", operands=[*end.operands, memory])
        end.erase()
        grown = ir.FunctionType.get(list(type_.inputs), [*type_.results, memory.type])
        function.attributes["function_type"] = ir.TypeAttr.get(grown)


def _add_result_to_call(call: Operation, size: int) -> None:
    with call.location, ir.InsertionPoint(call):
        results = [*call.results.types, ir.RankedTensorType.get([size], ir.IntegerType.get_unsigned(8))]
        attributes = {"func": call.attributes["func"]}
        made = ir.Operation.create(CALL, results=results, operands=list(call.operands), attributes=attributes)
    replace_op(call, list(made.results)[:-1])
