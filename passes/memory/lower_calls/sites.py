# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call sites: facts about each kernel call of a graph, for profiles, reports and tuning."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....bindings.diagnostics import made_at, origins
from ....bindings.ir import Attribute, Operation, SymbolTable, Value
from ....bindings.mlir import i64_attribute, ir, string_array
from ....bindings.navigation import symbol_name, text_in
from ....dialects.core.codec import decode
from ....dialects.core.infos import TensorInfo
from ....dialects.core.ir_attributes import ENGINE, MAIN_OPERATOR, OPERATOR
from ....emit.memrefs import MOST_BYTES
from ...core.facts import types_of
from .planned_buffer import dims_of, storage_bytes


def call_site(op: Operation, kernel: Operation | None) -> Attribute:
    """Return the attribute for a call in a graph function. `kernel` is the PrimFunc, or None for a packed function."""
    found = origins(op.location)
    operators, main = _operators(op, kernel)
    site = {
        "nodes": string_array([origin.name for origin in found]),
        "node_operators": string_array([origin.operator for origin in found]),
        "operators": string_array(operators),
        "main": ir.StringAttr.get(main),
        "inputs": string_array(types_of(op.operands)),
        "outputs": string_array(types_of(op.results)),
    }
    if kernel is not None and ENGINE in kernel.attributes:
        site["engine"] = kernel.attributes[ENGINE]
    moved = _bytes_moved(list(dict.fromkeys([*op.operands, *op.results])))
    if moved is not None and moved < MOST_BYTES:
        site["bytes"] = i64_attribute(moved)
    return ir.DictAttr.get(site)


def maker(value: Value, symbols: SymbolTable) -> str:
    """Describe the origin of a graph's value for messages: `relax.take "node" at model.onnx:3:1`; "" for an
    argument."""
    if isinstance(value.owner, ir.Block):
        return ""
    op = value.owner.operation
    name = str(op.opview.func) if op.name == "relax.call_tir" else ""
    operators, _ = _operators(op, symbols[name].operation if name and name in symbols else None)
    return made_at("+".join(operators), op.location)


def _operators(op: Operation, kernel: Operation | None) -> tuple[list[str], str]:
    """Return the operators that a call computes, and the main one. A user's function is named by its symbol."""
    if kernel is None:
        return [str(op.name)], str(op.name)
    listed = text_in(kernel, OPERATOR, f"@{symbol_name(kernel)}")
    return listed.split("+"), text_in(kernel, MAIN_OPERATOR, listed)


def _bytes_moved(values: Sequence[Value]) -> int | None:
    total = 0
    for info in (decode(value.type) for value in values):
        if isinstance(info, TensorInfo):
            sizes = [dim for dim in dims_of(info) if isinstance(dim, int)]
            if len(sizes) < len(dims_of(info)):
                return None
            total += math.prod(sizes) * storage_bytes(info.dtype)
    return total
