# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluations of operators that create tensors from numbers and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....dialects.core.infos import is_float
from ....dialects.relax.known_constants import NUMPY_NAME
from ..elements import NotKnown, is_symbolic, objects
from ..registry import EvaluationCall, register_evaluation
from .moving import known_shape

if TYPE_CHECKING:
    from numpy import ndarray


@register_evaluation(["relax.full", "relax.full_like"], symbols=True)
def full(call: EvaluationCall, shape: object, number: ndarray) -> ndarray:
    import numpy

    if not is_symbolic(number) and number.dtype != NUMPY_NAME.get(call.result.dtype):
        raise NotKnown
    return numpy.broadcast_to(number, known_shape(call))


def _make_fill_rule(number: int) -> Callable[..., object]:
    def rule(call: EvaluationCall, shape: object) -> ndarray | None:
        import numpy

        name = NUMPY_NAME.get(call.result.dtype)
        return None if name is None else numpy.full(known_shape(call), number, name)

    return rule


register_evaluation(["relax.zeros", "relax.zeros_like"], symbols=True)(_make_fill_rule(0))
register_evaluation(["relax.ones", "relax.ones_like"], symbols=True)(_make_fill_rule(1))


@register_evaluation("relax.arange")
def arange(call: EvaluationCall, start: ndarray, end: ndarray, step: ndarray) -> ndarray:
    """Evaluate integer ranges. The program counts floats by rounded multiples of the step."""
    if is_float(call.result.dtype) or any(array.dtype.kind not in "iu" for array in (start, end, step)) or not step:
        raise NotKnown
    return objects(range(int(start), int(end), int(step)))


@register_evaluation("relax.shape_to_tensor", symbols=True)
def shape_to_tensor(call: EvaluationCall, dims: ndarray | None) -> ndarray | None:
    return dims


@register_evaluation("relax.scalar_to_tensor")
def scalar_to_tensor(call: EvaluationCall, number: ndarray) -> ndarray | None:
    return number if number.dtype == NUMPY_NAME.get(call.result.dtype) else None
