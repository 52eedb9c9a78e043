# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of scalars between element types inside of bodies, and the types that sums are computed in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...bindings.mlir import ir
from ...dialects.core.infos import bit_width, is_float, signless
from .conversions import convert_scalar


def element(dtype: str) -> Any:
    """The MLIR type that elements of a type have in PrimFuncs."""
    return ir.Type.parse(signless(dtype))


def cast(value: Any, source: str, target: str) -> Any:
    """A scalar of one element type as another, as `relax.astype` converts."""
    return convert_scalar(value, source, target)


def accumulator(result: str, operands: Iterable[str]) -> str:
    """The element type to sum in: a float of at least 32 bits and of the widest one at hand, else the result's."""
    if not is_float(result):
        return result
    floats = [dtype for dtype in (result, *operands) if is_float(dtype)]
    return max(["f32", *floats], key=bit_width)
