# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.attributes import AttrKind, DType, Int, Ints, Str
from ..core.equalities import contradict
from ..core.facts import Window, elements
from ..core.infos import TensorInfo, is_float, is_int
from ..core.opdef import Call, OpRow
from ..core.symbols import Dim, dim_add, dim_mod, dim_mul, dim_sub, equal, product
from .dialect import op
from .infer.dtypes import check_dtype
from .infer.layouts import layouts_of, shape_in_layout, sizes_in_layout
from .infer.windows import check_windows, each_dimension, positions, windows_of


def convolution(call: Call) -> TensorInfo:
    layouts = layouts_of(call)
    check_windows(call)
    _check_groups(call)
    dtype = _result_dtype(call)

    batch, channels, *sizes = sizes_in_layout(call, "data", layouts["data"])
    out_channels, in_channels, *_ = sizes_in_layout(call, "weight", layouts["weight"])
    _check_channels(call, channels, dim_mul(in_channels, call.groups), "of the weight times groups")
    _check_divisible(call, out_channels, "output channels")
    windows = windows_of(call)
    _check_taps(call, windows)
    counts = [positions(call, *each) for each in zip(windows, sizes, windows.values(), strict=True)]
    return TensorInfo(shape_in_layout(layouts["result"], [batch, out_channels, *counts]), dtype)


def transposed_convolution(call: Call) -> TensorInfo:
    """Infer a transposed convolution (the gradient of a convolution by its input)."""
    layouts = layouts_of(call)
    check_windows(call)
    _check_output_padding(call)
    _check_groups(call)
    dtype = _result_dtype(call)

    batch, channels, *sizes = sizes_in_layout(call, "data", layouts["data"])
    in_channels, group_channels, *_ = sizes_in_layout(call, "weight", layouts["weight"])
    _check_channels(call, channels, in_channels, "of the weight")
    _check_divisible(call, in_channels, "input channels")
    windows = windows_of(call)
    _check_taps(call, windows)
    extra = each_dimension(call.output_padding, len(windows))
    spread = [_spread(call, *each) for each in zip(windows, sizes, windows.values(), extra, strict=True)]
    out_channels = dim_mul(group_channels, call.groups)
    return TensorInfo(shape_in_layout(layouts["result"], [batch, out_channels, *spread]), dtype)


def convolution_work(call: Call, count: Dim) -> Dim:
    """two for each tap and channel summed, for each element of the result (where it is transposed, of the data)"""
    kernel = layouts_of(call)["weight"]
    _, summed, *taps = sizes_in_layout(call, "weight", kernel)
    return product((2, count if kernel.dimensions[0] == "O" else elements(call.data), summed, *taps))


def _result_dtype(call: Call) -> str:
    check_dtype(call, "data", "float", "int")
    check_dtype(call, "weight", "float", "int")
    if call.out_dtype is None:
        call.require(
            call.data.dtype == call.weight.dtype,
            f"{call.describe('data')} and {call.describe('weight')} must have the same element type "
            "where attribute 'out_dtype' is absent",
        )
        return call.data.dtype
    call.require(
        is_float(call.out_dtype) or is_int(call.out_dtype),
        f"{call.describe('out_dtype')} must be a float or integer type",
    )
    return call.out_dtype


def _check_groups(call: Call) -> None:
    call.require(call.groups >= 1, f"{call.describe('groups')} must be 1 or more")


def _check_channels(call: Call, channels: Dim, expected: Dim, what: str) -> None:
    if contradict(channels, expected):
        raise call.fail(
            f"{call.describe('data')} must have as many channels as {call.describe('weight')} takes: "
            f"{channels} in the data, {expected} by the input channels {what}"
        )


def _check_divisible(call: Call, channels: Dim, what: str) -> None:
    if equal(dim_mod(channels, call.groups), 0) is False:
        weight = call.describe("weight")
        raise call.fail(f"{call.describe('groups')} must divide the {channels} {what} of {weight}")


def _check_taps(call: Call, windows: Mapping[str, Window]) -> None:
    for letter, window in windows.items():
        call.require(window.taps != 0, f"{call.describe('weight')} must not be empty along {letter}")


def _check_output_padding(call: Call) -> None:
    count = len(call.definition.windows.letters)
    columns = (each_dimension(each, count) for each in (call.output_padding, call.strides, call.dilation))
    for extra, stride, gap in zip(*columns, strict=True):
        call.require(
            extra < max(stride, gap),
            f"{call.describe('output_padding')} must be less than the stride or the dilation, "
            f"got {extra} for a stride of {stride} and a dilation of {gap}",
        )


def _spread(call: Call, dimension: str, size: Dim, window: Window, output_padding: int) -> Dim:
    """Return the size that a convolution with this window would reduce to `size`."""
    reach = dim_add(dim_mul(dim_sub(size, 1), window.stride), window.reach)
    result = dim_add(reach, output_padding - window.before - window.after)
    if isinstance(result, int) and result < 1:
        raise call.fail(
            f"{call.describe('padding')} removes all of the result along {dimension}, "
            f"which is {reach} wide without padding"
        )
    return result


_PADDING = "one entry, one per dimension, or all starts, then all ends"


def _row(spatial: str, channels: str, doc: str) -> OpRow:
    """Return the columns of a convolution over these dimensions. `channels` starts the kernel's layout."""
    count = len(spatial)
    data, kernel = f"NC{spatial}", f"{channels}{spatial}"
    attrs: dict[str, AttrKind] = {
        "strides": Ints((1,) * count, broadcast=count),
        "padding": Ints((0,) * count, broadcast=count, doc=_PADDING),
        "output_padding": Ints((0,) * count, broadcast=count, doc="elements added at the end of the result"),
        "dilation": Ints((1,) * count, broadcast=count),
        "groups": Int(1),
        "data_layout": Str(data),
        "kernel_layout": Str(kernel),
        "out_layout": Str(None, doc="default: as data_layout"),
        "out_dtype": DType(None, doc="element type; default: as the operands"),
    }
    if channels == "OI":
        del attrs["output_padding"]
    return {
        "doc": doc,
        "attrs": attrs,
        "infer": convolution if channels == "OI" else transposed_convolution,
        "flops": convolution_work,
        "pattern": "out_ewise_fusable",
        "windows": (spatial, "weight"),
        "layouts": {"data": ("data_layout", data), "weight": ("kernel_layout", kernel), "result": ("out_layout", data)},
    }


op("nn.conv1d", "data weight", **_row("W", "OI", "Convolution over W."))
op("nn.conv2d", "data weight", **_row("HW", "OI", "Convolution over H and W."))
op("nn.conv3d", "data weight", **_row("DHW", "OI", "Convolution over D, H and W."))
op("nn.conv1d_transpose", "data weight", **_row("W", "IO", "Transposed convolution over W."))
op("nn.conv2d_transpose", "data weight", **_row("HW", "IO", "Transposed convolution over H and W."))
op("nn.conv3d_transpose", "data weight", **_row("DHW", "IO", "Transposed convolution over D, H and W."))
