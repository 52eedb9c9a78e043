# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg: structured operations. All points of the loops that are parallel are computed at once, as arrays, and the
steps of a reduction one after the other, in the order of the loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ...bindings.affine import indexing_maps, plain_dim
from ...bindings.ir import AffineMap
from ...dialects.core.dialect import row_of
from ..element_bits import element_of
from ..held_values import computed
from ..registry import register_step
from ..sites import Frame, Site, Step
from .affine import places_of
from .memref import held
from .operands import mixed, segments
from .places import element, put

#: What is done with arrays of numbers, one for each point, as with numbers.
_DIALECTS = frozenset(("arith", "math", "index"))
_POINTWISE = frozenset(("tensor.extract", "memref.load", "tensor.dim", "memref.dim", "linalg.index", "linalg.yield"))


def is_elementwise(site: Site, region: int = 0) -> bool:
    """Whether a body does with arrays what it does with numbers: loops and branches take one path at a time."""
    inside = site.operation.regions[region].blocks[0].operations
    return all(map(_is_elementwise, (each.operation for each in inside)))


def _is_elementwise(operation: Any) -> bool:
    if operation.name.partition(".")[0] in _DIALECTS or operation.name in _POINTWISE:
        return True
    row = row_of(operation)
    return row is not None and row.pure


@register_step("linalg.*")
def structured(site: Site) -> Step:
    """linalg.generic, and what has a name for its maps and its body."""
    if not site.has_body():
        raise site.refusal("the reference does not know this operation")
    maps = indexing_maps(site.operation)
    places, inputs, count = [places_of(map_) for map_ in maps], _inputs(site), maps[0].n_dims
    reductions = _reductions(site, maps[inputs:])
    body, sizes_of, has_tensors = site.body(), _sizes(site, maps), len(site.operation.results) > 0
    is_pointwise = not is_elementwise(site)
    stepped = [axis for axis in range(count) if is_pointwise or axis in reductions]

    def run(frame: Frame, *operands: Any) -> Any:
        outputs = [numpy.array(array) if has_tensors else array for array in operands[inputs:]]
        given = [*operands[:inputs], *outputs]
        for array in given if not has_tensors else ():
            if isinstance(array, numpy.ndarray):
                held(site, array)
        sizes = sizes_of(given)
        point: list[Any] = list(numpy.ix_(*map(numpy.arange, sizes)))
        frame.points.append(point)
        for steps in itertools.product(*(range(sizes[axis]) for axis in stepped)):
            for axis, step in zip(stepped, steps, strict=True):
                point[axis] = numpy.int64(step)
            keys = [of(point) for of in places]
            values = [taken(site, array, key) for array, key in zip(given, keys, strict=True)]
            found = body.run(frame, values)
            for array, key, value in zip(outputs, keys[inputs:], found, strict=True):
                put(site, array, key, value)
        frame.points.pop()
        return outputs if has_tensors else None

    return run


def taken(site: Site, array: Any, key: tuple[Any, ...]) -> Any:
    """Elements of an array, or the number that stands for one."""
    return element(site, array, key) if isinstance(array, numpy.ndarray) else array


@register_step("linalg.index")
def index(site: Site) -> Step:
    axis = site.attributes["dim"].value
    return lambda frame: frame.points[-1][axis]


def _inputs(site: Site) -> int:
    """How many of the operands are no results' memory."""
    if "operandSegmentSizes" in site.attributes:
        return int(site.attributes["operandSegmentSizes"][0])
    count = len(site.operation.operands)
    return count // 2 if site.operation.name == "linalg.reduce" else count - 1


def _reductions(site: Site, results: Sequence[AffineMap]) -> set[int]:
    """The loops that are steps of a reduction. The attributes print as `#linalg.iterator_type<reduction>`."""
    if "iterator_types" in site.attributes:
        kinds = [str(kind) for kind in site.attributes["iterator_types"]]
        return {axis for axis, kind in enumerate(kinds) if "parallel" not in kind}
    return set(range(results[0].n_dims)) - {plain_dim(expr) for map_ in results for expr in map_.results}


def _sizes(site: Site, maps: Sequence[AffineMap]) -> Callable[[Sequence[Any]], list[int]]:
    """The sizes of the loops, of operands whose dimensions they go along."""
    found: dict[int, tuple[int, int]] = {}
    for index, map_ in enumerate(maps):
        for axis, expr in enumerate(map_.results):
            dim = plain_dim(expr)
            if dim is not None:
                found.setdefault(dim, (index, axis))
    missing = [dim for dim in range(maps[0].n_dims) if dim not in found]
    if missing:
        raise site.refusal(f"nothing tells the size of its loop {missing[0]}")

    def sizes(operands: Sequence[Any]) -> list[int]:
        return [numpy.shape(operands[index])[axis] for index, axis in map(found.__getitem__, range(len(found)))]

    return sizes


# ---- what is no loop around a body ----


@register_step("linalg.softmax")
def softmax(site: Site) -> Step:
    axis, numbers, dtype = site.attributes["dimension"].value, site.numbers, element_of(site.operand_type())

    def run(frame: object, array: Any, target: Any) -> Any:
        x = computed(held(site, array))
        powers = numpy.exp(x - x.max(axis, keepdims=True))
        found = numbers.held(powers / powers.sum(axis, keepdims=True), dtype)
        if len(site.operation.results):
            return found
        held(site, target)[...] = found
        return None

    return run


@register_step("linalg.pack")
def pack(site: Site) -> Step:
    """Tiles of some dimensions become dimensions behind the others; the last ones are padded."""
    dims, tiles, outer, split = _tiling(site)

    def run(frame: object, *operands: Any) -> Any:
        (array,), (target,), padding, given = split(operands)
        sizes = tiles(iter(given))
        room = list(array.shape)
        for dim, size in zip(dims, sizes, strict=True):
            room[dim] = -(-room[dim] // size) * size
        if room != list(array.shape) and not padding:
            raise site.refusal(f"it has no padding for tiles of {sizes} of {array.shape}")
        whole = numpy.full(room, padding[0] if padding else 0, array.dtype)
        whole[tuple(map(slice, array.shape))] = array
        found = whole.reshape(_split_shape(room, dims, sizes)).transpose(_order(len(room), dims, outer))
        if found.shape != target.shape:
            raise site.refusal(f"it gives the shape {found.shape}, not {target.shape}")
        return numpy.array(found)

    return run


@register_step("linalg.unpack")
def unpack(site: Site) -> Step:
    dims, _, outer, _ = _tiling(site)

    def run(frame: object, *operands: Any) -> Any:
        array, target = operands[:2]
        rank = target.ndim
        order = _order(rank, dims, outer)
        apart = array.transpose(numpy.argsort(order))
        factors = iter(apart.shape)
        room = [next(factors) * (next(factors) if dim in dims else 1) for dim in range(rank)]
        return numpy.array(apart.reshape(room)[tuple(map(slice, target.shape))])

    return run


def _tiling(site: Site) -> Any:
    attributes = site.attributes
    if not len(site.operation.results):
        raise site.refusal("the reference packs tensors only")
    dims = [int(dim) for dim in attributes["inner_dims_pos"]]
    outer = [int(dim) for dim in attributes["outer_dims_perm"]] if "outer_dims_perm" in attributes else []
    return dims, mixed(attributes["static_inner_tiles"]), outer, segments(site)


def _split_shape(room: Sequence[int], dims: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Each tiled dimension as two: how many tiles, and their size."""
    size_of = dict(zip(dims, sizes, strict=True))
    parts = [[size // size_of[dim], size_of[dim]] if dim in size_of else [size] for dim, size in enumerate(room)]
    return [size for part in parts for size in part]


def _order(rank: int, dims: Sequence[int], outer: Sequence[int]) -> list[int]:
    """Where the packed tensor's dimensions are among those of `_split_shape`."""
    starts = [dim + sum(other < dim for other in dims) for dim in range(rank)]
    return [starts[dim] for dim in outer or range(rank)] + [starts[dim] + 1 for dim in dims]
