# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules and schedules that all GPUs share."""

from __future__ import annotations

from ..core.registry import Target

_OPERATORS = (
    "all_class_non_max_suppression",
    "attention",
    "layout",
    "nbits",
    "non_max_suppression",
    "paged_attention",
    "scan",
    "scatter",
    "search",
    "sort",
    "unique",
    "vision",
)

TARGET = Target(
    "gpu",
    many_threads=True,
    rule_modules=tuple(f"{__package__}.legalize_{family}" for family in _OPERATORS),
    schedule_modules=(f"{__package__}.schedule",),
    doc="Processors with many threads in blocks and their own memory, controlled by a host.",
)
