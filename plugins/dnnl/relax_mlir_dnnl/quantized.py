# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion rules for quantized tensors: scales and zero points of the arguments and results of primitives.

A dequantized tensor that only such products read is never computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from relax_mlir.dialects.core.opdef import Call
from relax_mlir.dialects.relax.known_constants import elements_of
from relax_mlir.dialects.relax.values import normal_axis
from relax_mlir.passes.graph.parts.flat_graph import FlatNode, Ref, numbers_in
from relax_mlir.rewriting import Operation

from .converter import Converter
from .rules import converts
from .runtime.description import Argument, QuantizedArgument

if TYPE_CHECKING:
    from numpy import ndarray


#: Largest magnitude of narrow weights: the sum of two products with bytes fits in 16 bits, 2 * 64 * 255 < 2**15.
_MOST_NARROW = 64
_DTYPES = ("f32", "i8", "ui8", "i32")


@dataclass
class ProductSource:
    """Operands of a product, their quantization, and attributes of the step."""

    data: Ref
    weight: Ref
    quantized: Mapping[str, QuantizedArgument] = field(default_factory=dict)
    attributes: Mapping[str, object] = field(default_factory=dict)


def is_dequantized(ref: Ref) -> bool:
    """Check whether a tensor is a dequantized constant."""
    return ref.made_by is not None and ref.made_by.name == "relax.dequantize" and ref.made_by.operands[0].is_constant


def quantized_product(converter: Converter, data: Ref, weight: Ref, axis: int, mask: int) -> ProductSource:
    """Return the operands of a product, before their dequantization if oneDNN can multiply the bytes.

    The weights have one scale, or one scale per index of `axis` with the mask `mask`.
    """
    producer, weights = data.made_by, weight.made_by
    if producer is None or weights is None or {producer.name, weights.name} != {"relax.dequantize"}:
        return ProductSource(data, weight)
    elements = numbers_in(weights.operands[0])
    scale, scales, zeros = _scales(producer), _scales(weights), numbers_in(weights.operands[2])
    if elements is None or scale is None or scales is None or zeros is None:
        return ProductSource(data, weight)
    if elements.dtype.name != "int8" or data.info.dtype != "f32" or producer.operands[0].info.dtype == "i32":
        return ProductSource(data, weight)
    if scale.size != 1 or zeros.any():
        return ProductSource(data, weight)
    is_along = normal_axis(weights.call.axis, elements.ndim) == axis
    if scales.size != 1 and not is_along:
        return ProductSource(data, weight)
    zero = _zero_point(converter, producer)
    quantized = {
        "src": QuantizedArgument(converter.constant(scale.reshape(1)), zero),
        "weights": QuantizedArgument(converter.constant(scales.reshape(-1)), None, mask if scales.size > 1 else 0),
    }
    is_narrow = (
        producer.operands[0].info.dtype == "ui8" and -_MOST_NARROW <= elements.min() <= elements.max() <= _MOST_NARROW
    )
    return ProductSource(producer.operands[0], weights.operands[0], quantized, {"is_narrow": bool(is_narrow)})


def _scales(node: FlatNode) -> ndarray | None:
    """Return the scales of a quantization, or None if they are not constant or not f32."""
    found = numbers_in(node.operands[1])
    return None if found is None or found.dtype.name != "float32" else found


def _zero_point(converter: Converter, node: FlatNode) -> int | None:
    """Add the tensor's only zero point as a constant and return its number, or None for the zero point 0."""
    import numpy

    zeros = numbers_in(node.operands[2])
    assert zeros is not None  # see _refuse
    number = zeros.reshape(-1)[0]
    return converter.constant(numpy.array([number], "int32")) if number else None


def _refuse(op: Operation, call: Call) -> str:
    scales, zeros = elements_of(op.operands[1]), elements_of(op.operands[2])
    if scales is None or zeros is None:
        return "oneDNN needs constant scales and zero points"
    if (zeros != zeros.reshape(-1)[0]).any():
        return "oneDNN supports only one zero point for a whole tensor"
    return "" if scales.dtype.name == "float32" else f"oneDNN needs scales of f32, got {scales.dtype.name}"


@converts("dequantize", refuse=_refuse, dtypes=_DTYPES)
def dequantize_when_read(converter: Converter, node: FlatNode) -> None:
    """Add no step yet: a product of quantized tensors needs no dequantized tensor."""


def dequantize(converter: Converter, node: FlatNode) -> None:
    quantized = {"src": _quantization(converter, node)}
    converter.step("reorder", node.result, {"src": converter.argument(node.operands[0])}, quantized=quantized)


@converts("quantize", refuse=_refuse, dtypes=_DTYPES)
def quantize(converter: Converter, node: FlatNode) -> None:
    quantized = _quantization(converter, node)
    producer = converter.producer(node.operands[0])
    if producer is not None and "src" in producer.quantized and "dst" not in producer.quantized and not quantized.mask:
        result = Argument(converter.argument(node.result).value, producer.result.views)
        converter.replace(
            producer, replace(producer, result=result, quantized={**producer.quantized, "dst": quantized})
        )
        return
    converter.step("reorder", node.result, {"src": converter.argument(node.operands[0])}, quantized={"dst": quantized})


def _quantization(converter: Converter, node: FlatNode) -> QuantizedArgument:
    scales = _scales(node)
    assert scales is not None  # see _refuse
    axis = normal_axis(node.call.axis, len(node.operands[0].dims))
    scale, zero = converter.constant(scales.reshape(-1)), _zero_point(converter, node)
    return QuantizedArgument(scale, zero, 1 << axis if scales.size > 1 else 0)
