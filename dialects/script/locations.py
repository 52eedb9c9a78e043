# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of a model's nodes in locations; files and lines are left out."""

from __future__ import annotations

from typing import Any

from ...bindings.mlir import ir
from .text import one_line, shorten

_MOST_DEPTH = 8
_MOST_NAMES = 3
_MOST_NAME = 60


def location_name(location: Any, depth: int = 0) -> str:
    """The name, or the names of a fused location; empty where there is none."""
    if isinstance(location, ir.NameLoc):
        return _name(location)
    if depth > _MOST_DEPTH:
        return ""
    if isinstance(location, ir.CallSiteLoc):
        return location_name(location.callee, depth + 1)
    if not isinstance(location, ir.FusedLoc):
        return ""
    found = (location_name(inner, depth + 1) for inner in location.locations)
    names = list(dict.fromkeys(name for name in found if name))
    return " + ".join(names if len(names) <= _MOST_NAMES else [*names[:_MOST_NAMES], "..."])


def _name(location: Any) -> str:
    try:
        return shorten(one_line(location.name_str), _MOST_NAME)
    except RuntimeError:
        # Not UTF-8.
        return ""
