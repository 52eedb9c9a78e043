# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules that a PrimFunc names itself: transform.named_sequence operations of the module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...bindings.mlir import dialect_module, ir
from ...bindings.navigation import body_of, function_type_of, has_body, operations_of, symbol_name
from ...bindings.rewriting import located_error
from ...dialects.tir.prim_func import SCHEDULE
from ...support.callbacks import enters

_SEQUENCE = "transform.named_sequence"


def apply_named_schedule(module: Any, function: Any) -> None:
    """Runs the sequence that the function's attribute names on the function. Raises RelaxError where it fails."""
    sequence = _find(module, function)
    if not _takes_one_operation(sequence):
        raise located_error(
            f"transform.named_sequence {function.attributes[SCHEDULE]} must take the PrimFunc that it schedules and "
            "nothing else, and return nothing",
            sequence.location,
        )
    try:
        interpreter = dialect_module("transform.interpreter")
        enters(interpreter.apply_named_sequence)(function, sequence, sequence.parent)
    except ValueError as error:
        raise located_error(f"schedule {function.attributes[SCHEDULE]} failed: {error}", function.location) from None


def drop_named_schedules(module: Any, functions: Iterable[Any]) -> None:
    """Takes out the sequences that these functions named: they have run, and no code can be made of them."""
    named = [function for function in functions if SCHEDULE in function.attributes]
    sequences = dict.fromkeys(_find(module, function) for function in named)
    for function in named:
        del function.attributes[SCHEDULE]
    for sequence in sequences:
        sequence.erase()


def _find(module: Any, function: Any) -> Any:
    symbol = function.attributes[SCHEDULE]
    names = list(ir.SymbolRefAttr(symbol).value) if isinstance(symbol, ir.SymbolRefAttr) else [symbol.value]
    scope = module
    for name in names:
        found = [op for op in operations_of(body_of(scope)) if symbol_name(op) == name]
        if not found:
            raise located_error(f"schedule {symbol} is not in the module", function.location)
        scope = found[0]
    if scope.name != _SEQUENCE:
        raise located_error(f"schedule {symbol} is a '{scope.name}', expected a '{_SEQUENCE}'", function.location)
    return scope


def _takes_one_operation(sequence: Any) -> bool:
    if not has_body(sequence):
        return False
    type_ = function_type_of(sequence)
    return len(type_.inputs) == 1 and not len(type_.results) and str(type_.inputs[0]).startswith("!transform.")
