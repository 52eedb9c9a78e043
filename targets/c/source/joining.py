# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop fusion: a sum with its prologue (the number that it starts from) and its epilogue, as one nest of loops.

Aliases between a kernel's parameters are not visible here: where a result aliases an operand, the operand is known not
to be read after the result is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.affine import identity, plain_dim
from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....emit.generic import GENERIC, GenericOp
from ....emit.groups import group_of, start_of, uses
from ....emit.memrefs import root_of

#: What touches no elements.
_HARMLESS = frozenset(("arith.constant", "memref.dim", "memref.alloc", "memref.get_global"))


def output_of(op: Operation) -> Value | None:
    """The memory that an operation writes, if it is one."""
    outputs = GenericOp(op).outputs
    return outputs[0] if len(outputs) == 1 else None


def starts_sum(op: Operation, following: Sequence[Operation]) -> bool:
    """Whether memory is filled for a sum that visits each element once, and not read before."""
    output = output_of(op)
    if output is None or start_of(output, [op]) is None:
        return False
    user = next((other for other in following if uses(other, root_of(output))), None)
    return user is not None and user.name == GENERIC and _grows(user, output)


def _touches(op: Operation, memory: Value, but: int) -> bool:
    """Whether an operation gets memory, or another view of it, more often than it may."""
    root = root_of(memory)
    return sum(root_of(each) == root for each in op.operands if isinstance(each.type, ir.MemRefType)) > but


def _grows(op: Operation, output: Value) -> bool:
    """Whether an operation only adds up to its output, each element of which it has one place in its loops for."""
    if GenericOp(op).outputs != (output,) or _touches(op, output, but=1):
        return False
    dims = chosen_dims(op)
    if dims is None or sorted(dims) != list(range(len(dims))):
        return False
    generic = GenericOp(op)
    inner = range(len(dims), len(generic.kinds))
    return bool(inner) and generic.is_read(generic.input_count) and set(generic.reductions) >= set(inner)


def chosen_dims(op: Operation) -> list[int] | None:
    """The loop that goes along each axis of the output; None where one is more than a loop."""
    dims = [plain_dim(each) for each in GenericOp(op).maps[-1].results]
    known = [dim for dim in dims if dim is not None]
    return known if len(set(known)) == len(dims) else None


def epilogues(op: Operation, following: Sequence[Operation]) -> tuple[Operation, ...]:
    """What is done to each element of a sum when it is there, in place."""
    output = output_of(op)
    if output is None or not _grows(op, output):
        return ()
    changes = lambda _, other: other.name == GENERIC and _changes(other, output)  # noqa: E731
    return group_of(op, (), following, changes, lambda other: other.name not in _HARMLESS).epilogues


def _changes(op: Operation, output: Value) -> bool:
    """Whether an operation works on memory element by element, and reads it nowhere else than it writes it."""
    generic = GenericOp(op)
    if GenericOp(op).outputs != (output,) or generic.reductions or generic.has_index:
        return False
    places = [map_ for map_, operand in zip(generic.maps, generic.operands, strict=True) if operand == output]
    if _touches(op, output, but=len(places)):
        return False
    is_read = len(places) > 1 or generic.is_read(generic.input_count)
    return is_read and all(map_ == identity(len(generic.kinds), op.context) for map_ in places)
