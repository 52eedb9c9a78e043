# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tensor: arrays, which nothing changes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy

from ...bindings.mlir import DYNAMIC
from ..element_bits import bits_as, element_of
from ..registry import register_step
from ..sites import Frame, Site, Step
from .operands import mixed, segments, sizes_of
from .places import element, put
from .slices import slice_of


@register_step(["tensor.dim", "memref.dim"])
def dim(site: Site) -> Step:
    def run(frame: object, array: Any, axis: Any) -> Any:
        if not 0 <= axis < array.ndim:
            raise site.refusal(f"it asks for dimension {axis} of {array.ndim}")
        return numpy.int64(array.shape[axis])

    return run


@register_step(["tensor.rank", "memref.rank"])
def rank(site: Site) -> Step:
    return lambda frame, array: numpy.int64(array.ndim)


@register_step("tensor.empty")
def empty(site: Site) -> Step:
    numbers, sizes, dtype = site.numbers, sizes_of(site), element_of(site.result_type())
    return lambda frame, *dynamic: numbers.empty(tuple(sizes(iter(dynamic))), dtype)


@register_step("tensor.splat")
def splat(site: Site) -> Step:
    sizes = sizes_of(site)
    return lambda frame, value, *dynamic: numpy.full(tuple(sizes(iter(dynamic))), value)


@register_step(["tensor.from_elements", "vector.from_elements"])
def from_elements(site: Site) -> Step:
    shape, held = tuple(site.result_type().shape), site.numbers.dtype(element_of(site.result_type()))
    return lambda frame, *elements: numpy.array(elements, held).reshape(shape)


@register_step("tensor.generate")
def generate(site: Site) -> Step:
    numbers, sizes, dtype, body = site.numbers, sizes_of(site), element_of(site.result_type()), site.body()

    def run(frame: Frame, *dynamic: Any) -> Any:
        found = numbers.empty(tuple(sizes(iter(dynamic))), dtype)
        for point in itertools.product(*map(range, found.shape)):
            (found[point],) = body.run(frame, list(map(numpy.int64, point)))
        return found

    return run


# ---- elements ----


@register_step("tensor.extract")
def extract(site: Site) -> Step:
    return lambda frame, array, *place: element(site, array, place)


@register_step("tensor.insert")
def insert(site: Site) -> Step:
    def run(frame: object, value: Any, array: Any, *place: Any) -> Any:
        found = numpy.array(array)
        put(site, found, place, value)
        return found

    return run


# ---- slices ----


@register_step("tensor.extract_slice")
def extract_slice(site: Site) -> Step:
    taken, wanted = slice_of(site, 1), site.result_type().shape

    def run(frame: object, array: Any, *given: Any) -> Any:
        found = taken((array, *given)).of(site, array)
        return found.reshape(reduced(found.shape, wanted))

    return run


def reduced(shape: tuple[int, ...], wanted: Any) -> list[int]:
    """A shape without dimensions of size 1 that the type, of such static sizes, does not have."""
    spare, left, kept = len(shape) - len(wanted), list(wanted), []
    for size in shape:
        is_fitting = len(left) > 0 and left[0] in (size, DYNAMIC)
        if spare and size == 1 and not (is_fitting and left[0] == 1):
            spare -= 1
            continue
        kept.append(size)
        left = left[1:]
    return kept


@register_step(["tensor.insert_slice", "tensor.parallel_insert_slice"])
def insert_slice(site: Site) -> Step:
    taken, is_parallel = slice_of(site, 2), len(site.operation.results) == 0

    def run(frame: object, source: Any, array: Any, *given: Any) -> Any:
        found = array if is_parallel else numpy.array(array)
        target = taken((source, array, *given)).of(site, found)
        if math.prod(target.shape) != numpy.size(source):
            raise site.refusal(f"it writes elements of shape {numpy.shape(source)} to those of shape {target.shape}")
        target[...] = numpy.reshape(source, target.shape)
        return None if is_parallel else found

    return run


@register_step("tensor.pad")
def pad(site: Site) -> Step:
    split, body, rank = segments(site), site.body(), len(site.result_type().shape)
    numbers, dtype = site.numbers, element_of(site.result_type())
    low, high = mixed(site.attributes["static_low"]), mixed(site.attributes["static_high"])

    def run(frame: Frame, *operands: Any) -> Any:
        (array,), lowest, highest = split(operands)
        before, after = low(iter(lowest)), high(iter(highest))
        if min((*before, *after), default=0) < 0:
            raise site.refusal(f"it pads by {before} and {after}, which is undefined")
        shape = tuple(size + sum(sides) for size, *sides in zip(array.shape, before, after, strict=True))
        found = numbers.empty(shape, dtype)
        inside = tuple(slice(start, start + size) for start, size in zip(before, array.shape, strict=True))
        is_padding = numpy.ones(shape, bool)
        is_padding[inside] = False
        for point in zip(*numpy.nonzero(is_padding), strict=True) if rank else ():
            (found[point],) = body.run(frame, point)
        found[inside] = array
        return found

    return run


# ---- shapes ----


@register_step(["tensor.collapse_shape", "tensor.expand_shape"])
def regrouped(site: Site) -> Step:
    groups = [[int(axis) for axis in group] for group in site.attributes["reassociation"]]
    if site.operation.name.endswith("collapse_shape"):
        return lambda frame, array: array.reshape([math.prod(array.shape[axis] for axis in group) for group in groups])
    sizes = mixed(site.attributes["static_output_shape"])
    return lambda frame, array, *given: array.reshape(sizes(iter(given)))


@register_step("tensor.reshape")
def reshape(site: Site) -> Step:
    return lambda frame, array, shape: array.reshape([int(size) for size in shape])


@register_step(["tensor.cast", "memref.cast"])
def cast(site: Site) -> Step:
    wanted = list(site.result_type().shape) if site.result_type().has_rank else None

    def run(frame: object, array: Any) -> Any:
        sizes = [size if known == DYNAMIC else known for size, known in zip(array.shape, wanted or (), strict=False)]
        if wanted is not None and tuple(sizes) != array.shape:
            raise site.refusal(f"its operand has the shape {array.shape}, not {site.result_type()}")
        return array

    return run


@register_step("tensor.bitcast")
def bitcast(site: Site) -> Step:
    numbers, source, target = site.numbers, element_of(site.operand_type()), element_of(site.result_type())
    return lambda frame, x: bits_as(numbers, x, source, target)


@register_step("tensor.concat")
def concat(site: Site) -> Step:
    axis = site.attributes["dim"].value
    return lambda frame, *arrays: numpy.concatenate(arrays, axis)


@register_step("tensor.gather")
def gather(site: Site) -> Step:
    dims, rank = [int(axis) for axis in site.attributes["gather_dims"]], len(site.operand_type().shape)
    wanted = sizes_of(site)

    def run(frame: object, array: Any, places: Any) -> Any:
        for axis, along in zip(dims, numpy.moveaxis(places, -1, 0), strict=True):
            if along.size and not 0 <= along.min() <= along.max() < array.shape[axis]:
                raise site.refusal(f"a place along axis {axis} is outside of 0 to {array.shape[axis] - 1}")
        moved = numpy.moveaxis(array, dims, range(len(dims)))
        found = moved[tuple(numpy.moveaxis(places, -1, 0))]
        shape = [*places.shape[:-1], *(1 if axis in dims else array.shape[axis] for axis in range(rank))]
        return found.reshape(wanted(iter(shape)) if DYNAMIC not in site.result_type().shape else shape)

    return run
