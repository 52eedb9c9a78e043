# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Target default, the fallback of all other targets."""

from __future__ import annotations

from ..core.registry import DEFAULT, Target

_FAMILIES = ("", "_representation", "_integer")

_OPERATORS = (
    "activation",
    "all_class_non_max_suppression",
    "astype",
    "attention",
    "conv",
    "creation",
    "decompositions",
    "elementwise",
    "grid_sample",
    "indexing",
    "joining",
    "layout",
    "linear_algebra",
    "loss",
    "manipulate",
    "nbits",
    "non_max_suppression",
    "norm",
    "pad",
    "pages",
    "pool",
    "quantize",
    "reduction",
    "requantize",
    "reshape",
    "resize",
    "roi",
    "scatter",
    "search",
    "select",
    "softmax",
    "sort",
    "unique",
    "vision",
)

TARGET = Target(
    DEFAULT,
    rule_modules=(
        *(f"{__package__}.intrinsics{family}" for family in _FAMILIES),
        *(f"{__package__}.legalize_{family}" for family in _OPERATORS),
    ),
    doc="Rules that are correct on every target.",
)
