# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowering of graph functions to functions over memrefs that call PrimFuncs, with temporaries in one planned arena."""

from __future__ import annotations

from typing import ClassVar

from ...bindings.ir import Operation, SymbolTable
from ...bindings.navigation import callee_of, functions_in, is_private, operations_named, symbol_name
from ...bindings.pass_manager import run_upstream
from ...dialects.core.in_place import decide_copies
from ...dialects.graph_functions import graph_functions, knows_at_entry
from ..core.base import Pass
from ..core.registry import register_pass
from .lower_calls.function_lowering import FunctionLowering
from .lower_calls.global_constants import add_globals
from .lower_calls.operations import lower_operation
from .lower_calls.others import move_only_others
from .lower_calls.overwriting import Kernels
from .lower_calls.self_copies import skip_copies_to_itself
from .lower_calls.stated import plan_of
from .lower_calls.written import mark_written_inputs


@register_pass
class LowerCalls(Pass):
    """Lower graph functions to functions over memrefs that call PrimFuncs, with temporaries in one planned arena."""

    name: ClassVar[str] = "relax-lower-calls"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "memref", "scf", "llvm")

    def run(self, op: Operation) -> None:
        functions = graph_functions(op)
        decide_copies(op)
        kernels: Kernels = {}
        symbols = SymbolTable(op)
        plans = [plan_of(function, knows_at_entry(function), kernels) for function in functions]
        names = set(map(symbol_name, functions_in(op)))
        for plan in plans:
            move_only_others(plan, symbols, kernels, names)
        add_globals(op, functions)
        mark_written_inputs(functions)
        for function, plan in zip(functions, plans, strict=True):
            lowered = FunctionLowering(function, lower_operation, plan).run()
            # Memory outside of the arena is freed after its last use. So it is allocated no longer than needed, and an
            # error has little to free.
            run_upstream(lowered, ["optimize-allocation-liveness"])
        for name, read, written in sorted({texts for plan in plans for texts in plan.written_over}):
            if (kernel := kernels[name]) is not None:
                skip_copies_to_itself(symbols[name].operation, kernel, read, written)
        _erase_uncalled(op, {name for plan in plans for name in plan.left_out})


def _erase_uncalled(module: Operation, names: set[str]) -> None:
    """Erase private functions of these names that have no callers left."""
    called = {callee_of(op) for op in operations_named(module, "func.call")} if names else set()
    for function in list(functions_in(module)):
        if is_private(function) and symbol_name(function) in names - called:
            function.erase()
