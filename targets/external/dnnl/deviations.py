# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where oneDNN's kernels are fast because they do not look for NaN and infinities, and nothing else is as fast."""

from __future__ import annotations

_COMPARING = "nn.relu clip maximum minimum nn.max_pool1d nn.max_pool2d nn.max_pool3d"
_ROWS = "nn.softmax nn.log_softmax"
_NEIGHBOURS = "image.resize2d image.resize3d"

DEVIATIONS = {
    f"relax.{name}": f"oneDNN's {name.rpartition('.')[2]} {why}"
    for names, why in (
        (_COMPARING, "hands on the number that NaN is compared with"),
        (_ROWS, "of a row with NaN or infinity in it is not NaN at all of its places"),
        ("exp", "of NaN is infinite"),
        ("rsqrt", "of minus infinity is 0"),
        ("nn.gelu", "of an infinity is NaN"),
        (_NEIGHBOURS, "leaves out other neighbours by whose weight, 0, infinity is NaN"),
    )
    for name in names.split()
}
