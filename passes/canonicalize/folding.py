# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on small constants, evaluated while compiling (passes/evaluate)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from ...bindings.ir import Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.patterns import Pattern, defining_op
from ...dialects.core.dialect import find_op
from ...dialects.core.infos import TensorInfo, is_float
from ..evaluate.operations import compute, known_operands
from ..evaluate.registry import all_evaluations
from .constants import FILLED, NUMPY_NAME, array_of, can_be_constant, elements_of, is_constant, make_constant, splat
from .support import dtype_of, make, result_type

if TYPE_CHECKING:
    from numpy import ndarray

_CONSTANT = ("arith.constant",)


def fold_patterns(limit: int) -> tuple[Pattern, ...]:
    """The patterns that fold operations whose operands and results have `limit` elements at most."""
    from_shapes, from_some, from_tensors = _evaluated(tuple(rule.op for rule in all_evaluations()))
    return (
        Pattern(from_shapes, lambda op, _: _fold(op, limit), name="fold_constants"),
        Pattern(from_some, lambda op, _: _fold(op, limit), name="fold_constants", after=_CONSTANT),
        Pattern(
            from_tensors, lambda op, _: _fold(op, limit), name="fold_constants", after=_CONSTANT, only_after=_CONSTANT
        ),
        Pattern(FILLED, lambda op, _: _fill(op, limit), name="fill_constant"),
        Pattern(_ASSOCIATIVE, lambda op, _: _regroup(op, limit), name="regroup_constants", after=_ASSOCIATIVE),
    )


@lru_cache
def _evaluated(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Operators with one result that may have no tensors as operands, those with others beside, those of tensors."""
    kinds = {name: {operand.kind for operand in find_op(name).operands} for name in names if _has_one_result(name)}
    from_tensors = tuple(name for name, of in kinds.items() if of == {"tensor"})
    from_shapes = tuple(name for name, of in kinds.items() if of == {"shape"})
    return from_shapes, tuple(name for name in kinds if name not in (*from_shapes, *from_tensors)), from_tensors


def _has_one_result(name: str) -> bool:
    return [result.arity for result in find_op(name).results] == ["single"]


def _fold(op: OpView, limit: int) -> Operation | None:
    """What an operation on constants gives is a constant."""
    # First what mostly is not so: that all operands are constants.
    arrays = known_operands(op.operation, lambda operand: _read(operand, limit))
    type_ = result_type(op)
    if arrays is None or not can_be_constant(type_) or math.prod(type_.shape) > limit:
        return None
    results = compute(op.operation, arrays)
    return None if results is None else make_constant(results[0], type_)


def _read(operand: Value, limit: int) -> ndarray | None:
    return array_of(operand, limit) if isinstance(operand.type, ir.RankedTensorType) else elements_of(operand)


_ASSOCIATIVE = tuple(
    f"relax.{name}"
    for name in "add multiply logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()
)


def _regroup(op: OpView, limit: int) -> Operation | None:
    """(x + c) + d is x + (c + d): integers wrap around, so that sums, products and bits may be grouped at will."""
    inner = defining_op(op.x1, op.OPERATION_NAME)
    if inner is None or is_float(dtype_of(op.x1)) or is_constant(inner.x1):
        return None
    one, other = array_of(inner.x2, limit), array_of(op.x2, limit)
    if one is None or other is None:
        return None
    results = compute(op.operation, (one, other), [TensorInfo(None, dtype_of(op.x1))])
    # Where neither covers the other, what they give together is larger than both.
    if results is None or results[0].shape not in (one.shape, other.shape):
        return None
    (both,) = results
    type_ = ir.RankedTensorType.get(list(both.shape), result_type(op).element_type)
    constant = make_constant(both, type_)
    return None if constant is None else make(op, op.OPERATION_NAME, [inner.x1, constant.result])


def _fill(op: OpView, limit: int) -> Operation | None:
    """A small tensor filled with one number is a constant like others."""
    type_ = result_type(op)
    number = splat(op.operation.results[0])
    if number is None or not can_be_constant(type_) or math.prod(type_.shape) > limit:
        return None
    name = NUMPY_NAME.get(str(type_.element_type))
    if name is None:
        return None
    import numpy

    return make_constant(numpy.full(type_.shape, number, dtype=name), type_)
