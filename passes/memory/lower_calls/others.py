# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partial concatenation kernels, which move only the inputs that are not in place yet."""

from __future__ import annotations

from ....bindings.ir import Operation, SymbolTable
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of
from ....support.names import fresh_name
from .memory_plan import MemoryPlan
from .overwriting import Kernel, Kernels


def move_only_others(plan: MemoryPlan, symbols: SymbolTable, kernels: Kernels, names: set[str]) -> None:
    """Redirect calls with inputs already in place to partial kernels.

    Dead former callees are marked as left out.

    `names` contains the names in use, and is extended by the new names.
    """
    made: dict[tuple[str, tuple[int, ...]], str] = {}
    for call, inputs in plan.put_there.items():
        name = str(call.opview.func)
        if (name, inputs) not in made:
            made[name, inputs] = fresh_name(f"{name}_others", names)
            names.add(made[name, inputs])
            with symbols[name].operation.context, ir.InsertionPoint(symbols[name].operation):
                _copy_without(inputs, symbols[name].operation, kernels[name], made[name, inputs])
        call.attributes["func"] = ir.FlatSymbolRefAttr.get(made[name, inputs], call.context)
        plan.left_out.add(name)


def _copy_without(inputs: tuple[int, ...], function: Operation, kernel: Kernel | None, name: str) -> None:
    movers = None if kernel is None else kernel.movers(inputs)
    assert movers is not None, "the plan leaves out what can be left out"
    needless = [position for position, op in enumerate(operations_of(body_of(function))) if op in movers]
    copied = function.clone()
    copied.attributes["sym_name"] = ir.StringAttr.get(name)
    copied.attributes["sym_visibility"] = ir.StringAttr.get("private")
    inside = operations_of(body_of(copied))
    for position in reversed(needless):
        inside[position].erase()
