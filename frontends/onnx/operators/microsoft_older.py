# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that com.microsoft had before ONNX did, for models that were exported then."""

from __future__ import annotations

from ..prelude import Node, Outputs, register_onnx, relax
from .as_onnx import as_onnx

_DOMAIN = "com.microsoft"


@register_onnx(_DOMAIN, ["GatherND", "GridSample", "Pad", "Range", "Trilu"])
def as_it_is(node: Node) -> Outputs:
    return as_onnx(node, node.op, *node.inputs)


@register_onnx(_DOMAIN, "ExpandDims")
def expand_dims(node: Node) -> Outputs:
    axis = node.number(1)
    if axis is None:
        raise node.fail("the axis must be one number that is known before the model runs")
    return relax["expand_dims"](node.tensor(0), axis=[axis])


@register_onnx(_DOMAIN, "MatMulInteger16")
def matmul_integer(node: Node) -> Outputs:
    return relax["matmul"](node.tensor(0), node.tensor(1), out_dtype="i32" if node.value(0).dtype == "i16" else "ui32")


@register_onnx(_DOMAIN, "ReduceSumInteger")
def sum_of_integers(node: Node) -> Outputs:
    dtype = "i32" if node.value(0).dtype == "i8" else "ui32"
    wide = relax["astype"](node.tensor(0), dtype=dtype)
    return relax["sum"](wide, axis=node.ints("axes", []), keepdims=bool(node.int("keepdims", 1)))
