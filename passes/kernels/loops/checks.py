# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations between the blocks of a function: loads of single elements, arithmetic on loaded values, asserts.

No step moves these operations. They run after the blocks that write what they load, and before all that they guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Operation, Value
from ....bindings.navigation import body_of, made_by, operations_of
from ....dialects.tir.prim_func import ASSERT
from ....support.errors import RelaxError
from .tree import Node, blocks_in

LOAD = "memref.load"
ALLOCATIONS = ("memref.alloc", "memref.alloca")


class Check(NamedTuple):
    """Operation between blocks."""

    op: Operation
    #: Names of the buffers that the operation loads. It runs after all their writers, whatever steps do to these
    #: blocks.
    loaded: frozenset[str]
    #: Names of the later blocks that the operation guards.
    guarded: frozenset[str]


def loaded_memory(function: Operation) -> set[Value]:
    """Return the local buffers from which the function loads elements between blocks."""
    loads = (op.operands[0] for op in operations_of(body_of(function)) if op.name == LOAD)
    return {memory for memory in loads if made_by(memory, *ALLOCATIONS) is not None}


def is_check(op: Operation, others: Sequence[Operation]) -> bool:
    """Return True if an operation is a check: a load, an assert, or arithmetic on the result of one of `others`."""
    if op.name in (ASSERT, LOAD):
        return True
    makers = [maker for operand in op.operands if (maker := made_by(operand))] if others else []
    return any(maker == other for maker in makers for other in others)


def placed(checks: Sequence[Check], nodes: Sequence[Node]) -> list[list[Operation]]:
    """Return the operations before each node of a function, in order. The last list is for operations after all nodes.

    Raises RelaxError if a node contains both a value that an operation needs and a block that has to follow it.
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
            raise RelaxError(f"'{early[0]}' would run before the function has checked {made}: do not merge their loops")
        places[at].append(check.op)
    return places
