# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units of the host library for Vulkan and OpenCL: code of each, and names that fit the other units."""

from __future__ import annotations

import pytest
from relax_mlir.bindings.context import new_context
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import has_body, operations_of, symbol_name
from relax_mlir.support.plugins import load_plugins
from relax_mlir.targets.host.native.unit import LibraryUnit
from relax_mlir.targets.host.passes.host_define_support import parsed_unit
from relax_mlir.targets.host.units import library_units, register_library
from relax_mlir.targets.llvm.objects.object_file import check_compilable
from relax_mlir_spirv.host_library import OPENCL_UNITS, VULKAN_UNITS

for kind in ("vulkan", "opencl"):
    load_plugins("target", kind)
OWN = [LibraryUnit(name).identity for name in dict.fromkeys([*VULKAN_UNITS, *OPENCL_UNITS])]


def test_units_are_registered_once() -> None:
    before = [unit.identity for unit in library_units()]
    assert [before.count(identity) for identity in OWN] == [1] * 5
    register_library(*VULKAN_UNITS)
    assert [unit.identity for unit in library_units()] == before


@pytest.mark.parametrize("unit", [unit for unit in library_units() if unit.identity in OWN])
def test_each_unit_becomes_code_by_itself(unit: LibraryUnit) -> None:
    with new_context(("llvm",)):
        check_compilable(parsed_unit(unit.text), 2)


def test_units_fit_together() -> None:
    """Check that a name means the same in all units, and that units declare types that earlier units define."""
    seen: dict[str, str] = {}
    types: dict[str, str] = {}
    with new_context(("llvm",)), ir.Location.unknown():
        for library_unit in library_units():
            unit = parsed_unit(library_unit.text, is_shared=False)
            for op in operations_of(unit.body):
                name = symbol_name(op)
                if has_body(op) or "value" in op.attributes:
                    assert seen.setdefault(name, str(op)) == str(op)
                if op.name == "llvm.func" and name.startswith("__relax_"):
                    type_ = str(op.attributes["function_type"])
                    assert (types.setdefault(name, type_) if has_body(op) else types[name]) == type_
