# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations."""

from __future__ import annotations

from typing import Any

from ..core.rows import row

_CHANNELS = "4:F 4:F 4:F 4:F[0.1,2]"
_IMAGES = "b,4,h,w:F 4:F 4:F"
_AXES: dict[str, Any] = {"channel_axis": 1, "axes": [2, 3]}
_PLAIN: dict[str, Any] = {"center": False, "scale": False}

ROWS = (
    row("nn.batch_norm", f"b,4,h,w:F {_CHANNELS}", axis=1, training=False),
    row("nn.batch_norm", f"b,4,h,w:F {_CHANNELS}", "in training", axis=1, momentum=0.3),
    row("nn.batch_norm", f"b,h,4:F {_CHANNELS}", "of the last", axis=-1, training=False, epsilon=1e-3),
    row("nn.batch_norm", f"b,4,h,w:F {_CHANNELS}", "without gamma and beta", axis=1, training=False, **_PLAIN),
    row("nn.batch_norm", f"b,4,h,w:F {_CHANNELS.replace(' ', '! ')}!", "known", axis=1, training=False),
    row("nn.layer_norm", "n,k:F k:F k:F", axes=[-1]),
    row("nn.layer_norm", "n,m,k:F m,k:F m,k:F", "of two", axes=[-2, -1]),
    row("nn.layer_norm", "n,m,k:F m:F m:F", "in the middle", axes=[1], epsilon=1e-3),
    row("nn.layer_norm", "n,k:F k:F k:F", "without gamma and beta", axes=[1], **_PLAIN),
    row("nn.layer_norm", "5,770:F 770:F! 770:F!", "of long rows", axes=[-1]),
    row("nn.rms_norm", "n,k:F k:F"),
    row("nn.rms_norm", "n,m,k:F m,k:F", "of two", axes=[1, 2], epsilon=1e-3),
    row("nn.rms_norm", "n,m,k:F m:F", "in the middle", axes=[-2]),
    row("nn.rms_norm", "5,770:F 770:F!", "of long rows"),
    row("nn.group_norm", _IMAGES, num_groups=2, **_AXES),
    row("nn.group_norm", _IMAGES, "of one group", num_groups=1, **_AXES),
    row("nn.group_norm", _IMAGES, "of all groups", num_groups=4, **_AXES),
    row("nn.group_norm", "b,h,6:F 6:F 6:F", "of the last", num_groups=3, channel_axis=-1, axes=[1]),
    row("nn.group_norm", _IMAGES, "without gamma and beta", num_groups=2, **_AXES, **_PLAIN),
    row("nn.instance_norm", _IMAGES, **_AXES),
    row("nn.instance_norm", "b,h,4:F 4:F 4:F", "of the last", channel_axis=2, axes=[1], epsilon=1e-3),
    row("nn.instance_norm", _IMAGES, "without beta", **_AXES, center=False),
)
