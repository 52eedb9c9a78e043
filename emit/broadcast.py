# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Broadcasting: static sizes become indexing maps of elementwise loops, dynamic sizes are checked at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..bindings.ir import Value
from ..bindings.rewriting import Decline
from ..dialects.core.infos import Info, TensorInfo, describe
from ..dialects.core.symbols import Dim, equal
from . import linalg, loops
from .numbers import Number, Size, as_index, select

#: Index of an operand's dimension: the loop's dimension, 0, or 0 if the size is 1 at run time.
AT_ZERO = None
MAYBE = "maybe"
Place = int | tuple[str, int] | None


def broadcast_plan(operand: Info, result: TensorInfo) -> list[Place]:
    """Return, for each dimension of an operand, its index in a loop over the result."""
    assert result.shape is not None
    if not isinstance(operand, TensorInfo) or operand.shape is None:
        raise Decline(f"the rank of an operand ({describe(operand)}) is not known")
    offset = len(result.shape) - len(operand.shape)
    return [_place(dim, result.shape[axis + offset], axis + offset) for axis, dim in enumerate(operand.shape)]


def along_axis(parameter: Sequence[Dim], slices: Dim, axis: int) -> list[Place]:
    """Return the index of a parameter's dimension, if any, in a loop over data with `slices` slices along an axis.

    The parameter has one element per slice, or one element for all slices.
    """
    if not parameter:
        return []
    (size,) = parameter
    return [AT_ZERO if equal(slices, 1) is True else _place(size, slices, axis)]


def is_proven(operand: Info, result: TensorInfo) -> bool:
    """Return True if the types prove that the operand broadcasts. Unknown sizes of the result are computed to fit."""
    shape = operand.shape or () if isinstance(operand, TensorInfo) else ()
    sizes = (result.shape or ())[len(result.shape or ()) - len(shape) :]
    return all(
        size is None or equal(dim, size) is True or equal(dim, 1) is True
        for dim, size in zip(shape, sizes, strict=True)
    )


def _place(dim: Dim, result: Dim, axis: int) -> Place:
    if equal(dim, result) is True:
        return axis
    if equal(dim, 1) is True:
        return AT_ZERO
    # The size is the result's size or 1. If it cannot be 1, it equals the result's size.
    return axis if equal(dim, 1) is False else (MAYBE, axis)


def broadcast_generic(
    inputs: Sequence[Value], output: Value, plans: Sequence[Sequence[Place]], body: Callable[..., Value]
) -> Value:
    """Return `output` with each element computed by `body` from the corresponding elements of the inputs."""
    asked = [any(isinstance(place, tuple) for place in plan) for plan in plans]
    direct = [value for value, ask in zip(inputs, asked, strict=True) if not ask]
    dims = [
        [place for place in plan if not isinstance(place, tuple)]
        for plan, ask in zip(plans, asked, strict=True)
        if not ask
    ]
    sizes = {
        (position, axis): linalg.size(value, axis)
        for position, (value, plan) in enumerate(zip(inputs, plans, strict=True))
        for axis, place in enumerate(plan)
        if isinstance(place, tuple)
    }

    def element(position: int) -> Number:
        indices = [_index(place, sizes.get((position, axis))) for axis, place in enumerate(plans[position])]
        return linalg.extract(inputs[position], indices)

    def scalar_body(*scalars: Number) -> Value:
        read = iter(scalars)
        return body(*(element(position) if ask else next(read) for position, ask in enumerate(asked)))

    return linalg.parallel(direct, output, scalar_body, dims)


def _index(place: Place, size: Any) -> Number:
    if place is AT_ZERO:
        return as_index(0)
    return select(size == 1, 0, linalg.index(place[1])) if isinstance(place, tuple) else linalg.index(place)


def broadcast_size(inputs: Sequence[Value], plans: Sequence[Sequence[Place]], axis: int) -> Number:
    """Return the size of a dimension of the result: the operands' size that is not 1, or 1.

    The program raises an error if two sizes other than 1 differ.
    """
    size = as_index(1)
    message = f"sizes {{}} and {{}} of the result's dimension {axis} do not broadcast"
    for value, plan in zip(inputs, plans, strict=True):
        for position, place in enumerate(plan):
            if place in (axis, (MAYBE, axis)):
                own = linalg.size(value, position)
                require_broadcastable(size, own, message)
                size = as_index(deciding(size, own))
    return size


# ---- sizes ----


def broadcast_sizes(buffers: Sequence[Value]) -> list[Size]:
    """Return the broadcast sizes of buffers. The program raises ValueError if they do not broadcast."""
    shapes = [loops.sizes(buffer) for buffer in buffers]
    rank = max(len(shape) for shape in shapes)
    result: list[Size] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            result[axis] = deciding(result[axis], size)
    for buffer in buffers:
        require_broadcast(buffer, result)
    return result


def deciding(one: Size, other: Size) -> Size:
    """Return the result's size, given two sizes that agree or are 1."""
    for size, alternative in ((one, other), (other, one)):
        if isinstance(size, int):
            return alternative if size == 1 else size
    return select(one == 1, other, one)


def require_broadcastable(one: Number, other: Number, message: str) -> None:
    """Raise ValueError in the program unless two indices agree or one is 1. The message has a {} for each."""
    loops.require((one == other) | (one == 1) | (other == 1), "ValueError", message, one, other)


def require_broadcast(buffer: Value, sizes: Sequence[Size]) -> None:
    """Raise ValueError in the program unless each size of the buffer is 1 or the result's size.

    The sizes are aligned at the last dimension.
    """
    shape = loops.sizes(buffer)
    for size, wanted in zip(shape, sizes[len(sizes) - len(shape) :], strict=True):
        if isinstance(size, int) and (size == 1 or (isinstance(wanted, int) and size == wanted)):
            continue
        left, right = as_index(size), as_index(wanted)
        message = "operands do not broadcast: sizes {} and {} differ"
        loops.require((left == 1) | (left == right), "ValueError", message, left, right)


def load_broadcast(buffer: Value, indices: Sequence[Number]) -> Number:
    """Load the element of a buffer for an index of its broadcast result."""
    shape = loops.sizes(buffer)
    pairs = zip(shape, indices[len(indices) - len(shape) :], strict=True)
    return loops.load(buffer, *(_clamp(size, place) for size, place in pairs))


def _clamp(size: Size, place: Number) -> Size:
    """Return the index in a dimension that has this size or 1."""
    return select(size == 1, 0, place) if isinstance(size, Number) else 0 if size == 1 else place
