# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters that resize images."""

from __future__ import annotations

from ..prelude import Tensor, TfliteNode, register_rows, relax


def _resize(node: TfliteNode, method: str, half_pixels: str, rounding: str) -> Tensor:
    """Resize images.

    `half_pixels` is the coordinate transformation for half pixel centers. `rounding` is the rounding of the nearest
    neighbor without aligned corners.
    """
    coordinates = half_pixels if node.attr("half_pixel_centers", False) else "asymmetric"
    if node.attr("align_corners", False):
        coordinates, rounding = "align_corners", "round_prefer_ceil"
    return relax.dialect.ops["image.resize2d"](
        node.tensor(0),
        tuple(node.known_numbers(1)),
        layout="NHWC",
        method=method,
        coordinate_transformation_mode=coordinates,
        rounding_method=rounding if method == "nearest_neighbor" else "",
    )


register_rows(
    {
        "RESIZE_BILINEAR": lambda node: _resize(node, "linear", "half_pixel", ""),
        "RESIZE_NEAREST_NEIGHBOR": lambda node: _resize(node, "nearest_neighbor", "tf_half_pixel_for_nn", "floor"),
    }
)
