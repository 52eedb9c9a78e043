# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inference for operators that write elements at indices; the result is like the data written to."""

from __future__ import annotations

from ...core.infos import ScalarInfo, TensorInfo, is_int
from ...core.opdef import Call
from ...core.symbols import Dim
from .axes import normalize_axis
from .dtypes import check_dtype, check_same_dtype
from .indexing import check_depth, check_indices_within, indexed_shape
from .manipulate import check_broadcast
from .order import exceeds
from .sizes import Shape, same_shape
from .slices import slice_length


def index_put(call: Call) -> TensorInfo:
    check_same_dtype(call, "data", "values")
    places = indexed_shape(call)
    if places is not None and call.values.shape is not None:
        check_broadcast(call, "values", call.values.shape, "indices", places)
    return call.data


def scatter_elements(call: Call) -> TensorInfo:
    check_dtype(call, "indices", "int")
    check_same_dtype(call, "data", "updates")
    same_shape(call, "updates", call.indices.shape, f"the shape of {call.describe('indices')}")
    if call.data.shape is not None:
        check_indices_within(call, "axis")
    return call.data


def scatter_nd(call: Call) -> TensorInfo:
    check_dtype(call, "indices", "int")
    check_same_dtype(call, "data", "updates")
    data, indices = call.data.shape, call.indices.shape
    if indices is None:
        return call.data
    call.require(indices, f"{call.describe('indices')} must have at least one dimension")
    depth = indices[-1]
    if data is None or not isinstance(depth, int):
        return call.data
    check_depth(call, depth, len(data))
    places = (*indices[:-1], *data[depth:])
    same_shape(call, "updates", places, f"shape {_shown(places)}: indices.shape[:-1] + data.shape[{depth}:]")
    return call.data


def _shown(shape: Shape) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


def slice_scatter(call: Call) -> TensorInfo:
    check_same_dtype(call, "input", "src")
    for name in ("start", "end", "step"):
        scalar: ScalarInfo = call.operands[name]
        call.require(is_int(scalar.dtype), f"{call.describe(name)} must be an integer")
    step = call.step.value
    if exceeds(1, step):
        raise call.fail(f"operand 'step' must be positive, got {step}")
    target = call.input.shape
    if target is None:
        return call.input
    axis = normalize_axis(call, "axis", len(target), call.axis)
    taken = _slice_of(call, target[axis])
    places = (*target[:axis], taken, *target[axis + 1 :])
    same_shape(call, "src", places, f"shape {_shown(places)}, as the slice of {call.describe('input')}")
    return call.input


def _slice_of(call: Call, size: Dim) -> Dim:
    step = call.step.value
    if not isinstance(step, int):
        return None
    return slice_length(call.start.value, call.end.value, step, size)
