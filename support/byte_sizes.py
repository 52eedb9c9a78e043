# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes in bytes as people and Linux write them."""

from __future__ import annotations

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MOST_DIGITS = 15
_NAMES = ("bytes", "KB", "MB", "GB", "TB")


def byte_size(text: str) -> int | None:
    """`512`, `32K`, `4g`: bytes, units by powers of 1024. None for what is no size."""
    digits, unit = (text[:-1], _UNITS.get(text[-1].lower(), 0)) if text[-1:].isalpha() else (text, 1)
    if not (unit and digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS):
        return None
    return int(digits) * unit


def byte_text(count: int) -> str:
    """`512 bytes`, `1.5 MB`: as people read it, units by powers of 1000."""
    number, unit = float(count), 0
    while number >= 1000 and unit < len(_NAMES) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.3g} {_NAMES[unit]}"
