# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The planner "priority": the order of codegens and of their patterns decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....bindings.ir import Block, Operation
from ..codegen import Composite
from ..planning import Taken, prospects_of, register_planner

# What comes to stand where something has been taken.
_CALL = "func.call"


@register_planner("priority")
def by_priority(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """Earlier patterns first; what one matches later takes the place of what it matched before and holds all of."""
    prospects = prospects_of(composites)
    waiting, is_stale = prospects.in_block(block), False
    for number, composite in enumerate(composites):
        if is_stale and (number in waiting or _CALL in prospects.names):
            waiting, is_stale = prospects.in_block(block), False
        groups: dict[Operation, list[Operation]] = {}
        for op in waiting.get(number, ()):
            found = _match(composite, op, groups)
            for each in found:
                groups[each] = found
        # All at once: outlining one erases its operations.
        for group in list({id(group): group for group in groups.values()}.values()):
            yield Taken(composite, group)
            is_stale = True


def _match(composite: Composite, op: Operation, groups: Mapping[Operation, list[Operation]]) -> list[Operation]:
    """What the pattern matches at an operation, with nothing of a group in it that it does not hold as a whole."""
    for match in composite.matches(op):
        inside = set(match.operations)
        if all(inside.issuperset(groups.get(each, ())) for each in match.operations):
            return match.operations
    return []
