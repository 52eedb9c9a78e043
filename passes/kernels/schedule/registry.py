# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Registry of schedules by operator pattern and target, and of plan rules by target, in the order of trial.

    @register_schedule("comm_reduce", target="llvm")
    def reduction(function, context):
        ...gives the PrimFunc's operations plans, or rewrites it in place, or `return context.decline("reason")`: then
        the next one is tried.

    @register_schedule(operator="relax.nn.conv2d", target="llvm")
    def conv2d(function, context):
        sch = context.schedule(function)
        ...
        return sch

A PrimFunc that all schedules decline stays as it is, and becomes plain loops. Most schedules let rules choose a plan
for each operation:

    @register_plan(target="llvm")
    def plan_reduction(op: StructuredOp, machine: Machine) -> Plan:
        if not op.reductions:
            raise Decline("it reduces nothing")
        ...

A target can also define how its choices are expressed as schedule steps:

    @register_steps(target="c")
    def steps_of_loops(function: Operation, context: ScheduleContext) -> LoopSchedule:
        ...a schedule of the PrimFunc, which is a copy or has been read already, or raises Decline with a description of
        the code that no steps express
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ....bindings.ir import Operation
from ....bindings.navigation import function_type_of, symbol_name, text_in
from ....bindings.rewriting import Decline
from ....dialects.core.codec import decode
from ....dialects.core.facts import OpPattern
from ....dialects.core.infos import TensorInfo
from ....dialects.core.ir_attributes import MAIN_OPERATOR, OPERATOR
from ....dialects.tir.prim_func import op_pattern
from ....emit.structured import StructuredOp
from ....support.argument_types import types_checked
from ....support.errors import RelaxError
from ....support.registry import Registry
from ....targets.core.backend import ChosenTarget
from ....targets.core.code import find_backend
from ....targets.core.machine import Machine
from ....targets.core.registry import all_targets, find_target, load_schedules, schedules_chain
from .plan import Plan

if TYPE_CHECKING:
    from ..loops.bufferized import Scratch
    from ..loops.decisions import Decider, Taken
    from ..loops.schedule import Schedule as LoopSchedule
    from ..structures.structure import Structure

ScheduleFunction = Callable[[Operation, "ScheduleContext"], object]
Function = TypeVar("Function", bound=ScheduleFunction)


@dataclass
class DecidedRule:
    """Rule that a search runs with decisions of its choice. Other rules take their defaults."""

    #: Name of the rule's function.
    name: str = ""
    #: Decisions, in the order of the schedule's steps. None: the defaults.
    wanted: tuple[Taken, ...] | None = None
    #: Name of the rule that runs, and the decisions of its last schedule.
    running: str = ""
    decider: Decider | None = None
    #: Why the rule of the search declines.
    reason: str = ""

    def start(self, name: str) -> None:
        """Note that a rule begins."""
        self.running, self.decider = name, None


#: Rule of the search that runs in this context.
DECIDED: ContextVar[DecidedRule | None] = ContextVar("DECIDED", default=None)
#: True where only this project's rules choose schedules and plans, for a comparison with others' rules.
_ONLY_OWN: ContextVar[bool] = ContextVar("_ONLY_OWN", default=False)


@contextmanager
def only_own_rules() -> Iterator[None]:
    """Leave out the schedules and plan rules of other packages and of users."""
    token = _ONLY_OWN.set(True)
    try:
        yield
    finally:
        _ONLY_OWN.reset(token)


def _is_own(function: Callable[..., object]) -> bool:
    return function.__module__.partition(".")[0] == __name__.partition(".")[0]


@dataclass(frozen=True)
class ScheduleContext:
    """Arguments of a schedule in addition to the function."""

    #: Target of the compilation. The running schedule may belong to a parent of this target.
    target: str
    #: Target with the machine that runs the code, and the target's options.
    chosen: ChosenTarget
    #: Copy of the PrimFunc that has been read already, if any.
    scratch: Scratch | None = None

    @functools.cached_property
    def machine(self) -> Machine:
        """Return the processor that runs the code."""
        return find_backend(self.chosen.name).machine(self.chosen)

    def schedule(self, function: Operation) -> LoopSchedule:
        """Return a new schedule of the function's loops, which the rule changes step by step and returns.

        Its `sch.sample_...` give their defaults, or the decisions of a search.
        """
        from ..loops.decisions import Decider
        from ..loops.schedule import Schedule as LoopSchedule  # lazy: rarely needed, and imports all primitives

        made, searched, decider = LoopSchedule(function), DECIDED.get(), Decider()
        if searched is not None:
            decider.wanted = searched.wanted if searched.name == searched.running else None
            searched.decider = decider
        made.decide_by(decider)
        if self.scratch is not None:
            made.start_from(symbol_name(function), self.scratch)
        return made

    def tensorized(
        self, function: Operation, *intrinsics: str, stages: int = 0, runs: Sequence[int] = ()
    ) -> LoopSchedule | Decline:
        """Return a schedule in which intrinsics compute all blocks that they fit (`sch.auto_tensorize`).

        A rule returns the schedule. If no intrinsic is named, all are tried. Declines if none fits.
        """
        schedule = self.schedule(function)
        refused: list[str] = []
        blocks = [block.name for tree in schedule.trees() for block in tree.blocks()]
        for block in blocks:
            try:
                schedule.auto_tensorize(block, *intrinsics, stages=stages, runs=runs)
            except RelaxError as error:
                refused.append("; ".join([error.message, *error.notes]))
        return self.decline(" and ".join(refused)) if len(refused) == len(blocks) else schedule

    def decline(self, reason: str) -> Decline:
        """Return a Decline with a reason: `return context.decline("only ...")`.

        Decline before any change. The next schedule is tried then.
        """
        return Decline(reason)


class Schedule(NamedTuple):
    """Schedule for the PrimFuncs of a subject and a target. `place` is where the function is defined."""

    #: Operator pattern, operator name, or structure name with @.
    subject: str
    target: str
    function: ScheduleFunction
    place: str
    structure: Structure | None = None

    @property
    def label(self) -> str:
        return f"{self.function.__name__} for {self.target} ({self.place})"

    @property
    def shown(self) -> str:
        """Return a description of the PrimFuncs that the schedule is for."""
        kind = "structure" if self.structure else "operator" if "." in self.subject else "pattern"
        return f"{kind} '{self.subject}'"

    @property
    def is_own(self) -> bool:
        """Return True if the schedule is this project's. Schedules of others are tried first."""
        return _is_own(self.function)


_SCHEDULES = Registry[Schedule](
    lambda schedule: (schedule.subject, schedule.target),
    lambda new, taken: f"{new.shown} already has a schedule for target '{new.target}': {taken.place}",
    clash=lambda new, taken: new.is_own == taken.is_own,
)


@types_checked
def register_schedule(
    pattern: str | OpPattern | Sequence[str | OpPattern] = (),
    target: str = "default",
    *,
    operator: str = "",
    structure: Structure | None = None,
) -> Callable[[Function], Function]:
    """Register a function as a schedule; use as a decorator.

    The schedule is for operator patterns, for one operator ("relax.matmul") with its fused operators, or for PrimFuncs
    that compute a structure. A target tries schedules for structures first, then schedules for operators, then
    schedules for patterns. Schedules of this project come last. Refuses unknown patterns and targets, and a second
    schedule for the same pair.
    """
    names = _pattern_names(pattern) + [operator] * bool(operator)
    if structure is not None:
        names.append(f"@{structure.name}")
    if operator and "." not in operator:
        raise RelaxError(f"'{operator}' is no full name of an operator, such as 'relax.matmul'")
    if not names:
        raise RelaxError("expected an operator pattern, an operator or a structure for a schedule")

    def schedules(function: Function, place: str) -> list[Schedule]:
        find_target(target)
        return [Schedule(name, target, function, place, structure if name[0] == "@" else None) for name in names]

    return _SCHEDULES.registering(schedules)


def _pattern_names(pattern: str | OpPattern | Sequence[str | OpPattern]) -> list[str]:
    patterns = [pattern] if isinstance(pattern, (str, OpPattern)) else list(pattern)
    return [(OpPattern.parse(each) if isinstance(each, str) else each).attribute_text for each in patterns]


def schedules_for(pattern: OpPattern, target: str) -> list[Schedule]:
    """Return the schedules to try for a pattern on a target, the target's own first, the default's last."""
    chain = schedules_chain(target)
    load_schedules(chain)
    found = [_SCHEDULES.tried(pattern.attribute_text, [(step.name,)]) for step in chain]
    return [schedule for schedules in found for schedule in sorted(schedules, key=lambda each: each.is_own)]


def all_schedules(target: str | None = None) -> list[Schedule]:
    """Return all schedules, sorted by subject.

    With a target, return the schedules that it tries, in their order for each subject.
    """
    if target is None:
        load_schedules(all_targets())
        return _SCHEDULES.all()
    chain = schedules_chain(target)
    load_schedules(chain)
    found = (_SCHEDULES.tried(subject, [(step.name,)]) for subject in sorted(_SCHEDULES.entries) for step in chain)
    return [schedule for schedules in found for schedule in sorted(schedules, key=lambda each: each.is_own)]


def schedules_of(function: Operation, target: str) -> Iterator[Schedule]:
    """Yield the schedules to try for a PrimFunc."""
    found = _schedules_of(function, target)
    return (each for each in found if each.is_own) if _ONLY_OWN.get() else found


def _schedules_of(function: Operation, target: str) -> Iterator[Schedule]:
    pattern = op_pattern(function)
    of_pattern = schedules_for(OpPattern.OPAQUE if pattern is None else pattern, target)
    operator = text_in(function, MAIN_OPERATOR, text_in(function, OPERATOR))
    for step in schedules_chain(target):
        sort = [(step.name,)]
        yield from (structure for structure in _of_structures(sort) if _has_structure(function, structure.structure))
        yield from _SCHEDULES.tried(operator, sort) if operator else ()
        yield from (schedule for schedule in of_pattern if schedule.target == step.name)


def _of_structures(sort: Sequence[tuple[str]]) -> list[Schedule]:
    names = [name for name in list(_SCHEDULES.entries) if name.startswith("@")]
    return [schedule for name in names for schedule in _SCHEDULES.tried(name, sort)]


def _has_structure(function: Operation, structure: Structure | None) -> bool:
    """Return True if a PrimFunc computes a structure, on tensors with the structure's sizes."""
    from ..structures.prim_funcs import KnownPrimFunc

    found = KnownPrimFunc(function).canonical
    if structure is None or isinstance(found, str) or found.key != structure.key:
        return False
    infos = [decode(type_) for type_ in (*function_type_of(function).inputs,)]
    shapes = [info.shape if isinstance(info, TensorInfo) else None for info in infos]
    return not isinstance(structure.bindings(found, shapes), str)


# ---- plans ----

#: Function that returns the plan of an operation, after adjacent loops are joined where possible. Raises Decline with
#: the reason.
PlanFunction = Callable[[StructuredOp, Machine], Plan]


class PlanRule(NamedTuple):
    """Plan rule. `name` is the function's name without `plan_`, `place` is where the function is defined."""

    target: str
    name: str
    function: PlanFunction
    place: str


_PLAN_RULES = Registry[PlanRule](
    lambda rule: (rule.target, rule.name),
    lambda rule, taken: f"target '{rule.target}' already has a plan rule '{rule.name}': {taken.place}",
)


@types_checked
def register_plan(target: str = "default") -> Callable[[PlanFunction], PlanFunction]:
    """Register a function as a plan rule of a target; use as a decorator. Refuses a second rule of the same name."""

    find_target(target)
    return _PLAN_RULES.registering(
        lambda function, place: [PlanRule(target, function.__name__.removeprefix("plan_"), function, place)]
    )


def all_plan_rules() -> list[PlanRule]:
    """Return all plan rules, sorted by target and name."""
    load_schedules(all_targets())
    return _PLAN_RULES.all()


def plan_rules(target: str) -> list[PlanRule]:
    """Return the rules to try for a target, its own first."""
    chain = schedules_chain(target)
    load_schedules(chain)
    of_steps = (list(_PLAN_RULES.entries.get(step.name, {}).values()) for step in chain)
    found = [rule for entries in of_steps for rules in entries for rule in rules]
    return [rule for rule in found if _is_own(rule.function)] if _ONLY_OWN.get() else found


def has_rules_of_others(target: str) -> bool:
    """Check whether another package or a user has registered a schedule or a plan rule that a target tries."""
    rules = plan_rules(target)
    return not (
        all(_is_own(rule.function) for rule in rules)
        and all(all_schedule.is_own for all_schedule in all_schedules(target))
    )


# ---- steps ----

#: Function that returns a schedule equivalent to a target's kernels. Raises Decline if steps cannot express it.
StepsFunction = Callable[[Operation, ScheduleContext], "LoopSchedule"]


class StepsRule(NamedTuple):
    """Rule that expresses a target's choices as steps, or declines with a description. `place` is its location."""

    target: str
    function: StepsFunction
    place: str

    @property
    def subject(self) -> str:
        """Return the subject for lists of schedules."""
        return "steps, or the reason for none"


_STEPS_RULES = Registry[StepsRule](
    lambda rule: (rule.target,),
    lambda rule, taken: f"target '{rule.target}' already has a rule for steps: {taken.place}",
)


@types_checked
def register_steps(target: str = "default") -> Callable[[StepsFunction], StepsFunction]:
    """Register a function that expresses a target's choices as steps; use as a decorator. Refuses a second one."""
    find_target(target)
    return _STEPS_RULES.registering(lambda function, place: [StepsRule(target, function, place)])


def steps_rules(target: str | None = None) -> list[StepsRule]:
    """Return all steps rules, sorted by target.

    With a target, return the rules of the target and its parents; the first rule is used.
    """
    chain = all_targets() if target is None else schedules_chain(target)
    load_schedules(chain)
    return [rule for step in chain for rule in _STEPS_RULES.tried(step.name)]
