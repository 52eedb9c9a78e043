# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in files, .safetensors and .npz, mapped so that a rank reads and writes its part only."""

from __future__ import annotations

import json
import mmap
import os
import struct
import zipfile
from collections.abc import Mapping
from math import prod
from typing import IO, Any, NamedTuple

import numpy
from relax_mlir.runtime.arrays import numpy_type
from relax_mlir.support.errors import OptionError

from .engines import Array

#: Types of elements by their names in safetensors files.
_TYPES = {
    **{"BOOL": "bool", "U8": "uint8", "U16": "uint16", "U32": "uint32", "U64": "uint64"},
    **{"I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64"},
    **{"F16": "float16", "F32": "float32", "F64": "float64", "BF16": "bfloat16"},
    **{"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"},
}
_LENGTH = struct.Struct("<Q")
#: Bytes of a mapped tensor that are in memory at a time.
_BLOCK = 1 << 23


class StoredTensor(NamedTuple):
    """Tensor in a file: the type and shape, and the offset of its elements."""

    dtype: Any
    shape: tuple[int, ...]
    offset: int

    def map(self, path: str, mode: Any = "r") -> Array:
        """Return the tensor as mapped memory."""
        if not prod(self.shape):
            return numpy.empty(self.shape, self.dtype)
        return numpy.memmap(path, self.dtype, mode, self.offset, self.shape)


def read_index(path: str) -> dict[str, StoredTensor]:
    """Return the tensors of a file by name. Raise OptionError if the file cannot be read."""
    reader = {".safetensors": _safetensors_index, ".npz": _npz_index}.get(path[path.rfind(".") :])
    if reader is None:
        raise OptionError(f"'{path}' must end with .safetensors or .npz")
    try:
        with open(path, "rb") as file:
            tensors = reader(file)
            end = file.seek(0, 2)
    except OSError as error:
        raise OptionError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, zipfile.BadZipFile) as error:
        raise OptionError(f"cannot read '{path}': it is damaged, or no file of its kind: {error}") from None
    for name, tensor in tensors.items():
        if tensor.offset + prod(tensor.shape) * tensor.dtype.itemsize > end:
            raise OptionError(f"cannot read '{path}': it ends within tensor '{name}'")
    return tensors


def _safetensors_index(file: IO[bytes]) -> dict[str, StoredTensor]:
    (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
    begin = _LENGTH.size + length
    return {
        name: StoredTensor(numpy_type(_TYPES[entry["dtype"]]), tuple(entry["shape"]), begin + entry["data_offsets"][0])
        for name, entry in json.loads(file.read(length)).items()
        if name != "__metadata__"
    }


def _npz_index(file: IO[bytes]) -> dict[str, StoredTensor]:
    tensors = {}
    for info in zipfile.ZipFile(file).infolist():
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError("its arrays are compressed: write them by numpy.savez")
        file.seek(info.header_offset + 26)
        file.seek(sum(struct.unpack("<HH", file.read(4))), 1)
        version = numpy.lib.format.read_magic(file)
        read_header = getattr(numpy.lib.format, f"read_array_header_{version[0]}_0")
        shape, is_transposed, dtype = read_header(file)
        if is_transposed and len(shape) > 1:
            raise ValueError(f"'{info.filename}' is stored by columns: write numpy.ascontiguousarray of it")
        tensors[info.filename.removesuffix(".npy")] = StoredTensor(dtype, shape, file.tell())
    return tensors


def safetensors_header(
    tensors: Mapping[str, tuple[Any, tuple[int, ...]]],
) -> tuple[bytes, dict[str, StoredTensor], int]:
    """Return the header of a file, its tensors, and its size. Raise OptionError for a type that it cannot have."""
    names = {numpy_type(type_): name for name, type_ in _TYPES.items()}
    entries, end = {}, 0
    for name, (dtype, shape) in tensors.items():
        if dtype not in names:
            raise OptionError(f"a .safetensors file has no elements of {dtype}, the type of '{name}'")
        begin, end = end, end + prod(shape) * dtype.itemsize
        entries[name] = {"dtype": names[dtype], "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(entries).encode()
    text += b" " * (-len(text) % 8)
    start = _LENGTH.size + len(text)
    stored = {
        name: StoredTensor(dtype, shape, start + entries[name]["data_offsets"][0])
        for name, (dtype, shape) in tensors.items()
    }
    return _LENGTH.pack(len(text)) + text, stored, start + end


def reserve_file(path: str, header: bytes, size: int) -> str:
    """Create a file of this size. Raise OSError if there is no room for it."""
    with open(path, "xb") as file:
        file.write(header)
        file.truncate(size)
        if hasattr(os, "posix_fallocate") and size:
            os.posix_fallocate(file.fileno(), 0, size)
    return path


def copy_rows(source: Array, target: Array, mapped: Array) -> None:
    """Copy an array in blocks of rows. Pages of the mapped memory leave the process after each block."""
    rows = max(_BLOCK // max(mapped[:1].nbytes, 1), 1) if source.ndim else 1
    for row in range(0, len(source) if source.ndim else 1, rows):
        place = slice(row, row + rows) if source.ndim else ()
        target[place] = source[place]
        memory = getattr(mapped, "_mmap", None)
        if memory is not None and hasattr(mmap, "MADV_DONTNEED"):
            memory.madvise(mmap.MADV_DONTNEED)
