# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: metadata and weights."""

from __future__ import annotations

import math
import os

import numpy
import relax_mlir as rx

from .facts import Facts
from .gguf_header import DamageError, Header, read_header
from .safetensors_source import file_name
from .weights import Weight, check_shape, missing

_MAGIC = b"GGUF"
_ELEMENTS = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I8": "<i1", "I16": "<i2", "I32": "<i4", "I64": "<i8"}


class GgufSource:
    """Source of weights in a GGUF file. Weights are mapped, not read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._data, self._header = _open(path)
        self._read: set[str] = set()
        architecture = self.metadata("general.architecture")
        if not isinstance(architecture, str):
            raise rx.ModelError(
                f"{path}: the metadata lack 'general.architecture': this is no file of a language model"
            )
        prefix = f"{architecture}."
        names = [name for name in self._header.metadata if name.startswith(prefix)]
        values = {name.removeprefix(prefix): self.metadata(name) for name in names}
        self.facts = Facts(path, architecture, True, values)

    @property
    def names(self) -> list[str]:
        """Return the names of the tensors."""
        return list(self._header.tensors)

    @property
    def unread(self) -> list[str]:
        """Return the names of the tensors that nothing has read."""
        return [each for each in self._header.tensors if each not in self._read]

    def metadata(self, key: str) -> object:
        """Return a value of the metadata, or None."""
        found = self._header.metadata.get(key)
        if isinstance(found, numpy.ndarray):
            return found.tolist()
        try:
            "".join(found if isinstance(found, list) else [found] if isinstance(found, str) else ()).encode()
        except UnicodeEncodeError:
            raise rx.ModelError(f"{self.path}: '{key}' in the metadata is damaged: it is no UTF-8") from None
        return found

    def file_name(self, name: str) -> str:
        return file_name(self.facts.architecture, name)

    def shape(self, name: str) -> tuple[int, ...] | None:
        place = self._header.tensors.get(name)
        return None if place is None else place.shape

    def read(self, name: str, shape: tuple[int, ...]) -> Weight:
        place = self._header.tensors.get(name)
        if place is None:
            raise missing(self.path, name, len(self._header.tensors))
        check_shape(self.path, name, place.shape, shape)
        self._read.add(name)
        begin = self._header.begin + place.offset
        data = self._data[begin : begin + place.nbytes].view(_ELEMENTS.get(place.type, "u1"))
        return Weight(name, shape, place.type, data.reshape(*shape[:-1], data.size // math.prod(shape[:-1])))


def _open(path: str) -> tuple[numpy.ndarray, Header]:
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
        return data, read_header(path, data)
    except DamageError as error:
        raise rx.ModelError(
            f"{path} is damaged or cut: it has {size:,} bytes, and {error}; load the file again from its origin"
        ) from None
