# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of a PrimFunc's operations that iterate over the same rows, and their shared loops."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ....bindings.ir import Block, Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import operations_of, used_inside, users_of
from ....bindings.rewriting import Decline
from ....dialects.core.infos import bit_width
from ....dialects.core.ir_attributes import PLAN, UNPLANNED
from ....emit import linalg
from ....emit.numbers import Size
from ....emit.structured import StructuredOp, analyze
from ..schedule.vector_body import check_body

#: Number of an operation, and one of its loops.
_Loop = tuple[int, int]
#: Operations allowed between the members if they do not use the members' results.
_BETWEEN = frozenset({"tensor.empty", "tensor.dim"})


@dataclass(frozen=True)
class RowGroup:
    """Operations, their shared loops with the outermost first, and the results used outside.

    Each shared loop has an entry per operation.
    """

    ops: tuple[StructuredOp, ...]
    loops: tuple[tuple[int, ...], ...]
    #: Results with users outside, and the tensors that they overwrite.
    wanted: tuple[tuple[Value, Value], ...]
    #: Tensors that will be replaced. Their sizes are taken from others.
    replaced: tuple[Value, ...] = ()

    @functools.cached_property
    def made(self) -> dict[Value, int]:
        """Return the results and the numbers of the operations that compute them."""
        return {result: number for number, op in enumerate(self.ops) for result in op.operation.results}

    def sizes(self) -> list[int | None]:
        """Return the trip count of each loop, or None if it is dynamic."""
        return [
            next((op.sizes[dim] for op, dim in zip(self.ops, loop, strict=True) if op.sizes[dim] is not None), None)
            for loop in self.loops
        ]

    def size(self, number: int, dim: int) -> Size:
        """Return the trip count of an operation's loop, computed before all operations."""
        op = self.ops[number]
        if (known := op.sizes[dim]) is not None:
            return known
        operand, axis = next(place for place in op.places_of(dim) if op.operands[place[0]] not in self.replaced)
        return linalg.size(self.outside(op.operands[operand]), axis)

    def outside(self, value: Value) -> Value:
        """Return a tensor of the same shape from outside: the one that a result overwrites."""
        return _overwritten_tensor(self.ops, self.made, value)

    def row_bytes(self) -> int | None:
        """Return the bytes of one row of all tensors in memory, or None if they are dynamic."""
        looped = [{loop[number] for loop in self.loops} for number in range(len(self.ops))]
        found: dict[Value, int] = {}
        for number, op in enumerate(self.ops):
            for operand, value in enumerate(op.operands):
                axes = zip(op.accesses[operand], op.shapes[operand], strict=True)
                sizes = [size for index, size in axes if index.dim not in looped[number] or index.dim is None]
                if DYNAMIC in sizes:
                    return None
                found[self.outside(value)] = math.prod(sizes) * _element_bytes(op, operand)
        return sum(found.values())


def _element_bytes(op: StructuredOp, operand: int) -> int:
    element = op.element(operand)
    return 8 if isinstance(element, ir.IndexType) else -(-bit_width(str(element)) // 8)


def rows_in(block: Block) -> Iterator[RowGroup]:
    """Yield groups of consecutive operations in a block that are better executed row by row."""
    for run in _runs(block):
        while len(run) > 1:
            # Take the longest run that fits, usually all of it.
            for end in range(len(run), 1, -1):
                if (rows := _rows(run[:end])) is not None:
                    yield rows
                    break
            else:
                end = 1
            run = run[end:]


def _runs(block: Block) -> list[list[StructuredOp]]:
    """Return runs of structured operations without users of their results between them."""
    runs: list[list[StructuredOp]] = [[]]
    values: set[Value] = set()
    for operation in operations_of(block):
        if (op := analyzed(operation)) is not None:
            runs[-1].append(op)
            values.update(operation.results)
            continue
        is_plain = operation.name in _BETWEEN or (operation.name.startswith("arith.") and not len(operation.regions))
        if not is_plain or not values.isdisjoint(operation.operands):
            runs.append([])
            values.clear()
    return runs


def analyzed(operation: Operation) -> StructuredOp | None:
    """Return the loops of an operation without a plan and with a plain body, or None."""
    if operation.name != "linalg.generic" or PLAN in operation.attributes or UNPLANNED in operation.attributes:
        return None
    try:
        op = analyze(operation)
        check_body(op)
    except Decline:
        return None
    return op


def _rows(ops: Sequence[StructuredOp]) -> RowGroup | None:
    """Group operations in one loop over rows. Return None if they share none, or if it does not pay."""
    made = {result: number for number, op in enumerate(ops) for result in op.operation.results}
    if any(value in made for op in ops for value in used_inside(op.operation) if value not in op.operation.operands):
        return None
    if not (shared := shared_loops(ops, made)) or not _is_read_again(ops, shared):
        return None
    if any(is_vector(ops, shared, loop) for loop in shared):
        return None
    loops = sort_loops(ops[-1], shared)
    if any(_is_product(op, [loop[number] for loop in loops]) for number, op in enumerate(ops)):
        return None
    values = results_to_store(ops, made)
    return None if values is None else RowGroup(tuple(ops), tuple(loops), values)


def shared_loops(
    ops: Sequence[StructuredOp], made: Mapping[Value, int], but: Value | None = None
) -> list[tuple[int, ...]]:
    """Return the loops that all operations share.

    Each step of a shared loop reads only results of the same step. The reads of the tensor `but` are ignored.
    """
    parent: dict[_Loop, _Loop] = {(number, dim): (number, dim) for number, op in enumerate(ops) for dim in op.dims}
    broken: set[_Loop] = set()

    def find(loop: _Loop) -> _Loop:
        while parent[loop] != loop:
            loop = parent[loop]
        return loop

    for number, op in enumerate(ops):
        for operand, value in enumerate(op.operands):
            if but is not None and value == but:
                continue
            maker = made.get(value)
            theirs = None if maker is None else _access_of(ops[maker], value)
            for axis, index in enumerate(op.accesses[operand]):
                is_plain = index.dim is not None and index.is_all_of(index.dim)
                if not is_plain:
                    broken.update((number, dim) for dim, _ in index.factors)
                if theirs is None or maker is None:
                    continue
                other = theirs[axis]
                if is_plain and index.dim is not None and other.dim is not None:
                    parent[find((number, index.dim))] = find((maker, other.dim))
                else:
                    broken.update((maker, dim) for dim, _ in other.factors)
                    broken.update((number, dim) for dim, _ in index.factors)
    classes: dict[_Loop, list[_Loop]] = {}
    for loop in parent:
        classes.setdefault(find(loop), []).append(loop)
    found: list[tuple[int, ...]] = []
    for members in classes.values():
        is_one_of_each = [number for number, _ in sorted(members)] == list(range(len(ops)))
        if is_one_of_each and broken.isdisjoint(members):
            shared = tuple(dim for _, dim in sorted(members))
            sizes = {op.sizes[dim] for op, dim in zip(ops, shared, strict=True)}
            is_parallel = not any(dim in op.reductions for op, dim in zip(ops, shared, strict=True))
            if is_parallel and len(sizes - {None}) < 2 and 1 not in sizes and 0 not in sizes:
                found.append(shared)
    return found


def _access_of(op: StructuredOp, result: Value) -> Sequence:
    return op.output_accesses[list(op.operation.results).index(result)]


def _is_read_again(ops: Sequence[StructuredOp], shared: Sequence[Sequence[int]]) -> bool:
    """Check whether several operations use a tensor with more than one number per row."""
    seen: set[Value] = set()
    for number, op in enumerate(ops):
        rows = {loop[number] for loop in shared}
        large = {
            value
            for operand, value in enumerate(op.operands)
            if any(index.dim not in rows for index in op.accesses[operand] if index.factors)
            and any(index.dim in rows for index in op.accesses[operand])
        }
        if large & seen:
            return True
        seen |= large | (set(op.operation.results) if large.intersection(op.outputs) else set())
    return False


def is_vector(ops: Sequence[StructuredOp], shared: Sequence[Sequence[int]], loop: Sequence[int]) -> bool:
    """Check whether elements are contiguous along a loop, in a tensor with more dimensions than rows."""
    for number, op in enumerate(ops):
        rows = {each[number] for each in shared}
        for operand, access in enumerate(op.accesses):
            has_more = any(index.factors and index.dim not in rows for index in access)
            if has_more and op.last_dim(operand) == loop[number]:
                return True
    return False


def _is_product(op: StructuredOp, rows: Sequence[int]) -> bool:
    """Check whether each row reads the same matrix, which is better read for many rows at a time."""
    for operand in range(op.input_count):
        dims = {index.dim for index in op.accesses[operand] if index.factors}
        if len(dims) > 1 and op.reductions and not dims.issuperset(rows):
            return True
    return False


def sort_loops(op: StructuredOp, loops: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Sort the loops by the last result's dimensions in memory."""
    axes = [index.dim for index in op.output_accesses[0]]
    return sorted(loops, key=lambda loop: axes.index(loop[-1]))


def results_to_store(ops: Sequence[StructuredOp], made: Mapping[Value, int]) -> tuple[tuple[Value, Value], ...] | None:
    """Return the results used outside and the tensors that they overwrite. None if two overwrite one tensor."""
    inside = {op.operation for op in ops}
    found = []
    for result in made:
        users = users_of(result)
        if any(_outermost_in(user, result) not in inside for user in users):
            found.append((result, _overwritten_tensor(ops, made, result)))
    places = [place for _, place in found]
    return tuple(found) if len(set(places)) == len(places) and found else None


def _outermost_in(user: Operation, value: Value) -> Operation:
    block = value.owner.operation.block
    while user.block != block:
        user = user.parent
    return user


def _overwritten_tensor(ops: Sequence[StructuredOp], made: Mapping[Value, int], value: Value) -> Value:
    """Return the outside tensor that a result overwrites. A tensor from outside is returned unchanged."""
    while value in made:
        op = ops[made[value]]
        value = op.outputs[list(op.operation.results).index(value)]
    return value
