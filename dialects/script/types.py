# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Types as TVMScript writes them: `Tensor((n, 4), "float32")`, `Buffer((8, 8), "int8")`, `int64`."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Type
from ...bindings.mlir import ir
from ..core.codec import TypeProblem, decode
from ..core.infos import DTYPE_BY_NAME, ShapeInfo, TensorInfo
from ..core.symbols import Dim, SymExpr
from .expr import as_tuple, few, quote, shorten

_DTYPE_NAMES = {mlir: name for name, mlir in DTYPE_BY_NAME.items()} | {"i1": "bool"}
_MOST_DIMENSIONS = 16
_MOST_OTHER = 60
_SHAPED_NAMES = {
    "RankedTensorType": "Tensor",
    "UnrankedTensorType": "Tensor",
    "MemRefType": "Buffer",
    "UnrankedMemRefType": "Buffer",
    "VectorType": "Vector",
}


def dtype_name(text: str) -> str:
    """Relax's name of an element type: "f32" is "float32"."""
    return _DTYPE_NAMES.get(text) or shorten(text)


def dim_text(dim: Dim) -> str:
    return "?" if dim is None else str(dim)


def dims_text(dims: Sequence[str]) -> str:
    """A shape's sizes as a tuple; of a great many only the first."""
    return as_tuple(few(dims, _MOST_DIMENSIONS))


def is_scalar(type_: Type) -> bool:
    return isinstance(type_, (ir.IntegerType, ir.FloatType, ir.IndexType))


def is_tensor(type_: Type) -> bool:
    return isinstance(type_, (ir.RankedTensorType, ir.UnrankedTensorType))


def type_text(type_: Type) -> str:
    name = _SHAPED_NAMES.get(type(type_).__name__)
    if name is not None:
        return f"{name}({shaped_arguments(type_)})"
    if is_scalar(type_):
        return dtype_name(str(type_))
    text = str(type_)
    if text == "!relax.object":
        return "Object"
    if text.startswith("!relax.shape<"):
        return _shape_text(type_, text)
    return shorten(text, _MOST_OTHER)


def _shape_text(type_: Type, text: str) -> str:
    try:
        info = decode(type_)
    except TypeProblem:
        return shorten(text)
    assert isinstance(info, ShapeInfo)
    return "Shape(...)" if info.dims is None else f"Shape({dims_text([dim_text(dim) for dim in info.dims])})"


def shaped_arguments(type_: Type, dims: Sequence[str] | None = None) -> str:
    """What stands in the parentheses of a tensor's, buffer's or vector's type; `dims` replaces its sizes."""
    element = quote(dtype_name(str(type_.element_type)))
    if not type_.has_rank:
        return f"..., {element}{_memory_text(type_)}"
    sizes = dims_text(dim_texts(type_) if dims is None else dims)
    return f"{sizes}, {element}{_memory_text(type_)}{_encoding_text(type_)}"


def dim_texts(type_: Type) -> list[str]:
    """The sizes of a ranked type: numbers, expressions over symbols, "?"."""
    if isinstance(type_, ir.RankedTensorType):
        return [dim_text(dim) for dim in tensor_dims(type_)]
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = ["?" if size == dynamic else str(size) for size in type_.shape]
    if not isinstance(type_, ir.VectorType) or not type_.scalable:
        return sizes
    return [f"{size}*vscale" if scalable else size for size, scalable in zip(sizes, type_.scalable_dims, strict=True)]


def tensor_dims(type_: Type) -> tuple[Dim, ...]:
    """The sizes of a ranked tensor. A malformed symbolic encoding, which verifies on function types, counts as none."""
    try:
        info = decode(type_)
    except TypeProblem:
        dynamic = ir.ShapedType.get_dynamic_size()
        return tuple(None if size == dynamic else size for size in type_.shape)
    assert isinstance(info, TensorInfo) and info.shape is not None
    return info.shape


def symbols_of(type_: Type) -> set[str]:
    """The names of symbolic sizes in a type."""
    if not isinstance(type_, ir.RankedTensorType) or type_.encoding is None:
        return set()
    return {name for dim in tensor_dims(type_) if isinstance(dim, SymExpr) for name in dim.variables}


def _memory_text(type_: Type) -> str:
    """Where a buffer lies and how, as far as that is not the default."""
    if not isinstance(type_, (ir.MemRefType, ir.UnrankedMemRefType)):
        return ""
    layout = _layout_text(type_) if isinstance(type_, ir.MemRefType) else ""
    space = type_.memory_space
    if space is None:
        return layout
    # `#gpu.address_space<workgroup>` is said well enough by its value.
    text = str(space)
    inner = text[text.index("<") + 1 : -1] if text.endswith(">") else text.partition(" : ")[0]
    return f"{layout}, scope={quote(inner)}"


def _layout_text(type_: Type) -> str:
    layout = type_.layout
    if isinstance(layout, ir.StridedLayoutAttr):
        dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
        strides = ["?" if stride == dynamic else str(stride) for stride in layout.strides]
        offset = "?" if layout.offset == dynamic else str(layout.offset)
        return f", strides={dims_text(strides)}{f', offset={offset}' if offset != '0' else ''}"
    text = str(layout)
    identity = ", ".join(f"d{index}" for index in range(type_.rank))
    return "" if text == f"affine_map<({identity}) -> ({identity})>" else f", layout={quote(text)}"


def _encoding_text(type_: Type) -> str:
    encoding = type_.encoding if isinstance(type_, ir.RankedTensorType) else None
    if encoding is None or (isinstance(encoding, ir.DynamicAttr) and encoding.attr_name == "relax.sym"):
        return ""
    return f", encoding={shorten(str(encoding))}"
