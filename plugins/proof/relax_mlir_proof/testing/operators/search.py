# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# a table of one line per row reads best
"""Search, sort and selection."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

_ORDERS: dict[str, dict[str, Any]] = {
    "first": {"axis": 0},
    "descending": {"descending": True},
    "in the middle": {"axis": 1, "descending": True},
}
_UNIQUE: dict[str, Any] = dict.fromkeys(("return_index", "return_inverse", "return_counts"), True)

ROWS = (
    row("where", "n,m:i1 n,m:A n,m:A"),
    row("where", "n,1:i1 m:N n,m:N", "broadcast"),
    row("where", "n,m:i1 n,m:F =0:F", "with a known number"),
    row("where", "m:i1 n,m:F :F", "with a number"),
    row("clip", "n,m:N", min=0, max=5),
    row("clip", "n,m:F", "of fractions", min=-0.5, max=0.75),
    row("clip", "n,m:i32", "of integers", min=-3, max=4),
    row("clip", "n,m:F", "to one", min=0.0, max=1.0),
    row("clip", "n,m:F", "from below", min=0.0, max=float("inf")),
    row("sort", "n,m:N"),
    *(row("sort", "n,m,k:N", name, **order) for name, order in _ORDERS.items()),
    row("sort", "3,517:f32", "of long rows"),
    row("sort", "n,m:i1", "of truth values"),
    row("argsort", "n,m:N"),
    *(
        row("argsort", "n,m,k:N[-2,3]", f"{name} of equal ones", dtype="i64", **order)
        for name, order in _ORDERS.items()
    ),
    row("argsort", "3,517:f32", "of long rows"),
    row("topk", "n,8:N", k=3),
    *(
        row("topk", "n,8:N[-2,3]", f"{name} of equal ones", k=4, ret_type=name)
        for name in ("both", "values", "indices")
    ),
    row("topk", "5,m:F", "first", k=2, axis=0, dtype="i64"),
    row("topk", "n,8:F", "smallest", k=3, largest=False),
    row("topk", "n,m:F", "all", k=0),
    row("topk", "2,1031:f32", "of long rows", k=20),
    row("unique", "12:N[0,4]"),
    row("unique", "n,m:i64[0,4]", "of two dimensions"),
    *(row("unique", "12:i64[0,4]", flag, **{flag: value}) for flag, value in _UNIQUE.items()),
    row("unique", "6,2:i32[0,2]", "rows", axis=0),
    row("unique", "12:f32[0,4]", "with all", **_UNIQUE),
    row("nonzero", "n,m:A[0,2]"),
    row("nonzero", "n:i1", "of a vector"),
    row("nonzero", "b,n,m:i64[0,2]", "of three dimensions"),
    row("bucketize", "n,m:N 4:N^"),
    row("bucketize", "n,m:i32[0,6] 6:i32", "on boundaries", given={1: range(6)}),
    row("bucketize", "n,m:i32[0,6] 6:i32!", "on known boundaries", given={1: range(6)}, right=True, out_int32=True),
    row("multinomial_from_uniform", "4,m:F[0.1,1] n,1:F[0,1] n,1:i64[0,4]"),
    row("multinomial_from_uniform", "1,7:F[0.1,1] n,1:F[0,1] n,1:i64[0,1]", "of one row", dtype="i32"),
)
