# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function does between its blocks: loads of single elements, arithmetic of what is loaded, asserts.

No step moves them: they stand behind the blocks that make what they load, and before all that they guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...bindings.ir import Operation, Value
from ...bindings.navigation import body_of, made_by, operations_of
from ...dialects.tir.prim_func import ASSERT
from ...support.errors import RelaxError
from .tree import Node, blocks_in

LOAD = "memref.load"
ALLOCATIONS = ("memref.alloc", "memref.alloca")


class Check(NamedTuple):
    """An operation that stands between blocks."""

    op: Operation
    #: Names of the memory that it loads: it stands behind all that writes it, whatever steps make of these blocks.
    loaded: frozenset[str]
    #: The blocks behind it that it guards.
    guarded: frozenset[str]


def loaded_memory(function: Operation) -> set[Value]:
    """The function's own memory of which it loads elements between blocks."""
    loads = (op.operands[0] for op in operations_of(body_of(function)) if op.name == LOAD)
    return {memory for memory in loads if made_by(memory, *ALLOCATIONS) is not None}


def is_check(op: Operation, others: Sequence[Operation]) -> bool:
    """Whether an operation is one, or computes of what one of `others` has loaded."""
    if op.name in (ASSERT, LOAD):
        return True
    makers = [maker for operand in op.operands if (maker := made_by(operand))] if others else []
    return any(maker == other for maker in makers for other in others)


def placed(checks: Sequence[Check], nodes: Sequence[Node]) -> list[list[Operation]]:
    """What stands before each node of a function, in order, and at last behind all of them.

    Raises RelaxError where a node has both what an operation needs and what has to be behind it.
    """
    inside = [blocks_in([node]) for node in nodes]
    writers = [{access.buffer.name: block.name for block in each for access in block.writes} for each in inside]
    places: list[list[Operation]] = [[] for _ in range(len(nodes) + 1)]
    at, needed = 0, set[str]()
    for check in checks:
        for number, names in enumerate(writers):
            if found := check.loaded.intersection(names):
                needed |= {names[name] for name in found}
                at = max(at, number + 1)
        early = sorted(block.name for each in inside[:at] for block in each if block.name in check.guarded)
        if early:
            made = ", ".join(f"'{name}'" for name in sorted(needed))
            raise RelaxError(f"'{early[0]}' would run before the function has looked at {made}: keep their loops apart")
        places[at].append(check.op)
    return places
