# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maps that use dimensions they do not have: MLIR's parser refuses them in text, but its bytecode reader accepts
them."""

from __future__ import annotations

import io

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in

import relax_mlir as rx
from relax_mlir import relax


def bytecode_with(map_: ir.AffineMap, *, nested: bool) -> bytes:
    module = rx.Module.parse("module {}")
    operation = module.operation
    attribute = ir.AffineMapAttr.get(map_)
    operation.attributes["acme.held"] = ir.ArrayAttr.get([attribute]) if nested else attribute
    return module.bytecode()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("dims", "symbols", "foreign"), [(2, 1, None), (1, 1, "d1"), (0, 1, "d0"), (2, 0, "s0")])
def test_maps_must_use_their_own_dimensions(dims: int, symbols: int, foreign: str | None, nested: bool) -> None:
    with ir.Context():
        d0, d1, s0 = ir.AffineDimExpr.get(0), ir.AffineDimExpr.get(1), ir.AffineSymbolExpr.get(0)
        results = [d0 + d1 * 2, ir.AffineExpr.get_mod(d1, 4) + s0]
        data = bytecode_with(ir.AffineMap.get(dims, symbols, results), nested=nested)
    if foreign is None:
        assert rx.Module.parse(data).bytecode() == data
        return
    with pytest.raises(rx.ModelError, match=f"uses {foreign}, which it does not have"):
        rx.Module.parse(data, "some.mlirbc")


def test_one_walk_finds_maps_and_constants() -> None:
    section = '{-# dialect_resources: { builtin: { w: "0x08000000ababababab" } } #-}'
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(f"module attributes {{acme.held = dense_resource<w> : tensor<4xf32>}} {{}}\n{section}")
        module.operation.attributes["acme.map"] = ir.AffineMapAttr.get(
            ir.AffineMap.get(0, 0, [ir.AffineDimExpr.get(0)])
        )
        stream = io.BytesIO()
        module.operation.write_bytecode(stream)
    with pytest.raises(rx.ModelError) as refused:
        rx.Module.parse(stream.getvalue(), "some.mlirbc")
    found = sorted(each.message.partition(" op ")[2] for each in refused.value.diagnostics)
    assert [text.partition(" : ")[0] for text in found] == [
        "() -> (d0) uses d0, which it does not have",
        "constant dense_resource<w>",
    ]


def test_operations_refuse_such_maps_where_they_are_verified() -> None:
    module = rx.Module()
    with module.function("main", [rx.tensor((4, 8))]) as builder:
        builder.returns(relax.layout_transform(*builder, index_map=lambda i, j: (j, i)))
    transform = next(op for op in operations_in(module.operation) if op.name == "relax.layout_transform")
    with module.operation.context:
        transform.attributes["index_map"] = ir.AffineMapAttr.get(
            ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(1), ir.AffineDimExpr.get(2)])
        )
    with pytest.raises(rx.VerificationError, match="'index_map' uses d2, which its map does not have"):
        module.verify()
