# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that compute each image of their result, along the first axis, only from the same image of the operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....dialects.core.codec import decode
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import OpDef
from ....dialects.core.symbols import Dim
from ....dialects.core.verifier import call_of
from ....dialects.relax.infer.layouts import layouts_of
from ..layout.registry import is_elementwise

#: Predicate: True if a value has a part for each image, False if it is shared by all images.
IsOfImages = Callable[[Value], bool]
#: `rule(call, shapes)`: predicate for an operator, given the shapes of operands with a part for each image.
_Rule = Callable[[Any, Sequence[tuple[Dim, ...]]], bool]


def is_separable(operation: Operation, images: Dim, is_of_images: IsOfImages) -> bool:
    """Check whether an operation processes its `images` images independently."""
    row = row_of(operation)
    results = [decode(result.type) for result in operation.results]
    if row is None or not row.pure or len(operation.regions):
        return False
    if not all(isinstance(info, TensorInfo) and info.shape and info.shape[0] == images for info in results):
        return False
    call = call_of(row, operation)
    if row.windows.letters:
        return _is_windowed(call, operation, is_of_images)
    if is_elementwise(row) or row.full_name in _QUANTIZATION:
        return _is_elementwise(row, call, operation, is_of_images)
    rule = _RULES.get(row.full_name)
    return rule is not None and rule(
        call, [shape_of(operand) for operand in operation.operands if is_of_images(operand)]
    )


def shape_of(value: Value) -> tuple[Dim, ...]:
    """Return a tensor's known sizes, or an empty tuple for anything else."""
    info = decode(value.type)
    return info.shape or () if isinstance(info, TensorInfo) else ()


def _is_windowed(call: Any, operation: Operation, is_of_images: IsOfImages) -> bool:
    """Check convolutions and pools: images must be contiguous in memory, and windows slide only over images."""
    first = [layout.axes[0] for name, layout in layouts_of(call).items() if name != "weight"]
    of_images = [is_of_images(operand) for operand in operation.operands]
    is_outermost = all(axis.dimension == "N" and axis.block is None for axis in first)
    return is_outermost and of_images[0] and not any(of_images[1:])


_QUANTIZATION = frozenset({"relax.quantize", "relax.dequantize", "relax.requantize"})


def _is_elementwise(row: OpDef, call: Any, operation: Operation, is_of_images: IsOfImages) -> bool:
    """Check that elements depend on the same position, or on operands shared by all images."""
    rank = len(shape_of(operation.results[0]))
    if row.full_name in _QUANTIZATION and call.axis % rank == 0 and _has_scales(call):
        return False
    for operand in operation.operands:
        shape = shape_of(operand)
        if is_of_images(operand) != (len(shape) == rank and shape[0] != 1):
            return False
    return True


def _has_scales(call: Any) -> bool:
    """Check whether there is more than one number of a parameter along the axis."""
    return any(info.shape not in ((), (1,)) for name, info in call.operands.items() if name != "data")


def _is_reduction(call: Any, _: Sequence[tuple[Dim, ...]]) -> bool:
    rank = len(call.x.shape)
    return call.axis is not None and all(axis % rank for axis in call.axis)


def _is_reshape(call: Any, shapes: Sequence[tuple[Dim, ...]]) -> bool:
    """Check that no other size depends on the number of images."""
    return all(isinstance(size, int) and size > 0 for size in (*call.shape.dims[1:], *shapes[0][1:]))


def _is_layout(call: Any, _: Sequence[tuple[Dim, ...]]) -> bool:
    """Check that the first index stays in place, and no other one depends on it."""
    first, *others = (re.findall(r"d\d+", str(index)) for index in call.index_map.value.results)
    is_kept = isinstance(call.index_map.value.results[0].maybe_downcast(), ir.AffineDimExpr) and first == ["d0"]
    return is_kept and not any("d0" in each for each in others)


def _is_pad(call: Any, _: Sequence[tuple[Dim, ...]]) -> bool:
    return not any(call.pad_width[:2])


def _is_concat(call: Any, shapes: Sequence[tuple[Dim, ...]]) -> bool:
    return bool(call.axis % len(shapes[0])) and len(shapes) == len(call.tensors)


_RULES: Mapping[str, _Rule] = {
    **{f"relax.{name}": _is_reduction for name in ("mean", "sum", "max", "min")},
    "relax.reshape": _is_reshape,
    "relax.layout_transform": _is_layout,
    "relax.concat": _is_concat,
    "relax.nn.pad": _is_pad,
}
