# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of a GGUF file as numbers, by the package gguf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import gguf
from numpy import ndarray


class Dequantized(Mapping[str, ndarray]):
    """Weights by name. Each access computes the numbers anew, so that large models fit."""

    def __init__(self, path: Path) -> None:
        self._tensors = {each.name: each for each in gguf.GGUFReader(path).tensors}

    def __getitem__(self, name: str) -> ndarray:
        tensor = self._tensors[name]
        found: ndarray = gguf.dequantize(tensor.data, tensor.tensor_type)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)
