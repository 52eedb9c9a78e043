# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of kernels and host code to a WebGPU program, as data. Functions become calls of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir import Pass, ir, register_pass
from relax_mlir.bindings.navigation import body_of, operations_of, symbol_name
from relax_mlir.dialects.core.ir_attributes import DEVICE, EXTERNAL_MODS, KERNELS
from relax_mlir.passes.core.external import external_attribute
from relax_mlir.rewriting import Operation
from relax_mlir.support.external_part import ExternalPart

from ..program.entries import entry_calls
from ..program.whole_program import packed, program_of

#: Name of the external part that contains the program (runtime/runtime.py).
PART, VERSION = "webgpu", "1"


@register_pass
@dataclass(frozen=True)
class MakeProgram(Pass):
    """Move kernels and host code to a program as data, and make public functions call the program."""

    name: ClassVar[str] = "webgpu-make-program"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func")

    #: Shared memory of a block in bytes.
    shared: int = 16384

    def run(self, op: Operation) -> None:
        program, data = program_of(op, self.shared)
        with op.context:
            calls = entry_calls(op, PART)
            for operation in operations_of(body_of(op)):
                if operation not in calls:
                    operation.erase()
            for name in (DEVICE, KERNELS, "gpu.container_module"):
                if name in op.attributes:
                    del op.attributes[name]
            held = memoryview(packed(program, data))
            part = ExternalPart(PART, PART, VERSION, tuple(map(symbol_name, calls)), (), held)
            others = list(op.attributes[EXTERNAL_MODS]) if EXTERNAL_MODS in op.attributes else []
            op.attributes[EXTERNAL_MODS] = ir.ArrayAttr.get([external_attribute(part, ()), *others])
