# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions of NVIDIA's GPUs from sm_80 on: asynchronous copies, tiles from shared memory, matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Attribute, Type, Value
from ....bindings.mlir import ir
from ....emit import linalg
from ....emit.arithmetic import constant_value, result_of
from ....emit.numbers import Number, Size, as_index
from ....emit.vectors import lane_of

#: Sizes of an asynchronous copy.
COPIED_BYTES = (4, 8, 16)
#: Rows and columns of a product, and bytes of its reduction steps.
_SHAPE, _BYTES_OF_STEPS = (16, 8), 32


def bytes_of(element: Type) -> int:
    return int(element.width) // 8


def start_copy(
    source: Value, at: Sequence[Size], target: Value, to: Sequence[Size], lanes: int, count: Number | None
) -> None:
    """Start to copy adjacent elements. The first `count` are read, and the others become zeros."""
    counts = [] if count is None else [count]
    attributes = {
        "dstElements": ir.IntegerAttr.get(ir.IndexType.get(), lanes),
        **linalg.segments(1, len(to), 1, len(at), len(counts)),
    }
    if lanes * bytes_of(source.type.element_type) == max(COPIED_BYTES):
        attributes["bypassL1"] = ir.UnitAttr.get()
    token = ir.Type.parse("!nvgpu.device.async.token")
    operands = [target, *map(as_index, to), source, *map(as_index, at), *counts]
    result_of("nvgpu.device_async_copy", operands, token, **attributes)


def wait_for_copies(pending: int) -> None:
    """Wait until the thread has at most `pending` groups of copies in flight."""
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), pending)
    ir.Operation.create("nvvm.cp.async.wait.group", attributes={"n": attribute})


def load_tiles(memory: Value, at: Sequence[Size], *, is_turned: bool) -> Value:
    """Load four tiles. Each lane points to a row and receives its part of each tile."""
    own = memory.type.element_type
    type_ = ir.VectorType.get([4, 4 // bytes_of(own)], own)
    attributes = {
        "transpose": ir.BoolAttr.get(is_turned),
        "numTiles": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
    }
    return result_of("nvgpu.ldmatrix", [memory, *map(as_index, at)], type_, **attributes)


def stacked(rows: Sequence[Value]) -> Value:
    """Stack vectors as the rows of one vector."""
    type_: Type = ir.VectorType.get([len(rows), *rows[0].type.shape], rows[0].type.element_type)
    whole = constant_value(0, type_)
    for place, row in enumerate(rows):
        whole = result_of("vector.insert", [row, whole], type_, static_position=position(place))
    return whole


def row_of(rows: Value, place: int) -> Value:
    """Return a row of a stacked vector, for instance a lane's part of one of several tiles."""
    type_ = ir.VectorType.get(rows.type.shape[1:], rows.type.element_type)
    return result_of("vector.extract", [rows], type_, static_position=position(place))


def word_of(vector: Value) -> Value:
    """Return a vector of 32 bits as one number."""
    word = ir.IntegerType.get_signless(32)
    return lane_of(result_of("vector.bitcast", [vector], ir.VectorType.get([1], word)), 0)


def position(*at: int) -> Attribute:
    return ir.DenseI64ArrayAttr.get(list(at))


def halves(tiles: Value) -> list[Value]:
    """Return both pairs of four tiles."""
    _, per_lane = tiles.type.shape
    type_ = ir.VectorType.get([2, per_lane], tiles.type.element_type)
    return [
        result_of(
            "vector.extract_strided_slice",
            [tiles],
            type_,
            offsets=ir.Attribute.parse(f"[{first}]"),
            sizes=ir.Attribute.parse("[2]"),
            strides=ir.Attribute.parse("[1]"),
        )
        for first in (0, 2)
    ]


def add_products(left: Value, right: Value, total: Value) -> Value:
    """Add products of real numbers to the total. The operands are a lane's parts of tiles."""
    element = left.type.element_type
    attributes = {"mmaShape": ir.Attribute.parse(str([*_SHAPE, _BYTES_OF_STEPS // bytes_of(element)]))}
    if isinstance(element, ir.F32Type):
        attributes["tf32Enabled"] = ir.UnitAttr.get()
    return result_of("nvgpu.mma.sync", [left, right, total], total.type, **attributes)


def round_to_tf32(value: Value) -> Value:
    """Round an f32 number to 10 bits of its fraction."""
    rounding = ir.Attribute.parse("#nvvm.fp_rnd_mode<rna>")
    bits = result_of("nvvm.convert.float.to.tf32", [value], ir.IntegerType.get_signless(32), rnd=rounding)
    return result_of("arith.bitcast", [bits], value.type)
