# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding of operations on small constants (passes/evaluate)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....bindings.ir import Operation, OpView, Value
from ....bindings.mlir import ir
from ....bindings.navigation import constant_of
from ....bindings.patterns import Pattern, Rewriter
from ....dialects.core.dialect import find_op
from ....dialects.core.infos import TensorInfo
from ....dialects.relax.known_constants import (
    FILLED,
    NUMPY_NAME,
    array_of,
    can_be_constant,
    elements_of,
    is_constant,
    make_constant,
    splat,
)
from ....dialects.relax.values import dtype_of, make, result_type
from ....emit.numbers import constant_value
from ...evaluate.operations import compute, known_operands
from ...patterns.matched import Match
from ...patterns.operator_patterns import is_op
from ...patterns.tree import is_const
from .rules import X, rule

if TYPE_CHECKING:
    from numpy import ndarray

_CONSTANT = ("arith.constant",)


def fold_patterns(limit: int, evaluated: Sequence[str], is_kept: Callable[[Operation], bool]) -> tuple[Pattern, ...]:
    """Return the patterns that fold `evaluated` operators, except for operations that `is_kept` accepts.

    Operands and results of a folded operation have at most `limit` elements.
    """
    from_shapes, from_some, from_tensors = _group_by_operands(evaluated)

    def fold(op: OpView, _: Rewriter) -> Operation | None:
        return None if is_kept(op.operation) else _fold(op, limit)

    return (
        Pattern(from_shapes, fold, name="fold_constants"),
        Pattern(from_some, fold, name="fold_constants", after=_CONSTANT),
        Pattern(from_tensors, fold, name="fold_constants", after=_CONSTANT, only_after=_CONSTANT),
        Pattern(FILLED, lambda op, _: _fill(op, limit), name="fill_constant"),
        Pattern(("tensor.extract",), lambda op, _: _element(op, limit), name="element_of_constant", after=_CONSTANT),
        *_regrouping(limit),
    )


def _regrouping(limit: int) -> tuple[Pattern, ...]:
    return tuple(
        rule(op(op(_LEFT, _C), _D), lambda found: _regroup(found, limit), name="regroup_constants")
        for op in _ASSOCIATIVE
    )


def _group_by_operands(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Group operators with one result by operands: shapes only, mixed kinds, tensors only."""
    kinds = {name: {operand.kind for operand in find_op(name).operands} for name in names if _has_one_result(name)}
    from_tensors = tuple(name for name, of in kinds.items() if of == {"tensor"})
    from_shapes = tuple(name for name, of in kinds.items() if of == {"shape"})
    return from_shapes, tuple(name for name in kinds if name not in (*from_shapes, *from_tensors)), from_tensors


def _has_one_result(name: str) -> bool:
    return [result.arity for result in find_op(name).results] == ["single"]


def _fold(op: OpView, limit: int) -> Operation | None:
    """Replace an operation on constants by a constant."""
    # Most operations fail this check: all operands are constants.
    arrays = known_operands(op.operation, lambda operand: _read(operand, limit))
    type_ = result_type(op)
    if arrays is None or not can_be_constant(type_) or math.prod(type_.shape) > limit:
        return None
    results = compute(op.operation, arrays)
    return None if results is None else make_constant(results[0], type_)


def _read(operand: Value, limit: int) -> ndarray | None:
    return array_of(operand, limit) if isinstance(operand.type, ir.RankedTensorType) else elements_of(operand)


_ASSOCIATIVE = tuple(
    is_op(f"relax.{name}").in_order()
    for name in "add multiply logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()
)
_LEFT = X.has_dtype("integer", "bool").where(lambda found: not is_constant(found[X]))
_C, _D = is_const(), is_const()


def _regroup(match: Match, limit: int) -> Operation | None:
    """Rewrite (x + c) + d to x + (c + d).

    Integer arithmetic wraps around, so sums, products and bits may be regrouped.
    """
    op, one, other = match.op(), array_of(match[_C], limit), array_of(match[_D], limit)
    if one is None or other is None:
        return None
    results = compute(op.operation, (one, other), [TensorInfo(None, dtype_of(op.x1))])
    # If neither constant's shape covers the other's, the combined constant is larger than both.
    if results is None or results[0].shape not in (one.shape, other.shape):
        return None
    (both,) = results
    type_ = ir.RankedTensorType.get(list(both.shape), result_type(op).element_type)
    constant = make_constant(both, type_)
    return None if constant is None else make(op, op.OPERATION_NAME, [match[X], constant.result])


def _fill(op: OpView, limit: int) -> Operation | None:
    """Replace a small tensor filled with one number by a constant."""
    type_ = result_type(op)
    number = splat(op.operation.results[0])
    if number is None or not can_be_constant(type_) or math.prod(type_.shape) > limit:
        return None
    if (name := NUMPY_NAME.get(str(type_.element_type))) is None:
        return None
    import numpy

    return make_constant(numpy.full(type_.shape, number, dtype=name), type_)


def _element(op: OpView, limit: int) -> Operation | None:
    """Replace an element of a constant by a number, so that trip counts and conditions are static."""
    tensor, *indices = op.operation.operands
    array, place = array_of(tensor, limit), tuple(map(constant_of, indices))
    if array is None:
        return None
    if not all(index is not None and 0 <= index < size for index, size in zip(place, array.shape, strict=True)):
        return None
    return constant_value(array[place].item(), tensor.type.element_type).owner
