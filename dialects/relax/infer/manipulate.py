# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for operators that move, copy or drop elements of one tensor."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.infos import TensorInfo
from ...core.opdef import Call
from ...core.symbols import dim_mul, equal, product
from .axes import normalize_axes, normalize_axis
from .sizes import Shape


def ordered_axes(call: Call, name: str, rank: int, axes: Iterable[int]) -> list[int]:
    """Axes, counted from the front and in the order given. Refuses one that is named twice."""
    given = list(axes)
    normalize_axes(call, name, rank, given)
    return [axis % rank for axis in given]


def broadcast_to(call: Call) -> TensorInfo:
    old, new = call.x.shape, call.shape.dims
    if old is None or new is None:
        return call.x.with_shape(new)
    check_broadcast(call, "x", old, "shape", new)
    padded = (1,) * (len(new) - len(old)) + old
    sizes = zip(padded, new, strict=True)
    # Only a size of 1 can change: any other tells what an unknown target is.
    return call.x.with_shape(one if target is None and equal(one, 1) is False else target for one, target in sizes)


def check_broadcast(call: Call, from_name: str, shape: Shape, to_name: str, target: Shape) -> None:
    """Refuses shapes where the first cannot be broadcast to the second."""
    if len(shape) > len(target):
        raise call.fail(f"{call.describe(from_name)} has more dimensions than {call.describe(to_name)}")
    for axis in range(-len(shape), 0):
        if equal(shape[axis], target[axis]) is False and equal(shape[axis], 1) is False:
            raise call.fail(
                f"{call.describe(from_name)} cannot be broadcast to {call.describe(to_name)}: "
                f"dimension {axis} is {shape[axis]} against {target[axis]}"
            )


def collapse_sum_like(call: Call) -> TensorInfo:
    return _collapse_sum(call, "collapse_target", call.collapse_target.shape)


def collapse_sum_to(call: Call) -> TensorInfo:
    return _collapse_sum(call, "shape", call.shape.dims)


def _collapse_sum(call: Call, target_name: str, target: Shape | None) -> TensorInfo:
    """Undoes a broadcast by summing over it, so the target must broadcast to the data."""
    if call.data.shape is not None and target is not None:
        check_broadcast(call, target_name, target, "data", call.data.shape)
    return call.data.with_shape(target)


def expand_dims(call: Call) -> TensorInfo:
    shape = call.x.shape
    if shape is None:
        return call.x
    rank = len(shape) + len(call.axis)
    new = normalize_axes(call, "axis", rank, call.axis)
    old = iter(shape)
    return call.x.with_shape(1 if axis in new else next(old) for axis in range(rank))


def squeeze(call: Call) -> TensorInfo:
    shape = call.x.shape
    if shape is None:
        return call.x
    if call.axis is None:
        # A size that may be 1 may have to go: not even the result's rank is known then.
        open_question = any(equal(size, 1) is None for size in shape)
        return call.x.with_shape(None if open_question else [size for size in shape if size != 1])
    dropped = normalize_axes(call, "axis", len(shape), call.axis)
    for axis in dropped:
        if equal(shape[axis], 1) is False:
            raise call.fail(f"{call.describe('axis')}: dimension {axis} of {call.describe('x')} is not 1")
    return call.x.with_shape(size for axis, size in enumerate(shape) if axis not in dropped)


def flip(call: Call) -> TensorInfo:
    if call.data.rank is not None:
        normalize_axis(call, "axis", call.data.rank, call.axis)
    return call.data


def permute_dims(call: Call) -> TensorInfo:
    shape, axes = call.x.shape, call.axes
    if shape is None:
        if axes is None:
            return call.x
        ordered_axes(call, "axes", len(axes), axes)
        return call.x.with_shape([None] * len(axes))
    if axes is None:
        return call.x.with_shape(reversed(shape))
    if len(axes) != len(shape):
        raise call.fail(
            f"{call.describe('axes')} must name each of the {len(shape)} dimensions of {call.describe('x')}"
        )
    return call.x.with_shape(shape[axis] for axis in ordered_axes(call, "axes", len(shape), axes))


def repeat(call: Call) -> TensorInfo:
    call.require(call.repeats >= 0, f"{call.describe('repeats')} cannot be negative")
    shape = call.data.shape
    if call.axis is None:
        return call.data.with_shape([None if shape is None else dim_mul(product(shape), call.repeats)])
    if shape is None:
        return call.data
    chosen = normalize_axis(call, "axis", len(shape), call.axis)
    return call.data.with_shape(
        dim_mul(size, call.repeats) if axis == chosen else size for axis, size in enumerate(shape)
    )


def tile(call: Call) -> TensorInfo:
    call.require(all(count >= 0 for count in call.repeats), f"{call.describe('repeats')} cannot be negative")
    shape = call.data.shape
    if shape is None:
        return call.data
    rank = max(len(shape), len(call.repeats))
    sizes = (1,) * (rank - len(shape)) + shape
    counts = (1,) * (rank - len(call.repeats)) + call.repeats
    return call.data.with_shape(dim_mul(size, count) for size, count in zip(sizes, counts, strict=True))
