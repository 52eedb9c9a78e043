# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences and optionals: the importer knows how long they are and what they hold, the graph has tensors only."""

from __future__ import annotations

from typing import Any

from ....dialects.relax import const, dialect
from ..dtypes import dtype_of
from ..node import Node
from ..registry import register_onnx
from ..values import EmptyOptional, SequenceValue, Value, known

relax = dialect.ops


@register_onnx("", "SequenceConstruct")
def sequence_construct(node: Node) -> Any:
    return SequenceValue([node.value(index) for index in range(len(node.inputs))])


@register_onnx("", "SequenceEmpty")
def sequence_empty(node: Node) -> Any:
    return SequenceValue([], dtype_of(node.int("dtype", 1)))


@register_onnx("", "SequenceLength")
def sequence_length(node: Node) -> Any:
    return known(len(node.sequence(0).items))


@register_onnx("", "SequenceAt")
def sequence_at(node: Node) -> Any:
    items, place = node.sequence(0).items, _place(node, 1)
    if place is not None:
        return items[_in_range(node, place, len(items), len(items))]
    shapes = {item.shape for item in items}
    if len(shapes) != 1 or any(shape is None or None in shape for shape in shapes):
        raise node.fail("a position that only the run tells needs items of one known shape")
    return relax["take"](relax["stack"](*(item.ssa for item in items), axis=0), _scalar(node, 1, len(items)), axis=0)


@register_onnx("", "SequenceInsert")
def sequence_insert(node: Node) -> Any:
    sequence = node.sequence(0)
    items = list(sequence.items)
    place = len(items)
    if node.has(2):
        place = _in_range(node, _known_place(node, 2), len(items), len(items) + 1)
    items.insert(place, node.value(1))
    return SequenceValue(items)


@register_onnx("", "SequenceErase")
def sequence_erase(node: Node) -> Any:
    sequence = node.sequence(0)
    items = list(sequence.items)
    place = _in_range(node, _known_place(node, 1), len(items), len(items)) if node.has(1) else len(items) - 1
    if not items:
        raise node.fail("the sequence has no item to erase")
    del items[place]
    return SequenceValue(items, sequence.dtype)


@register_onnx("", "ConcatFromSequence")
def concat_from_sequence(node: Node) -> Any:
    items, axis = node.sequence(0).items, node.int("axis")
    if axis is None or not items:
        raise node.fail("the sequence is empty" if axis is not None else "attribute 'axis' is missing")
    joined = "stack" if node.int("new_axis", 0) else "concatenate"
    if all(item.elements is not None for item in items):
        import numpy

        # A shape that was put together from sizes is one still.
        return known(getattr(numpy, joined)([item.elements for item in items], axis), items[0].dtype)
    return relax["stack" if joined == "stack" else "concat"](*(item.ssa for item in items), axis=axis)


@register_onnx("", "SplitToSequence")
def split_to_sequence(node: Node) -> Any:
    axis = node.int("axis", 0) % max(node.rank(0), 1)
    parts = _split(node, axis)
    if not node.has(1) and not node.int("keepdims", 1):
        parts = [relax["squeeze"](part, axis=[axis]) for part in parts]
    return SequenceValue([Value(ssa=part) for part in parts], node.value(0).dtype)


def _split(node: Node, axis: int) -> list[Any]:
    size = (node.value(0).shape or ())[axis]
    lengths = node.numbers(1) if node.has(1) else (1,)
    if lengths is None:
        raise node.fail("lengths that only the run tells make a sequence of unknown length")
    if node.has(1) and node.rank(1) == 1:
        starts = [sum(lengths[:index]) for index in range(1, len(lengths))]
    elif isinstance(size, int) and lengths[0] > 0:
        starts = list(range(lengths[0], size, lengths[0]))
    else:
        raise node.fail(f"axis {axis} must have a known size to be split into parts of {lengths[0]}")
    if not starts:
        return [node.tensor(0)] if node.has(1) or size else []
    return list(relax["split"](node.tensor(0), indices_or_sections=starts, axis=axis))


def _place(node: Node, index: int) -> int | None:
    numbers = node.numbers(index)
    return None if numbers is None else numbers[0]


def _known_place(node: Node, index: int) -> int:
    place = _place(node, index)
    if place is None:
        raise node.fail("the position must be known while the model is imported")
    return place


def _in_range(node: Node, place: int, length: int, end: int) -> int:
    """A position from the front; negative ones count from behind."""
    found = place + length if place < 0 else place
    if not 0 <= found < end:
        raise node.fail(f"position {place} is out of range for a sequence of {length} items")
    return found


def _scalar(node: Node, index: int, length: int) -> Any:
    place = node.tensor(index) if node.rank(index) == 0 else relax["reshape"](node.tensor(index), ())
    dtype = node.value(index).dtype
    from_behind = relax["add"](place, const(length, dtype))
    return relax["where"](relax["less"](place, const(0, dtype)), from_behind, place)


# ---- optionals ----


@register_onnx("", "Optional")
def optional(node: Node) -> Any:
    return node.held(0) if node.has(0) else EmptyOptional()


@register_onnx("", "OptionalHasElement")
def optional_has_element(node: Node) -> Any:
    return known(node.has(0) and not isinstance(node.held(0), EmptyOptional), "i1")


@register_onnx("", "OptionalGetElement")
def optional_get_element(node: Node) -> Any:
    if isinstance(node.held(0), EmptyOptional):
        raise node.fail("the optional holds nothing")
    return node.held(0)
