# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lifting of branches between blocks to structured loops and conditions, the only control flow of SPIR-V.

Assertions are such branches, from anywhere to the end of a kernel. Upstream only lifts func.func.
"""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.bindings.ir import Operation, Type, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in
from relax_mlir.bindings.pass_manager import run_upstream
from relax_mlir.bindings.rewriting import made_again, replace_op
from relax_mlir.emit.arithmetic import result_of
from relax_mlir.emit.numbers import as_index, constant, number
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.kernels.outline import kernels_in
from relax_mlir.targets.host.llvm_ops import type_of


@register_pass
class LiftBranches(Pass):
    """Replace branches between blocks in kernels by structured loops and conditions."""

    name: ClassVar[str] = "spirv-lift-branches"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "cf", "func", "scf", "ub")

    def run(self, op: Operation) -> None:
        with op.context:
            for kernel in kernels_in(op):
                if len(kernel.regions[0].blocks) > 1:
                    _lift(kernel)


def _lift(kernel: Operation) -> None:
    with kernel.location, ir.InsertionPoint(kernel):
        attributes = {name: kernel.attributes[name] for name in ("sym_name", "function_type")}
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    _move(kernel, function, "gpu.return", "func.return")
    # The pass runs on the module, because upstream searches for functions inside.
    run_upstream(kernel.parent, ["lift-cf-to-scf"], verify=False)
    _move(function, kernel, "func.return", "gpu.return")
    function.erase()
    for poison in [operation for operation in operations_in(kernel) if operation.name == "ub.poison"]:
        with poison.location, ir.InsertionPoint(poison):
            replace_op(poison, [_any(poison.results[0].type)])
    for switch in [operation for operation in operations_in(kernel) if operation.name == "scf.index_switch"]:
        with switch.location:
            _as_conditions(switch)


def _any(type_: Type) -> Value:
    if type_ != type_of("ptr"):
        return constant(0, type_).value
    return result_of("builtin.unrealized_conversion_cast", [constant(0, "i64")], type_)


def _move(source: Operation, to: Operation, old: str, new: str) -> None:
    for block in list(source.regions[0].blocks):
        block.append_to(to.regions[0])
    for end in [operation for operation in operations_in(to) if operation.name == old]:
        with end.location, ir.InsertionPoint(end):
            made_again(end, [], [], new)
        end.erase()


def _as_conditions(switch: Operation) -> None:
    """Replace a switch by nested conditions, because upstream cannot convert it to SPIR-V."""
    usual, *cases = switch.regions
    types = [each.type for each in switch.results]
    values = list(switch.attributes["cases"])
    with ir.InsertionPoint(switch):
        made = _nest_branches(number(switch.operands[0]), list(zip(values, cases, strict=True)), usual, types)
    for result, other in zip(list(switch.results), made, strict=True):
        result.replace_all_uses_with(other)
    switch.erase()


def _nest_branches(chosen, cases, usual, types):  # type: ignore[no-untyped-def]
    if not cases:
        (block,) = usual.blocks
        *ops, end = [operation.operation for operation in block.operations]
        point = ir.InsertionPoint.current
        for op in ops:
            point.insert(op.detach_from_parent())
        return list(end.operands)
    (value, region), *others = cases
    made = ir.Operation.create("scf.if", types, [(chosen == as_index(value)).value], regions=2)
    (block,) = region.blocks
    block.append_to(made.regions[0])
    with ir.InsertionPoint(made.regions[1].blocks.append()):
        ir.Operation.create("scf.yield", operands=_nest_branches(chosen, others, usual, types))
    return list(made.results)
