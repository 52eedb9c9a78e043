# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of a model as arrays: without a copy where the bytes are there, mapped where they are in another file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...bindings.errors import RelaxError
from .dtypes import dtype_of

# What numpy itself knows; ONNX's library gives arrays of the others.
_NATIVE = {
    "f32": "<f4", "f64": "<f8", "f16": "<f2", "i1": "?", "i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
    "ui8": "u1", "ui16": "<u2", "ui32": "<u4", "ui64": "<u8",
}  # fmt: skip
_EXTERNAL = 1  # TensorProto.EXTERNAL
_MOST_ELEMENTS = 1 << 46


def array_of(tensor: Any, folder: Path | None) -> Any:
    """The elements of a TensorProto. `folder` is where files with external data lie; None where there is none.

    Raises RelaxError where bytes and shape do not agree, or a path leaves the folder.
    """
    what = f"tensor '{tensor.name}'" if tensor.name else "a tensor"
    shape = tuple(tensor.dims)
    try:
        dtype = dtype_of(tensor.data_type)
    except RelaxError as error:
        raise RelaxError(f"{what}: {error.message}") from None
    check_size(what, shape)
    if tensor.data_location == _EXTERNAL:
        return _mapped(tensor, what, dtype, shape, folder)
    if tensor.HasField("raw_data") and dtype in _NATIVE:
        return _from_bytes(tensor.raw_data, what, dtype, shape)
    return _decoded(tensor, what, shape)


def check_size(what: str, shape: Sequence[int]) -> None:
    """Refuses sizes that no memory holds, whose product may not even be a number of 64 bits."""
    if any(size < 0 for size in shape) or math.prod(shape) > _MOST_ELEMENTS:
        raise RelaxError(f"{what} has the absurd shape {tuple(shape)}")


def _from_bytes(data: bytes, what: str, dtype: str, shape: tuple[int, ...]) -> Any:
    import numpy

    element = numpy.dtype(_NATIVE[dtype])
    wanted = math.prod(shape) * element.itemsize
    if len(data) != wanted:
        raise RelaxError(f"{what} of shape {shape} and type {dtype} needs {wanted} bytes, the model has {len(data)}")
    return numpy.frombuffer(data, element).reshape(shape)


def _decoded(tensor: Any, what: str, shape: tuple[int, ...]) -> Any:
    from onnx import numpy_helper

    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise RelaxError(f"{what} of shape {shape} cannot be read: {error}") from None


def _mapped(tensor: Any, what: str, dtype: str, shape: tuple[int, ...], folder: Path | None) -> Any:
    import numpy

    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _inside(folder, entries.get("location", ""), what)
    if dtype not in _NATIVE:
        raise RelaxError(f"{what} of type {dtype} lies in another file: only {', '.join(_NATIVE)} are mapped")
    element = numpy.dtype(_NATIVE[dtype])
    size = math.prod(shape) * element.itemsize
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", size))
        available = path.stat().st_size
    except (OSError, ValueError) as error:
        raise RelaxError(f"{what}: its file {path} cannot be read: {error}") from None
    if length != size or offset < 0 or offset + size > available:
        raise RelaxError(
            f"{what} of shape {shape} and type {dtype} needs {size} bytes from {offset}: "
            f"{path} has {available}, the model says {length}"
        )
    if size == 0:
        return numpy.zeros(shape, element)
    try:
        return numpy.memmap(path, element, "r", offset, shape)
    except OSError as error:
        raise RelaxError(f"{what}: its file {path} cannot be read: {error}") from None


def _inside(folder: Path | None, location: str, what: str) -> Path:
    """The file of external data, which must lie in the model's folder."""
    if folder is None:
        raise RelaxError(f"{what} lies in the file '{location}': give the model as a path, or the folder of its files")
    if "\0" in location:
        raise RelaxError(f"{what} lies in a file whose name has a zero byte")
    path = (folder / location).resolve()
    if not location or not path.is_relative_to(folder.resolve()):
        raise RelaxError(f"{what} lies in the file '{location}', which is outside of the model's folder")
    return path
