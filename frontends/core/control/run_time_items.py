# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dynamic choice: one of several tensors, selected by an index that is known at run time."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects import relax
from ..node import Node
from ..tensors import cast, const
from ..values import Tensor, Value
from .scf_branches import build_branches
from .scf_regions import common_info, info_of


def pick(node: Node, condition: Tensor, one: Value, other: Value) -> Value:
    """Return the first tensor if the condition, a 0-D tensor, is true, else the second tensor."""
    what = "the tensor of the sequence is chosen at run time, but one is {}, another one {}"
    common_info(node, info_of(node, one), info_of(node, other), what)
    _ = one.ssa, other.ssa  # Create constants in front of the branches.
    return build_branches(node, Value(ssa=condition), [lambda _: [one], lambda _: [other]])[0]


def item_at(node: Node, items: Sequence[Value], place: Tensor) -> Value:
    """Return the item at a position, a 0-D tensor. Positions count from the front and must be valid."""
    value = items[-1]
    for index in reversed(range(len(items) - 1)):
        value = pick(node, relax.equal(place, const(index, "i64")), items[index], value)
    return value


def place_of(node: Node, index: int, length: int | Tensor, end: int | Tensor) -> Tensor:
    """Return the position in an input, counted from the front. The program stops if it is not below `end`.

    Length and end are numbers or 0-D tensors.
    """
    given = node.tensor(index)
    given = given if node.rank(index) == 0 else relax.reshape(given, ())
    given = cast(given, "i64")
    zero = const(0, "i64")
    place = relax.where(relax.less(given, zero), relax.add(given, _integer(length)), given)
    is_there = relax.logical_and(relax.greater_equal(place, zero), relax.less(place, _integer(end)))
    items = f" of {length} items" if isinstance(length, int) else ""
    require(node, is_there, f"the position is out of range for a sequence{items}")
    return place


def _integer(number: int | Tensor) -> Tensor:
    return const(number, "i64") if isinstance(number, int) else number


def require(node: Node, condition: Tensor, message: str) -> None:
    """Stop the program if a 0-D tensor is false."""
    relax.assert_op(condition, format=f"{node.op}: {message}")


def inserted(node: Node, items: Sequence[Value], new: Value, place: Tensor) -> list[Value]:
    """Return the items with a new item inserted at a position."""
    result = []
    for index in range(len(items) + 1):
        value = new
        if index < len(items):
            value = pick(node, relax.greater(place, const(index, "i64")), items[index], value)
        if index > 0:
            value = pick(node, relax.less(place, const(index, "i64")), items[index - 1], value)
        result.append(value)
    return result


def erased(node: Node, items: Sequence[Value], place: Tensor) -> list[Value]:
    """Return the items without the item at a position."""
    return [
        pick(node, relax.greater(place, const(index, "i64")), items[index], items[index + 1])
        for index in range(len(items) - 1)
    ]
