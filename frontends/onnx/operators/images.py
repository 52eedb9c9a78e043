# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of image operators: resizing, and sampling at the positions of a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

from ....dialects.core.symbols import equal
from ....support.suggest import counted
from ...core.image_resizing import Along, Real, Settings, as_image, real, resized, scaled_size, smoothed
from ...core.sizes import Size, as_shape, element, full, is_known, sizes_of
from ..input_sizes import input_length, input_sizes
from ..prelude import OnnxNode, Outputs, cast, const, register_onnx, relax

_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear", "cubic": "cubic"}
_COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
    "tf_half_pixel_for_nn", "tf_crop_and_resize",
)  # fmt: skip
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@register_onnx("", "Upsample")
@register_onnx("", "Resize", since=10)
def upsample(node: OnnxNode) -> Outputs:
    scales = None
    if node.version < 7:
        scales = [1.0, 1.0, node.float("height_scale", 1.0), node.float("width_scale", 1.0)]
    elif node.version < 9:
        scales = node.floats("scales")
    return _first_versions(node, _scales(node, 1, node.rank(0)) if scales is None else scales)


def _first_versions(node: OnnxNode, scales: Sequence[Real | float]) -> Outputs:
    """Convert the first versions: coordinates are divided by scales.

    The nearest element is the one before; if the result is smaller, the one after.
    """
    mode = _MODES[node.choice("mode", "nearest", _MODES)]
    alongs = _resize_by_scales(node, list(range(node.rank(0))), scales)
    return _resize(node, alongs, Settings(mode, "asymmetric", "as_scaled"), antialias=False)


@register_onnx("", "Resize", since=11)
def resize(node: OnnxNode) -> Outputs:
    settings = Settings(
        _MODES[node.choice("mode", "nearest", ("nearest", "linear", "cubic"))],
        node.choice("coordinate_transformation_mode", "half_pixel", _COORDINATES),
        node.choice("nearest_mode", "round_prefer_floor", _ROUNDINGS),
        node.float("cubic_coeff_a", -0.75),
        bool(node.int("exclude_outside", 0)),
        node.float("extrapolation_value", 0.0),
    )
    rank = node.rank(0)
    axes = [node.axis_of(axis, rank, "axes") for axis in node.ints("axes") or range(rank)]
    region = _region(node, len(axes)) if settings.coordinates == "tf_crop_and_resize" else None
    if node.has(3) and input_length(node, 3):
        alongs = _resize_by_sizes(node, axes, region)
    elif node.has(2):
        if region:
            raise node.fail("with tf_crop_and_resize give 'sizes': runtimes do not agree on the result of 'scales'")
        alongs = _resize_by_scales(node, axes, _scales(node, 2, len(axes)))
    else:
        raise node.fail("needs either input 'scales' or input 'sizes'")
    return _resize(node, alongs, settings, bool(node.int("antialias", 0)))


def _scales(node: OnnxNode, index: int, count: int) -> list[Real | float]:
    """Return the scales as numbers or tensors of one element."""
    scales = _reals(node, index, count)
    numbers = [scale for scale in scales if isinstance(scale, float)]
    if not all(0 < number < math.inf for number in numbers):
        raise node.fail(f"scales must be positive, got {', '.join(f'{number:g}' for number in numbers)}")
    return scales


def _reals(node: OnnxNode, index: int, count: int) -> list[Real | float]:
    """Return an input's elements. If they are dynamic, there are `count`."""
    if (known := node.constant(index)) is not None:
        return [float(each) for each in known.ravel()]
    tensor = cast(node.tensor(index), "f32")
    return [Real(element(tensor, place)) for place in range(count)]


def _region(node: OnnxNode, count: int) -> list[tuple[Real | float, Real | float]]:
    if not node.has(1) or input_length(node, 1) != 2 * count:
        raise node.fail("tf_crop_and_resize needs input 'roi' with a start and an end for each axis")
    numbers = _reals(node, 1, 2 * count)
    return list(zip(numbers[:count], numbers[count:], strict=True))


def _resize_by_scales(node: OnnxNode, axes: Sequence[int], scales: Sequence[Real | float]) -> list[Along]:
    if len(scales) != len(axes):
        raise node.fail(f"there are {counted(len(scales), 'scale')} for {counted(len(axes), 'axis')}")
    sizes = sizes_of(node.value(0))
    return [
        Along(axis, sizes[axis], scaled_size(sizes[axis], scale), scale)
        for axis, scale in zip(axes, scales, strict=True)
    ]


def _resize_by_sizes(
    node: OnnxNode, axes: Sequence[int], region: list[tuple[Real | float, Real | float]] | None
) -> list[Along]:
    wanted = input_sizes(node, 3)
    if len(wanted) != len(axes):
        raise node.fail(f"there are {counted(len(wanted), 'size')} for {counted(len(axes), 'axis')}")
    sizes = [sizes_of(node.value(0))[axis] for axis in axes]
    policy = node.choice("keep_aspect_ratio_policy", "stretch", ("stretch", "not_larger", "not_smaller"))
    if policy != "stretch":
        if 0 in sizes:
            raise node.fail("an axis without elements has no aspect ratio")
        return _with_aspect_ratio(axes, sizes, wanted, policy)
    regions = region or [(0.0, 1.0)] * len(axes)
    return [
        Along(axis, size, count, None, *each)
        for axis, size, count, each in zip(axes, sizes, wanted, regions, strict=True)
    ]


def _with_aspect_ratio(axes: Sequence[int], sizes: Sequence[Size], wanted: Sequence[Size], policy: str) -> list[Along]:
    """Use one scale for all axes, so that the result fits in the sizes or just covers them."""
    if all(isinstance(each, int) for each in (*sizes, *wanted)):
        ratios = [count / size for size, count in zip(sizes, wanted, strict=True)]
        scale = min(ratios) if policy == "not_larger" else max(ratios)
        counts = [math.floor(size * scale + 0.5) for size in sizes]
        return [Along(*each, scale) for each in zip(axes, sizes, counts, strict=True)]
    name = "minimum" if policy == "not_larger" else "maximum"
    pairs = [(real(count), real(size)) for size, count in zip(sizes, wanted, strict=True)]
    ratios = [
        each.tensor if isinstance(each, Real) else const([each], "f32")
        for each in (count / size for count, size in pairs)
    ]
    chosen = Real(reduce(relax.dialect.ops[name], ratios))
    return [
        Along(axis, size, (chosen * real(size) + 0.5).floor().as_size(), chosen)
        for axis, size in zip(axes, sizes, strict=True)
    ]


def _resize(node: OnnxNode, alongs: Sequence[Along], settings: Settings, antialias: bool) -> Outputs:
    if not (changed := [along for along in alongs if not _is_unchanged(along, settings, node.rank(0))]):
        return node.value(0)
    for along in changed:
        if along.size == 0 or (isinstance(along.count, int) and along.count < 0):
            raise node.fail(f"axis {along.axis} of size {along.size} cannot be resized to {along.count}")
    if any(along.count == 0 for along in changed):
        counts = {along.axis: along.count for along in alongs}
        shape = [counts.get(axis, size) for axis, size in enumerate(sizes_of(node.value(0)))]
        return full(shape, const(0, node.value(0).dtype))
    if antialias and settings.mode != "nearest":
        return smoothed(node.tensor(0), changed, settings)
    by_image = as_image(node.tensor(0), changed, settings)
    return resized(node.tensor(0), changed, settings) if by_image is None else by_image


def _is_unchanged(along: Along, settings: Settings, rank: int) -> bool:
    # No runtime interpolates between images or channels, and a dynamic size would cost time.
    if settings.mode != "nearest" and rank >= 4 and along.axis < 2 and not is_known(along.count):
        return True
    if settings.coordinates == "tf_crop_and_resize" and (along.start, along.end) != (0.0, 1.0):
        return False
    same_scale = along.scale is None or (isinstance(along.scale, float) and along.scale == 1.0)
    return same_scale and is_known(along.size, along.count) and equal(along.size, along.count) is True


_SAMPLING = {
    "linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic", "bicubic": "bicubic",
}  # fmt: skip


@register_onnx("", "GridSample")
def grid_sample(node: OnnxNode) -> Outputs:
    """Convert GridSample. ONNX's grid has the coordinates in the last dimension."""
    if (rank := node.rank(0)) not in (4, 5):
        raise node.fail(f"only images and volumes can be sampled, not {rank - 2} dimensions")
    return relax.dialect.ops["image.grid_sample"](
        node.tensor(0),
        relax.permute_dims(node.tensor(1), axes=[0, rank - 1, *range(1, rank - 1)]),
        method=_SAMPLING[node.choice("mode", "linear", _SAMPLING)],
        layout="NCHW" if rank == 4 else "NCDHW",
        padding_mode=node.choice("padding_mode", "zeros", ("zeros", "border", "reflection")),
        align_corners=bool(node.int("align_corners", 0)),
    )


@register_onnx("", "AffineGrid")
def affine_grid(node: OnnxNode) -> Outputs:
    """Convert AffineGrid. ONNX's grid has the coordinates in the last dimension."""
    sizes = input_sizes(node, 1)[2:]
    grid = relax.image.affine_grid(node.tensor(0), as_shape(sizes), align_corners=bool(node.int("align_corners", 0)))
    return relax.permute_dims(grid, axes=[0, *range(2, 2 + len(sizes)), 1])


@register_onnx("", "ImageDecoder")
def image_decoder(node: OnnxNode) -> Outputs:
    raise node.fail("image files are decoded before a model runs: cut this node off and pass its result, the pixels")
