# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a model as arrays: views of the model's bytes, or of a mapped file."""

from __future__ import annotations

import math
import mmap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ...dialects.core.infos import bit_width
from ...support.errors import ModelError, RelaxError
from ..core.limits import Room
from ..core.values import Array

if TYPE_CHECKING:
    import onnx

# Names for annotations. Loading these packages takes time, so only reading a model does it.
ModelProto: TypeAlias = "onnx.ModelProto"
FunctionProto: TypeAlias = "onnx.FunctionProto"
GraphProto: TypeAlias = "onnx.GraphProto"
NodeProto: TypeAlias = "onnx.NodeProto"
AttributeProto: TypeAlias = "onnx.AttributeProto"
TensorProto: TypeAlias = "onnx.TensorProto"
TypeProto: TypeAlias = "onnx.TypeProto"
ValueInfoProto: TypeAlias = "onnx.ValueInfoProto"

_EXTERNAL = 1  # TensorProto.EXTERNAL
_MOST_ELEMENTS = 1 << 46
# Fields that may contain a tensor's elements instead of `raw_data`.
_TYPED = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")


# ---- element types by number, with the dialects' names ----

_DTYPES = {
    1: "f32", 2: "ui8", 3: "i8", 4: "ui16", 5: "i16", 6: "i32", 7: "i64", 9: "i1", 10: "f16", 11: "f64",
    12: "ui32", 13: "ui64", 16: "bf16", 17: "f8E4M3FN", 18: "f8E4M3FNUZ", 19: "f8E5M2", 20: "f8E5M2FNUZ",
    21: "ui4", 22: "i4", 23: "f4E2M1FN", 24: "f8E8M0FNU", 25: "ui2", 26: "i2",
}  # fmt: skip
TEXT = 8  # TensorProto.STRING
_REFUSED = {0: "undefined", TEXT: "string", 14: "complex64", 15: "complex128"}


def dtype_of(number: int) -> str:
    """Return the element type for a number in a model. Raise RelaxError for types that are not supported."""
    if number not in _DTYPES:
        raise ModelError(f"elements of type {_REFUSED.get(number, f'#{number}')} cannot be compiled")
    return _DTYPES[number]


def is_text(tensor: TensorProto) -> bool:
    return bool(tensor.data_type == TEXT)


def number_of(dtype: str) -> int:
    return next(number for number, known in _DTYPES.items() if known == dtype)


# ---- elements ----


class TensorData:
    """Source of the tensors' bytes outside of the tensors."""

    def __init__(self, room: Room, folder: Path | None = None, taken: Mapping[bytes, memoryview] | None = None):
        """Create a source. `folder` contains files of external data; `taken` maps tokens to data (see large_data)."""
        self.room, self.folder = room, folder
        self._taken = taken or {}
        self._mapped: dict[Path, memoryview] = {}
        #: Number of bytes that tensors have read from each file so far.
        self._read: Counter[Path] = Counter()

    @property
    def files(self) -> list[Path]:
        """Return the files from which tensors have been read."""
        return list(self._mapped)

    def behind(self, raw: bytes) -> bytes | memoryview:
        """Return the data that a tensor's `raw_data` represents."""
        return self._taken.get(raw, raw)

    def file(self, path: Path) -> memoryview:
        """Return the bytes of a file, mapped once for all tensors. Raises OSError or ValueError."""
        if path not in self._mapped:
            with path.open("rb") as file:
                self._mapped[path] = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return self._mapped[path]

    def part(self, path: Path, offset: int, size: int, what: str) -> memoryview:
        """Return some bytes of a file for a tensor. Shared bytes count as growth, because each tensor gets its own."""
        whole = self.file(path)
        self._read[path] += size
        if (shared := min(self._read[path] - len(whole), size)) > 0:
            self.room.take_bytes(what, shared)
        return whole[offset : offset + size]


def array_of(tensor: TensorProto, data: TensorData) -> Array:
    """Return the elements of a TensorProto. Raise RelaxError if bytes and shape disagree, or a path is not allowed."""
    what = f"tensor '{tensor.name}'" if tensor.name else "a tensor"
    shape = tuple(tensor.dims)
    try:
        dtype = dtype_of(tensor.data_type)
    except RelaxError as error:
        raise ModelError(f"{what}: {error.message}") from None
    check_size(what, shape)
    if tensor.HasField("segment"):
        raise ModelError(f"{what} is a segment of a larger one: only whole tensors can be compiled")
    if tensor.data_location == _EXTERNAL:
        return _from_bytes(tensor, _external(tensor, what, dtype, shape, data), what, dtype, shape)
    if tensor.HasField("raw_data"):
        if (twice := next((field for field in _TYPED if len(getattr(tensor, field))), None)) is not None:
            raise ModelError(f"{what} has its elements twice, in 'raw_data' and in '{twice}': one must be empty")
        return _from_bytes(tensor, data.behind(tensor.raw_data), what, dtype, shape)
    return _decode(tensor, what, shape)


def check_size(what: str, shape: Sequence[int]) -> None:
    """Refuse sizes that exceed any memory. Their product may not even be a 64-bit number."""
    if is_absurd(shape):
        raise ModelError(f"{what} has the absurd shape {tuple(shape)}")


def is_absurd(shape: Sequence[int]) -> bool:
    """Return True if sizes are negative or too large for any memory, even if another size is zero."""
    return any(size < 0 for size in shape) or math.prod(size or 1 for size in shape) > _MOST_ELEMENTS


def byte_count(dtype: str, shape: Sequence[int]) -> int:
    """Return the number of bytes of a tensor's elements in a model."""
    # A boolean takes one byte; other types of less than a byte are packed.
    bits = 8 if dtype == "i1" else bit_width(dtype)
    return (math.prod(shape) * bits + 7) // 8


def _from_bytes(tensor: TensorProto, raw: bytes | memoryview, what: str, dtype: str, shape: tuple[int, ...]) -> Array:
    import numpy
    from onnx import helper

    wanted = byte_count(dtype, shape)
    if len(raw) != wanted:
        raise ModelError(f"{what} of shape {shape} and type {dtype} needs {wanted} bytes, the model has {len(raw)}")
    if dtype != "i1" and bit_width(dtype) < 8:
        # Only ONNX's library can unpack them, from a tensor that contains its bytes.
        held = type(tensor)(data_type=tensor.data_type, dims=tensor.dims, raw_data=bytes(raw))
        return _decode(held, what, shape)
    return numpy.frombuffer(raw, helper.tensor_dtype_to_np_dtype(tensor.data_type)).reshape(shape)


def _decode(tensor: TensorProto, what: str, shape: tuple[int, ...]) -> Array:
    from onnx import helper, numpy_helper

    try:
        array = numpy_helper.to_array(tensor)
        array.setflags(write=False)  # The graph's constant shares this memory without a copy.
        return array
    except (ValueError, TypeError) as error:
        field = helper.tensor_dtype_to_field(tensor.data_type)
        held = f"its '{field}' has {len(getattr(tensor, field))} elements"
        raise ModelError(f"{what} of shape {shape} cannot be read: {held} ({error})") from None


def _external(tensor: TensorProto, what: str, dtype: str, shape: tuple[int, ...], data: TensorData) -> memoryview:
    """Return the bytes of a tensor in another file."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _resolve(data.folder, entries.get("location", ""), what)
    size = byte_count(dtype, shape)
    try:
        if not path.is_file():
            raise ValueError("there is no such file")
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", size))
        available = path.stat().st_size
        if length != size or offset < 0 or offset + size > available:
            raise ModelError(
                f"{what} of shape {shape} and type {dtype} needs {size} bytes from {offset}: "
                f"{path} has {available}, the model says {length}"
            )
        # An empty file cannot be mapped.
        return data.part(path, offset, size, what) if size else memoryview(b"")
    except (OSError, ValueError) as error:
        raise ModelError(f"{what}: its file {path} cannot be read: {error}") from None


def _resolve(folder: Path | None, location: str, what: str) -> Path:
    """Return the file of external data, which must be in the model's folder."""
    if folder is None:
        raise ModelError(f"{what} is in the file '{location}': give the model as a path, or the folder of its files")
    if "\0" in location:
        raise ModelError(f"{what} is in a file whose name has a zero byte")
    path = (folder / location).resolve()
    if not location or not path.is_relative_to(folder.resolve()):
        raise ModelError(f"{what} is in the file '{location}', which is outside of the model's folder")
    return path
