# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Form of a kernel, and the groups of operations that become kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of
from ....emit.numbers import Number, as_index
from ..emit.threads import usual_threads
from ..kernels.fused import Fused, fused_of
from ..parallel_work import is_structured
from ..unplanned.collapse import collapse_loops
from ..unplanned.horizontal_fusion import Several
from ..unplanned.points import Points
from ..unplanned.row_teams import steps_of
from ..unplanned.split import InParts

#: Most bytes of shared memory for the allocations of a kernel's operations.
_OWN_BYTES = 24 << 10


@dataclass(frozen=True)
class Limits:
    """Limits of a device's blocks."""

    most_threads: int
    shared_bytes: int

    @property
    def threads(self) -> int:
        """Default number of threads per block."""
        return usual_threads(self.most_threads)

    @property
    def own_bytes(self) -> int:
        """Most bytes of shared memory for the allocations of a kernel's operations."""
        return min(_OWN_BYTES, self.shared_bytes)


# ---- groups ----


@dataclass(frozen=True)
class Collapsed:
    """Operations without a plan, with collapsed loops, and the number of points of the main one."""

    fused: Fused
    count: Number

    @classmethod
    def of(cls, fused: Fused) -> Collapsed:
        with ir.InsertionPoint(fused.ops[-1]):
            count = as_index(Points(fused.main).count())
        epilogues = tuple(map(collapse_loops, fused.epilogues))
        return cls(Fused(fused.starts, collapse_loops(fused.main), epilogues), count)


@dataclass(frozen=True)
class SharedLoop:
    """Loop with steps that threads may share."""

    op: Operation
    steps: Number

    @classmethod
    def of(cls, loop: Operation) -> SharedLoop:
        with ir.InsertionPoint(loop):
            return cls(loop, as_index(steps_of(loop)))


@dataclass(frozen=True)
class InOrder:
    """Operations that access memory in program order."""

    ops: Sequence[Operation]


#: Fused operations have a plan. Of operations in parts, the first half is meant.
Group = Fused | InParts | Collapsed | Several | SharedLoop | InOrder


# ---- forms ----


@dataclass(frozen=True)
class Form(ABC):
    """Operations that become a kernel of this form.

    gpu-outline-kernels makes the kernel, and gpu-share-threads emits the code of its threads.
    """

    #: Value of the attribute `gpu.form`.
    name: ClassVar[str]

    ops: Sequence[Operation]
    limits: Limits

    @classmethod
    @abstractmethod
    def of(cls, group: Group, limits: Limits) -> Form | None:
        """Return a group in this form, or None if the group has another form.

        Store what `write` needs in attributes of the operations.
        """

    @abstractmethod
    def blocks(self) -> Number:
        """Return the number of blocks, emitted at the insertion point."""

    @property
    def threads(self) -> int:
        """Number of threads per block."""
        return self.limits.threads

    def own_memory(self) -> list[Value]:
        """Move the operations' allocations out of them. Return the memory that the host allocates."""
        return []

    @classmethod
    @abstractmethod
    def write(cls, kernel: Operation) -> None:
        """Emit the code of a thread of a kernel in this form."""


class FusedForm(Form):
    """Form of fused operations, which the emitted code replaces."""

    @classmethod
    def write(cls, kernel: Operation) -> None:
        fused = fused_of(structured_in(kernel))
        with fused.main.location, ir.InsertionPoint(fused.ops[-1]):
            cls.write_fused(kernel, fused)
        for op in reversed(fused.ops):
            op.erase()

    @staticmethod
    @abstractmethod
    def write_fused(kernel: Operation, fused: Fused) -> None:
        """Emit the code of a thread for the operations."""


def structured_in(kernel: Operation) -> list[Operation]:
    return [operation for operation in operations_of(body_of(kernel)) if is_structured(operation)]
