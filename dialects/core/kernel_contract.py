# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contracts of separately compiled kernels: all facts about their code that the rest of the program needs.

Such a kernel leaves the program after its loops are planned. A stub replaces it: a PrimFunc on memrefs without
operations, with the contract as an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...bindings.ir import Attribute, Context, Operation
from ...bindings.mlir import ir, string_array, string_value
from .ir_attributes import CONTRACT


@dataclass(frozen=True)
class KernelContract:
    """Contract of one kernel."""

    #: Name of the function in its object file.
    symbol: str
    #: Results that may overwrite operands, by parameter indices: (operand, result, flag). The flag is 1 if only element
    #: over element is allowed, and 0 if the result may lie anywhere in the operand's memory.
    overwrites: tuple[tuple[int, int, int], ...]
    #: True if the kernel returns a status.
    can_fail: bool
    #: Functions and globals of the program, or of its library, that the code refers to.
    needs: tuple[str, ...]

    def attribute(self, context: Context) -> Attribute:
        numbers = [number for overwrite in self.overwrites for number in overwrite]
        fields = {
            "symbol": ir.StringAttr.get(self.symbol, context),
            "overwrites": ir.DenseI64ArrayAttr.get(numbers, context),
            "needs": string_array(self.needs),
        }
        if self.can_fail:
            fields["can_fail"] = ir.UnitAttr.get(context)
        return ir.DictAttr.get(fields, context)


def contract_of(function: Operation) -> KernelContract | None:
    """Return the contract of a stub, or None for other functions."""
    if CONTRACT not in function.attributes:
        return None
    fields = ir.DictAttr(function.attributes[CONTRACT])
    numbers = list(fields["overwrites"])
    triples = tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
    needs = tuple(map(string_value, fields["needs"]))
    return KernelContract(string_value(fields["symbol"]), triples, "can_fail" in fields, needs)
