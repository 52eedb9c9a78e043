# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Order of a floating-point reduction: a value, and the text of the attribute `tir.order`.

    2 4 3
    (2 3) by 16 lanes

The numbers are the operation's reduction loops, outermost first; loops in brackets run as one loop. Steps follow each
other in this order. With lanes, steps of the last loop are dealt to `lanes` virtual accumulators in turn; `4 x 16
lanes` are 64 accumulators for each whole run of 64 steps, and the remaining steps go to the first 16. Accumulators
start from the identity element and are merged by halves: N accumulators become N / 2 by adding the second half to the
first one. The initial value comes last.

The order does not depend on the machine: a vector has some of the lanes, or all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..bindings.ir import Operation
from ..bindings.mlir import ir, string_value
from ..bindings.rewriting import located_error
from ..dialects.core.ir_attributes import ORDER

_TEXT = re.compile(r"((?:\d+|\(\d+(?: \d+)+\))(?: (?:\d+|\(\d+(?: \d+)+\)))*)(?: by (?:(\d+) x )?(\d+) lanes)?")


@dataclass(frozen=True)
class ReductionOrder:
    """Order of the steps of a reduction."""

    #: The operation's loops in each loop of the reduction, outermost first.
    loops: tuple[tuple[int, ...], ...]
    #: Virtual lanes along the last loop, or 1 if all steps follow each other.
    lanes: int = 1
    #: Number of accumulators with that many lanes.
    accumulators: int = 1

    def __str__(self) -> str:
        loops = " ".join(f"({' '.join(map(str, chain))})" if len(chain) > 1 else str(chain[0]) for chain in self.loops)
        several = f"{self.accumulators} x " if self.accumulators > 1 else ""
        return loops if self.lanes == 1 else f"{loops} by {several}{self.lanes} lanes"

    @property
    def flat(self) -> tuple[int, ...]:
        return tuple(dim for chain in self.loops for dim in chain)

    def partial_results(self, steps: int | None) -> tuple[int, int]:
        """Return the lanes, and the accumulators with that many lanes, that steps of the last loop reach.

        The others stay at the identity element, which changes no bits. So a plan may leave them out. Lanes are a power
        of two, because partial results are merged by halves.
        """
        lanes, accumulators = self.lanes, self.accumulators
        while steps is not None and lanes > 1 and lanes // 2 >= steps:
            lanes //= 2
        return lanes, accumulators if steps is None or steps >= accumulators * lanes else 1


def parse_order(text: str) -> ReductionOrder | None:
    """Parse an order, or return None for text that is none."""
    if (match := _TEXT.fullmatch(text)) is None:
        return None
    chains = re.findall(r"\(([^)]*)\)|(\d+)", match[1])
    loops = tuple(tuple(map(int, (inside or single).split())) for inside, single in chains)
    return ReductionOrder(loops, int(match[3] or 1), int(match[2] or 1))


def order_of(operation: Operation) -> ReductionOrder | None:
    """Return the order that an operation states, or None if its order is free. Raises RelaxError for other text."""
    if ORDER not in operation.attributes:
        return None
    text = string_value(operation.attributes[ORDER])
    if (order := parse_order(text)) is None:
        expected = 'expected loops, like "2 4 3" or "(2 3) by 16 lanes"'
        raise located_error(f'{ORDER} "{text}": {expected}', operation.location)
    return order


def set_order(operation: Operation, order: ReductionOrder) -> None:
    operation.attributes[ORDER] = ir.StringAttr.get(str(order), operation.context)
