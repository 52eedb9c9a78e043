# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches of models as scf operations on tensors. Carried values keep their types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.bindings.ir import Block, Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.emit.numbers import constant

#: Callable from states to states: a branch, or an iteration.
Step = Callable[..., Sequence[Value]]


def counted(count: Value, step: Step, *states: Value) -> list[Value]:
    """Return the states after `count` iterations of `step(index, *states)`. Count and index are 0-D tensors of i64."""
    i64 = ir.IntegerType.get_signless(64)
    bounds = [constant(0, i64).value, _scalar(count), constant(1, i64).value]
    types = [state.type for state in states]
    made = ir.Operation.create("scf.for", results=types, operands=[*bounds, *states], regions=1)
    block = made.regions[0].blocks.append(i64, *types)
    with ir.InsertionPoint(block):
        index, *held = block.arguments
        ir.Operation.create("scf.yield", operands=list(step(_tensor(index), *held)))
    return list(made.results)


def repeated(goes_on: Callable[..., Value], step: Step, *states: Value) -> list[Value]:
    """Iterate while `goes_on(*states)`, a 0-D tensor of i1, is true. Return the states."""
    types = [state.type for state in states]
    made = ir.Operation.create("scf.while", results=types, operands=list(states), regions=2)
    before, after = (region.blocks.append(*types) for region in made.regions)
    with ir.InsertionPoint(before):
        arguments = list(before.arguments)
        ir.Operation.create("scf.condition", operands=[_scalar(goes_on(*arguments)), *arguments])
    _yield(after, lambda: step(*after.arguments))
    return list(made.results)


def either(condition: Value, then: Step, otherwise: Step, types: Sequence[Value]) -> list[Value]:
    """Return the results of one of two branches, with the types of these values.

    The condition is a 0-D tensor of i1.
    """
    results = [value.type for value in types]
    made = ir.Operation.create("scf.if", results=results, operands=[_scalar(condition)], regions=2)
    for region, branch in zip(made.regions, (then, otherwise), strict=True):
        _yield(region.blocks.append(), branch)
    return list(made.results)


def _yield(block: Block, branch: Step) -> None:
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=list(branch()))


def _scalar(tensor: Value) -> Value:
    element = ir.RankedTensorType(tensor.type).element_type
    return ir.Operation.create("tensor.extract", results=[element], operands=[tensor]).result


def _tensor(scalar: Value) -> Value:
    type_ = ir.RankedTensorType.get([], scalar.type)
    return ir.Operation.create("tensor.from_elements", results=[type_], operands=[scalar]).result
