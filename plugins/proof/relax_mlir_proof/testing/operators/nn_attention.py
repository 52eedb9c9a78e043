# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Attention."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

_MASKS: dict[str, dict[str, Any]] = {"causal": {"causal_mask": "TopLeft"}, "causal from the last": {"causal_mask": "BottomRight"},
          "scaled": {"scale": 0.5}, "in a window": {"window_size": 2, "causal_mask": "BottomRight"},
          "blind": {"causal_mask": "BottomRight", "blind": "nan"}}  # fmt: skip
_ALIKE = "b,m,2,k:R b,m,2,k:R b,m,2,k:R"
_CACHED = "b,n,2,k:R b,2,9,k:R b,2,9,k:R"
_SEQUENCES = "1,7,2,4:R 1,7,2,4:R 1,7,2,4:R 3:i32"

ROWS = (
    row("nn.attention", _ALIKE),
    row("nn.attention", "b,n,2,k:R b,m,2,k:R b,m,2,d:R", "of other keys"),
    row("nn.attention", "b,n,4,k:R b,m,2,k:R b,m,2,k:R", "of grouped heads"),
    row("nn.attention", "1,1,4,16:R 1,37,4,16:R 1,37,4,16:R", "of one row"),
    row("nn.attention", "1,70,2,16:R 1,70,2,16:R 1,70,2,16:R", "of many rows", causal_mask="TopLeft"),
    *(row("nn.attention", "b,n,2,k:R b,m,2,k:R b,m,2,k:R", name, **mask) for name, mask in _MASKS.items()),
    *(row("nn.attention", "b,m,2,k:R b,n,2,k:R b,n,2,k:R", f"{name} of fewer keys", **mask) for name, mask in _MASKS.items()),
    row("nn.attention_bias", "b,n,2,k:R b,m,2,k:R b,m,2,k:R b,2,n,m:R"),
    row("nn.attention_bias", "b,n,2,k:R b,m,2,k:R b,m,2,k:R 1,1,n,m:R", "broadcast"),
    row("nn.attention_bias", "b,n,2,k:R b,m,2,k:R b,m,2,k:R b,1,1,m:R", "of keys", causal_mask="TopLeft", scale=0.25),
    row("nn.attention_cached", f"{_CACHED} -", length=6),
    row("nn.attention_cached", f"{_CACHED} 1,2,n,6:R", "with a bias", length=6),
    row("nn.attention_cached", "b,1,4,k:R b,2,9,k:R b,2,9,k:R -", "of grouped heads", length=9, scale=0.5),
    *(row("nn.attention_cached", f"{_CACHED} -", name, length=6, **mask) for name, mask in _MASKS.items()),
    row("nn.attention_var_len", f"{_SEQUENCES} - 1:i32 -", given={3: (0, 3, 7), 4: (4,)}),
    row("nn.attention_var_len", "1,7,2,4:R 1,9,2,4:R 1,9,2,4:R 3:i32 3:i32 1:i32 1:i32", "of other keys",
        given={3: (0, 3, 7), 4: (0, 5, 9), 5: (4,), 6: (5,)}, causal_mask="BottomRight"),
    row("nn.attention_var_len", f"{_SEQUENCES} - 1:i32 -", "with an empty one", given={3: (0, 0, 7), 4: (7,)}, scale=0.5),
)  # fmt: skip
