# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that only change elements' types."""

from __future__ import annotations

import math

from ....bindings.ir import Value
from ....dialects.core.infos import is_float
from ....dialects.relax.known_constants import NUMPY_NAME
from ...core.texts import looked_up
from ..prelude import Node, Outputs, Tensor, cast, const, register_rows, relax, wide_float
from ..tensor_data import TEXT

# The largest numbers of the float8 types that Cast may saturate at.
_LARGEST = {"f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E5M2": 57344.0, "f8E5M2FNUZ": 57344.0}
_BELOW_A_BYTE = frozenset({"i2", "ui2", "i4", "ui4"})


def _converted(node: Node, dtype: str) -> Outputs:
    """Numbers too large for float8 become the largest, unless `saturate` is 0; integers below a byte wrap around."""
    own = node.value(0).dtype
    if own == dtype:
        return node.value(0)
    if dtype == "f8E8M0FNU":
        return as_power_of_two(node)
    x = node.tensor(0)
    if dtype in _LARGEST and node.int("saturate", 1):
        x = relax.clip(cast(x, wide_float(own)), -_LARGEST[dtype], _LARGEST[dtype])
    elif dtype in _BELOW_A_BYTE and is_float(own):
        x = relax.astype(x, dtype="i32")
    return relax.astype(x, dtype=dtype)


def _of_texts(node: Node) -> Outputs:
    """Strings as they are, or the numbers that they say."""
    import numpy

    texts = node.texts(0)
    if texts is None or node.int("to") == TEXT:
        return texts
    to = node.dtype("to")
    numpy_dtype = NUMPY_NAME.get(to)
    if numpy_dtype is None:
        raise node.fail(f"strings as {to}", "to")
    try:
        return looked_up(texts, numpy.array(texts.words).astype(numpy_dtype))
    except (ValueError, OverflowError) as error:
        raise node.fail(f"a string is no such number: {error}", "to") from None


# ---- numbers as float8e8m0, whose elements are powers of two ----


_MANTISSA, _BIAS = 52, 1023  # of f64, in which the powers of two from 2**-127 to 2**127 are normal numbers
_OWN_BIAS, _LARGEST_CODE, _NAN_CODE = 127, 254, 255
# What is added to the mantissa before it is cut off. Halves round up.
_ROUNDINGS = {"up": (1 << _MANTISSA) - 1, "down": 0, "nearest": 1 << (_MANTISSA - 1)}


def as_power_of_two(node: Node) -> Tensor:
    """The node's first input as f8E8M0FNU.

    Numbers out of range become the nearest limit, or without `saturate` NaN, as NaN and negative numbers always do.
    """
    mode = node.choice("round_mode", "up", _ROUNDINGS)
    x = relax.astype(node.tensor(0), dtype="f64")
    code = _code(relax.abs(x), _ROUNDINGS[mode])
    low, high = (0.0, math.inf) if node.int("saturate", 1) else (2.0**-_OWN_BIAS, 2.0**_OWN_BIAS)
    has_one = relax.logical_and(relax.greater_equal(x, const(low, "f64")), relax.less_equal(x, const(high, "f64")))
    code = relax.where(has_one, code, const(_NAN_CODE, "i64"))
    return relax.bitcast(relax.astype(code, dtype="ui8"), dtype="f8E8M0FNU")


def _code(magnitude: Value, rounding: int) -> Tensor:
    """The exponent after rounding, within the limits."""
    bits = relax.add(relax.bitcast(magnitude, dtype="i64"), const(rounding, "i64"))
    exponent = relax.right_shift(bits, const(_MANTISSA, "i64"))
    return relax.clip(relax.subtract(exponent, const(_BIAS - _OWN_BIAS, "i64")), 0, _LARGEST_CODE)


register_rows(
    "",
    {
        "BitCast": lambda node: relax.bitcast(node.tensor(0), dtype=node.dtype("to")),
        "Cast": lambda node: _converted(node, node.dtype("to")) if node.texts(0) is None else _of_texts(node),
        "CastLike": lambda node: _converted(node, node.value(1).dtype),
    },
)
