# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that become one nest of loops: a sum with the number that it starts from and what is done to its result.

What a kernel's parameters share no operation between them can tell: whoever let a result lie over an operand has seen
that the operand is not read after the result is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ....bindings.ir import AffineMap, Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, last_of, made_by, operations_in, use_count

_GENERIC = "linalg.generic"
#: What shows memory that is there, its first operand.
VIEWS = frozenset(
    f"memref.{word}" for word in "cast collapse_shape expand_shape reinterpret_cast subview transpose view".split()
) | {"builtin.unrealized_conversion_cast"}
#: What touches no elements.
_HARMLESS = frozenset(("arith.constant", "memref.dim", "memref.alloc", "memref.get_global"))


def maps_of(op: Operation) -> list[AffineMap]:
    return [attribute.value for attribute in op.attributes["indexing_maps"]]


def reductions_of(op: Operation) -> set[int]:
    iterators = [str(attribute) for attribute in op.attributes["iterator_types"]]
    return {dim for dim, iterator in enumerate(iterators) if "reduction" in iterator}


def _writes(op: Operation, memory: Value) -> bool:
    """Whether an operation writes this memory, and no other."""
    output = output_of(op)
    return output is not None and bool(output == memory)


def output_of(op: Operation) -> Value | None:
    """The memory that an operation writes, if it is one."""
    inputs, outputs = op.attributes["operandSegmentSizes"]
    return op.operands[inputs] if outputs == 1 else None


def filled_with(op: Operation) -> Value | None:
    """The number that an operation fills memory with, if that is all it does."""
    block = body_of(op)
    if len(block.operations) != 1 or output_of(op) is None or reductions_of(op):
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
        if other.name not in _HARMLESS and other.name != _GENERIC and len(other.regions):
            return False
        if other.name != "memref.dim" and other.name not in VIEWS and _touches(other, output):
            return other.name == _GENERIC and _grows(other, output)
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
    map_ = maps_of(op)[-1]
    return bool(map_ == ir.AffineMap.get_identity(map_.n_dims, op.context))


def _grows(op: Operation, output: Value) -> bool:
    """Whether an operation only adds up to its output, each element of which it has one place in its loops for."""
    if not _writes(op, output) or _touches(op, output, but=1):
        return False
    dims = chosen_dims(op)
    count = maps_of(op)[-1].n_dims
    return dims is not None and sorted(dims) == list(range(len(dims))) and len(dims) < count and _is_read(op)


def _is_read(op: Operation) -> bool:
    block = body_of(op)
    return use_count(block.arguments[len(block.arguments) - 1]) > 0 and reductions_of(op) >= _inner(op)


def _inner(op: Operation) -> set[int]:
    map_ = maps_of(op)[-1]
    return set(range(len(map_.results), map_.n_dims))


def chosen_dims(op: Operation) -> list[int] | None:
    """The loop that goes along each axis of the output; None where one is more than a loop."""
    results = list(maps_of(op)[-1].results)
    if not all(isinstance(each, ir.AffineDimExpr) for each in results):
        return None
    dims = [each.position for each in results]
    return dims if len(set(dims)) == len(dims) else None


def epilogues(op: Operation, following: Iterable[Operation]) -> Iterator[Operation]:
    """What is done to each element of a sum when it is there, in place."""
    output = output_of(op)
    if output is None or not _grows(op, output):
        return
    for other in following:
        if other.name in _HARMLESS:
            continue
        if other.name != _GENERIC or not _changes(other, output):
            return
        yield other


def _changes(op: Operation, output: Value) -> bool:
    """Whether an operation works on memory element by element, and reads it nowhere else than it writes it."""
    if not _writes(op, output) or reductions_of(op):
        return False
    maps = maps_of(op)
    identity = ir.AffineMap.get_identity(maps[-1].n_dims, op.context)
    places = [map_ for map_, operand in zip(maps, op.operands, strict=True) if operand == output]
    if _touches(op, output, but=len(places)):
        return False
    is_read = len(places) > 1 or use_count(list(body_of(op).arguments)[-1]) > 0
    return is_read and all(map_ == identity for map_ in places) and not _asks_for_place(op)


def _asks_for_place(op: Operation) -> bool:
    return any(inner.name == "linalg.index" for inner in operations_in(op))
