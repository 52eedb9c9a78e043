# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs and results of a compiled function: types, shapes, and rows along a symbolic first dimension."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy
import relax_mlir as rx

from .errors import ApiError, invalid

if TYPE_CHECKING:
    from numpy import ndarray

#: KServe's names of types, and NumPy's.
DATATYPES = {
    "BOOL": "bool",
    **{f"{kind.upper()}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    "FP16": "float16",
    "FP32": "float32",
    "FP64": "float64",
    "BF16": "bfloat16",
}
_NAMES = {dtype: name for name, dtype in DATATYPES.items()}
#: MLIR's types of scalars.
_SCALARS = {"i1": "bool", "i64": "int64", "i32": "int32", "f64": "float64", "f32": "float32", "index": "int64"}

Size = int | str | None


class Described(NamedTuple):
    """Input or result."""

    name: str
    dtype: str
    shape: tuple[Size, ...]

    @property
    def datatype(self) -> str:
        """Return KServe's name of the type."""
        return _NAMES[self.dtype]

    def content(self) -> dict[str, object]:
        """Return the entry in the metadata of a model. Sizes that are not fixed are -1."""
        shape = [size if isinstance(size, int) else -1 for size in self.shape]
        return {"name": self.name, "datatype": self.datatype, "shape": shape}


class FunctionSignature(NamedTuple):
    """Inputs and results of a function."""

    inputs: tuple[Described, ...]
    outputs: tuple[Described, ...]

    @property
    def rows(self) -> str | None:
        """Return the symbol of the rows: the first size of all inputs and results, and no other size. Else None."""
        every = (*self.inputs, *self.outputs)
        firsts = {each.shape[0] if each.shape else None for each in every}
        symbol = next(iter(firsts)) if len(firsts) == 1 else None
        others = [size for each in every for size in each.shape[1:] if isinstance(size, str)]
        if not self.inputs or not isinstance(symbol, str) or not symbol.isidentifier():
            return None
        return None if any(re.search(rf"\b{symbol}\b", size) for size in others) else symbol

    def check(self, arrays: Sequence[ndarray]) -> None:
        """Raise ApiError for shapes that differ from the signature."""
        sizes: dict[str, tuple[int, str]] = {}
        for described, array in zip(self.inputs, arrays, strict=True):
            if len(array.shape) != len(described.shape):
                raise _wrong_shape(described, array.shape)
            for wanted, actual in zip(described.shape, array.shape, strict=True):
                if isinstance(wanted, int) and wanted != actual:
                    raise _wrong_shape(described, array.shape)
                if isinstance(wanted, str) and wanted.isidentifier():
                    known, name = sizes.setdefault(wanted, (actual, described.name))
                    if known != actual:
                        raise _wrong_shape(described, array.shape, f" with {wanted} = {known} as in '{name}'")


def _wrong_shape(described: Described, actual: Sequence[int], more: str = "") -> ApiError:
    text = f"the input '{described.name}' has the shape {list(actual)}, expected {_shape_text(described.shape)}{more}"
    return invalid(text, described.name)


def _shape_text(shape: Sequence[Size]) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def signature_of(executable: rx.runtime.Executable, name: str) -> FunctionSignature:
    """Return the signature of a function. Raise RelaxError for inputs and results that JSON has no form for."""
    content = executable.signature(name)
    inputs = tuple(_describe(each, f"'{name}': the input", "") for each in content["inputs"])
    outputs = tuple(
        _describe(each, f"'{name}': the result", f"output{number}") for number, each in enumerate(content["outputs"])
    )
    return FunctionSignature(inputs, outputs)


def _describe(content: Mapping[str, object], where: str, usual: str) -> Described:
    name, kind = str(content.get("name") or usual), content["kind"]
    dtype = str(content.get("dtype"))
    dtype = _SCALARS.get(dtype, dtype) if kind == "scalar" else dtype
    if kind not in ("tensor", "scalar") or content.get("holds") or dtype not in _NAMES:
        held = content.get("holds") or content.get("dtype") or kind
        raise rx.RefusalError(
            f"{where} '{name}' is a {kind} of {held}, expected a tensor or scalar of {', '.join(_NAMES)}: "
            "convert it inside of the program"
        )
    shape = content.get("shape", ())
    assert isinstance(shape, Sequence)
    return Described(name, dtype, tuple(shape))


def numpy_type(datatype: str) -> numpy.dtype:
    """Return NumPy's type. BF16 needs the package ml_dtypes."""
    if datatype == "BF16":
        try:
            import ml_dtypes
        except ImportError:
            raise invalid("BF16 needs the package ml_dtypes on the server") from None
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype(DATATYPES[datatype])
