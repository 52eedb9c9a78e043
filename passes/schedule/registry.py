# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules by operator pattern and target, rules that choose plans by target, the order in which they are tried.

    @register_schedule("comm_reduce", target="llvm")
    def reduction(function, context):
        ...gives the PrimFunc's operations plans, or rewrites it in place, or `return context.decline("reason")`: then
        the next one is tried.

    @register_schedule(operator="relax.nn.conv2d", target="llvm")
    def conv2d(function, context):
        sch = context.schedule(function)
        ...
        return sch

What no schedule takes stays as it is and becomes plain loops. Most let rules choose a plan for each operation:

    @register_plan(target="llvm")
    def plan_reduction(op: StructuredOp, machine: Machine) -> Plan:
        if not op.reductions:
            raise Decline("it reduces nothing")
        ...

How the loops that a target chooses are told as steps is the target's to say, too:

    @register_steps(target="gpu")
    def steps_of_kernels(function: Operation, context: ScheduleContext) -> LoopSchedule:
        ...a schedule of the PrimFunc, which is a copy or has been read already, or raises Decline
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...bindings.ir import Operation
from ...bindings.navigation import function_type_of, symbol_name, text_in
from ...bindings.rewriting import Decline
from ...dialects.core.codec import decode
from ...dialects.core.facts import OpPattern
from ...dialects.core.infos import TensorInfo
from ...dialects.core.ir_attributes import MAIN_OPERATOR, OPERATOR
from ...dialects.tir.prim_func import op_pattern
from ...emit.structured import StructuredOp
from ...support.argument_types import types_checked
from ...support.errors import RelaxError
from ...support.registry import Registry
from ...targets.core.backend import ChosenTarget, Machine
from ...targets.core.code import find_backend
from ...targets.core.registry import all_targets, find_target, load_schedules, schedules_chain
from .plan import Plan

if TYPE_CHECKING:
    from ..loops.bufferized import Scratch
    from ..loops.schedule import Schedule as LoopSchedule
    from ..structures.structure import Structure

ScheduleFunction = Callable[[Operation, "ScheduleContext"], object]
Function = TypeVar("Function", bound=ScheduleFunction)


@dataclass(frozen=True)
class ScheduleContext:
    """What a schedule is given in addition to the function."""

    #: The target that is compiled for; a schedule of one of its parents may be running.
    target: str
    #: The target whose machine runs the code, with its options.
    chosen: ChosenTarget
    #: The PrimFunc as it was read, where that has been done.
    scratch: Scratch | None = None

    @functools.cached_property
    def machine(self) -> Machine:
        """The processor that the code is for."""
        return find_backend(self.chosen.name).machine(self.chosen)

    def schedule(self, function: Operation) -> LoopSchedule:
        """What the function's loops are to become, step by step: a rule returns it."""
        from ..loops.schedule import Schedule as LoopSchedule  # seldom needed, and all primitives with it

        made = LoopSchedule(function)
        if self.scratch is not None:
            made.start_from(symbol_name(function), self.scratch)
        return made

    def tensorized(
        self, function: Operation, *intrinsics: str, stages: int = 0, runs: Sequence[int] = ()
    ) -> LoopSchedule | Decline:
        """A schedule in which intrinsics compute all blocks that one of them fits, all intrinsics where none is named
        (`sch.auto_tensorize`): a rule returns it. It declines where none fits."""
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
        """`return context.decline("only ...")`, before anything is changed: the next schedule is tried."""
        return Decline(reason)


class Schedule(NamedTuple):
    """How PrimFuncs of a subject are scheduled for a target. `place` says where that is written."""

    #: An operator pattern, the name of an operator, or of a structure with @.
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
        """Whether it is this project's: those of others come first."""
        return self.function.__module__.partition(".")[0] == __name__.partition(".")[0]


_SCHEDULES = Registry[Schedule](
    lambda schedule: (schedule.subject, schedule.target),
    lambda new, taken: f"{new.shown} has a schedule for target '{new.target}' already: {taken.place}",
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
    """Registers a function as the schedule of an operator pattern (or several), of one operator ("relax.matmul": what
    it and those fused with it become), or of PrimFuncs that compute a structure; use it as a decorator.

    For a target a structure's comes first, then an operator's, a pattern's, and this project's own last. Refuses
    unknown patterns and targets, and a second schedule for the same pair.
    """
    names = _pattern_names(pattern) + [operator] * bool(operator)
    if structure is not None:
        names.append(f"@{structure.name}")
    if operator and "." not in operator:
        raise RelaxError(f"'{operator}' is no operator's full name, like 'relax.matmul'")
    if not names:
        raise RelaxError("a schedule is for an operator pattern, an operator or a structure: name one")

    def schedules(function: Function, place: str) -> list[Schedule]:
        find_target(target)
        return [Schedule(name, target, function, place, structure if name[0] == "@" else None) for name in names]

    return _SCHEDULES.registering(schedules)


def _pattern_names(pattern: str | OpPattern | Sequence[str | OpPattern]) -> list[str]:
    patterns = [pattern] if isinstance(pattern, (str, OpPattern)) else list(pattern)
    return [(OpPattern.parse(each) if isinstance(each, str) else each).attribute_text for each in patterns]


def schedules_for(pattern: OpPattern, target: str) -> list[Schedule]:
    """The schedules to try for a pattern on a target, the target's own first, the default's last."""
    chain = schedules_chain(target)
    load_schedules(chain)
    found = [_SCHEDULES.tried(pattern.attribute_text, [(step.name,)]) for step in chain]
    return [schedule for schedules in found for schedule in sorted(schedules, key=lambda each: each.is_own)]


def all_schedules(target: str | None = None) -> list[Schedule]:
    """Every schedule, sorted by what it is for; with a target those that it tries, in their order for each subject."""
    if target is None:
        load_schedules(all_targets())
        return _SCHEDULES.all()
    chain = schedules_chain(target)
    load_schedules(chain)
    found = (_SCHEDULES.tried(subject, [(step.name,)]) for subject in sorted(_SCHEDULES.entries) for step in chain)
    return [schedule for schedules in found for schedule in sorted(schedules, key=lambda each: each.is_own)]


def schedules_of(function: Operation, target: str) -> Iterator[Schedule]:
    """The schedules to try for a PrimFunc."""
    pattern = op_pattern(function)
    of_pattern = schedules_for(OpPattern.OPAQUE if pattern is None else pattern, target)
    operator = text_in(function, MAIN_OPERATOR, text_in(function, OPERATOR))
    for step in schedules_chain(target):
        sort = [(step.name,)]
        yield from (each for each in _of_structures(sort) if _has_structure(function, each.structure))
        yield from _SCHEDULES.tried(operator, sort) if operator else ()
        yield from (schedule for schedule in of_pattern if schedule.target == step.name)


def _of_structures(sort: Sequence[tuple[str]]) -> list[Schedule]:
    names = [name for name in list(_SCHEDULES.entries) if name.startswith("@")]
    return [schedule for name in names for schedule in _SCHEDULES.tried(name, sort)]


def _has_structure(function: Operation, structure: Structure | None) -> bool:
    """Whether a PrimFunc computes what a structure states, of tensors of its sizes."""
    from ..structures.prim_funcs import KnownPrimFunc

    found = KnownPrimFunc(function).canonical
    if structure is None or isinstance(found, str) or found.key != structure.key:
        return False
    infos = [decode(type_) for type_ in (*function_type_of(function).inputs,)]
    shapes = [info.shape if isinstance(info, TensorInfo) else None for info in infos]
    return not isinstance(structure.bindings(found, shapes), str)


# ---- plans ----

#: Gives the plan of an operation, whose loops are joined where they can be, or raises Decline with the reason.
PlanFunction = Callable[[StructuredOp, Machine], Plan]


class PlanRule(NamedTuple):
    """A rule; its name is the function's without `plan_`, `place` says where that is written."""

    target: str
    name: str
    function: PlanFunction
    place: str


_PLAN_RULES = Registry[PlanRule](
    lambda rule: (rule.target, rule.name),
    lambda rule, taken: f"target '{rule.target}' has a plan rule '{rule.name}' already: {taken.place}",
)


@types_checked
def register_plan(target: str = "default") -> Callable[[PlanFunction], PlanFunction]:
    """Registers a function as a rule of a target; use it as a decorator. Refuses a second one of the same name."""

    find_target(target)
    return _PLAN_RULES.registering(
        lambda function, place: [PlanRule(target, function.__name__.removeprefix("plan_"), function, place)]
    )


def all_plan_rules() -> list[PlanRule]:
    """Every rule, sorted by target and name."""
    load_schedules(all_targets())
    return _PLAN_RULES.all()


def plan_rules(target: str) -> list[PlanRule]:
    """The rules to try for a target, its own first."""
    chain = schedules_chain(target)
    load_schedules(chain)
    return [rule for step in chain for rules in list(_PLAN_RULES.entries.get(step.name, {}).values()) for rule in rules]


# ---- steps ----

#: Gives the schedule that does what a target has kernels do, or raises Decline with the reason where no steps say it.
StepsFunction = Callable[[Operation, ScheduleContext], "LoopSchedule"]


class StepsRule(NamedTuple):
    """How a target's choices are told. `place` says where that is written."""

    target: str
    function: StepsFunction
    place: str

    @property
    def subject(self) -> str:
        """As lists of schedules have it."""
        return "as steps"


_STEPS_RULES = Registry[StepsRule](
    lambda rule: (rule.target,),
    lambda rule, taken: f"target '{rule.target}' tells its choices as steps already: {taken.place}",
)


@types_checked
def register_steps(target: str = "default") -> Callable[[StepsFunction], StepsFunction]:
    """Registers a function as what tells a target's choices as steps; use it as a decorator. Refuses a second one."""
    find_target(target)
    return _STEPS_RULES.registering(lambda function, place: [StepsRule(target, function, place)])


def steps_rules(target: str | None = None) -> list[StepsRule]:
    """Every one, sorted by target; with a target those of it and its parents, the first of which tells."""
    chain = all_targets() if target is None else schedules_chain(target)
    load_schedules(chain)
    return [rule for step in chain for rule in _STEPS_RULES.tried(step.name)]
