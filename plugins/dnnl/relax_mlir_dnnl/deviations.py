# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Deviations of oneDNN's kernels, which are fast because they ignore NaN and infinities. No others are as fast."""

from __future__ import annotations

_COMPARING = "nn.relu clip maximum minimum nn.max_pool1d nn.max_pool2d nn.max_pool3d"
_ROWS = "nn.softmax nn.log_softmax"
_NEIGHBOURS = "image.resize2d image.resize3d"

DEVIATIONS = {
    f"relax.{name}": f"oneDNN's {name.rpartition('.')[2]} {why}"
    for names, why in (
        (_COMPARING, "returns the number that NaN is compared with"),
        (_ROWS, "of a row with NaN or infinity is not NaN everywhere"),
        ("exp", "of NaN is infinite"),
        ("rsqrt", "of minus infinity is 0"),
        ("nn.gelu", "of an infinity is NaN"),
        (_NEIGHBOURS, "skips neighbours with the weight 0, by which infinity becomes NaN"),
    )
    for name in names.split()
}
