# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized tensors: the stored integers. Computations on them use floats between dequantize and quantize."""

from __future__ import annotations

from relax_mlir.dialects.core.infos import bit_width
from relax_mlir.emit.conversions import limits

from ..hlo_types import StoredElements, quantized
from ..prelude import HloNode, Outputs, Tensor, along_axis, cast, const, register_stablehlo, relax


@register_stablehlo("stablehlo.uniform_quantize")
def uniform_quantize(node: HloNode) -> Outputs:
    """Quantize floats or requantize integers. A range narrower than the storage type is clipped."""
    if (wanted := quantized(node.result_types[0])) is None:
        raise node.fail("its result is not quantized")
    given = quantized(node.operation.operands[0].type)
    x = node.tensor(0) if given is None else _dequantize(node.tensor(0), given)
    made = _quantize(x, wanted)
    if wanted.range is None:
        return made
    low, high = (const(each, wanted.storage) for each in wanted.range)
    return relax.minimum(relax.maximum(made, low), high)


@register_stablehlo("stablehlo.uniform_dequantize")
def uniform_dequantize(node: HloNode) -> Outputs:
    if (given := quantized(node.operation.operands[0].type)) is None:
        raise node.fail("its operand is not quantized")
    return cast(_dequantize(node.tensor(0), given), node.dtype)


def _quantize(x: Tensor, elements: StoredElements) -> Tensor:
    if bit_width(elements.storage) <= 16:
        scales, zero_points = const(elements.scales, "f32"), const(elements.zero_points, "i32")
        return relax.quantize(x, scales, zero_points, axis=elements.axis, out_dtype=elements.storage)
    rank = x.type.rank
    scales, zero_points = (
        along_axis(const(each, "f64"), elements.axis, rank) if isinstance(each, list) else const(each, "f64")
        for each in (elements.scales, elements.zero_points)
    )
    made = relax.add(relax.round(relax.divide(cast(x, "f64"), scales)), zero_points)
    low, high = (float(limit) for limit in limits(elements.storage))
    return cast(relax.clip(made, min=low, max=high), elements.storage)


def _dequantize(x: Tensor, elements: StoredElements) -> Tensor:
    return relax.dequantize(
        x,
        const(elements.scales, "f32"),
        const(elements.zero_points, "i32"),
        axis=elements.axis,
        out_dtype=elements.expressed,
    )
