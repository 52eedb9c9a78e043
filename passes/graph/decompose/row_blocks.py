# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of activations, rounded block by block to integers of 8 bits."""

from __future__ import annotations

from ....bindings.ir import Value
from ....dialects.core.symbols import product
from ....dialects.relax import const
from .wide import Decline, known_shape, relax

#: Largest digit, and the least scale: blocks of zeros need one too.
_MOST, _LEAST_SCALE = 127.0, 2.0**-126


def rounded_rows(x: Value, block: int) -> tuple[Value, Value]:
    """Return the digits [rows * blocks, block] of x [..., blocks * block] in f32 as i8, and their scales as f32."""
    if (count := product(known_shape(x))) is None:
        raise Decline("a size of the rows is not known")
    blocks = relax.reshape(x, relax.shape_expr(dims=(count // block, block)))
    largest = relax.max(relax.abs(blocks), axis=[1])
    scale = relax.maximum(relax.divide(largest, const(_MOST, "f32")), const(_LEAST_SCALE, "f32"))
    return relax.quantize(blocks, scale, const(0, "i8"), axis=0, out_dtype="i8"), scale


def rounded_floats(x: Value, block: int) -> Value:
    """Return x [..., blocks * block] in f32 as the numbers that its digits stand for."""
    digits, scale = rounded_rows(x, block)
    numbers = relax.dequantize(digits, scale, const(0, "i8"), axis=0, out_dtype="f32")
    return relax.reshape(numbers, relax.shape_expr(dims=known_shape(x)))
