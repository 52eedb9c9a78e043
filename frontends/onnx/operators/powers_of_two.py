# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers as float8e8m0, whose elements are powers of two, rounded and limited as ONNX's Cast asks for."""

from __future__ import annotations

import math
from typing import Any

from ....dialects.relax import const, dialect
from ..node import Node

relax = dialect.ops

_MANTISSA, _BIAS = 52, 1023  # of f64, in which the powers of two from 2**-127 to 2**127 are normal numbers
_OWN_BIAS, _LARGEST, _NAN = 127, 254, 255
# What is added to the mantissa before it is cut off. Halves round up.
_ROUNDINGS = {"up": (1 << _MANTISSA) - 1, "down": 0, "nearest": 1 << (_MANTISSA - 1)}


def as_power_of_two(node: Node) -> Any:
    """The node's first input as f8E8M0FNU.

    Numbers out of range become the nearest limit, or without `saturate` NaN, as NaN and negative numbers always do.
    """
    mode = node.choice("round_mode", "up", _ROUNDINGS)
    x = relax["astype"](node.tensor(0), dtype="f64")
    code = _code(relax["abs"](x), _ROUNDINGS[mode])
    low, high = (0.0, math.inf) if node.int("saturate", 1) else (2.0**-_OWN_BIAS, 2.0**_OWN_BIAS)
    has_one = relax["logical_and"](
        relax["greater_equal"](x, const(low, "f64")), relax["less_equal"](x, const(high, "f64"))
    )
    code = relax["where"](has_one, code, const(_NAN, "i64"))
    return relax["bitcast"](relax["astype"](code, dtype="ui8"), dtype="f8E8M0FNU")


def _code(magnitude: Any, rounding: int) -> Any:
    """The exponent after rounding, within the limits."""
    bits = relax["add"](relax["bitcast"](magnitude, dtype="i64"), const(rounding, "i64"))
    exponent = relax["right_shift"](bits, const(_MANTISSA, "i64"))
    return relax["clip"](relax["subtract"](exponent, const(_BIAS - _OWN_BIAS, "i64")), 0, _LARGEST)
