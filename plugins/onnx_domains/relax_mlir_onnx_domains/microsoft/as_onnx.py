# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of com.microsoft operators that equal ONNX operators; many existed there before ONNX had them."""

from __future__ import annotations

from typing import Any

from relax_mlir.frontends.core.values import Output, Tensor, as_values
from relax_mlir.frontends.onnx.operators.norms import layer_norm, rms_norm
from relax_mlir.frontends.onnx.prelude import OnnxNode, Outputs, Value, register_onnx, relax
from relax_mlir.frontends.onnx.registry import find_converter

_DOMAIN = "com.microsoft"
#: Version of ONNX's operators. Later versions do not differ for these uses.
_VERSION = 21


def as_onnx(node: OnnxNode, name: str, *inputs: Output, version: int = _VERSION) -> Any:
    """Convert a node as an ONNX operator with other inputs, and return the first output. None is an absent input."""
    own = OnnxNode(node.proto, as_values(inputs), version, node.graph)
    own.op, own.domain = name, ""
    if (converter := find_converter("", name, version)) is None:
        raise node.fail(f"it is converted as {name}, which has no converter")
    first = as_values(converter.function(own))[0]
    return first.ssa if isinstance(first, Value) else first


def channels_first(node: OnnxNode, tensor: Tensor) -> Tensor:
    """Move the channels from the last dimension to the second. The tensor has the rank of the node's first input."""
    rank = node.rank(0)
    return relax.permute_dims(tensor, axes=[0, rank - 1, *range(1, rank - 1)])


def channels_last(node: OnnxNode, tensor: Tensor) -> Tensor:
    return relax.permute_dims(tensor, axes=[0, *range(2, node.rank(0)), 1])


def as_onnx_of_images(node: OnnxNode, name: str, data: Any, *others: Output, are_last: bool) -> Tensor:
    """Convert as an ONNX operator on images, with the channels last in data and result if `are_last`."""
    if not are_last:
        return as_onnx(node, name, data, *others)
    first = channels_first(node, data.ssa if isinstance(data, Value) else data)
    return channels_last(node, as_onnx(node, name, first, *others))


register_onnx(_DOMAIN, "LayerNormalization")(layer_norm)
register_onnx(_DOMAIN, "SimplifiedLayerNormalization")(rms_norm)


@register_onnx(_DOMAIN, ["DequantizeLinear", "GatherND", "GridSample", "Pad", "QuantizeLinear", "Range", "Trilu"])
def as_it_is(node: OnnxNode) -> Outputs:
    return as_onnx(node, node.op, *node.inputs)


@register_onnx(_DOMAIN, "ExpandDims")
def expand_dims(node: OnnxNode) -> Outputs:
    if (axis := node.number(1)) is None:
        raise node.fail("the axis must be one number that is known before the model runs")
    return relax.expand_dims(node.tensor(0), axis=[axis])


@register_onnx(_DOMAIN, "MatMulInteger16")
def matmul_integer(node: OnnxNode) -> Outputs:
    return relax.matmul(node.tensor(0), node.tensor(1), out_dtype="i32" if node.value(0).dtype == "i16" else "ui32")


@register_onnx(_DOMAIN, "ReduceSumInteger")
def sum_of_integers(node: OnnxNode) -> Outputs:
    dtype = "i32" if node.value(0).dtype == "i8" else "ui32"
    wide = relax.astype(node.tensor(0), dtype=dtype)
    return relax.sum(wide, axis=node.ints("axes", []), keepdims=bool(node.int("keepdims", 1)))
