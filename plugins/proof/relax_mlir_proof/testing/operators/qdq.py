# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantization."""

from __future__ import annotations

from relax_mlir.support.requantization import ROUNDINGS

from ..core.rows import row

_TYPES = {"i8": "-5", "ui8": "128", "i16": "300", "ui16": "3000", "i32": "0"}

ROWS = (
    row("quantize", "n,m:F[-20,20] =0.1:f32 =3:i8", out_dtype="i8"),
    *(row("quantize", f"n,m:f32 =0.05:f32 ={zero}:{dtype}", f"to {dtype}", out_dtype=dtype)
      for dtype, zero in _TYPES.items() if dtype != "i32"),
    row("quantize", "n,m:f32[-20,20] :f32[0.05,1] :i8[-4,5]", "by what is known at run time", out_dtype="i8"),
    row("quantize", "n,5:f32 5:f32[0.05,1]! 5:ui8[0,9]!", "by columns", axis=1, out_dtype="ui8"),
    row("quantize", "b,4,h,w:f32 4:f32[0.05,1] 4:i8[-4,5]", "by channels", axis=1, out_dtype="i8"),
    row("quantize", "3,4:f32 =0.5:f32 =0:i8", "of halves", axis=-1, out_dtype="i8",
        given={0: ((-1.25, -0.75, -0.25, 0.25), (0.75, 1.25, 1.75, 2.25), (63.75, 64.25, -64.25, 1e9))}),
    row("dequantize", "n,m:i8 =0.1:f32 =3:i8"),
    *(row("dequantize", f"n,m:{dtype} =0.05:f32 ={zero}:{dtype}", f"of {dtype}") for dtype, zero in _TYPES.items()),
    row("dequantize", "n,5:ui8[0,256] 5:f32[0.05,1]! 5:ui8[0,9]!", "by columns", axis=1),
    row("dequantize", "b,4,h,w:i8[-128,128] 4:f32[0.05,1] 4:i8[-4,5]", "by channels", axis=-3),
    row("dequantize", "n,m:i8[-128,128] :f16[0.05,1] :i8", "to halves", out_dtype="f16"),
    row("dequantize", "n,m:i8[-128,128]! :f32[0.05,1]! :i8!", "of known integers"),
    row("dequantize", "6,4,3,3:i8[-9,10]! =0.02:f32 =0:i8", "of a known kernel"),
    row("dequantize", "6,4,3,3:i8[-9,10]! 6:f32[0.01,0.1]! 6:i8[0,1]!", "of a known kernel by outputs", axis=0),
    row("dequantize", "8,5:i8[-9,10]! 5:f32[0.01,0.1]! 5:i8[0,1]!", "of a known matrix by columns", axis=1),
    row("dequantize", "6:i32[-99,99]! =0.002:f32 =0:i32", "of a known bias"),
    row("requantize", "n,m:i32[-9999,9999] =0.01:f32 =0:i32 =3:i8"),
    *(row("requantize", f"n,m:i32[-9999,9999] m:{dtype}[{2**(bits - 1)},{2**bits}]! m:i32[0,9]! m:i8[-4,5]!",
          f"by {form} of columns", form=form) for form, dtype, bits in (("q31", "i32", 30), ("q15", "i16", 14))),
    row("requantize", "n,m:i32[-9999,9999] =1:i32 m:i32[-2,9]! =128:ui8", "by powers of two", form="power_of_two",
        rounding="half_up", out_dtype="ui8"),
    *(row("requantize", "n,m:i32[-9999,9999] m:f32[0.001,0.1] =0:i32 m:i32[-4,5]", f"rounding {rounding}",
          rounding=rounding, saturate=rounding != "up") for rounding in ROUNDINGS),
    *(row("requantize", "b,4,h,w:i32 4:i32[1073741824,2147483647] 4:i32[-1,9] 4:i16[-9,10]", f"twice {rounding}",
          axis=1, form="q31", double_rounding=True, rounding=rounding, out_dtype="i16") for rounding in ROUNDINGS),
)  # fmt: skip
