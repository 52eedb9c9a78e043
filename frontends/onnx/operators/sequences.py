# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of sequences and optionals. The importer tracks their lengths and contents; the graph has only tensors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ....bindings.ir import Operation
from ...core import sizes
from ...core.control.flattening import build_any_loop
from ...core.control.run_time_items import erased, inserted, item_at, place_of, require
from ...core.control.run_time_sequences import (
    all_joined,
    appended,
    erased_at_run_time,
    inserted_at_run_time,
    joined_item,
    joined_length,
    length_of,
)
from ...core.control.scf_loops import LoopSpec, Turn, build_loop
from ...core.control.scf_regions import as_info, scalar_of
from ...core.sizes import Size
from ...core.values import EmptyOptional, RunTimeOptional, RunTimeSequence, SequenceValue, Tensor
from ..input_sizes import input_size, integers
from ..prelude import (
    OnnxNode,
    Outputs,
    Value,
    const,
    info_of,
    known,
    register_onnx,
    register_rows,
    relax,
    with_first_at,
)

register_rows(
    "",
    {
        "Optional": lambda node: node.held(0) if node.has(0) else EmptyOptional(),
        "SequenceConstruct": lambda node: SequenceValue([node.value(index) for index in range(len(node.inputs))]),
        "SequenceEmpty": lambda node: SequenceValue([], node.dtype("dtype", "f32")),
    },
)


@register_onnx("", "SequenceLength")
def sequence_length(node: OnnxNode) -> Outputs:
    held = node.held(0)
    return length_of(held) if isinstance(held, RunTimeSequence) else known(len(node.sequence(0).items))


@register_onnx("", "SequenceAt")
def sequence_at(node: OnnxNode) -> Outputs:
    held, place = node.held(0), node.number(1)
    if isinstance(held, RunTimeSequence):
        if place is not None and 0 <= place < len(held.items):
            return held.items[place]
        length = length_of(held)
        return joined_item(all_joined(node, held), place_of(node, 1, length, length))
    items = node.sequence(0).items
    if place is not None:
        return items[_check_position(node, place, len(items), len(items))]
    if not items:
        raise node.fail("the sequence is empty")
    found = place_of(node, 1, len(items), len(items))
    shapes = {item.shape for item in items}
    if len(shapes) == 1 and not any(shape is None or None in shape for shape in shapes):
        return relax.take(relax.stack([*(item.ssa for item in items)], axis=0), found, axis=0)
    return item_at(node, items, found)


@register_onnx("", "SequenceInsert")
def sequence_insert(node: OnnxNode) -> Outputs:
    held, new = node.held(0), node.value(1)
    if isinstance(held, RunTimeSequence):
        if not node.has(2):
            return appended(node, held, new)
        length = length_of(held)
        return inserted_at_run_time(node, held, new, place_of(node, 2, length, relax.add(length, const(1, "i64"))))
    if (items := list(node.sequence(0).items)) and items[0].dtype != new.dtype:
        raise node.fail(f"a tensor of {new.dtype} cannot be inserted into a sequence of {items[0].dtype}")
    place = node.number(2) if node.has(2) else len(items)
    if place is None:
        return SequenceValue(inserted(node, items, new, place_of(node, 2, len(items), len(items) + 1)))
    items.insert(_check_position(node, place, len(items), len(items) + 1), new)
    return SequenceValue(items)


@register_onnx("", "SequenceErase")
def sequence_erase(node: OnnxNode) -> Outputs:
    if isinstance(held := node.held(0), RunTimeSequence):
        length = length_of(held)
        if node.has(1):
            return erased_at_run_time(node, held, place_of(node, 1, length, length))
        require(node, relax.greater(length, const(0, "i64")), "the sequence has no item to erase")
        return erased_at_run_time(node, held, relax.subtract(length, const(1, "i64")))
    sequence = node.sequence(0)
    if not (items := list(sequence.items)):
        raise node.fail("the sequence has no item to erase")
    place = node.number(1) if node.has(1) else len(items) - 1
    if place is None:
        return SequenceValue(erased(node, items, place_of(node, 1, len(items), len(items))), sequence.dtype)
    del items[_check_position(node, place, len(items), len(items))]
    return SequenceValue(items, sequence.dtype)


@register_onnx("", "ConcatFromSequence")
def concat_from_sequence(node: OnnxNode) -> Outputs:
    held, axis = node.held(0), node.int("axis")
    if axis is None:
        raise node.fail("attribute 'axis' is missing", "axis")
    if isinstance(held, RunTimeSequence):
        return concatenated_at_run_time(node, held, axis, bool(node.int("new_axis", 0)))
    if not (items := node.sequence(0).items):
        raise node.fail("the sequence is empty")
    joined = "stack" if node.int("new_axis", 0) else "concatenate"
    if all(item.elements is not None for item in items):
        import numpy

        # A shape that is joined from sizes stays known.
        return known(getattr(numpy, joined)([item.elements for item in items], axis), items[0].dtype)
    return relax.dialect.ops["stack" if joined == "stack" else "concat"](*(item.ssa for item in items), axis=axis)


@register_onnx("", "SplitToSequence")
def split_to_sequence(node: OnnxNode) -> Outputs:
    axis = node.axis(node.rank(0), 0)
    squeezed = not node.has(1) and not node.int("keepdims", 1)
    if (parts := _split(node, axis)) is None:
        return split_at_run_time(node, axis, input_size(node, 1) if node.has(1) else 1, squeezed)
    if squeezed:
        parts = [relax.squeeze(part, axis=[axis]) for part in parts]
    return SequenceValue([Value(ssa=part) for part in parts], node.value(0).dtype)


def _split(node: OnnxNode, axis: int) -> list[Tensor] | None:
    """Return the parts, or None if their number is dynamic."""
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
        raise node.fail(f"the length of the parts along axis {axis} must be positive, got {lengths[0]}")
    if not starts:
        return [node.tensor(0)] if node.has(1) or size else []
    return list(relax.split(node.tensor(0), indices_or_sections=starts, axis=axis))


def _split_at_run_time(node: OnnxNode, axis: int) -> list[Tensor]:
    """Return parts of dynamic lengths. Their number is known."""
    if not isinstance(count := (node.value(1).shape or (None,))[0], int):
        raise node.fail("the number of lengths must be known while the model is imported")
    lengths, whole = integers(node, 1), sizes.sizes_of(node.value(0))[axis]
    zero = const([0], "i64")
    is_whole = relax.equal(relax.sum(lengths, axis=[0], keepdims=True), sizes.as_tensor([whole]))
    are_lengths = relax.logical_and(
        is_whole, relax.greater_equal(relax.min(relax.concat([lengths, zero], axis=0), axis=[0], keepdims=True), zero)
    )
    require(node, relax.reshape(are_lengths, ()), f"the lengths of the parts do not add up to the size of axis {axis}")
    ends = relax.cumsum(lengths, axis=0)
    bounds = [0, *(sizes.element(ends, index) for index in range(count))]
    return [sizes.sliced(node.value(0), {axis: (begin, end, 1)}) for begin, end in pairwise(bounds)]


def _check_position(node: OnnxNode, place: int, length: int, end: int) -> int:
    """Return a position counted from the front. Negative positions count from the end."""
    found = place + length if place < 0 else place
    if not 0 <= found < end:
        raise node.fail(f"position {place} is out of range for a sequence of {length} items")
    return found


# ---- optionals ----


@register_onnx("", "OptionalHasElement")
def optional_has_element(node: OnnxNode) -> Outputs:
    if not node.has(0):
        return known(False, "i1")
    held = node.held(0)
    return held.present if isinstance(held, RunTimeOptional) else known(not isinstance(held, EmptyOptional), "i1")


@register_onnx("", "OptionalGetElement")
def optional_get_element(node: OnnxNode) -> Outputs:
    if isinstance(held := node.held(0), EmptyOptional):
        raise node.fail("the optional is empty")
    if not isinstance(held, RunTimeOptional):
        return held
    present = held.present.ssa
    require(node, present if held.present.rank == 0 else relax.reshape(present, ()), "the optional is empty")
    return held.held


# ---- sequences of dynamic length ----


def concatenated_at_run_time(node: OnnxNode, sequence: RunTimeSequence, axis: int, new_axis: bool) -> Tensor | Value:
    whole = all_joined(node, sequence)
    length, one = joined_length(whole), const(1, "i64")
    require(node, relax.greater(length, const(0, "i64")), "the sequence is empty")

    def stack(_: object, index: Value, __: object) -> Turn:
        return Turn([], [joined_item(whole, index.ssa)])

    def concatenate(_: object, index: Value, states: list[Any]) -> Turn:
        item = joined_item(whole, relax.add(index.ssa, one))
        return Turn([Value(ssa=relax.concat([states[0].ssa, item.ssa], axis=axis))], [])

    if new_axis:
        _, (rows,) = build_loop(LoopSpec(node, stack, scalar_of(node, Value(ssa=length))), [])
        return with_first_at(rows.ssa, axis)
    others = scalar_of(node, Value(ssa=relax.subtract(length, one)))
    (joined,), _ = build_loop(LoopSpec(node, concatenate, others), [joined_item(whole, const(0, "i64"))])
    return joined


def split_at_run_time(node: OnnxNode, axis: int, length: Size, squeezed: bool) -> RunTimeSequence:
    """Split along an axis into a dynamic number of parts of one length, a size."""
    value = Value(ssa=node.tensor(0))  # Create the tensor before the loop uses it.
    size = sizes.sizes_of(value)[axis]
    if not sizes.is_known(length):
        is_positive = relax.reshape(relax.greater(length, const([0], "i64")), ())
        require(node, is_positive, "the length of the parts must be positive")
    count = sizes.divided(sizes.plus(size, sizes.minus(length, 1)), sizes.larger(length, 1))

    def step(_: Operation, index: Value, states: list[Any]) -> Turn:
        begin = sizes.times(relax.reshape(index.ssa, (1,)), length)
        part = sizes.sliced(value, {axis: (begin, sizes.smaller(sizes.plus(begin, length), size), 1)})
        if squeezed:
            info = info_of(part)
            of_one = [1 if place == axis else each for place, each in enumerate(info.shape or ())]
            part = relax.squeeze(as_info(part, info.with_shape(of_one)), axis=[axis])
        return Turn([appended(node, states[0], Value(ssa=part))], [])

    turns = scalar_of(node, Value(ssa=sizes.as_tensor([count])))
    (parts,), _ = build_any_loop(LoopSpec(node, step, turns), [SequenceValue([], value.dtype)])
    return parts
