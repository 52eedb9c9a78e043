# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of the exporter, which represent the values of a graph function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....bindings.ir import Value
from ....dialects.core.infos import TensorInfo
from ....dialects.core.symbols import Dim, SymExpr
from ...core.values import Array


class Ref:
    """Tensor of the model. The writer chooses its name."""

    __slots__ = ("dtype", "hint", "is_scalar", "name")

    def __init__(self, dtype: str, hint: str = "", is_scalar: bool = False):
        self.dtype = dtype
        #: True if the tensor is known to be 0-D, which some inputs must declare.
        self.is_scalar = is_scalar
        #: Preferred name.
        self.hint = hint
        self.name = ""

    def __repr__(self) -> str:
        return f"<{self.hint or 'tensor'} {self.dtype}>"


class SizeOf(NamedTuple):
    """Size of a tensor along an axis."""

    tensor: Ref
    axis: int


#: One size of a shape: a number, an expression over symbols, a tensor's size, or a tensor of one element.
Part = int | SymExpr | SizeOf | Ref


class ShapeValue:
    """Shape as a value: its sizes, or a 1-D tensor of the sizes."""

    __slots__ = ("parts", "tensor")

    def __init__(self, parts: Sequence[Part] | None, tensor: Ref | None = None):
        self.parts = None if parts is None else list(parts)
        self.tensor = tensor


#: Representation of a value: a tensor (0-D for a scalar) or a shape.
Held = Ref | ShapeValue


class ConstantTensor(NamedTuple):
    """Constant tensor with its elements: an array, or a constant of the module."""

    ref: Ref
    info: TensorInfo
    held: Array | Value


def parts_of(ref: Ref, dims: Sequence[Dim]) -> list[Part]:
    """Return a tensor's sizes: static from its type, else read from the tensor at run time."""
    return [SizeOf(ref, axis) if dim is None else dim for axis, dim in enumerate(dims)]
