# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of operators that only change element types."""

from __future__ import annotations

import math

from ....bindings.ir import Value
from ....dialects.core.infos import is_float
from ....dialects.relax.known_constants import NUMPY_NAME
from ...core.texts import looked_up
from ..prelude import OnnxNode, Outputs, Tensor, cast, const, register_rows, relax, wide_float
from ..tensor_data import TEXT

# Largest finite numbers of the float8 types to which Cast may saturate.
_LARGEST = {"f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E5M2": 57344.0, "f8E5M2FNUZ": 57344.0}
_BELOW_A_BYTE = frozenset({"i2", "ui2", "i4", "ui4"})


def _cast_input(node: OnnxNode, dtype: str) -> Outputs:
    """Convert the first input to an element type.

    Numbers too large for float8 become the largest number, unless `saturate` is 0. Integers of less than a byte wrap
    around.
    """
    if (own := node.value(0).dtype) == dtype:
        return node.value(0)
    if dtype == "f8E8M0FNU":
        return as_power_of_two(node)
    x = node.tensor(0)
    if dtype in _LARGEST and node.int("saturate", 1):
        x = relax.clip(cast(x, wide_float(own)), -_LARGEST[dtype], _LARGEST[dtype])
    elif dtype in _BELOW_A_BYTE and is_float(own):
        x = relax.astype(x, dtype="i32")
    return relax.astype(x, dtype=dtype)


def _cast_texts(node: OnnxNode) -> Outputs:
    """Return strings unchanged, or parse them as numbers."""
    import numpy

    if (texts := node.texts(0)) is None or node.int("to") == TEXT:
        return texts
    to = node.dtype("to")
    if (numpy_dtype := NUMPY_NAME.get(to)) is None:
        raise node.fail(f"strings cannot be cast to {to}", "to")
    try:
        return looked_up(texts, numpy.array(texts.words).astype(numpy_dtype))
    except (ValueError, OverflowError) as error:
        raise node.fail(f"a string is not a number of type {to}: {error}", "to") from None


# ---- conversion to float8e8m0, a type of powers of two ----


_MANTISSA, _BIAS = 52, 1023  # Of f64, in which the powers of two from 2**-127 to 2**127 are normal numbers.
_OWN_BIAS, _LARGEST_CODE, _NAN_CODE = 127, 254, 255
# Number to add to the mantissa before truncation. Ties round up.
_ROUNDINGS = {"up": (1 << _MANTISSA) - 1, "down": 0, "nearest": 1 << (_MANTISSA - 1)}


def as_power_of_two(node: OnnxNode) -> Tensor:
    """Return the node's first input as f8E8M0FNU.

    Numbers out of range become the nearest limit, or NaN without `saturate`. NaN and negative numbers always become
    NaN.
    """
    mode = node.choice("round_mode", "up", _ROUNDINGS)
    x = relax.astype(node.tensor(0), dtype="f64")
    code = _code(relax.abs(x), _ROUNDINGS[mode])
    low, high = (0.0, math.inf) if node.int("saturate", 1) else (2.0**-_OWN_BIAS, 2.0**_OWN_BIAS)
    has_one = relax.logical_and(relax.greater_equal(x, const(low, "f64")), relax.less_equal(x, const(high, "f64")))
    code = relax.where(has_one, code, const(_NAN_CODE, "i64"))
    return relax.bitcast(relax.astype(code, dtype="ui8"), dtype="f8E8M0FNU")


def _code(magnitude: Value, rounding: int) -> Tensor:
    """Return the exponent after rounding, clamped to the limits."""
    bits = relax.add(relax.bitcast(magnitude, dtype="i64"), const(rounding, "i64"))
    exponent = relax.right_shift(bits, const(_MANTISSA, "i64"))
    return relax.clip(relax.subtract(exponent, const(_BIAS - _OWN_BIAS, "i64")), 0, _LARGEST_CODE)


register_rows(
    "",
    {
        "BitCast": lambda node: relax.bitcast(node.tensor(0), dtype=node.dtype("to")),
        "Cast": lambda node: _cast_input(node, node.dtype("to")) if node.texts(0) is None else _cast_texts(node),
        "CastLike": lambda node: _cast_input(node, node.value(1).dtype),
    },
)
