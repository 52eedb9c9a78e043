# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes as values, symbolic scalars, and the run-time check that introduces symbols."""

from __future__ import annotations

from typing import Any

from ...bindings.ir import Attribute, Context, Operation
from ...bindings.mlir import ir
from ..core.attributes import AttributeProblem, AttrKind, Str, size_of
from ..core.codec import TypeProblem, decode, decode_dims, encode_dims
from ..core.infos import ObjectInfo, ScalarInfo, ShapeInfo, TensorInfo, describe
from ..core.opdef import Call, OpProblem
from ..core.symbols import Size, SymbolError
from ..core.verifier import compatible
from .dialect import elementwise_op, op

# A tensor with more elements than this is no list of a shape's sizes.
_MOST_DIMENSIONS = 64


class _SizeText(Str):
    """Size: an integer or an expression over symbols, stored as text in the IR."""

    expects = "an expression over symbols"
    label = "size"
    hint = "BoundLike"

    def normalize(self, value: object) -> Size:  # type: ignore[override]
        try:
            return size_of(value)
        except SymbolError as error:
            raise AttributeProblem(f"expects {self.expects}: {error}") from None

    def encode(self, value: Size, context: Context) -> Attribute:  # type: ignore[override]
        return super().encode(str(value), context)


class _ShapeSizes(AttrKind):
    """Sizes of a shape."""

    expects = "a list of sizes"
    label = "sizes"

    def normalize(self, value: Any) -> tuple[Size, ...]:
        if isinstance(value, (str, bytes)):
            raise self.refuse(value)
        try:
            items = tuple(value)
        except TypeError:
            raise self.refuse(value) from None
        sizes = tuple(_SizeText().normalize(item) for item in items)
        if any(isinstance(size, int) and size < 0 for size in sizes):
            raise self.refuse(value)
        return sizes

    def encode(self, value: tuple[Size, ...], context: Context) -> Attribute:
        return encode_dims(value, context)

    def decode(self, attribute: Attribute) -> tuple[Size, ...]:
        if not isinstance(attribute, ir.ArrayAttr):
            raise self.refuse(attribute)
        try:
            dims = decode_dims(attribute, f"expects {self.expects}")
        except TypeProblem as problem:
            raise AttributeProblem(str(problem)) from None
        known = tuple(dim for dim in dims or () if dim is not None)
        if dims is None or len(known) != len(dims):
            raise self.refuse(attribute)
        return known


def _tensor_to_shape(call: Call) -> ShapeInfo:
    info = call.input
    call.require(info.dtype == "i64", f"{call.describe('input')} must have elements of type i64")
    call.require(info.rank in (1, None), f"{call.describe('input')} must be 1-D")
    length = info.shape[0] if info.shape else None
    if not isinstance(length, int):
        return ShapeInfo(None)
    call.require(length <= _MOST_DIMENSIONS, f"{call.describe('input')} must list {_MOST_DIMENSIONS} sizes at most")
    return ShapeInfo((None,) * length)


def _shape_to_tensor(call: Call) -> TensorInfo:
    dims = call.input.dims
    return TensorInfo((None if dims is None else len(dims),), "i64")


def _verify_match_cast(operation: Operation, call: Call) -> None:
    if len(operation.results) != 1:
        raise OpProblem(f"gives one result, but {len(operation.results)} are stated")
    source, target = call.value, decode(operation.results[0].type)
    if isinstance(source, ObjectInfo) or isinstance(target, ObjectInfo):
        return
    if isinstance(source, TensorInfo) and isinstance(target, TensorInfo) and source.dtype != target.dtype:
        types = f"{describe(source)} to {describe(target)}"
        raise OpProblem(f"cannot cast {types}: use relax.astype to convert elements")
    if not compatible(source, target):
        raise OpProblem(f"can never hold: {call.describe('value')} is not a {describe(target)}")


op("shape_expr", "", attrs={"dims": _ShapeSizes()}, infer=lambda call: ShapeInfo(call.dims), role="literal", own=True,
   doc="Shape with sizes that are integers or expressions over the function's symbols.")  # fmt: skip
op("prim_value", "", attrs={"value": _SizeText()}, infer=lambda call: ScalarInfo("i64", call.value), role="literal",
   own=True, doc="Value of a symbolic expression, as a 64-bit integer.")  # fmt: skip
# Not pure: the check must stay even if the result is unused, and types refer to the symbols that it defines.
op("match_cast", "value:any", explicit="ty", verify=_verify_match_cast, pure=False, role="shape", view="value",
   own=True, doc="Casts to a more precise type, checked at run time, and defines new symbols.")  # fmt: skip
op("shape_of", "input", infer=lambda call: ShapeInfo(call.input.shape), role="shape", doc="Shape of a tensor.")
op("tensor_to_shape", "input", infer=_tensor_to_shape, role="shape", doc="Converts a 1-D int64 tensor to a shape.")
op("shape_to_tensor", "input:shape", infer=_shape_to_tensor, role="shape", destinations=True,
   doc="Converts a shape to a 1-D int64 tensor.")  # fmt: skip
elementwise_op("scalar_to_tensor", "value:scalar", own=True,
   flops=0, infer=lambda call: TensorInfo((), "i64" if call.value.dtype == "index" else call.value.dtype),
   doc="Converts a scalar to a 0-D tensor, also implicitly for operands that must be tensors.")  # fmt: skip
op("size", "input", infer=lambda call: TensorInfo((), "i64"),
   doc="Number of elements of a tensor, as a 0-D int64 tensor.")  # fmt: skip
