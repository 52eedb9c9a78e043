# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar functions of one float."""

from __future__ import annotations

from typing import Any

import numpy

from ..registry import register_reference


@register_reference(["tir.exp", "tir.exp_below"])
def exp(call: object, x: Any) -> Any:
    return numpy.exp(x)
