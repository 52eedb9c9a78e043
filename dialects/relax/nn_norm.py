# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.attributes import AttrKind, Bool, Float, Int, Ints
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, dim_mod, equal, product
from .dialect import op
from .infer.dtypes import check_dtype, check_same_dtype
from .infer.sizes import expect_size, most_precise, normalize_axes, normalize_axis, shape_of_rank


def batch_norm(call: Call) -> tuple[TensorInfo, TensorInfo, TensorInfo]:
    _check_common(call)
    (channels,) = _parameter_sizes(call, "axis", (call.axis,))
    return call.data, call.moving_mean.with_shape((channels,)), call.moving_var.with_shape((channels,))


def layer_norm(call: Call) -> TensorInfo:
    """Infer layer norm or RMS norm. The parameters have the sizes of all normalized axes."""
    _check_common(call)
    call.require(call.axes, f"{call.describe('axes')} must name at least one axis")
    if call.data.shape is not None:
        normalize_axes(call, "axes", call.data.rank, call.axes)
    _parameter_sizes(call, "axes", call.axes)
    return call.data


def instance_norm(call: Call) -> TensorInfo:
    _check_common(call)
    _channels(call)
    return call.data


def group_norm(call: Call) -> TensorInfo:
    _check_common(call)
    call.require(call.num_groups >= 1, f"{call.describe('num_groups')} must be 1 or more")
    channels = _channels(call)
    if equal(dim_mod(channels, call.num_groups), 0) is False:
        data = call.describe("data")
        raise call.fail(f"{call.describe('num_groups')} must divide the {channels} channels of {data}")
    return call.data


def _channels(call: Call) -> Dim:
    """Return the number of channels, which have one parameter each. The normalized axes must be other axes."""
    (channels,) = _parameter_sizes(call, "channel_axis", (call.channel_axis,))
    if call.data.shape is not None:
        channel_axis = normalize_axis(call, "channel_axis", call.data.rank, call.channel_axis)
        if channel_axis in normalize_axes(call, "axes", call.data.rank, call.axes):
            raise call.fail(f"{call.describe('axes')} must not hold {call.describe('channel_axis')}")
    return channels


def _check_common(call: Call) -> None:
    check_dtype(call, "data", "float")
    check_same_dtype(call, *call.operands)
    call.require(call.epsilon >= 0, f"{call.describe('epsilon')} must be 0 or more")


def _parameter_sizes(call: Call, attribute: str, axes: Sequence[int]) -> list[Dim]:
    """Return the data's sizes along the axes. Every other operand must have them as its shape."""
    sizes: list[Dim] = [None] * len(axes)
    if call.data.shape is not None:
        sizes = [call.data.shape[normalize_axis(call, attribute, call.data.rank, axis)] for axis in axes]
    for name in list(call.operands)[1:]:
        shape = shape_of_rank(call, name, len(axes))
        for position, size in enumerate(sizes):
            expect_size(call, name, position, size, f"the data's along axis {axes[position]}")
        sizes = [most_precise(pair) for pair in zip(sizes, shape, strict=True)]
    return sizes


_EPSILON = {"epsilon": Float(1e-5, doc="added to the variance")}


def norm_work(call: Call, count: Dim) -> Dim:
    """two for each element, four more where mean and variance are those of the data, one each for gamma and beta"""
    own = 4 if call.attributes.get("training", True) else 0
    return product((2 + own + call.center + call.scale, count))


_AFFINE: dict[str, AttrKind] = {
    **_EPSILON,
    "center": Bool(True, doc="if True, adds beta"),
    "scale": Bool(True, doc="if True, multiplies by gamma"),
}
_CHANNEL_AXIS = {"channel_axis": Int(doc="axis of gamma and beta")}
_AXES = {"axes": Ints(doc="normalized axes, without the channel axis")}

op("nn.batch_norm", "data gamma beta moving_mean moving_var", attrs={"axis": Int(doc="axis of the channels"), **_AFFINE,
          "momentum": Float(0.1, doc="weight of this batch"),
          "training": Bool(True, doc="if True, uses the mean and variance of this batch")},
   results="result new_mean new_var", flops=norm_work, infer=batch_norm,
   doc="Normalizes each channel over the batch; returns the moving mean and variance, too.")  # fmt: skip
op("nn.layer_norm", "data gamma beta", attrs={"axes": Ints(doc="normalized axes"), **_AFFINE},
   flops=norm_work, infer=layer_norm,
   doc="Normalizes over the axes. gamma and beta have their sizes.")  # fmt: skip
op("nn.group_norm", "data gamma beta", attrs={"num_groups": Int(), **_CHANNEL_AXIS, **_AXES, **_AFFINE},
   flops=norm_work, infer=group_norm, doc="Normalizes over the axes and the channels of each group.")  # fmt: skip
op("nn.instance_norm", "data gamma beta", attrs={**_CHANNEL_AXIS, **_AXES, **_AFFINE},
   flops=norm_work, infer=instance_norm, doc="Normalizes each channel over the axes.")  # fmt: skip
op("nn.rms_norm", "data weight", attrs={"axes": Ints((-1,), doc="normalized axes"), **_EPSILON},
   flops=4, infer=layer_norm, doc="data / sqrt(mean(data * data) + epsilon) * weight.")  # fmt: skip
