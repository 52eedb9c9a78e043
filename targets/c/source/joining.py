# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that become one nest of loops: a sum with the number that it starts from and what is done to its result.

What a kernel's parameters share no operation between them can tell: whoever let a result lie over an operand has seen
that the operand is not read after the result is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....bindings.affine import identity, plain_dim
from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, last_of, made_by
from ....emit.generic import GENERIC, GenericOp

#: What shows memory that is there, its first operand.
VIEWS = frozenset(
    f"memref.{word}" for word in "cast collapse_shape expand_shape reinterpret_cast subview transpose view".split()
) | {"builtin.unrealized_conversion_cast"}
#: What touches no elements.
_HARMLESS = frozenset(("arith.constant", "memref.dim", "memref.alloc", "memref.get_global"))


def _writes(op: Operation, memory: Value) -> bool:
    """Whether an operation writes this memory, and no other."""
    output = output_of(op)
    return output is not None and bool(output == memory)


def output_of(op: Operation) -> Value | None:
    """The memory that an operation writes, if it is one."""
    outputs = GenericOp(op).outputs
    return outputs[0] if len(outputs) == 1 else None


def filled_with(op: Operation) -> Value | None:
    """The number that an operation fills memory with, if that is all it does."""
    block = body_of(op)
    if len(block.operations) != 1 or output_of(op) is None or GenericOp(op).reductions:
        return None
    (yielded,) = last_of(block).operands
    if yielded.owner != block:
        return yielded
    number = op.operands[yielded.arg_number]
    return None if isinstance(number.type, ir.ShapedType) else number


def starts_sum(op: Operation, following: Iterable[Operation]) -> bool:
    """Whether memory is filled for a sum that visits each element once, and nobody looks at it before."""
    output = output_of(op)
    if filled_with(op) is None or output is None or not _is_whole(op):
        return False
    for other in following:
        if other.name not in _HARMLESS and other.name != GENERIC and len(other.regions):
            return False
        if other.name != "memref.dim" and other.name not in VIEWS and _touches(other, output):
            return other.name == GENERIC and _grows(other, output)
    return False


def root_of(memory: Value) -> Value:
    """What memory is a view of."""
    while (made := made_by(memory, *VIEWS)) is not None:
        memory = made.operands[0]
    return memory


def _touches(op: Operation, memory: Value, but: int = 0) -> bool:
    """Whether an operation gets memory, or another view of it, more often than it may."""
    root = root_of(memory)
    return sum(root_of(each) == root for each in op.operands if isinstance(each.type, ir.MemRefType)) > but


def _is_whole(op: Operation) -> bool:
    map_ = GenericOp(op).maps[-1]
    return bool(map_ == identity(map_.n_dims, op.context))


def _grows(op: Operation, output: Value) -> bool:
    """Whether an operation only adds up to its output, each element of which it has one place in its loops for."""
    if not _writes(op, output) or _touches(op, output, but=1):
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


def epilogues(op: Operation, following: Iterable[Operation]) -> Iterator[Operation]:
    """What is done to each element of a sum when it is there, in place."""
    output = output_of(op)
    if output is None or not _grows(op, output):
        return
    for other in following:
        if other.name in _HARMLESS:
            continue
        if other.name != GENERIC or not _changes(other, output):
            return
        yield other


def _changes(op: Operation, output: Value) -> bool:
    """Whether an operation works on memory element by element, and reads it nowhere else than it writes it."""
    generic = GenericOp(op)
    if not _writes(op, output) or generic.reductions or generic.has_index:
        return False
    places = [map_ for map_, operand in zip(generic.maps, generic.operands, strict=True) if operand == output]
    if _touches(op, output, but=len(places)):
        return False
    is_read = len(places) > 1 or generic.is_read(generic.input_count)
    return is_read and all(map_ == identity(len(generic.kinds), op.context) for map_ in places)
