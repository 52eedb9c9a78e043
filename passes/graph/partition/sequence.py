# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of a block's operations that their graph defines, independent of the order in the text."""

from __future__ import annotations

from collections.abc import Sequence

from ....bindings.ir import Operation
from ....bindings.navigation import used_by


def sort_by_graph(operations: Sequence[Operation]) -> list[Operation]:
    """Sort operations of a block by their graph: operands before their readers, earlier operands first.

    Exporters write the same graph in many orders. Choices among its operations must not depend on that.
    """
    makers = {value: number for number, op in enumerate(operations) for value in op.results}
    read = [[makers[value] for value in used_by(op) if value in makers] for op in operations]
    # Operations without results come first, because they have side effects. The terminator's operands come last.
    ends = sorted(range(len(operations)), key=lambda number: len(operations[number].results) > 0)
    in_order: list[Operation] = []
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
                in_order.append(operations[number])
    return in_order
