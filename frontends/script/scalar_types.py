# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Type promotion of scalars, and arithmetic of T: the tables behind scalars.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ...dialects.core.infos import bit_width, dtype_name, is_bool, is_dtype, is_float, is_unsigned
from ...dialects.script.syntax import APPLIED
from ...dialects.script.types import dtype_name as shown
from ...dialects.tir import dialect as tir
from ...emit import numbers
from ...emit.numbers import Number
from .program import Buffer

INDEX = "index"
#: Type of a narrower integer combined with an index: loops count in at least 32 bits.
SHORTEST = "i32"


def common_of(values: Sequence[object]) -> str:
    if not (typed := [value.dtype for value in values if isinstance(value, Number)]):
        return natural(next((value for value in values if isinstance(value, float)), values[0]))
    dtype: str = typed[0]
    for other in typed[1:]:
        dtype = dtype if same(dtype, other) else common(dtype, other)
    return "f32" if any(isinstance(value, float) for value in values) and not is_float(dtype) else dtype


def natural(value: object) -> str:
    """Return the default type of a Python number."""
    return "i1" if isinstance(value, bool) else "i32" if isinstance(value, int) else "f32"


def typed(value: Number, dtype: str) -> Number:
    """Return a new number with an element type, since MLIR's type has no sign."""
    return value.of(dtype) if is_unsigned(dtype) else value


def same(one: str, other: str) -> bool:
    """Check whether two types are equal. A bool equals an i1 of MLIR."""
    return one == other or (is_bool(one) and is_bool(other))


def common(one: str, other: str) -> str:
    """Return the type of an operation on two types: floats before integers, then the wider type."""
    if floats := [dtype for dtype in (one, other) if is_float(dtype)]:
        return max(floats, key=bit_width)
    if INDEX in (one, other):
        rest = other if one == INDEX else one
        return rest if bit_width(rest) >= 32 else SHORTEST
    if is_bool(one) or is_bool(other):
        return other if is_bool(one) else one
    return max((one, other), key=bit_width)


def kind_of(value: object) -> str:
    if isinstance(value, Number):
        return shown(value.dtype)
    return repr(value)[:60] if not isinstance(value, Buffer) else f"buffer '{value.name}'"


def dtype_named(name: str) -> str | None:
    """Return the element type that a word of T such as `T.float32` denotes, or None."""
    return None if name in tir.ops else _dtype_named(name)


@lru_cache(256)
def _dtype_named(name: str) -> str | None:
    found = dtype_name(name)
    return found if found is not None and is_dtype(found) else None


# ---- arithmetic by signs, and by names where there is no sign ----


def _ceildiv(x: Number, y: Number) -> Number:
    return 0 - numbers.floor_divide(0 - x, y) if not x.is_unsigned else numbers.floor_divide(x + (y - 1), y)


def _truncdiv(x: float, y: float) -> float:
    """Return the quotient rounded towards zero. A float in between would not represent large integers."""
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


ARITHMETIC: dict[str, Callable[..., Number]] = {
    **APPLIED, "//": numbers.floor_divide, "%": numbers.floor_remainder, "truncdiv": numbers.divide,
    "truncmod": numbers.remainder, "ceildiv": _ceildiv, "min": numbers.minimum, "max": numbers.maximum,
    "**": lambda x, y: numbers.intrinsic("pow", x, y),
}  # fmt: skip
#: The same operations on Python numbers.
KNOWN: dict[str, Callable[..., float]] = {
    **APPLIED, "truncdiv": _truncdiv, "truncmod": lambda x, y: x - y * _truncdiv(x, y),
    "ceildiv": lambda x, y: -(-x // y), "min": min, "max": max,
}  # fmt: skip
OF_INTEGERS = frozenset({"<<", ">>", "&", "|", "^", "ceildiv"})
