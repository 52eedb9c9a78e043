# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations."""

from __future__ import annotations

from ..core.attributes import AttrKind, Bool, Float, Int, Ints
from .dialect import op
from .infer.nn_norm import batch_norm, group_norm, instance_norm, layer_norm

_EPSILON = {"epsilon": Float(1e-5, doc="added to the variance")}
_AFFINE: dict[str, AttrKind] = {
    **_EPSILON,
    "center": Bool(True, doc="beta is added"),
    "scale": Bool(True, doc="multiplied by gamma"),
}
_CHANNEL_AXIS = {"channel_axis": Int(doc="the axis of gamma and beta")}
_AXES = {"axes": Ints(doc="the axes to normalize over, without the channel axis")}

op(
    "nn.batch_norm",
    "data gamma beta moving_mean moving_var",
    attrs={
        "axis": Int(doc="the channels"),
        **_AFFINE,
        "momentum": Float(0.1, doc="the weight of this batch"),
        "training": Bool(True, doc="use this batch's mean and variance"),
    },
    results="result new_mean new_var",
    infer=batch_norm,
    doc="Normalizes each channel over the batch; also gives the moving mean and variance.",
)
op(
    "nn.layer_norm",
    "data gamma beta",
    attrs={"axes": Ints(doc="the axes to normalize over"), **_AFFINE},
    infer=layer_norm,
    doc="Normalizes over the axes; gamma and beta have the data's sizes along them.",
)
op(
    "nn.group_norm",
    "data gamma beta",
    attrs={"num_groups": Int(), **_CHANNEL_AXIS, **_AXES, **_AFFINE},
    infer=group_norm,
    doc="Normalizes over the axes and the channels of each group.",
)
op(
    "nn.instance_norm",
    "data gamma beta",
    attrs={**_CHANNEL_AXIS, **_AXES, **_AFFINE},
    infer=instance_norm,
    doc="Normalizes each channel over the axes.",
)
op(
    "nn.rms_norm",
    "data weight",
    attrs={"axes": Ints((-1,), doc="the axes to normalize over"), **_EPSILON},
    infer=layer_norm,
    doc="data / sqrt(mean(data * data) + epsilon) * weight.",
)
