# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Table of conversion rules from relax operators to TensorRT's layers, with checks of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from relax_mlir import TensorInfo
from relax_mlir.passes.graph.parts.operator_checks import OperatorChecks
from relax_mlir.passes.graph.parts.operator_rules import Rules

FLOATS = ("f32", "f16")
NUMBERS = (*FLOATS, "i32", "i64")
ALL = (*NUMBERS, "i1")
#: Dims::MAX_DIMS of TensorRT.
_MOST_DIMENSIONS = 8


def _refuse_tensors(tensors: Sequence[TensorInfo], dtypes: tuple[str, ...]) -> str:
    """Return the reason to refuse tensors. All have to be passable, and the first element type decides the layer."""
    if (problem := next(filter(None, map(_refuse_tensor, tensors)), "")) or tensors[0].dtype in dtypes:
        return problem
    return f"TensorRT does not support this operator with elements of {tensors[0].dtype}, only of {', '.join(dtypes)}"


def _refuse_tensor(info: TensorInfo) -> str:
    if info.dtype not in ALL:
        return f"elements of {info.dtype} cannot be passed to TensorRT, only elements of {', '.join(ALL)}"
    shape = info.shape or ()
    if len(shape) > _MOST_DIMENSIONS:
        return f"TensorRT supports at most {_MOST_DIMENSIONS} dimensions, not {len(shape)}"
    return "a tensor without elements needs no layer" if 0 in shape else ""


class NetworkTensor(Protocol):
    """Tensor of a network."""

    name: str


class NetworkLayer(Protocol):
    """Layer of a network. Each kind of layer has further attributes."""

    def get_output(self, index: int, /) -> NetworkTensor: ...
    def set_input(self, index: int, tensor: NetworkTensor, /) -> None: ...
    def __setattr__(self, name: str, value: object, /) -> None: ...


RULES = Rules("TensorRT has no layer", FLOATS, _refuse_tensors)
converts, refusal, CHECKS = RULES.converts, RULES.refusal, OperatorChecks("TensorRT")
