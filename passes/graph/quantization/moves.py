# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data movement on quantized bytes: moved before numbers are dequantized, and after they are quantized."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation, OpView, Value
from ....bindings.navigation import defining_op, use_count
from ....bindings.patterns import Outcome, Pattern, Rewriter
from ....bindings.rewriting import made_again
from ....dialects.relax.values import dtype_of, normal_axis, shape_of, with_dtype
from ..canonicalize.requantization import is_same
from .numbers import Quantized, dequantized, is_byte, made, number, positive, relax, single, size_of
from .signs import MOVES

_POOLS = tuple(name for name in MOVES if "pool" in name)
#: Operators with as many result elements as operand elements.
_VIEWS = tuple(f"relax.{name}" for name in ("reshape", "flatten", "permute_dims", "expand_dims", "squeeze"))


def dequantize_behind(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite move(dequantize(x)) to dequantize(move(x))."""
    found = dequantized(op.operation.operands[0])
    axis = None if found is None else _axis_behind(op, found)
    if found is None or axis is None:
        return None
    operation = op.operation
    result = operation.results[0]
    moved = _again(operation, [found.numbers, *list(operation.operands)[1:]], found.dtype)
    return found.others(moved, result.type, axis)


def _axis_behind(op: OpView, integers: Quantized) -> int | None:
    """Return the axis of several scales after the move, 0 for one scale, or None if the scales cannot follow."""
    if (name := op.operation.name) in _POOLS and not positive(integers.scale):
        return None  # a negative scale turns the maximum into the minimum
    if name == "relax.take" and op.mode == "nan":
        return None
    if integers.is_single:
        return 0
    if name != "relax.permute_dims":
        return None
    rank = len(shape_of(integers.numbers) or ())
    axes = [normal_axis(axis, rank) for axis in op.axes] if op.axes is not None else list(reversed(range(rank)))
    return axes.index(integers.axis(rank)) if axes else None


def _again(operation: Operation, operands: Sequence[Value], dtype: str) -> Value:
    type_ = with_dtype(operation.results[0], dtype)
    return made(operation.name, operands, type_, dict(operation.attributes.items())).results[0]


def dequantize_behind_split(op: OpView, rewriter: Rewriter) -> Outcome:
    if (found := dequantized(op.operation.operands[0])) is None or not found.is_single:
        return None
    operation = op.operation
    types = [with_dtype(result, found.dtype) for result in operation.results]
    parts = made_again(operation, [found.numbers, *list(operation.operands)[1:]], types)
    return [
        found.others(part, result.type).results[0]
        for part, result in zip(parts.results, operation.results, strict=True)
    ]


def dequantize_behind_concat(op: OpView, rewriter: Rewriter) -> Outcome:
    """Dequantize after the concat if all parts have the same scale and zero point."""
    parts = [dequantized(value) for value in op.operation.operands]
    first = parts[0] if parts else None
    if first is None or not first.is_single:
        return None
    same = [part for part in parts if part is not None and _are_alike(part, first)]
    if len(same) < len(parts):
        return None
    joined = _again(op.operation, [each.numbers for each in same], first.dtype)
    return first.others(joined, op.operation.results[0].type)


def _are_alike(one: Quantized, other: Quantized) -> bool:
    same = is_same(one.scale, other.scale) and is_same(one.zero_point, other.zero_point)
    return same and one.dtype == other.dtype


def dequantize_behind_relu(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite relu(dequantize(x)) to dequantize(max(x, zero point))."""
    found = dequantized(op.operation.operands[0])
    zero = None if found is None or not found.is_single else single(found.zero_point)
    if found is None or zero is None or found.dtype not in ("i8", "ui8") or not positive(found.scale):
        return None
    lowest, highest = (-128, 127) if found.dtype == "i8" else (0, 255)
    if not lowest <= zero <= highest:
        return None
    return found.others(relax.maximum(found.numbers, number(zero, found.dtype)), op.operation.results[0].type)


def dequantize_behind_pad(op: OpView, rewriter: Rewriter) -> Outcome:
    """Pad with the zero point, which is the quantized 0, before dequantizing."""
    found = dequantized(op.operation.operands[0])
    zero = None if found is None or not found.is_single else single(found.zero_point)
    if found is None or zero is None or op.pad_mode != "constant" or op.pad_value != 0 or not is_byte(found.dtype):
        return None
    padded = relax.nn.pad(found.numbers, pad_width=op.pad_width, pad_value=float(zero))
    result = op.operation.results[0]
    return found.others(padded, result.type) if padded.type == with_dtype(result, found.dtype) else None


def quantize_before(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite quantize(view(x)) to view(quantize(x)), so that the producer of x quantizes it."""
    real, scale, zero_point = op.operation.operands
    view = defining_op(real, *_VIEWS)
    if view is None or use_count(real) != 1 or (size_of(scale), size_of(zero_point)) != (1, 1):
        return None
    source, *others = view.operation.operands
    numbers = _quantize(op, source)
    return _again(view.operation, [numbers, *others], dtype_of(op.operation.results[0]))


def _quantize(op: OpView, real: Value) -> Value:
    _, scale, zero_point = op.operation.operands
    return relax.quantize(real, scale, zero_point, axis=0, out_dtype=dtype_of(op.operation.results[0]))


def quantize_before_concat(op: OpView, rewriter: Rewriter) -> Outcome:
    """Rewrite quantize(concat(x, y)) to concat(quantize(x), quantize(y)). Parts of that scale become plain copies."""
    real, scale, zero_point = op.operation.operands
    concat = defining_op(real, "relax.concat")
    if concat is None or use_count(real) != 1 or (size_of(scale), size_of(zero_point)) != (1, 1):
        return None
    parts = [_quantize(op, part) for part in concat.operation.operands]
    return _again(concat.operation, parts, dtype_of(op.operation.results[0]))


PATTERNS = (
    Pattern(MOVES, dequantize_behind, after=("relax.dequantize",)),
    Pattern("relax.split", dequantize_behind_split, after=("relax.dequantize",)),
    Pattern("relax.concat", dequantize_behind_concat, only_after=("relax.dequantize",)),
    Pattern("relax.nn.relu", dequantize_behind_relu, after=("relax.dequantize",)),
    Pattern("relax.nn.pad", dequantize_behind_pad, after=("relax.dequantize",)),
    Pattern("relax.quantize", quantize_before, after=_VIEWS),
    Pattern("relax.quantize", quantize_before_concat, after=("relax.concat",)),
)
