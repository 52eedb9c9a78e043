# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses of a memref's elements: a pointer, an offset and strides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from relax_mlir.bindings.ir import Type
from relax_mlir.bindings.mlir import DYNAMIC, ir

from .expressions import Expression, Size, binary, of_size, product
from .types import memory_type


@dataclass(frozen=True)
class MemrefView:
    """View of memory as a memref. Strides and offset count elements."""

    pointer: Expression
    #: MLIR's element type.
    element: Type
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0
    #: True for a C variable or multi-dimensional array.
    is_own: bool = False

    @property
    def is_variable(self) -> bool:
        return self.is_own and product(self.sizes) == 1

    @property
    def memory_type(self) -> str:
        return memory_type(self.element)

    def place(self, indices: Sequence[Expression]) -> Expression:
        """Return the lvalue of an element."""
        if self.is_own:
            inside = zip(indices, self.sizes, strict=True)
            text = "".join(f"[{index.text}]" for index, size in inside if size != 1)
            return Expression(f"{self.pointer.text}{text}", reads=True)
        total: Size = 0
        for index, stride in zip(indices, self.strides, strict=True):
            number = index.number
            total = total + (index if number is None else number) * stride
        return Expression(f"{self.pointer.atom}[{of_size(total + self.offset).text}]", reads=True)

    def address(self) -> Expression:
        """Return a pointer to the first element."""
        if isinstance(self.offset, int) and self.offset == 0:
            return self.pointer
        return replace(binary("+", self.pointer, of_size(self.offset)), is_place=False)

    @property
    def is_dense(self) -> bool:
        return self.strides == dense_strides(self.sizes)


def dense_strides(sizes: Sequence[Size]) -> tuple[Size, ...]:
    """Return row-major strides."""
    strides: list[Size] = []
    stride: Size = 1
    for size in reversed(sizes):
        strides.insert(0, stride)
        stride = size * stride
    return tuple(strides)


def dense(pointer: Expression, element: Type, sizes: Sequence[Size]) -> MemrefView:
    return MemrefView(pointer, element, tuple(sizes), dense_strides(sizes))


def static_or(static: Iterable[int], dynamic: Iterable[Expression]) -> list[Size]:
    """Return the sizes: static numbers, and the dynamic expressions in place of the others."""
    rest = iter(dynamic)
    return [_size(next(rest)) if number == DYNAMIC else int(number) for number in static]


def _size(value: Expression) -> Size:
    number = value.number
    return value if number is None else number


def refined(sizes: Sequence[Size], type_: Type) -> tuple[Size, ...]:
    """Return the sizes, replaced by the type's static sizes where it has them."""
    stated = ir.MemRefType(type_).shape
    return tuple(known if size == DYNAMIC else int(size) for known, size in zip(sizes, stated, strict=True))
