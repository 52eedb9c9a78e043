# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Operators that read or write elements at indices."""

from __future__ import annotations

from ..core.rows import row

_LAST = 2**63 - 1
#: By name: axes, begin, end, strides of a slice of n,8.
_SLICES = {
    "columns": ((1,), (2,), (6,), None), "by 3": ((1,), (0,), (_LAST,), (3,)), "from behind": ((-1,), (-3,), (-1,), None),
    "back": ((1,), (6,), (1,), (-2,)), "all back": ((1,), (-1,), (-_LAST - 1,), (-1,)),
    "of both": ((0, 1), (1, 1), (_LAST, 7), (1, 2)), "of nothing": ((1,), (4,), (4,), None),
    "outside": ((1,), (-20,), (20,), None), "behind the end": ((1,), (9,), (12,), None),
}  # fmt: skip
_WRITES = "update add mul max min"

ROWS = (
    row("take", "n,m:A m:i64[0,n]", axis=0),
    row("take", "n,m,k:N 3,2:i32[0,m]", "in the middle", axis=1),
    row("take", "n,m:F :i64[0,m]", "of one index", axis=-1),
    row("take", "n,m:F 4:i64[0,n*m]", "of all"),
    row("take", "30,m:F b,n:i64[0,30]", "of rows", axis=0),
    row("take", "n,m:F 5:i64[-n,n]!", "of known ones", axis=0),
    *(row("take", "n,m:F 7:i64[-20,20]", mode, axis=1, mode=mode) for mode in ("clip", "wrap", "nan")),
    row("strided_slice", "n,8:A", axes=[0], begin=[1], end=[3]),
    *(row("strided_slice", "n,8:N", name, axes=axes, begin=begin, end=end, strides=strides)
      for name, (axes, begin, end, strides) in _SLICES.items()),
    row("strided_slice", "n,8:F", "inside", axes=[1], begin=[1], end=[5], assume_inbound=True),
    row("strided_slice", "b,4,h,w:F", "of images", axes=[2, 3], begin=[0, 1], end=[_LAST, _LAST], strides=[2, 2]),
    row("dynamic_strided_slice", "n,m:A 2:i64 2:i64 2:i64", given={1: (0, 1), 2: (3, 5), 3: (1, 2)}),
    row("dynamic_strided_slice", "3,8:F 2:i64 2:i64 2:i64", "back", given={1: (2, 6), 2: (-9, 1), 3: (-1, -2)}),
    row("dynamic_strided_slice", "n,m:F 2:i64 2:i64 2:i64", "outside", given={1: (-9, 1), 2: (99, 99), 3: (2, 3)}),
    row("dynamic_strided_slice", "n,8:F 2:i64! 2:i64! 2:i64!", "of known bounds", given={1: (0, 1), 2: (2, 7), 3: (1, 2)}),
    row("gather_elements", "n,m:A n,2:i64[0,m]", axis=1),
    row("gather_elements", "n,m:N 2,m:i32[0,n]", "first", axis=0),
    row("gather_elements", "n,m,k:F n,m,4:i64[-k,k]", "from behind", axis=-1),
    row("gather_nd", "n,m:A 4,1:i64[0,n]"),
    row("gather_nd", "n,n:F 4,2:i64[0,n]", "of elements"),
    row("gather_nd", "b,m,k:N b,3,1:i64[0,m]", "of batches", batch_dims=1),
    row("gather_nd", "n,m,k:F 2,3,1:i32[0,n]", "of slices"),
    row("index_tensor", "n,n:A (4:i64[0,n] 4:i64[0,n])"),
    row("index_tensor", "n,m:F (3,1:i64[0,n])", "of rows"),
    row("index_tensor", "n,n,k:N (3,1:i64[0,n] 4:i32[0,n])", "broadcast"),
    row("index_tensor", "n,m:F (4:i64[-n,n])", "from behind"),
    row("reverse_sequence", "n,m:A n:i64[1,m+1]"),
    row("reverse_sequence", "n,m,k:F m:i32[1,n+1]", "by columns", seq_axis=0, batch_axis=1),
    row("reverse_sequence", "n,m,k:F k:i64[1,m+1]", "by the last", seq_axis=-2, batch_axis=-1),
    row("index_put", "5,m:A (3:i64) 3,m:A", given={1: (4, 0, 2)}),
    row("index_put", "5,6:F (3:i64 3:i64) 3:F", "of elements", given={1: (4, 0, 2), 2: (5, 1, 1)}),
    row("index_put", "5,6:F (3:i64 3:i64) :F", "of one number", given={1: (4, 0, -2), 2: (5, -1, 1)}),
    row("index_put", "5,6:N (4:i64 4:i64) 4:N", "added", given={1: (4, 0, 2, 4), 2: (5, 1, 1, 5)}, accumulate=True),
    row("scatter_elements", "5,4:A 2,3:i64 2,3:A", axis=0, given={1: ((4, 0, 2), (1, 3, 0))}),
    *(row("scatter_elements", "5,4:N 2,3:i64 2,3:N", f"{name} once", given={1: ((3, 0, 2), (1, 3, 0))}, axis=1, reduction=name)
      for name in (*_WRITES.split(), "mean")),
    *(row("scatter_elements", "n,5:N n,3:i64[0,5] n,3:N", name, axis=-1, reduction=name) for name in _WRITES.split()[1:]),
    row("scatter_elements", "5,4:F 2,3:i32 2,3:F", "from behind", given={1: ((-1, 0, -3), (1, 3, 0))}),
    row("scatter_nd", "5,m:A 3,1:i64 3,m:A", given={1: ((4,), (0,), (2,))}),
    row("scatter_nd", "5,6:F 3,2:i64 3:F", "of elements", given={1: ((4, 5), (0, 1), (2, 1))}),
    *(row("scatter_nd", "n,m:N 4,1:i64[0,n] 4,m:N", name, reduction=name) for name in _WRITES.split()[1:]),
    row("slice_scatter", "n,6:A n,3:A", start=0, end=6, step=2, axis=1),
    row("slice_scatter", "6,m:F 2,m:F", "first", start=1, end=3, step=1),
    row("slice_scatter", "n,8:N n,3:N", "from behind", start=-5, end=-2, step=1, axis=-1),
)  # fmt: skip
