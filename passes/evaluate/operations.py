# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile-time evaluation of operations with known operand elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...bindings.ir import Operation, Value
from ...dialects.core.codec import decode
from ...dialects.core.dialect import row_of
from ...dialects.core.infos import Info, ShapeInfo
from ...dialects.core.verifier import call_of, segment_sizes
from ...dialects.relax.values import listed_dims
from .elements import is_symbolic, objects
from .registry import EvaluationCall, evaluate

if TYPE_CHECKING:
    from numpy import ndarray

#: Callable that returns the elements of a tensor or a scalar, or None if they are unknown.
Read = Callable[[Value], "ndarray | None"]


def known_operands(operation: Operation, read: Read) -> list[ndarray | None] | None:
    """Return the elements of all operands, with None for shapes. Return None if an operand is unknown."""
    arrays: list[ndarray | None] = []
    for operand in operation.operands:
        array = read(operand)
        if array is None and not isinstance(decode(operand.type), ShapeInfo):
            return None
        arrays.append(array)
    return arrays


def compute(
    operation: Operation, arrays: Sequence[ndarray | None], results: Sequence[Info] | None = None
) -> list[ndarray] | None:
    """Evaluate an operation on these operands. Return numbers, or None if the results are unknown.

    A missing shape is read from the operation that defines it or from its type. `results` are the result types for
    these operands, if they differ from the operation's.
    """
    if (row := row_of(operation)) is None:
        return None
    given = [
        _dims(operand) if array is None else array for operand, array in zip(operation.operands, arrays, strict=True)
    ]
    if results is None:
        results = [decode(type_) for type_ in operation.results.types]
    operands = row.segment(given, segment_sizes(row, operation, len(given)))
    found = evaluate(EvaluationCall(call_of(row, operation), results), list(operands.values()))
    return None if found is None or any(map(is_symbolic, found)) else found


def _dims(shape: Value) -> ndarray | None:
    dims = listed_dims(shape)
    return None if dims is None else objects(dims)
