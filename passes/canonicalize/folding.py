# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations on small constants, computed by numpy.

Only what is the same on every machine, to the last bit: moving elements, integers, and of floats the operations that
IEEE 754 rounds correctly. exp, sin and the like differ between libraries and are left to the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

from ...bindings.ir import Operation, OpView, Value
from ...bindings.mlir import ir
from ...bindings.patterns import Pattern
from ...dialects.core.codec import decode
from ...dialects.core.dialect import find_op
from ...dialects.core.infos import ShapeInfo
from ..patterns.matched import Match
from ..patterns.operators import is_op
from ..patterns.tree import is_const
from .constants import FILLED, NUMPY_NAME, array_of, can_be_constant, is_constant, make_constant, splat
from .rules import X, rule
from .shape_values import dims_of
from .support import dtype_of, make, normal_axis, result_type

if TYPE_CHECKING:
    from numpy import ndarray

#: Computes the result from numpy, which is imported when it is needed, the operation and its operands' arrays; None
#: where numpy cannot tell what it is.
Fold = Callable[..., "ndarray | None"]


@lru_cache(maxsize=8)
def fold_patterns(limit: int) -> tuple[Pattern, ...]:
    """The patterns that fold operations whose operands and results have `limit` elements at most."""
    return (
        Pattern(_FROM_SHAPES, lambda op, _: _fold(op, limit), name="fold_constants"),
        Pattern(_FROM_SOME, lambda op, _: _fold(op, limit), name="fold_constants", after=_CONSTANT),
        Pattern(
            _FROM_TENSORS, lambda op, _: _fold(op, limit), name="fold_constants", after=_CONSTANT, only_after=_CONSTANT
        ),
        Pattern(FILLED, lambda op, _: _fill(op, limit), name="fill_constant"),
        *(
            rule(op(op(_LEFT, _C), _D), lambda found: _regroup(found, limit), name="regroup_constants")
            for op in _ASSOCIATIVE
        ),
    )


def _fold(op: OpView, limit: int) -> Operation | None:
    """What an operation on constants gives is a constant."""
    # First what mostly is not so: that all operands are constants.
    arrays = constant_arrays(op, lambda operand: array_of(operand, limit))
    type_ = result_type(op)
    if arrays is None or not can_be_constant(type_) or math.prod(type_.shape) > limit:
        return None
    result = compute(op, *arrays)
    return None if result is None else make_constant(result, type_)


def constant_arrays(op: OpView, read: Callable[[Value], ndarray | None]) -> list[ndarray] | None:
    """The operands without shapes, which say what the static result type says too; None where one is not read."""
    arrays: list[ndarray] = []
    for operand in op.operation.operands:
        array = read(operand)
        if array is not None:
            arrays.append(array)
        elif not isinstance(decode(operand.type), ShapeInfo):
            return None
    return arrays


def compute(op: OpView, *arrays: ndarray) -> ndarray | None:
    """What one of these operators makes of its operands; None where numpy cannot tell."""
    import numpy

    # Overflow wraps around, and NaN and infinity are results like others.
    with numpy.errstate(all="ignore"):
        result = _FOLDS[op.OPERATION_NAME](numpy, op, *arrays)
    return None if result is None else numpy.asarray(result)


_ASSOCIATIVE = tuple(
    is_op(f"relax.{name}").in_order()
    for name in "add multiply logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split()
)
_LEFT = X.has_dtype("integer", "bool").where(lambda found: not is_constant(found[X]))
_C, _D = is_const(), is_const()


def _regroup(found: Match, limit: int) -> Operation | None:
    """(x + c) + d is x + (c + d): integers wrap around, so that sums, products and bits may be grouped at will."""
    op, one, other = found.op(), array_of(found[_C], limit), array_of(found[_D], limit)
    if one is None or other is None:
        return None
    both = compute(op, one, other)
    # Where neither covers the other, what they give together is larger than both.
    if both is None or both.shape not in (one.shape, other.shape):
        return None
    type_ = ir.RankedTensorType.get(list(both.shape), result_type(op).element_type)
    constant = make_constant(both, type_)
    return None if constant is None else make(op, op.OPERATION_NAME, [found[X], constant.result])


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


# ---- elementwise ----


def _ufunc(name: str) -> Fold:
    return lambda np, op, *arrays: getattr(np, name)(*arrays)


def _for_integers(name: str) -> Fold:
    return lambda np, op, *arrays: None if arrays[0].dtype.kind == "f" else getattr(np, name)(*arrays)


def _divide(np: ModuleType, op: OpView, left: ndarray, right: ndarray) -> ndarray | None:
    if left.dtype.kind == "f":
        return left / right
    if not _can_divide(np, left, right):
        return None
    quotient, remainder = left // right, left % right
    # numpy rounds down; towards zero is one more where the signs differ and something is left.
    return quotient + ((remainder != 0) & ((left < 0) != (right < 0))).astype(np.asarray(left).dtype)


def _can_divide(np: ModuleType, left: ndarray, right: ndarray) -> bool:
    """Whether no division is by zero, nor of the smallest integer by -1."""
    if left.dtype.kind == "u":
        return bool((right != 0).all())
    overflows = (left == np.iinfo(left.dtype).min) & (right == -1)
    return bool((right != 0).all()) and not overflows.any()


def _integer_division(name: str) -> Fold:
    def fold(np: ModuleType, op: OpView, left: ndarray, right: ndarray) -> ndarray | None:
        if left.dtype.kind == "f" or not _can_divide(np, left, right):
            return None
        return getattr(np, name)(left, right)

    return fold


def _extremum(name: str) -> Fold:
    def fold(np: ModuleType, op: OpView, left: ndarray, right: ndarray) -> ndarray | None:
        if left.dtype.kind == "f":
            # Of NaN, and of zeros with different signs, it is open which one it is.
            zeros = (left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))
            if zeros.any() or np.isnan(left).any() or np.isnan(right).any():
                return None
        return getattr(np, name)(left, right)

    return fold


def _shift(name: str) -> Fold:
    def fold(np: ModuleType, op: OpView, left: ndarray, right: ndarray) -> ndarray | None:
        in_range = (right >= 0) & (right < left.dtype.itemsize * 8)
        return getattr(np, name)(left, right) if in_range.all() else None

    return fold


def _astype(np: ModuleType, op: OpView, array: ndarray) -> ndarray | None:
    name = NUMPY_NAME.get(str(result_type(op).element_type))
    if name is None:
        return None  # of a type that numpy does not have
    target = np.dtype(name)
    if array.dtype.kind == "f" and target.kind in "iu":
        whole = np.trunc(array.astype(np.float64))
        # 2**63 - 1 is no float, so the bound above is the power of two.
        limits = np.iinfo(target)
        if not ((whole >= float(limits.min)) & (whole < float(limits.max) + (1 if target.itemsize < 8 else 0))).all():
            return None
    return array.astype(target)


# ---- quantized numbers ----


def _dequantize(np: ModuleType, op: OpView, array: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray | None:
    if "f" in (array.dtype.kind, zero_point.dtype.kind):
        return None
    wide = np.int32 if max(array.dtype.itemsize, zero_point.dtype.itemsize) <= 2 else np.int64
    scale, zero_point = (_along_axis(op, each, array.ndim) for each in (scale, zero_point))
    difference = (array.astype(wide) - zero_point.astype(wide)).astype(np.float32)
    difference *= scale.astype(np.float32)
    return difference.astype(NUMPY_NAME[dtype_of(op.operation.results[0])], copy=False)


def _quantize(np: ModuleType, op: OpView, array: ndarray, scale: ndarray, zero_point: ndarray) -> ndarray | None:
    target = np.dtype(NUMPY_NAME[dtype_of(op.operation.results[0])])
    if target.kind not in "iu" or zero_point.dtype.itemsize > 2:
        return None
    scale, zero_point = (_along_axis(op, each, array.ndim).astype(np.float32) for each in (scale, zero_point))
    whole = np.rint(array.astype(np.float32) / scale) + zero_point
    limits = np.iinfo(target)
    return np.nan_to_num(np.clip(whole, limits.min, limits.max), copy=False).astype(target)


def _along_axis(op: OpView, values: ndarray, rank: int) -> ndarray:
    """One value for all, or one for each place along the axis, so that it broadcasts."""
    shape = [1] * rank
    if values.size != 1:
        shape[normal_axis(op.axis, rank)] = values.size
    return values.reshape(shape)


# ---- moving elements ----


def _strided_slice(np: ModuleType, op: OpView, array: ndarray) -> ndarray | None:
    index = [slice(None)] * array.ndim
    if not all(isinstance(bound, int) for bound in (*op.begin, *op.end)):
        return None
    strides = op.strides or [1] * len(op.axes)
    for axis, begin, end, stride in zip(op.axes, op.begin, op.end, strides, strict=True):
        index[normal_axis(axis, array.ndim)] = slice(begin, end, stride)
    return array[tuple(index)]


def _filled(np: ModuleType, op: OpView, number: ndarray) -> ndarray | None:
    return np.broadcast_to(number, result_type(op).shape) if number.dtype == _numpy_type(op) else None


def _full_of(np: ModuleType, op: OpView, number: int) -> ndarray | None:
    name = _numpy_type(op)
    return None if name is None else np.full(result_type(op).shape, number, name)


def _shape_to_tensor(np: ModuleType, op: OpView) -> ndarray | None:
    dims = dims_of(op.input)
    is_number = dims is not None and all(isinstance(dim, int) and dim < 2**63 for dim in dims)
    return np.array(dims, "int64") if is_number else None


def _numpy_type(op: OpView) -> str | None:
    return NUMPY_NAME.get(str(result_type(op).element_type))


_FOLDS: dict[str, Fold] = {
    **{f"relax.{name}": _ufunc(name) for name in "add subtract multiply negative square equal not_equal less "
       "less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and bitwise_or "
       "bitwise_xor isnan isinf isfinite where ceil floor trunc sqrt".split()},
    "relax.bitwise_not": _ufunc("invert"),
    "relax.abs": _ufunc("absolute"),
    "relax.sign": _for_integers("sign"),
    "relax.divide": _divide,
    "relax.floor_divide": _integer_division("floor_divide"),
    "relax.floor_mod": _integer_division("remainder"),
    "relax.mod": _integer_division("fmod"),
    "relax.maximum": _extremum("maximum"),
    "relax.minimum": _extremum("minimum"),
    "relax.left_shift": _shift("left_shift"),
    "relax.right_shift": _shift("right_shift"),
    "relax.round": lambda np, op, array: np.rint(array) if array.dtype.kind == "f" else array,
    "relax.astype": _astype,
    "relax.quantize": _quantize,
    "relax.dequantize": _dequantize,
    **{f"relax.{name}": lambda np, op, array: array.reshape(result_type(op).shape)
       for name in "reshape flatten expand_dims squeeze".split()},
    "relax.full": lambda np, op, number: _filled(np, op, number),
    "relax.full_like": lambda np, op, array, number: _filled(np, op, number),
    **{f"relax.{name}": lambda np, op, *array: _full_of(np, op, 0) for name in ("zeros", "zeros_like")},
    **{f"relax.{name}": lambda np, op, *array: _full_of(np, op, 1) for name in ("ones", "ones_like")},
    "relax.shape_to_tensor": _shape_to_tensor,
    "relax.scalar_to_tensor": lambda np, op, number: number if number.dtype == _numpy_type(op) else None,
    "relax.permute_dims": lambda np, op, array: array.transpose(op.axes),
    "relax.broadcast_to": lambda np, op, array: np.broadcast_to(array, result_type(op).shape),
    "relax.concat": lambda np, op, *arrays: np.concatenate(arrays, axis=op.axis),
    "relax.flip": lambda np, op, array: np.flip(array, op.axis),
    "relax.strided_slice": _strided_slice,
}  # fmt: skip

#: Those that may have no tensors as operands.
_FROM_SHAPES = ("relax.zeros", "relax.ones", "relax.shape_to_tensor")
#: Those of tensors alone, and the others, some of whose operands may be shapes.
_FROM_TENSORS = tuple(name for name in _FOLDS if {operand.kind for operand in find_op(name).operands} == {"tensor"})
_FROM_SOME = tuple(name for name in _FOLDS if name not in (*_FROM_SHAPES, *_FROM_TENSORS))
_CONSTANT = ("arith.constant",)

#: The operators that numpy knows.
BY_NUMPY = frozenset(_FOLDS)
