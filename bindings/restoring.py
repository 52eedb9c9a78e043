# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Restoration of an operation after a failed change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..support.callbacks import fragile
from .ir import Block, Operation, Value
from .navigation import operations_of


@contextmanager
@fragile
def restored_on_failure(operation: Operation) -> Iterator[None]:
    """Restore an operation's contents if the code inside raises an exception.

    The operation itself stays the same object. Its contents are replaced by a copy unless nothing was changed; only
    then handles of the contents stay valid.
    """
    kept = operation.clone(ip=False).operation
    try:
        yield
    except BaseException:
        if not _is_same(operation, kept, {}):
            _put_back(operation, kept)
        raise


def _put_back(operation: Operation, kept: Operation) -> None:
    """Swap the changed contents with the saved copy as a whole: uses may cross any operations."""
    for region, saved in zip(operation.regions, kept.regions, strict=True):
        changed, good = list(region.blocks), list(saved.blocks)
        if operation.name == "builtin.module":
            # The module's block stays, as callers may hold an insertion point in it.
            _exchange(changed[0], good[0])
            continue
        for block in changed:
            block.append_to(saved)
        for block in good:
            block.append_to(region)
    for name in list(operation.attributes):
        if name not in kept.attributes:
            del operation.attributes[name]
    for name, attribute in kept.attributes.items():
        operation.attributes[name] = attribute


def _exchange(one: Block, other: Block) -> None:
    changed, good = operations_of(one), operations_of(other)
    for each in changed:
        other.append(each)
    for each in good:
        one.append(each)


def _is_same(one: Operation, other: Operation, known: dict[Value, Value]) -> bool:
    """Check whether one operation is an unchanged copy of another. `known` maps corresponding values."""
    if one.name != other.name or one.location != other.location:
        return False
    if list(one.attributes.items()) != list(other.attributes.items()):
        return False
    if [known.get(value, value) for value in one.operands] != list(other.operands):
        return False
    if not _are_alike(one.results, other.results, known) or len(one.regions) != len(other.regions):
        return False
    if len(one.successors):
        return False  # corresponding blocks are not tracked
    for region, counterpart in zip(one.regions, other.regions, strict=True):
        blocks = list(region.blocks), list(counterpart.blocks)
        if len(blocks[0]) != len(blocks[1]) or not all(
            _is_same_block(*pair, known) for pair in zip(*blocks, strict=True)
        ):
            return False
    return True


def _is_same_block(one: Block, other: Block, known: dict[Value, Value]) -> bool:
    if not _are_alike(one.arguments, other.arguments, known):
        return False
    inside = operations_of(one), operations_of(other)
    return len(inside[0]) == len(inside[1]) and all(_is_same(*pair, known) for pair in zip(*inside, strict=True))


def _are_alike(values: Sequence[Value], others: Sequence[Value], known: dict[Value, Value]) -> bool:
    if [value.type for value in values] != [other.type for other in others]:
        return False
    known.update(zip(values, others, strict=True))
    return True
