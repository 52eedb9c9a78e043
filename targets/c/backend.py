# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source files in the place of code: what makes them is imported when it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...bindings.ir import Module
from ...passes.core.stages import Stage
from ...support.errors import RefusalError
from ..core.backend import Backend, ChosenTarget, Machine
from ..core.registry import libraries_of
from .source.options import source_options

if TYPE_CHECKING:
    from ...runtime.artifact import Artifact
    from ..core.code import CodeOptions


class CBackend(Backend):
    """C99, to be compiled by whoever gets it."""

    def machine(self, target: ChosenTarget) -> Machine:
        """One that says nothing: loops stay plain."""
        return Machine("c", frozenset(), 8, 16)

    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        from .pipeline import stages

        source_options(target)
        return stages(target.options_text)

    def build(self, module: Module, target: ChosenTarget, options: CodeOptions) -> Artifact:
        raise RefusalError(
            f"target '{target}' makes source files, no program to load",
            notes=["relax-compile --target c -o folder/ writes them, rx.sources(module) gives them"],
        )

    def sources(self, module: Module, target: ChosenTarget, version: str) -> dict[str, str | bytes]:
        from .source.files import source_files

        return source_files(module.operation, source_options(target), version, libraries_of(target.name))
