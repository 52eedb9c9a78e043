# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of histograms: counts or sums of weights of elements in bins."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.relax.infer.slices import OPEN

from ..prelude import (
    Outputs,
    Tensor,
    TorchNode,
    Value,
    along_axis,
    cast,
    const,
    info_of,
    like,
    part,
    register_torch,
    relax,
    sizes,
)
from .indexing import at_least_1d


@register_torch("aten::histc")
def histogram_counts(node: TorchNode) -> Outputs:
    """Convert histc: counts of elements in equal bins between two limits."""
    limits, bins = (node.float("min", 0.0), node.float("max", 0.0)), node.int("bins", 100)
    x = _elements(node)
    low, high = _limits(x, limits if limits[0] != limits[1] else None)
    share = relax.divide(relax.subtract(x, low), relax.subtract(high, low))
    place = cast(relax.floor(relax.multiply(share, like(x, bins))), "i64")
    is_inside = relax.logical_and(relax.greater_equal(x, low), relax.less_equal(x, high))
    return _count_by_bin(node, relax.minimum(place, const(bins - 1, "i64")), is_inside, bins)


@register_torch("aten::histogram.bin_ct", "aten::histogram.bins_tensor")
def histogram(node: TorchNode) -> Outputs:
    """Convert histogram: counts or sums of weights, and the edges of the bins. A density has integral 1."""
    x = _elements(node)
    if node.op.endswith("bins_tensor"):
        edges = node.tensor("bins", node.dtype)
    else:
        edges = _edges(x, node.int("bins", 100), node.floats("range"))
    place, is_inside = _place(x, edges)
    counts = _count_by_bin(node, place, is_inside, _bins(edges))
    return [_density(counts, [edges]) if node.bool("density") else counts, edges]


@register_torch("aten::_histogramdd_bin_edges")
def edges_of_dimensions(node: TorchNode) -> Outputs:
    """Return the edges for points, which are rows."""
    given, counts = node.floats("range"), node.ints("bins")
    limits = [given[place : place + 2] if given else None for place in range(0, 2 * len(counts), 2)]
    return [_edges(x, count, limit) for x, count, limit in zip(_points(node), counts, limits, strict=True)]


@register_torch("aten::_histogramdd_from_bin_cts", "aten::_histogramdd_from_bin_tensors")
def histogram_of_points(node: TorchNode) -> Outputs:
    is_counted = node.op.startswith("aten::_histogramdd_from_bin_cts")
    edges = edges_of_dimensions(node) if is_counted else node.tensors("bins", node.dtype)
    assert isinstance(edges, list)
    whole: sizes.Size = 1
    place, is_inside = const(0, "i64"), const(True)
    for x, edge in zip(_points(node), edges, strict=True):
        own, is_own = _place(x, edge)
        bins = _bins(edge)
        place = relax.add(relax.multiply(place, relax.reshape(sizes.as_tensor([bins]), ())), own)
        is_inside, whole = relax.logical_and(is_inside, is_own), sizes.times(whole, bins)
    counts = sizes.reshaped(_count_by_bin(node, place, is_inside, whole), list(map(_bins, edges)))
    return _density(counts, edges) if node.bool("density") else counts


def _elements(node: TorchNode) -> Tensor:
    return relax.flatten(at_least_1d(node.tensor("self")))


def _points(node: TorchNode) -> list[Tensor]:
    """Return the coordinates of the points along each dimension."""
    own = sizes.sizes_of(node.value("self"))
    rows = sizes.reshaped(node.tensor("self"), [sizes.product(own[:-1]), own[-1]])
    return [part(rows, 1, place, place + 1, drop=True) for place in range(own[-1])]


def _bins(edges: Tensor) -> sizes.Size:
    return sizes.minus(sizes.size_of(edges, 0), 1)


def _place(x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bin of each element, and True if there is one. The last bin includes its end."""
    count = relax.reshape(sizes.as_tensor([_bins(edges)]), ())
    last = relax.take(edges, count, axis=0)
    place = relax.subtract(relax.bucketize(x, edges, right=True), const(1, "i64"))
    place = relax.where(relax.equal(x, last), relax.subtract(count, const(1, "i64")), place)
    return place, relax.logical_and(relax.greater_equal(place, const(0, "i64")), relax.less_equal(x, last))


def _density(counts: Tensor, edges: Sequence[Tensor]) -> Tensor:
    """Divide counts so that the integral is 1."""
    density = relax.divide(counts, relax.sum(counts))
    for axis, edge in enumerate(edges):
        widths = relax.subtract(_without(edge, first=True), _without(edge, first=False))
        density = relax.divide(density, along_axis(widths, axis, len(edges)))
    return density


def _limits(x: Tensor, given: Sequence[float] | None) -> tuple[Tensor, Tensor]:
    """Return the limits: the stated ones, or the extremes.

    Equal limits are widened by 0.5 on both sides, and an empty tensor has the limits 0 and 1.
    """
    if given is None and 0 in (info_of(x).shape or ()):
        given = (0.0, 1.0)
    low, high = (relax.min(x), relax.max(x)) if given is None else (like(x, given[0]), like(x, given[1]))
    is_one, half = relax.equal(low, high), like(low, 0.5)
    return relax.where(is_one, relax.subtract(low, half), low), relax.where(is_one, relax.add(high, half), high)


def _edges(x: Tensor, bins: int, given: Sequence[float] | None) -> Tensor:
    """Return the edges of equal bins, each computed from the nearer limit."""
    low, high = _limits(x, given)
    width = relax.subtract(high, low)
    share = const([place / bins for place in range(bins + 1)], info_of(x).dtype)
    from_end = relax.subtract(high, relax.multiply(width, relax.subtract(like(low, 1), share)))
    return relax.where(relax.less(share, like(low, 0.5)), relax.add(low, relax.multiply(width, share)), from_end)


def _without(edges: Tensor, *, first: bool) -> Tensor:
    """Return edges without the first or the last edge."""
    return sizes.sliced(Value(ssa=edges), {0: (1, OPEN, 1) if first else (0, -1, 1)})


def _count_by_bin(node: TorchNode, place: Tensor, is_inside: Tensor, bins: sizes.Size) -> Tensor:
    """Return the sum of weights in each bin. Elements outside go to an extra bin, which is cut off."""
    place = relax.where(is_inside, place, relax.reshape(sizes.as_tensor([bins]), ()))
    weights = (
        relax.flatten(node.tensor("weight", node.dtype)) if node.has("weight") else relax.ones_like(place, dtype="i64")
    )
    sums = sizes.full([sizes.plus(bins, 1)], const(0, info_of(weights).dtype))
    sums = relax.scatter_elements(sums, place, weights, axis=0, reduction="add")
    return cast(sizes.sliced(Value(ssa=sums), {0: (0, bins, 1)}, {0: bins}), node.dtype)


@register_torch("aten::bincount")
def count_integers(node: TorchNode) -> Outputs:
    """Convert bincount: the count of each integer, or the sum of its weights."""
    x = node.tensor("self", "i64")
    most = relax.max(relax.concat([x, const([node.int("minlength", 0) - 1], "i64")], axis=0), axis=[0], keepdims=True)
    start = sizes.full([relax.add(most, const([1], "i64"))], const(0, node.dtype))
    weights = node.tensor("weights", node.dtype) if node.has("weights") else relax.ones_like(x, dtype=node.dtype)
    return relax.scatter_elements(start, x, weights, axis=0, reduction="add")
