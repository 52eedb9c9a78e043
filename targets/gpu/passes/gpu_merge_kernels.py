# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has equal kernels be one, which is launched from several places: layers are alike, and so are copies in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir, print_asm, string_value
from ....bindings.navigation import operations_in, symbol_name
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ...host.entry import KERNELS
from ..kernels.outline import FORM

_LAUNCHED = "kernel"
_ASSERT = "tir.assert"


@register_pass
@dataclass(frozen=True)
class MergeKernels(Pass):
    """Has equal kernels be one, which is launched from several places."""

    name: ClassVar[str] = "gpu-merge-kernels"

    def run(self, op: Operation) -> None:
        inside = operations_in(op)
        launches = [each for each in inside if each.name == "gpu.launch_func"]
        kernels = [each for each in inside if each.name == "gpu.func" and FORM in each.attributes]
        first: dict[str, Operation] = {}
        instead: dict[str, str] = {}
        for kernel in kernels:
            kept = first.setdefault(_content(kernel), kernel)
            if kept != kernel:
                instead[symbol_name(kernel)] = symbol_name(kept)
                kernel.erase()
        if not instead:
            return
        with op.context:
            for launch in launches:
                module, name = launch.attributes[_LAUNCHED].value
                launch.attributes[_LAUNCHED] = ir.SymbolRefAttr.get([module, instead.get(name, name)])
            names = [string_value(each) for each in op.attributes[KERNELS]]
            kept_names = [ir.StringAttr.get(name) for name in names if name not in instead]
            op.attributes[KERNELS] = ir.ArrayAttr.get(kept_names)


def _content(kernel: Operation) -> str:
    """All of a kernel but its name. Where it fails with a place in the model, the places are part of it."""
    fails = any(each.name == _ASSERT for each in operations_in(kernel))
    text = print_asm(kernel, assume_verified=True, enable_debug_info=fails)
    return text.replace(f"@{symbol_name(kernel)}(", "@(", 1)
