# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The planner "priority": the order of codegens and of their patterns decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....bindings.ir import Block, Operation
from ....bindings.navigation import operations_of
from ...patterns.match import matches_of
from ..codegen import Composite
from ..planning import Taken, register_planner


@register_planner("priority")
def by_priority(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """Earlier patterns first; what one matches later takes the place of what it matched before and holds all of."""
    present = {op.name for op in operations_of(block)}
    for composite in composites:
        groups: dict[Operation, list[Operation]] = {}
        heads = composite.heads & present
        if not heads:
            continue
        for op in operations_of(block):
            if op.name in heads:
                found = _match(composite, op, groups)
                for each in found:
                    groups[each] = found
        # All at once: outlining one erases its operations.
        for group in list({id(group): group for group in groups.values()}.values()):
            yield Taken(composite, group)


def _match(composite: Composite, op: Operation, groups: Mapping[Operation, list[Operation]]) -> list[Operation]:
    """What the pattern matches at an operation, with nothing of a group in it that it does not hold as a whole."""
    for match in matches_of(composite.pattern, op):
        inside = set(match.operations)
        if all(inside.issuperset(groups.get(each, ())) for each in match.operations):
            return match.operations
    return []
