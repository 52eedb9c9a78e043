# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops over sizes, parallel loops, and regions that run once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.navigation import body_of
from relax_mlir.support.errors import RefusalError
from relax_mlir.targets.text.structured_control import CONTROL_RULES

from .expressions import Expression, Size, integer, name, of_size
from .types import INDEX
from .writer import FunctionWriter, Rule


@contextmanager
def loop(writer: FunctionWriter, size: Size) -> Iterator[Expression]:
    """Write a loop from 0 to a size. A loop of one step is left out."""
    if isinstance(size, int) and size == 1:
        yield integer(0)
        return
    with writer.counting(INDEX, integer(0), of_size(size), integer(1)) as index:
        yield name(index, is_place=True)


def _parallel(writer: FunctionWriter, op: Operation) -> None:
    """Write a parallel loop sequentially."""
    counts = list(op.attributes["operandSegmentSizes"])
    if len(op.results):
        raise RefusalError("it is a reduction over parallel steps")
    body = body_of(op)
    bounds = writer.all(list(op.operands))
    rank = counts[0]
    starts, ends, steps = bounds[:rank], bounds[rank : 2 * rank], bounds[2 * rank : 3 * rank]
    with ExitStack() as loops:
        for counter, start, end, step in zip(body.arguments, starts, ends, steps, strict=True):
            index = loops.enter_context(writer.counting(INDEX, start, end, step))
            writer.know(counter, name(index, is_place=True))
        writer.block(body)


def _execute(writer: FunctionWriter, op: Operation) -> None:
    if len(op.regions[0].blocks) > 1:
        raise RefusalError("it has several blocks: use scf operations for branches")
    variables = writer.leave(op, "left")
    writer.assign(variables, list(writer.block(body_of(op)).operands))
    writer.know_all(op.results, variables)


RULES: dict[str, Rule] = {
    **CONTROL_RULES,
    "scf.parallel": _parallel,
    "scf.execute_region": _execute,
    "memref.alloca_scope": _execute,
}
