# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that put tensors side by side, for calls that find some of them in their place: they move the others."""

from __future__ import annotations

from ...bindings.ir import SymbolTable
from ...bindings.mlir import ir
from ...bindings.navigation import body_of, operations_of
from ...emit.kernels import fresh_name
from .overwriting import Kernels
from .plan import Plan


def move_only_others(plan: Plan, symbols: SymbolTable, kernels: Kernels) -> None:
    """Has the calls of a plan go to such kernels; what they went to is left out where nobody calls it any more."""
    made: dict[tuple[str, tuple[int, ...]], str] = {}
    for call, inputs in plan.put_there.items():
        name = str(call.opview.func)
        if (name, inputs) not in made:
            made[name, inputs] = _without(name, inputs, symbols, kernels)
        call.attributes["func"] = ir.FlatSymbolRefAttr.get(made[name, inputs], call.context)
        plan.left_out.add(name)


def _without(name: str, inputs: tuple[int, ...], symbols: SymbolTable, kernels: Kernels) -> str:
    """The name of a copy of a kernel that does not move these inputs."""
    kernel, function = kernels[name], symbols[name].operation
    movers = None if kernel is None else kernel.movers(inputs)
    assert movers is not None, "the plan leaves out what can be left out"
    needless = [position for position, op in enumerate(operations_of(body_of(function))) if op in movers]
    with function.context, ir.InsertionPoint(function):
        copied = function.clone()
        wanted = fresh_name(f"{name}_others", symbols)
        copied.attributes["sym_name"] = ir.StringAttr.get(wanted)
        copied.attributes["sym_visibility"] = ir.StringAttr.get("private")
    symbols.insert(copied)
    inside = operations_of(body_of(copied))
    for position in reversed(needless):
        inside[position].erase()
    return wanted
