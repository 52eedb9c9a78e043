# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code generation for devices by SPIR-V: kernels as SPIR-V modules, host code by target llvm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from relax_mlir.bindings.ir import Module, Operation
from relax_mlir.bindings.navigation import body_of, operations_named, operations_of
from relax_mlir.dialects.core.ir_attributes import KERNELS_TEXT, WORDS
from relax_mlir.passes.core.stages import Stage
from relax_mlir.targets.core.backend import Backend, ChosenTarget
from relax_mlir.targets.core.code import find_backend
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.gpu.kernel_names import kernel_names
from relax_mlir.targets.gpu.pipeline import gpu_stages

from .abi import OF_SUBGROUPS, PackedKernel, packed
from .device_passes import device_passes
from .environment import environment
from .options import MATRICES, OPTIONS, VERSION, device_of

if TYPE_CHECKING:
    from relax_mlir.runtime.artifact import Artifact
    from relax_mlir.targets.core.code_options import CodeOptions


class SpirvBackend(Backend):
    """Backend that compiles kernels to SPIR-V, launched by native code."""

    #: Interface that the code uses.
    api: ClassVar[str]

    def machine(self, target: ChosenTarget) -> Machine:
        device = device_of(target)
        return Machine(
            "spirv64",
            frozenset(),
            Machine.thread_bytes,
            device.registers,
            caches=(),
            cores=device.cores,
            shared_bytes=device.kernels_shared,
            block_threads=device.threads,
            warp=device.subgroup,
            instructions=tuple(matrix.instruction for matrix in device.matrices),
        )

    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        device = device_of(target)
        passes, options = self.device_passes(target), target.options_text
        return gpu_stages(self.api, passes, options, device.kernels_shared, block_threads=device.threads)

    def device_passes(self, target: ChosenTarget) -> Sequence[str]:
        """Return the passes that compile kernels."""
        return device_passes(self.api, device_of(target))

    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        from relax_mlir.runtime.artifact import DeviceCode

        names = kernel_names(module, target, options)
        data = self.kernels(module, target)
        for spirv_module in _spirv_modules(module):
            spirv_module.erase()
        for name in (WORDS, KERNELS_TEXT):
            if name in module.operation.attributes:
                del module.operation.attributes[name]
        host = find_backend("llvm").build(
            module, target.on_host(option.name for option in (*OPTIONS, MATRICES, VERSION)), options
        )
        code = DeviceCode(self.api, str(target), self.format_of(target), names, memoryview(data))
        return replace(host, devices=(code,))

    def format_of(self, target: ChosenTarget) -> str:
        """Return the format of the kernels in the program."""
        return "spirv"

    def kernels(self, module: Module, target: ChosenTarget) -> bytes:
        """Return the bytes of the program's kernels (abi.py)."""
        from .binary import binary_of

        with module.context:
            space = environment(self.api, device_of(target).version)
        binaries = [binary_of(spirv_module, space) for spirv_module in _spirv_modules(module)]
        words = words_of_kernels(module)
        if len(binaries) == 1:
            binaries *= len(words)
        counts = any(operations_named(spirv_module, *OF_SUBGROUPS) for spirv_module in _spirv_modules(module))
        rows = [PackedKernel(binary, count) for binary, count in zip(binaries, words, strict=True)]
        subgroup = device_of(target).subgroup if counts else 0
        return packed(rows, subgroup, counts_blocks=self.api == "vulkan")

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        """Return the kernels in the dialect spirv."""
        return "\n".join(str(spirv_module) for spirv_module in _spirv_modules(module))


def words_of_kernels(module: Module) -> list[int]:
    """Return the number of words of each kernel."""
    return list(module.operation.attributes[WORDS]) if WORDS in module.operation.attributes else []


def _spirv_modules(module: Module) -> list[Operation]:
    return [operation for operation in operations_of(body_of(module.operation)) if operation.name == "spirv.module"]
