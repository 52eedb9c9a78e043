# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans along a dimension: each element with all before it."""

from __future__ import annotations

from collections.abc import Callable

from ..prelude import Node, Outputs, cast, register_rows, relax


def _scan(name: str) -> Callable[[Node], Outputs]:
    def convert(node: Node) -> Outputs:
        """Of a 0-D tensor it is that."""
        x, rank = node.tensor("self", node.dtype), node.rank("self")
        if rank == 0:
            return x
        if node.dtype == "i1":  # any is true, all are
            return cast(relax.dialect.ops[name](cast(x, "ui8"), axis=node.axis("dim", rank), dtype="i64"), "i1")
        return relax.dialect.ops[name](x, axis=node.axis("dim", rank))

    return convert


register_rows({"aten::cumsum": _scan("cumsum"), "aten::cumprod": _scan("cumprod")})
