# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images and volumes: resizing, sampling."""

from __future__ import annotations

from ..core.attributes import AttrKind, Bool, DType, Float, Floats, Int, Str
from .dialect import op
from .infer.image import affine_grid, grid_sample, resize, spread_size

_COORDINATES = (
    "half_pixel", "align_corners", "asymmetric",
    "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize",
)  # fmt: skip
_ROUNDING = ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil", "")


def _resize_attrs(layout: str, corners: int, rounding: str) -> dict[str, AttrKind]:
    return {
        "roi": Floats(None, broadcast=corners, doc="the region for tf_crop_and_resize: all starts, then all ends"),
        "layout": Str(layout),
        "method": Str("linear", choices=("nearest_neighbor", "linear", "cubic")),
        "coordinate_transformation_mode": Str("half_pixel", choices=_COORDINATES),
        "rounding_method": Str(rounding, choices=_ROUNDING, doc="for nearest_neighbor; '': as the coordinates need it"),
        "cubic_alpha": Float(-0.75, doc="the coefficient of cubic interpolation"),
        "cubic_exclude": Int(0, doc="1: cubic interpolation leaves out what is outside of the image"),
        "extrapolation_value": Float(0.0, doc="what is outside of the image, for tf_crop_and_resize"),
        "out_dtype": DType(None, doc="the result's element type; absent: the data's"),
    }


op(
    "image.resize2d",
    "data size:shape",
    attrs=_resize_attrs("NCHW", 4, "round"),
    infer=resize("NCHW"),
    prepare=spread_size(2),
    doc="Images of another height and width.",
)
op(
    "image.resize3d",
    "data size:shape",
    attrs=_resize_attrs("NCDHW", 6, ""),
    infer=resize("NCDHW"),
    prepare=spread_size(3),
    doc="Volumes of another depth, height and width.",
)
op(
    "image.grid_sample",
    "data grid",
    attrs={
        "method": Str("bilinear", choices=("bilinear", "nearest", "bicubic")),
        "layout": Str("NCHW"),
        "padding_mode": Str("zeros", choices=("zeros", "border", "reflection"), doc="what is outside of the image"),
        "align_corners": Bool(False, doc="whether -1 and 1 are the centers of the corner pixels"),
    },
    infer=grid_sample,
    doc="Images sampled at the positions of a grid [batch, coordinates, height, width].",
)
op(
    "image.affine_grid",
    "data size:shape",
    attrs={"align_corners": Bool(True, doc="whether -1 and 1 are the centers of the corner pixels")},
    infer=affine_grid,
    prepare=spread_size(2),
    doc="The grid [batch, coordinates, height, width] that affine matrices make of an image.",
)
