# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy broadcasting with symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from ...core.equalities import contradict
from ...core.opdef import Call
from ...core.symbols import Dim, equal, is_cut
from .sizes import Shape, most_precise


def broadcast_dim(one: Dim, other: Dim) -> Dim:
    """Return the broadcast size of two sizes. Raise ValueError if they cannot be broadcast."""
    if equal(one, 1) is True:
        return other
    if equal(other, 1) is True or one == other:
        return one
    for cut, whole in ((one, other), (other, one)):
        # min(n, 512) against n: the sizes are equal, or the smaller one is 512, which is not 1 and does not broadcast.
        if cut is not None and whole is not None and is_cut(cut, whole):
            return whole
    # An unknown size or a symbol may be 1 at run time: only a size that cannot be 1 decides.
    decisive = [size for size in (one, other) if equal(size, 1) is False]
    if len(decisive) == 2 and contradict(one, other):
        raise ValueError
    return most_precise(decisive or [None])


def broadcast_shapes(call: Call, names: Sequence[str], shapes: Sequence[Shape | None]) -> Shape | None:
    """Return the broadcast of several operands' shapes, or None if a rank is unknown."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes):
        return None
    result: Shape = ()
    for name, shape in zip(names, known, strict=True):
        result = _broadcast_two(call, name, result, shape)
    return result


def _broadcast_two(call: Call, name: str, left: Shape, right: Shape) -> Shape:
    rank = max(len(left), len(right))
    padded_left = (1,) * (rank - len(left)) + left
    padded_right = (1,) * (rank - len(right)) + right
    dims: list[Dim] = []
    for axis, (one, other) in enumerate(zip(padded_left, padded_right, strict=True)):
        try:
            dims.append(broadcast_dim(one, other))
        except ValueError:
            raise call.fail(
                f"{call.describe(name)} does not broadcast with the operands before it: "
                f"dimension {axis - rank} is {other} against {one}"
            ) from None
    return tuple(dims)


def broadcast_batch(call: Call, what: str, left: Shape, right: Shape) -> Shape:
    """Return the broadcast of two shapes, aligned at the last dimension.

    `what` names the dimensions in the error message.
    """
    sizes = []
    for one, other in zip_longest(reversed(left), reversed(right), fillvalue=1):
        try:
            sizes.append(broadcast_dim(one, other))
        except ValueError:
            raise call.fail(f"{what} do not broadcast: {one} against {other}") from None
    return tuple(reversed(sizes))


def check_broadcast(call: Call, from_name: str, shape: Shape, to_name: str, target: Shape) -> None:
    """Raise OpProblem if the first shape cannot be broadcast to the second."""
    if len(shape) > len(target):
        raise call.fail(f"{call.describe(from_name)} has more dimensions than {call.describe(to_name)}")
    for axis in range(-len(shape), 0):
        if equal(shape[axis], 1) is False and contradict(shape[axis], target[axis]):
            raise call.fail(
                f"{call.describe(from_name)} cannot be broadcast to {call.describe(to_name)}: "
                f"dimension {axis} is {shape[axis]} against {target[axis]}"
            )
