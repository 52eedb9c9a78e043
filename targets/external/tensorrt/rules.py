# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What TensorRT has for each operator: why not for a given one, and the layers that it becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ....bindings.ir import Operation
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import Call
from ....dialects.core.operands import operand_info
from ....dialects.core.verifier import call_of

if TYPE_CHECKING:
    from ..core.flatten import Node
    from .converter import Converter

#: Why TensorRT cannot; empty where it can.
Refuse = Callable[[Operation, Call], str]
#: Adds layers, and gives the tensor of each result.
Convert = Callable[["Converter", "Node"], Any]

FLOATS = ("f32", "f16")
NUMBERS = (*FLOATS, "i32", "i64")
ALL = (*NUMBERS, "i1")
#: Dims::MAX_DIMS of TensorRT.
_MOST_DIMENSIONS = 8


class Rule(NamedTuple):
    refuse: Refuse
    convert: Convert
    #: Element types of the first operand.
    dtypes: tuple[str, ...] = FLOATS


RULES: dict[str, Rule] = {}


def converts(
    *names: str, refuse: Refuse = lambda op, call: "", dtypes: tuple[str, ...] = FLOATS
) -> Callable[[Convert], Convert]:
    """Declares what operators become."""

    def declare(convert: Convert) -> Convert:
        RULES.update({f"relax.{name}": Rule(refuse, convert, dtypes) for name in names})
        return convert

    return declare


def refusal(op: Operation) -> str:
    """Why TensorRT has nothing for an operation, in words; empty where it has."""
    row = row_of(op)
    if row is None or op.name not in RULES:
        return f"TensorRT has no layer for {op.name}"
    rule = RULES[op.name]
    infos = [operand_info(value) for value in (*op.operands, *op.results)]
    tensors = [info for info in infos if isinstance(info, TensorInfo)]
    found = next(filter(None, map(_refusal_of_tensor, tensors)), "") or _refusal_of_elements(rule, tensors)
    reason = found or rule.refuse(op, call_of(row, op))
    return reason and f"{op.name}: {reason}"


def _refusal_of_elements(rule: Rule, tensors: list[TensorInfo]) -> str:
    first = tensors[0].dtype
    if first in rule.dtypes:
        return ""
    return f"TensorRT does not compute it with elements of {first}, only of {', '.join(rule.dtypes)}"


def _refusal_of_tensor(info: TensorInfo) -> str:
    if info.dtype not in ALL:
        return f"elements of {info.dtype} are not passed to TensorRT, only those of {', '.join(ALL)}"
    if info.shape is None or None in info.shape:
        return "a size is not known before it runs, by a symbol neither"
    if len(info.shape) > _MOST_DIMENSIONS:
        return f"TensorRT has {_MOST_DIMENSIONS} dimensions at most, not {len(info.shape)}"
    return "a tensor without elements needs no layer" if 0 in info.shape else ""
