# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predicates of one float."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy
from relax_mlir.passes.evaluate.references import register_reference

from ..held_values import Elements
from ..special_functions import is_normal

if TYPE_CHECKING:
    from numpy import ndarray
    from relax_mlir.passes.evaluate.registry import EvaluationCall

_FUNCTIONS: dict[str, Callable[[ndarray], Elements]] = {
    "isfinite": numpy.isfinite, "isinf": numpy.isinf, "isposinf": numpy.isposinf, "isneginf": numpy.isneginf,
    "isnan": numpy.isnan, "signbit": numpy.signbit,
}  # fmt: skip
for _name, _function in _FUNCTIONS.items():
    register_reference(f"tir.{_name}")(lambda call, x, function=_function: function(x))


@register_reference("tir.isnormal")
def isnormal(call: EvaluationCall, x: ndarray) -> Elements:
    return is_normal(x, call.x.dtype)
