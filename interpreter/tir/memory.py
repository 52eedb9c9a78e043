# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints about memory, which mean nothing."""

from __future__ import annotations

from ..registry import register_step
from ..sites import Site, Step


@register_step("tir.prefetch")
def prefetch(site: Site) -> Step:
    return lambda frame, *operands: None
