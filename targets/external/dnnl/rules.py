# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What oneDNN has for each operator: why not for a given one, and the steps that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....bindings.ir import Operation
from ....dialects.core.dialect import row_of
from ....dialects.core.infos import TensorInfo
from ....dialects.core.opdef import Call
from ....dialects.core.operands import operand_info
from ....dialects.core.symbols import Dim
from ....dialects.core.verifier import call_of
from .machine import why_not_computed

if TYPE_CHECKING:
    from ..core.flatten import Node
    from .converter import Converter

#: Why oneDNN cannot; empty where it can.
Refuse = Callable[[Operation, Call], str]
Convert = Callable[["Converter", "Node"], None]
_FLOATS = ("f32", "bf16", "f16")
#: Dimensions that its fast kernels know.
_MOST_DIMENSIONS = 6


class Rule(NamedTuple):
    refuse: Refuse
    convert: Convert
    #: Element types of what is read and made.
    dtypes: tuple[str, ...] = _FLOATS


RULES: dict[str, Rule] = {}


def converts(
    *names: str, refuse: Refuse = lambda op, call: "", dtypes: tuple[str, ...] = _FLOATS
) -> Callable[[Convert], Convert]:
    """Declares what operators become."""

    def declare(convert: Convert) -> Convert:
        RULES.update({f"relax.{name}": Rule(refuse, convert, dtypes) for name in names})
        return convert

    return declare


def refusal(op: Operation) -> str:
    """Why oneDNN has nothing for an operation, in words; empty where it has."""
    row = row_of(op)
    if row is None or op.name not in RULES:
        return f"oneDNN has no primitive for {op.name}"
    rule = RULES[op.name]
    infos = [operand_info(value) for value in (*op.operands, *op.results)]
    tensors = [info for info in infos if isinstance(info, TensorInfo)]
    reasons = (_refusal_of_tensor(info, rule.dtypes) for info in tensors)
    found = next(filter(None, reasons), "")
    reason = found or rule.refuse(op, call_of(row, op))
    return reason and f"{op.name}: {reason}"


def _refusal_of_tensor(info: TensorInfo, dtypes: tuple[str, ...]) -> str:
    if info.dtype not in dtypes:
        return f"oneDNN does not compute it with elements of {info.dtype}, only of {', '.join(dtypes)}"
    if info.shape is None or None in info.shape:
        return "a size is not known before it runs, by a symbol neither"
    if len(info.shape) > _MOST_DIMENSIONS:
        return f"oneDNN has fast kernels for {_MOST_DIMENSIONS} dimensions at most, not for {len(info.shape)}"
    if 0 in info.shape:
        return "oneDNN has no tensors without elements"
    return why_not_computed(info.dtype)


def is_static(shape: Sequence[Dim] | None) -> bool:
    """Whether every size is a number."""
    return shape is not None and all(isinstance(size, int) for size in shape)
