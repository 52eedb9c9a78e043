# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reduction with its prologue (the fills that results start from) and the epilogues that work on each of them."""

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
    """Operations in their order, each of which hands its results to the next one."""

    #: One for each output of the main operation, or none.
    starts: tuple[Operation, ...]
    #: A reduction, or what is alone.
    main: Operation
    #: Each reads what the one before it writes, at its own point.
    epilogues: tuple[Operation, ...] = ()

    @property
    def ops(self) -> list[Operation]:
        return [*self.starts, self.main, *self.epilogues]

    @property
    def initial(self) -> list[Value]:
        """The scalar that each result starts from."""
        return [value for start in self.starts if (value := filled_with(start)) is not None]


def group_of(
    main: Operation,
    before: Sequence[Operation],
    behind: Iterable[Operation],
    follows: Callable[[Operation, Operation], bool],
    ends: Callable[[Operation], bool],
) -> Group:
    """On memory: `follows(before, op)` says what is an epilogue of what, `ends(op)` what none may come behind."""
    found = (start_of(memory, before) for memory in GenericOp(main).outputs)
    starts = [start for start in found if start is not None]
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
    """The scalar that an operation writes to all elements of its one output, if that is all it does."""
    generic = GenericOp(op)
    if op.name != GENERIC or len(generic.outputs) != 1 or generic.reductions or len(generic.block.operations) != 1:
        return None
    (yielded,) = last_of(generic.block).operands
    if yielded.owner != generic.block:
        return yielded
    given = generic.operands[yielded.arg_number]
    return None if isinstance(given.type, ir.ShapedType) else given


def fill_of(tensor: Value) -> Operation | None:
    """The operation that fills a tensor with one number for this use only; None where there is none."""
    fill = made_by(tensor, GENERIC)
    return fill if fill is not None and use_count(tensor) == 1 and filled_with(fill) is not None else None


def start_of(memory: Value, before: Sequence[Operation]) -> Operation | None:
    """The operation that fills memory with one number, if nothing uses it from there to the end of `before`."""
    root = root_of(memory)
    last = next((op for op in reversed(before) if uses(op, root)), None)
    if last is None or filled_with(last) is None:
        return None
    fill = GenericOp(last)
    return last if fill.outputs == (memory,) and fill.writes_once(fill.input_count) else None


def uses(op: Operation, root: Value) -> bool:
    """Whether an operation gets memory, or a view of it, for more than its size or another view."""
    if op.name == "memref.dim" or op.name in VIEWS:
        return False
    return any(root_of(value) == root for value in used_by(op) if isinstance(value.type, ir.MemRefType))
