# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vector: arrays of fixed sizes, which nothing changes. What goes to memory is in vector_memory.py."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from ...bindings.mlir import ir
from ..element_bits import element_of
from ..integers import signed, unsigned, wrapped
from ..registry import register_step
from ..sites import Site, Step
from .operands import mixed

# ---- made of numbers ----


@register_step(["vector.broadcast", "vector.splat"])
def broadcast(site: Site) -> Step:
    shape, held = tuple(site.result_type().shape), site.numbers.dtype(element_of(site.result_type()))

    def run(frame: object, value: Any) -> Any:
        if not numpy.ndim(value):
            return numpy.full(shape, value, held)
        return numpy.broadcast_to(value, shape)

    return run


@register_step("vector.step")
def counted(site: Site) -> Step:
    found = numpy.arange(site.result_type().shape[0])
    return lambda frame: found


@register_step("vector.constant_mask")
def constant_mask(site: Site) -> Step:
    found = _mask(tuple(site.result_type().shape), [int(size) for size in site.attributes["mask_dim_sizes"]])
    return lambda frame: found


@register_step("vector.create_mask")
def create_mask(site: Site) -> Step:
    shape = tuple(site.result_type().shape)
    return lambda frame, *sizes: _mask(shape, sizes)


def _mask(shape: tuple[int, ...], sizes: Sequence[Any]) -> Any:
    found = numpy.zeros(shape, bool)
    found[tuple(slice(0, max(int(size), 0)) for size in sizes)] = True
    return found


# ---- elements and parts ----


@register_step(["vector.extract", "vector.extractelement"])
def extract(site: Site) -> Step:
    place = _place(site, 1)

    def run(frame: object, array: Any, *given: Any) -> Any:
        return array[place(given)]

    return run


@register_step(["vector.insert", "vector.insertelement"])
def insert(site: Site) -> Step:
    place = _place(site, 2)

    def run(frame: object, value: Any, array: Any, *given: Any) -> Any:
        found = numpy.array(array)
        found[place(given)] = value
        return found

    return run


def _place(site: Site, leading: int) -> Callable[[Sequence[Any]], tuple[int, ...]]:
    """A place in a vector, of the operands behind the leading ones."""
    if "static_position" not in site.attributes:
        return lambda given: tuple(map(int, given))
    position, shape = mixed(site.attributes["static_position"]), site.operation.operands[leading - 1].type.shape

    def found(given: Sequence[Any]) -> tuple[int, ...]:
        place = position(iter(given))
        for number, size in zip(place, shape, strict=False):
            if not 0 <= number < size:
                raise site.refusal(f"its place {number} is outside of a vector of {size}")
        return tuple(place)

    return found


@register_step("vector.to_elements")
def to_elements(site: Site) -> Step:
    return lambda frame, array: list(array.reshape(-1))


@register_step("vector.shuffle")
def shuffle(site: Site) -> Step:
    chosen = [max(int(place), 0) for place in site.attributes["mask"]]
    return lambda frame, x, y: numpy.concatenate([x, y] if x.ndim else [x[None], y[None]])[chosen]


@register_step("vector.extract_strided_slice")
def extract_slice(site: Site) -> Step:
    key = _strided(site, "sizes")
    return lambda frame, array: array[key]


@register_step("vector.insert_strided_slice")
def insert_slice(site: Site) -> Step:
    sizes, rank = list(site.operand_type(0).shape), len(site.result_type().shape)
    offsets, strides = ([int(each) for each in site.attributes[name]] for name in ("offsets", "strides"))
    key = tuple(offsets[: rank - len(sizes)]) + tuple(
        slice(start, start + (size - 1) * step + 1, step)
        for start, size, step in zip(offsets[rank - len(sizes) :], sizes, strides, strict=True)
    )

    def run(frame: object, value: Any, array: Any) -> Any:
        found = numpy.array(array)
        found[key] = value
        return found

    return run


def _strided(site: Site, sizes_name: str) -> tuple[slice, ...]:
    parts = [[int(each) for each in site.attributes[name]] for name in ("offsets", sizes_name, "strides")]
    return tuple(slice(start, start + (size - 1) * step + 1, step) for start, size, step in zip(*parts, strict=True))


@register_step("vector.interleave")
def interleave(site: Site) -> Step:
    shape = tuple(site.result_type().shape)
    return lambda frame, x, y: numpy.stack([x, y], -1).reshape(shape)


@register_step("vector.deinterleave")
def deinterleave(site: Site) -> Step:
    return lambda frame, x: [x[..., 0::2], x[..., 1::2]]


# ---- shapes ----


@register_step("vector.shape_cast")
def shape_cast(site: Site) -> Step:
    shape = tuple(site.result_type().shape)
    return lambda frame, array: array.reshape(shape)


@register_step("vector.transpose")
def transpose(site: Site) -> Step:
    axes = [int(axis) for axis in site.attributes["permutation"]]
    return lambda frame, array: array.transpose(axes)


# ---- combined ----

_COMBINERS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any] | None]] = {
    "add": (numpy.add, None), "mul": (numpy.multiply, None), "and": (numpy.bitwise_and, None),
    "or": (numpy.bitwise_or, None), "xor": (numpy.bitwise_xor, None), "minsi": (numpy.minimum, signed),
    "maxsi": (numpy.maximum, signed), "minui": (numpy.minimum, unsigned), "maxui": (numpy.maximum, unsigned),
    "minnumf": (numpy.fmin, None), "maxnumf": (numpy.fmax, None), "minimumf": (numpy.minimum, None),
    "maximumf": (numpy.maximum, None),
}  # fmt: skip


def combiner(site: Site, dtype: str) -> Callable[[Any, Any], Any]:
    """What puts two elements together: the attribute prints as `#vector.kind<add>`."""
    function, view = _COMBINERS[str(site.attributes["kind"]).rpartition("<")[2].rstrip(">")]
    if function is numpy.add and dtype == "i1":
        return numpy.bitwise_xor
    if view is None:
        return function
    return lambda x, y: wrapped(function(view(x), view(y)), dtype)


def reduced(array: Any, axes: Sequence[int], combine: Callable[[Any, Any], Any], first: Any = None) -> Any:
    """What is combined along axes, one element after the other."""
    total = first
    for step in itertools.product(*(range(array.shape[axis]) for axis in axes)):
        key: list[Any] = [slice(None)] * array.ndim
        for axis, place in zip(axes, step, strict=True):
            key[axis] = place
        part = array[tuple(key)]
        total = part if total is None else combine(total, part)
    return total


@register_step("vector.reduction")
def reduction(site: Site) -> Step:
    combine = combiner(site, element_of(site.result_type()))
    return lambda frame, array, *first: reduced(array, range(array.ndim), combine, *first)


@register_step("vector.multi_reduction")
def multi_reduction(site: Site) -> Step:
    axes = [int(axis) for axis in site.attributes["reduction_dims"]]
    combine = combiner(site, element_of(site.result_type()))
    return lambda frame, array, first: reduced(array, axes, combine, first)


@register_step("vector.outerproduct")
def outer_product(site: Site) -> Step:
    combine = combiner(site, element_of(site.result_type()))

    def run(frame: object, x: Any, y: Any, *first: Any) -> Any:
        product = x[:, None] * y if numpy.ndim(y) else x * y
        return combine(first[0], product) if first else product

    return run


@register_step("vector.contract")
def contract(site: Site) -> Step:
    """A product of all that the two have in common, combined over what the result does not have."""
    maps = [attribute.value for attribute in site.attributes["indexing_maps"]]
    count = maps[0].n_dims
    left, right, target = ([ir.AffineDimExpr(expr).position for expr in map_.results] for map_ in maps)
    type_ = site.result_type()
    combine, held = combiner(site, element_of(type_)), site.numbers.dtype(element_of(type_))
    steps = [axis for axis in range(count) if axis not in target]

    def spread(array: Any, dims: Sequence[int]) -> Any:
        """With the dimensions of all loops."""
        order = sorted(range(len(dims)), key=dims.__getitem__)
        key = tuple(slice(None) if axis in dims else None for axis in range(count))
        return array.astype(held).transpose(order)[key]

    def run(frame: object, x: Any, y: Any, first: Any) -> Any:
        product = spread(x, left) * spread(y, right)
        found = reduced(numpy.moveaxis(product, [*steps, *target], range(count)), range(len(steps)), combine, first)
        return found if numpy.ndim(first) else found[()]

    return run


@register_step("vector.scan")
def scan(site: Site) -> Step:
    axis, is_inclusive = int(site.attributes["reduction_dim"].value), bool(site.attributes["inclusive"].value)
    combine = combiner(site, element_of(site.result_type()))

    def run(frame: object, array: Any, first: Any) -> list[Any]:
        total, found = first, []
        for part in numpy.moveaxis(array, axis, 0):
            after = combine(total, part)
            found.append(after if is_inclusive else total)
            total = after
        return [numpy.stack(found, axis), total]

    return run
