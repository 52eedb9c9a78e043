# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""relax-merge-composite-functions on random graphs; test/passes has its cases one by one."""

from __future__ import annotations

from typing import Any

import blocks
from before_after import changed, functions_by_name, keeps_results
from example_counts import draws
from hypothesis import given
from hypothesis import strategies as st
from partitioning import codegen, rows
from relax_mlir.bindings.navigation import callee_of, operations_in
from relax_mlir.passes.graph.relax_fuse_ops_by_pattern import FuseOpsByPattern

import relax_mlir as rx


@draws(25)
@given(first=rows(), second=rows(), module=blocks.images() | blocks.sequences(), bind=st.booleans())
def test_random_graphs_by_random_patterns(first: Any, second: Any, module: rx.Module, bind: bool) -> None:
    """Check that each composite function is called in one function of its codegen, with equal results."""
    renamed = [(name.replace("npu", "cpu"), pattern) for name, pattern in second]
    with codegen(first) as npu, codegen(renamed, "cpu") as cpu:
        apart = changed(module, FuseOpsByPattern((npu, cpu), bind_constants=bind))
        after = keeps_results(apart, "relax-merge-composite-functions")
    calls = [
        (callee_of(call), function.attributes["relax.codegen"].value)
        for function in functions_by_name(after).values()
        if "relax.codegen" in function.attributes
        for call in operations_in(function)
        if call.name == "func.call"
    ]
    composites = {
        name: function.attributes["relax.composite"].value.partition(".")[0]
        for name, function in functions_by_name(apart).items()
        if "relax.composite" in function.attributes
    }
    assert sorted(calls) == sorted(composites.items())
