# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The planner "priority": the order of codegens and of their patterns decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....bindings.ir import Block, Operation
from ....bindings.navigation import operations_of
from ...patterns.matched import Match
from ..codegen import Composite
from ..planning import Taken, prospects_of, register_planner
from ..sequence import settled

# What comes to stand where something has been taken.
_CALL = "func.call"


@register_planner("priority")
def by_priority(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """Earlier patterns first; what one matches later takes the place of what it matched before and holds all of."""
    prospects = prospects_of(composites)
    waiting, is_stale = prospects.among(settled(operations_of(block))), False
    for number, composite in enumerate(composites):
        if is_stale and (number in waiting or _CALL in prospects.names):
            waiting, is_stale = prospects.among(settled(operations_of(block))), False
        groups: dict[Operation, Match] = {}
        for op in waiting.get(number, ()):
            found = _match(composite, op, groups)
            if found is not None:
                groups.update(dict.fromkeys(found.operations, found))
        # All at once: outlining one erases its operations.
        for taken in [Taken.of(composite, each) for each in {id(each): each for each in groups.values()}.values()]:
            yield taken
            is_stale = True


def _match(composite: Composite, op: Operation, groups: Mapping[Operation, Match]) -> Match | None:
    """How the pattern matches at an operation, with nothing of another match in it that it does not hold as a whole."""
    for match in composite.matches(op):
        inside = set(match.operations)
        if all(inside.issuperset(groups[each].operations) for each in match.operations if each in groups):
            return match
    return None
