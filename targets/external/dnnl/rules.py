# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What oneDNN has for each operator: why not for a given one, and the steps that it becomes."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.core.infos import TensorInfo
from ..core.operator_checks import OperatorChecks
from ..core.rules import Rules
from .machine import why_not_computed

FLOATS = ("f32", "bf16", "f16")
#: Dimensions that its fast kernels know.
_MOST_DIMENSIONS = 6


def _refuse_tensors(tensors: Sequence[TensorInfo], dtypes: tuple[str, ...]) -> str:
    return next(filter(None, (_refuse_tensor(info, dtypes) for info in tensors)), "")


def _refuse_tensor(info: TensorInfo, dtypes: tuple[str, ...]) -> str:
    if info.dtype not in dtypes:
        return f"oneDNN does not compute it with elements of {info.dtype}, only of {', '.join(dtypes)}"
    shape = info.shape or ()
    if len(shape) > _MOST_DIMENSIONS:
        return f"oneDNN has fast kernels for {_MOST_DIMENSIONS} dimensions at most, not for {len(shape)}"
    return "oneDNN has no tensors without elements" if 0 in shape else why_not_computed(info.dtype)


RULES = Rules("oneDNN has no primitive", FLOATS, _refuse_tensors)
converts, refusal, CHECKS = RULES.converts, RULES.refusal, OperatorChecks("oneDNN")
