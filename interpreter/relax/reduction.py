# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over axes and scans along one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from ..registry import register_reference

if TYPE_CHECKING:
    from numpy import ndarray


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Over the axes of the call; booleans stay what they are."""

    def reduced(call: Any, x: ndarray) -> Any:
        return function(x, axis=call.axis, keepdims=call.keepdims).astype(x.dtype)

    return reduced


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": numpy.sum, "prod": numpy.prod, "mean": numpy.mean, "std": numpy.std, "variance": numpy.var,
}  # fmt: skip
for _name, _function in _FUNCTIONS.items():
    register_reference(f"relax.{_name}")(_reduction(_function))
