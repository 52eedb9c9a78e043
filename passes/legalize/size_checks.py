# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What must hold between operands' sizes that only the run tells, so that no loop leaves a buffer.

They take tensors and memrefs, and make no code where both sizes are numbers: these have been checked by inference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import linalg, loops, scalar

Size = Any


def require_same(one: Size, other: Size, what: str) -> None:
    """Raises ValueError where two sizes differ."""
    _require("==", one, other, f"{what}: sizes {{}} and {{}} differ")


def require_at_most(one: Size, other: Size, what: str) -> None:
    """Raises ValueError where one size is larger than another."""
    _require("<=", one, other, f"{what}: size {{}} is larger than {{}}")


def _require(sign: str, one: Size, other: Size, message: str) -> None:
    if isinstance(one, int) and isinstance(other, int):
        return
    left, right = loops.index(one), loops.index(other)
    loops.require(scalar.compare(sign, left, right, "index"), "ValueError", message, left, right)


# ---- broadcasting ----


def broadcast_sizes(buffers: Sequence[Any]) -> list[Size]:
    """The sizes that these broadcast to; raises ValueError where they do not."""
    shapes = [loops.sizes(buffer) for buffer in buffers]
    rank = max(len(shape) for shape in shapes)
    result: list[Size] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, rank - len(shape)):
            result[axis] = _larger(result[axis], size)
    for buffer in buffers:
        require_broadcast(buffer, result)
    return result


def _larger(one: Size, other: Size) -> Size:
    """Of two sizes that must agree but for a 1, the one that decides."""
    for size, alternative in ((one, other), (other, one)):
        if isinstance(size, int):
            return alternative if size == 1 else size
    return scalar.select(_is_one(one), other, one)


def require_broadcast(buffer: Any, sizes: Sequence[Size]) -> None:
    """Raises ValueError unless each size of the buffer is 1 or that of the result there, counted from the last."""
    shape = loops.sizes(buffer)
    for size, wanted in zip(shape, sizes[len(sizes) - len(shape) :], strict=True):
        if isinstance(size, int) and (size == 1 or isinstance(wanted, int)):
            continue
        left, right = loops.index(size), loops.index(wanted)
        fits = scalar.create("arith.ori", _is_one(left), scalar.compare("==", left, right, "index"))
        loops.require(fits, "ValueError", "operands do not broadcast: sizes {} and {} differ", left, right)


def load_broadcast(buffer: Any, indices: Sequence[Any]) -> Any:
    """The element of a buffer that belongs to a place in what it is broadcast to."""
    shape = loops.sizes(buffer)
    zero = linalg.constant_index(0)
    places: list[Any] = []
    for size, index in zip(shape, indices[len(indices) - len(shape) :], strict=True):
        if isinstance(size, int):
            places.append(zero if size == 1 else index)
        else:
            places.append(scalar.select(_is_one(size), zero, index))
    return loops.load(buffer, *places)


def _is_one(size: Any) -> Any:
    return scalar.compare("==", size, linalg.constant_index(1), "index")
