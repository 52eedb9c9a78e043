# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of arguments and results that callers see as one value: lists, and optional values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.bindings.ir import Operation
from relax_mlir.dialects.relax.function_attributes import LIST, NOTHING, VALUE, Group, decode_groups
from relax_mlir.support.errors import OptionError

from .held_values import HeldValue

if TYPE_CHECKING:
    from numpy import ndarray


def groups_of(function: Operation, attribute: str, count: int) -> list[Group]:
    """Return the groups of a function's attribute. Without the attribute each value is a group."""
    if attribute in function.attributes:
        return decode_groups(function.attributes[attribute], count)
    return [Group(VALUE, 1)] * count


def flattened(name: str, groups: Sequence[Group], arguments: Sequence[object]) -> list[object]:
    """Return the function's arguments for a caller's arguments."""
    if len(arguments) != len(groups):
        raise OptionError(f"{name}: takes {len(groups)} arguments, got {len(arguments)}")
    found: list[object] = []
    for index, (group, argument) in enumerate(zip(groups, arguments, strict=True)):
        if group.kind == VALUE:
            found.append(argument)
        elif group.kind == LIST:
            items = list(argument) if isinstance(argument, (list, tuple)) else [argument]
            if len(items) != group.size:
                raise OptionError(f"{name}: argument #{index} is a list of {group.size}, got {len(items)}")
            found += items
        elif argument is not None:
            raise OptionError(f"{name}: argument #{index} is None, got {type(argument).__name__}")
    return found


def grouped(groups: Sequence[Group], results: Sequence[HeldValue]) -> object:
    """Return the caller's results for a function's results."""
    values = iter(results)
    found = [_group(group, [next(values) for _ in range(group.size)]) for group in groups]
    return found[0] if len(found) == 1 else tuple(found)


def _group(group: Group, values: list[Any]) -> object:
    if group.kind == NOTHING or (group.is_optional and not values[0]):
        return None
    held = values[int(group.is_optional) :]
    if group.kind == VALUE:
        return held[0]
    return [*held[:-2], *_apart(*held[-2:])] if group.has_rest else held


def _apart(data: ndarray, rows: ndarray) -> list[ndarray]:
    """Split concatenated elements into tensors. Each row has a tensor's number of elements and its shape."""
    found, start = [], 0
    for place, (count, *shape) in enumerate(rows.tolist()):
        if min(shape, default=0) < 0 or math.prod(shape) != count or start + count > len(data):
            raise ValueError(f"the shape of a list's tensor #{place} does not fit its elements")
        found.append(data[start : start + count].reshape(shape))
        start += count
    return found
