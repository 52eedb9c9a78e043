# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators: definitions that can be called to build an operation, and that verify operations for MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from threading import get_ident
from typing import Any, TypeVar

from ...bindings.ir import Operation, OpView, Type, Value
from ...support.callbacks import callback, fragile
from .builder import build
from .opdef import OpDef, OperandDef
from .verifier import verify

X = TypeVar("X")


class _Documented:
    """Attribute that is computed when `help`, an editor or a notebook reads it."""

    def __init__(self, name: str, of_class: object):
        self._name = name
        self._of_class = of_class

    def __get__(self, operator: OpDef | None, owner: type) -> Any:
        if operator is None:
            return self._of_class
        from . import documentation  # costs 5 ms, which should not slow down a tool's start

        return getattr(documentation, self._name)(operator)


class Operator(OpDef):
    __doc__ = _Documented("docstring", "`relax.exp` is one: `relax.exp(x)` builds an operation.")
    __signature__ = _Documented("signature", None)

    @property
    def __name__(self) -> str:
        return self.name.rpartition(".")[2]

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return build(self, args, kwargs)

    @callback(failed=False)
    def verify_invariants(self, op: OpView) -> bool:
        """Verify an operation. MLIR calls this method before IRDL's own checks, whose messages do not name operands."""
        return verify(self, op)


#: Operands and result types of the operation that each thread verifies, while the operation has substitutes. A
#: threading.local would fail here: Python could not free its contents at the end of a foreign thread.
_set_aside: dict[int, tuple[Operation, list[Value], list[Type]]] = {}


class VariadicOperator(Operator):
    # IRDL insists that the values of one variadic operand share one type, which rules out every concat. That check runs
    # between the two calls that MLIR makes here. During the check, the operation therefore has substitute values that
    # pass: the first value of a variadic operand replaces its others, and the same holds for result types. Operations
    # here have no regions, so a thread makes the two calls back to back. All threads share an operator and may verify
    # at the same time, so each thread stores its own values.
    __doc__ = _Documented("docstring", "An operator with a variable number of operands or results, of whatever types.")

    @callback(failed=False)
    def verify_invariants(self, op: OpView) -> bool:
        # An entry of an earlier call belongs to an operation that IRDL rejected and that no longer exists.
        _set_aside.pop(get_ident(), None)
        if not verify(self, op):
            return False
        self._make_uniform(op.operation)
        return True

    @fragile
    def _make_uniform(self, operation: Operation) -> None:
        operands, types = list(operation.operands), list(operation.results.types)
        uniform_operands = _uniform(self.operands, operands, [value.type for value in operands], operation)
        uniform_types = _uniform(self.results, types, types, operation)
        if uniform_operands is not operands or uniform_types is not types:
            _set_aside[get_ident()] = (operation, operands, types)
            _replace(operation, uniform_operands, uniform_types)

    @fragile
    def verify_region_invariants(self, op: OpView) -> bool:
        """Restore the operands and types that `verify_invariants` saved."""
        if (values := _set_aside.pop(get_ident(), None)) is not None:
            operation, operands, types = values
            _replace(operation, operands, types)
        return True


def _replace(operation: Operation, operands: list[Value], types: list[Type]) -> None:
    for index, operand in enumerate(operands):
        if operation.operands[index] != operand:
            operation.operands[index] = operand
    for index, type_ in enumerate(types):
        operation.results[index].set_type(type_)


def _uniform(declared: Sequence[OperandDef], values: list[X], types: list[Type], operation: Operation) -> list[X]:
    """Replace the values of each variadic group by the first one. Return the same list if nothing changes."""
    sizes = group_sizes(declared, len(values), operation)
    result, start = values, 0
    for item, size in zip(declared, sizes, strict=True):
        group = types[start : start + size]
        if item.arity == "variadic" and any(type_ != group[0] for type_ in group):
            result = [*result[:start], *[values[start]] * size, *result[start + size :]]
        start += size
    return result


def group_sizes(declared: Sequence[OperandDef], count: int, operation: Operation) -> list[int]:
    """Return the number of an operation's operands (or results) per declared operand."""
    if sum(item.arity != "single" for item in declared) > 1:
        return list(operation.attributes["operandSegmentSizes"])
    spare = count - sum(item.arity == "single" for item in declared)
    return [1 if item.arity == "single" else spare for item in declared]
