# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of quantization with one scale, a scale per slice along an axis, or a scale per block."""

from __future__ import annotations

from ....dialects.core.infos import is_float
from ....support.suggest import counted
from ..prelude import OnnxNode, Outputs, Tensor, cast, const, register_onnx, register_rows, relax

# Since this version, the precision of the division is the scale's type or an attribute.
_PRECISE_SINCE = 23


@register_onnx("", "QuantizeLinear")
def quantize(node: OnnxNode) -> Outputs:
    target = node.value(2).dtype if node.has(2) else _attribute_dtype(node, "output_dtype") or "ui8"
    data, scale = node.tensor(0), node.tensor(1)
    zero_point = node.tensor(2) if node.has(2) else const(0, target)
    keeps_infinities = target.startswith("f8") and not node.int("saturate", 1)
    precision = _precision(node)
    if not (_is_blocked(node) or keeps_infinities or precision != "f32"):
        return relax.quantize(cast(data, "f32"), _real(node, 1), zero_point, axis=_axis(node), out_dtype=target)
    scale = _broadcast_parameter(node, 1, scale)
    total = cast(relax.divide(cast(data, precision), cast(scale, precision)), "f32")
    if node.has(2):
        offset = relax.astype(_broadcast_parameter(node, 2, zero_point), dtype="f32")
        total = relax.add(total if is_float(target) else relax.round(total), offset)
    if keeps_infinities:
        return relax.astype(total, dtype=target)
    # Only rounding and clamping remain.
    return relax.quantize(total, const(1.0, "f32"), const(0, target), axis=0, out_dtype=target)


def _attribute_dtype(node: OnnxNode, name: str) -> str | None:
    """Return an element type in an attribute, or None if it is 0, the default."""
    return node.dtype(name) if node.int(name, 0) else None


def _precision(node: OnnxNode) -> str:
    if node.version < _PRECISE_SINCE:
        return "f32"
    precision = _attribute_dtype(node, "precision") or node.value(1).dtype
    return precision if precision in ("f16", "bf16", "f64") else "f32"


def _real(node: OnnxNode, index: int) -> Tensor:
    """Return scales in a type in which the operators compute."""
    return node.tensor(index) if node.value(index).dtype in ("f16", "bf16") else cast(node.tensor(index), "f32")


def _axis(node: OnnxNode) -> int:
    """Return the axis of the scales. A vector has only one axis."""
    rank, axis = node.rank(0), node.int("axis", 1)
    return 0 if rank < 2 or node.version < 13 else node.axis_of(axis, rank)


def _is_blocked(node: OnnxNode) -> bool:
    return bool(node.int("block_size", 0)) and node.rank(1) == node.rank(0) > 0


def _broadcast_parameter(node: OnnxNode, index: int, tensor: Tensor) -> Tensor:
    """Broadcast scales or zero points to the data's elements."""
    axis, rank = _axis(node), node.rank(0)
    if not _is_blocked(node):
        if node.rank(index) == 0 or node.value(index).shape == (1,):
            return tensor
        return relax.expand_dims(tensor, axis=[position for position in range(rank) if position != axis])
    if node.rank(index) != rank:
        raise node.fail(f"input #{index} has {counted(node.rank(index), 'dimension')}, the data {rank}")
    block = node.int("block_size")
    spread = relax.repeat(tensor, repeats=block, axis=axis)
    size, count = ((node.value(which).shape or ())[axis] for which in (0, index))
    if isinstance(size, int) and isinstance(count, int) and size < count * block:
        return relax.strided_slice(spread, axes=[axis], begin=[0], end=[size])
    return spread


@register_onnx("", "DequantizeLinear")
def dequantize(node: OnnxNode) -> Outputs:
    dtype = node.value(0).dtype
    target = _attribute_dtype(node, "output_dtype") or node.value(1).dtype
    if target not in ("f32", "f16", "bf16"):
        raise node.fail(f"the result must be float32, float16 or bfloat16, not {target}", "output_dtype")
    if not _is_blocked(node):
        zero_point = node.tensor(2) if node.has(2) else const(0, dtype)
        return relax.dequantize(node.tensor(0), _real(node, 1), zero_point, axis=_axis(node), out_dtype=target)
    difference = relax.astype(node.tensor(0), dtype="f32")
    if node.has(2):
        offset = relax.astype(_broadcast_parameter(node, 2, node.tensor(2)), dtype="f32")
        difference = relax.subtract(difference, offset)
    return cast(relax.multiply(difference, cast(_broadcast_parameter(node, 1, node.tensor(1)), "f32")), target)


register_rows("", {"DynamicQuantizeLinear": lambda node: dynamic_quantized(node.tensor(0))})


def dynamic_quantized(data: Tensor) -> list[Tensor]:
    """Return data quantized to bytes, the scale and the zero point. The range includes the data and 0."""
    zero = const(0.0, "f32")
    low = relax.minimum(relax.min(data), zero)
    range_ = relax.divide(relax.subtract(relax.maximum(relax.max(data), zero), low), const(255.0, "f32"))
    # If all elements are 0, the scale is arbitrary.
    scale = relax.where(relax.equal(range_, zero), const(1.0, "f32"), range_)
    one, no_offset = const(1.0, "f32"), const(0, "ui8")
    start = relax.negative(relax.divide(low, scale))
    zero_point = relax.quantize(start, one, no_offset, axis=0, out_dtype="ui8")
    return [relax.quantize(data, scale, zero_point, axis=0, out_dtype="ui8"), scale, zero_point]
