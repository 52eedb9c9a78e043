# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of LLVM IR printed by MLIR's LLVM for the older LLVM of llvmlite, which spells float constants
differently.

The newer LLVM writes decimals as short as the type allows, `+inf`, `-qnan`, `+snan(0x1)`, and `f0x3F800000` for bits.
The older LLVM accepts only bits in a spelling per type, with the bits of a double for float.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_NUMBER = re.compile(r"(?<![\w.])(?:f0x[0-9A-Fa-f]+|[+-](?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\))|-?\d+\.\d+(?:e[+-]?\d+)?)")
# Skipped tokens come first: strings, comments, and names, which may look like types and numbers.
_TOKEN = re.compile(
    rf"""(?:c?"[^"]*"|;.*|[%@$!\#]"[^"]*"|[%@$!\#][-\w.$]*)
    |\b(?P<type>half|bfloat|float|double)\b
    |(?P<number>{_NUMBER.pattern})""",
    re.VERBOSE,
)
_SPECIAL = re.compile(r"([+-])(inf|qnan|snan|nan)(?:\(0x([0-9A-Fa-f]+)\))?")


@dataclass(frozen=True)
class _Format:
    """IEEE format: sizes of its parts, and the older LLVM's spelling of its bits."""

    exponent_bits: int
    mantissa_bits: int
    spelling: str

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    def sign(self, is_negative: bool) -> int:
        return int(is_negative) << (self.exponent_bits + self.mantissa_bits)

    def special(self, sign: str, kind: str, payload: str | None) -> int:
        quiet = 1 << (self.mantissa_bits - 1) if kind in ("qnan", "nan") else 0
        return self.sign(sign == "-") | self.infinity | quiet | int(payload or "0", 16)

    def nearest(self, decimal: str) -> int:
        """Return the bits of the nearest number to a decimal, with ties to even."""
        from fractions import Fraction  # needed for cross compilation only

        value = abs(Fraction(decimal))
        bias = (1 << (self.exponent_bits - 1)) - 1
        exponent = max(1 - bias, math.frexp(value)[1] - 1) if value else 1 - bias
        steps = round(value / Fraction(2) ** (exponent - self.mantissa_bits))
        # The implicit leading one of a normal number increments the exponent field, as does rounding up to the next
        # power.
        return self.sign(decimal.startswith("-")) | (((exponent + bias - 1) << self.mantissa_bits) + steps)


_FORMATS = {
    "half": _Format(5, 10, "0xH{:04X}"),
    "bfloat": _Format(8, 7, "0xR{:04X}"),
    "float": _Format(8, 23, "0x{:016X}"),
    "double": _Format(11, 52, "0x{:016X}"),
}


def for_older_llvm(text: str) -> str:
    """Rewrite all floating-point constants as bits.

    The type of a constant is on the same line; few lines have constants.
    """
    return "\n".join([_rewritten(line) if _NUMBER.search(line) else line for line in text.split("\n")])


def _rewritten(line: str) -> str:
    type_ = ""

    def rewrite(match: re.Match[str]) -> str:
        nonlocal type_
        type_ = match["type"] or type_
        # In `fadd float %x, 0.5` and `phi float [ 0.5, %a ]` the type occurs once, before the constants.
        return _spell(match["number"], type_) if match["number"] and type_ else match[0]

    return _TOKEN.sub(rewrite, line)


def _spell(number: str, type_: str) -> str:
    bits = _bits(number, _FORMATS[type_])
    return _FORMATS[type_].spelling.format(_as_double(bits) if type_ == "float" else bits)


def _bits(number: str, format_: _Format) -> int:
    if number.startswith("f0x"):
        return int(number[3:], 16)
    special = _SPECIAL.fullmatch(number)
    return format_.special(*special.groups()) if special else format_.nearest(number)


def _as_double(bits: int) -> int:
    """Return the bits of a double equal to a float. A NaN keeps its payload."""
    single, double = _FORMATS["float"], _FORMATS["double"]
    sign, rest = bits >> 31, bits & 0x7FFFFFFF
    exponent, mantissa = rest >> 23, rest & 0x7FFFFF
    if exponent == 0 and mantissa:
        shift = 24 - mantissa.bit_length()
        exponent, mantissa = 1 - shift, (mantissa << shift) & 0x7FFFFF
    if rest == 0:
        return double.sign(bool(sign))
    field = (1 << double.exponent_bits) - 1 if rest >= single.infinity else exponent + 1023 - 127
    return double.sign(bool(sign)) | (field << double.mantissa_bits) | (mantissa << (52 - 23))
