# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: E501  # a table of one line per row reads best
"""Attention with keys and values in pages, and writes to pages."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

#: Pages of two sequences. Tokens are parts of a prompt and single tokens; one of them sees no key.
_SEEN: dict[int, Any] = {3: ((2, 0, 3), (1, 4, 0)), 4: (0, 0, 0, 1, 1), 5: (9, 10, 11, 6, 0)}
_INDICES = "2,3:i32 5:i32 5:i32"
_FLOATS = f"5,4,k:R 5,4,2,k:R 5,4,2,k:R {_INDICES}"
_CODES = f"5,4,k:R 5,4,2,k:i8 5,4,2,k:i8 {_INDICES} 5,4,2:f32[0,0.02] 5,4,2:f32[0,0.02]"
_MANY: dict[int, Any] = {3: (tuple(range(9)),), 4: (0,) * 33, 5: tuple(range(110, 143))}
_WRITTEN: dict[int, Any] = {2: (5, -1, 11)}

ROWS = (
    row("paged_attention", f"{_FLOATS} - - -", given=_SEEN),
    row("paged_attention", f"5,2,k:R 5,4,2,k:R 5,4,2,d:R {_INDICES} - - -", "of values of another size", given=_SEEN),
    row("paged_attention", f"5,4,k:R 5,4,1,k:f16 5,4,1,k:f16 {_INDICES} - - -", "of pages of f16", given=_SEEN, scale=0.5),
    row("paged_attention", f"{_CODES} -", "of pages of integers", given=_SEEN),
    row("paged_attention", f"{_FLOATS} - - 4:f32", "with sinks", given=_SEEN),
    row("paged_attention", f"{_FLOATS} - - -", "in a window", given=_SEEN, window_size=4),
    row("paged_attention", f"{_FLOATS} - - -", "with bounded scores", given=_SEEN, softcap=2.0),
    row("paged_attention", "33,6,24:R 9,16,2,24:R 9,16,2,24:R 1,9:i32 33:i32 33:i32 - - -", "of many tokens", given=_MANY),
    row("append_pages", "3,4,2,k:R 3,2,k:R 3:i32", given=_WRITTEN),
    row("append_pages", "3,4,2,k:bf16 3,2,k:R 3:i32", "of another type", given=_WRITTEN),
    row("append_pages_quantized", "3,4,2,k:i8 3,4,2:f32 3,2,k:R 3:i32", given={3: (5, -1, 11)}),
)  # fmt: skip
