# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backend for WebGPU programs: kernels in WGSL, and host code as data.

In an artifact, the program is a part that native code calls and runtime/runtime.py executes with the package
wgpu. Source files are the same program for browsers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from relax_mlir import Backend, ChosenTarget, Machine, RefusalError, Stage, find_backend
from relax_mlir.bindings.ir import Module
from relax_mlir.targets.gpu.pipeline import kernel_stages

from .options import OPTIONS, limits_of

if TYPE_CHECKING:
    from relax_mlir import CodeOptions
    from relax_mlir.runtime import Artifact

#: Stages of the target llvm that compile the functions of a graph that call the program.
_OF_HOST = ("bufferize", "constants", "entries", "errors", "memory", "calls", "to-llvm")
_DEVICE = (
    # Views become offsets and strides before canonicalize. Otherwise canonicalize removes casts from views, and with
    # them the fact that the elements of a row are adjacent.
    "gpu.module(convert-linalg-to-loops,convert-vector-to-scf{full-unroll=1},expand-strided-metadata)",
    "gpu-lower-masks",
    "gpu.module(canonicalize)",
    "spirv-rewrite-arithmetic{api=vulkan}",
    # Halves are computed in f32, so the numbers have types of WGSL.
    "gpu.module(arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},"
    "math-extend-to-supported-types,arith-expand,expand-strided-metadata,lower-affine,canonicalize,cse)",
)


class WebgpuBackend(Backend):
    """Backend that compiles kernels to WGSL and host code to instructions."""

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
        host = find_backend("llvm").stages(target.on_host(option.name for option in OPTIONS))
        return (
            *kernel_stages("webgpu", target.options_text, _kernels_shared(target), limits.threads),
            Stage("device", _DEVICE, "lowering of kernels to operations that WGSL supports", verify="end"),
            Stage(
                "program",
                (f"webgpu-make-program{{shared={limits.shared}}}",),
                "kernels become text, host code becomes data, functions call the program",
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
        return find_backend("llvm").build(module, target.on_host(option.name for option in OPTIONS), options)

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        """Return the texts of all kernels in WGSL."""
        from .program.web_files import program_in

        program, _ = program_in(module.operation)
        return "\n".join(f"// {each['name']}\n{each['code']}" for each in program["kernels"])

    def sources(self, module: Module, target: ChosenTarget, version: str) -> dict[str, str | bytes]:
        from .program.web_files import files_of

        return files_of(module.operation, version)


def _kernels_shared(target: ChosenTarget) -> int:
    """Return the shared memory of a block in bytes that kernels may use.

    Threads exchange values through the rest.
    """
    limits = limits_of(target)
    return limits.shared - 4 * limits.threads - 16
