# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's element types by number, as the dialects name them."""

from __future__ import annotations

from ...support.errors import RelaxError

_DTYPES = {
    1: "f32", 2: "ui8", 3: "i8", 4: "ui16", 5: "i16", 6: "i32", 7: "i64", 9: "i1", 10: "f16", 11: "f64",
    12: "ui32", 13: "ui64", 16: "bf16", 17: "f8E4M3FN", 18: "f8E4M3FNUZ", 19: "f8E5M2", 20: "f8E5M2FNUZ",
    21: "ui4", 22: "i4", 23: "f4E2M1FN", 24: "f8E8M0FNU", 25: "ui2", 26: "i2",
}  # fmt: skip
_REFUSED = {0: "undefined", 8: "string", 14: "complex64", 15: "complex128"}


def dtype_of(number: int) -> str:
    """The element type of a number in a model. Raises RelaxError for types that no tensor here can have."""
    if number not in _DTYPES:
        raise RelaxError(f"elements of type {_REFUSED.get(number, f'#{number}')} cannot be compiled")
    return _DTYPES[number]


def number_of(dtype: str) -> int:
    return next(number for number, known in _DTYPES.items() if known == dtype)
