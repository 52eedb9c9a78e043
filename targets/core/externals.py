# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What codegens have made for a module, as parts of its program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...bindings.ir import Attribute, Operation
from ...bindings.mlir import ir, string_value
from ...dialects.core.elements import elements_bytes
from ...dialects.core.ir_attributes import EXTERNAL_MODS

if TYPE_CHECKING:
    from ...runtime.artifact import External


def taken_externals(module: Operation) -> tuple[tuple[External, ...], tuple[memoryview, ...]]:
    """The parts, and the objects of those that are linked; both are taken from the module."""
    if EXTERNAL_MODS not in module.attributes:
        return (), ()
    described = list(module.attributes[EXTERNAL_MODS])
    del module.attributes[EXTERNAL_MODS]
    objects = tuple(elements_bytes(blob) for each in described for blob in each["objects"])
    return tuple(map(_external, described)), objects


def _external(described: Attribute) -> External:
    from ...runtime.artifact import External

    codegen, name, version = (string_value(described[key]) for key in ("codegen", "name", "version"))
    functions, nodes = (tuple(map(string_value, described[key])) for key in ("functions", "nodes"))
    data = elements_bytes(described["data"]) if "data" in described else None
    inputs = tuple(ir.IntegerAttr(each).value for each in described["inputs"])
    return External(codegen, name, version, functions, nodes, data, inputs)
