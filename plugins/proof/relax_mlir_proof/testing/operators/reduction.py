# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Reductions over axes, and scans along one axis."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

_ANY = "sum prod max min"
_FLOATS = "mean std variance"
_SEARCHES = "argmax argmin"
_AXES: dict[str, dict[str, Any]] = {"all": {}, "first": {"axis": [0]}, "last": {"axis": [-1]}, "kept": {"axis": [0, 2], "keepdims": True},
         "all kept": {"keepdims": True}, "two from behind": {"axis": [-1, -2]}}  # fmt: skip

ROWS = (
    *(row(name, "n,m,k:A[-2,3]", axis=[1]) for name in _ANY.split()),
    *(row(name, "n,m,k:F", axis=[1]) for name in _FLOATS.split()),
    *(row(name, "n,m,k:N", what, **axes)
      for name in ("sum", "max", "min") for what, axes in _AXES.items()),
    *(row(name, "n,m,k:F", what, **axes)
      for name in ("prod", *_FLOATS.split()) for what, axes in _AXES.items()),
    *(row(name, "b,n,m,w:i1", what, **axes) for name in ("sum", "prod") for what, axes in list(_AXES.items())[:3]),
    *(row(name, "4,1031:f32", "of long rows", axis=[1]) for name in (*_ANY.split(), *_FLOATS.split())),
    *(row(name, "1031,4:F", "of long columns", axis=[0]) for name in ("sum", "max", "mean", "variance")),
    *(row(name, ":F", "of one number") for name in ("sum", "mean", "max")),
    row("mean", "n,m,k:I[0,99]", "of integers", axis=[1]),
    row("sum", "9,40:i8[-99,99]", "wrapped", axis=[1]),
    *(row(name, "n,m:N", axis=1) for name in _SEARCHES.split()),
    *(row(name, "n,m,k:N[-2,3]", "of equal ones", axis=-1) for name in _SEARCHES.split()),
    *(row(name, "n,m,k:F", "first", axis=0, keepdims=True) for name in _SEARCHES.split()),
    *(row(name, "n,m,k:F", "of all") for name in _SEARCHES.split()),
    *(row(name, "3,517:f32", "of long rows", axis=1) for name in _SEARCHES.split()),
    row("median", "n,m:F", axis=[1]),
    row("median", "n,8:F", "of an even number", axis=[-1], keepdims=True),
    row("median", "n,m,k:F", "of two axes", axis=[0, 2]),
    row("median", "n,m:F", "of all"),
    row("median", "n,m:i32", "of integers", axis=[0]),
    *(row(name, "n,m:N", axis=1) for name in ("cumsum", "cumprod")),
    *(row(name, "n,m,k:F", "in the middle", axis=1) for name in ("cumsum", "cumprod")),
    *(row(name, "n,m,k:N", "exclusive", axis=-1, exclusive=True) for name in ("cumsum", "cumprod")),
    *(row(name, "n,m:F", "of all") for name in ("cumsum", "cumprod")),
    *(row(name, "n,m:F", "exclusive first", axis=0, exclusive=True) for name in ("cumsum", "cumprod")),
    row("cumsum", "n,m:i8", "of a wider type", axis=1, dtype="i32"),
    row("cumsum", "n,m:f16", "of wider floats", axis=0, dtype="f32"),
    row("cumsum", "n,m:i1", "of truth values", axis=1, dtype="i64"),
    row("cumsum", "3,1031:f32", "of long rows", axis=1),
)  # fmt: skip
