# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""linalg: structured operations. All points of the loops that are parallel are computed at once, as arrays, and the
steps of a reduction one after the other, in the order of the loops.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ...bindings.ir import AffineExpr, AffineMap
from ...bindings.mlir import ir
from ...bindings.navigation import body_of
from ..registry import register_step
from ..sites import Frame, Site, Step

#: What an expression is, of the dimensions' values.
Place = Callable[[Sequence[Any]], Any]
_OPERATIONS: list[tuple[type, Callable[[Any, Any], Any]]] = [
    (ir.AffineAddExpr, lambda x, y: x + y),
    (ir.AffineMulExpr, lambda x, y: x * y),
    (ir.AffineModExpr, lambda x, y: x % y),
    (ir.AffineFloorDivExpr, lambda x, y: x // y),
    (ir.AffineCeilDivExpr, lambda x, y: -(-x // y)),
]


def place_of(expr: AffineExpr) -> Place:
    """A function of the dimensions' values, numbers or arrays."""
    if isinstance(expr, ir.AffineDimExpr):
        position = expr.position
        return lambda dims: dims[position]
    if isinstance(expr, ir.AffineConstantExpr):
        number = expr.value
        return lambda dims: number
    for kind, operation in _OPERATIONS:
        if isinstance(expr, kind):
            left, right = place_of(expr.lhs), place_of(expr.rhs)
            return lambda dims, operation=operation: operation(left(dims), right(dims))  # type: ignore[misc]
    raise TypeError(f"an affine expression of another kind: {expr}")


@register_step("linalg.generic")
def generic(site: Site) -> Step:
    maps = [attribute.value for attribute in site.attributes["indexing_maps"]]
    kinds = [str(kind).rpartition("<")[2].rstrip(">") for kind in site.attributes["iterator_types"]]
    return _structured(site, maps, kinds)


def _structured(site: Site, maps: Sequence[AffineMap], kinds: Sequence[str]) -> Step:
    places = [[place_of(expr) for expr in map_.results] for map_ in maps]
    inputs, _ = site.attributes["operandSegmentSizes"]
    body, sizes_of, has_tensors = site.body(), _sizes(maps, len(kinds)), len(site.operation.results) > 0
    # Loops and branches inside take one path at a time.
    is_pointwise = any(len(each.regions) for each in body_of(site.operation).operations)
    stepped = [axis for axis, kind in enumerate(kinds) if is_pointwise or "parallel" not in kind]

    def run(frame: Frame, *operands: Any) -> Any:
        given = [*operands[:inputs], *(array.copy() if has_tensors else array for array in operands[inputs:])]
        sizes = sizes_of(given)
        point: list[Any] = list(numpy.ix_(*map(numpy.arange, sizes)))
        for steps in itertools.product(*(range(sizes[axis]) for axis in stepped)):
            for axis, step in zip(stepped, steps, strict=True):
                point[axis] = numpy.int64(step)
            frame.points.append(point)
            keys = [tuple(place(point) for place in of_map) for of_map in places]
            values = [taken(site, array, key) for array, key in zip(given, keys, strict=True)]
            found = body.run(frame, values)
            for array, key, value in zip(given[inputs:], keys[inputs:], found, strict=True):
                array[key] = value
            frame.points.pop()
        return given[inputs:] if has_tensors else None

    return run


def taken(site: Site, array: Any, key: tuple[Any, ...]) -> Any:
    """Elements of an array, or the number that stands for one. Negative places, which numpy takes, are refused."""
    if not isinstance(array, numpy.ndarray):
        return array
    if any(numpy.size(place) and numpy.min(place) < 0 for place in key):
        raise site.refusal("it reads in front of its operand")
    return array[key]


@register_step("linalg.index")
def index(site: Site) -> Step:
    axis = site.attributes["dim"].value
    return lambda frame: frame.points[-1][axis]


def _sizes(maps: Sequence[AffineMap], count: int) -> Callable[[Sequence[Any]], list[int]]:
    """The sizes of the loops, of operands whose dimensions they go along."""
    found: dict[int, tuple[int, int]] = {}
    for index, map_ in enumerate(maps):
        for axis, expr in enumerate(map_.results):
            if isinstance(expr, ir.AffineDimExpr):
                found.setdefault(expr.position, (index, axis))

    def sizes(operands: Sequence[Any]) -> list[int]:
        return [operands[index].shape[axis] for index, axis in map(found.__getitem__, range(count))]

    return sizes
