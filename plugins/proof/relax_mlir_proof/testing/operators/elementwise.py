# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Elementwise functions, with and without broadcasting."""

from __future__ import annotations

from ..core.rows import row

_BROADCAST = {"a row": "n,m:{} m:{}", "a column": "n,m:{} n,1:{}", "both": "n,1:{} 1,m:{}", "a number": "n,m:{} :{}",
              "ranks": "k:{} b,n,1:{}", "a known number": "n,m:{} =3:{}", "channels": "b,4,h,w:{} 4,1,1:{}"}  # fmt: skip
_BOUNDS = {"acos": "[-1,1]", "asin": "[-1,1]", "atanh": "[-0.99,0.99]", "acosh": "[1,9]", "log": "[0.01,9]",
           "sqrt": "[0,9]", "rsqrt": "[0.01,9]", "tan": "[-1.4,1.4]"}  # fmt: skip
_WHOLE_LINE = "asinh atan cos cosh sin sinh tanh exp erf sigmoid isfinite isinf isnan"
_NUMBERS = "abs negative sign square ceil floor round trunc"
#: Operators for which a second integer of 0 is undefined.
_DIVISIONS = "divide floor_divide mod floor_mod"
_COMPARISONS = "equal not_equal less less_equal greater greater_equal"

ROWS = (
    *(row(name, "n,m:N") for name in _NUMBERS.split()),
    *(row(name, "k,m:f32[-5000000,5000000]", "of large numbers") for name in "ceil floor round trunc".split()),
    *(row(name, "n,m:F") for name in _WHOLE_LINE.split()),
    *(row(name, f"n,m:F{bounds}") for name, bounds in _BOUNDS.items()),
    *(row(name, "n,m:F", "everywhere") for name in _BOUNDS),
    *(row(name, "h,w:F[-50,50]", "far out") for name in "sin cos tanh exp erf sigmoid sinh".split()),
    *(row(name, ":F", "of one number") for name in "exp negative tanh round".split()),
    *(row(name, "b,n,d,w:F", "of four dimensions") for name in "exp abs sigmoid".split()),
    row("bitwise_not", "n,m:I"),
    row("bitwise_not", "n,m:i1", "of truth values"),
    row("logical_not", "n,m:i1"),
    *(row(name, "n,m:N n,m:N") for name in "add subtract multiply maximum minimum".split()),
    *(row(name, operands.format("N", "N"), f"with {what}")
      for name in ("add", "subtract", "multiply", "maximum") for what, operands in _BROADCAST.items()),
    *(row(name, "n,m:F n,m:F") for name in _DIVISIONS.split()),
    *(row(name, "n,m:I[1,99] n,m:I[1,9]", "of integers") for name in _DIVISIONS.split()),
    *(row(name, f"k,m:{dtype}[-99,99] k,m:{dtype}[-9,0]", "of negative integers")
      for name in _DIVISIONS.split() for dtype in ("i32", "i8", "i64")),
    *(row(name, f"k,m:{dtype}[-99,99] =7:{dtype}", "by a known number") for name in _DIVISIONS.split()
      for dtype in ("i32", "i64")),
    *(row(name, f"k,m:{dtype}[-99,99] =-8:{dtype}", "by a known power of two") for name in _DIVISIONS.split()
      for dtype in ("i32", "i8")),
    *(row(name, "n,m:F m:F[0.5,3]", "by a row") for name in _DIVISIONS.split()),
    row("power", "n,m:F[0.1,4] n,m:F"),
    row("power", "n,m:F n,m:F", "everywhere"),
    row("power", "n,m:I[0,5] n,m:I[0,4]", "of integers"),
    *(row("power", f"n,m:F ={number}:F", f"to {number}") for number in ("2", "3", "0.5", "-1", "0", "1")),
    row("atan2", "n,m:F n,m:F"),
    row("atan2", "n,m:F m:F", "with a row"),
    row("log_add_exp", "n,m:F n,m:F"),
    row("log_add_exp", "n,m:F[-60,60] n,1:F[-60,60]", "far apart"),
    *(row(name, "n,m:A[-2,3] n,m:A[-2,3]") for name in _COMPARISONS.split()),
    *(row(name, "n,m:F m:F", "everywhere") for name in _COMPARISONS.split()),
    *(row(name, f"n,m:{dtype}[0,200] n,m:{dtype}[0,200]", "without sign") for name in _COMPARISONS.split()
      for dtype in ("ui8", "ui32")),
    *(row(f"logical_{name}", "n,m:i1 n,m:i1") for name in ("and", "or", "xor")),
    *(row(f"logical_{name}", "b,n,m:i1 n,1:i1", "with a column") for name in ("and", "or", "xor")),
    *(row(f"bitwise_{name}", "n,m:I n,m:I") for name in ("and", "or", "xor")),
    *(row(f"bitwise_{name}", "n,m:i64 m:i64", "with a row") for name in ("and", "or", "xor")),
    *(row(f"bitwise_{name}", "n,m:i1 n,m:i1", "of truth values") for name in ("and", "or", "xor")),
    *(row(f"{way}_shift", "n,m:I n,m:I[0,7]") for way in ("left", "right")),
    *(row(f"{way}_shift", "n,m:i32[-99,99] m:i32[0,31]", "with signs") for way in ("left", "right")),
    *(row(f"{way}_shift", "n,m:ui16[0,60000] =3:ui16", "by a known number") for way in ("left", "right")),
    row("ewise_fma", "n,m:F n,m:F n,m:F"),
)  # fmt: skip
