# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Backend that writes source files instead of code. Its modules are imported on use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.bindings.ir import Module
from relax_mlir.passes.core.stages import Stage
from relax_mlir.support.errors import RefusalError
from relax_mlir.targets.core.backend import Backend, ChosenTarget
from relax_mlir.targets.core.machine import Machine
from relax_mlir.targets.core.registry import libraries_of

from .source.options import source_options

if TYPE_CHECKING:
    from relax_mlir.runtime.artifact import Artifact
    from relax_mlir.targets.core.code_options import CodeOptions


class CBackend(Backend):
    """Backend that writes C99 for the user's compiler."""

    def machine(self, target: ChosenTarget) -> Machine:
        """Return a machine without properties, so that loops stay plain."""
        return Machine("c", frozenset(), 8, 16, has_vectors=False)

    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        from .pipeline import stages

        source_options(target)
        return stages(target.options_text)

    def recipe(self, target: ChosenTarget) -> object:
        from .integer_recipe import recipe

        return recipe()

    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        raise RefusalError(
            f"target '{target}' writes source files, not a program to load",
            notes=["relax-compile --target c -o folder/ writes them, rx.sources(module) returns them"],
        )

    def sources(self, module: Module, target: ChosenTarget, version: str) -> dict[str, str | bytes]:
        from .source.files import source_files

        return source_files(module.operation, source_options(target), version, libraries_of(target.name))
