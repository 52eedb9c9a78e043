# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of sizes of tensors, and of elements of tensors as sizes and numbers."""

from __future__ import annotations

from typing import Any

from relax_mlir.dialects.core.infos import ShapeInfo
from relax_mlir.dialects.core.symbols import SymExpr, sym

from ..prelude import Outputs, TorchNode, Value, cast, known, register_torch, relax, sizes
from .scalar_functions import as_value


@register_torch("aten::item", "aten::_local_scalar_dense")
def item(node: TorchNode) -> Outputs:
    """Return the only element. If it is at least 0, it becomes a symbol, so that sizes made of it are expressions."""
    number, value = node.fx.meta["val"], node.value(0)
    if (kind := type(number).__name__) in ("SymFloat", "float"):
        held = Value(ssa=cast(relax.reshape(value.ssa, ()), "f64"))
    elif value.elements is not None:
        held = known(value.elements.reshape(()), value.dtype)
    else:
        held = Value(ssa=cast(relax.reshape(value.ssa, ()), "i1" if kind in ("SymBool", "bool") else "i64"))
    for symbol in number.node.expr.free_symbols if hasattr(number, "node") else ():
        node.expressions.bind(symbol.name, _as_size(node, held) if _is_size(number, symbol) else held)
    return held


def _is_size(number: Any, symbol: Any) -> bool:
    """Check whether torch knows that a number is at least 0."""
    found = number.node.shape_env.var_to_range.get(symbol)
    return symbol.is_integer and found is not None and found.lower >= 0


def _as_size(node: TorchNode, number: Value) -> SymExpr | Value:
    if number.is_in_graph is False or number.dtype == "i1":
        return known(number.elements) if number.elements is not None else Value(ssa=cast(number.ssa, "i64"))
    symbol = sym(node.graph.symbols.next())
    relax.match_cast(relax.tensor_to_shape(relax.reshape(number.ssa, (1,))), ty=ShapeInfo((symbol,)))
    return symbol


@register_torch("aten::sym_size", "aten::sym_numel", "aten::sym_stride")
def size(node: TorchNode) -> Outputs:
    """Convert a size with a symbol that no result has named."""
    own = sizes.sizes_of(node.value(0))
    if "numel" in node.op:
        return as_value(sizes.product(own))
    axis = node.axis("dim", len(own))
    return as_value(own[axis] if "size" in node.op else sizes.product(own[axis + 1 :]))


@register_torch("aten::sym_storage_offset")
def storage_offset(node: TorchNode) -> Outputs:
    """Return 0: each view is a separate tensor from its first element on, and only differences of offsets matter."""
    return known(0)
