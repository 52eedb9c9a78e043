# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images and volumes: resizing and sampling. Each result element is a weighted sum of elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
from relax_mlir.dialects.relax.infer.layouts import layouts_of
from relax_mlir.passes.evaluate.references import register_reference

from ..sliding_windows import laid_out, plain
from ..steps import require_same
from .element_types import converted

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

#: A coordinate this close to an integer counts as the integer.
_EPSILON = 1e-5


class _Tap(NamedTuple):
    """An element along a dimension, and its weight."""

    place: int
    weight: float


def _cubic_weights(fraction: float, alpha: float) -> list[float]:
    """Return the weights of the elements at -1, 0, 1 and 2 for a position at `fraction`."""

    def weight(distance: float) -> float:
        if distance <= 1:
            return ((alpha + 2) * distance - (alpha + 3)) * distance**2 + 1
        return ((alpha * distance - 5 * alpha) * distance + 8 * alpha) * distance - 4 * alpha

    return [weight(distance) for distance in (fraction + 1, fraction, 1 - fraction, 2 - fraction)]


def _sum_weighted(image: ndarray, taps: Sequence[Sequence[_Tap]]) -> ndarray:
    """Return the weighted sum of elements per channel of an image [channels, *sizes]. Elements outside count as 0."""
    total = numpy.zeros(image.shape[0])
    for several in itertools.product(*taps):
        place = tuple(tap.place for tap in several)
        if all(0 <= at < size for at, size in zip(place, image.shape[1:], strict=True)):
            total = total + image[_select_all_channels(place)] * math.prod(tap.weight for tap in several)
    return total


def _select_all_channels(place: tuple[int, ...]) -> tuple[int | slice, ...]:
    return (slice(None), *place)


def _require_elements(sizes: Sequence[int]) -> None:
    if 0 in sizes:
        raise ValueError("the image is empty: a size is 0")


# ---- resizing ----


@register_reference(["relax.image.resize2d", "relax.image.resize3d"])
def resize(call: EvaluationCall, data: ndarray, size: tuple[int, ...]) -> ndarray:
    layout = layouts_of(call)["data"]
    source = plain(data, layout)
    sizes, spatial = source.shape[2:], len(size)
    roi = call.roi or [0.0] * spatial + [1.0] * spatial
    result = numpy.zeros((*source.shape[:2], *size), source.dtype)
    if result.size:
        _require_elements(sizes)
    axes = [
        [_resized_taps(call, place, sizes[axis], count, roi[axis], roi[spatial + axis]) for place in range(count)]
        for axis, count in enumerate(size)
    ]
    if call.method != "nearest_neighbor":
        result = result.astype(float)
    for image, target in zip(source, result, strict=True):
        for point in numpy.ndindex(*size):
            taps = [axes[axis][at] for axis, at in enumerate(point)]
            target[_select_all_channels(point)] = _resize_element(call, image, taps)
    return laid_out(converted(result, call.result.dtype), layout)


def _resize_element(call: EvaluationCall, image: ndarray, taps: Sequence[Sequence[_Tap] | None]) -> ndarray | float:
    known = [tap for tap in taps if tap is not None]
    if len(known) < len(taps):
        return call.extrapolation_value
    if call.method == "nearest_neighbor":
        return image[_select_all_channels(tuple(each[0].place for each in known))]
    return _sum_weighted(image, known)


def _resized_taps(
    call: EvaluationCall, place: int, size: int, count: int, start: float, end: float
) -> list[_Tap] | None:
    """Return the taps of a result element along one dimension, or None if it is outside of the image."""
    x = _coordinate(call.coordinate_transformation_mode, place, size, count, start, end)
    if call.coordinate_transformation_mode == "tf_crop_and_resize" and not 0 <= x <= size - 1:
        return None
    if call.method == "nearest_neighbor":
        return [_Tap(_clamp(_nearest(call, x), size), 1)]
    first = math.floor(x)
    if call.method == "linear":
        return [_Tap(_clamp(first, size), 1 - (x - first)), _Tap(_clamp(first + 1, size), x - first)]
    weights = _cubic_weights(x - first, call.cubic_alpha)
    if call.cubic_exclude:
        weights = [weight if 0 <= first + at < size else 0 for at, weight in enumerate(weights, -1)]
        weights = [weight / sum(weights) for weight in weights]
    return [_Tap(_clamp(first + at, size), weight) for at, weight in enumerate(weights, -1)]


def _clamp(place: int, size: int) -> int:
    return max(0, min(place, size - 1))


def _coordinate(mode: str, place: int, size: int, count: int, start: float, end: float) -> float:
    """Return the image coordinate of a result position."""
    if mode == "asymmetric":
        return place * size / count
    if mode == "tf_half_pixel_for_nn":
        return (place * 2 + 1) * size / (count * 2)
    if mode == "align_corners":
        return place * (size - 1) / max(1, count - 1)
    if mode == "tf_crop_and_resize":
        if count == 1:
            return (size - 1) * 0.5 * (start + end)
        return (size - 1) * start + place * (size - 1) * (end - start) / (count - 1)
    if mode == "pytorch_half_pixel" and count == 1:
        return 0.0
    return ((place * 2 + 1) * size - count) / (count * 2)


def _nearest(call: EvaluationCall, x: float) -> int:
    if not (rounding := call.rounding_method):
        rounding = "round" if call.coordinate_transformation_mode == "align_corners" else "floor"
    return {
        "round": lambda: round(x),  # halves to even
        "round_prefer_ceil": lambda: math.floor(x + 0.5),
        "round_prefer_floor": lambda: math.ceil(x - 0.5),
        "floor": lambda: math.floor(x + _EPSILON),
        "ceil": lambda: math.ceil(x - _EPSILON),
    }[rounding]()


# ---- sampling ----

#: Coefficient of cubic interpolation, as in PyTorch.
_ALPHA = -0.75


@register_reference("relax.image.grid_sample")
def grid_sample(call: EvaluationCall, data: ndarray, grid: ndarray) -> ndarray:
    """Sample at grid points. The grid's first coordinate belongs to the last dimension."""
    layout = layouts_of(call)["data"]
    source = plain(data, layout)
    require_same(len(source), len(grid), "batches of data and grid")
    require_same(grid.shape[1], source.ndim - 2, "coordinates of the grid")
    result = numpy.zeros((*source.shape[:2], *grid.shape[2:]))
    if result.size:
        _require_elements(source.shape[2:])
    for batch, *point in numpy.ndindex(result.shape[0], *result.shape[2:]):
        place = _select_all_channels(tuple(point))
        positions = grid[batch][place][::-1].tolist()
        taps = [_sampled_taps(call, x, size) for x, size in zip(positions, source.shape[2:], strict=True)]
        result[batch][place] = _sum_weighted(source[batch], taps)
    return laid_out(result, layout)


def _sampled_taps(call: EvaluationCall, position: float, size: int) -> list[_Tap]:
    """Return the taps for a position.

    The image's ends are -1 and 1. Without padding, positions outside stay outside.
    """
    x = (position + 1) * (size - 1) / 2 if call.align_corners else ((position + 1) * size - 1) / 2
    if math.isnan(x) or (math.isinf(x) and call.padding_mode == "reflection"):
        return [_Tap(0, math.nan)]
    if call.method == "bicubic":
        # Each neighbouring element is moved inside, not the position between them.
        x = x if call.padding_mode == "reflection" else max(-4.0, min(x, size + 3.0))
        weights = _cubic_weights(x - math.floor(x), _ALPHA)
        places = [_move_inside(call, math.floor(x) + at, size) for at in range(-1, 3)]
        return [_Tap(round(place), weight) for place, weight in zip(places, weights, strict=True)]
    x = _move_inside(call, x, size)
    if call.method == "nearest":
        return [_Tap(round(x), 1)]
    first = math.floor(x)
    return [_Tap(first, 1 - (x - first)), _Tap(first + 1, x - first)]


def _move_inside(call: EvaluationCall, x: float, size: int) -> float:
    if call.padding_mode == "zeros":
        return max(-4.0, min(x, size + 3.0))  # equivalent to any position farther outside
    if call.padding_mode == "reflection":
        x = _reflect(x, size, call.align_corners)
    return max(0.0, min(x, size - 1.0))


def _reflect(x: float, size: int, align_corners: bool) -> float:
    """Reflect a position at the image's ends, repeatedly if needed."""
    start, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return 0.0
    times, rest = divmod(abs(x - start), span)
    return (span - rest if times % 2 else rest) + start


@register_reference("relax.image.affine_grid")
def affine_grid(call: EvaluationCall, data: ndarray, size: tuple[int, ...]) -> ndarray:
    """Multiply the matrix by each position's coordinates from -1 to 1, the last dimension's first, and 1."""
    axes = [_positions(count, call.align_corners) for count in size]
    coordinates = numpy.meshgrid(*axes, indexing="ij")
    return numpy.einsum("brc,c...->br...", data, numpy.stack([*reversed(coordinates), numpy.ones(size)]))


def _positions(count: int, align_corners: bool) -> ndarray:
    """Return the coordinates of positions. A single position is in the middle."""
    places = numpy.arange(count)
    if align_corners:
        return (places * 2 - (count - 1)) / max(1, count - 1)
    return (places * 2 + 1 - count) / max(1, count)
