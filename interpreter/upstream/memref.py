# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""memref: arrays that are written to, and views of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from ...bindings.mlir import ir
from ..element_bits import element_of
from ..literals import value_of
from ..memory import address
from ..registry import register_step
from ..sites import Frame, Site, Step
from .operands import mixed, segments, sizes_of
from .places import element, put
from .slices import slice_of
from .tensor import reduced


def held(site: Site, array: Any) -> Any:
    """The array, which is refused where its memory has been given back."""
    memory = site.machine.memory
    if memory.freed and memory.is_freed(array):
        raise site.refusal("it uses memory that has been deallocated")
    return array


# ---- allocations ----


@register_step(["memref.alloc", "memref.alloca"])
def allocate(site: Site) -> Step:
    memory, sizes, dtype = site.machine.memory, sizes_of(site), element_of(site.result_type())

    def run(frame: object, *dynamic: Any) -> Any:
        shape = tuple(sizes(iter(dynamic)))
        if min(shape, default=0) < 0:
            raise site.refusal(f"it allocates memory of the shape {shape}")
        return memory.allocate(shape, dtype)

    return run


@register_step("memref.dealloc")
def deallocate(site: Site) -> Step:
    memory = site.machine.memory

    def run(frame: object, array: Any) -> None:
        if not memory.free(array):
            raise site.refusal("the memory has been deallocated before")

    return run


@register_step("memref.get_global")
def get_global(site: Site) -> Step:
    name, type_ = str(site.attributes["name"].value), site.result_type()
    value = site.machine.globals().get(name)
    if value is None:
        raise site.refusal(f"the module has no constant @{name}")
    found = value_of(value, type_, site.numbers)
    return lambda frame: found


# ---- elements ----


@register_step("memref.load")
def load(site: Site) -> Step:
    return lambda frame, array, *place: element(site, held(site, array), place)


@register_step("memref.store")
def store(site: Site) -> Step:
    return lambda frame, value, array, *place: put(site, held(site, array), place, value)


@register_step(["memref.copy", "linalg.copy"])
def copy(site: Site) -> Step:
    def run(frame: object, source: Any, target: Any) -> Any:
        if source.shape != target.shape:
            raise site.refusal(f"it copies elements of shape {source.shape} to those of shape {target.shape}")
        if len(site.operation.results):
            return numpy.array(source).astype(target.dtype)
        held(site, target)[...] = held(site, source).copy()
        return None

    return run


_ATOMIC: dict[str, Callable[[Any, Any], Any]] = {
    "addf": numpy.add, "addi": numpy.add, "mulf": numpy.multiply, "muli": numpy.multiply, "andi": numpy.bitwise_and,
    "ori": numpy.bitwise_or, "xori": numpy.bitwise_xor, "maximumf": numpy.maximum, "minimumf": numpy.minimum,
    "maxs": numpy.maximum, "mins": numpy.minimum, "maxnumf": numpy.fmax, "minnumf": numpy.fmin,
    "assign": lambda old, new: new,
}  # fmt: skip
# By number, as the attribute has them.
_ATOMIC_KINDS = ("addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli",
                 "ori", "andi", "maxnumf", "minnumf", "xori")  # fmt: skip


@register_step("memref.atomic_rmw")
def atomic(site: Site) -> Step:
    """One thread after the other."""
    kind = _ATOMIC_KINDS[site.attributes["kind"].value]
    combine = _ATOMIC.get(kind)
    if combine is None:
        raise site.refusal(f"the reference does not run its kind, {kind}")

    def run(frame: object, value: Any, array: Any, *place: Any) -> Any:
        old = element(site, held(site, array), place)
        put(site, array, place, combine(old, value))
        return old

    return run


@register_step("memref.generic_atomic_rmw")
def generic_atomic(site: Site) -> Step:
    body = site.body()

    def run(frame: Frame, array: Any, *place: Any) -> Any:
        (value,) = body.run(frame, [element(site, held(site, array), place)])
        put(site, array, place, value)
        return value

    return run


@register_step(["memref.prefetch", "memref.assume_alignment", "memref.distinct_objects", "memref.memory_space_cast"])
def same(site: Site) -> Step:
    """What says nothing of the elements."""
    count = len(site.operation.results)
    return lambda frame, *operands: list(operands[:count])


# ---- views ----


@register_step("memref.subview")
def subview(site: Site) -> Step:
    taken, wanted = slice_of(site, 1), site.result_type().shape

    def run(frame: object, array: Any, *given: Any) -> Any:
        found = taken((array, *given)).of(site, array)
        return seen(site, found, reduced(found.shape, wanted))

    return run


def seen(site: Site, array: Any, shape: Any) -> Any:
    """The same memory in another shape."""
    found = array.view()
    try:
        found.shape = tuple(shape)
    except (AttributeError, ValueError):
        raise site.refusal(f"memory of shape {array.shape}, strides {array.strides}, is none of {shape}") from None
    return found


@register_step(["memref.collapse_shape", "memref.expand_shape"])
def regrouped(site: Site) -> Step:
    groups = [[int(axis) for axis in group] for group in site.attributes["reassociation"]]
    if site.operation.name.endswith("collapse_shape"):
        return lambda frame, array: seen(
            site, array, [math.prod(array.shape[axis] for axis in group) for group in groups]
        )
    sizes = mixed(site.attributes["static_output_shape"])
    return lambda frame, array, *given: seen(site, array, sizes(iter(given)))


@register_step("memref.reshape")
def reshape(site: Site) -> Step:
    return lambda frame, array, shape: seen(site, array, [int(size) for size in shape])


@register_step("memref.transpose")
def transpose(site: Site) -> Step:
    axes = [expr.position for expr in map(ir.AffineDimExpr, site.attributes["permutation"].value.results)]
    return lambda frame, array: array.transpose(axes)


@register_step("memref.view")
def view(site: Site) -> Step:
    memory, sizes, dtype = site.machine.memory, sizes_of(site), element_of(site.result_type())

    def run(frame: object, array: Any, start: Any, *given: Any) -> Any:
        try:
            return memory.viewed(array, int(start), tuple(sizes(iter(given))), dtype)
        except ValueError as error:
            raise site.refusal(f"{error} of {array.shape[0]} bytes") from None

    return run


@register_step("memref.reinterpret_cast")
def reinterpret_cast(site: Site) -> Step:
    memory, dtype = site.machine.memory, element_of(site.result_type())
    split = segments(site)
    parts = [mixed(site.attributes[f"static_{name}"]) for name in ("offsets", "sizes", "strides")]
    start = _start(site)

    def run(frame: object, *operands: Any) -> Any:
        (array,), *given = split(operands)
        (offset,), sizes, strides = (part(iter(each)) for part, each in zip(parts, given, strict=True))
        try:
            return memory.reinterpreted(array, offset - start, sizes, strides, dtype)
        except ValueError as error:
            raise site.refusal(f"{error} of {array.shape} elements") from None

    return run


def _start(site: Site) -> int:
    """Where the operand's elements begin: offsets count from where its memory does."""
    type_ = site.operand_type()
    if not isinstance(type_, ir.MemRefType):
        return 0
    _, offset = type_.get_strides_and_offset()
    if offset == ir.ShapedType.get_dynamic_stride_or_offset():
        raise site.refusal("its operand's offset is not known before it runs")
    return int(offset)


@register_step("memref.extract_strided_metadata")
def metadata(site: Site) -> Step:
    """The memory as one that begins with the operand's first element."""
    memory, dtype = site.machine.memory, element_of(site.operand_type())

    def run(frame: object, array: Any) -> list[Any]:
        unit = memory.unit(array, dtype)
        first = memory.reinterpreted(array, 0, (), (), dtype) if array.size else array.reshape(-1)[:0]
        strides = [stride // unit for stride in array.strides]
        return [first, numpy.int64(0), *map(numpy.int64, array.shape), *map(numpy.int64, strides)]

    return run


@register_step("memref.extract_aligned_pointer_as_index")
def pointer(site: Site) -> Step:
    return lambda frame, array: numpy.int64(address(array))
