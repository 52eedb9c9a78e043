# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels and host code become a program for WebGPU, as data; functions become calls of what runs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, operations_of, symbol_name
from ....dialects.core.ir_attributes import DEVICE, EXTERNAL_MODS, KERNELS
from ....passes.core.base import Pass
from ....passes.core.external import external_attribute
from ....passes.core.registry import register_pass
from ....support.external_part import ExternalPart
from ..program.entries import entry_calls
from ..program.whole_program import packed, program_of

#: The part of the program that runs on the device (runtime/external/webgpu.py).
PART, VERSION = "webgpu", "1"


@register_pass
@dataclass(frozen=True)
class MakeProgram(Pass):
    """Takes kernels and host code out as data, and has public functions call that."""

    name: ClassVar[str] = "webgpu-make-program"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func")

    #: Bytes of memory that a block has.
    shared: int = 16384

    def run(self, op: Operation) -> None:
        program, data = program_of(op, self.shared)
        with op.context:
            calls = entry_calls(op, PART)
            for each in operations_of(body_of(op)):
                if each not in calls:
                    each.erase()
            for name in (DEVICE, KERNELS, "gpu.container_module"):
                if name in op.attributes:
                    del op.attributes[name]
            held = memoryview(packed(program, data))
            part = ExternalPart(PART, PART, VERSION, tuple(map(symbol_name, calls)), (), held)
            others = list(op.attributes[EXTERNAL_MODS]) if EXTERNAL_MODS in op.attributes else []
            op.attributes[EXTERNAL_MODS] = ir.ArrayAttr.get([external_attribute(part, ()), *others])
