# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences and optionals: the importer knows how long they are and what they hold, the graph has tensors only."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ....dialects.relax import const, dialect
from ..control.run_time_items import erased, inserted, item_at, place_of, require
from ..control.run_time_sequences import length_of
from ..node import Node
from ..registry import register_onnx
from ..shapes.sizes import as_tensor, element, input_size, integers, sizes_of, sliced
from ..values import EmptyOptional, Outputs, RunTimeOptional, RunTimeSequence, SequenceValue, Value, known
from .long_sequences import (
    concatenated_at_run_time,
    erase_at_run_time,
    insert_at_run_time,
    item_at_run_time,
    split_at_run_time,
)

relax = dialect.ops


@register_onnx("", "SequenceConstruct")
def sequence_construct(node: Node) -> Outputs:
    return SequenceValue([node.value(index) for index in range(len(node.inputs))])


@register_onnx("", "SequenceEmpty")
def sequence_empty(node: Node) -> Outputs:
    return SequenceValue([], node.dtype("dtype", "f32"))


@register_onnx("", "SequenceLength")
def sequence_length(node: Node) -> Outputs:
    held = node.held(0)
    if isinstance(held, RunTimeSequence):
        return length_of(held)
    return known(len(node.sequence(0).items))


@register_onnx("", "SequenceAt")
def sequence_at(node: Node) -> Outputs:
    held = node.held(0)
    if isinstance(held, RunTimeSequence):
        return item_at_run_time(node, held, 1)
    items, place = node.sequence(0).items, _place(node, 1)
    if place is not None:
        return items[_in_range(node, place, len(items), len(items))]
    if not items:
        raise node.fail("the sequence is empty")
    found = place_of(node, 1, len(items), len(items))
    shapes = {item.shape for item in items}
    if len(shapes) == 1 and not any(shape is None or None in shape for shape in shapes):
        return relax["take"](relax["stack"](*(item.ssa for item in items), axis=0), found, axis=0)
    return item_at(node, items, found)


@register_onnx("", "SequenceInsert")
def sequence_insert(node: Node) -> Outputs:
    held, new = node.held(0), node.value(1)
    if isinstance(held, RunTimeSequence):
        return insert_at_run_time(node, held, new, 2)
    items = list(node.sequence(0).items)
    if items and items[0].dtype != new.dtype:
        raise node.fail(f"a tensor of {new.dtype} cannot be inserted into a sequence of {items[0].dtype}")
    place = _place(node, 2) if node.has(2) else len(items)
    if place is None:
        return SequenceValue(inserted(node, items, new, place_of(node, 2, len(items), len(items) + 1)))
    items.insert(_in_range(node, place, len(items), len(items) + 1), new)
    return SequenceValue(items)


@register_onnx("", "SequenceErase")
def sequence_erase(node: Node) -> Outputs:
    held = node.held(0)
    if isinstance(held, RunTimeSequence):
        return erase_at_run_time(node, held, 1)
    sequence = node.sequence(0)
    items = list(sequence.items)
    if not items:
        raise node.fail("the sequence has no item to erase")
    place = _place(node, 1) if node.has(1) else len(items) - 1
    if place is None:
        return SequenceValue(erased(node, items, place_of(node, 1, len(items), len(items))), sequence.dtype)
    del items[_in_range(node, place, len(items), len(items))]
    return SequenceValue(items, sequence.dtype)


@register_onnx("", "ConcatFromSequence")
def concat_from_sequence(node: Node) -> Outputs:
    held, axis = node.held(0), node.int("axis")
    if axis is None:
        raise node.fail("attribute 'axis' is missing", "axis")
    if isinstance(held, RunTimeSequence):
        return concatenated_at_run_time(node, held, axis, bool(node.int("new_axis", 0)))
    items = node.sequence(0).items
    if not items:
        raise node.fail("the sequence is empty")
    joined = "stack" if node.int("new_axis", 0) else "concatenate"
    if all(item.elements is not None for item in items):
        import numpy

        # A shape that was put together from sizes is one still.
        return known(getattr(numpy, joined)([item.elements for item in items], axis), items[0].dtype)
    return relax["stack" if joined == "stack" else "concat"](*(item.ssa for item in items), axis=axis)


@register_onnx("", "SplitToSequence")
def split_to_sequence(node: Node) -> Outputs:
    axis = node.int("axis", 0) % max(node.rank(0), 1)
    squeezed = not node.has(1) and not node.int("keepdims", 1)
    parts = _split(node, axis)
    if parts is None:
        return split_at_run_time(node, axis, input_size(node, 1) if node.has(1) else 1, squeezed)
    if squeezed:
        parts = [relax["squeeze"](part, axis=[axis]) for part in parts]
    return SequenceValue([Value(ssa=part) for part in parts], node.value(0).dtype)


def _split(node: Node, axis: int) -> list[Any] | None:
    """The parts; None where only the run tells how many."""
    size = (node.value(0).shape or ())[axis]
    lengths = node.numbers(1) if node.has(1) else (1,)
    if node.has(1) and node.rank(1) == 1:
        if lengths is None:
            return _split_at_run_time(node, axis)
        starts = [sum(lengths[:index]) for index in range(1, len(lengths))]
    elif lengths is None or not isinstance(size, int):
        return None
    elif lengths[0] > 0:
        starts = list(range(lengths[0], size, lengths[0]))
    else:
        raise node.fail(f"parts of {lengths[0]} along axis {axis}")
    if not starts:
        return [node.tensor(0)] if node.has(1) or size else []
    return list(relax["split"](node.tensor(0), indices_or_sections=starts, axis=axis))


def _split_at_run_time(node: Node, axis: int) -> list[Any]:
    """Parts of lengths that only the run tells; their number is known."""
    count = (node.value(1).shape or (None,))[0]
    if not isinstance(count, int):
        raise node.fail("how many lengths there are must be known while the model is imported")
    lengths, whole = integers(node, 1), sizes_of(node.value(0))[axis]
    zero = const([0], "i64")
    is_whole = relax["equal"](relax["sum"](lengths, axis=[0], keepdims=True), as_tensor([whole]))
    are_lengths = relax["logical_and"](
        is_whole,
        relax["greater_equal"](relax["min"](relax["concat"](lengths, zero, axis=0), axis=[0], keepdims=True), zero),
    )
    require(
        node, relax["reshape"](are_lengths, ()), f"the lengths of the parts do not add up to the size of axis {axis}"
    )
    ends = relax["cumsum"](lengths, axis=0)
    bounds = [0, *(element(ends, index) for index in range(count))]
    return [sliced(node.value(0), {axis: (begin, end, 1)}) for begin, end in pairwise(bounds)]


def _place(node: Node, index: int) -> int | None:
    numbers = node.numbers(index)
    return None if numbers is None else numbers[0]


def _in_range(node: Node, place: int, length: int, end: int) -> int:
    """A position from the front; negative ones count from behind."""
    found = place + length if place < 0 else place
    if not 0 <= found < end:
        raise node.fail(f"position {place} is out of range for a sequence of {length} items")
    return found


# ---- optionals ----


@register_onnx("", "Optional")
def optional(node: Node) -> Outputs:
    return node.held(0) if node.has(0) else EmptyOptional()


@register_onnx("", "OptionalHasElement")
def optional_has_element(node: Node) -> Outputs:
    if not node.has(0):
        return known(False, "i1")
    held = node.held(0)
    return held.present if isinstance(held, RunTimeOptional) else known(not isinstance(held, EmptyOptional), "i1")


@register_onnx("", "OptionalGetElement")
def optional_get_element(node: Node) -> Outputs:
    held = node.held(0)
    if isinstance(held, EmptyOptional):
        raise node.fail("the optional holds nothing")
    if not isinstance(held, RunTimeOptional):
        return held
    present = held.present.ssa
    require(node, present if held.present.rank == 0 else relax["reshape"](present, ()), "the optional holds nothing")
    return held.held
