# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes of output channels: of constant weights, and of the bias that is added to sums."""

from __future__ import annotations

from relax_mlir.bindings.ir import Operation, Value
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.relax.known_constants import is_constant
from relax_mlir.passes.graph.recipes.recipe import Op
from relax_mlir.passes.graph.recipes.stated_types import DATA, channel_axis, channel_axis_of_result
from relax_mlir.passes.patterns.matched import Match


def refusal_of_constants(op: Op, match: Match) -> str:
    """Return why the constants of a layer cannot have the types of a recipe's entry, or an empty text."""
    for name in op.operands:
        value = match.get(name)
        if value is None or not op.types[name][0].derived:
            continue
        data = match.get(DATA)
        if not is_constant(value):
            return f"'{name}' is computed at run time, and a derived scale is for constants"
        if data is not None and is_constant(data):
            return f"'{DATA}' is a constant, so no sample shows a range for the derived scale of '{name}'"
        if axis_of_bias(op, match, name) is None:
            return f"'{name}' has the shape {list(value.type.shape)}, which is not a number per output channel"
    return ""


def axis_of_bias(op: Op, match: Match, name: str) -> int | None:
    """Return the axis of a bias that counts channels: 0 if one scale is for all, None if there is no such axis."""
    if (found := _weights(op, match)) is None:
        return 0
    weights_name, weights, product = found
    if op.types[weights_name][0].granularity == "tensor":
        return 0
    shape, result = list(match[name].type.shape), decode(product.results[0].type)
    channels = weights.type.shape[channel_axis(product, len(weights.type.shape))]
    rank = result.rank if isinstance(result, TensorInfo) else None
    if rank is None:
        return None
    axis = len(shape) - rank + channel_axis_of_result(product, rank)
    if any(size != 1 for place, size in enumerate(shape) if place != axis):
        return None
    return axis if 0 <= axis < len(shape) and shape[axis] == channels else None


def _weights(op: Op, match: Match) -> tuple[str, Value, Operation] | None:
    """Return the first constant operand without a derived scale, with its name and reader."""
    for name in op.operands:
        value = match.get(name)
        if value is not None and is_constant(value) and not op.types[name][0].derived:
            reader = next((operation for operation in match.operations if value in list(operation.operands)), None)
            return None if reader is None else (name, value, reader)
    return None
