# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flush mode for denormal numbers while a program runs.

A thread's control register decides whether denormal operands and results become zero. The functions by which a thread
enters the program set the mode and restore the caller's register at each return: the entries, and the functions that
the thread pool calls for a part of a range. Both return a status on failure, so a return is the only way out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ....bindings.ir import Operation, Value
from ....bindings.mlir import ir
from ....bindings.navigation import body_of, functions_in, has_body, operations_named, symbol_name
from ....passes.core.base import Pass
from ....passes.core.registry import register_pass
from ....support.errors import OptionError
from ....support.suggest import suggest
from ..abi import EXPORT_PREFIX
from ..flush_modes import FLUSH_MODES, FlushMode
from ..llvm_ops import call_intrinsic, constant, load, stack, store, type_of


@register_pass
@dataclass(frozen=True)
class FlushDenormals(Pass):
    """Flush denormal numbers to zero in the functions by which threads enter a program.

    Must run after host-lower-errors and host-call-parallel.
    """

    name: ClassVar[str] = "host-flush-denormals"
    dependent_dialects: ClassVar[tuple[str, ...]] = ("arith", "func", "llvm")

    #: LLVM's name of the architecture: x86_64 or aarch64.
    architecture: str = "x86_64"

    def __post_init__(self) -> None:
        if self.architecture not in FLUSH_MODES:
            known = ", ".join(FLUSH_MODES)
            raise OptionError(
                f"pass '{self.name}': architecture={self.architecture}: expected one of {known}"
                f"{suggest(self.architecture, FLUSH_MODES)}"
            )

    def run(self, op: Operation) -> None:
        mode = FLUSH_MODES[self.architecture]
        shared = {
            ir.FlatSymbolRefAttr(operation.attributes["value"]).value
            for operation in operations_named(op, "func.constant")
        }
        with op.context:
            for function in filter(has_body, functions_in(op)):
                name = symbol_name(function)
                if name.startswith(EXPORT_PREFIX) or name in shared:
                    _flush_in(function, mode)


def _flush_in(function: Operation, mode: FlushMode) -> None:
    """Set the mode at the beginning of a function, and restore the register before each return."""
    returns = operations_named(function, "func.return")
    with function.location:
        with ir.InsertionPoint.at_block_begin(body_of(function)):
            kept = _set(mode)
        for operation in returns:
            with ir.InsertionPoint(operation):
                call_intrinsic(mode.write, [kept])


def _set(mode: FlushMode) -> Value:
    """Set the mode. Return the operand that restores the register: its former value, or the address of this value."""
    type_ = type_of(f"i{mode.width}")
    if not mode.is_in_memory:
        before = call_intrinsic(mode.read, [], type_)
        assert before is not None, mode.read
        call_intrinsic(mode.write, [_with_bits(before, mode)])
        return before
    kept, changed = stack(mode.width // 8), stack(mode.width // 8)
    call_intrinsic(mode.read, [kept])
    store(_with_bits(load(kept, 0, type_), mode), changed)
    call_intrinsic(mode.write, [changed])
    return kept


def _with_bits(value: Value, mode: FlushMode) -> Value:
    bits = constant(mode.bits, mode.width)
    return ir.Operation.create("arith.ori", results=[value.type], operands=[value, bits]).result
