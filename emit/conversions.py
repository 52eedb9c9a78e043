# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions of scalars between all element types of the graph: the semantics of relax.astype.

- Floats to floats: rounded once; a number that is too large becomes an infinity or NaN, see small_floats.py.
- Integers to floats: rounded once, for any width.
- Floats to integers: rounded towards zero; out of range, the result is the nearest limit, and NaN becomes 0.
- Integers to integers: truncated or extended, by the sign for signed types.
- To bool: true unless zero; NaN is true. From bool: 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..bindings.rewriting import Decline
from ..dialects.core.infos import bit_width, is_bool, is_float, is_unsigned
from .arithmetic import X, convert, element, select
from .small_floats import convert_by_bits, is_by_bits, is_small_float, machine_float

_FLOATS = ("f16", "bf16", "f32", "f64")
# Types whose range includes integers of more than 24 bits.
_WIDE_RANGE = ("bf16", "f8E8M0FNU")


def limits(dtype: str) -> tuple[int, int]:
    """Return the lowest and the highest integer of a type; 0 and 1 for bool."""
    width, has_sign = bit_width(dtype), not is_unsigned(dtype) and not is_bool(dtype)
    return -(1 << (width - 1)) if has_sign else 0, (1 << (width - has_sign)) - 1


def accumulator(result: str, operands: Iterable[str] = ()) -> str:
    """Return the element type to accumulate in.

    For floats, this is the widest type of the operands and the result, and at least f32. Other types accumulate in the
    result's type.
    """
    if not is_float(result):
        return result
    floats = [dtype for dtype in (result, *operands) if is_float(dtype)]
    return max(["f32", *floats], key=bit_width)


def to_float(x: X, dtype: str) -> X:
    """Return the nearest number of another floating-point type."""
    if x.dtype == dtype:
        return x
    return convert_by_bits(x, dtype) if is_by_bits(x.dtype, dtype) else machine_float(x, dtype)


def widened(x: X) -> X:
    """Convert a scalar to the type of the computation: f32 for narrower floats."""
    return to_float(x, accumulator(x.dtype)) if x.is_float else x


def rounded(x: X, dtype: str) -> X:
    """Round a float to an element type.

    From f64 to narrow types, the conversion goes through f32, because processors lack a direct step.
    """
    return to_float(to_float(x, accumulator(dtype)), dtype) if x.is_float else x


def converted(x: X, target: str, saturate: bool) -> X:
    """Convert a number; see Number.to."""
    source = x.dtype
    _check(source)
    _check(target)
    if source == target:
        return x
    if is_bool(target):
        return (to_float(x, "f32") if is_small_float(source) else x).compare("!=", 0)
    if is_float(source) and is_float(target):
        return _to_float(x, target, saturate)
    if is_float(source):
        return float_to_int(to_float(x, "f64" if source == "f64" else "f32"), target)
    if is_float(target):
        return _int_to_float(x, target, saturate)
    return _int_to_int(x, target).of(target)


def _check(dtype: str) -> None:
    if is_float(dtype) and dtype not in _FLOATS and not is_small_float(dtype):
        raise Decline(f"{dtype} is not converted; possible are f16, bf16, f32, f64 and the f8, f6 and f4 types")


def _to_float(x: X, target: str, saturate: bool) -> X:
    return convert_by_bits(x, target, saturate=saturate) if is_small_float(target) else to_float(x, target)


def float_to_int(x: X, target: str) -> X:
    """Convert an f32 or f64 to an integer, towards zero and saturating at its limits; NaN becomes 0."""
    width, unsigned = bit_width(target), is_unsigned(target)
    low, high = limits(target)
    # The machine's conversion is undefined out of range, hence the input is clamped first.
    if width <= (24 if x.dtype == "f32" else 53):
        limited = select(x > low, x, low)
        limited = select(limited < high, limited, high)
        whole = convert("arith.fptosi", select(x == x, limited, 0.0), element("i32" if high < 1 << 31 else "i64"))
        return _with_width(whole, width).of(target)
    is_within = (x >= low) & (x < high + 1)
    name = "arith.fptoui" if unsigned else "arith.fptosi"
    whole = convert(name, select(is_within, x, x.constant(0.0)), element(f"i{width}"))
    whole = select(x < low, low, select(x >= high + 1, -1 if unsigned else high, whole))
    return convert("arith.index_cast", whole, element("index")) if target == "index" else whole.of(target)


def _int_to_float(x: X, target: str, saturate: bool) -> X:
    unsigned, width = x.is_unsigned, x.bits
    x = convert("arith.index_cast", x, element("i64")) if x.dtype == "index" else x
    wide = "f64" if target == "f64" else "f32"
    # Other types are so small that an integer which f32 rounds exceeds their range.
    if target in _WIDE_RANGE and width > 24:
        wide = "f64"
        x = _round_to_odd(x, unsigned) if width > 53 else x
    as_float = convert("arith.uitofp" if unsigned else "arith.sitofp", x, element(wide))
    return _to_float(as_float, target, saturate)


def _round_to_odd(x: X, unsigned: bool) -> X:
    """Round an i64 to an integer that f64 represents exactly, such that a later rounding gives the same result.

    The last remaining bit records whether lower bits were set (round to odd).
    """
    limit = 1 << 53
    is_exact = x.unsigned("<", limit) if unsigned else (x + limit).unsigned("<", 2 * limit)
    kept = x & -2048
    return select(is_exact, x, select(kept == x, x, kept | 2048))


def _int_to_int(x: X, target: str) -> X:
    unsigned, width = x.is_unsigned, bit_width(target)
    if "index" in (x.dtype, target):
        return convert("arith.index_castui" if unsigned else "arith.index_cast", x, element(target))
    if width <= x.bits:
        return _with_width(x, width)
    return convert("arith.extui" if unsigned else "arith.extsi", x, element(f"i{width}"))


def _with_width(x: X, width: int) -> X:
    """Return the low bits of an integer."""
    return x if x.bits == width else convert("arith.trunci", x, element(f"i{width}"))
