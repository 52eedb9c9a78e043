# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How code is made for llvm: each step in a few words, and where it is. What makes code is imported when it does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ...bindings.ir import Module
from ...passes.core.stages import Stage
from ..core.backend import Backend, ChosenTarget, Machine
from .objects.code_target import code_target, machine
from .pipeline import stages

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from ..core.code import CodeOptions


class LLVMBackend(Backend):
    """Native code of CPUs, by LLVM: for this machine by MLIR's engine, for others by llvmlite."""

    separates_after = "plan"

    def separate(
        self, module: Module, stages: Sequence[Stage], target: ChosenTarget, options: CodeOptions
    ) -> AbstractContextManager[object] | None:
        from .objects.separate_kernels import separate_kernels

        return separate_kernels(module, stages, target, options)

    def machine(self, target: ChosenTarget) -> Machine:
        return machine(target)

    def stages(self, target: ChosenTarget) -> tuple[Stage, ...]:
        return stages(target)

    def prepare(self, target: ChosenTarget, options: CodeOptions) -> None:
        from .objects.native_code import prepare

        prepare(code_target(target), options)

    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        from .objects.build import build

        return build(module, target, options)

    def complete(self, module: Module, target: ChosenTarget) -> None:
        from .objects.build import complete

        complete(module)

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        from .objects.build import assembly

        return assembly(module, target, options)
