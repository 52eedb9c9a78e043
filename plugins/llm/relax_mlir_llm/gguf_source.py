# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GGUF files: metadata and weights."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import gguf
import numpy
import relax_mlir as rx

from .facts import Facts
from .safetensors_source import file_name
from .weights import Weight, check_shape, missing

_MAGIC = b"GGUF"


class GgufSource:
    """Source of weights in a GGUF file. Weights are mapped, not read."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._reader = _open(path)
        self._tensors = {each.name: each for each in self._reader.tensors}
        architecture = self.metadata("general.architecture")
        if not isinstance(architecture, str):
            raise rx.ModelError(
                f"{path}: the metadata lack 'general.architecture': this is no file of a language model"
            )
        prefix = f"{architecture}."
        names = [name for name in self._reader.fields if name.startswith(prefix)]
        values = {name.removeprefix(prefix): self.metadata(name) for name in names}
        self.facts = Facts(path, architecture, True, values)

    def metadata(self, key: str) -> object:
        """Return a value of the metadata, or None."""
        field = self._reader.fields.get(key)
        try:
            return None if field is None else field.contents()
        except (ValueError, IndexError) as error:  # text that is no UTF-8, for example
            raise rx.ModelError(f"{self.path}: '{key}' in the metadata is damaged: {error}") from None

    def file_name(self, name: str) -> str:
        return file_name(self.facts.architecture, name)

    def shape(self, name: str) -> tuple[int, ...] | None:
        tensor = self._tensors.get(name)
        # GGUF has the sizes from the innermost to the outermost.
        return None if tensor is None else tuple(int(size) for size in reversed(tensor.shape))

    def read(self, name: str, shape: tuple[int, ...]) -> Weight:
        actual = self.shape(name)
        if actual is None:
            raise missing(self.path, name, len(self._tensors))
        check_shape(self.path, name, actual, shape)
        tensor = self._tensors[name]
        return Weight(name, shape, tensor.tensor_type.name, numpy.asarray(tensor.data))


def _open(path: str) -> gguf.GGUFReader:
    """Return the reader of a file. Whatever the reader raises for a damaged file becomes one sentence."""
    try:
        with open(path, "rb") as file:
            magic = file.read(len(_MAGIC))
        size = os.path.getsize(path)
    except OSError as error:
        raise rx.ModelError(f"cannot read {path}: {error.strerror}") from None
    if magic != _MAGIC:
        raise rx.ModelError(f"{path} is no GGUF file: it begins with {magic!r}, expected {_MAGIC!r}")
    try:
        return gguf.GGUFReader(path)
    except (ValueError, IndexError, KeyError, OverflowError, MemoryError, UnicodeDecodeError) as error:
        raise _damaged(path, size, error) from None


def _damaged(path: str, size: int, error: Exception) -> rx.ModelError:
    text = str(error)
    if "GGMLQuantizationType" in text:
        number = "".join(re.findall(r"(\d+)\)? is not", text))
        return rx.ModelError(
            f"{path} has a tensor of the unknown type {number}: the installed package gguf knows the types "
            f"{_shown(sorted(int(each) for each in gguf.GGMLQuantizationType))}; install a newer gguf, or convert the "
            "file to another type, such as Q4_K_M"
        )
    return rx.ModelError(
        f"{path} is damaged or cut: it has {size:,} bytes, and its header describes more "
        f"({text or type(error).__name__}); load the file again from its origin"
    )


def _shown(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
