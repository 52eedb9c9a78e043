# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Axes as operators take them: negative ones count from the end."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.opdef import Call


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
