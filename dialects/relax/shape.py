# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values, symbolic scalars, and the run-time check that introduces symbols."""

from __future__ import annotations

from typing import Any

from ..core.attributes import Raw, Str
from ..core.codec import decode, decode_dims
from ..core.infos import ObjectInfo, ScalarInfo, ShapeInfo, TensorInfo, describe
from ..core.opdef import Call, OpProblem
from ..core.symbols import SymbolError, parse
from ..core.verifier import compatible
from .dialect import op


def _shape(call: Call) -> ShapeInfo:
    dims = decode_dims(call.dims, "attribute 'dims'")
    if dims is None or None in dims:
        raise call.fail("attribute 'dims' must list integers and symbolic expressions")
    return ShapeInfo(dims)


def _prim_value(call: Call) -> ScalarInfo:
    try:
        parse(call.value)
    except SymbolError as error:
        raise call.fail(f"attribute 'value' is no expression: {error}") from None
    return ScalarInfo("i64")


def _shape_of(call: Call) -> ShapeInfo:
    return ShapeInfo(call.input.shape)


def _tensor_to_shape(call: Call) -> ShapeInfo:
    info = call.input
    call.require(info.dtype == "i64", f"{call.describe('input')} must have elements of type i64")
    call.require(info.rank in (1, None), f"{call.describe('input')} must be 1-D")
    length = info.shape[0] if info.shape else None
    return ShapeInfo((None,) * length if isinstance(length, int) else None)


def _shape_to_tensor(call: Call) -> TensorInfo:
    dims = call.input.dims
    return TensorInfo((None if dims is None else len(dims),), "i64")


def _size(call: Call) -> TensorInfo:
    return TensorInfo((), "i64")


def _verify_match_cast(operation: Any, call: Call) -> None:
    target = decode(operation.results[0].type)
    source = call.value
    if isinstance(source, ObjectInfo) or isinstance(target, ObjectInfo):
        return
    if isinstance(source, TensorInfo) and isinstance(target, TensorInfo) and source.dtype != target.dtype:
        raise OpProblem(f"cannot cast {describe(source)} to {describe(target)}: use relax.astype to convert elements")
    if not compatible(source, target):
        raise OpProblem(f"can never hold: {call.describe('value')} is not a {describe(target)}")


op("shape", "", attrs={"dims": Raw(["ArrayAttr"], expects="a list of sizes")}, infer=_shape, own=True,
   doc="A shape as a value; its sizes are integers and expressions over the function's symbols.")  # fmt: skip
op("prim_value", "", attrs={"value": Str(doc="an expression over the function's symbols")}, infer=_prim_value,
   own=True, doc="The value of a symbolic expression as a 64-bit integer.")  # fmt: skip
# Not pure: the check must stay even where nobody uses the result, and the symbols it defines live on in types.
op("match_cast", "value:any", explicit="ty", verify=_verify_match_cast, pure=False, own=True,
   doc="The value with a more precise type, checked at run time; symbols that are new here get their values.")  # fmt: skip
op("shape_of", "input", infer=_shape_of, doc="The shape of a tensor.")
op("tensor_to_shape", "input", infer=_tensor_to_shape, doc="A 1-D int64 tensor as a shape.")
op("shape_to_tensor", "input:shape", infer=_shape_to_tensor, doc="A shape as a 1-D int64 tensor.")
op("size", "input", infer=_size, doc="The number of elements of a tensor, as a 0-D int64 tensor.")

