# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code generation for CUDA: kernels as PTX, host code by target llvm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...bindings.ir import Module
from ...passes.core.stages import Stage
from ..core.backend import Backend, ChosenTarget
from ..core.code import find_backend
from ..core.machine import Machine
from ..gpu.device_code import kernel_modules
from ..gpu.kernel_names import kernel_names
from ..gpu.pipeline import gpu_stages
from .device_passes import DEVICE_PASSES, LAUNCH_PASSES
from .objects.arch import MAX_REGISTERS, OPTIONS, arch_of, has_tf32

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact, DeviceCode
    from ..core.code_options import CodeOptions

#: PTX of a program without kernels, for instance if all sizes are 0.
_WITHOUT_KERNELS = ".version {version}\n.target {arch}\n.address_size 64\n"


class CudaBackend(Backend):
    """Backend that compiles kernels to PTX, launched by native code."""

    def machine(self, target: ChosenTarget) -> Machine:
        arch, tf32 = arch_of(target), has_tf32(target)
        return Machine(
            "nvptx64",
            frozenset({arch.name}),
            Machine.thread_bytes,
            MAX_REGISTERS,
            caches=(),
            cores=arch.multiprocessors,
            shared_bytes=arch.block_shared,
            instructions=arch.instructions(tf32),
        )

    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        self.machine(target)
        block_shared = arch_of(target).block_shared
        return gpu_stages("cuda", DEVICE_PASSES, target.options_text, block_shared, LAUNCH_PASSES)

    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        from ...runtime.artifact import DeviceCode

        arch = arch_of(target)
        names = kernel_names(module, target, options)
        ptx = self.assembly(module, target, options)
        for kernels in kernel_modules(module.operation):
            kernels.erase()
        host = find_backend("llvm").build(module, target.on_host(option.name for option in OPTIONS), options)
        # The driver reads the text as a C string.
        code = DeviceCode("cuda", arch.name, "ptx", names, memoryview(ptx.encode() + b"\0"))
        return replace(host, devices=(code, *_machine_code(code, ptx, options)))

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        """Return the kernels' PTX."""
        from .objects.ptx import make_ptx

        arch = arch_of(target)
        for kernels in kernel_modules(module.operation):
            return make_ptx(kernels, arch.name, options.opt_level, options.cache)
        return _WITHOUT_KERNELS.format(version=arch.ptx / 10, arch=arch.name)


def _machine_code(code: DeviceCode, ptx: str, options: CodeOptions) -> Iterator[DeviceCode]:
    """Yield machine code for the exact architecture, so that the driver need not compile the PTX at load time."""
    from .objects.cubin import cubin_if_possible

    made = cubin_if_possible(ptx, code.arch, options.cache) if options.opt_level else None
    if made is not None:
        yield replace(code, format="cubin", data=memoryview(made))
