# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: metadata and weights."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy
import relax_mlir as rx

from .facts import Facts
from .gguf_header import DamageError, Header, read_header
from .model_files import part_paths
from .safetensors_source import file_name
from .weights import Weight, check_shape, missing

_MAGIC = b"GGUF"
_ELEMENTS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}


class GgufSource:
    """Source of weights in a GGUF file, or in the parts of a split one. Weights are mapped, not read."""

    def __init__(self, path: str) -> None:
        self.path = path
        parts = _open_all(path)
        self._metadata = parts[0].header.metadata
        self._tensors = {name: (part, place) for part in parts for name, place in part.header.tensors.items()}
        self._read: set[str] = set()
        if not isinstance(architecture := self.metadata("general.architecture"), str):
            raise rx.ModelError(
                f"{path}: the metadata lack 'general.architecture': this is no file of a language model"
            )
        prefix = f"{architecture}."
        names = [name for name in self._metadata if name.startswith(prefix)]
        values = {name.removeprefix(prefix): self.metadata(name) for name in names}
        self.facts = Facts(path, architecture, True, values)

    @property
    def names(self) -> list[str]:
        """Return the names of the tensors."""
        return list(self._tensors)

    @property
    def unread(self) -> list[str]:
        """Return the names of the tensors that nothing has read."""
        return [tensor for tensor in self._tensors if tensor not in self._read]

    def metadata(self, key: str) -> object:
        """Return a value of the metadata, or None."""
        if isinstance(found := self._metadata.get(key), numpy.ndarray):
            return found.tolist()
        try:
            "".join(found if isinstance(found, list) else [found] if isinstance(found, str) else ()).encode()
        except UnicodeEncodeError:
            raise rx.ModelError(f"{self.path}: '{key}' in the metadata is damaged: it is no UTF-8") from None
        return found

    def file_name(self, name: str) -> str:
        return file_name(self.facts.architecture, name)

    def shape(self, name: str) -> tuple[int, ...] | None:
        found = self._tensors.get(name)
        return None if found is None else found[1].shape

    def read(self, name: str, shape: tuple[int, ...]) -> Weight:
        if name not in self._tensors:
            raise missing(self.path, name, len(self._tensors))
        part, place = self._tensors[name]
        check_shape(self.path, name, place.shape, shape)
        self._read.add(name)
        begin = part.header.begin + place.offset
        data = part.data[begin : begin + place.nbytes].view(_ELEMENTS.get(place.type, "u1"))
        return Weight(name, shape, place.type, data.reshape(*shape[:-1], data.size // math.prod(shape[:-1])))


class _MappedFile(NamedTuple):
    """Bytes of a file, mapped, and its header."""

    data: numpy.ndarray
    header: Header


def _open_all(path: str) -> list[_MappedFile]:
    """Return the parts of a file. Most files have one."""
    first = _open(path)
    count, number = (first.header.metadata.get(f"split.{key}", default) for key, default in (("count", 1), ("no", 0)))
    if count in (0, 1):
        return [first]
    paths = part_paths(Path(path))
    if number != 0 or count != len(paths):
        raise rx.ModelError(
            f"{path} is part {number} (from 0) of {count} of a split file: pass the first part, with a name that ends "
            f"in -00001-of-{count:05}.gguf, and the others beside it"
        )
    parts = [first, *(_open(str(each)) for each in paths[1:])]
    stated = [(part.header.metadata.get("split.no"), part.header.metadata.get("split.count")) for part in parts]
    names = [name for part in parts for name in part.header.tensors]
    expected = first.header.metadata.get("split.tensors.count", len(names))
    if stated != [(index, count) for index in range(len(parts))] or not len(names) == len(set(names)) == expected:
        raise rx.ModelError(
            f"{path}: the {count} parts have {len(names)} tensors, {len(set(names))} of different names, expected "
            f"{expected}: they belong to different files; load all of them again from their origin"
        )
    return parts


def _open(path: str) -> _MappedFile:
    """Return the bytes of a file, mapped, and its header."""
    try:
        with open(path, "rb") as file:
            magic = file.read(len(_MAGIC))
        size = os.path.getsize(path)
    except OSError as error:
        raise rx.ModelError(f"cannot read {path}: {error.strerror}") from None
    if magic != _MAGIC:
        raise rx.ModelError(f"{path} is no GGUF file: it begins with {magic!r}, expected {_MAGIC!r}")
    data = numpy.asarray(numpy.memmap(path, numpy.uint8, "r"))
    try:
        return _MappedFile(data, read_header(path, data))
    except DamageError as error:
        raise rx.ModelError(
            f"{path} is damaged or cut: it has {size:,} bytes, and {error}; load the file again from its origin"
        ) from None
