# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Direct loads and stores of tiles (AMX).

A conversion between a vector and a tile goes through memory. If the vector is loaded or stored anyway, the tile can be.
LLVM does this only for vectors, and fails if a loop carries tiles.
"""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import made_by, operations_named, use_count, users_of
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....passes.kernels.schedule.dots import call_intrinsic, intrinsic_attributes
from ....passes.kernels.schedule.tile_nest import FROM_TILE, ROW_BYTES, TO_TILE

_LOAD, _STORE = "llvm.x86.tileloadd64.internal", "llvm.x86.tilestored64.internal"


@register_pass
class LoadTiles(Pass):
    """Load and store tiles directly in memory, instead of through vectors."""

    name: ClassVar[str] = "llvm-load-tiles"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("llvm",)

    def run(self, op: Operation) -> None:
        calls = operations_named(op, "llvm.call_intrinsic")
        moved = {TO_TILE: _load, FROM_TILE: _store}
        for name, cast in [(str(call.attributes["intrin"].value), call) for call in calls]:
            with op.context, cast.location:
                if name in moved:
                    moved[name](cast)


def _load(cast: Operation) -> None:
    vector = cast.operands[0]
    chain = [cast]
    while (bitcast := made_by(vector, "llvm.bitcast")) is not None:
        chain.append(bitcast)
        vector = bitcast.operands[0]
    if (load := made_by(vector, "llvm.load")) is None:
        return
    with ir.InsertionPoint(load):
        tile = call_intrinsic(_LOAD, [*_sizes(vector), load.operands[0], _stride()], cast.results[0].type)
    cast.results[0].replace_all_uses_with(tile)
    for operation in (*chain, load):
        if not any(use_count(result) for result in operation.results):
            operation.erase()


def _store(cast: Operation) -> None:
    chain, vector = [cast], cast.results[0]
    while [user.name for user in users_of(vector)] == ["llvm.bitcast"]:
        chain.append(users_of(vector)[0])
        vector = chain[-1].results[0]
    (user, *more) = users_of(vector)
    if more or user.name != "llvm.store" or user.operands[0] != vector:
        return
    with ir.InsertionPoint(user):
        operands = [*_sizes(vector), user.operands[1], _stride(), cast.operands[0]]
        attributes = intrinsic_attributes(_STORE, len(operands))
        ir.Operation.create("llvm.call_intrinsic", operands=operands, attributes=attributes)
    for each in (user, *reversed(chain)):
        each.erase()


def _sizes(vector: Value) -> list[Value]:
    """Return the rows, and the bytes per row."""
    rows = vector.type.shape[0] * vector.type.element_type.width // 8 // ROW_BYTES
    return [_constant(rows, 16), _constant(ROW_BYTES, 16)]


def _stride() -> Value:
    return _constant(ROW_BYTES, 64)


def _constant(value: int, bits: int) -> Value:
    type_ = ir.IntegerType.get_signless(bits)
    number = {"value": ir.IntegerAttr.get(type_, value)}
    return ir.Operation.create("llvm.mlir.constant", results=[type_], attributes=number).result
