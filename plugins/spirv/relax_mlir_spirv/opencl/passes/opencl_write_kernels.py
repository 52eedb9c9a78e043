# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of kernel modules to OpenCL C, for devices with drivers that accept no SPIR-V."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.bindings.ir import Operation
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.core.ir_attributes import KERNELS_TEXT, WORDS
from relax_mlir.passes.core.base import Pass
from relax_mlir.passes.core.registry import register_pass
from relax_mlir.targets.gpu.device_code import kernel_modules, kernels_of

from ..source.kernel_text import source_of


@register_pass
@dataclass(frozen=True)
class WriteKernels(Pass):
    """Write kernels as text in OpenCL C, which becomes an attribute of the module."""

    name: ClassVar[str] = "opencl-write-kernels"

    def run(self, op: Operation) -> None:
        with op.context:
            for module in kernel_modules(op):
                op.attributes[WORDS] = ir.DenseI64ArrayAttr.get(
                    [kernel.attributes[WORDS][0] for kernel in kernels_of(module)]
                )
                op.attributes[KERNELS_TEXT] = ir.StringAttr.get(source_of(module))
                module.erase()
