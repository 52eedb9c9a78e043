# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images and volumes: resizing and sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.attributes import Bool, DType, Float, Floats, Int, Str
from ..core.infos import TensorInfo
from ..core.opdef import Call
from ..core.symbols import Dim, SymExpr, dim_mul, dim_sub, product
from .dialect import injective_op, op
from .infer.dtypes import check_dtype
from .infer.layouts import layouts_of, shape_in_layout, sizes_in_layout
from .infer.sizes import Shape, expect_size, most_precise, shape_of_rank


def resize(call: Call) -> TensorInfo:
    check_dtype(call, "data", "float", "int")
    layout = layouts_of(call)["data"]
    batch, channels, *sizes = sizes_in_layout(call, "data", layout)
    spatial = len(sizes)
    target = _target_size(call, spatial) or (None,) * spatial
    corners = 2 * spatial
    fits = call.roi is None or len(call.roi) == corners
    call.require(fits, f"{call.describe('roi')} must have {corners} entries: all starts, then all ends")
    call.require(call.cubic_exclude in (0, 1), f"{call.describe('cubic_exclude')} must be 0 or 1")
    return TensorInfo(shape_in_layout(layout, (batch, channels, *target)), call.out_dtype or call.data.dtype)


def _target_size(call: Call, *ranks: int) -> Shape | None:
    """Return the spatial sizes in operand 'size', or None if unknown. `ranks` are the accepted numbers of sizes."""
    dims: Shape | None = call.size.dims
    counts = " or ".join(map(str, ranks))
    fits = dims is None or len(dims) in ranks
    call.require(fits, f"{call.describe('size')} must have {counts} entries: the spatial sizes")
    return dims


def spread_size(spatial: int) -> Callable[[dict[str, object]], dict[str, object]]:
    """Return a function for the builder that repeats a single size for each spatial dimension."""

    def prepare(arguments: dict[str, object]) -> dict[str, object]:
        if isinstance(size := arguments.get("size"), (int, str, SymExpr)):
            size = [size]
        if isinstance(size, (list, tuple)) and len(size) == 1:
            return {**arguments, "size": [size[0]] * spatial}
        return arguments

    return prepare


def grid_sample(call: Call) -> TensorInfo:
    """Infer the samples.

    The grid is [batch, coordinates, ...]: the position in the data for each element of the result.
    """
    check_dtype(call, "data", "float")
    check_dtype(call, "grid", "float")
    layout = layouts_of(call)["data"]
    spatial = len(layout.dimensions) - 2
    cubic = spatial == 3 and call.method == "bicubic"
    call.require(not cubic, f"{call.describe('method')} is for images, not for volumes ({call.describe('layout')})")
    batch, channels, *_ = sizes_in_layout(call, "data", layout)
    grid = shape_of_rank(call, "grid", len(layout.dimensions))
    expect_size(call, "grid", 0, batch, "batches")
    expect_size(call, "grid", 1, spatial, "coordinates")
    return call.data.with_shape(shape_in_layout(layout, (most_precise((batch, grid[0])), channels, *grid[2:])))


def affine_grid(call: Call) -> TensorInfo:
    """Infer a grid for grid_sample. The data has one matrix [spatial, spatial + 1] per image."""
    check_dtype(call, "data", "float")
    batch, rows, _ = shape_of_rank(call, "data", 3)
    target = _target_size(call, 2, 3)
    spatial = rows if target is None else len(target)
    if not isinstance(spatial, int):
        return call.data.with_shape(None)
    call.require(spatial in (2, 3), f"{call.describe('data')} must hold matrices of 2 or 3 rows")
    expect_size(call, "data", 1, spatial, "rows")
    expect_size(call, "data", 2, spatial + 1, "columns")
    return call.data.with_shape((batch, spatial, *(target or (None,) * spatial)))


def resize_work(call: Call, count: Dim) -> Dim:
    """two for each element of the data that one of the result is made of; none for the nearest ones"""
    spatial = len(call.definition.layouts["data"].dimensions) - 2
    return dim_mul(2 * {"linear": 2, "cubic": 4}.get(call.method, 0) ** spatial, count)


def affine_grid_work(call: Call, count: Dim) -> Dim:
    """two for each element of the result and column of its matrix but the last"""
    columns = None if call.data.shape is None else dim_sub(call.data.shape[-1], 1)
    return product((2, count, columns))


_COORDINATES = (
    "half_pixel", "align_corners", "asymmetric",
    "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize",
)  # fmt: skip
_ROUNDING = ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil", "")


def _make_resize_columns(dimensions: str, rounding: str) -> dict[str, Any]:
    """Return the columns of a row that resizes images with these dimensions."""
    spatial = len(dimensions) - 2
    attrs = {
        "roi": Floats(None, broadcast=2 * spatial, doc="region for tf_crop_and_resize: all starts, then all ends"),
        "layout": Str(dimensions),
        "method": Str("linear", choices=("nearest_neighbor", "linear", "cubic")),
        "coordinate_transformation_mode": Str("half_pixel", choices=_COORDINATES),
        "rounding_method": Str(rounding, choices=_ROUNDING, doc="for nearest_neighbor; '' selects by the coordinates"),
        "cubic_alpha": Float(-0.75, doc="coefficient of cubic interpolation"),
        "cubic_exclude": Int(0, doc="1: cubic interpolation ignores points outside the image"),
        "extrapolation_value": Float(0.0, doc="value outside the image, for tf_crop_and_resize"),
        "out_dtype": DType(None, doc="element type; default: as data"),
    }
    laid_out = {name: ("layout", dimensions) for name in ("data", "result")}
    return {"attrs": attrs, "infer": resize, "prepare": spread_size(spatial), "layouts": laid_out, "flops": resize_work}


injective_op("image.resize2d", "data size:shape", **_make_resize_columns("NCHW", "round"),
   doc="Resizes images.")  # fmt: skip
injective_op("image.resize3d", "data size:shape", **_make_resize_columns("NCDHW", ""),
   doc="Resizes volumes.")  # fmt: skip
op("image.grid_sample", "data grid", attrs={"method": Str("bilinear", choices=("bilinear", "nearest", "bicubic")),
          "layout": Str("NCHW"),
          "padding_mode": Str("zeros", choices=("zeros", "border", "reflection"), doc="values outside the image"),
          "align_corners": Bool(False, doc="if True, -1 and 1 are the centers of the corner pixels")},
   infer=grid_sample,
   layouts={"data": ("layout", "NCD?HW"), "result": ("layout", "NCD?HW")},
   doc="Samples images at the positions in a grid [batch, coordinates, height, width].")  # fmt: skip
injective_op("image.affine_grid", "data size:shape",
   attrs={"align_corners": Bool(True, doc="if True, -1 and 1 are the centers of the corner pixels")},
   flops=affine_grid_work, infer=affine_grid, prepare=spread_size(2),
   doc="Grid [batch, coordinates, height, width] of sampling positions, from affine matrices.")  # fmt: skip
