# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Groups of operations in a block that one codegen takes together: no path between two members leaves the group."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....bindings.ir import Operation, Value
from ....bindings.navigation import used_by


class _Group:
    """Operations by number, and the groups that they depend on."""

    def __init__(self, number: int, codegen: str):
        self.numbers = [number]
        self.codegen = codegen
        self.needed: set[_Group] = set()
        self.merged_into: _Group | None = None

    @property
    def now(self) -> _Group:
        """Return the group that this group has been merged into."""
        group = self
        while group.merged_into is not None:
            group = group.merged_into
        return group


def group_by_codegen(
    operations: Sequence[Operation],
    codegen_of: Callable[[Operation], str],
    is_separate: Callable[[str], bool] = lambda codegen: False,
) -> list[list[Operation]]:
    """Return the operations of codegens in groups that are as large as possible, in program order.

    A separate codegen gets a group for each operation.
    """
    makers: dict[Value, _Group] = {}
    groups: list[_Group] = []
    for number, op in enumerate(operations):
        group = _Group(number, codegen_of(op))
        group.needed = {makers[value].now for value in used_by(op) if value in makers}
        if group.codegen and not is_separate(group.codegen):
            for other in sorted(group.needed, key=lambda each: each.numbers[0]):
                if other.codegen == group.codegen and other.merged_into is None and not _is_between(other, group):
                    _merge(group, other)
        makers.update(dict.fromkeys(op.results, group))
        groups.append(group)
    found = [group for group in groups if group.codegen and group.merged_into is None]
    return [[operations[number] for number in sorted(group.numbers)] for group in found]


def _is_between(first: _Group, last: _Group) -> bool:
    """Check whether the last group depends on the first through another group."""
    seen: set[_Group] = set()
    pending = [each.now for each in last.needed if each.now is not first]
    while pending:
        if (group := pending.pop()) is first:
            return True
        # A group that ends before the first group begins does not depend on it.
        if group not in seen and group.numbers[-1] > first.numbers[0]:
            seen.add(group)
            pending += [each.now for each in group.needed]
    return False


def _merge(group: _Group, other: _Group) -> None:
    """Merge a group into one that depends on it."""
    other.merged_into = group
    group.numbers = sorted((*other.numbers, *group.numbers))
    group.needed = {each.now for each in group.needed | other.needed} - {group}
