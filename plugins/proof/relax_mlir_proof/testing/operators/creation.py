# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors made from shapes and numbers."""

from __future__ import annotations

from ..core.rows import row

ROWS = (
    row("full", "shape(n,m) :F"),
    row("full", "shape(n,m) :I", "of integers"),
    row("full", "shape(n,2*m) :i1", "of truth values"),
    row("full", "shape(2,3,m) :f32[-9,9]", "of another type", dtype="f16"),
    row("full", "shape(n,m) =7:i64", "of a constant"),
    row("full_like", "n,m:A :f32[0,9]"),
    row("full_like", "n,m,2:F =2.5:f64", "of another type", dtype="i32"),
    *(
        row(name, "shape(n,m)", dtype, dtype=dtype)
        for name in ("zeros", "ones")
        for dtype in "f32 bf16 i64 ui8 i1".split()
    ),
    *(row(f"{name}_like", "n,m:A") for name in ("zeros", "ones")),
    *(row(f"{name}_like", "n,m:f32", "of another type", dtype="i8") for name in ("zeros", "ones")),
    row("arange", "", start=0, end=17, step=1),
    row("arange", "", "back", start=9, end=-4, step=-3),
    row("arange", "", "of nothing", start=3, end=3),
    row("arange", "", "of floats", start=0.5, end=4.0, step=0.75),
    row("arange", "", "of halves", start=0, end=9, step=2, dtype="f16"),
    row("arange", "", "of bytes", start=0, end=9, dtype="i8"),
    row("eye", "", n=4),
    row("eye", "", "above", n=3, m=5, k=2, dtype="f64"),
    row("eye", "", "below", n=5, m=3, k=-1, dtype="i32"),
    row("eye", "", "nowhere", n=3, m=3, k=7, dtype="i1"),
    row("eye_like", "n,m:N"),
    row("eye_like", "n,m:f32", "above", k=1, dtype="i64"),
    *(row(name, "n,m:A") for name in ("tril", "triu")),
    *(row(name, "b,n,m:A", f"diagonal {k}", k=k) for name in ("tril", "triu") for k in (-2, -1, 1, 3, 99)),
    row("one_hot", "n:i64[0,5]", on_value=1.0, off_value=0.0, depth=5),
    row("one_hot", "n,m:i32[0,3]", "in front", on_value=2, off_value=-1, depth=3, axis=0),
    row("one_hot", "n,m:i8[0,4]", "in the middle", on_value=1.5, off_value=0.5, depth=4, axis=1),
    row("one_hot", "n:i64[3,9]", "outside", on_value=1.0, off_value=0.0, depth=5),
    row("hamming_window", "", window_size=8, periodic=True, alpha=0.54, beta=0.46, dtype="f32"),
    row("hamming_window", "", "symmetric", window_size=9, periodic=False, alpha=0.5, beta=0.5, dtype="f64"),
    row("hamming_window", "", "of halves", window_size=5, periodic=True, alpha=0.54, beta=0.46, dtype="f16"),
)
