# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas in f32 or wider, rounded once at the end, like the operators' own kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ....bindings.ir import OpView, Value
from ....bindings.mlir import as_list
from ....bindings.rewriting import Decline
from ....dialects import relax
from ....dialects.core.infos import bit_width, is_float
from ....dialects.core.symbols import Dim, equal
from ....dialects.relax.values import dtype_of, normal_axis, shape_of
from .tensor_formulas import Tensor


def wide_dtype(dtype: str) -> str:
    return "f32" if is_float(dtype) and bit_width(dtype) < 32 else dtype


def widened(value: Value) -> Tensor:
    dtype = dtype_of(value)
    wide = wide_dtype(dtype)
    return Tensor(value if wide == dtype else relax.astype(value, dtype=wide))


def rounded(tensor: Tensor, dtype: str) -> Value:
    return tensor.value if dtype_of(tensor.value) == dtype else relax.astype(tensor.value, dtype=dtype)


def computed_wide(formula: Callable[..., object]) -> Callable[..., object]:
    """Turn a formula on Tensors into a definition. All operands and results have one element type."""

    @wraps(formula)
    def definition(op: OpView, *operands: Any) -> list[Value]:
        dtype = dtype_of(operands[0])
        if not is_float(dtype):
            raise Decline("only floats are decomposed")
        made = formula(op, *(None if value is None else widened(value) for value in operands))
        return [rounded(each, dtype) for each in as_list(made)]

    return definition


def known_shape(value: Value, what: str = "data") -> tuple[Dim, ...]:
    if (shape := shape_of(value)) is None:
        raise Decline(f"the rank of the {what} is not known")
    return shape


def rank_of(value: Value) -> int:
    return len(known_shape(value))


def require_same(*sizes: Dim, what: str) -> None:
    """Decline unless sizes are proven equal. For other sizes the operator itself must report the error."""
    if any(equal(sizes[0], size) is not True for size in sizes[1:]):
        raise Decline(f"the sizes of {what} are not known to be the same")


def along(tensor: Tensor, axes: Sequence[int], data: Value) -> Tensor:
    """Reshape a parameter with these axes of the data so that it broadcasts with the data."""
    shape, sizes = known_shape(data), known_shape(tensor.value, "parameters")
    places = [normal_axis(axis, len(shape)) for axis in axes]
    for size, place in zip(sizes, places, strict=True):
        require_same(size, shape[place], what=f"a parameter and the data along axis {place}")
    value, order = tensor.value, sorted(range(len(places)), key=places.__getitem__)
    if order != list(range(len(places))):
        value = relax.permute_dims(value, axes=order)
    missing = [axis - min(places) for axis in range(min(places), len(shape)) if axis not in places]
    return Tensor(relax.expand_dims(value, axis=missing) if missing else value)
