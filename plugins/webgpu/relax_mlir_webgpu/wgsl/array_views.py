# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views of a kernel's memrefs, in the memory of the program or in an array of a block or a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from relax_mlir.bindings.ir import Type

from .wgsl_types import HALVES, memory_bytes

Size = int | str


def times(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if 1 in (left, right):
        return right if left == 1 else left
    return 0 if 0 in (left, right) else f"({left} * {right})"


def plus(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if 0 in (left, right):
        return right if left == 0 else left
    return f"({left} + {right})"


@dataclass(frozen=True)
class ArrayView:
    """View of a memref. `offset` and `strides` count elements of the type `element`."""

    element: Type
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0
    #: Byte address, an i32, of a view in the program's memory.
    address: str = ""
    #: Name of the array of a block or thread, and a flag for an array of atomic words.
    array: str = ""
    is_atomic: bool = False
    #: True if the array contains truth values that the view accesses as bytes.
    is_of_truth: bool = False

    def place(self, indices: Sequence[Size]) -> Size:
        """Return the position of an element in the array or memory, counted in elements."""
        return reduce(plus, map(times, indices, self.strides), self.offset)

    def read(self, place: Size) -> str:
        if self.is_of_truth:
            return f"select(0, 1, {self.array}[{place}])"
        if self.array:
            return f"i32(atomicLoad(&{self.array}[{place}]))" if self.is_atomic else f"{self.array}[{place}]"
        name, where = str(self.element), self._where(place)
        if name == "f32":
            return f"bitcast<f32>(read({where}))"
        if (bytes_ := memory_bytes(self.element)) == 4:
            return f"i32(read({where}))"
        if bytes_ == 8:
            return f"i32(read({where}))" if name == "index" else f"read_64({where})"
        found = f"read_{8 * bytes_}({where})"
        if name in HALVES:
            return f"(u32({found}) & 0xffffu)"
        return f"({found} != 0)" if name == "i1" else found

    def write(self, place: Size, value: str) -> str:
        """Return the statement that stores a value."""
        if self.is_of_truth:
            return f"{self.array}[{place}] = ({value}) != 0;"
        if self.array:
            return f"atomicStore(&{self.array}[{place}], u32({value}));" if self.is_atomic else (
                f"{self.array}[{place}] = {value};"
            )  # fmt: skip
        name, where = str(self.element), self._where(place)
        if (bytes_ := memory_bytes(self.element)) == 4:
            bits = f"bitcast<u32>({value})" if name == "f32" else f"u32({value})"
            return f"write({where}, {bits});"
        if bytes_ == 8:
            pair = f"wide_s({value})" if name == "index" else value
            return f"write_64({where}, {pair});"
        number = f"select(0, 1, {value})" if name == "i1" else f"i32({value})" if name in HALVES else value
        return f"write_{8 * bytes_}({where}, {number});"

    def word(self, place: Size) -> str:
        """Return a pointer to an element's word for atomic operations."""
        return f"&{self.array}[{place}]" if self.array else f"&memory[{self._where(place)}]"

    def where(self, place: Size) -> str:
        return self._where(place)

    def _where(self, place: Size) -> str:
        """Return the position of an element in memory: in words, or in bytes for types of less than 32 bits."""
        if (bytes_ := memory_bytes(self.element)) >= 4:
            return str(plus(f"({self.address} >> 2u)", times(place, bytes_ // 4)))
        return str(plus(self.address, times(place, bytes_)))


def dense(element: Type, shape: Sequence[Size], *, address: str = "", array: str = "") -> ArrayView:
    """Return a view of row-major memory."""
    strides: list[Size] = []
    stride: Size = 1
    for size in reversed(shape):
        strides.insert(0, stride)
        stride = times(stride, size)
    return ArrayView(element, tuple(shape), tuple(strides), address=address, array=array)
