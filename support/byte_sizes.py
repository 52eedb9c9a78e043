# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes in bytes as people and Linux write them."""

from __future__ import annotations

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MOST_DIGITS = 15


def byte_size(text: str) -> int | None:
    """`512`, `32K`, `4g`: bytes, units by powers of 1024. None for what is no size."""
    digits, unit = (text[:-1], _UNITS.get(text[-1].lower(), 0)) if text[-1:].isalpha() else (text, 1)
    if not (unit and digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS):
        return None
    return int(digits) * unit
