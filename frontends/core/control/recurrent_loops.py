# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loop of recurrent operators, unrolled for few steps. The tensors have the shape [steps, batch, size]."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....dialects import relax
from ..node import Node
from ..sizes import as_tensor, size_of
from ..tensors import info_of, part
from ..values import Tensor, Value
from .scf_loops import LoopSpec, Turn, build_loop, of_length, unrolled
from .scf_regions import scalar_of

_MOST_UNROLLED = 8

#: `step(row of the input, states, index)` returns the states after a step, and the output row.
Step = Callable[[Tensor, list[Tensor], Value], tuple[list[Tensor], Tensor]]


def run_steps(node: Node, from_input: Tensor, states: Sequence[Tensor], step: Step) -> tuple[Tensor, list[Tensor]]:
    """Return the rows of all steps, and the states after the last step."""

    def turn(_: object, index: Value, values: list[Value]) -> Turn:
        if index.array is None:
            taken = relax.take(from_input, index.ssa, axis=0)
        else:
            taken = part(from_input, 0, int(index.array), int(index.array) + 1, drop=True)
        after, row = step(taken, [state.ssa for state in values], index)
        return Turn([Value(ssa=state) for state in after], [Value(ssa=row)])

    steps = (info_of(from_input).shape or (None,))[0]
    loop, given = LoopSpec(node, turn, None), [Value(ssa=state) for state in states]
    made = unrolled(loop, steps, given) if isinstance(steps, int) and 0 < steps <= _MOST_UNROLLED else None
    if made is not None:
        after, (rows,) = made
        return relax.stack([*(row.ssa for row in rows)], axis=0), [state.ssa for state in after]
    count = scalar_of(node, Value(ssa=as_tensor([size_of(from_input, 0)])))
    after, gathered = build_loop(loop._replace(count=count), given)
    return of_length(gathered, steps)[0].ssa, [state.ssa for state in after]
