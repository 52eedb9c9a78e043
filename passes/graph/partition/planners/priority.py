# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The planner "priority": the order of codegens and their patterns decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .....bindings.ir import Block, Operation
from .....bindings.navigation import operations_of
from ....patterns.matched import Match
from ..codegen import Composite
from ..planning import Taken, prospects_of, register_planner
from ..sequence import sort_by_graph

# Operation that replaces outlined operations.
_CALL = "func.call"


@register_planner("priority")
def plan_by_priority(block: Block, composites: Sequence[Composite]) -> Iterator[Taken]:
    """Yield matches, earlier patterns first. A later match of a pattern replaces earlier ones that it contains."""
    prospects = prospects_of(composites)
    waiting, is_stale = prospects.among(sort_by_graph(operations_of(block))), False
    for number, composite in enumerate(composites):
        if is_stale and (number in waiting or _CALL in prospects.names):
            waiting, is_stale = prospects.among(sort_by_graph(operations_of(block))), False
        groups: dict[Operation, Match] = {}
        for op in waiting.get(number, ()):
            if (found := _match(composite, op, groups)) is not None:
                groups.update(dict.fromkeys(found.operations, found))
        # All matches of a pattern are complete before outlining one erases its operations.
        for taken in [Taken.of(composite, match) for match in {id(group): group for group in groups.values()}.values()]:
            yield taken
            is_stale = True


def _match(composite: Composite, op: Operation, groups: Mapping[Operation, Match]) -> Match | None:
    """Return a match at an operation that contains other matches as a whole or not at all, or None."""
    for match in composite.matches(op):
        inside = set(match.operations)
        if all(
            inside.issuperset(groups[operation].operations) for operation in match.operations if operation in groups
        ):
            return match
    return None
