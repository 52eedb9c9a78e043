# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop collapsing: dimensions that are contiguous in every operand run as one loop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from ....bindings.affine import Linear
from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC, ir
from ....bindings.navigation import constant_of, is_used_once, made_by, operations_named, operations_of, use_count
from ....bindings.rewriting import Decline, replace_op
from ....emit import linalg
from ....emit.arithmetic import result_of
from ....emit.collapse import (
    Groups,
    IsWhole,
    are_neighbours,
    chains,
    collapse,
    joined_shape,
    joined_size,
    reassociation,
)
from ....emit.structured import StructuredOp
from ....emit.tensors import SlicePlace, put_slice, slice_of
from .dynamic_slices import TensorSlice, open_part, written_back

#: Size that no type can represent.
_TOO_MANY = 1 << 63
_COLLAPSE, _EXPAND = "tensor.collapse_shape", "tensor.expand_shape"


def joinable(op: StructuredOp) -> tuple[tuple[int, ...], ...]:
    """Return the loops in groups that can run as one loop each, in order. Most groups have one loop."""
    alone = tuple((dim,) for dim in op.dims)
    if asks_for_place(op) or 0 in op.sizes:
        return alone
    found = chains(op.dims, op.walks, lambda left, right: _are_neighbours(op, left, right, partial(_is_whole, op)))
    is_too_long = any((_product(op, chain) or 0) >= _TOO_MANY for chain in found)
    return alone if is_too_long else tuple(map(tuple, found))


def asks_for_place(op: StructuredOp) -> bool:
    """Return True if the computation depends on the position in the loops."""
    return not op.inner_names.isdisjoint(("linalg.index", "tensor.extract"))


def asks_for_result(op: StructuredOp) -> bool:
    """Return True if the computation depends on the position of the result. It may depend on the reduction's steps."""
    indices = [inner for inner in operations_of(op.block) if inner.name == "linalg.index"]
    return "tensor.extract" in op.inner_names or any(
        inner.attributes["dim"].value not in op.reductions for inner in indices
    )


def _are_neighbours(op: StructuredOp, left: int, right: int, is_whole: IsWhole) -> bool:
    if (left in op.reductions) != (right in op.reductions) or 1 in (op.sizes[left], op.sizes[right]):
        return False
    return are_neighbours(op.walks, left, right, is_whole)


def _is_whole(op: StructuredOp, operand: int, outer: int, inner: int) -> bool:
    """Return True unless an operand is known to be a part of another tensor with gaps between its rows."""
    first, *others = range(outer, inner + 1)
    part = open_part(op.operands[operand], [[first, *others]])
    is_view = part is not None and (operand < op.output_start or written_back(part) is not None)
    return is_view or _is_whole_in(op.operands[operand], others)


def _is_whole_in(value: Value, axes: Sequence[int]) -> bool:
    """Return True if types show that there is no gap between elements along these axes."""
    if (slice_ := made_by(value, "tensor.extract_slice")) is None:
        return True
    source = slice_.operands[0].type
    sizes, steps = (list(slice_.attributes[name]) for name in ("static_sizes", "static_strides"))
    is_whole = [
        size == known != DYNAMIC and step == 1 for size, known, step in zip(sizes, source.shape, steps, strict=True)
    ]
    skipped = source.rank - value.type.rank
    # A strided slice along the last axis is copied at once, which is faster than reading vectors with a stride.
    is_known = DYNAMIC not in source.shape[skipped + axes[0] :] or steps[-1] != 1
    return is_known and sizes[skipped:] == list(value.type.shape) and all(is_whole[skipped + axis] for axis in axes)


def check_joined(op: StructuredOp, loops: Groups) -> None:
    """Check that the loops of each group can run as one loop. Raises Decline."""
    for chain in loops:
        if len(chain) == 1:
            continue
        if asks_for_place(op):
            raise Decline(f"loops {_listed(chain)} cannot be joined: the body depends on its position")
        for left, right in itertools.pairwise(chain):
            if not _are_neighbours(op, left, right, lambda *_: True):
                raise Decline(
                    f"loops {_listed(chain)} cannot be joined: {left} and {right} are not adjacent in all operands"
                )


def _listed(chain: Sequence[int]) -> str:
    return f"{', '.join(map(str, chain[:-1]))} and {chain[-1]}"


def join(op: StructuredOp, loops: Groups) -> StructuredOp:
    """Return the operation with one loop for each group. The groups come from `joinable` or have passed `check_joined`.

    The operands stay as they are; `Joined` reshapes them.
    """
    if all(len(chain) == 1 for chain in loops):
        return op
    number = {dim: position for position, chain in enumerate(loops) for dim in chain}
    grouped = [_groups(access, loops) for access in op.accesses]
    return replace(
        op,
        accesses=tuple(
            # The first axis of a group has the chain's first dimension. A single axis is renumbered.
            tuple(access[group[0]].renumbered(number) for group in groups)
            for access, groups in zip(op.accesses, grouped, strict=True)
        ),
        shapes=tuple(joined_shape(shape, groups) for shape, groups in zip(op.shapes, grouped, strict=True)),
        sizes=tuple(_product(op, chain) for chain in loops),
        reductions=frozenset(number[dim] for dim in op.reductions),
        chains=tuple(tuple(each for dim in chain for each in op.chain(dim)) for chain in loops),
    )


def _groups(access: Sequence[Linear], loops: Groups) -> list[list[int]]:
    """Return an operand's axes, in groups that become one axis."""
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
    """Slice in collapsed form: the original slice, its collapsed source, and its place there."""

    part: TensorSlice
    joined: Value
    place: SlicePlace


class _Collapsed(NamedTuple):
    """Operand with collapsed axes."""

    value: Value
    whole: _Whole | None = None


@dataclass(frozen=True)
class Joined:
    """Operation on operands with the shapes of its joined loops, and the way back to the original shapes."""

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
            # A value that is read and written in place stays one value.
            if (value, str(groups)) not in made:
                made[value, str(groups)] = _collapse(value, groups)
            operands.append(made[value, str(groups)])
        joined = replace(join(op, loops), operands=tuple(operand.value for operand in operands))
        return Joined(joined, op, loops, operands[op.output_start :])

    def replace(self, old: Sequence[Value], results: Sequence[Value]) -> None:
        """Replace the operation's results by the results of the loops."""
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


# ---- reshapes ----
# Loops that were joined, and split again for the next operation: MLIR folds such pairs if at most one of the joined
# sizes is unknown. A remaining pair would be copied, or count as a read of the tensor that is written in its place.


def fold_reshapes(function: Operation) -> None:
    """Fold collapses of expanded values, and replace sizes of expanded values by the values that define them."""
    for op in operations_named(function, _COLLAPSE, "tensor.dim"):
        if (apart := made_by(op.operands[0], _EXPAND)) is None:
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
    """Return the value that defines an expanded dimension, or None if the dimension is static."""
    sizes = list(apart.attributes["static_output_shape"])
    return None if axis is None or sizes[axis] != DYNAMIC else apart.operands[1 + sizes[:axis].count(DYNAMIC)]
