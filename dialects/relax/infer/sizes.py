# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes, ranks and sizes: checks of operands, agreement between operands, and the order of sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from ...core.equalities import contradict
from ...core.opdef import Call
from ...core.symbols import Dim, dim_add, dim_max

Shape = tuple[Dim, ...]


def normalize_axis(call: Call, name: str, rank: int, axis: int) -> int:
    """Return the axis, counted from the front. Raise OpProblem, which names attribute `name`, if it is out of range."""
    if -rank <= axis < rank:
        return axis % rank
    if rank == 0:
        raise call.fail(f"attribute '{name}' ({axis}) is out of range: a 0-D tensor has no axes")
    raise call.fail(f"attribute '{name}' ({axis}) is out of range for {rank} dimensions: expects {-rank} to {rank - 1}")


def normalize_axes(call: Call, name: str, rank: int, axes: Iterable[int]) -> tuple[int, ...]:
    """Return axes, counted from the front, in ascending order. Raise OpProblem for a repeated axis."""
    counted: set[int] = set()
    for axis in axes:
        if (normalized := normalize_axis(call, name, rank, axis)) in counted:
            raise call.fail(f"{call.describe(name)} names axis {normalized} twice")
        counted.add(normalized)
    return tuple(sorted(counted))


def ordered_axes(call: Call, name: str, rank: int, axes: Iterable[int]) -> list[int]:
    """Return axes, counted from the front, in the given order. Raise OpProblem for a repeated axis."""
    given = list(axes)
    normalize_axes(call, name, rank, given)
    return [axis % rank for axis in given]


def check_rank(call: Call, name: str, *allowed: int) -> None:
    """Raise OpProblem for a tensor operand with a known rank that is not allowed."""
    if (rank := call.operands[name].rank) is not None and rank not in allowed:
        expected = " or ".join(f"{number}-D" for number in allowed)
        raise call.fail(f"{call.describe(name)} must be {expected}, but is {rank}-D")


def check_min_rank(call: Call, name: str, least: int) -> None:
    """Raise OpProblem for a tensor operand with a known rank below `least`."""
    if (rank := call.operands[name].rank) is not None and rank < least:
        raise call.fail(f"{call.describe(name)} must be at least {least}-D, but is {rank}-D")


def shape_of_rank(call: Call, name: str, rank: int) -> Shape:
    """Return the shape of an operand that must have this rank, with unknown sizes if its rank is unknown."""
    check_rank(call, name, rank)
    shape = call.operands[name].shape
    return (None,) * rank if shape is None else shape


def most_precise(sizes: Sequence[Dim]) -> Dim:
    """Return the most precise of several statements of one size: a number is more precise than an expression."""
    return min(sizes, key=lambda size: 0 if isinstance(size, int) else 1 if size is not None else 2)


def same_size(call: Call, what: str, **axes: int) -> Dim:
    """Return the size that operands share, each at the given axis. Absent and unranked operands are skipped."""
    infos = {name: call.operands[name] for name in axes}
    shapes = {name: info.shape for name, info in infos.items() if info is not None and info.shape is not None}
    sizes = [(name, shape[axes[name]]) for name, shape in shapes.items()]
    for (one, left), (other, right) in combinations(sizes, 2):
        if contradict(left, right):
            operands = f"{call.describe(one)} and {call.describe(other)}"
            raise call.fail(f"{operands} must have the same {what}, got {left} and {right}")
    return most_precise([size for _, size in sizes] or [None])


def same_shape(call: Call, name: str, shape: Shape | None, wanted: str) -> Shape | None:
    """Return the operand's shape, refined by a shape that it must equal.

    `wanted` describes the shape in the error message.
    """
    if (actual := call.operands[name].shape) is None or shape is None:
        return actual if shape is None else shape
    fits = len(actual) == len(shape) and not any(contradict(*pair) for pair in zip(shape, actual, strict=True))
    call.require(fits, f"{call.describe(name)} must have {wanted}")
    return tuple(most_precise(pair) for pair in zip(shape, actual, strict=True))


def expect_size(call: Call, name: str, axis: int, size: Dim, what: str) -> None:
    """Raise OpProblem for an operand whose dimension `axis`, which counts `what`, cannot be `size`."""
    shape = call.operands[name].shape
    if shape is not None and contradict(shape[axis], size):
        raise call.fail(f"{call.describe(name)} must have size {size} in dimension {axis} ({what}), got {shape[axis]}")


def check_one_element(call: Call, name: str) -> None:
    """Raise OpProblem for an operand that cannot be a single number: 0-D, or with all sizes 1."""
    shape = call.operands[name].shape or ()
    call.require(not any(contradict(size, 1) for size in shape), f"{call.describe(name)} must hold one element")


# ---- provable order of sizes: False means unproven, not the opposite ----


def at_least(one: Dim, other: Dim) -> bool:
    """Return True if `one >= other` holds for all sizes."""
    return one is not None and other is not None and dim_max(one, other) == one


def exceeds(one: Dim, other: Dim) -> bool:
    """Return True if `one > other` holds for all sizes."""
    return at_least(one, dim_add(other, 1))
