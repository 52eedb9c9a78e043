# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of conversion rules by operator: the check for refusals, and the conversion to steps."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import TensorInfo
from relax_mlir.passes.graph.parts.operator_checks import OperatorChecks
from relax_mlir.passes.graph.parts.operator_rules import Rules

from .machine import why_not_computed

FLOATS = ("f32", "bf16", "f16")
#: Most dimensions that oneDNN's fast kernels support.
_MOST_DIMENSIONS = 6


def _refuse_tensors(tensors: Sequence[TensorInfo], dtypes: tuple[str, ...]) -> str:
    return next(filter(None, (_refuse_tensor(info, dtypes) for info in tensors)), "")


def _refuse_tensor(info: TensorInfo, dtypes: tuple[str, ...]) -> str:
    if info.dtype not in dtypes:
        return f"oneDNN does not support elements of {info.dtype} here, only of {', '.join(dtypes)}"
    shape = info.shape or ()
    if len(shape) > _MOST_DIMENSIONS:
        return f"oneDNN's fast kernels support at most {_MOST_DIMENSIONS} dimensions, got {len(shape)}"
    return "oneDNN does not support tensors without elements" if 0 in shape else why_not_computed(info.dtype)


RULES = Rules("oneDNN has no primitive", FLOATS, _refuse_tensors)
converts, refusal, CHECKS = RULES.converts, RULES.refusal, OperatorChecks("oneDNN")
