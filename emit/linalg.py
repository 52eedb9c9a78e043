# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builders of linalg operations on tensors, for the bodies of PrimFuncs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ..bindings.affine import ADD, CEILDIV, FLOORDIV, MUL, identity, value_of
from ..bindings.ir import AffineExpr, AffineMap, Attribute, Operation, Type, Value
from ..bindings.mlir import DYNAMIC, i64_attribute, ir
from ..dialects.core.cache import cache_of
from ..dialects.core.codec import decode
from ..dialects.core.infos import TensorInfo
from . import numbers
from .arithmetic import result_of
from .numbers import Number, Size, operation

PARALLEL, REDUCTION = "parallel", "reduction"
#: Scalar body: `body(*inputs, *outputs)`, all Numbers, returns the scalars to yield.
ScalarBody = Callable[..., Value | Sequence[Value]]


def generic(
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    maps: Sequence[AffineMap],
    iterators: Sequence[str],
    body: ScalarBody,
) -> list[Value]:
    """Create a linalg.generic and return one result per tensor output.

    `maps` are affine maps, those of the inputs first.
    """
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
        "iterator_types": iterator_types(tuple(iterators)),
        **segments(len(inputs), len(outputs)),
    }
    op = ir.Operation.create(
        "linalg.generic",
        results=[output.type for output in outputs if not isinstance(output.type, ir.MemRefType)],
        operands=[*inputs, *outputs],
        attributes=attributes,
        regions=1,
    )
    scalars = [getattr(value.type, "element_type", value.type) for value in (*inputs, *outputs)]
    block = op.regions[0].blocks.append(*scalars)
    with ir.InsertionPoint(block):
        yielded = body(*numbers.given(block.arguments))
        ir.Operation.create("linalg.yield", operands=yielded if isinstance(yielded, (list, tuple)) else [yielded])
    return list(op.results)


def iterator_types(iterators: tuple[str, ...]) -> Attribute:
    """Return the iterator_types attribute of a generic operation."""
    known = cache_of(ir.Context.current).attributes
    text = ", ".join(f"#linalg.iterator_type<{iterator}>" for iterator in iterators)
    return known.get(iterators) or known.remember(iterators, ir.Attribute.parse(f"[{text}]"))


def parallel(
    inputs: Sequence[Value], output: Value, body: ScalarBody, dims: Sequence[Sequence[int | None] | None] | None = None
) -> Value:
    """Return the output with each element set to `body(*elements)`.

    An input is read at the element's index, or at these dimensions of it.
    """
    rank = rank_of(output)
    places = [None] * len(inputs) if dims is None else dims
    maps = [identity(rank) if own is None else select_dims(rank, own) for own in (*places, None)]
    return generic(inputs, [output], maps, [PARALLEL] * rank, lambda *scalars: body(*scalars[:-1]))[0]


def copy(source: Value, output: Value, dims: Sequence[int | None] | None = None) -> Value:
    """Return the output with each element read from the source, at these dimensions of the index; None reads at 0."""
    return parallel([source], output, lambda x: x, [dims])


def moved(source: Value, output: Value, places: Mapping[int, Callable[[Number], Number]]) -> Value:
    """Return the output with each element read from the source at its own index.

    Along these axes, a function maps the index.
    """

    def read() -> Number:
        at = [index(axis) for axis in range(rank_of(output))]
        for axis, place in places.items():
            at[axis] = place(at[axis])
        return extract(source, at)

    return parallel([], output, read)


def select_dims(rank: int, dims: Sequence[int | None]) -> AffineMap:
    """Return the map (d0, ..., d<rank-1>) -> dims, with 0 for None."""
    exprs = [ir.AffineConstantExpr.get(0) if dim is None else ir.AffineDimExpr.get(dim) for dim in dims]
    return ir.AffineMap.get(rank, 0, exprs)


def rank_of(value: Value) -> int:
    info = decode(value.type)
    assert isinstance(info, TensorInfo) and info.shape is not None
    return len(info.shape)


def index(dim: int) -> Number:
    """Return the index of an iteration, inside the body of a generic."""
    attribute = i64_attribute(dim)
    return operation("linalg.index", [], ir.IndexType.get(), dim=attribute)


def size(buffer: Value, axis: int) -> Number:
    """Return the size of a dimension of a memref or tensor."""
    name = "memref.dim" if isinstance(buffer.type, ir.MemRefType) else "tensor.dim"
    return operation(name, [buffer, numbers.as_index(axis)], ir.IndexType.get())


def sizes(buffer: Value) -> list[Size]:
    """Return the sizes of a memref or tensor: numbers if the type states them, else indices."""
    return [size(buffer, axis) if known == DYNAMIC else known for axis, known in enumerate(buffer.type.shape)]


def move_indices(generic: Operation, starts: Mapping[int, Value]) -> None:
    """Offset a linalg.generic's indices of these dimensions."""
    block = generic.regions[0].blocks[0]
    for inner in [op for op in block.operations if op.operation.name == "linalg.index"]:
        if (dim := inner.attributes["dim"].value) not in starts:
            continue
        place = inner.operation.results[0]
        with ir.InsertionPoint.after(inner), inner.location:
            moved = result_of("arith.addi", [place, starts[dim]], place.type)
        place.replace_all_uses_except(moved, moved.owner.operation)


def product(sizes: Sequence[int | Value]) -> Size:
    """Return the product of sizes. Static sizes are multiplied first."""
    total: Size = math.prod(size for size in sizes if isinstance(size, int))
    for size in sizes:
        if not isinstance(size, int):
            total = numbers.number(size) * total
    return total


def indices_at(place: Number, bounds: Sequence[Size]) -> list[Number]:
    """Return the indices for a linear index in row-major order."""
    strides = [product(bounds[axis + 1 :]) for axis in range(len(bounds))]
    indices = [place // stride for stride in strides]
    return [*indices[:1], *(index % bound for index, bound in zip(indices[1:], bounds[1:], strict=True))]


def place_at(indices: Sequence[Number], bounds: Sequence[Size]) -> Number:
    """Return the linear index in row-major order."""
    place = numbers.as_index(0)
    for index, bound in zip(indices, bounds, strict=True):
        place = place * bound + index
    return place


def extract(tensor: Value, indices: Sequence[int | Value]) -> Number:
    return operation("tensor.extract", [tensor, *map(numbers.as_index, indices)], tensor.type.element_type)


def fill(scalar: Value | float, output: Value) -> Value:
    """Return the output with every element set. A Python number is converted to its element type."""
    value = scalar if isinstance(scalar, Value) else numbers.constant(scalar, output.type.element_type)
    return parallel([value], output, lambda each: each, [[]])


def insert(scalar: Value, tensor: Value, indices: Sequence[int | Value]) -> Value:
    return result_of("tensor.insert", [scalar, tensor, *map(numbers.as_index, indices)], tensor.type)


def empty(sizes: Sequence[int | Value], element: Type) -> Value:
    """Return an uninitialized tensor for intermediate results."""
    shape, dynamic = static_and_dynamic(sizes)
    return result_of("tensor.empty", dynamic, ir.RankedTensorType.get(shape, element))


def is_nothing(sizes: Sequence[int | Value]) -> bool:
    """Return True if the shape is known to be empty. MLIR rejects a slice that starts at the end of a tensor."""
    return any(isinstance(size, int) and size == 0 for size in sizes)


def segments(*counts: int) -> dict[str, Attribute]:
    """Return the attribute with the number of operands per segment."""
    return {"operandSegmentSizes": ir.DenseI32ArrayAttr.get(counts)}


def static_and_dynamic(values: Sequence[int | Value]) -> tuple[list[int], list[Value]]:
    """Return the static numbers, with MLIR's marker for dynamic values, and the dynamic values."""
    dynamic = [value for value in values if not isinstance(value, int)]
    return [value if isinstance(value, int) else DYNAMIC for value in values], dynamic


def affine_value(expression: AffineExpr, dim: Callable[[int], Value]) -> Number:
    """Return the index of an affine expression without symbols, for dimensions `dim(n)`. Divisors are positive."""
    return value_of(expression, lambda position: numbers.number(dim(position)), _join, numbers.as_index)


def _join(sign: str, left: Number, right: Number) -> Number:
    if sign in (ADD, MUL):
        return left + right if sign == ADD else left * right
    if sign == CEILDIV:
        return operation("arith.ceildivsi", [left, right], left.type)
    quotient = operation("arith.floordivsi", [left, right], left.type)
    # A remainder is neither negative nor as large as the divisor, for operands of any sign.
    return quotient if sign == FLOORDIV else left - quotient * right
