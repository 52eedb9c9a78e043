# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop collapsing: dimensions that are contiguous in every operand run as one loop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from ...bindings.affine import Linear
from ...bindings.ir import Operation, Value
from ...bindings.mlir import DYNAMIC, ir
from ...bindings.navigation import constant_of, is_used_once, made_by, operations_named, operations_of, use_count
from ...bindings.rewriting import Decline, replace_op
from ...emit import linalg
from ...emit.arithmetic import result_of
from ...emit.collapse import Groups, IsWhole, are_neighbours, chains, collapse, joined_shape, joined_size, reassociation
from ...emit.structured import StructuredOp
from ...emit.tensors import SlicePlace, put_slice, slice_of
from .dynamic_slices import TensorSlice, open_part, written_back

#: What no type can have as a size.
_TOO_MANY = 1 << 63
_COLLAPSE, _EXPAND = "tensor.collapse_shape", "tensor.expand_shape"


def joinable(op: StructuredOp) -> tuple[tuple[int, ...], ...]:
    """The loops in groups, each in order; most have one member."""
    alone = tuple((dim,) for dim in op.dims)
    if asks_for_place(op) or 0 in op.sizes:
        return alone
    found = chains(op.dims, op.walks, lambda left, right: _are_neighbours(op, left, right, partial(_is_whole, op)))
    is_too_long = any((_product(op, chain) or 0) >= _TOO_MANY for chain in found)
    return alone if is_too_long else tuple(map(tuple, found))


def asks_for_place(op: StructuredOp) -> bool:
    """Whether what is computed depends on where in the loops it is."""
    return not op.inner_names.isdisjoint(("linalg.index", "tensor.extract"))


def asks_for_result(op: StructuredOp) -> bool:
    """Whether what is computed depends on which result it is for; it may depend on the steps of the reduction."""
    indices = [inner for inner in operations_of(op.block) if inner.name == "linalg.index"]
    return "tensor.extract" in op.inner_names or any(
        inner.attributes["dim"].value not in op.reductions for inner in indices
    )


def _are_neighbours(op: StructuredOp, left: int, right: int, is_whole: IsWhole) -> bool:
    if (left in op.reductions) != (right in op.reductions) or 1 in (op.sizes[left], op.sizes[right]):
        return False
    return are_neighbours(op.walks, left, right, is_whole)


def _is_whole(op: StructuredOp, operand: int, outer: int, inner: int) -> bool:
    """Whether an operand is not known to be a part of another tensor there: behind each row of a part is a gap."""
    first, *others = range(outer, inner + 1)
    part = open_part(op.operands[operand], [[first, *others]])
    is_view = part is not None and (operand < op.output_start or written_back(part) is not None)
    return is_view or _is_whole_in(op.operands[operand], others)


def _is_whole_in(value: Value, axes: Sequence[int]) -> bool:
    """Whether types state that there is no gap between neighbours along these axes."""
    slice_ = made_by(value, "tensor.extract_slice")
    if slice_ is None:
        return True
    source = slice_.operands[0].type
    sizes, steps = (list(slice_.attributes[name]) for name in ("static_sizes", "static_strides"))
    is_whole = [
        size == known != DYNAMIC and step == 1 for size, known, step in zip(sizes, source.shape, steps, strict=True)
    ]
    skipped = source.rank - value.type.rank
    # Steps in the last axis are copied away at once, which is faster than to read vectors by steps.
    is_known = DYNAMIC not in source.shape[skipped + axes[0] :] or steps[-1] != 1
    return is_known and sizes[skipped:] == list(value.type.shape) and all(is_whole[skipped + axis] for axis in axes)


def check_joined(op: StructuredOp, loops: Groups) -> None:
    """Raises Decline where loops cannot run as one."""
    for chain in loops:
        if len(chain) == 1:
            continue
        if asks_for_place(op):
            raise Decline(f"loops {_listed(chain)} cannot be one: the body asks where it is")
        for left, right in itertools.pairwise(chain):
            if not _are_neighbours(op, left, right, lambda *_: True):
                raise Decline(f"loops {_listed(chain)} cannot be one: {left} and {right} are not neighbours everywhere")


def _listed(chain: Sequence[int]) -> str:
    return f"{', '.join(map(str, chain[:-1]))} and {chain[-1]}"


def join(op: StructuredOp, loops: Groups) -> StructuredOp:
    """The operation with one loop for each group, which `joinable` or `check_joined` approves of.

    Its operands are still what they were; `Joined` gives them the shapes.
    """
    if all(len(chain) == 1 for chain in loops):
        return op
    number = {dim: position for position, chain in enumerate(loops) for dim in chain}
    grouped = [_groups(access, loops) for access in op.accesses]
    return replace(
        op,
        accesses=tuple(
            # Of a group's axes the first one has the chain's first dimension; alone, it is renumbered.
            tuple(access[group[0]].renumbered(number) for group in groups)
            for access, groups in zip(op.accesses, grouped, strict=True)
        ),
        shapes=tuple(joined_shape(shape, groups) for shape, groups in zip(op.shapes, grouped, strict=True)),
        sizes=tuple(_product(op, chain) for chain in loops),
        reductions=frozenset(number[dim] for dim in op.reductions),
    )


def _groups(access: Sequence[Linear], loops: Groups) -> list[list[int]]:
    """Return an operand's axes, in groups of those that become one."""
    if all(len(chain) == 1 for chain in loops):
        return [[axis] for axis in range(len(access))]
    groups: list[list[int]] = []
    dims = [index.dim for index in access]
    place = {dim: axis for axis, dim in enumerate(dims) if dim is not None}
    until = -1
    for axis, dim in enumerate(dims):
        if axis <= until:
            continue
        chain = next((chain for chain in loops if chain[0] == dim), [])
        until = place[chain[-1]] if len(chain) > 1 else axis
        groups.append(list(range(axis, until + 1)))
    return groups


def _product(op: StructuredOp, chain: Sequence[int]) -> int | None:
    total = joined_size([DYNAMIC if size is None else size for size in (op.sizes[dim] for dim in chain)])
    return None if total == DYNAMIC else total


class _Whole(NamedTuple):
    """Of an open slice: which it is, the whole tensor with its axes joined, and where in that the slice is."""

    part: TensorSlice
    joined: Value
    place: SlicePlace


class _Collapsed(NamedTuple):
    """An operand with its axes joined."""

    value: Value
    whole: _Whole | None = None


@dataclass(frozen=True)
class Joined:
    """An operation whose operands have the shapes of its loops, and how its results get theirs back."""

    op: StructuredOp
    original: StructuredOp
    loops: Groups
    outputs: Sequence[_Collapsed]

    @staticmethod
    def create(op: StructuredOp, loops: Groups) -> Joined:
        made: dict[tuple[Value, str], _Collapsed] = {}
        operands = []
        for value, access in zip(op.operands, op.accesses, strict=True):
            groups = _groups(access, loops)
            # What is read and written in place stays one value.
            if (value, str(groups)) not in made:
                made[value, str(groups)] = _collapse(value, groups)
            operands.append(made[value, str(groups)])
        joined = replace(join(op, loops), operands=tuple(each.value for each in operands))
        return Joined(joined, op, loops, operands[op.output_start :])

    def replace(self, old: Sequence[Value], results: Sequence[Value]) -> None:
        """Has the loops' results used instead of the operation's."""
        ends = zip(self.original.outputs, self.original.output_accesses, self.outputs, strict=True)
        for before, value, (like, access, collapsed) in zip(old, results, ends, strict=True):
            groups, whole = _groups(access, self.loops), collapsed.whole
            insert = None if whole is None else written_back(whole.part)
            if whole is None or insert is None or insert.operands[0] != before or not is_used_once(before):
                before.replace_all_uses_with(_expand(value, like, groups))
                continue
            place = whole.place
            written = put_slice(value, whole.joined, place.offsets, place.strides, place.sizes)
            replace_op(insert, [_expand(written, whole.part.source, groups)])


def _collapse(value: Value, groups: Groups) -> _Collapsed:
    part = None if all(len(group) == 1 for group in groups) else open_part(value, groups)
    if part is None:
        return _Collapsed(collapse(value, groups))
    whole = _Whole(part, collapse(part.source, groups), part.place.joined(groups))
    return _Collapsed(slice_of(whole.joined, *whole.place), whole)


def _expand(value: Value, like: Value, groups: Groups) -> Value:
    if value.type == like.type:
        return value
    shape, dynamic = linalg.static_and_dynamic(linalg.sizes(like))
    attributes = {"reassociation": reassociation(groups), "static_output_shape": ir.DenseI64ArrayAttr.get(shape)}
    return result_of(_EXPAND, [value, *dynamic], like.type, **attributes)


# ---- back and forth ----
# Loops that were joined and taken apart again for the next operation: MLIR sees through that where no more than one of
# the joined sizes is unknown; what is left would be copied, or count as reading what is written in its place.


def fold_reshapes(function: Operation) -> None:
    """Takes what was joined before it was taken apart, and sizes from where they were stated."""
    for op in operations_named(function, _COLLAPSE, "tensor.dim"):
        apart = made_by(op.operands[0], _EXPAND)
        if apart is None:
            continue
        if op.name == "tensor.dim":
            known = _stated_size(apart, constant_of(op.operands[1]))
        else:
            is_same = apart.attributes["reassociation"] == op.attributes["reassociation"]
            known = apart.operands[0] if is_same else None
        if known is not None:
            replace_op(op, [known])
    for op in reversed(operations_named(function, _EXPAND)):
        if not use_count(op.result):
            op.erase()


def _stated_size(apart: Operation, axis: int | None) -> Value | None:
    """The value that says how large a dimension becomes; None where it is no value."""
    sizes = list(apart.attributes["static_output_shape"])
    if axis is None or sizes[axis] != DYNAMIC:
        return None
    return apart.operands[1 + sizes[:axis].count(DYNAMIC)]
