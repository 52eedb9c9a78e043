# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion between byte counts and text."""

from __future__ import annotations

_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MOST_DIGITS = 15
_NAMES = ("bytes", "KB", "MB", "GB", "TB")


def byte_size(text: str) -> int | None:
    """Parse a size such as `512`, `32K` or `4g` with units of powers of 1024. Return None for other text."""
    digits, unit = (text[:-1], _UNITS.get(text[-1].lower(), 0)) if text[-1:].isalpha() else (text, 1)
    if not (unit and digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS):
        return None
    return int(digits) * unit


def byte_text(count: int) -> str:
    """Format a byte count for people, such as `512 bytes` or `1.5 MB`, with units of powers of 1000."""
    number, unit = float(count), 0
    while number >= 1000 and unit < len(_NAMES) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.3g} {_NAMES[unit]}"
