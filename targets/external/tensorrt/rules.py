# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TensorRT has for each operator: why not for a given one, and the layers that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ....dialects.core.infos import TensorInfo
from ..core.operator_checks import OperatorChecks
from ..core.rules import Rules

FLOATS = ("f32", "f16")
NUMBERS = (*FLOATS, "i32", "i64")
ALL = (*NUMBERS, "i1")
#: Dims::MAX_DIMS of TensorRT.
_MOST_DIMENSIONS = 8


def _refuse_tensors(tensors: Sequence[TensorInfo], dtypes: tuple[str, ...]) -> str:
    """Each as what is passed; the first one as what is computed with."""
    found = next(filter(None, map(_refuse_tensor, tensors)), "")
    if found or tensors[0].dtype in dtypes:
        return found
    return f"TensorRT does not compute it with elements of {tensors[0].dtype}, only of {', '.join(dtypes)}"


def _refuse_tensor(info: TensorInfo) -> str:
    if info.dtype not in ALL:
        return f"elements of {info.dtype} are not passed to TensorRT, only those of {', '.join(ALL)}"
    shape = info.shape or ()
    if len(shape) > _MOST_DIMENSIONS:
        return f"TensorRT has {_MOST_DIMENSIONS} dimensions at most, not {len(shape)}"
    return "a tensor without elements needs no layer" if 0 in shape else ""


class Tensor(Protocol):
    """A tensor of the network."""

    name: str


class Layer(Protocol):
    """A layer of the network; each kind has attributes of its own in addition."""

    def get_output(self, index: int, /) -> Tensor: ...
    def set_input(self, index: int, tensor: Tensor, /) -> None: ...
    def __setattr__(self, name: str, value: object, /) -> None: ...


RULES = Rules("TensorRT has no layer", FLOATS, _refuse_tensors)
converts, refusal, CHECKS = RULES.converts, RULES.refusal, OperatorChecks("TensorRT")
