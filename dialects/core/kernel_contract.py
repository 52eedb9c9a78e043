# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contracts of kernels that are compiled apart: all that the rest of the program must know of their code.

Such a kernel leaves the program when its loops are planned. A stub takes its place, a PrimFunc on memrefs without
operations, with the contract as an attribute.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...bindings.ir import Attribute, Context, Operation
from ...bindings.mlir import ir, string_array, string_value
from .ir_attributes import CONTRACT


@dataclass(frozen=True)
class KernelContract:
    """The contract of one kernel."""

    #: The name of its function in its object file.
    symbol: str
    #: The results that may be written over operands, by the places of the parameters: the operand, the result, and 1
    #: if that holds only element over element, 0 if the result may lie anywhere in the operand's memory.
    overwrites: tuple[tuple[int, int, int], ...]
    #: Whether it returns a status.
    can_fail: bool
    #: The functions and globals of the program, or of its library, that its code refers to.
    needs: tuple[str, ...]

    def attribute(self, context: Context) -> Attribute:
        numbers = [number for each in self.overwrites for number in each]
        fields = {
            "symbol": ir.StringAttr.get(self.symbol, context),
            "overwrites": ir.DenseI64ArrayAttr.get(numbers, context),
            "needs": string_array(self.needs),
        }
        if self.can_fail:
            fields["can_fail"] = ir.UnitAttr.get(context)
        return ir.DictAttr.get(fields, context)


def contract_of(function: Operation) -> KernelContract | None:
    """Return the contract of a stub; None for other functions."""
    if CONTRACT not in function.attributes:
        return None
    fields = ir.DictAttr(function.attributes[CONTRACT])
    numbers = list(fields["overwrites"])
    triples = tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))
    needs = tuple(map(string_value, fields["needs"]))
    return KernelContract(string_value(fields["symbol"]), triples, "can_fail" in fields, needs)
