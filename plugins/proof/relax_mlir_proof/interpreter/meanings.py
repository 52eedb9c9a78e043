# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Execution of operators by their reference functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from relax_mlir.dialects.core.codec import decode
from relax_mlir.dialects.core.infos import Info, ScalarInfo, ShapeInfo, TensorInfo, VectorInfo, is_bool, is_float
from relax_mlir.dialects.core.opdef import OpDef
from relax_mlir.dialects.core.symbols import Dim, SymExpr
from relax_mlir.dialects.core.verifier import call_of, segment_sizes
from relax_mlir.passes.evaluate.elements import NotKnown
from relax_mlir.passes.evaluate.references import Meaning, meaning_of
from relax_mlir.passes.evaluate.registry import EvaluationCall
from relax_mlir.support.blaming import blaming, is_ours
from relax_mlir.support.suggest import counted

from .held_values import HeldValue, computed
from .sites import Frame, Site, Step

if TYPE_CHECKING:
    from numpy import ndarray


def prepare_operator(site: Site, row: OpDef) -> Step:
    """Return the step of an operator: its row's `reference=`, a registered reference, or its evaluation of known
    elements.
    """
    if (meaning := meaning_of(row)) is None:
        raise site.refusal(
            "it has no reference: define one by rx.rules.register_reference, or by reference= in its row"
        )
    operation = site.operation
    results = [decode(type_) for type_ in operation.results.types]
    call = EvaluationCall(call_of(row, operation), results)
    sizes = segment_sizes(row, operation, len(operation.operands))
    is_dynamic = any(map(_has_symbols, call.attributes.values())) or any(map(_has_symbols, map(_dims, results)))
    prepare = _as_they_are if meaning.stored else _compute

    def run(frame: Frame, *operands: HeldValue) -> list[HeldValue]:
        known = _resolve(call, frame) if is_dynamic else call
        given = row.segment([prepare(operand) for operand in operands], sizes)
        try:
            with blaming(f"the reference of '{meaning.op}'", meaning.function, site.refusal):
                found = meaning.function(known, *given.values())
        except NotKnown:
            raise site.refusal("it has no reference for these values") from None
        except _ERRORS as error:  # of this project: other packages' errors are blamed on them
            raise type(error)(f"{site.place}: {error}") from error
        return _as_results(found, known.results, site, meaning)

    return run


# Exceptions that calls of programs raise for indices, sizes and conditions.
_ERRORS = (AssertionError, IndexError, ValueError)


def _as_they_are(operand: HeldValue) -> HeldValue:
    return operand


def _compute(operand: HeldValue) -> HeldValue:
    return computed(operand) if isinstance(operand, (numpy.ndarray, numpy.generic)) else operand


def _dims(info: Info) -> Sequence[Dim]:
    if isinstance(info, TensorInfo):
        return info.shape or ()
    return info.dims or () if isinstance(info, ShapeInfo) else ()


def _has_symbols(value: object) -> bool:
    return isinstance(value, SymExpr) or (isinstance(value, tuple) and any(map(_has_symbols, value)))


def _resolve(call: EvaluationCall, frame: Frame) -> EvaluationCall:
    """Return the call with numbers in place of the symbols in its attributes and results."""
    attributes: Mapping[str, object] = {name: _number(value, frame) for name, value in call.attributes.items()}
    results = [
        info.with_shape(map(frame.size, info.shape)) if isinstance(info, TensorInfo) and info.shape is not None
        else ShapeInfo(tuple(map(frame.size, info.dims))) if isinstance(info, ShapeInfo) and info.dims is not None
        else info
        for info in call.results
    ]  # fmt: skip
    evaluation_call = EvaluationCall(call, results)
    evaluation_call.attributes = attributes
    return evaluation_call


def _number(value: object, frame: Frame) -> object:
    if isinstance(value, SymExpr):
        return frame.size(value)
    return tuple(_number(each, frame) for each in value) if type(value) is tuple else value


def _as_results(found: Any, results: Sequence[Info], site: Site, meaning: Meaning) -> list[HeldValue]:
    listed = found if isinstance(found, list) else [found] if len(results) == 1 else list(found or ())
    if len(listed) != len(results):
        raise site.refusal(f"its reference ({meaning.place}) gave {len(listed)} of {counted(len(results), 'result')}")
    return [_as_result(*each, site, meaning) for each in zip(listed, results, strict=True)]


def _as_result(value: Any, info: Info, site: Site, meaning: Meaning) -> Any:
    if isinstance(info, ShapeInfo):
        return tuple(int(size) for size in value)
    if not isinstance(info, (TensorInfo, ScalarInfo, VectorInfo)):
        return value
    array = numpy.asarray(value)
    if problem := _problem_of_elements(array, info) or _problem_of_shape(array, info):
        if is_ours(meaning.function):  # sizes that do not fit
            raise ValueError(f"{site.place}: its result has {problem}")
        raise site.refusal(f"its reference ({meaning.place}) gave {problem}")
    held = site.numbers.held(array, info.dtype)
    return held[()] if isinstance(info, ScalarInfo) and not held.ndim else held


def _problem_of_elements(array: ndarray, info: TensorInfo | ScalarInfo | VectorInfo) -> str:
    kind = _kind(array.dtype)
    if kind and kind <= (3 if is_float(info.dtype) else 1 if is_bool(info.dtype) else 2):
        return ""
    return f"elements of {array.dtype}, the result's are {info.dtype}"


def _problem_of_shape(array: ndarray, info: TensorInfo | ScalarInfo | VectorInfo) -> str:
    dims = info.shape if isinstance(info, TensorInfo) else None
    if dims is None or (len(dims) == array.ndim and all(map(_fits, array.shape, dims))):
        return ""
    return f"shape {array.shape}, the result's is ({', '.join(map(str, dims))})"


def _kind(dtype: numpy.dtype) -> int:
    """Return 1 for booleans, 2 for integers, 3 for floats, else 0. A larger kind can represent smaller ones."""
    if dtype.isbuiltin == 2:
        return 2 if "int" in dtype.name else 3
    return {"b": 1, "i": 2, "u": 2, "f": 3}.get(dtype.kind, 0)


def _fits(size: int, dim: Dim) -> bool:
    return not isinstance(dim, int) or dim == size
