# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays with the pages of keys and values of all layers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy
import relax_mlir as rx

#: Types of the elements of pages, and NumPy's names.
KINDS = {"f32": "float32", "f16": "float16", "i8": "int8"}
QUANTIZED = "i8"
#: Patterns of the arguments that a call writes to, as `donate` of rx.compile.
DONATED = ("*_pages.*", "*_scales.*")


@dataclass(frozen=True)
class PageLayout:
    """Sizes and type of the pages of all layers."""

    layers: int
    page_size: int
    heads: int
    size: int
    kv: str

    def donated(self) -> tuple[str, ...]:
        return DONATED if self.kv == QUANTIZED else DONATED[:1]

    def arrays(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Return the shape behind the number of pages, and the type, of each argument, in order."""
        shape = (self.page_size, self.heads, self.size)
        kinds: list[tuple[str, tuple[int, ...], str]] = [
            ("k_pages", shape, KINDS[self.kv]),
            ("v_pages", shape, KINDS[self.kv]),
        ]
        if self.kv == QUANTIZED:  # a scale for each place and head
            kinds += [("k_scales", shape[:2], "float32"), ("v_scales", shape[:2], "float32")]
        return {f"{name}.{n}": (inner, type_) for name, inner, type_ in kinds for n in range(self.layers)}

    def bytes(self, page_count: int) -> int:
        """Return the memory of the arrays."""
        sizes = (math.prod(shape) * numpy.dtype(type_).itemsize for shape, type_ in self.arrays().values())
        return page_count * sum(sizes)

    def inputs(self) -> dict[str, rx.TensorInfo]:
        """Return the types of the arguments."""
        return {name: rx.tensor(("pages", *shape), type_) for name, (shape, type_) in self.arrays().items()}
