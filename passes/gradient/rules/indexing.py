# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives of operators that read and write at indices: what is read in one place is added there."""

from __future__ import annotations

from typing import Any

from ....bindings.ir import Value
from ....dialects.core.codec import decode
from ....dialects.core.infos import ScalarInfo, TensorInfo
from ....dialects.core.operands import operand_info
from ...canonicalize.support import shape_of
from ..registry import GradientCall, register_gradient
from ..tensors import relax


@register_gradient("relax.take")
def take(call: GradientCall) -> list[Any]:
    indices, shape = decode(call.indices.type), shape_of(call.x)
    if not isinstance(indices, TensorInfo) or indices.rank is None or shape is None or call.axis is None:
        raise call.fail("only along an axis, by indices whose rank is known")
    if call.mode != "fast":
        raise call.fail(f"only with indices that are in bounds (mode 'fast', not '{call.mode}')")
    axis, rank, count = call.axis % len(shape), len(shape), indices.rank
    # The axis first, and so the indices: then each index is that of a slice.
    front = [axis, *(each for each in range(rank) if each != axis)]
    back = [front.index(each) for each in range(rank)]
    read = [*range(axis, axis + count), *range(axis), *range(axis + count, rank + count - 1)]
    zeros = relax["zeros_like"](_moved(call.x, front))
    places = relax["expand_dims"](call.indices, axis=[count])
    return [_moved(relax["scatter_nd"](zeros, places, _moved(call.gradient, read), reduction="add"), back)]


def _moved(x: Value, axes: list[int]) -> Value:
    return x if axes == sorted(axes) else relax["permute_dims"](x, axes=axes)


@register_gradient("relax.gather_elements")
def gather_elements(call: GradientCall) -> Any:
    zeros = relax["zeros_like"](call.data)
    return relax["scatter_elements"](zeros, call.indices, call.gradient, axis=call.axis, reduction="add")


@register_gradient("relax.gather_nd")
def gather_nd(call: GradientCall) -> Any:
    if call.batch_dims:
        raise call.fail("only without batch dimensions")
    return relax["scatter_nd"](relax["zeros_like"](call.data), call.indices, call.gradient, reduction="add")


@register_gradient("relax.scatter_nd")
def scatter_nd(call: GradientCall) -> list[Any]:
    if call.reduction != "add":
        raise call.fail(f"only with reduction 'add', not '{call.reduction}'")
    return [call.gradient, None, lambda: relax["gather_nd"](call.gradient, call.indices)]


@register_gradient("relax.scatter_elements")
def scatter_elements(call: GradientCall) -> list[Any]:
    if call.reduction != "add":
        raise call.fail(f"only with reduction 'add', not '{call.reduction}'")
    return [call.gradient, None, lambda: relax["gather_elements"](call.gradient, call.indices, axis=call.axis)]


@register_gradient("relax.slice_scatter")
def slice_scatter(call: GradientCall) -> list[Any]:
    """What was written over gets nothing; what was written gets what is read there."""
    bounds = (call.start, call.end, call.step)
    written = relax["zeros_like"](call.src)
    return [
        lambda: relax["slice_scatter"](call.gradient, written, *bounds, axis=call.axis),
        lambda: _read(call, bounds),
    ]


def _read(call: GradientCall, bounds: tuple[Any, ...]) -> Any:
    numbers = [_number(call, bound) for bound in bounds]
    begin, end, step = ([number] for number in numbers)
    return relax["strided_slice"](call.gradient, axes=[call.axis], begin=begin, end=end, strides=step)


def _number(call: GradientCall, scalar: Any) -> int:
    info = operand_info(scalar)
    if not isinstance(info, ScalarInfo) or not isinstance(info.value, int):
        raise call.fail("only with bounds that are numbers")
    return info.value
