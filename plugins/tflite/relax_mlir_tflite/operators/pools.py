# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling operators on images in a layout with the channels last."""

from __future__ import annotations

from typing import Any

from ..prelude import Outputs, Tensor, TfliteNode, register_tflite, relax
from .activations import activated
from .convolutions import windows_of


def _settings(node: TfliteNode) -> dict[str, Any]:
    if node.rank(0) != 4:
        raise node.fail(f"expected images of 4 dimensions, got {node.rank(0)}")
    windows = windows_of(node, node.sizes_of(0)[1:3], [node.attr("filter_height"), node.attr("filter_width")])
    if not windows.is_fixed:
        raise node.fail("the sizes of its images are not known at import, which its padding requires")
    return {
        "pool_size": list(windows.kernel),
        "strides": list(windows.strides),
        "padding": [*windows.before, *windows.after],
        "layout": "NHWC",
    }


def _mean(node: TfliteNode, x: Tensor) -> Tensor:
    """Return the mean of the data in each window. Padding does not count."""
    return relax.nn.avg_pool2d(x, **_settings(node), count_include_pad=False)


@register_tflite("AVERAGE_POOL_2D")
def average_pool(node: TfliteNode) -> Outputs:
    return activated(node, _mean(node, node.tensor(0)))


@register_tflite("MAX_POOL_2D")
def max_pool(node: TfliteNode) -> Outputs:
    return activated(node, relax.nn.max_pool2d(node.tensor(0), **_settings(node)))


@register_tflite("L2_POOL_2D")
def l2_pool(node: TfliteNode) -> Outputs:
    return activated(node, relax.sqrt(_mean(node, relax.square(node.tensor(0)))))
