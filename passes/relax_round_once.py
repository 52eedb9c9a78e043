# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What follows products of 16 bits element by element is computed in f32 and rounded once, behind the last operator.

Products have their sums in f32, and CPUs compute elements of 16 bits so: each operator of 16 bits costs a rounding,
which is several instructions. A value that several operators use is rounded for all of them: it is read in 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..bindings.ir import Location, Operation, Type, Value
from ..bindings.mlir import ir
from ..bindings.navigation import is_used_once, operations_in, users_of
from ..bindings.rewriting import replace_op
from ..dialects.core.codec import decode
from ..dialects.core.dialect import find_op, row_of
from ..dialects.core.infos import TensorInfo
from ..dialects.core.opdef import OpDef
from .canonicalize.support import is_valid, with_dtype
from .core.base import Pass
from .core.registry import register_pass

_LOW = ("f16", "bf16")
_WIDE = "f32"
_CAST = "relax.astype"


@register_pass
@dataclass(frozen=True)
class RoundOnce(Pass):
    """Computes what follows products of 16 bits element by element in f32, and rounds it once."""

    name: ClassVar[str] = "relax-round-once"
    anchor: ClassVar[str] = "any"

    def run(self, op: Operation) -> None:
        # Casts of what is known in f32, and how many there were before.
        rounded: dict[Value, int] = {}
        for operation in operations_in(op):
            row = row_of(operation)
            if row is None or len(operation.results) != 1:
                continue
            if operation.name == _CAST:
                _skip_rounding(operation, rounded)
            elif _dtype(operation.result) not in _LOW:
                continue
            elif _is_product(operation, row):
                _widen(operation, None, rounded)
            elif _is_of_elements(row):
                wide = [value for value in operation.operands if value in rounded and is_used_once(value)]
                if wide:
                    # The others have memory of their own: they are read in 16 bits.
                    _widen(operation, max(wide, key=lambda value: rounded[value]), rounded)


def _is_product(operation: Operation, row: OpDef) -> bool:
    """Whether a product of 16 bits can give f32 to an operator on elements, which is the only one that uses it."""
    can_be_wide = row.pattern == "out_ewise_fusable" and "out_dtype" in row.attrs
    if not can_be_wide or "out_dtype" in operation.attributes or not is_used_once(operation.result):
        return False
    (user,) = users_of(operation.result)
    used_in = row_of(user)
    return used_in is not None and (_is_of_elements(used_in) or user.name == _CAST)


def _is_of_elements(row: OpDef) -> bool:
    return row.pure and row.pattern in ("elemwise", "broadcast") and row.infer is not None and not row.is_plain_view


def _skip_rounding(cast: Operation, rounded: dict[Value, int]) -> None:
    """What is cast back is there in f32 already."""
    (value,) = cast.operands
    if value in rounded and is_used_once(value) and _dtype(cast.result) == _WIDE:
        replace_op(cast, [value.owner.operation.operands[0]])
        _forget(value, rounded)


def _widen(operation: Operation, wide: Value | None, rounded: dict[Value, int]) -> None:
    """Has an operation give f32, which is rounded behind it; of an operand that is known in f32 it takes that."""
    before, low = list(operation.operands), operation.result.type
    dtype = _dtype(operation.result)
    if wide is None:
        operation.attributes["out_dtype"] = find_op(operation.name).attrs["out_dtype"].encode(_WIDE, operation.context)
    else:
        with ir.InsertionPoint(operation):
            for at, value in enumerate(before):
                if value == wide:
                    operation.operands[at] = value.owner.operation.operands[0]
                elif _dtype(value) in _LOW:
                    operation.operands[at] = _cast(value, _WIDE, operation.location)
    operation.result.set_type(with_dtype(operation.result, _WIDE))
    if not is_valid(operation):
        _take_back(operation, before, low)
        return
    with ir.InsertionPoint.after(operation):
        cast = _cast(operation.result, dtype, operation.location)
    operation.result.replace_all_uses_except(cast, cast.owner.operation)
    rounded[cast] = len(rounded)
    if wide is not None:
        _forget(wide, rounded)


def _take_back(operation: Operation, operands: Sequence[Value], type_: Type) -> None:
    operation.result.set_type(type_)
    for at, value in enumerate(operands):
        operation.operands[at] = value
    if "out_dtype" in operation.attributes:
        del operation.attributes["out_dtype"]


def _forget(rounding: Value, rounded: dict[Value, int]) -> None:
    del rounded[rounding]
    rounding.owner.operation.erase()


def _cast(value: Value, dtype: str, location: Location) -> Value:
    attributes = {"dtype": find_op(_CAST).attrs["dtype"].encode(dtype, value.context)}
    return ir.Operation.create(_CAST, [with_dtype(value, dtype)], [value], attributes, loc=location).result


def _dtype(value: Value) -> str:
    """The element type of a tensor; empty for anything else."""
    info = decode(value.type)
    return info.dtype if isinstance(info, TensorInfo) else ""
