# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Deduplication of kernels: equal kernels, as of repeated layers, become one that is launched from several places.

If a kernel of a function contains assertions, all kernels of the function stay separate. Each of them receives its own
place, and the flag of earlier failures (gpu-lower-asserts).
"""

from __future__ import annotations

from typing import ClassVar

from ....bindings.ir import Operation
from ....bindings.mlir import ir, print_asm, string_value
from ....bindings.navigation import functions_in, operations_named, symbol_name
from ....dialects.core.ir_attributes import KERNELS
from ....dialects.tir.prim_func import ASSERT
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ..kernels.outline import kernels_in, launched


@register_pass
class MergeKernels(Pass):
    """Merge equal kernels into one, which is launched from several places."""

    name: ClassVar[str] = "gpu-merge-kernels"

    def run(self, op: Operation) -> None:
        kernels = {symbol_name(kernel): kernel for kernel in kernels_in(op)}
        asserting = {name for name, kernel in kernels.items() if operations_named(kernel, ASSERT)}
        launches: list[Operation] = []
        for function in functions_in(op):
            own = operations_named(function, "gpu.launch_func")
            launches += own if asserting.isdisjoint(map(launched, own)) else []
        instead = _merge_duplicates([kernels[name] for name in dict.fromkeys(map(launched, launches))])
        with op.context:
            for launch in launches:
                module, name = launch.attributes["kernel"].value
                launch.attributes["kernel"] = ir.SymbolRefAttr.get([module, instead.get(name, name)])
            if instead:
                names = [string_value(each) for each in op.attributes[KERNELS]]
                kept = [ir.StringAttr.get(name) for name in names if name not in instead]
                op.attributes[KERNELS] = ir.ArrayAttr.get(kept)


def _merge_duplicates(kernels: list[Operation]) -> dict[str, str]:
    """Erase duplicate kernels, and map the name of each to its equivalent."""
    first: dict[str, Operation] = {}
    instead: dict[str, str] = {}
    for kernel in kernels:
        text = print_asm(kernel, assume_verified=True, enable_debug_info=False, use_local_scope=True)
        if (kept := first.setdefault(text.replace(f"@{symbol_name(kernel)}(", "@(", 1), kernel)) != kernel:
            instead[symbol_name(kernel)] = symbol_name(kept)
            kernel.erase()
    return instead
