# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scales of activations at run time, from the least and the largest number of each tensor.

The front end imports ONNX's DynamicQuantizeLinear as the same operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from relax_mlir.bindings.ir import Value
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects import relax
from relax_mlir.dialects.relax import const
from relax_mlir.dialects.relax.values import dtype_of
from relax_mlir.passes.graph.recipes.operand_types import OperandType


class Dynamic(NamedTuple):
    """Tensor that is quantized at run time."""

    numbers: Value
    scale: Value
    zero_point: Value


@contextmanager
def insertion_after(value: Value) -> Iterator[None]:
    """Insert operations behind the one that makes a value, or at the begin of the function for an argument."""
    owner = value.owner
    is_argument = isinstance(owner, ir.Block)
    point = ir.InsertionPoint.at_block_begin(owner) if is_argument else ir.InsertionPoint.after(owner)
    with (owner.owner if is_argument else owner).location, point:
        yield


def quantized_at_run_time(data: Value, type_: OperandType) -> Dynamic:
    """Quantize a tensor with a scale and a zero point of the numbers that it has in each call."""
    dtype = dtype_of(data)
    least, most = type_.limits
    zero = const(0.0, dtype)
    if type_.symmetric or type_.is_float:
        scale = _positive(relax.divide(relax.max(relax.abs(data)), const(most, dtype)), zero, dtype)
        zero_point = const(0, type_.dtype)
    else:
        low, high = relax.minimum(relax.min(data), zero), relax.maximum(relax.max(data), zero)
        scale = _positive(relax.divide(relax.subtract(high, low), const(float(most - least), dtype)), zero, dtype)
        start = relax.negative(relax.divide(low, scale))
        zero_point = relax.quantize(
            start, const(1.0, dtype), const(int(least), type_.dtype), axis=0, out_dtype=type_.dtype
        )
    return Dynamic(relax.quantize(data, scale, zero_point, axis=0, out_dtype=type_.dtype), scale, zero_point)


def _positive(scale: Value, zero: Value, dtype: str) -> Value:
    """Return 1 for a scale of 0: a tensor of zeros has any scale."""
    return relax.where(relax.equal(scale, zero), const(1.0, dtype), scale)
