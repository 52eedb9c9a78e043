# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views: operations whose result aliases an operand with another shape or other symbols."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ....bindings.ir import Operation, Value
from ....bindings.mlir import DYNAMIC
from ....bindings.rewriting import located_error
from ....dialects.core.aliases import viewed
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import Info, ObjectInfo, ShapeInfo, TensorInfo, describe
from ....dialects.core.symbols import Dim, SymExpr, equal, product
from ....dialects.tir import dialect as tir
from ....emit import memrefs
from ....emit.linalg import product as count_of
from ....emit.numbers import Size, as_i64, as_index, floor_divide, is_same, maximum
from .function_lowering import FunctionLowering


def view(into: FunctionLowering, op: Operation) -> None:
    source, result = viewed(op.results[0]), op.results[0]
    assert source is not None
    info = decode(result.type)
    if not isinstance(info, TensorInfo) or info.shape is None:
        raise located_error(f"'{op.name}' op gives {describe(info)}: its rank is not known", op.location)
    memref = into.get(source)
    shown = _result_sizes(into, op, memrefs.dims(memref))
    extents = (
        _sizes_of(into, op, info, memref)
        if shown is None
        else [
            into.sizes.compute(dim) if dim is not None and into.sizes.knows(dim) else shown[axis]
            for axis, dim in enumerate(info.shape)
        ]
    )
    _require_same_count(into, memref, extents, decode(source.type), info)
    into.set(result, memrefs.reshape_if_needed(memref, extents, memrefs.is_same_shape(decode(source.type), info)))


def _result_sizes(into: FunctionLowering, op: Operation, sizes: list[Size]) -> list[Size] | None:
    """Return the result's sizes computed from the operand's memory, or None for a foreign operator."""
    if (row := row_of(op)) is not None and row.shaped_by:
        return list(into.sizes_of(getattr(op.opview, row.shaped_by)))
    if op.name == "relax.flatten":
        return [count_of(sizes)]
    if op.name == "relax.nn.batch_flatten":
        return [sizes[0], count_of(sizes[1:])]
    if op.name == "relax.expand_dims":
        rank = len(sizes) + len(op.opview.axis)
        new = {axis % rank for axis in op.opview.axis}
        left = iter(sizes)
        return [1 if axis in new else next(left) for axis in range(rank)]
    if op.name != "relax.squeeze":
        return None
    gone = _squeezed_dims(op, len(sizes))
    return [size for axis, size in enumerate(sizes) if axis not in gone]


def _sizes_of(into: FunctionLowering, op: Operation, info: TensorInfo, memref: Value) -> list[Size]:
    """Return the result's sizes from its type. One open size follows from the number of elements."""
    known = [dim is not None and into.sizes.knows(dim) for dim in info.shape or ()]
    if known.count(False) > 1:
        raise located_error(f"'{op.name}' op gives {describe(info)}: only one size can be left open", op.location)
    sizes = [into.sizes.compute(dim) for dim in info.shape or () if dim is not None and into.sizes.knows(dim)]
    if False in known:
        rest = maximum(as_index(count_of(sizes)), 1)
        count = as_index(count_of(memrefs.dims(memref)))
        sizes.insert(known.index(False), floor_divide(count, rest))
    return sizes


def _squeezed_dims(op: Operation, rank: int) -> set[int]:
    """Return the removed dimensions: the named ones, or all known to have size 1."""
    if op.opview.axis is not None:
        return {axis % rank for axis in op.opview.axis}
    info = decode(op.operands[0].type)
    known = info.shape if isinstance(info, TensorInfo) else None
    return {axis for axis, dim in enumerate(known or ()) if dim == 1}


def _require_same_count(
    into: FunctionLowering, memref: Value, extents: list[Size], have: Info, want: TensorInfo
) -> None:
    """Emit a run-time check that a view has as many elements as the memory, unless this is known."""
    known = product(have.shape) if isinstance(have, TensorInfo) and have.shape is not None else None
    if equal(known, product(want.shape or ())) is True:
        return
    own = memrefs.dims(memref)
    if _factors(own) == _factors(extents):
        return
    shape = memrefs.shape_text(want)
    into.sizes.require_room(extents, memref.type.element_type, shape)
    there, shown = as_index(count_of(own)), as_index(count_of(extents))
    same = there == shown
    numbers = [as_i64(there), as_i64(shown)]
    message = f"{{}} elements cannot take the shape ({shape}), which has {{}}"
    tir.ops["assert"](same, numbers, kind="ValueError", message=message)


def _factors(extents: list[Size]) -> tuple[int, Counter[Value]]:
    """Return the factors of an element count: the product of static sizes, and the dynamic values."""
    numbers = [extent for extent in extents if isinstance(extent, int)]
    return math.prod(numbers), Counter(extent.value for extent in extents if not isinstance(extent, int))


def match_cast(into: FunctionLowering, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    have, want = decode(source.type), decode(result.type)
    if type(have) is not type(want):
        hint = "state what a function returns where it is called"
        hint = hint if isinstance(have, ObjectInfo) else "nothing would tell any more what it is"
        raise located_error(f"'{op.name}' op makes {describe(want)} of {describe(have)}: {hint}", op.location)
    if isinstance(want, TensorInfo) and want.shape is not None:
        into.set(result, _cast_tensor(into, op, have, want))
    elif isinstance(want, ShapeInfo) and want.dims is not None:
        sizes = into.sizes_of(source)
        _require_rank(op, len(sizes), len(want.dims))
        match_sizes(into, want.dims, sizes, [None] * len(sizes))
        into.set(result, sizes)
    else:
        into.set(result, into.lowered(source))


def _cast_tensor(into: FunctionLowering, op: Operation, have: Info, want: TensorInfo) -> Value:
    memref = into.get(op.operands[0])
    shape = want.shape or ()
    _require_rank(op, memref.type.rank, len(shape))
    extents = memrefs.dims(memref)
    known = have.shape if isinstance(have, TensorInfo) else None
    match_sizes(into, shape, extents, known or [None] * len(extents))
    wanted = [into.sizes.compute(dim) if dim is not None else extents[axis] for axis, dim in enumerate(shape)]
    # Cast through dynamic sizes: memrefs of different static sizes, an error at run time, cannot be cast directly.
    element = memref.type.element_type
    loose = memrefs.cast(memref, memrefs.typed([DYNAMIC] * len(extents), element))
    return memrefs.cast(loose, memrefs.typed(wanted, element))


def _require_rank(op: Operation, have: int, want: int) -> None:
    if have != want:
        raise located_error(f"'{op.name}' op: the rank is {have}, not {want}", op.location)


def match_sizes(into: FunctionLowering, dims: Sequence[Dim], extents: Sequence[Size], known: Sequence[Dim]) -> None:
    """Define new symbols by the actual sizes, and check all other sizes."""
    for axis, (dim, extent) in enumerate(zip(dims, extents, strict=True)):
        if dim is None or dim == known[axis]:
            continue
        if isinstance(dim, SymExpr) and not into.sizes.knows(dim):
            into.sizes.define(dim, extent)
            continue
        expected = into.sizes.compute(dim)
        require_size(axis, expected, extent, f"{{}} (that is {dim})" if isinstance(dim, SymExpr) else "{}")


def require_size(axis: int, expected: Size, extent: Size, wanted: str) -> None:
    if is_same(extent, expected):
        return
    same = as_index(extent) == as_index(expected)
    numbers = [as_i64(expected), as_i64(extent)]
    message = f"the size of dimension {axis}: expected {wanted}, got {{}}"
    tir.ops["assert"](same, numbers, kind="ValueError", message=message)
