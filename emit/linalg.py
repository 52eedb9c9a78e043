# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emits linalg on tensors: what bodies of PrimFuncs are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..bindings.mlir import ir
from ..dialects.core.codec import decode
from ..dialects.core.infos import TensorInfo

PARALLEL, REDUCTION = "parallel", "reduction"
#: A scalar body: `body(*inputs, *outputs)` gives the scalars to yield.
ScalarBody = Callable[..., Any]


def generic(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    maps: Sequence[Any],
    iterators: Sequence[str],
    body: ScalarBody,
) -> list[Any]:
    """A linalg.generic; its results, one for each output that is a tensor. `maps` are affine maps, inputs' first."""
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
        "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{it}>") for it in iterators]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
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
        yielded = body(*block.arguments)
        values = list(yielded) if isinstance(yielded, (list, tuple)) else [yielded]
        ir.Operation.create("linalg.yield", operands=values)
    return list(op.results)


def identity(rank: int) -> Any:
    return ir.AffineMap.get_identity(rank)


def select_dims(rank: int, dims: Sequence[int | None]) -> Any:
    """The map (d0, ..., d<rank-1>) -> dims, with 0 for None."""
    exprs = [ir.AffineConstantExpr.get(0) if dim is None else ir.AffineDimExpr.get(dim) for dim in dims]
    return ir.AffineMap.get(rank, 0, exprs)


def rank_of(value: Any) -> int:
    info = decode(value.type)
    assert isinstance(info, TensorInfo) and info.shape is not None
    return len(info.shape)


def index(dim: int) -> Any:
    """The index of an iteration, inside of a generic's body."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)
    return ir.Operation.create("linalg.index", results=[ir.IndexType.get()], attributes={"dim": attribute}).result


def constant_index(value: int) -> Any:
    attribute = ir.IntegerAttr.get(ir.IndexType.get(), value)
    return ir.Operation.create("arith.constant", results=[ir.IndexType.get()], attributes={"value": attribute}).result


def dim(value: Any, axis: int) -> Any:
    """The size of a tensor's dimension as an index."""
    operands = [value, constant_index(axis)]
    return ir.Operation.create("tensor.dim", results=[ir.IndexType.get()], operands=operands).result


def extract(tensor: Any, indices: Sequence[Any]) -> Any:
    element = tensor.type.element_type
    return ir.Operation.create("tensor.extract", results=[element], operands=[tensor, *indices]).result


def fill(scalar: Any, output: Any) -> Any:
    """The output with every element set."""
    rank = rank_of(output)
    maps = [ir.AffineMap.get(rank, 0, []), identity(rank)]
    return generic([scalar], [output], maps, [PARALLEL] * rank, lambda value, _: value)[0]


def insert(scalar: Any, tensor: Any, indices: Sequence[Any]) -> Any:
    return ir.Operation.create("tensor.insert", results=[tensor.type], operands=[scalar, tensor, *indices]).result


def empty(sizes: Sequence[int | Any], element: Any) -> Any:
    """A tensor with undefined elements, for what a body computes on its way; sizes are numbers or indices."""
    dynamic = ir.ShapedType.get_dynamic_size()
    shape = [size if isinstance(size, int) else dynamic for size in sizes]
    operands = [size for size in sizes if not isinstance(size, int)]
    return ir.Operation.create(
        "tensor.empty", results=[ir.RankedTensorType.get(shape, element)], operands=operands
    ).result


def sizes_of(value: Any) -> list[int | Any]:
    """A tensor's sizes: numbers where its type has them, else indices."""
    shape = list(value.type.shape)
    dynamic = ir.ShapedType.get_dynamic_size()
    return [dim(value, axis) if size == dynamic else size for axis, size in enumerate(shape)]


def as_index(value: Any) -> Any:
    """An integer as an index, signed."""
    return value if isinstance(value.type, ir.IndexType) else _cast("arith.index_cast", value, ir.IndexType.get())


def as_i64(value: Any) -> Any:
    i64 = ir.IntegerType.get_signless(64)
    return value if value.type == i64 else _cast("arith.index_cast", value, i64)


def _cast(name: str, value: Any, type_: Any) -> Any:
    return ir.Operation.create(name, results=[type_], operands=[value]).result
