# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Facts about operands that derivatives require. Unknown facts are errors."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Value
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.values import is_known, shape_of

from .gradient_call import GradientCall, UnknownSizes


def rank_of(call: GradientCall, x: Value, what: str = "its operand") -> int:
    shape = shape_of(x)
    if shape is None:
        raise call.fail(f"the rank of {what} is not known: relax.match_cast states it")
    return len(shape)


def known_shape(call: GradientCall, x: Value, what: str = "its operands") -> tuple[Dim, ...]:
    shape = shape_of(x)
    if shape is None or not is_known(shape):
        raise UnknownSizes(call.fail(f"sizes of {what} are only known when the program runs").message)
    return shape


def numbers(call: GradientCall, sizes: Sequence[Dim], what: str) -> list[int]:
    """Return the sizes, which must be static and above 0 for the operator to be differentiated."""
    known = [size for size in sizes if isinstance(size, int) and size > 0]
    if len(known) < len(sizes):
        raise call.fail(f"{what} must be numbers, and not 0: {', '.join(map(str, sizes))}")
    return known


def reduced_axes(call: GradientCall, x: Value) -> list[int]:
    """Return the axes of a reduction, counted from the front."""
    rank = rank_of(call, x)
    given = range(rank) if call.axis is None else call.axis
    return sorted(axis % rank for axis in given)
