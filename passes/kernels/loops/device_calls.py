# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the functions that a device registers, which emit copies, waits and intrinsics."""

from __future__ import annotations

from collections.abc import Callable

from ....bindings.mlir import ir
from ....bindings.rewriting import Decline, located_error
from ....support.blaming import blaming, place_of
from ....support.errors import RelaxError
from .intrins import INTRIN, TENSORIZED, find_intrin
from .memories import find_memory
from .tree import Tree, loops_in


def call_owner(what: str, function: Callable[..., object], *arguments: object) -> None:
    """Call a function that emits code at the insertion point.

    Errors name the function and its line. So does a Decline that it raises or returns.
    """
    try:
        with blaming(what, function, _located, (Decline,)):
            outcome = function(*arguments)
    except Decline as decline:
        outcome = decline
    if isinstance(outcome, Decline):
        raise Decline(f"{what} ({place_of(function)}): {outcome.reason}")


def _located(message: str) -> RelaxError:
    return located_error(message, ir.Location.current)


def needs_owner(tree: Tree) -> bool:
    """Return True if functions of a device emit a part of a tree's code."""
    memories = (find_memory(buffer.scope) for block in tree.blocks() for buffer in block.buffers)
    if any(memory is not None and memory.copy is not None for memory in memories):
        return True
    names = [str(loop.annotations[INTRIN]) for loop in loops_in(tree.body) if loop.kind == TENSORIZED]
    return any(not find_intrin(name).is_targets for name in names)
