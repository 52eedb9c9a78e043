# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of a block in an order that their graph decides, in whichever order it was written."""

from __future__ import annotations

from collections.abc import Sequence

from ...bindings.ir import Operation
from ...bindings.navigation import used_by


def settled(operations: Sequence[Operation]) -> list[Operation]:
    """Operations of a block, what they are made of first: as their results are read, earlier operands first.

    Exporters write the same graph in many orders; what is chosen among its operations must not depend on that.
    """
    makers = {value: number for number, op in enumerate(operations) for value in op.results}
    read = [[makers[value] for value in used_by(op) if value in makers] for op in operations]
    # What has no results is there for its own sake, and last of all is what the block gives.
    ends = sorted(range(len(operations)), key=lambda number: len(operations[number].results) > 0)
    found: list[Operation] = []
    seen: set[int] = set()
    for end in ends:
        pending = [end]
        while pending:
            number = pending[-1]
            if number not in seen and (missing := [each for each in read[number] if each not in seen]):
                pending += reversed(missing)
                continue
            pending.pop()
            if number not in seen:
                seen.add(number)
                found.append(operations[number])
    return found
