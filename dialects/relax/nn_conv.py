# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.attributes import AttrKind, DType, Int, Ints, Str
from ..core.infos import TensorInfo, is_float, is_int
from ..core.opdef import Call
from ..core.symbols import Dim, dim_add, dim_mod, dim_mul, dim_sub, equal
from .dialect import contraction_op
from .infer.dtypes import check_dtype
from .infer.layouts import Layout, layout_attribute, shape_in_layout, sizes_in_layout
from .infer.windows import Padding, extent, paddings, per_dimension, positions


def convolution(spatial: str) -> Callable[[Call], TensorInfo]:
    """A convolution over dimensions named by letters, such as "HW"."""

    def infer(call: Call) -> TensorInfo:
        data_layout, kernel_layout, out_layout = _layouts(call, "OI", spatial)
        strides = per_dimension(call, "strides", len(spatial), minimum=1)
        dilation = per_dimension(call, "dilation", len(spatial), minimum=1)
        padding = paddings(call, len(spatial))
        _check_groups(call)
        dtype = _result_dtype(call)

        batch, channels, *sizes = sizes_in_layout(call, "data", data_layout)
        out_channels, in_channels, *taps = sizes_in_layout(call, "weight", kernel_layout)
        _check_channels(call, channels, dim_mul(in_channels, call.groups), "of the weight times groups")
        _check_divisible(call, out_channels, "output channels")
        _check_taps(call, spatial, taps)
        counts = [
            positions(call, letter, size, extent(tap, dilation[i]), padding[i], strides[i])
            for i, (letter, size, tap) in enumerate(zip(spatial, sizes, taps, strict=True))
        ]
        return TensorInfo(shape_in_layout(out_layout, [batch, out_channels, *counts]), dtype)

    return infer


def transposed_convolution(spatial: str) -> Callable[[Call], TensorInfo]:
    """A transposed convolution (the gradient of a convolution by its input)."""

    def infer(call: Call) -> TensorInfo:
        data_layout, kernel_layout, out_layout = _layouts(call, "IO", spatial)
        strides = per_dimension(call, "strides", len(spatial), minimum=1)
        dilation = per_dimension(call, "dilation", len(spatial), minimum=1)
        output_padding = per_dimension(call, "output_padding", len(spatial), minimum=0)
        padding = paddings(call, len(spatial))
        _check_output_padding(call, output_padding, strides, dilation)
        _check_groups(call)
        dtype = _result_dtype(call)

        batch, channels, *sizes = sizes_in_layout(call, "data", data_layout)
        in_channels, group_channels, *taps = sizes_in_layout(call, "weight", kernel_layout)
        _check_channels(call, channels, in_channels, "of the weight")
        _check_divisible(call, in_channels, "input channels")
        _check_taps(call, spatial, taps)
        spread = [
            _spread(call, letter, size, extent(tap, dilation[i]), padding[i], strides[i], output_padding[i])
            for i, (letter, size, tap) in enumerate(zip(spatial, sizes, taps, strict=True))
        ]
        out_channels = dim_mul(group_channels, call.groups)
        return TensorInfo(shape_in_layout(out_layout, [batch, out_channels, *spread]), dtype)

    return infer


def _layouts(call: Call, channels: str, spatial: str) -> tuple[Layout, Layout, Layout]:
    data = layout_attribute(call, "data_layout", f"NC{spatial}")
    kernel = layout_attribute(call, "kernel_layout", f"{channels}{spatial}")
    return data, kernel, layout_attribute(call, "out_layout", f"NC{spatial}", absent=data)


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
    if equal(channels, expected) is False:
        raise call.fail(
            f"{call.describe('data')} must have as many channels as {call.describe('weight')} takes: "
            f"{channels} in the data, {expected} by the input channels {what}"
        )


def _check_divisible(call: Call, channels: Dim, what: str) -> None:
    if equal(dim_mod(channels, call.groups), 0) is False:
        weight = call.describe("weight")
        raise call.fail(f"{call.describe('groups')} must divide the {channels} {what} of {weight}")


def _check_taps(call: Call, spatial: str, taps: Sequence[Dim]) -> None:
    for letter, size in zip(spatial, taps, strict=True):
        call.require(size != 0, f"{call.describe('weight')} must not be empty along {letter}")


def _check_output_padding(
    call: Call, output_padding: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> None:
    for extra, stride, gap in zip(output_padding, strides, dilation, strict=True):
        call.require(
            extra < max(stride, gap),
            f"{call.describe('output_padding')} must be less than the stride or the dilation, "
            f"got {extra} for a stride of {stride} and a dilation of {gap}",
        )


def _spread(
    call: Call, dimension: str, size: Dim, window: Dim, padding: Padding, stride: int, output_padding: int
) -> Dim:
    """The size that a convolution with this window would turn into `size`."""
    reach = dim_add(dim_mul(dim_sub(size, 1), stride), window)
    result = dim_add(reach, output_padding - sum(padding))
    if isinstance(result, int) and result < 1:
        raise call.fail(
            f"{call.describe('padding')} removes all of the result along {dimension}, "
            f"which is {reach} wide without padding"
        )
    return result


_PADDING = "one entry, one per dimension, or all befores, then all afters"


def _attrs(spatial: str, channels: str) -> dict[str, AttrKind]:
    """The attributes of a convolution over these dimensions; `channels` starts the kernel's layout."""
    count = len(spatial)
    attrs: dict[str, AttrKind] = {
        "strides": Ints((1,) * count, broadcast=count),
        "padding": Ints((0,) * count, broadcast=count, doc=_PADDING),
        "output_padding": Ints((0,) * count, broadcast=count, doc="added to the end of the result"),
        "dilation": Ints((1,) * count, broadcast=count),
        "groups": Int(1),
        "data_layout": Str(f"NC{spatial}"),
        "kernel_layout": Str(f"{channels}{spatial}"),
        "out_layout": Str(None, doc="absent: as data_layout"),
        "out_dtype": DType(None, doc="absent: the operands' element type"),
    }
    if channels == "OI":
        del attrs["output_padding"]
    return attrs


contraction_op("nn.conv1d", "data weight", attrs=_attrs("W", "OI"), infer=convolution("W"), doc="Convolution over W.")
contraction_op(
    "nn.conv2d", "data weight", attrs=_attrs("HW", "OI"), infer=convolution("HW"), doc="Convolution over H and W."
)
contraction_op(
    "nn.conv3d", "data weight", attrs=_attrs("DHW", "OI"), infer=convolution("DHW"), doc="Convolution over D, H and W."
)
contraction_op("nn.conv1d_transpose", "data weight", attrs=_attrs("W", "IO"), infer=transposed_convolution("W"),
   doc="Transposed convolution over W.")  # fmt: skip
contraction_op("nn.conv2d_transpose", "data weight", attrs=_attrs("HW", "IO"), infer=transposed_convolution("HW"),
   doc="Transposed convolution over H and W.")  # fmt: skip
contraction_op("nn.conv3d_transpose", "data weight", attrs=_attrs("DHW", "IO"), infer=transposed_convolution("DHW"),
   doc="Transposed convolution over D, H and W.")  # fmt: skip
