# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators: numpy's functions, and what it has none for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from ..registry import register_reference


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, *operands: function(*operands)


for _name, _function in {"maximum": numpy.maximum, "minimum": numpy.minimum, "exp": numpy.exp}.items():
    register_reference(f"relax.{_name}")(_plain(_function))
