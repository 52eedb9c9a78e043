# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands and results as operators see them: plain values, independent of any MLIR context.

Element types have MLIR's names: "f32", "bf16", "i8", "ui8", "i1", "f8E4M3FN", "index".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ...support.errors import RelaxError
from ...support.suggest import suggest
from .symbols import Dim, SymbolError, SymExpr, equal, parse


class TensorInfo(NamedTuple):
    """Tensor. `shape` is None if the rank is unknown."""

    shape: tuple[Dim, ...] | None
    dtype: str

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    def with_shape(self, shape: Iterable[Dim] | None) -> TensorInfo:
        return TensorInfo(None if shape is None else tuple(shape), self.dtype)

    def with_dtype(self, dtype: str) -> TensorInfo:
        return TensorInfo(self.shape, dtype)


def tensor(shape: Iterable[int | str | SymExpr | None] | None, dtype: object = "float32") -> TensorInfo:
    """Return the info of a tensor: `tensor(("n", 4), "float32")`.

    Sizes are numbers, symbols, expressions, or None if unknown.
    """
    if (name := dtype_name(dtype)) is None or not is_dtype(name):
        raise RelaxError(f"rx.tensor: {dtype!r} is not an element type{suggest(str(dtype), DTYPE_BY_NAME)}")
    if shape is None:
        return TensorInfo(None, name)
    if isinstance(shape, (str, SymExpr)) or not hasattr(shape, "__iter__"):
        raise RelaxError(f"rx.tensor: a shape is a tuple of sizes, got {shape!r}")
    return TensorInfo(tuple(_dim(size, axis) for axis, size in enumerate(shape)), name)


def _dim(size: object, axis: int) -> Dim:
    """Return a size for inference. Raise RelaxError for an invalid size."""
    try:
        known = parse(size) if isinstance(size, str) else size
    except SymbolError as error:
        raise RelaxError(f"rx.tensor: dimension {axis} ({size!r}): {error}") from None
    if known is None or isinstance(known, SymExpr):
        return known
    if isinstance(known, bool) or not hasattr(known, "__index__"):
        raise RelaxError(
            f"rx.tensor: dimension {axis} must be an integer, a symbol or None, got {type(size).__name__} {size!r}"
        )
    if not 0 <= known.__index__() < 2**63:
        raise RelaxError(f"rx.tensor: dimension {axis} cannot be {size}: sizes go from 0 to 2**63 - 1")
    return int(known.__index__())


class ShapeInfo(NamedTuple):
    """Shape as a value, `!relax.shape`. `dims` is None if the rank is unknown."""

    dims: tuple[Dim, ...] | None


class ScalarInfo(NamedTuple):
    """Scalar SSA value, with its value if the defining operation states it."""

    dtype: str
    value: int | float | bool | SymExpr | None = None


class VectorInfo(NamedTuple):
    """Builtin vector. The intrinsics of the tir dialect work on vectors and on scalars."""

    shape: tuple[int, ...]
    dtype: str
    scalable: tuple[bool, ...] = ()


class ObjectInfo(NamedTuple):
    """`!relax.object`: any value of the packed-function ABI."""


class OtherInfo(NamedTuple):
    """Type without a meaning in this project (memref, !llvm.ptr, ...), as text."""

    text: str


Info = TensorInfo | ShapeInfo | ScalarInfo | VectorInfo | ObjectInfo | OtherInfo

FLOAT_TYPES = frozenset(
    "f16 bf16 f32 f64 f8E4M3FN f8E5M2 f8E4M3FNUZ f8E5M2FNUZ f8E4M3 f8E3M4 f8E4M3B11FNUZ f8E8M0FNU "
    "f6E2M3FN f6E3M2FN f4E2M1FN tf32".split()
)

COMPLEX_TYPES = frozenset({"complex<f32>", "complex<f64>"})

# Element type names of Relax and NumPy, accepted wherever an element type is expected.
DTYPE_BY_NAME = {
    "bool": "i1", "boolean": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": f"ui{bits}" for bits in (1, 2, 4, 8, 16, 32, 64)},
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2", "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e4m3": "f8E4M3", "float8_e3m4": "f8E3M4",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ", "float8_e8m0fnu": "f8E8M0FNU",
    "float6_e2m3fn": "f6E2M3FN", "float6_e3m2fn": "f6E3M2FN", "float4_e2m1fn": "f4E2M1FN",
}  # fmt: skip


def dtype_name(dtype: object) -> str | None:
    """Return MLIR's name of an element type, from a name, a NumPy type or another object with a name.

    Return None for other objects.
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    return DTYPE_BY_NAME.get(name, name) if isinstance(name, str) else None


def no_element_type(name: object) -> str:
    """Return the error message for an unknown element type."""
    return f"{name!r} is not an element type (try float32, int64, uint8, bool, ...)"


def is_dtype(name: str) -> bool:
    """Check whether a name is MLIR's name of an element type for tensors."""
    return is_float(name) or is_bool(name) or name in COMPLEX_TYPES or (is_int(name) and 1 <= bit_width(name) <= 128)


def is_bool(dtype: str) -> bool:
    return dtype == "i1"


def is_float(dtype: str) -> bool:
    """Check whether an element type is a floating-point type."""
    return dtype in FLOAT_TYPES


def is_unsigned(dtype: str) -> bool:
    return dtype[:2] == "ui" and dtype[2:].isdecimal()


def signless(dtype: str) -> str:
    """Return the element type without signedness, as in LLVM: "ui8" -> "i8"."""
    return dtype[1:] if is_unsigned(dtype) else dtype


def is_int(dtype: str) -> bool:
    """Check for an integer type. Integers of one bit count as bool, not as int."""
    return dtype != "i1" and ((dtype[:1] == "i" and dtype[1:].isdecimal()) or is_unsigned(dtype) or dtype == "index")


@lru_cache(maxsize=256)
def bit_width(dtype: str) -> int:
    """Return the bits of one element. f8E4M3FN has 8, i1 has 1, index counts as 64.

    Raise RelaxError for other types.
    """
    if dtype == "index":
        return 64
    if dtype in COMPLEX_TYPES:
        return 2 * bit_width(dtype[len("complex<") : -1])
    if match := re.fullmatch(r"(?:b?f|tf|u?i)(\d+)\w*", dtype):
        return int(match[1])
    raise RelaxError(no_element_type(dtype))


def describe(info: Info | None) -> str:
    """Return the type as MLIR prints it, for error messages."""
    if info is None:
        return "nothing"
    if isinstance(info, TensorInfo):
        return _describe_tensor(info)
    if isinstance(info, ShapeInfo):
        return "!relax.shape<unit>" if info.dims is None else f"!relax.shape<{_describe_dims(info.dims)}>"
    if isinstance(info, ScalarInfo):
        return info.dtype
    if isinstance(info, VectorInfo):
        scalable = info.scalable or (False,) * len(info.shape)
        sizes = (f"[{size}]x" if flag else f"{size}x" for size, flag in zip(info.shape, scalable, strict=True))
        return f"vector<{''.join(sizes)}{info.dtype}>"
    return "!relax.object" if isinstance(info, ObjectInfo) else info.text


def _describe_tensor(info: TensorInfo) -> str:
    if info.shape is None:
        return f"tensor<*x{info.dtype}>"
    sizes = "".join(f"{dim if isinstance(dim, int) else '?'}x" for dim in info.shape)
    symbolic = any(isinstance(dim, SymExpr) for dim in info.shape)
    encoding = f", #relax.sym<{_describe_dims(info.shape)}>" if symbolic else ""
    return f"tensor<{sizes}{info.dtype}{encoding}>"


def _describe_dims(dims: tuple[Dim, ...]) -> str:
    texts = ["?" if dim is None else str(dim) for dim in dims]
    quoted = (text if isinstance(dim, int) else f'"{text}"' for dim, text in zip(dims, texts, strict=True))
    return f"[{', '.join(quoted)}]"


def is_same_shape(one: Info, other: Info) -> bool:
    """Return True if two tensors have the same sizes for all values of the symbols."""
    left, right = (info.shape if isinstance(info, TensorInfo) else None for info in (one, other))
    if left is None or right is None or len(left) != len(right):
        return False
    return all(equal(*pair) is True for pair in zip(left, right, strict=True))
