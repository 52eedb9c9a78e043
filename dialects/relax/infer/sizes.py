# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes, ranks and sizes: which ones operators take, what several operands must share, what is known of their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from ...core.equalities import contradict
from ...core.opdef import Call
from ...core.symbols import Dim, dim_add, dim_max

Shape = tuple[Dim, ...]


def normalize_axis(call: Call, name: str, rank: int, axis: int) -> int:
    """The axis, counted from the front. `name` is the attribute at fault when it is out of range."""
    if -rank <= axis < rank:
        return axis % rank
    if rank == 0:
        raise call.fail(f"attribute '{name}' ({axis}) is out of range: a 0-D tensor has no axes")
    raise call.fail(f"attribute '{name}' ({axis}) is out of range for {rank} dimensions: expects {-rank} to {rank - 1}")


def normalize_axes(call: Call, name: str, rank: int, axes: Iterable[int]) -> tuple[int, ...]:
    """Axes, counted from the front and in ascending order. Refuses one that is named twice."""
    counted: set[int] = set()
    for axis in axes:
        normalized = normalize_axis(call, name, rank, axis)
        if normalized in counted:
            raise call.fail(f"{call.describe(name)} names axis {normalized} twice")
        counted.add(normalized)
    return tuple(sorted(counted))


def ordered_axes(call: Call, name: str, rank: int, axes: Iterable[int]) -> list[int]:
    """Axes, counted from the front and in the order given. Refuses one that is named twice."""
    given = list(axes)
    normalize_axes(call, name, rank, given)
    return [axis % rank for axis in given]


def check_rank(call: Call, name: str, *allowed: int) -> None:
    """Refuses a tensor operand whose rank is known and not allowed."""
    rank = call.operands[name].rank
    if rank is not None and rank not in allowed:
        expected = " or ".join(f"{each}-D" for each in allowed)
        raise call.fail(f"{call.describe(name)} must be {expected}, but is {rank}-D")


def check_min_rank(call: Call, name: str, least: int) -> None:
    """Refuses a tensor operand whose rank is known and smaller."""
    rank = call.operands[name].rank
    if rank is not None and rank < least:
        raise call.fail(f"{call.describe(name)} must be at least {least}-D, but is {rank}-D")


def shape_of_rank(call: Call, name: str, rank: int) -> Shape:
    """The shape of an operand that must have this rank; unknown sizes where its rank is not known."""
    check_rank(call, name, rank)
    shape = call.operands[name].shape
    return (None,) * rank if shape is None else shape


def most_precise(sizes: Sequence[Dim]) -> Dim:
    """What is known about a size that is stated several times: a number says more than an expression."""
    return min(sizes, key=lambda size: 0 if isinstance(size, int) else 1 if size is not None else 2)


def same_size(call: Call, what: str, **axes: int) -> Dim:
    """The size that operands share, each at the named axis. Absent and unranked operands say nothing."""
    infos = {name: call.operands[name] for name in axes}
    shapes = {name: info.shape for name, info in infos.items() if info is not None and info.shape is not None}
    sizes = [(name, shape[axes[name]]) for name, shape in shapes.items()]
    for (one, left), (other, right) in combinations(sizes, 2):
        if contradict(left, right):
            operands = f"{call.describe(one)} and {call.describe(other)}"
            raise call.fail(f"{operands} must have the same {what}, got {left} and {right}")
    return most_precise([size for _, size in sizes] or [None])


def same_shape(call: Call, name: str, shape: Shape | None, wanted: str) -> Shape | None:
    """The operand's shape, made more precise by one that it must equal and that is `wanted` in words."""
    actual = call.operands[name].shape
    if actual is None or shape is None:
        return actual if shape is None else shape
    fits = len(actual) == len(shape) and not any(contradict(*pair) for pair in zip(shape, actual, strict=True))
    call.require(fits, f"{call.describe(name)} must have {wanted}")
    return tuple(most_precise(pair) for pair in zip(shape, actual, strict=True))


def expect_size(call: Call, name: str, axis: int, size: Dim, what: str) -> None:
    """Refuses an operand whose dimension `axis`, which counts `what`, cannot be `size`."""
    shape = call.operands[name].shape
    if shape is not None and contradict(shape[axis], size):
        raise call.fail(f"{call.describe(name)} must have size {size} in dimension {axis} ({what}), got {shape[axis]}")


def check_one_element(call: Call, name: str) -> None:
    """Refuses an operand that cannot be a single number: 0-D, or of sizes that are all 1."""
    shape = call.operands[name].shape or ()
    call.require(not any(contradict(size, 1) for size in shape), f"{call.describe(name)} must hold one element")


# ---- what can be proved about the order of sizes: False means that nothing can, not that the opposite holds ----


def at_least(one: Dim, other: Dim) -> bool:
    """Whether `one >= other` holds for all sizes."""
    return one is not None and other is not None and dim_max(one, other) == one


def exceeds(one: Dim, other: Dim) -> bool:
    """Whether `one > other` holds for all sizes."""
    return at_least(one, dim_add(other, 1))
