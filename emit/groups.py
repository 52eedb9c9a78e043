# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reduction with its prologue (the fills of its results) and its elementwise epilogues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..bindings.ir import Operation, Value
from ..bindings.mlir import ir
from ..bindings.navigation import last_of, made_by, use_count, used_by
from .generic import GENERIC, GenericOp
from .memrefs import VIEWS, root_of


@dataclass(frozen=True)
class Group:
    """Adjacent operations, each of which passes its results to the next."""

    #: One fill per output of the main operation, or none.
    starts: tuple[Operation, ...]
    #: Reduction, or a single operation.
    main: Operation
    #: Each epilogue reads the previous operation's results at its own point.
    epilogues: tuple[Operation, ...] = ()

    @property
    def ops(self) -> list[Operation]:
        return [*self.starts, self.main, *self.epilogues]

    @property
    def initial(self) -> list[Value]:
        """Scalar that each result starts from."""
        return [value for start in self.starts if (value := filled_with(start)) is not None]


def group_of(
    main: Operation,
    before: Sequence[Operation],
    behind: Iterable[Operation],
    follows: Callable[[Operation, Operation], bool],
    ends: Callable[[Operation], bool],
) -> Group:
    """Return the group of an operation on memory.

    `follows(before, op)` accepts an epilogue, `ends(op)` rejects any further ones.
    """
    operations = (start_of(memory, before) for memory in GenericOp(main).outputs)
    starts = [start for start in operations if start is not None]
    epilogues: list[Operation] = []
    for op in behind:
        if follows(epilogues[-1] if epilogues else main, op):
            epilogues.append(op)
        elif ends(op):
            break
    is_all = len(starts) == len(GenericOp(main).outputs)
    return Group(tuple(starts) if is_all else (), main, tuple(epilogues))


# ---- fills ----


def filled_with(op: Operation) -> Value | None:
    """Return the scalar that an operation fills its only output with, or None for other operations."""
    generic = GenericOp(op)
    if op.name != GENERIC or len(generic.outputs) != 1 or generic.reductions or len(generic.block.operations) != 1:
        return None
    (yielded,) = last_of(generic.block).operands
    if yielded.owner != generic.block:
        return yielded
    given = generic.operands[yielded.arg_number]
    return None if isinstance(given.type, ir.ShapedType) else given


def fill_of(tensor: Value) -> Operation | None:
    """Return the operation that fills a tensor with a scalar for a single use, or None."""
    fill = made_by(tensor, GENERIC)
    return fill if fill is not None and use_count(tensor) == 1 and filled_with(fill) is not None else None


def start_of(memory: Value, before: Sequence[Operation]) -> Operation | None:
    """Return the operation that fills memory with a scalar, if nothing in the rest of `before` uses the memory."""
    root = root_of(memory)
    last = next((op for op in reversed(before) if uses(op, root)), None)
    if last is None or filled_with(last) is None:
        return None
    fill = GenericOp(last)
    return last if fill.outputs == (memory,) and fill.writes_once(fill.input_count) else None


def uses(op: Operation, root: Value) -> bool:
    """Check whether an operation uses memory, or a view of it, for more than its size or another view."""
    if op.name == "memref.dim" or op.name in VIEWS:
        return False
    return any(root_of(value) == root for value in used_by(op) if isinstance(value.type, ir.MemRefType))
