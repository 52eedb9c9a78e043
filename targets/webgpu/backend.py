# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How programs for WebGPU are made: kernels in WGSL, what launches them as data, here called by native code.

Artifacts hold the program as a part, which runtime/external/webgpu.py runs by the package wgpu. Source files are the
same program for browsers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ...bindings.ir import Module
from ...passes.core.stages import Stage
from ...support.errors import RefusalError
from ..core.backend import Backend, ChosenTarget, Machine
from ..core.code import find_backend
from ..gpu.pipeline import kernel_stages
from .options import OPTIONS, limits_of

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from ..core.code import CodeOptions

#: Of llvm's stages those by which a function of a graph that calls what runs programs becomes code.
_OF_HOST = ("bufferize", "constants", "entries", "errors", "memory", "calls", "to-llvm")
_DEVICE = (
    # Views become offsets and strides before canonicalize: that takes casts out of views, which forget that elements of
    # a row are adjacent then.
    "gpu.module(convert-linalg-to-loops,convert-vector-to-scf{full-unroll=1},expand-strided-metadata)",
    "gpu-lower-masks",
    "gpu.module(canonicalize)",
    "spirv-rewrite-arithmetic{api=vulkan}",
    # Halves are computed in f32, which makes numbers of the kinds that WGSL has.
    "gpu.module(arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},"
    "math-extend-to-supported-types,arith-expand,expand-strided-metadata,lower-affine,canonicalize,cse)",
)


class WebgpuBackend(Backend):
    """Programs of kernels in WGSL."""

    makes_both: ClassVar[bool] = True

    def machine(self, target: ChosenTarget) -> Machine:
        limits = limits_of(target)
        return Machine(
            "wgsl",
            frozenset(),
            Machine.thread_bytes,
            128,
            caches=(),
            cores=16,
            shared_bytes=_kernels_shared(target),
            block_threads=limits.threads,
            warp=1,
            atomic_bits=32,
        )

    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        limits = limits_of(target)
        host = find_backend("llvm").stages(target.on_host(each.name for each in OPTIONS))
        return (
            *kernel_stages("webgpu", target.options_text, _kernels_shared(target), limits.threads),
            Stage("device", _DEVICE, "kernels are of what WGSL has", verify="end"),
            Stage(
                "program",
                (f"webgpu-make-program{{shared={limits.shared}}}",),
                "kernels become text, what launches them data, and functions call that",
                verify="end",
            ),
            *(replace(each, name=f"host-{each.name}") for each in host if each.name in _OF_HOST),
        )

    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        if options.one_object:
            raise RefusalError(
                f"target '{target}': an object file has no place for kernels",
                notes=["--emit=artifact, the default, makes a program with them"],
            )
        return find_backend("llvm").build(module, target.on_host(each.name for each in OPTIONS), options)

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        """The kernels in WGSL, one behind the other."""
        from .program.web_files import program_in

        program, _ = program_in(module.operation)
        return "\n".join(f"// {each['name']}\n{each['code']}" for each in program["kernels"])

    def sources(self, module: Module, target: ChosenTarget, version: str) -> dict[str, str | bytes]:
        from .program.web_files import files_of

        return files_of(module.operation, version)


def _kernels_shared(target: ChosenTarget) -> int:
    """What is left for kernels: threads exchange values through some."""
    limits = limits_of(target)
    return limits.shared - 4 * limits.threads - 16
