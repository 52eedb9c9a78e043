# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What operators do with sequences whose length only the run tells."""

from __future__ import annotations

from typing import Any

from ....dialects.core.infos import TensorInfo
from ....dialects.relax import const, dialect
from ..control.flattening import build_any_loop
from ..control.run_time_items import place_of, require
from ..control.run_time_sequences import (
    all_joined,
    appended,
    erased_at_run_time,
    inserted_at_run_time,
    joined_item,
    joined_length,
    length_of,
)
from ..control.scf_loops import Loop, Turn, build_loop
from ..control.scf_regions import as_info, as_items, scalar_of
from ..dtypes import dtype_of
from ..graph_tensors import with_first_at
from ..importer import add_graph
from ..node import Node
from ..shapes.sizes import as_tensor, divided, is_known, larger, minus, plus, sizes_of, sliced, smaller, times
from ..values import RunTimeSequence, SequenceValue, Value

relax = dialect.ops


def item_at_run_time(node: Node, sequence: RunTimeSequence, index: int) -> Any:
    """The item at the position that an input tells."""
    numbers = node.numbers(index)
    if numbers is not None and 0 <= numbers[0] < len(sequence.items):
        return sequence.items[numbers[0]]
    length = length_of(sequence)
    return joined_item(all_joined(node, sequence), place_of(node, index, length, length))


def insert_at_run_time(node: Node, sequence: RunTimeSequence, new: Value, index: int) -> Any:
    """Another tensor at the position that an input tells, at the end without one."""
    if not node.has(index):
        return appended(node, sequence, new)
    length = length_of(sequence)
    end = relax["add"](length, const(1, "i64"))
    return inserted_at_run_time(node, sequence, new, place_of(node, index, length, end))


def erase_at_run_time(node: Node, sequence: RunTimeSequence, index: int) -> Any:
    """Without the tensor at the position that an input tells, without the last one if there is no such input."""
    length = length_of(sequence)
    if node.has(index):
        return erased_at_run_time(node, sequence, place_of(node, index, length, length))
    require(node, relax["greater"](length, const(0, "i64")), "the sequence has no item to erase")
    return erased_at_run_time(node, sequence, relax["subtract"](length, const(1, "i64")))


def concatenated_at_run_time(node: Node, sequence: RunTimeSequence, axis: int, new_axis: bool) -> Any:
    whole = all_joined(node, sequence)
    length = joined_length(whole)
    require(node, relax["greater"](length, const(0, "i64")), "the sequence is empty")
    return _stacked(node, whole, length, axis) if new_axis else _concatenated(node, whole, length, axis)


def _stacked(node: Node, whole: RunTimeSequence, length: Any, axis: int) -> Any:
    def step(_: Any, index: Value, __: list[Any]) -> Turn:
        return Turn([], [joined_item(whole, index.ssa)])

    _, (rows,) = build_loop(Loop(node, step, scalar_of(node, Value(ssa=length))), [])
    return with_first_at(rows.ssa, axis)


def _concatenated(node: Node, whole: RunTimeSequence, length: Any, axis: int) -> Any:
    def step(_: Any, index: Value, states: list[Any]) -> Turn:
        item = joined_item(whole, relax["add"](index.ssa, const(1, "i64")))
        return Turn([Value(ssa=relax["concat"](states[0].ssa, item.ssa, axis=axis))], [])

    others = scalar_of(node, Value(ssa=relax["subtract"](length, const(1, "i64"))))
    (joined,), _ = build_loop(Loop(node, step, others), [joined_item(whole, const(0, "i64"))])
    return joined


def split_at_run_time(node: Node, axis: int, length: Any, squeezed: bool) -> Any:
    """Parts of one length, a size, along an axis: how many only the run tells."""
    value = Value(ssa=node.tensor(0))  # a tensor before it is used in the loop
    size = sizes_of(value)[axis]
    if not is_known(length):
        is_positive = relax["reshape"](relax["greater"](length, const([0], "i64")), ())
        require(node, is_positive, "the length of the parts must be positive")
    count = divided(plus(size, minus(length, 1)), larger(length, 1))

    def step(_: Any, index: Value, states: list[Any]) -> Turn:
        begin = times(relax["reshape"](index.ssa, (1,)), length)
        part = sliced(value, {axis: (begin, smaller(plus(begin, length), size), 1)})
        if squeezed:
            part = relax["squeeze"](as_info(part, _with_one(part, axis)), axis=[axis])
        return Turn([appended(node, states[0], Value(ssa=part))], [])

    turns = scalar_of(node, Value(ssa=as_tensor([count])))
    (parts,), _ = build_any_loop(Loop(node, step, turns), [SequenceValue([], value.dtype)])
    return parts


def _with_one(tensor: Any, axis: int) -> TensorInfo:
    info = Value(ssa=tensor).info
    return info.with_shape([1 if place == axis else size for place, size in enumerate(info.shape or ())])


def mapped_at_run_time(node: Node, body: Any) -> list[Any]:
    """The body for each item of the sequences; their lengths must be equal."""
    lists = (SequenceValue, RunTimeSequence)
    inputs = [all_joined(node, held) if isinstance(held, lists) else held for held in node.inputs]
    lengths = [joined_length(held) for held in inputs if isinstance(held, RunTimeSequence)]
    for length in lengths[1:]:
        require(node, relax["equal"](lengths[0], length), "the sequences have different lengths")

    def step(operation: Any, index: Value, states: list[Any]) -> Turn:
        items = [
            joined_item(held, index.ssa) if isinstance(held, RunTimeSequence) else held.inside(operation)
            for held in inputs
        ]
        outputs = as_items(node, add_graph(node, body, items, operation))
        return Turn([appended(node, state, output) for state, output in zip(states, outputs, strict=True)], [])

    turns = scalar_of(node, Value(ssa=lengths[0]))
    return build_any_loop(Loop(node, step, turns), empty_sequences(body))[0]


def empty_sequences(body: Any) -> list[SequenceValue]:
    """Sequences for the outputs of a body that is never used, or not yet."""
    return [SequenceValue([], dtype_of(output.type.tensor_type.elem_type or 1)) for output in body.output]
