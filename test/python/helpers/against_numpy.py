# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Comparison of inferred types with numpy's results, for fixed and for symbolic sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from inferring import infer
from relax_mlir.dialects.core.infos import TensorInfo
from relax_mlir.dialects.core.symbols import SymExpr, sym
from shorthand import refusal

NUMPY_DTYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "i1"}

#: An array, or a list of arrays for a variadic operand. Other values are passed unchanged.
Operand = Any


def agrees_with_numpy(
    op_name: str, operands: Sequence[Operand], oracle: Callable[..., Any], named: int = 0, **attributes: Any
) -> None:
    """Check that the operator infers what `oracle(*operands)` computes, and refuses operands for which the oracle
    raises.

    Bit i of `named` makes the i-th size of all operands a symbol. The operator must then infer expressions that have
    numpy's values.
    """
    try:
        expected = oracle(*operands)
    except (ValueError, IndexError):
        refusal(op_name, *_infos(operands, {}, 0), **attributes)
        return
    values: dict[str, int] = {}
    results = infer(op_name, *_infos(operands, values, named), **attributes)
    assert [_evaluated(info, values) for info in results] == [_info(array) for array in _results(expected)]


def _infos(operands: Sequence[Operand], values: dict[str, int], named: int) -> list[Any]:
    """Return the types of the operands. `values` receives the size of each symbol."""

    def info(array: Any) -> TensorInfo:
        return _info(array).with_shape([symbol_for(int(size)) for size in array.shape])

    def symbol_for(size: int) -> int | SymExpr:
        name = f"s{len(values)}"
        values[name] = size
        return sym(name) if named >> len(values) - 1 & 1 else size

    return [_replaced(item, info) for item in operands]


def _results(expected: Any) -> list[Any]:
    return list(expected) if isinstance(expected, (list, tuple)) else [expected]


def _replaced(item: Operand, info_of: Callable[[Any], TensorInfo]) -> Any:
    if isinstance(item, list):
        return [info_of(array) for array in item]
    return info_of(item) if isinstance(item, numpy.ndarray) else item


def _info(array: Any) -> TensorInfo:
    return TensorInfo(tuple(map(int, array.shape)), NUMPY_DTYPES[array.dtype.name])


def _evaluated(info: Any, values: dict[str, int]) -> TensorInfo:
    return info.with_shape(dim.evaluate(values) if isinstance(dim, SymExpr) else dim for dim in info.shape)
