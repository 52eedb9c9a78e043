# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits loops and branches, for bodies that say in which order they read and write.

    def body(x, out):
        for_range(0, size(x, 0), lambda i: store(load(x, i), out, i))

Sizes and bounds are numbers or index values; a value may be one of arithmetic (`number(load(x, i)) * 2`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..bindings.mlir import ir
from ..dialects.tir import dialect as tir
from . import linalg
from .numbers import Number


def index(value: int | Any) -> Any:
    """A number or an integer value as an index."""
    value = _value(value)
    return linalg.constant_index(value) if isinstance(value, int) else linalg.as_index(value)


def size(buffer: Any, axis: int) -> Any:
    """The size of a dimension of a memref or a tensor."""
    if not isinstance(buffer.type, ir.MemRefType):
        return linalg.dim(buffer, axis)
    operands = [buffer, linalg.constant_index(axis)]
    return ir.Operation.create("memref.dim", results=[ir.IndexType.get()], operands=operands).result


def sizes(buffer: Any) -> list[int | Any]:
    """The sizes of a memref or a tensor: numbers where its type has them, else indices."""
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = list(buffer.type.shape)
    return [size(buffer, axis) if known == dynamic else known for axis, known in enumerate(shape)]


def load(buffer: Any, *indices: int | Any) -> Any:
    """An element of a memref or a tensor."""
    places = [index(each) for each in indices]
    if not isinstance(buffer.type, ir.MemRefType):
        return linalg.extract(buffer, places)
    element = buffer.type.element_type
    return ir.Operation.create("memref.load", results=[element], operands=[buffer, *places]).result


def store(value: Any, memref: Any, *indices: int | Any) -> None:
    ir.Operation.create("memref.store", operands=[_value(value), memref, *(index(each) for each in indices)])


def copy(source: Any, target: Any) -> None:
    """All elements of a memref into one of its shape."""
    ir.Operation.create("memref.copy", operands=[source, target])


def for_range(
    start: int | Any, stop: int | Any, body: Callable[..., Any], *carried: Any, step: int | Any = 1
) -> list[Any]:
    """`body(i, *carried)` for each i from start to before stop; it returns what is carried on. The last of that."""
    bounds = [index(start), index(stop), index(step)]
    types = [value.type for value in carried]
    op = ir.Operation.create("scf.for", results=types, operands=[*bounds, *_values(carried)], regions=1)
    block = op.regions[0].blocks.append(ir.IndexType.get(), *types)
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield", operands=_values(body(*block.arguments)))
    return list(op.results)


def nest(sizes: Sequence[int | Any], body: Callable[..., Any]) -> None:
    """`body(*indices)` for all indices below the sizes, the last one fastest."""

    def enter(*outer: Any) -> None:
        if len(outer) == len(sizes):
            body(*outer)
        else:
            for_range(0, sizes[len(outer)], lambda i: enter(*outer, i))

    enter()


def repeat_while(initial: Sequence[Any], condition: Callable[..., Any], body: Callable[..., Any]) -> list[Any]:
    """`values = body(*values)` as long as `condition(*values)`; the last values."""
    types = [value.type for value in initial]
    op = ir.Operation.create("scf.while", results=types, operands=list(initial), regions=2)
    before = op.regions[0].blocks.append(*types)
    with ir.InsertionPoint(before):
        ir.Operation.create("scf.condition", operands=[condition(*before.arguments), *before.arguments])
    after = op.regions[1].blocks.append(*types)
    with ir.InsertionPoint(after):
        ir.Operation.create("scf.yield", operands=_values(body(*after.arguments)))
    return list(op.results)


def when(
    condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any] | None = None, types: Sequence[Any] = ()
) -> list[Any]:
    """One of two bodies; with `types`, both return values of these."""
    op = ir.Operation.create("scf.if", results=list(types), operands=[_value(condition)], regions=2)
    for region, make in zip(op.regions, (then, otherwise), strict=True):
        if make is None:
            continue
        with ir.InsertionPoint(region.blocks.append()):
            ir.Operation.create("scf.yield", operands=_values(make()))
    return list(op.results)


def scratch(sizes: Sequence[int | Any], element: Any, use: Callable[[Any], Any]) -> None:
    """`use(memref)` with memory of its own, row-major, undefined at first, given back afterwards."""
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [each if isinstance(each, int) else dynamic for each in sizes]
    operands = [index(each) for each in sizes if not isinstance(each, int)]
    segments = ir.DenseI32ArrayAttr.get([len(operands), 0])
    memref = ir.Operation.create(
        "memref.alloc",
        results=[ir.MemRefType.get(shape, element)],
        operands=operands,
        attributes={"operandSegmentSizes": segments, "alignment": ir.IntegerAttr.get(_i64(), 64)},
    ).result
    use(memref)
    ir.Operation.create("memref.dealloc", operands=[memref])


def scratches(sizes: Sequence[int | Any], elements: Sequence[Any], use: Callable[..., None]) -> None:
    """`use(*memrefs)` with such memory of these sizes for each of the element types."""

    def allocate(memories: list[Any]) -> None:
        if len(memories) == len(elements):
            use(*memories)
        else:
            scratch(sizes, elements[len(memories)], lambda memory: allocate([*memories, memory]))

    allocate([])


def require(condition: Any, kind: str, message: str, *numbers: Any) -> None:
    """Raises an exception of that kind (a Python name) where the condition, an i1, is false.

    The message has one {} for each number, an integer value; the operation's name and location are put before it.
    """
    tir.ops["assert"](condition, [linalg.as_i64(number) for number in numbers], kind=kind, message=message)


def _i64() -> Any:
    return ir.IntegerType.get_signless(64)


def _values(returned: Any) -> list[Any]:
    if returned is None:
        return []
    return [_value(each) for each in (returned if isinstance(returned, (list, tuple)) else [returned])]


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Number) else value
