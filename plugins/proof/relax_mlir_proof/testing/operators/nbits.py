# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products with matrices of few bits per element."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

_OF_16: dict[str, Any] = {"block_size": 16}

ROWS = (
    row("matmul_nbits", "n,32:F 5,2,8:ui8[0,256] 5,2:F - -", **_OF_16),
    row("matmul_nbits", "n,32:F 5,2,8:ui8[0,256] 5,2:F 5,2:ui8[0,16] 5:F", "with zero points and a bias", **_OF_16),
    row("matmul_nbits", "n,32:F 5,2,8:ui8[0,256]! 5,2:F! 5,2:ui8[0,16]! -", "of known codes", **_OF_16),
    row("matmul_nbits", "n,64:F 5,2,32:ui8[0,256] 5,2:F - -", "of 8 bits", bits=8),
    row("matmul_nbits", "n,64:F 5,2,8:ui8[0,256] 5,2:F - -", "of 2 bits", bits=2),
    row("matmul_nbits", "b,n,50:F 7,2,16:ui8[0,256] 7,2:F - 7:F", "with a last block that is not full"),
    row("matmul_nbits", "1,128:F 37,4,16:ui8[0,256]! 37,4:F! - -", "of one row"),
    row("matmul_nbits", "n,32:F 5,2,8:ui8[0,256] 5,2:F 5,2:F -", "with zero points that are floats", **_OF_16),
    row("matmul_nbits", "n,32:F 5,2,8:ui8[0,256] 5,2:F - 5:F 5,2:F", "with offsets and a bias", **_OF_16),
    row("matmul_nbits", "n,64:F 5,4,8:ui8[0,256]! 5,4:ui8[0,64]! - - 5,4:ui8[0,64]! 5,2:F! 5,2:F!",
        "with scales of two levels", **_OF_16),
    row("matmul_nbits", "n,60:F 5,4,12:ui8[0,256] 5,4:i8[-32,32] - - - 5,1:F", "of 6 bits", bits=6, **_OF_16),
    row("matmul_nbits", "n,50:F 7,2,16:ui8[0,256] 7,2:F - 7:F", "of rounded rows", activation_bits=8),
    row("matmul_nbits", "n,64:F 5,4,8:ui8[0,256]! 5,4:ui8[0,64]! - - 5,4:ui8[0,64]! 5,2:F! 5,2:F!",
        "of rounded rows, with scales of two levels", activation_bits=8, **_OF_16),
    row("matmul_nbits_panels", "n,32:f32 2,4,32:ui8[0,256] 2,2,8:f32 - -", columns=13, lanes=8, **_OF_16),
    row("matmul_nbits_panels", "n,32:f32 2,4,32:ui8[0,256] 2,2,8:f32 2,2,8:ui8[0,16] 2,8:f32", "with all", columns=16,
        lanes=4, rows=2, **_OF_16),
    row("matmul_nbits_panels", "n,32:f32 2,4,32:ui8[0,256] 2,2,8:f32 2,2,8:ui8[0,16] -", "of rounded rows", columns=13,
        lanes=8, activation_bits=8, **_OF_16),
    row("matmul_nbits_panels", "n,32:f32 2,6,32:ui8[0,256] 2,2,8:i8[-32,32] - - 2,2,8:f32 2,1,8:f32", "of 6 bits",
        bits=6, columns=13, lanes=8, **_OF_16),
)  # fmt: skip
