# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences of dynamic length: the elements of the tensors are joined in one tensor, their shapes in another."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects import relax
from ....dialects.core.infos import TensorInfo
from ....dialects.relax.infer.slices import OPEN
from ..node import Node
from ..sizes import Size, element, plus, shape_tensor, sliced
from ..tensors import const, joined, part
from ..values import RunTimeSequence, SequenceValue, Tensor, Value
from .scf_regions import as_info


def as_run_time(sequence: SequenceValue | RunTimeSequence, items: int, rank: int, dtype: str) -> RunTimeSequence:
    """Convert a sequence so that at most `items` items are separate tensors. Other items have the rank and dtype."""
    if isinstance(sequence, RunTimeSequence) and len(sequence.items) == items:
        return sequence
    parts = [_part(each) for each in sequence.items[items:]]
    if isinstance(sequence, RunTimeSequence):
        parts.append((sequence.data.ssa, sequence.rows.ssa))
    elif not parts:
        parts.append((relax.zeros((0,), dtype=dtype), relax.zeros((0, 1 + rank), dtype="i64")))
    return _join(sequence.items[:items], parts)


def appended(node: Node, sequence: SequenceValue | RunTimeSequence, new: Value) -> SequenceValue | RunTimeSequence:
    """Append a tensor to a sequence."""
    if isinstance(sequence, SequenceValue):
        return SequenceValue([*sequence.items, new])
    _check_fits(node, sequence, new)
    return _join(sequence.items, [(sequence.data.ssa, sequence.rows.ssa), _part(new)])


def inserted_at_run_time(node: Node, sequence: RunTimeSequence, new: Value, place: Tensor) -> RunTimeSequence:
    """Join all items, with a new tensor inserted at a valid position, a 0-D tensor."""
    _check_fits(node, sequence, new)
    whole, place = all_joined(node, sequence), relax.reshape(place, (1,))
    return _join([], [_range(whole, 0, place), _part(new), _range(whole, place, OPEN)])


def erased_at_run_time(node: Node, sequence: RunTimeSequence, place: Tensor) -> RunTimeSequence:
    """Join all items, without the tensor at a valid position, a 0-D tensor."""
    whole, place = all_joined(node, sequence), relax.reshape(place, (1,))
    return _join([], [_range(whole, 0, place), _range(whole, plus(place, 1), OPEN)])


def _check_fits(node: Node, sequence: RunTimeSequence, new: Value) -> None:
    if new.rank != sequence.rank or new.dtype != sequence.dtype:
        raise node.fail(
            f"a sequence of dynamic length needs tensors of one rank and type, got {sequence.rank}-D "
            f"{sequence.dtype} and {new.rank}-D {new.dtype}"
        )


def _range(sequence: RunTimeSequence, begin: Size, end: Size) -> tuple[Tensor, Tensor]:
    """Return the elements and the shape rows of the joined tensors from `begin` up to before `end`."""
    bounds = (_elements_before(sequence, begin), _elements_before(sequence, end), 1)
    return sliced(sequence.data, {0: bounds}), sliced(sequence.rows, {0: (begin, end, 1)})


def _elements_before(sequence: RunTimeSequence, place: Size) -> Size:
    """Return the number of elements of the joined tensors before a position."""
    if isinstance(place, int):
        return place  # The position is the beginning or the end.
    return relax.sum(sliced(sequence.rows, {0: (0, place, 1), 1: (0, 1, 1)}), axis=[0])


def _part(value: Value) -> tuple[Tensor, Tensor]:
    """Return a tensor's elements, and the row with its shape."""
    elements = relax.flatten(value.ssa) if value.rank else relax.reshape(value.ssa, (1,))
    numbers = [shape_tensor(elements), *([shape_tensor(value.ssa)] if value.rank else [])]
    return elements, relax.expand_dims(joined(numbers), axis=[0])


def _join(items: Sequence[Value], parts: Sequence[tuple[Tensor, Tensor]]) -> RunTimeSequence:
    data, rows = (joined(each) for each in zip(*parts, strict=True))
    width = Value(ssa=rows).info.shape or ()
    return RunTimeSequence(
        items,
        Value(ssa=as_info(data, TensorInfo((None,), Value(ssa=data).dtype))),
        Value(ssa=as_info(rows, TensorInfo((None, width[1]), "i64"))),
    )


def all_joined(node: Node, sequence: SequenceValue | RunTimeSequence) -> RunTimeSequence:
    """Join all items of a sequence, so that none is a separate tensor."""
    ranks = {each.rank for each in sequence.items} | (
        {sequence.rank} if isinstance(sequence, RunTimeSequence) else set()
    )
    if len(ranks) != 1 or None in ranks:
        raise node.fail("the tensors of a sequence of dynamic length must have the same rank")
    return as_run_time(sequence, 0, ranks.pop() or 0, sequence.dtype)


def joined_length(sequence: RunTimeSequence) -> Tensor:
    """Return the number of joined tensors as a 0-D tensor."""
    return relax.reshape(element(shape_tensor(sequence.rows.ssa), 0), ())


def length_of(sequence: RunTimeSequence) -> Tensor:
    """Return the number of items as a 0-D tensor."""
    joined = joined_length(sequence)
    return relax.add(joined, const(len(sequence.items), "i64")) if sequence.items else joined


def joined_item(sequence: RunTimeSequence, place: Tensor) -> Value:
    """Return the joined tensor at a valid position, a 0-D tensor."""
    row = relax.take(sequence.rows.ssa, place, axis=0)
    begin = _elements_before(sequence, relax.reshape(place, (1,)))
    own = sliced(sequence.data, {0: (begin, plus(begin, element(row, 0)), 1)})
    if sequence.rank == 0:
        return Value(ssa=relax.reshape(own, ()))
    shape = part(row, 0, 1, 1 + sequence.rank)
    info = TensorInfo((None,) * sequence.rank, sequence.dtype)
    return Value(ssa=as_info(relax.reshape(own, relax.tensor_to_shape(shape)), info))
