# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Images and volumes: resizing, sampling."""

from __future__ import annotations

from ..core.rows import row

_COORDINATES = "half_pixel align_corners asymmetric pytorch_half_pixel"
_ROUNDING = "round floor ceil round_prefer_floor round_prefer_ceil"
_GRID = "b,4,h,w:F b,2,5,6:F[-1.3,1.3]"

ROWS = (
    row("image.resize2d", "b,4,h,w:F shape(18,14)"),
    *(row("image.resize2d", "b,4,h,w:F shape(5,12)", f"{method} {mode}", method=method, coordinate_transformation_mode=mode)
      for method in ("linear", "cubic") for mode in _COORDINATES.split()),
    *(row("image.resize2d", "b,4,8,6:F shape(16,9)", f"nearest {mode} {rounding}", method="nearest_neighbor",
          coordinate_transformation_mode=mode, rounding_method=rounding)
      for mode in ("half_pixel", "asymmetric", "align_corners") for rounding in _ROUNDING.split()),
    row("image.resize2d", "b,4,8,6:F shape(16,12)", "nearest for networks", method="nearest_neighbor",
        coordinate_transformation_mode="tf_half_pixel_for_nn", rounding_method="floor"),
    row("image.resize2d", "b,4,h,w:F shape(4,5)", "of a region", roi=(0.1, 0.2, 0.9, 1.2), method="linear",
        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.5),
    row("image.resize2d", "b,h,w,4:F shape(5,12)", "of channels last", layout="NHWC"),
    row("image.resize2d", "b,4,h,w:F shape(5,12)", "cubic inside", method="cubic", cubic_exclude=1, cubic_alpha=-0.5),
    row("image.resize2d", "b,4,h,w:F shape(1,1)", "to one"),
    row("image.resize2d", "b,4,h,w:ui8 shape(18,14)", "of bytes", method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric", rounding_method="floor"),
    row("image.resize3d", "b,2,4,h,w:F shape(3,5,9)"),
    *(row("image.resize3d", "b,2,4,h,w:F shape(8,5,9)", f"{method} {mode}", method=method, coordinate_transformation_mode=mode)
      for method in ("linear", "cubic") for mode in ("align_corners", "asymmetric")),
    row("image.resize3d", "b,2,4,6,5:F shape(8,12,10)", "nearest", method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric", rounding_method="floor"),
    row("image.grid_sample", _GRID),
    *(row("image.grid_sample", _GRID, f"{method} {mode}{' of corners' if corners else ''}", method=method, padding_mode=mode,
          align_corners=corners)
      for method in ("bilinear", "nearest", "bicubic") for mode in ("zeros", "border", "reflection") for corners in (False, True)),
    *(row("image.grid_sample", "b,2,4,h,w:F b,3,2,3,4:F[-1.3,1.3]", f"of volumes {mode}", layout="NCDHW", padding_mode=mode)
      for mode in ("zeros", "border", "reflection")),
    row("image.affine_grid", "b,2,3:F shape(3,4)"),
    row("image.affine_grid", "b,2,3:F shape(5,4)", "of no corners", align_corners=False),
    row("image.affine_grid", "b,3,4:F shape(2,3,4)", "of volumes"),
)  # fmt: skip
