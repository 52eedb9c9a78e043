# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of the exporter: what stands for those of a graph function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import Dim, SymExpr
from ...core.values import Array


class Ref:
    """A tensor of the model; its name is chosen when all are known."""

    __slots__ = ("dtype", "hint", "is_scalar", "name")

    def __init__(self, dtype: str, hint: str = "", is_scalar: bool = False):
        self.dtype = dtype
        #: Whether it is known to be 0-D, which has to be stated for some inputs.
        self.is_scalar = is_scalar
        #: What it is to be called, if nothing else is.
        self.hint = hint
        self.name = ""

    def __repr__(self) -> str:
        return f"<{self.hint or 'tensor'} {self.dtype}>"


class SizeOf(NamedTuple):
    """How many elements a tensor has along an axis."""

    tensor: Ref
    axis: int


#: One size of a shape: a number, an expression over symbols, of a tensor, or a tensor of one element itself.
Part = int | SymExpr | SizeOf | Ref


class ShapeValue:
    """A shape as a value: its sizes, or a 1-D tensor of them."""

    __slots__ = ("parts", "tensor")

    def __init__(self, parts: Sequence[Part] | None, tensor: Ref | None = None):
        self.parts = None if parts is None else list(parts)
        self.tensor = tensor


#: What stands for a value: a tensor (a scalar is a 0-D one) or a shape.
Held = Ref | ShapeValue


class ConstantTensor(NamedTuple):
    """A tensor with its elements: an array, or the constant of the module that has them."""

    ref: Ref
    info: TensorInfo
    held: Array | Value


def parts_of(ref: Ref, dims: Sequence[Dim]) -> list[Part]:
    """A tensor's sizes as far as its type states them, the others dynamic."""
    return [SizeOf(ref, axis) if dim is None else dim for axis, dim in enumerate(dims)]
