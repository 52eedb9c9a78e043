# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clocks around kernels: inline branches if there are few, calls if they would be most of the code."""

from __future__ import annotations

import pytest
from relax_mlir.bindings.mlir import ir
from relax_mlir.dialects.context import create_context
from relax_mlir.targets.host.passes.host_profile_kernels import ProfileKernels

_SITE = '{nodes = [], node_operators = [], operators = [], main = "k", inputs = [], outputs = []}'


@pytest.mark.parametrize(("places", "inlining"), [(1, "always_inline"), (200, "always_inline"), (201, "no_inline")])
def test_clocks_of_many_kernels_are_called(places: int, inlining: str) -> None:
    calls = f"  func.call @k() {{relax.site = {_SITE}}} : () -> ()\n" * places
    signature = "relax.inputs = [], relax.results = [], relax.input_names = []"
    text = f"""
func.func @main() attributes {{{signature}}} {{
{calls}  return
}}
func.func private @k()"""
    with create_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        ProfileKernels()(module.operation)
        symbols = ir.SymbolTable(module.operation)
        for name in ("__relax_profile_begin", "__relax_profile_end"):
            attributes = {"always_inline", "no_inline"} & {*symbols[name].attributes}
            assert attributes == {inlining}
