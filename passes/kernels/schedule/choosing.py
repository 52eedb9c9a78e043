# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choice of the rule that schedules a PrimFunc: rules are tried in order until one does not decline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ....bindings.ir import Operation
from ....bindings.mlir import string_value
from ....bindings.navigation import symbol_name, text_in
from ....bindings.rewriting import Decline, blaming_at
from ....dialects.core.ir_attributes import OPERATOR, TIR_TARGET
from ....emit.structured import structured_ops
from ...core.facts import ScheduleFact
from ...core.journal import Journal
from .constant_arguments import Callers, callers_in
from .plan import plan_of
from .registry import DECIDED, Schedule, ScheduleContext, schedules_of
from .unused import Reason, has_rules, unused_intrinsics, unused_rules, used_intrinsics

_HAS_PLANS = Decline("the kernel has the plans of a tuned file")


@dataclass
class Chooser:
    """Scheduling of a module's PrimFuncs, with its record in the journal."""

    module: Operation
    context: ScheduleContext
    #: True if the generated code has kernels, and vectors.
    has_threads: bool
    has_vectors: bool
    journal: Journal | None

    @cached_property
    def callers(self) -> Mapping[str, Callers]:
        """Return the calls of each PrimFunc."""
        return callers_in(self.module)

    def schedule(self, function: Operation) -> ScheduleFact:
        """Schedule a PrimFunc by the first rule that accepts it.

        If all rules decline, the PrimFunc becomes plain loops.
        """
        context = self._context(function)
        explains = self._explains(context)
        reasons = unused_intrinsics(function, context) if explains else []
        declined: list[dict[str, str]] = []
        tried: list[Schedule] = []
        taken, outcome = None, None
        asked = list(schedules_of(function, context.target)) if explains else schedules_of(function, context.target)
        for rule in asked:
            # A rule of others makes loops without regard to plans.
            outcome = _HAS_PLANS if not rule.is_own and _has_plans(function) else self._outcome(rule, function, context)
            if not isinstance(outcome, Decline):
                taken = rule
                break
            tried.append(rule)
            declined.append({"schedule": rule.label, "reason": outcome.reason})
            searched = DECIDED.get()
            if searched is not None and searched.name == rule.function.__name__:
                searched.reason = outcome.reason
        made = (taken.function.__name__, taken.place) if taken is not None else ("", "")
        fact = ScheduleFact(symbol_name(function), *made, declined, operator=text_in(function, OPERATOR))
        if explains:
            fact.intrinsics = used_intrinsics(outcome)
            others: list[Reason] = [reason for reason in reasons if reason["name"] not in fact.intrinsics]
            fact.unused = [*unused_rules(context, taken, tried, asked), *others]
        return fact

    def scheduled_before(
        self, function: Operation, schedule: str, place: str, outcome: Callable[[], object]
    ) -> ScheduleFact:
        """Return the fact of a PrimFunc that has a schedule of its own; `outcome` returns this schedule."""
        fact = ScheduleFact(symbol_name(function), schedule, place, operator=text_in(function, OPERATOR))
        context = self._context(function)
        if self._explains(context):
            fact.intrinsics = used_intrinsics(outcome())
            fact.unused = unused_rules(context, None, [], schedules_of(function, context.target))
        return fact

    def _context(self, function: Operation) -> ScheduleContext:
        if TIR_TARGET not in function.attributes:
            return self.context
        return replace(self.context, target=string_value(function.attributes[TIR_TARGET]))

    def _explains(self, context: ScheduleContext) -> bool:
        return self.journal is not None and self.journal.explains_schedules and has_rules(context)

    def _outcome(self, rule: Schedule, function: Operation, context: ScheduleContext) -> object:
        """Return the result of a rule, or a Decline.

        The rule declines, or a function that emits the schedule's code does.
        """
        name, searched = symbol_name(function), DECIDED.get()
        if searched is not None:
            searched.start(rule.function.__name__)
        try:
            with blaming_at(f"schedule '{rule.function.__name__}' of @{name}", rule.function, function, Decline):
                outcome = rule.function(function, context)
        except Decline as decline:
            return decline
        if outcome is None or isinstance(outcome, Decline):
            return outcome
        from ..loops.schedule import Schedule as LoopSchedule  # lazy: rarely needed, and imports all primitives

        if not isinstance(outcome, LoopSchedule):
            return outcome
        from ..loops.apply_schedule import declined, writer_of

        writer = writer_of(has_threads=self.has_threads, has_vectors=self.has_vectors)
        refused = declined(outcome, name, writer, lambda: self.callers[name].constants())
        if refused is not None:
            return refused
        outcome.write()
        return outcome


def _has_plans(function: Operation) -> bool:
    """Return True if an operation of a PrimFunc has a plan."""
    return any(plan_of(op) is not None for op in structured_ops(function, named=True))
