# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of a program, and the functions that belong to them."""

from __future__ import annotations

import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.targets.llvm.objects import units

RANGES = """
llvm.func @share(!llvm.ptr)
llvm.func internal @__relax_defined.g() {{
  %0 = llvm.mlir.addressof @__relax_defined.g.run : !llvm.ptr
  llvm.call @share(%0) : (!llvm.ptr) -> ()
  llvm.return
}}
llvm.func internal @__relax_defined.g.run() {{
  llvm.call @__relax_defined.g.parallel() : () -> ()
  llvm.return
}}
llvm.func internal @__relax_defined.g.parallel() {{ llvm.return }}
llvm.func internal @__relax_defined.h() {{ llvm.return }}
llvm.func @main() {{
  llvm.call @__relax_defined.g() : () -> ()
  llvm.call @__relax_defined.h() : () -> ()
  {0}
  llvm.return
}}
"""


@pytest.mark.parametrize(
    ("also", "kernels_taken"),
    [
        ("", {"g": True, "h": False}),
        ("%9 = llvm.mlir.addressof @__relax_defined.g.run : !llvm.ptr", {"g.parallel": False, "h": False}),
        ("llvm.call @__relax_defined.g.parallel() : () -> ()", {"g.parallel": False, "h": False}),
    ],
)
def test_the_ranges_of_a_kernels_loops_are_in_its_unit(also: str, kernels_taken: dict[str, bool]) -> None:
    """Return each kernel, and whether it has further functions, which no other unit uses."""
    with new_context(("llvm",)), ir.Location.unknown():
        _, *found = units.units_of(ir.Module.parse(RANGES.format(also)))
        inside = {each.name: "@__relax_kernel.2()" in str(ir.Module.parse(each.code)) for each in found}
    assert inside == kernels_taken
