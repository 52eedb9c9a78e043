# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run-time checks of memory accesses against the sizes of their buffers.

The pass runs on memrefs, after linalg has become loops. Upstream's range analysis removes the checks that always hold,
for example in loops with static bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from ...bindings.diagnostics import made_at
from ...bindings.ir import Operation, Value
from ...bindings.mlir import DYNAMIC, ir
from ...bindings.navigation import constant_of, functions_in, has_body, made_by, operations_in, operations_named
from ...bindings.pass_manager import run_upstream
from ...dialects.tir import dialect as tir
from ...dialects.tir.prim_func import ASSERT
from ...emit.memrefs import dim, dims, is_dense, storage_bytes
from ...emit.numbers import Number, Size, as_i64, as_index, maximum, minimum
from ...emit.vector_masks import ActiveLanes, active_lanes, count_lanes
from ..core.base import Pass
from ..core.registry import register_pass

#: Exception that a program raises for an access that leaves its buffer.
OUT_OF_BOUNDS = "IndexError"


class Span(NamedTuple):
    """Elements that an operation accesses along a dimension, from `first` to `last`."""

    axis: int
    first: Size
    last: Size
    #: Condition under which the operation accesses nothing.
    nothing: Number | bool = False


class Access(NamedTuple):
    """Access of an operation to a memref, by spans along some dimensions."""

    memref: Value
    verb: str
    spans: Sequence[Span]
    #: Size along the dimensions, if it is not the memref's.
    size: Size | None = None


@register_pass
class CheckBounds(Pass):
    """Add an assertion before each access to memory that may leave its buffer."""

    name: ClassVar[str] = "tir-check-bounds"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "memref", "tir", "vector")

    def run(self, op: Operation) -> None:
        with op.context:
            for function in [each for each in functions_in(op) if has_body(each)]:
                _check(function)


def _check(function: Operation) -> None:
    if any(operation.name.startswith("affine.") for operation in operations_in(function)):
        run_upstream(function, ["lower-affine"], verify=False)
    inside = operations_named(function, *_ACCESSES)
    for op in inside:
        with op.location, ir.InsertionPoint(op):
            for access in _ACCESSES[op.name](op):
                _require(op, access)
    if not inside:
        return
    run_upstream(function, ["int-range-optimizations"], verify=False)
    for check in operations_named(function, ASSERT):
        if (constant := constant_of(check.operands[0])) is not None and bool(constant):
            check.erase()


def _require(op: Operation, access: Access) -> None:
    memref = access.memref
    for span in access.spans:
        size = dim(memref, span.axis) if access.size is None else access.size
        if _is_static(span, size):
            continue
        first, last = as_index(span.first), as_index(span.last)
        holds = (first >= 0) & (last < size)
        if span.nothing is not False:
            holds = holds | span.nothing
        along = f"dimension {span.axis} of " if access.size is None else ""
        text = f"{op.name} {access.verb} elements {{}} to {{}} of the {{}} along {along}{_named(memref)}"
        place = made_at("", op.location).replace("{", "(").replace("}", ")")
        message = f"out of bounds: {text}{f' ({place})' if place else ''}"
        numbers = [as_i64(each).value for each in (first, last, size)]
        tir.ops["assert"](holds.value, numbers, kind=OUT_OF_BOUNDS, message=message)


def _is_static(span: Span, size: Size) -> bool:
    """Return True if static numbers prove that a span is inside its dimension."""
    first, last, count = map(_static, (span.first, span.last, size))
    return first is not None and last is not None and count is not None and first >= 0 and last < count


def _static(size: Size) -> int | None:
    return size if isinstance(size, int) else constant_of(size)


def _named(memref: Value) -> str:
    held = made_by(memref, "memref.get_global")
    name = "" if held is None else f"constant {held.attributes['name'].value!s} "
    return f"{name}{memref.type}"


# ---- scalars ----


def _elements(memref: Value, indices: Sequence[Value], shape: Sequence[int], verb: str) -> Iterator[Access]:
    """Yield the access to a box of elements with this shape along the last dimensions."""
    counts = [1] * (len(indices) - len(shape)) + list(shape)
    spans = [Span(axis, index, index + (counts[axis] - 1)) for axis, index in enumerate(map(as_index, indices))]
    yield Access(memref, verb, spans)


def _load(op: Operation) -> Iterator[Access]:
    memref, *indices = op.operands
    return _elements(memref, indices, (), "reads")


def _store(op: Operation) -> Iterator[Access]:
    _, memref, *indices = op.operands
    return _elements(memref, indices, (), "writes")


def _update(op: Operation) -> Iterator[Access]:
    memref, *indices = op.operands
    return _elements(memref, indices, (), "updates")


# ---- vectors ----


def _box(vector: Value, memref: Value) -> Sequence[int]:
    """Return the shape of the elements that a vector has. The elements of the memref may be vectors themselves."""
    element = memref.type.element_type
    inner = len(element.shape) if isinstance(element, ir.VectorType) else 0
    return list(vector.type.shape)[: len(vector.type.shape) - inner]


def _vector_load(op: Operation) -> Iterator[Access]:
    memref, *indices = op.operands
    return _elements(memref, indices, _box(op.results[0], memref), "reads")


def _vector_store(op: Operation) -> Iterator[Access]:
    vector, memref, *indices = op.operands
    return _elements(memref, indices, _box(vector, memref), "writes")


def _read_masked(verb: str) -> Callable[[Operation], Iterator[Access]]:
    """Return the accesses of masked loads and stores: operands memref, indices, mask, vector."""

    def accesses(op: Operation) -> Iterator[Access]:
        memref, *indices, mask, _ = op.operands
        yield Access(memref, verb, _make_spans(indices, active_lanes(mask, 0)))

    return accesses


def _pack(verb: str) -> Callable[[Operation], Iterator[Access]]:
    """Return the accesses of expanding loads and compressing stores: adjacent elements, one for each active lane."""

    def accesses(op: Operation) -> Iterator[Access]:
        memref, *indices, mask, _ = op.operands
        yield Access(memref, verb, _make_spans(indices, count_lanes(mask)))

    return accesses


def _index(verb: str) -> Callable[[Operation], Iterator[Access]]:
    """Return the accesses of gathers and scatters: operands memref, offsets, indices, mask, vector."""

    def accesses(op: Operation) -> Iterator[Access]:
        memref, *offsets, indices, mask, _ = op.operands
        yield Access(memref, verb, _make_spans(offsets, active_lanes(mask, 0, indices)))

    return accesses


def _make_spans(indices: Sequence[Value], lanes: ActiveLanes) -> list[Span]:
    spans = [Span(axis, index, index, lanes.nothing) for axis, index in enumerate(map(as_index, indices))]
    *outer, last = spans
    start = as_index(last.first)
    return [*outer, Span(last.axis, start + lanes.first, start + lanes.last, lanes.nothing)]


def _transfer_read(op: Operation) -> Iterator[Access]:
    source, *rest = op.operands
    rank = source.type.rank
    return _transfer(op, source, rest[:rank], rest[rank + 1 :], op.results[0], "reads")


def _transfer_write(op: Operation) -> Iterator[Access]:
    vector, target, *rest = op.operands
    rank = target.type.rank
    return _transfer(op, target, rest[:rank], rest[rank:], vector, "writes")


def _transfer(
    op: Operation, memref: Value, indices: Sequence[Value], masks: Sequence[Value], vector: Value, verb: str
) -> Iterator[Access]:
    """Yield the access of a transfer. ActiveLanes behind a dimension without `in_bounds` are not accessed."""
    if not isinstance(memref.type, ir.MemRefType):
        return
    axes = _axes_of_lanes(op)
    ordered = sorted(axes)
    trusted = [bool(each.value) for each in op.attributes["in_bounds"]] if "in_bounds" in op.attributes else []
    spans: list[Span] = []
    nothing: Number | bool = False
    for axis, index in enumerate(indices):
        first = as_index(index)
        if axis not in axes:
            spans.append(Span(axis, first, first))
            continue
        count = vector.type.shape[axes[axis]]
        lanes = active_lanes(masks[0], ordered.index(axis)) if masks else ActiveLanes(0, count - 1)
        low, high = first + lanes.first, first + lanes.last
        nothing = _either(nothing, lanes.nothing)
        if not (trusted and trusted[axes[axis]]):
            size = dim(memref, axis)
            nothing = _either(nothing, low >= size)
            high = minimum(high, as_index(size) - 1)
        spans.append(Span(axis, low, high))
    yield Access(memref, verb, [span._replace(nothing=nothing) for span in spans])


def _either(one: Number | bool, other: Number | bool) -> Number | bool:
    if isinstance(one, bool):
        return other
    return one if isinstance(other, bool) else one | other


def _axes_of_lanes(op: Operation) -> Mapping[int, int]:
    """Map the dimensions of memory to dimensions of the vector. Broadcast dimensions of the vector have none."""
    results = list(op.attributes["permutation_map"].value.results)
    return {
        result.position: lane
        for lane, result in enumerate(results)
        if isinstance(result, ir.AffineDimExpr)
    }  # fmt: skip


# ---- views ----


def _subview(op: Operation) -> Iterator[Access]:
    offsets, sizes, strides = _place(op, op.operands[0].type.rank)
    spans = [
        Span(axis, offset, as_index(offset) + (as_index(size) - 1) * stride)
        for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True))
    ]
    yield Access(op.operands[0], "takes", [span._replace(nothing=_has_zero(sizes)) for span in spans])


def _place(op: Operation, rank: int) -> tuple[list[Size], list[Size], list[Size]]:
    """Return the offsets, sizes and strides of a view."""
    dynamic = iter(list(op.operands)[1:])
    lists = []
    for name in ("static_offsets", "static_sizes", "static_strides"):
        numbers = list(op.attributes[name])
        lists.append([as_index(next(dynamic)) if number == DYNAMIC else number for number in numbers])
    offsets, sizes, strides = lists
    assert len(offsets) in (1, rank), op.name
    return offsets, sizes, strides


def _has_zero(sizes: Sequence[Size]) -> Number | bool:
    nothing: Number | bool = False
    for size in sizes:
        if not isinstance(size, int) or size <= 0:
            nothing = _either(nothing, as_index(size) <= 0)
    return nothing


def _reinterpret_cast(op: Operation) -> Iterator[Access]:
    """Yield the access of a view of dense memory by its farthest element. Other memory has no known end."""
    source = op.operands[0]
    if not isinstance(source.type, ir.MemRefType) or not is_dense(source.type):
        return
    (offset,), sizes, strides = _place(op, 1)
    last = as_index(offset)
    for size, stride in zip(sizes, strides, strict=True):
        last = last + maximum(as_index(size) - 1, 0) * stride
    size = math.prod((as_index(each) for each in dims(source)), start=as_index(1))
    yield Access(source, "takes", [Span(0, offset, last, _has_zero(sizes))], size)


def _view(op: Operation) -> Iterator[Access]:
    source, shift, *_ = op.operands
    made = op.results[0]
    sizes = list(op.operands)[2:]
    static = math.prod(each for each in made.type.shape if each != DYNAMIC)
    count: Size = static * storage_bytes(made.type.element_type)
    for size in sizes:
        count = as_index(size) * count
    last = as_index(shift) + as_index(count) - 1
    yield Access(source, "takes", [Span(0, as_index(shift), last, _has_zero([count]))])


def _cast(op: Operation) -> Iterator[Access]:
    """Yield the access of a cast to a type that states more sizes."""
    source, made = op.operands[0].type, op.results[0].type
    if not all(isinstance(each, ir.MemRefType) for each in (source, made)):
        return
    stated = enumerate(zip(source.shape, made.shape, strict=True))
    spans = [Span(axis, 0, size - 1) for axis, (before, size) in stated if before == DYNAMIC != size]
    yield Access(op.operands[0], "takes", spans)


#: Accesses of operations. Vectors of rank 2 and more are accessed as a whole.
_ACCESSES: Mapping[str, Callable[[Operation], Iterator[Access]]] = {
    "memref.atomic_rmw": _store,
    "memref.cast": _cast,
    "memref.generic_atomic_rmw": _update,
    "memref.load": _load,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.store": _store,
    "memref.subview": _subview,
    "memref.view": _view,
    "vector.compressstore": _pack("writes"),
    "vector.expandload": _pack("reads"),
    "vector.gather": _index("reads"),
    "vector.load": _vector_load,
    "vector.maskedload": _read_masked("reads"),
    "vector.maskedstore": _read_masked("writes"),
    "vector.scatter": _index("writes"),
    "vector.store": _vector_store,
    "vector.transfer_read": _transfer_read,
    "vector.transfer_write": _transfer_write,
}
