# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code generation for OpenCL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from relax_mlir.bindings.ir import Module
from relax_mlir.bindings.mlir import string_value
from relax_mlir.dialects.core.ir_attributes import KERNELS_TEXT
from relax_mlir.passes.core.stages import Stage
from relax_mlir.support.errors import OptionError
from relax_mlir.targets.core.backend import ChosenTarget

from ..abi import PackedKernel, packed
from ..backend import SpirvBackend, words_of_kernels
from ..device_passes import device_passes
from ..options import device_of

if TYPE_CHECKING:
    from relax_mlir.targets.core.code_options import CodeOptions

_LANGUAGES = ("spirv", "c")


class OpenCLBackend(SpirvBackend):
    """Backend that compiles kernels to SPIR-V for OpenCL, or writes them as OpenCL C."""

    api: ClassVar[str] = "opencl"

    def stages(self, target: ChosenTarget) -> Sequence[Stage]:
        if _is_text(target) and device_of(target).subgroup > 1:
            notes = ["without the option 'subgroup', threads exchange values through a block's memory"]
            raise OptionError(f"target '{target}': OpenCL C does not define the size of a subgroup", notes=notes)
        return super().stages(target)

    def device_passes(self, target: ChosenTarget) -> Sequence[str]:
        return device_passes(self.api, device_of(target), is_text=_is_text(target))

    def format_of(self, target: ChosenTarget) -> str:
        return "opencl-c" if _is_text(target) else super().format_of(target)

    def kernels(self, module: Module, target: ChosenTarget) -> bytes:
        if not _is_text(target):
            return super().kernels(module, target)
        text = _text(module).encode()
        return packed([PackedKernel(text, count) for count in words_of_kernels(module)], 0, counts_blocks=False)

    def assembly(self, module: Module, target: ChosenTarget, options: CodeOptions) -> str:
        """Return the kernels in the dialect spirv, or as OpenCL C."""
        return _text(module) if _is_text(target) else super().assembly(module, target, options)


def _text(module: Module) -> str:
    attributes = module.operation.attributes
    return string_value(attributes[KERNELS_TEXT]) if KERNELS_TEXT in attributes else ""


def _is_text(target: ChosenTarget) -> bool:
    given = target.option("language") or _LANGUAGES[0]
    if given not in _LANGUAGES:
        known = " or ".join(_LANGUAGES)
        raise OptionError(f"target '{target}': option 'language' expects {known}, got '{given}'")
    return given == "c"
