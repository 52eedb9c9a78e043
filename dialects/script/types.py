# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types in scripts: `R.Tensor(("n", 4), "float32")`, `T.Vector((8,), "float32")`, `T.int64`."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Type
from ...bindings.mlir import DYNAMIC, ir
from ..core.codec import TypeProblem, decode, encode
from ..core.infos import DTYPE_BY_NAME, ObjectInfo, ShapeInfo, TensorInfo
from ..core.symbols import Dim
from .expr import as_tuple, is_name
from .words import quoted

_DTYPE_NAMES = {mlir: name for name, mlir in DTYPE_BY_NAME.items()} | {"i1": "bool"}
_SHAPED = ("RankedTensorType", "UnrankedTensorType", "MemRefType", "VectorType")


def dtype_name(text: str) -> str:
    """Return Relax's name of an element type: "f32" is "float32"."""
    return _DTYPE_NAMES.get(text, text)


def is_scalar(type_: Type) -> bool:
    return isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType))


def is_number(type_: Type) -> bool:
    return is_scalar(type_) or isinstance(type_, ir.ComplexType)


def has_elements(type_: Type) -> bool:
    """Check for tensors and buffers."""
    return is_tensor(type_) or isinstance(type_, (ir.MemRefType, ir.UnrankedMemRefType))


def is_tensor(type_: Type) -> bool:
    return isinstance(type_, (ir.RankedTensorType, ir.UnrankedTensorType))


def type_text(type_: Type, tensor: str = "R.Tensor") -> str:
    """Return the script's name of a type, or MLIR's text. `tensor` is the word for tensors."""
    if is_scalar(type_):
        name = dtype_name(str(type_))
        return f"T.{name}" if name.isidentifier() and name.isascii() else _quoted_type(type_)
    if type(type_).__name__ in _SHAPED:
        return _shaped_text(type_, tensor) or _quoted_type(type_)
    if str(type_).startswith("!relax."):
        return _relax_text(type_) or _quoted_type(type_)
    return _quoted_type(type_)


def _quoted_type(type_: Type) -> str:
    return f"I.type({quoted(str(type_))})"


def _shaped_text(type_: Type, tensor: str) -> str:
    if not is_number(type_.element_type):
        return ""
    element = quoted(dtype_name(str(type_.element_type)))
    if is_tensor(type_):
        return _tensor_text(type_, tensor, element)
    sizes = as_tuple(['"?"' if size == DYNAMIC else str(size) for size in type_.shape])
    if isinstance(type_, ir.VectorType):
        name = dtype_name(str(type_.element_type))
        if type_.scalable:
            return ""
        return f"T.{name}x{type_.shape[0]}" if is_name(name) and type_.rank == 1 else f"T.Vector({sizes}, {element})"
    plain = ir.MemRefType.get(list(type_.shape), type_.element_type, loc=ir.Location.unknown(type_.context))
    return f"T.Buffer({sizes}, {element})" if plain == type_ else ""


def _tensor_text(type_: Type, tensor: str, element: str) -> str:
    try:
        info = decode(type_)
        if not isinstance(info, TensorInfo) or encode(info, type_.context) != type_:
            return ""
    except TypeProblem:
        return ""
    return f"{tensor}({element})" if info.shape is None else f"{tensor}({_dims_text(info.shape)}, {element})"


def _relax_text(type_: Type) -> str:
    try:
        info = decode(type_)
        if encode(info, type_.context) != type_:
            return ""
    except TypeProblem:
        return ""
    if isinstance(info, ObjectInfo):
        return "R.Object"
    if not isinstance(info, ShapeInfo):
        return ""
    return "R.Shape()" if info.dims is None else f"R.Shape({_dims_text(info.dims)})"


def _dims_text(dims: Sequence[Dim]) -> str:
    return as_tuple([dim_text(dim) for dim in dims])


def dim_text(dim: Dim) -> str:
    """Return a size as a number, or as quoted text if it is symbolic."""
    return str(dim) if isinstance(dim, int) else quoted("?" if dim is None else str(dim))


def tensor_dims(type_: Type) -> tuple[Dim, ...]:
    """Return the sizes of a ranked tensor.

    A malformed symbolic encoding, which verifies on function types, is ignored.
    """
    try:
        info = decode(type_)
    except TypeProblem:
        return tuple(None if size == DYNAMIC else size for size in type_.shape)
    assert isinstance(info, TensorInfo) and info.shape is not None
    return info.shape
