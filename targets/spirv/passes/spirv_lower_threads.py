# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers of a block, and what the threads of a subgroup tell each other, as SPIR-V says them.

Upstream's barrier is for the block's own memory alone; kernels pass each other what is in the device's, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import operations_in
from ....bindings.rewriting import located_error, replace_op
from ....emit.arithmetic import result_of
from ....emit.numbers import constant
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..emit import scope, semantics

_MODES = {"xor": "Xor", "up": "Up", "down": "Down", "idx": ""}


@register_pass
@dataclass(frozen=True)
class LowerThreads(Pass):
    """Has kernels wait and shuffle by operations of SPIR-V."""

    name: ClassVar[str] = "spirv-lower-threads"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "gpu", "spirv")

    #: The interface that the code is for: vulkan or opencl.
    api: str = "vulkan"

    def run(self, op: Operation) -> None:
        with op.context:
            for each in operations_in(op):
                with each.location, ir.InsertionPoint(each):
                    if each.name == "gpu.barrier":
                        self._wait(each)
                    elif each.name == "gpu.shuffle":
                        _shuffle(each)

    def _wait(self, barrier: Operation) -> None:
        attributes = {
            "execution_scope": scope("Workgroup"),
            "memory_scope": scope("Workgroup"),
            "memory_semantics": semantics("AcquireRelease", self.api),
        }
        ir.Operation.create("spirv.ControlBarrier", attributes=attributes)
        barrier.erase()


def _shuffle(shuffle: Operation) -> None:
    """All threads of a subgroup take part: each gets a value."""
    value, lane, _ = shuffle.operands
    mode = str(shuffle.attributes["mode"]).removesuffix(">").split()[-1]
    if mode not in _MODES:
        raise located_error(f"SPIR-V has no shuffle of the mode {mode}", shuffle.location)
    made = result_of(
        f"spirv.GroupNonUniformShuffle{_MODES[mode]}", [value, lane], value.type, execution_scope=scope("Subgroup")
    )
    replace_op(shuffle, [made, constant(1, "bool").value])
