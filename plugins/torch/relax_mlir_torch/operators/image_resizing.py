# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of image resizing: nearest, linear and cubic interpolation, with and without antialiasing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from relax_mlir.dialects.core.infos import is_float
from relax_mlir.frontends.core.image_resizing import Along, Settings, as_image, resized, scaled_size, smoothed
from relax_mlir.frontends.core.values import Array

from ..prelude import Outputs, Tensor, TorchNode, cast, const, register_torch, relax, sizes


@register_torch("aten::upsample_nearest1d", "aten::upsample_nearest2d", "aten::upsample_nearest3d")
def nearest(node: TorchNode) -> Outputs:
    return _nearest(node, Settings("nearest", "asymmetric", "floor"))


@register_torch("aten::_upsample_nearest_exact1d", "aten::_upsample_nearest_exact2d", "aten::_upsample_nearest_exact3d")
def nearest_exact(node: TorchNode) -> Outputs:
    return _nearest(node, Settings("nearest", "half_pixel", "round_prefer_ceil"))


@register_torch("aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_trilinear3d")
def linear(node: TorchNode) -> Outputs:
    return _interpolate(node, Settings("linear", _coordinates(node), "floor"))


@register_torch("aten::upsample_bicubic2d")
def cubic(node: TorchNode) -> Outputs:
    return _interpolate(node, Settings("cubic", _coordinates(node), "floor"))


@register_torch("aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa")
def antialiased(node: TorchNode) -> Outputs:
    """Convert antialiased resizing. Weights outside of the image are excluded; the cubic kernel is another one."""
    settings = Settings("linear" if "linear" in node.op else "cubic", "half_pixel", "floor", -0.5, True)
    alongs = [_with_corners(node, along) for along in _alongs(node)] if node.bool("align_corners") else _alongs(node)
    if not (changed := [along for along in alongs if not _is_unchanged(along)]):
        return node.tensor(0)
    if is_float(node.dtype):
        return smoothed(node.tensor(0), changed, settings)
    return _resize_bytes(node, changed, lambda data, along: smoothed(data, [along], settings))


def _with_corners(node: TorchNode, along: Along) -> Along:
    """Return the resizing with aligned corners, which only change the scale here: torch uses the same centers."""
    if not isinstance(along.size, int) or not isinstance(along.count, int):
        raise node.fail("with aligned corners and antialiasing sizes must be known while the model is imported")
    scale = (along.count - 1) / (along.size - 1) if along.size > 1 and along.count > 1 else math.inf
    return along._replace(scale=scale)


def _coordinates(node: TorchNode) -> str:
    return "align_corners" if node.bool("align_corners") else "half_pixel"


def _alongs(node: TorchNode) -> list[Along]:
    """Return the resizing of each spatial dimension. With aligned corners, scales only affect the result's size."""
    own = sizes.sizes_of(node.value(0))[2:]
    scales = _scales(node, len(own))
    counts = [_count(node, 2 + place, size, scale) for place, (size, scale) in enumerate(zip(own, scales, strict=True))]
    if node.bool("align_corners"):
        scales = [None] * len(own)
    columns = zip(own, counts, scales, strict=True)
    return [Along(2 + place, size, count, scale) for place, (size, count, scale) in enumerate(columns)]


def _scales(node: TorchNode, count: int) -> list[float | None]:
    names = ["scales"] if count == 1 else ["scales_d", "scales_h", "scales_w"][-count:]
    floats = node.floats("scale_factors") or [node.float(name, None) for name in names]
    return [each if each and each > 0 else None for each in floats]


def _count(node: TorchNode, axis: int, size: sizes.Size, scale: float | None) -> sizes.Size:
    """Return the size of the result: torch's inferred size, or by the scale if torch's size is a real expression."""
    found = (node.info.shape or ())[axis]
    if found is not None and (isinstance(found, int) or scale is None):
        return found
    if scale is None:
        return node.sizes("output_size")[axis - 2]
    return scaled_size(size, scale) if sizes.is_known(size) else found


def _nearest(node: TorchNode, settings: Settings) -> Tensor:
    """Resize by nearest elements. torch's f32 rounding is reproduced where it differs from exact integers."""
    data = node.tensor(0)
    kept = []
    for along in _alongs(node):
        if (table := _table(along, settings, node.dtype)) is None:
            kept.append(along)
        else:
            data = relax.take(data, const(table, "i64"), axis=along.axis)
    return _resize(data, kept, settings)


def _table(along: Along, settings: Settings, dtype: str) -> Array | None:
    """Return torch's source indices along a dimension, or None if they equal the operator's or are unknown."""
    import numpy

    if not isinstance(along.size, int) or not isinstance(along.count, int) or not along.count:
        return None
    real = numpy.float64 if dtype == "f64" else numpy.float32
    step = real(along.size) / real(along.count) if along.scale is None else real(1.0 / along.scale)
    places = numpy.arange(along.count)
    if settings.coordinates == "asymmetric":
        found, exact = numpy.floor(places.astype(real) * step), places * along.size // along.count
    else:
        middle = step * (places.astype(real) + real(0.5)) - real(0.5)
        found, exact = numpy.floor(middle + real(0.5)), (2 * places + 1) * along.size // (2 * along.count)
    table = numpy.minimum(found.astype("int64"), along.size - 1)
    return None if (table == exact).all() else table


def _interpolate(node: TorchNode, settings: Settings) -> Tensor:
    alongs = _alongs(node)
    if is_float(node.dtype):
        return _resize(node.tensor(0), alongs, settings)
    return _resize_bytes(node, alongs, lambda data, along: _resize(data, [along], settings))


def _resize_bytes(node: TorchNode, alongs: Sequence[Along], resize: Callable[[Tensor, Along], Tensor]) -> Tensor:
    """Resize bytes as torch does: the last dimension first, with intermediate results rounded to bytes."""
    data = node.tensor(0, "f32")
    for along in reversed(alongs):
        data = relax.clip(relax.floor(relax.add(resize(data, along), const(0.5, "f32"))), 0, 255)
    return cast(data, node.dtype)


def _resize(data: Tensor, alongs: Sequence[Along], settings: Settings) -> Tensor:
    if not (changed := [along for along in alongs if not _is_unchanged(along)]):
        return data
    exact = [along._replace(scale=None) if _is_whole(along) else along for along in changed]
    if data.type.rank == 3:
        # An image of one row.
        moved = [each._replace(axis=3) for each in exact]
        image = as_image(relax.expand_dims(data, axis=[2]), moved, settings)
        return resized(data, exact, settings) if image is None else relax.squeeze(image, axis=[2])
    image = as_image(data, exact, settings)
    return resized(data, exact, settings) if image is None else image


def _is_unchanged(along: Along) -> bool:
    return along.size == along.count and along.scale in (None, 1.0)


def _is_whole(along: Along) -> bool:
    """Check whether the scale is the ratio of the sizes."""
    if along.scale is None or not all(isinstance(each, int) for each in (along.size, along.count)):
        return False
    return math.isclose(along.size * along.scale, along.count, rel_tol=1e-7)
