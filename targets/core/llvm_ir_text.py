# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM IR as MLIR's LLVM prints it, for the older LLVM of llvmlite: their texts differ in floating-point constants.

The newer one writes decimals that are as short as the type allows, `+inf`, `-qnan`, `+snan(0x1)`, and `f0x3F800000`,
the bits. The older one takes bits only, in a spelling for each type: those of the double for float, too.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_NUMBER = re.compile(r"(?<![\w.])(?:f0x[0-9A-Fa-f]+|[+-](?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\))|-?\d+\.\d+(?:e[+-]?\d+)?)")
# What is read over comes first: texts, comments, and names, which may look like types and numbers.
_TOKEN = re.compile(
    rf"""(?:c?"[^"]*"|;.*|[%@$!\#]"[^"]*"|[%@$!\#][-\w.$]*)
    |\b(?P<type>half|bfloat|float|double)\b
    |(?P<number>{_NUMBER.pattern})""",
    re.VERBOSE,
)
_SPECIAL = re.compile(r"([+-])(inf|qnan|snan|nan)(?:\(0x([0-9A-Fa-f]+)\))?")


@dataclass(frozen=True)
class _Format:
    """An IEEE format: sizes of its parts, and how the older LLVM spells its bits."""

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
        """The bits of the number nearest to a decimal, the even one of two."""
        from fractions import Fraction  # where code is for other machines alone

        value = abs(Fraction(decimal))
        bias = (1 << (self.exponent_bits - 1)) - 1
        exponent = max(1 - bias, math.frexp(value)[1] - 1) if value else 1 - bias
        steps = round(value / Fraction(2) ** (exponent - self.mantissa_bits))
        # A normal number's leading one adds one to the exponent's field, and so does rounding up to the next power.
        return self.sign(decimal.startswith("-")) | (((exponent + bias - 1) << self.mantissa_bits) + steps)


_FORMATS = {
    "half": _Format(5, 10, "0xH{:04X}"),
    "bfloat": _Format(8, 7, "0xR{:04X}"),
    "float": _Format(8, 23, "0x{:016X}"),
    "double": _Format(11, 52, "0x{:016X}"),
}


def for_older_llvm(text: str) -> str:
    """The text with every floating-point constant as bits. Few lines have any; their types stand in the same lines."""
    return "\n".join([_rewritten(line) if _NUMBER.search(line) else line for line in text.split("\n")])


def _rewritten(line: str) -> str:
    type_ = ""

    def rewrite(match: re.Match[str]) -> str:
        nonlocal type_
        type_ = match["type"] or type_
        # In `fadd float %x, 0.5` and `phi float [ 0.5, %a ]` the type stands before, once.
        return _spelled(match["number"], type_) if match["number"] and type_ else match[0]

    return _TOKEN.sub(rewrite, line)


def _spelled(number: str, type_: str) -> str:
    bits = _bits(number, _FORMATS[type_])
    return _FORMATS[type_].spelling.format(_as_double(bits) if type_ == "float" else bits)


def _bits(number: str, format_: _Format) -> int:
    if number.startswith("f0x"):
        return int(number[3:], 16)
    special = _SPECIAL.fullmatch(number)
    return format_.special(*special.groups()) if special else format_.nearest(number)


def _as_double(bits: int) -> int:
    """The bits of the double of the same value as a float; a NaN keeps its payload."""
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
