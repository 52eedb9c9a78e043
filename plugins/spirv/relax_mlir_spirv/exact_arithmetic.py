# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact arithmetic in SPIR-V modules.

Unless told otherwise, drivers may treat floats as real numbers, and leave NaNs, infinities and the sign of 0 undefined.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.bindings.ir import Operation, Type
from relax_mlir.bindings.mlir import ir
from relax_mlir.bindings.navigation import operations_in

_ARITHMETIC = frozenset(f"spirv.{name}" for name in ("FAdd", "FSub", "FMul", "FDiv", "FRem", "FNegate"))
_KEPT = "SignedZeroInfNanPreserve"


def say_exact(module: Operation, api: str) -> None:
    ops = operations_in(module)
    entries = [each for each in ops if each.name == "spirv.EntryPoint"]
    if api == "opencl":
        for entry in entries:
            _say(entry, "ContractionOff")
        return
    for op in ops:
        if op.name in _ARITHMETIC:
            op.attributes["no_contraction"] = ir.UnitAttr.get()
    widths = sorted({width for each in ops for result in each.results for width in _float_width(result.type)})
    for entry in entries:
        for width in widths:
            _say(entry, _KEPT, [width])
    if widths:
        require(module, _KEPT)


def require(module: Operation, capability: str) -> None:
    """Add a capability to a module's declarations."""
    said = str(module.attributes["vce_triple"]).replace("[", f"[{capability}, ", 1)
    module.attributes["vce_triple"] = ir.Attribute.parse(said)


def _say(entry: Operation, mode: str, values: Sequence[int] = ()) -> None:
    i32 = ir.IntegerType.get_signless(32)
    attributes = {
        "fn": entry.attributes["fn"],
        "execution_mode": ir.Attribute.parse(f"#spirv.execution_mode<{mode}>"),
        "values": ir.ArrayAttr.get([ir.IntegerAttr.get(i32, value) for value in values]),
    }
    with ir.InsertionPoint.after(entry):
        ir.Operation.create("spirv.ExecutionMode", attributes=attributes)


def _float_width(type_: Type) -> list[int]:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return [element.width] if isinstance(element, ir.FloatType) else []
