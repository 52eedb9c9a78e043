# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block: reads and writes that no other form contains."""

from __future__ import annotations

from ....bindings.ir import Operation, Value
from ....bindings.navigation import body_of
from ....emit.numbers import Number, as_index
from ..kernels.own_memory import own_memory
from ..parallel_work import has_work
from ..unplanned.blocks import Together
from .form import Form, Group, InOrder, Limits


class BlockForm(Form):
    """One block, which runs operations in program order."""

    name = "block"

    @classmethod
    def of(cls, group: Group, limits: Limits) -> BlockForm | None:
        return cls(group.ops, limits) if isinstance(group, InOrder) else None

    def blocks(self) -> Number:
        return as_index(1)

    @property
    def threads(self) -> int:
        return self.limits.threads if any(map(has_work, self.ops)) else 1

    def own_memory(self) -> list[Value]:
        most, last = self.limits.own_bytes, self.ops[-1]
        return [memory for op in self.ops for memory in own_memory(op, None, most, before=last)]

    @classmethod
    def write(cls, kernel: Operation) -> None:
        Together(kernel).share(body_of(kernel))
