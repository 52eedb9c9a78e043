# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converters of backward steps of normalizations that torch does not decompose."""

from __future__ import annotations

from ..prelude import backward_of, register_rows

register_rows(
    {
        "aten::_weight_norm_interface_backward": backward_of(
            "aten::_weight_norm_interface", "v", "g", arriving="grad_w", v="saved_v", g="saved_g"
        )
    }
)
