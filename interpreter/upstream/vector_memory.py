# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vector: what reads vectors from tensors and memrefs, and writes them there.

A transfer's map says which dimension of its source each dimension of the vector goes along, or that all its elements
are one (a constant 0). Places that are outside of the source are padding where the operation says that they may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from ...bindings.affine import plain_dim
from ...bindings.mlir import ir
from ..element_bits import element_of
from ..registry import register_step
from ..sites import Site, Step
from .memref import held
from .operands import segments
from .places import outside


class _Transfer(NamedTuple):
    """Which elements a transfer is about."""

    site: Site
    #: For each dimension of the vector that of the source, None for what is the same all along it.
    dims: list[int | None]
    shape: tuple[int, ...]
    in_bounds: list[bool]

    @property
    def is_plain(self) -> bool:
        """Whether it is a part of the source, of the source's last dimensions in their order."""
        return None not in self.dims and self.dims == sorted(self.dims) and all(self.in_bounds)  # type: ignore[type-var]

    def key(self, array: Any, place: Sequence[Any]) -> tuple[Any, ...] | None:
        """The part, where it is one that is inside."""
        key = [int(number) for number in place]
        if any(not 0 <= number < size for number, size in zip(key, array.shape, strict=True)):
            return None
        parts: list[Any] = list(key)
        for dim, size in zip(self.dims, self.shape, strict=True):
            assert dim is not None
            if key[dim] + size > array.shape[dim]:
                return None
            parts[dim] = slice(key[dim], key[dim] + size)
        return tuple(parts)

    def places(self, array: Any, place: Sequence[Any], mask: Any) -> tuple[list[Any], Any]:
        """Where the elements are, clipped to the source, and which of them there are."""
        rank = len(self.shape)
        numbers: list[Any] = [numpy.asarray(int(number)) for number in place]
        may_be_outside = [True] * len(numbers)
        for axis, dim in enumerate(self.dims):
            if dim is not None:
                along = [1] * rank
                along[axis] = -1
                numbers[dim] = numbers[dim] + numpy.arange(self.shape[axis]).reshape(along)
                may_be_outside[dim] = not self.in_bounds[axis]
        is_there = numpy.ones(self.shape, bool) if mask is None else self._mask(mask)
        for dim, (number, size) in enumerate(zip(numbers, array.shape, strict=True)):
            inside = numpy.broadcast_to((number >= 0) & (number < size), self.shape)
            if not numpy.all(inside | ~is_there) and not (may_be_outside[dim] and dim in self.dims):
                wrong = numpy.broadcast_to(number, self.shape)[is_there & ~inside]
                keys = [0] * dim + [wrong]
                raise outside(self.site, array, keys, "accesses")
            is_there = is_there & inside
        return [
            numpy.clip(number, 0, max(size - 1, 0)) for number, size in zip(numbers, array.shape, strict=True)
        ], is_there

    def _mask(self, mask: Any) -> Any:
        """A mask goes along the source's dimensions, in their order."""
        used = [(dim, axis) for axis, dim in enumerate(self.dims) if dim is not None]
        axes = [axis for _, axis in sorted(used)]
        order = numpy.argsort(axes)
        moved = numpy.asarray(mask).transpose(order)
        key = tuple(slice(None) if dim is not None else None for dim in self.dims)
        return numpy.broadcast_to(moved[key], self.shape)


def _transfer(site: Site, vector: Any, source: Any) -> _Transfer:
    results = list(site.attributes["permutation_map"].value.results)
    dims = [plain_dim(expr) for expr in results]
    rank = len(dims)
    in_bounds = [bool(each.value) for each in site.attributes["in_bounds"]] if "in_bounds" in site.attributes else []
    shape = tuple(vector.shape) if isinstance(vector, ir.ShapedType) else ()
    return _Transfer(site, dims, shape, in_bounds or [False] * rank)


@register_step("vector.transfer_read")
def transfer_read(site: Site) -> Step:
    _refuse_vectors(site, site.operand_type())
    split, of = segments(site), _transfer(site, site.result_type(), site.operand_type())
    is_plain, dtype = of.is_plain, site.numbers.dtype(element_of(site.result_type()))

    def run(frame: object, *operands: Any) -> Any:
        (array,), place, (padding,), mask = split(operands)
        held(site, array)
        if is_plain and not mask:
            key = of.key(array, place)
            if key is not None:
                return array[key].copy()
        places, is_there = of.places(array, place, mask[0] if mask else None)
        if not array.size:
            return numpy.full(of.shape, padding, dtype)
        return numpy.where(is_there, array[tuple(places)], padding).astype(dtype)

    return run


def _refuse_vectors(site: Site, source: Any) -> None:
    if isinstance(source.element_type, ir.VectorType):
        raise site.refusal("the reference has no memory of vectors")


@register_step("vector.transfer_write")
def transfer_write(site: Site) -> Step:
    _refuse_vectors(site, site.operand_type(1))
    split, of = segments(site), _transfer(site, site.operand_type(), site.operand_type(1))
    is_plain, has_tensor = of.is_plain, len(site.operation.results) > 0

    def run(frame: object, *operands: Any) -> Any:
        (vector,), (array,), place, mask = split(operands)
        target = numpy.array(array) if has_tensor else held(site, array)
        key = of.key(target, place) if is_plain and not mask else None
        if key is not None:
            target[key] = vector
            return target if has_tensor else None
        places, is_there = of.places(target, place, mask[0] if mask else None)
        chosen = tuple(numpy.broadcast_to(each, of.shape)[is_there] for each in places)
        if numpy.any(is_there):
            target[chosen] = numpy.asarray(vector)[is_there]
        return target if has_tensor else None

    return run


# ---- the innermost dimension ----


def _row(site: Site, array: Any, place: Sequence[Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The part of memory that begins at a place, along the last dimensions."""
    key: list[Any] = [int(number) for number in place]
    for axis, size in zip(range(array.ndim - len(shape), array.ndim), shape, strict=True):
        key[axis] = slice(key[axis], key[axis] + size)
    for number, size in zip(key, array.shape, strict=True):
        start, stop = (number.start, number.stop) if isinstance(number, slice) else (number, number + 1)
        if not 0 <= start <= stop <= size:
            raise site.refusal(f"it accesses places {start} to {stop - 1} of {size}")
    return tuple(key)


@register_step("vector.load")
def load(site: Site) -> Step:
    shape = tuple(site.result_type().shape)
    return lambda frame, array, *place: held(site, array)[_row(site, array, place, shape)].copy()


@register_step("vector.store")
def store(site: Site) -> Step:
    shape = tuple(site.operand_type().shape)

    def run(frame: object, vector: Any, array: Any, *place: Any) -> None:
        held(site, array)[_row(site, array, place, shape)] = vector

    return run


@register_step(["vector.maskedload", "vector.expandload"])
def masked_load(site: Site) -> Step:
    is_dense = site.operation.name == "vector.expandload"

    def run(frame: object, array: Any, *operands: Any) -> Any:
        *place, mask, otherwise = operands
        found = numpy.array(otherwise)
        found[mask] = held(site, array)[_lanes(site, array, place, mask, is_dense)]
        return found

    return run


@register_step(["vector.maskedstore", "vector.compressstore"])
def masked_store(site: Site) -> Step:
    is_dense = site.operation.name == "vector.compressstore"

    def run(frame: object, array: Any, *operands: Any) -> None:
        *place, mask, vector = operands
        held(site, array)[_lanes(site, array, place, mask, is_dense)] = vector[mask]

    return run


def _lanes(site: Site, array: Any, place: Sequence[Any], mask: Any, is_dense: bool) -> tuple[Any, ...]:
    """The places of the lanes that a mask has: one next to the other, or with gaps where it has none."""
    lanes = numpy.arange(int(mask.sum())) if is_dense else numpy.nonzero(mask)[0]
    return _checked(site, array, [*map(int, place[:-1]), int(place[-1]) + lanes])


def _checked(site: Site, array: Any, key: list[Any]) -> tuple[Any, ...]:
    for number, size in zip(key, array.shape, strict=True):
        if numpy.size(number) and not (numpy.min(number) >= 0 and numpy.max(number) < size):
            raise outside(site, array, key, "accesses")
    return tuple(key)


@register_step("vector.gather")
def gather(site: Site) -> Step:
    def run(frame: object, array: Any, *operands: Any) -> Any:
        *place, lanes, mask, otherwise = operands
        found = numpy.array(otherwise)
        key = _checked(site, array, [*map(int, place[:-1]), int(place[-1]) + lanes[mask]])
        found[mask] = held(site, array)[key]
        return found

    return run


@register_step("vector.scatter")
def scatter(site: Site) -> Step:
    """One lane after the other."""

    def run(frame: object, array: Any, *operands: Any) -> None:
        *place, lanes, mask, vector = operands
        for lane in zip(*numpy.nonzero(mask), strict=True):
            key = _checked(site, array, [*map(int, place[:-1]), int(place[-1]) + int(lanes[lane])])
            held(site, array)[key] = vector[lane]

    return run
