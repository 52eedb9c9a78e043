# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The clocks around kernels: branches in place where there are few, calls where these would be most of the code."""

from __future__ import annotations

import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.targets.host.profiler import BEGIN, END, add_profiler


@pytest.mark.parametrize(("places", "inlining"), [(1, "alwaysinline"), (200, "alwaysinline"), (201, "noinline")])
def test_clocks_of_many_kernels_are_called(places: int, inlining: str) -> None:
    context = new_context(("llvm",))
    with context, ir.Location.unknown():
        module = ir.Module.create()
    add_profiler(module, places)
    symbols = ir.SymbolTable(module.operation)
    for name in (BEGIN, END):
        assert [each.value for each in symbols[name].attributes["passthrough"]] == [inlining]
