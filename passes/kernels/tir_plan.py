# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Planning of the loops of PrimFuncs on tensors, by the schedules registered for a target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ...bindings.ir import Operation
from ...bindings.mlir import dialect_module, ir
from ...bindings.navigation import body_of, function_type_of, has_body, operations_of, symbol_name
from ...bindings.rewriting import located_error
from ...dialects.core.ir_attributes import SCHEDULE
from ...dialects.tir.prim_func import prim_funcs_in, schedule_lines
from ...support.callbacks import enters
from ...targets.core.machine_pass import MachinePass
from ..core.facts import ScheduleFact
from ..core.journal import Journal
from ..core.registry import register_pass
from .schedule.choosing import Chooser
from .schedule.constant_arguments import Callers
from .schedule.registry import ScheduleContext


@register_pass
@dataclass(frozen=True)
class TirPlan(MachinePass):
    """Plan the loops of tensor programs for a target: tiles, vectors and order, as attributes."""

    # Copies and intrinsics of devices may decline the code of a schedule. Planning emits the code once to find out.
    #: Assume that tir-apply-schedule maps bound loops to threads.
    threads: bool = False
    #: Assume that tir-apply-schedule emits vectors for vectorized loops.
    vectors: bool = True

    name: ClassVar[str] = "tir-plan"
    anchor: ClassVar[str] = "builtin.module"
    dependent_dialects: ClassVar[tuple[str, ...]] = (
        *("arith", "func", "linalg", "scf", "tensor", "vector"),
        *("affine", "bufferization", "gpu", "llvm", "math", "memref"),  # for what copies and intrinsics emit
    )

    def run(self, op: Operation) -> None:
        functions, journal = prim_funcs_in(op), Journal.active()
        context = ScheduleContext(self.chosen.name, self.chosen)
        chooser = Chooser(op.operation, context, self.threads, self.vectors, journal)
        for function in functions:
            fact = _schedule_function(op.operation, function, chooser)
            if journal is not None:
                if journal.steps is not None:
                    fact.steps = _steps(journal, chooser.callers[fact.kernel], context)
                journal.add(fact)
        _drop_named_schedules(op.operation, functions)


def _schedule_function(module: Operation, function: Operation, chooser: Chooser) -> ScheduleFact:
    """Schedule a PrimFunc: by the schedule that it has or names, else by a rule."""
    if schedule_lines(function) is not None:
        return chooser.scheduled_before(function, SCHEDULE, "the PrimFunc", lambda: _read(function))
    if SCHEDULE in function.attributes:
        named = str(function.attributes[SCHEDULE])
        _apply_named_schedule(module, function)
        return chooser.scheduled_before(function, named, "the module", lambda: None)
    return chooser.schedule(function)


def _read(function: Operation) -> object:
    from .loops.schedule import Schedule  # rarely needed, and it imports all primitives

    return Schedule(function)


def _steps(journal: Journal, callers: Callers, context: ScheduleContext) -> list[str]:
    """Return the schedule steps of a PrimFunc, or the reason for none, which may be noted before."""
    from .schedule.plan_steps import chosen_steps  # rarely needed, and it imports all primitives

    assert journal.steps is not None
    known = journal.steps.get(symbol_name(callers.function), ())
    return chosen_steps(callers.function, context, callers.constants(), known)


# ---- schedules that a PrimFunc names itself: transform.named_sequence operations of the module ----

_SEQUENCE = "transform.named_sequence"


def _apply_named_schedule(module: Operation, function: Operation) -> None:
    """Run the sequence that the function's attribute names on the function. Raises RelaxError if the sequence fails."""
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


def _drop_named_schedules(module: Operation, functions: Iterable[Operation]) -> None:
    """Erase the sequences that these functions named. They have run, and no code can be generated for them."""
    named = [function for function in functions if SCHEDULE in function.attributes and schedule_lines(function) is None]
    sequences = dict.fromkeys(_find(module, function) for function in named)
    for function in named:
        del function.attributes[SCHEDULE]
    for sequence in sequences:
        sequence.erase()


def _find(module: Operation, function: Operation) -> Operation:
    symbol = function.attributes[SCHEDULE]
    names = list(ir.SymbolRefAttr(symbol).value) if isinstance(symbol, ir.SymbolRefAttr) else [symbol.value]
    scope = module
    for name in names:
        if not (ops := [op for op in operations_of(body_of(scope)) if symbol_name(op) == name]):
            raise located_error(f"schedule {symbol} is not in the module", function.location)
        scope = ops[0]
    if scope.name != _SEQUENCE:
        raise located_error(f"schedule {symbol} is a '{scope.name}', expected a '{_SEQUENCE}'", function.location)
    return scope


def _takes_one_operation(sequence: Operation) -> bool:
    if not has_body(sequence):
        return False
    type_ = function_type_of(sequence)
    return len(type_.inputs) == 1 and not len(type_.results) and str(type_.inputs[0]).startswith("!transform.")
