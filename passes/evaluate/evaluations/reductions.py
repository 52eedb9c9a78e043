# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations of integer reductions, in any order. Floats are left to the program, which rounds in its own order."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import ratios
from ..elements import NotKnown, is_symbolic
from ..registry import EvaluationCall, register_evaluation

if TYPE_CHECKING:
    from numpy import ndarray


def _reduction(ufunc: str, of_booleans: str, of_objects: Callable[[object, object], object]) -> Callable[..., object]:
    def rule(call: EvaluationCall, x: ndarray) -> ndarray:
        import numpy

        axes = range(x.ndim) if call.axis is None else sorted(axis % x.ndim for axis in call.axis)
        if is_symbolic(x):
            combine = numpy.frompyfunc(lambda left, right: of_objects(ratios.size(left), ratios.size(right)), 2, 1)
        elif x.dtype.kind == "f" or x.size == 0:
            raise NotKnown
        else:
            combine = getattr(numpy, of_booleans if x.dtype.kind == "b" else ufunc)
        for axis in reversed(axes):
            x = combine.reduce(x, axis=axis, keepdims=call.keepdims, dtype=x.dtype)
        return x

    return rule


for _name, _row in {
    "sum": ("add", "logical_or", operator.add),
    "prod": ("multiply", "logical_and", operator.mul),
    "max": ("maximum", "logical_or", ratios.larger),
    "min": ("minimum", "logical_and", ratios.smaller),
}.items():
    register_evaluation(f"relax.{_name}", symbols=True)(_reduction(*_row))
