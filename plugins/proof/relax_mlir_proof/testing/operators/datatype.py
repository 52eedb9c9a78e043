# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types."""

from __future__ import annotations

from ..core.rows import row

_TYPES = "f32 f64 f16 bf16 i8 i16 i32 i64 ui8 ui16 ui32 ui64 i1".split()
_BITS = (
    "f32 i32",
    "i32 f32",
    "f64 i64",
    "i64 f64",
    "f16 i16",
    "bf16 i16",
    "ui16 bf16",
    "i8 ui8",
    "ui8 i8",
    "ui8 i1",
    "i1 i8",
)

ROWS = (
    row("astype", "n,m:A[0,9]", dtype="f32"),
    *(row("astype", f"3,11:{source}[0,9]", f"to {dtype}", dtype=dtype) for source in _TYPES for dtype in _TYPES),
    *(row("astype", f"n,m:{source}[-99,99]", f"with signs to {dtype}", dtype=dtype)
      for source in ("f32", "f64", "f16", "i32") for dtype in ("f32", "f16", "bf16", "i8", "i32", "i64")),
    *(row("astype", f"n,m:{source}", f"narrower to {dtype}", dtype=dtype)
      for source, dtype in (("f64", "f32"), ("f32", "f16"), ("f32", "bf16"), ("f64", "bf16"), ("bf16", "f16"))),
    row("astype", "n,m:F", "to truth", dtype="i1"),
    row("astype", "n,m:i64[-999,999]", "wrapped", dtype="i8"),
    row("astype", "n,m:i32[-999,999]", "wrapped without sign", dtype="ui8"),
    row("astype", "n,m:i64[-99999999999,99999999999]", "rounded", dtype="f32"),
    *(row("bitcast", f"n,m:{source}", f"to {dtype}", dtype=dtype) for source, dtype in map(str.split, _BITS)),
)  # fmt: skip
