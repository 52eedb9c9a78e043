# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several: independent operations that share a launch."""

from __future__ import annotations

import functools
import operator

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....emit.numbers import Number
from ..emit.threads import threads_of
from ..unplanned.horizontal_fusion import Several, blocks_of_points, write_several
from .form import Form, Group, Limits, structured_in


class SeveralForm(Form):
    """Consecutive blocks for each operation."""

    name = "several"

    @classmethod
    def of(cls, group: Group, limits: Limits) -> SeveralForm | None:
        return cls(group.joined(), limits) if isinstance(group, Several) else None

    def blocks(self) -> Number:
        return functools.reduce(operator.add, [blocks_of_points(op, self.threads) for op in self.ops])

    @classmethod
    def write(cls, kernel: Operation) -> None:
        ops = structured_in(kernel)
        with ops[-1].location, ir.InsertionPoint(ops[-1]):
            write_several(ops, threads_of(kernel))
        for op in reversed(ops):
            op.erase()
