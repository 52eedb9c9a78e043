# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators whose results depend on which elements there are: searching, sorting, selecting."""

from __future__ import annotations

from typing import Any

from ..prelude import Node, Outputs, Value, register_onnx, relax
from ..shapes import sizes
from ..shapes.sizes import Size


@register_onnx("", "NonZero")
def non_zero(node: Node) -> Outputs:
    return relax["nonzero"](node.tensor(0))


@register_onnx("", "Compress")
def compress(node: Node) -> Outputs:
    """The slices along an axis, or the elements, for which a condition is true; it may be too short."""
    chosen = relax["squeeze"](relax["nonzero"](node.tensor(1)), axis=0)
    if node.has_attribute("axis"):
        return relax["take"](node.tensor(0), chosen, axis=node.int("axis"))
    return relax["take"](relax["flatten"](node.tensor(0)), chosen, axis=0)


@register_onnx("", "Unique")
def unique(node: Node) -> Outputs:
    names = [*node.proto.output, "", "", ""]
    asked = [bool(name) for name in names[1:4]]
    axis = {"axis": node.int("axis")} if node.has_attribute("axis") else {}
    found = relax["unique"](node.tensor(0), bool(node.int("sorted", 1)), *asked, **axis)
    values, *others = found if isinstance(found, tuple) else (found,)
    rest = iter(others)
    return [values, *(next(rest) if each else None for each in asked)][: node.output_count]


# ---- the largest or smallest elements ----


@register_onnx("", "TopK")
def top_k_of_attribute(node: Node) -> Outputs:
    return _top_k(node, node.int("k", 0))


@register_onnx("", "TopK", since=10)
def top_k(node: Node) -> Outputs:
    return _top_k(node, sizes.input_size(node, 1))


def _top_k(node: Node, k: Size) -> Any:
    """Always in order, which an attribute of newer versions need not ask for."""
    axis = node.axis(node.rank(0), -1)
    order = {"axis": axis, "largest": bool(node.int("largest", 1)), "dtype": "i64"}
    if isinstance(k, int) and k > 0:
        return list(relax["topk"](node.tensor(0), k=k, **order))
    # All of them in order, then the first ones.
    return [sizes.sliced(Value(ssa=each), {axis: (0, k, 1)}) for each in relax["topk"](node.tensor(0), k=0, **order)]
