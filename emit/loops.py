# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches, for bodies that state the order of their reads and writes.

    def body(x, out):
        for_range(0, size(x, 0), lambda i: store(load(x, i), out, i))

Sizes and bounds are numbers or indices. Scalars are Numbers: `store(load(x, i) * 2.0, out, i)`.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..bindings.ir import Block, Operation, Type, Value
from ..bindings.mlir import i64_attribute, ir
from ..dialects.core.ir_attributes import PARALLEL, THREADS
from ..dialects.tir import dialect as tir
from ..support.errors import RelaxError
from . import linalg
from .arithmetic import result_of
from .linalg import segments, static_and_dynamic
from .linalg import size as size
from .linalg import sizes as sizes
from .numbers import Number, Size, as_i64, constant, given, operation
from .numbers import as_index as index
from .subviews import part_of, strided_metadata

#: Alignment of every buffer in bytes: a cache line, and the widest vector.
ALIGNMENT = 64
#: A Python number is an index.
Index = Value | int
#: Values that a body carries to the next iteration.
Returned = Index | Sequence[Index] | None
Body = Callable[..., Returned]
#: Values that a loop returns: Numbers, and other values such as memrefs.
Carried = list[Any]


def load(buffer: Value, *indices: Index) -> Number:
    """Load an element of a memref or tensor."""
    if not isinstance(buffer.type, ir.MemRefType):
        return linalg.extract(buffer, indices)
    return operation("memref.load", [buffer, *map(index, indices)], buffer.type.element_type)


def store(value: Value | float, memref: Value, *indices: Index) -> None:
    """Store a number. A Python number is converted to the memref's element type."""
    scalar = value if isinstance(value, Value) else constant(value, memref.type.element_type)
    ir.Operation.create("memref.store", operands=[scalar, memref, *(index(each) for each in indices)])


def part(memref: Value, *indices: Index) -> Value:
    """Return the part of a memref at these indices of its first dimensions: a row of a matrix, for example."""
    extents = sizes(memref)
    if len(indices) > len(extents):
        raise RelaxError(f"loops.part: {memref.type} has {len(extents)} dimensions, got {len(indices)} indices")
    kept = range(len(indices), len(extents))
    starts = [each if isinstance(each, int) else index(each) for each in indices]
    return part_of(memref, [*starts, *(0 for _ in kept)], kept, [extents[dim] for dim in kept], [1] * len(kept))


def strides(memref: Value) -> list[Size]:
    """Return the stride of each dimension in elements: an integer if the type states it."""
    known, _ = memref.type.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    found = list(strided_metadata(memref).results)[2 + len(known) :] if unknown in known else known
    return [index(value) if each == unknown else each for value, each in zip(found, known, strict=True)]


def copy(source: Value, target: Value) -> None:
    """Copy all elements of a memref into a memref of the same shape."""
    ir.Operation.create("memref.copy", operands=[source, target])


def for_range(
    start: Index, stop: Index, body: Body, *carried: Index, step: Index = 1, grain: int | None = None
) -> Carried:
    """Emit `body(i, *carried)` for each i from start to before stop.

    The body returns the carried values; return the last ones.

    With a grain, threads may share the loop. Each takes chunks of this many steps; 0 lets the pool choose. No step may
    read an element that another step writes.
    """
    bounds, first = [index(start), index(stop), index(step)], _values(carried)
    types = [value.type for value in first]
    shared = {} if grain is None else {PARALLEL: i64_attribute(grain)}
    op = ir.Operation.create("scf.for", results=types, operands=[*bounds, *first], attributes=shared, regions=1)
    _fill(op.regions[0].blocks.append(ir.IndexType.get(), *types), body)
    return given(op.results)


def for_blocks(steps: Index, threads: int, body: Body) -> None:
    """Emit `body(i)` for each i below `steps`, each by a block of `threads` threads.

    No block waits for another block.
    """
    i64 = ir.IntegerType.get_signless(64)
    attributes = {PARALLEL: ir.IntegerAttr.get(i64, 1), THREADS: ir.IntegerAttr.get(i64, threads)}
    bounds = [index(number) for number in (0, steps, 1)]
    op = ir.Operation.create("scf.for", results=[], operands=bounds, attributes=attributes, regions=1)
    _fill(op.regions[0].blocks.append(ir.IndexType.get()), body)


def nest(bounds: Sequence[Index | tuple[Index, Index]], body: Body, *carried: Index) -> Carried:
    """Emit `body(*indices, *carried)` for all indices, the last one fastest.

    Bounds are sizes or ranges (start, stop). The body returns the carried values; return the last ones.
    """
    return _values(_nest(bounds, body, [], *_values(carried)))


def _nest(bounds: Sequence[Index | tuple[Index, Index]], body: Body, outer: list[Number], *values: Value) -> Returned:
    if len(outer) == len(bounds):
        return body(*outer, *values)
    bound = bounds[len(outer)]
    start, stop = bound if isinstance(bound, tuple) else (0, bound)
    return for_range(start, stop, lambda i, *inner: _nest(bounds, body, [*outer, i], *inner), *values)


def repeat_while(initial: Sequence[Index], condition: Callable[..., Value], body: Body) -> Carried:
    """Emit `values = body(*values)` while `condition(*values)`. Return the last values."""
    first = _values(initial)
    types = [value.type for value in first]
    op = ir.Operation.create("scf.while", results=types, operands=first, regions=2)
    before = op.regions[0].blocks.append(*types)
    with ir.InsertionPoint(before):
        goes_on = condition(*given(before.arguments))
        ir.Operation.create("scf.condition", operands=[goes_on, *before.arguments])
    _fill(op.regions[1].blocks.append(*types), body)
    return given(op.results)


def when(condition: Number, then: Body, otherwise: Body | None = None, types: Sequence[Type] = ()) -> Carried:
    """Emit one of two bodies, depending on the condition. With `types`, both return values of these types."""
    op = ir.Operation.create("scf.if", results=list(types), operands=[condition], regions=2)
    for region, make in zip(op.regions, (then, otherwise), strict=True):
        if make is not None:
            _fill(region.blocks.append(), make)
    return given(op.results)


def when_all(conditions: Sequence[Number | bool | None], body: Callable[[], None]) -> None:
    """Emit the body under all of the conditions. True and None always hold."""
    asked = [condition for condition in conditions if condition is not None and not isinstance(condition, bool)]
    if any(condition is False for condition in conditions):
        return
    if asked:
        when(functools.reduce(operator.and_, asked), body)
    else:
        body()


def with_results(sketch: Operation, types: Sequence[Type]) -> Operation:
    """Return an operation with the sketch's operands and blocks, and with results of the types that its blocks yield.

    The caller erases the rest of the sketch.
    """
    operands, count = list(sketch.operands), len(sketch.regions)
    made = ir.Operation.create(sketch.name, results=list(types), operands=operands, regions=count)
    for source, target in zip(sketch.regions, made.regions, strict=True):
        source.blocks[0].append_to(target)
    return made


def and_then(first: Number, second: Callable[[], Number]) -> Number:
    """Return (first and second). The second condition is evaluated only if the first holds."""
    return when(first, second, lambda: constant(False, "i1"), [first.type])[0]


def _fill(block: Block, body: Body) -> None:
    """Emit a body into the block and yield its results."""
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=_values(body(*given(block.arguments))))


def scratch(sizes: Sequence[Size], element: Type, use: Callable[[Value], object]) -> None:
    """Call `use(memref)` with uninitialized row-major memory, which is freed afterwards."""
    memref = allocated(sizes, element)
    use(memref)
    ir.Operation.create("memref.dealloc", operands=[memref])


def allocated(sizes: Sequence[Index], element: Type) -> Value:
    """Allocate uninitialized row-major memory, which the caller must free."""
    shape, dynamic = static_and_dynamic(sizes)
    attributes = {**segments(len(dynamic), 0), "alignment": i64_attribute(ALIGNMENT)}
    return result_of("memref.alloc", dynamic, ir.MemRefType.get(shape, element), **attributes)


def scratches(sizes: Sequence[Size], elements: Sequence[Type], use: Callable[..., object]) -> None:
    """Call `use(*memrefs)` with such memory for each element type."""
    if elements:
        first, *rest = elements
        scratch(sizes, first, lambda memory: scratches(sizes, rest, functools.partial(use, memory)))
    else:
        use()


def require(condition: Value, kind: str, message: str, *numbers: Number) -> None:
    """Raise an exception of that kind (a Python name) in the program if the condition, an i1, is false.

    The message has one {} per number, an integer value. The operation's name and location precede it.
    """
    tir.ops["assert"](condition, [as_i64(number) for number in numbers], kind=kind, message=message)


def require_same(one: Size, other: Size, what: str) -> None:
    """Raise ValueError in the program if two sizes differ."""
    _require(operator.eq, one, other, f"{what}: sizes {{}} and {{}} differ")


def require_at_most(one: Size, other: Size, what: str) -> None:
    """Raise ValueError in the program if one size is larger than another."""
    _require(operator.le, one, other, f"{what}: size {{}} is larger than {{}}")


def _require(holds: Callable[..., Number], one: Size, other: Size, message: str) -> None:
    if isinstance(one, int) and isinstance(other, int) and holds(one, other):
        return
    left, right = index(one), index(other)
    require(holds(left, right), "ValueError", message, left, right)


def _values(returned: Returned) -> list[Value]:
    """Convert results of a body to values. A Python number becomes an index."""
    if returned is None:
        return []
    several: Sequence[Index] = returned if isinstance(returned, Sequence) else [returned]
    return [each if isinstance(each, ir.Value) else index(each) for each in several]
