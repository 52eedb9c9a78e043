# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Application of a target's schedules to many PrimFuncs at once, without text and with one bufferization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of, symbol_name
from ....bindings.rewriting import Decline
from ....support.errors import RelaxError
from ...core.pipeline import Pipeline
from ..loops.bufferized import Scratch, bufferize, copied
from ..loops.source_writer import SourceWriter
from ..loops.tree_writer import write_tree
from .registry import ScheduleContext, StepsRule


def apply_steps(functions: Sequence[Operation], rule: StepsRule, context: ScheduleContext) -> None:
    """Replace PrimFuncs by loops over memory, as source code has them.

    PrimFuncs with operations that are no blocks stay.
    """
    module = copied(functions)
    bufferize(module, in_place=True)
    written: dict[str, Operation] = {}
    for function in functions:
        name = symbol_name(function)
        try:
            schedule = rule.function(function, replace(context, scratch=Scratch(function, module)))
        except (Decline, RelaxError):
            continue
        scratch, tree = schedule.scratch_of(name)
        write_tree(scratch.function, scratch.read, tree, SourceWriter)
        written[name] = function
    Pipeline(["func.func(canonicalize,cse)"], verify_each=False).run(module, all_or_nothing=False)
    for op in operations_of(body_of(module.operation)):
        if (replaced := written.get(symbol_name(op))) is not None:
            op.detach_from_parent()
            ir.InsertionPoint(replaced).insert(op)
            replaced.erase()
