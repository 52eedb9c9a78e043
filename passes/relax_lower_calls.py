# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns graph functions into functions over memrefs that call PrimFuncs, with temporaries in one planned arena."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Operation
from ..bindings.pass_manager import run_upstream
from .core.base import Pass
from .core.registry import register_pass
from .lower_calls.constants import add_globals
from .lower_calls.function import FunctionLowering, graph_functions, knows_at_entry
from .lower_calls.operations import lower_operation
from .lower_calls.stated import check_plan
from .lower_calls.written import mark_written_inputs


@register_pass
@dataclass(frozen=True)
class LowerCalls(Pass):
    """Turns graph functions into functions over memrefs that call PrimFuncs; temporaries lie in one planned arena."""

    name: ClassVar[str] = "relax-lower-calls"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("func", "arith", "memref", "scf", "llvm")

    def run(self, op: Operation) -> None:
        functions = graph_functions(op)
        for function in functions:
            check_plan(function, knows_at_entry(function))
        add_globals(op, functions)
        mark_written_inputs(functions)
        for function in functions:
            lowered = FunctionLowering(function, lower_operation).run()
            # What has no place in the arena is given back behind its last use: memory is held no longer than it is
            # read, and what fails has little to give back.
            run_upstream(lowered, ["optimize-allocation-liveness"])
