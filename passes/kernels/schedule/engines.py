# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Engines of kernels: the kinds of instructions that compute them, for profiles."""

from __future__ import annotations

from collections.abc import Iterator

from ....bindings.ir import Block, Operation
from ....bindings.mlir import ir, string_value
from ....bindings.navigation import body_of, callee_of, operations_of
from ....bindings.rewriting import Decline
from ....dialects.core.ir_attributes import ENGINE, PLAN, UNPLANNED
from ....emit.structured import analyze
from ....targets.core.machine import SCALAR, Machine, engine_of
from .dots import dots_of
from .loop_collapsing import join
from .plan import Plan, plan_of

#: Engine of sums of byte pairs in 16 bits (byte_pairs.py).
_BYTE_PAIRS = "pmaddubsw"


def note_engine(function: Operation, machine: Machine) -> None:
    """Name the engines of a planned PrimFunc in an attribute, in the order of their first use."""
    if ENGINE in function.attributes:
        return
    engines = dict.fromkeys(filter(None, _engines(body_of(function), machine)))
    function.attributes[ENGINE] = ir.StringAttr.get("+".join(engines) or SCALAR, function.context)


def _engines(block: Block, machine: Machine) -> Iterator[str]:
    """Yield the engines of operations, without the bodies of structured operations."""
    for op in operations_of(block):
        yield _engine(op, machine)
        if PLAN not in op.attributes and UNPLANNED not in op.attributes:
            for region in op.regions:
                for inner in region.blocks:
                    yield from _engines(inner, machine)


def _engine(op: Operation, machine: Machine) -> str:
    """Return the engine of an operation, or "" for operations that need none or use that of another operation."""
    if PLAN in op.attributes:
        plan = plan_of(op)
        return _engine_of_plan(op, plan, machine) if isinstance(plan, Plan) else ""
    if UNPLANNED in op.attributes:
        return SCALAR
    if op.name == "llvm.call_intrinsic":
        return engine_of(string_value(op.attributes["intrin"]))
    if op.name == "func.call":
        return engine_of(callee_of(op))
    return machine.vector_engine if any(isinstance(result.type, ir.VectorType) for result in op.results) else ""


def _engine_of_plan(op: Operation, plan: Plan, machine: Machine) -> str:
    if plan.dot is None:
        return machine.vector_engine if plan.lanes > 1 else SCALAR
    try:
        dots = dots_of(join(analyze(op), plan.joined), plan, machine)
    except Decline:
        return ""  # tir-apply-plan reports the plan
    assert dots is not None
    return _BYTE_PAIRS if dots.pairs else engine_of(dots.instruction.intrinsic)
