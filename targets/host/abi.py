# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants of the packed-function ABI (tvm-ffi's C header and DLPack): type indices, offsets, element types."""

from __future__ import annotations

from ...dialects.core.infos import DTYPE_BY_NAME, bit_width, is_int, is_unsigned
from ...support.errors import RelaxError

# Prefix of an exported function's symbol.
EXPORT_PREFIX = "__tvm_ffi_"

# Type indices of TVMFFIAny.
NONE, INT, BOOL, FLOAT, TENSOR, ARRAY = 0, 1, 2, 3, 70, 71
RAW_STRING = 8  # a C string
OBJECT = -1  # __relax_call passes such a value unchanged
FIRST_OBJECT = 64  # from here on the payload is a counted reference

# TVMFFIAny is {i32 type index, i32 zero, 8 bytes of payload}.
ANY_SIZE, ANY_PAYLOAD = 16, 8

# Offsets in an array object: the address of its consecutive TVMFFIAny items, and their number.
SEQUENCE_DATA, SEQUENCE_SIZE = 24, 32

_FLOAT8_CODES = {
    "f8E3M4": 7, "f8E4M3": 8, "f8E4M3B11FNUZ": 9, "f8E4M3FN": 10, "f8E4M3FNUZ": 11,
    "f8E5M2": 12, "f8E5M2FNUZ": 13, "f8E8M0FNU": 14,
}  # fmt: skip
_BELOW_A_BYTE = frozenset(("i2", "ui2", "i4", "ui4", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"))
_INT_CODE, _UNSIGNED_CODE, _FLOAT_CODE, _BFLOAT_CODE, _BOOL_CODE = 0, 1, 2, 4, 6


def element_bytes(dtype: str) -> int:
    """Return the bytes of an element in memory. Raise RelaxError if tensors of this type cannot be passed."""
    dlpack_dtype(dtype)
    return -(-bit_width(dtype) // 8)


def dlpack_dtype(dtype: str) -> int:
    """Return the DLDataType of an element type as one little-endian i32: code, bits, lanes (1).

    Types of less than a byte map to uint8. DLPack packs int4 and similar types, whereas this project stores one element
    in the low bits of each byte.
    """
    code, bits = _code_and_bits(dtype)
    return code | bits << 8 | 1 << 16


def dlpack_name(dtype: str) -> str:
    """Return the DLPack and NumPy name of an element type, which callers can compare with the type of an argument."""
    code, bits = _code_and_bits(dtype)
    if code == _BOOL_CODE:
        return "bool"
    if code in (_INT_CODE, _UNSIGNED_CODE):
        return f"{'u' if code else ''}int{bits}"
    if code in (_FLOAT_CODE, _BFLOAT_CODE):
        return f"{'b' if code == _BFLOAT_CODE else ''}float{bits}"
    return f"float8_{dtype[2:].lower()}"


def padded_name(dtype: str) -> str:
    """Return the ml_dtypes name of an element type of less than a byte ("int4"), or an empty string for other types."""
    return next(name for name, known in DTYPE_BY_NAME.items() if known == dtype) if dtype in _BELOW_A_BYTE else ""


def _code_and_bits(dtype: str) -> tuple[int, int]:
    if dtype == "i1":
        return _BOOL_CODE, 8
    if dtype == "bf16":
        return _BFLOAT_CODE, 16
    if dtype in ("f16", "f32", "f64"):
        return _FLOAT_CODE, bit_width(dtype)
    if dtype in _FLOAT8_CODES:
        return _FLOAT8_CODES[dtype], 8
    if dtype in _BELOW_A_BYTE:
        return _UNSIGNED_CODE, 8
    if is_int(dtype) and bit_width(dtype) in (8, 16, 32, 64):
        return (_UNSIGNED_CODE if is_unsigned(dtype) else _INT_CODE), bit_width(dtype)
    raise RelaxError(
        f"tensors of {dtype} cannot be passed to or from a compiled function",
        notes=["possible are i1, i2, i4, i8 to i64, the same with ui, f16, bf16, f32, f64, f8, f6 and f4 types"],
    )
