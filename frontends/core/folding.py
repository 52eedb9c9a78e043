# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constant folding at import: converters of nodes with known inputs are evaluated and create no operations.

Arithmetic on shapes is thus done at import, by the rules of constant folding (passes/evaluate). Elements are numbers
and expressions over dimensions. Values without such a form are computed at run time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...dialects.core.attributes import AttributeProblem, AttrKind
from ...dialects.core.codec import TypeProblem
from ...dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo
from ...dialects.core.known import folding_by
from ...dialects.core.opdef import Call, OpDef, OpProblem
from ...dialects.core.operands import as_dim
from ...dialects.core.symbols import SymbolError, SymExpr
from ...dialects.core.verifier import check_operand_kinds
from ...passes.evaluate.elements import objects
from ...passes.evaluate.registry import EvaluationCall, evaluate, find_evaluation
from .values import Held, Value

if TYPE_CHECKING:
    from numpy import ndarray

# Larger tensors are data, not shapes.
_MOST_ELEMENTS = 256


def folding_where_known(inputs: Sequence[Held | None]) -> AbstractContextManager[None]:
    """Return a context for the conversion of a node. If all inputs are known and small, no operations are created."""
    is_known = all(input_ is None or isinstance(input_, Value) and _elements(input_) is not None for input_ in inputs)
    return folding_by(_fold) if is_known else nullcontext()


def _elements(value: object) -> ndarray | None:
    """Return the elements of a small tensor that is known."""
    found = value.known if isinstance(value, Value) else None
    return found if found is not None and found.size <= _MOST_ELEMENTS else None


def _fold(row: OpDef, arguments: dict[str, object]) -> object:
    """Evaluate an operator, or return None if an argument or the result is unknown."""
    if find_evaluation(row.full_name) is None:
        return None
    infos, arrays = [], []
    for operand in row.operands:
        if (known := _operand(operand.kind, arguments.get(operand.name))) is None:
            return None
        infos.append(known[0])
        arrays.append(known[1])
    try:
        attributes = [_attribute(kind, arguments.get(name)) for name, kind in row.attrs.items()]
        results = _results(row, tuple(infos), tuple(attributes))
    except (OpProblem, AttributeProblem, TypeProblem, SymbolError):
        return None  # The builder of the operation reports the problem.
    found = evaluate(EvaluationCall(_call(row, infos, attributes), results), arrays) if results else None
    if found is None:
        return None
    values = tuple(_value(array, info) for array, info in zip(found, results, strict=True))
    return values[0] if len(values) == 1 else values


def _call(row: OpDef, infos: Sequence[object], attributes: Sequence[object]) -> Call:
    return Call(row, dict(zip(row.kinds, infos, strict=True)), dict(zip(row.attrs, attributes, strict=True)))


@lru_cache(maxsize=1024)
def _results(row: OpDef, infos: Sequence[object], attributes: Sequence[object]) -> list[Info]:
    """Return the result types of an operator, or none if a result is large. Many shapes repeat in a model."""
    call = _call(row, infos, attributes)
    check_operand_kinds(call)
    results = row.infer_results(call)
    return results if all(map(_is_small, results)) else []


def _is_small(info: Info) -> bool:
    sizes = [size for size in info.shape or () if isinstance(size, int)] if isinstance(info, TensorInfo) else None
    return sizes is not None and min(sizes, default=0) >= 0 and math.prod(sizes) <= _MOST_ELEMENTS


def _attribute(kind: AttrKind, given: object) -> object:
    return kind.default if given is None or given is kind.default else kind.normalize(given)


def _operand(kind: str, given: object) -> tuple[Any, Any] | None:
    """Return an operand's type and elements, or None if the elements are not known."""
    if isinstance(given, (list, tuple)) and kind != "shape":
        each = [_operand(kind, item) for item in given]
        return None if None in each else tuple(zip(*each, strict=True))
    if kind == "shape":
        return _shape(given)
    if isinstance(given, Value) and (array := _elements(given)) is not None:
        return given.info, array
    return _scalar(given) if "scalar" in kind else None


def _shape(given: object) -> tuple[object, object] | None:
    if not isinstance(given, (list, tuple)):
        return None
    dims = tuple(as_dim(item, "shape") for item in given)
    return ShapeInfo(dims), objects(dims)


def _scalar(given: object) -> tuple[object, object] | None:
    import numpy

    if isinstance(given, SymExpr):
        return ScalarInfo("i64", given), numpy.array(given, object)
    if isinstance(given, (bool, int, float)):
        dtype = "i1" if isinstance(given, bool) else "i64" if isinstance(given, int) else "f64"
        return ScalarInfo(dtype, given), numpy.array(given)
    return None


def _value(array: ndarray, info: Info) -> Value:
    assert isinstance(info, TensorInfo)
    return Value(elements=array, dtype=info.dtype) if array.dtype == object else Value(array=array)
