# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dialect tir: intrinsics and calls of tensor programs. `tir.exp(x)` builds an operation."""

from __future__ import annotations

from typing import Any

from ..core.dialect import OpNamespace
from . import (  # noqa: F401  # importing a family declares its operators
    assertion,
    calls,
    float_binary,
    float_unary,
    integer,
    memory,
    numeric,
    predicates,
    results,
    warp,
)
from .declare import declare_intrinsic
from .dialect import tir as dialect

_namespace = OpNamespace(dialect)


def __getattr__(name: str) -> Any:
    found = getattr(_namespace, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*dir(_namespace), "declare_intrinsic", "dialect"]


__all__ = ["declare_intrinsic", "dialect"]
