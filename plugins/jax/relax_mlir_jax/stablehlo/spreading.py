# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Removal of broadcasts: StableHLO requires operands of one shape, but relax's elementwise operators broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.navigation import defining_op
from relax_mlir.dialects.core.known import folding
from relax_mlir.dialects.core.symbols import Dim
from relax_mlir.dialects.relax.values import keeps_shape, shape_of
from relax_mlir.frontends.core.values import Tensor


def without_broadcasts(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return operands without explicit broadcasts, for an operator that broadcasts to the same shape.

    Fusion and codegens recognize the sources of broadcasts, such as a bias or a number.
    """
    if folding.get() is not None:
        return tensors  # known during import
    whole = shape_of(tensors[0])
    if whole is None or any(shape_of(tensor) != whole for tensor in tensors):
        return tensors  # in a body that is written for scalars
    found = [_find_source(tensor) for tensor in tensors]
    if not _have_together([shape_of(each) for each in found], whole):
        found[0] = tensors[0]
    return tuple(found)


def _have_together(shapes: Sequence[tuple[Dim, ...] | None], whole: tuple[Dim, ...]) -> bool:
    """Check whether the shapes together broadcast to `whole`, and one shape has all dimensions."""
    wide = [(1,) * (len(whole) - len(shape)) + shape for shape in shapes if shape is not None]
    is_as_long = any(shape is not None and len(shape) == len(whole) for shape in shapes)
    return is_as_long and all(size in sizes for size, sizes in zip(whole, zip(*wide, strict=True), strict=True))


def _find_source(tensor: Tensor) -> Tensor:
    """Return the source of a tensor's broadcasts along dimensions of size 1 and new leading dimensions."""
    source = tensor
    while (made := defining_op(source, "relax.broadcast_to", "relax.reshape")) is not None:
        x = made.operation.operands[0]
        if made.operation.name == "relax.reshape" and not _adds_ones_in_front(shape_of(x), shape_of(source)):
            break
        if not keeps_shape(tensor, x):
            break
        source = x
    return source


def _adds_ones_in_front(shape: tuple[Dim, ...] | None, wide: tuple[Dim, ...] | None) -> bool:
    return False if shape is None or wide is None else wide == (1,) * (len(wide) - len(shape)) + shape
