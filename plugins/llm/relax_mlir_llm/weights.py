# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of a model's file, in the file's own encoding, and the interface of a source of weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import relax_mlir as rx

if TYPE_CHECKING:
    from numpy import ndarray

    from .facts import Facts


#: Numbers that one check for infinite ones looks at. The result needs a byte each.
_CHECKED_NUMBERS = 1 << 22
#: Exponent of infinite numbers and NaN in the bits of bf16.
_BF16_EXPONENT = 0x7F80


@dataclass(frozen=True, eq=False)
class Weight:
    """Matrix [rows, columns], or vector, in the encoding of a GGUF type."""

    name: str
    shape: tuple[int, ...]
    #: GGUF's name of the type, such as F32 or Q4_K.
    type: str
    #: Elements, or bytes [rows, bytes of a row] of a type of blocks and of BF16.
    data: ndarray

    def take_rows(self, rows: Sequence[int] | ndarray | slice) -> Weight:
        """Return a matrix of some rows. Blocks are along rows, so each type allows this."""
        data = self.data[rows]
        return replace(self, shape=(len(data), *self.shape[1:]), data=data)

    def part(self, number: int) -> Weight:
        """Return one of several matrices [count, rows, columns]."""
        return replace(self, name=f"{self.name}[{number}]", shape=self.shape[1:], data=self.data[number])

    def floats(self) -> ndarray:
        """Return the elements as f32. Raise ModelError if one is no finite number."""
        found = self._floats()
        check_finite(self.name, found)
        return found

    def _floats(self) -> ndarray:
        import numpy

        if self.data.dtype == numpy.float32:
            return self.data
        if self.data.dtype.kind == "f":
            return self.data.astype(numpy.float32)
        import gguf

        try:
            found: ndarray = gguf.dequantize(self.data, gguf.GGMLQuantizationType[self.type])
        except NotImplementedError:
            raise rx.RefusalError(
                f"the tensor '{self.name}' has the type {self.type}, which the package gguf cannot read as numbers: "
                "convert the file to another type, such as Q4_K_M"
            ) from None
        return found.reshape(self.shape)


def joined(weights: Sequence[Weight]) -> Weight:
    """Return the rows of weights of one type, one after the other."""
    import numpy

    first = weights[0]
    if len(weights) == 1:
        return first
    rows = sum(weight.shape[0] for weight in weights)
    data = numpy.concatenate([weight.data for weight in weights])
    return replace(first, name=" ".join(weight.name for weight in weights), shape=(rows, *first.shape[1:]), data=data)


class Source(Protocol):
    """File with weights, under GGUF's names such as `blk.0.attn_q.weight`."""

    #: Path, for errors.
    path: str
    facts: Facts

    def file_name(self, name: str) -> str:
        """Return the name of a weight in the files of Hugging Face, which adapters use."""

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a weight, or None if the file has no such weight."""

    def read(self, name: str, shape: tuple[int, ...]) -> Weight:
        """Return a weight. A missing weight, or another shape, is a ModelError."""


def check_shape(path: str, shown: str, actual: Sequence[int], expected: Sequence[int]) -> None:
    """Raise a ModelError if a weight has another shape than the model's sizes imply."""
    if tuple(actual) == tuple(expected):
        return
    raise rx.ModelError(
        f"{path}: the tensor '{shown}' has the shape {tuple(actual)}, and the sizes in the model's configuration imply "
        f"{tuple(expected)}: the file is damaged, or it belongs to another configuration"
    )


def check_finite(shown: str, numbers: ndarray) -> None:
    """Raise ModelError if a weight has infinite numbers or NaN. `numbers` are floats, or the bits of bf16 as u16."""
    import numpy

    flat = numbers.reshape(-1)
    for begin in range(0, flat.size, _CHECKED_NUMBERS):
        part = flat[begin : begin + _CHECKED_NUMBERS]
        finite = numpy.isfinite(part) if part.dtype.kind == "f" else part & _BF16_EXPONENT != _BF16_EXPONENT
        if not finite.all():
            raise rx.ModelError(
                f"the tensor '{shown}' has {int((~finite).sum())} numbers that are infinite or NaN near element "
                f"{begin + int(finite.argmin())}: the file is damaged; load the file again from its origin"
            )


def missing(path: str, shown: str, count: int) -> rx.ModelError:
    """Return the error that a file lacks a tensor."""
    return rx.ModelError(
        f"{path}: the tensor '{shown}' is missing among the {count} tensors of the model: the file is incomplete, or "
        "its architecture is a variant that is not supported"
    )
