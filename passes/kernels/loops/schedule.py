# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Schedules: transformation of the loops of PrimFuncs, step by step, with the primitives of `tvm.tir.Schedule`.

    sch = rx.Schedule(module)
    C = sch.get_block("C")
    i, j, k = sch.get_loops(C)
    i_0, i_1 = sch.split(i, factors=[None, 6])
    sch.reorder(i_0, j, k, i_1)
    rx.compile(sch.mod)

The PrimFunc stores its steps as text in the attribute `tir.schedule`. The pass tir-apply-schedule applies them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any

from ....bindings.rewriting import blaming_at, located_error
from ....dialects.tir.prim_func import schedule_lines, set_schedule_lines
from ....support.argument_types import types_checked
from ....support.errors import RelaxError
from ....support.suggest import suggest
from .auto_tensorize import AutoTensorize
from .bufferized import Scratch
from .decisions import Decider
from .handles import BlockRV, Sampled
from .intrins import INTRIN, TENSORIZED, Mismatch, find_intrin, operands_of
from .primitives import Edit, Primitive, Refused, find_primitive, has_primitive, hint_for, primitive_names
from .rolling import check_rolling
from .scheduled_functions import ScheduledFunctions
from .show import show_tree
from .size import MOST_OPERATIONS, Sizes, check_size
from .step_arguments import bind_arguments, plain_numbers, plain_options, text_of_step
from .trace import (
    Handle,
    Name,
    Request,
    Trace,
    TraceStep,
    alive_steps,
    function_of,
    handles_in,
    lines_of,
    read_requests,
)
from .tree import Tree
from .tree_reader import Read

#: Aliases of primitives: TVM's names since it calls blocks s-blocks.
ALSO = {"get_sblock": "get_block"}


class Schedule(AutoTensorize):
    """Schedule of a module's PrimFuncs, or of one PrimFunc.

    Each primitive is a method: `help(sch.split)`, `dir(sch)`.
    """

    @types_checked
    def __init__(self, module: object, trace: str | None = None, seed: int | None = None):
        """Create a schedule of a copy of a module, which is `mod`, or of one PrimFunc in place.

        The schedule continues the steps that the PrimFuncs have, and then does the steps of `trace`. With a seed,
        `sch.sample_...` draws the same numbers each time.
        """
        if not hasattr(module, "operation"):
            raise RelaxError(
                f"expected a Module or a PrimFunc for a schedule, got {type(module).__name__} {module!r:.60}"
            )
        self._module = module = module.copy() if hasattr(module, "copy") else module
        self._functions = ScheduledFunctions(module)
        self._steps: list[TraceStep] = []
        #: Handles that the steps have returned.
        self._handles: set[Handle] = set()
        #: Removed loops and blocks of each function, with the step that removed them.
        self._gone: dict[str, dict[str, str]] = {}
        self._most_operations, self._sizes = MOST_OPERATIONS, Sizes()
        self._random = Random(seed)
        self._decider: Decider | None = None
        self._drawn = 0
        #: The PrimFunc of steps without handles, if the module has several.
        self._working = ""
        for name, function in self._functions.operations.items():
            if (lines := schedule_lines(function)) is not None:
                self._go_on(lines, name)
        if trace is not None:
            self.replay(trace)

    # ---- results ----

    @property
    def mod(self) -> Any:
        """Return the module, with the steps stored in each PrimFunc."""
        self.write()
        return self._module

    def write(self) -> None:
        """Store the steps in the PrimFuncs' `tir.schedule` attributes."""
        for name, function in self._functions.operations.items():
            steps = [step for step in self._steps if function_of(step) == name]
            if any(not step.primitive.startswith("get_") for step in steps):
                alive = alive_steps(steps, self._functions.scratch(name).read.tree)
                if alive:
                    set_schedule_lines(function, lines_of(alive))

    @property
    def trace(self) -> Trace:
        """Return all steps as text that `replay` and `tir-apply-schedule` accept."""
        return Trace("\n".join(lines_of(self._steps)) + "\n")

    @types_checked
    def show(self, function: str | None = None) -> str:
        """Return the current loops as TVMScript."""
        names = [function] if function is not None else list(self._functions.trees) or list(self._functions)[:1]
        return "\n".join(show_tree(self._functions.tree(name)) for name in names)

    def trees(self) -> list[Tree]:
        """Return the current tree of each PrimFunc that can be scheduled, in the module's order."""
        return [self._functions.tree(name) for name in self._functions if self._functions.block_names(name)]

    def __repr__(self) -> str:
        steps = sum(not line.startswith("#") for line in lines_of(self._steps))
        return f"<schedule of {', '.join(self._functions)}: {steps} step{'' if steps == 1 else 's'}>"

    def __str__(self) -> str:
        return self.show()

    @types_checked
    def replay(self, trace: str) -> None:
        """Do the steps of a text.

        Raises RelaxError, which names the line; then the text's earlier steps are undone, too.
        """
        self._replay(trace.splitlines(), None)

    def _go_on(self, lines: Sequence[str], function: str) -> None:
        """Continue with the steps of a PrimFunc. Errors are located at the PrimFunc."""
        working, self._working = self._working, function
        self._most_operations = 4 * MOST_OPERATIONS  # functions like sin may have become many operations
        try:
            self._replay(lines, function)
        except RelaxError as error:
            if error.location:
                raise
            raise located_error(error.message, self._functions.operations[function].location, error.notes) from None
        finally:
            self._most_operations, self._sizes = MOST_OPERATIONS, Sizes()
            self._working = working

    def _replay(self, lines: Sequence[str], function: str | None) -> None:
        with self._undone_if_refused():
            known: dict[str, Any] = {}
            for request in read_requests(lines):
                self._repeat(request, known, function)

    @contextmanager
    def _undone_if_refused(self) -> Iterator[None]:
        gone = {name: dict(value) for name, value in self._gone.items()}
        kept = dict(self._functions.trees), list(self._steps), set(self._handles), gone
        try:
            yield
        except BaseException:
            self._functions.trees, self._steps, self._handles, self._gone = kept
            raise

    def _repeat(self, request: Request, known: dict[str, Any], function: str | None) -> None:
        where = f"line {request.line} of the schedule, '{request.text}'"

        def handle(value: object) -> Any:
            if isinstance(value, Name):
                if value.text not in known:
                    raise RelaxError(f"{where}: no line before it gives '{value.text}'{suggest(value.text, known)}")
                return known[value.text]
            if isinstance(value, (list, tuple)) and not isinstance(value, Name):
                return type(value)(map(handle, value))
            return value

        arguments = [handle(argument) for argument in request.arguments]
        options = {name: handle(option) for name, option in request.options.items()}
        if function is not None and request.primitive == "get_block":
            options["func_name"] = function
        try:
            made = self._do(find_primitive(request.primitive), arguments, options)
        except RelaxError as error:
            located = [
                diagnostic._replace(message=f"{where}: {diagnostic.message}") for diagnostic in error.diagnostics[:1]
            ]
            message = f"{where}: {error.message}"
            raise RelaxError(message, location=error.location, notes=error.notes, diagnostics=located) from None
        results = made if isinstance(made, list) else [] if made is None else [made]
        if len(results) != len(request.names) and request.names:
            raise RelaxError(
                f"{where}: it gives {len(results)} handles for {len(request.names)} names: the schedule was made for "
                "other loops"
            )
        known.update(zip(request.names, results, strict=False))

    # ---- steps ----

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        name = ALSO.get(name, name)
        if not has_primitive(name):
            known = ", ".join(primitive_names())
            raise AttributeError(f"a schedule has no '{name}'{hint_for(name)} (it has {known})")
        primitive = find_primitive(name)
        method: Any = partial(_called, self, primitive)
        method.__doc__ = primitive.function.__doc__
        method.__name__ = name
        method.__signature__ = primitive.signature
        return method

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *primitive_names()})

    def _do(self, primitive: Primitive, arguments: Sequence[object], options: dict[str, object]) -> Any:
        bound = bind_arguments(self._functions, primitive, arguments, options)
        shown = text_of_step(primitive, bound)
        function = self._chosen(primitive, bound, shown)
        tree = self._functions.tree(function)
        edit = Edit(tree, self._gone.setdefault(function, {}), self._random, self._decider)
        try:
            made = self._changed(primitive, edit, bound, shown)
            if edit.tree is not tree:
                check_size(edit, tree, self._most_operations, self._sizes)
                check_rolling(edit)
        except Refused as refusal:
            edit.tree = tree
            at = edit.shown(refusal.name).split("\n")
            shown_loops = "the loops as they stand:\n" + "\n".join(f"    {line}" for line in at)
            raise located_error(
                f"{shown}: {refusal.reason}", self._functions.operations[function].location, [shown_loops]
            ) from None
        if edit.tree is not tree:
            self._check_tensorized(function, edit, shown)
            self._functions.trees[function] = edit.tree
            for name in tree.names - edit.tree.names:
                self._gone[function][name] = f"{shown} removed it"
        made = self._sampled(made, function)
        if edit.decision is not None:
            bound.arguments["decision"] = edit.decision
        results = tuple(made) if isinstance(made, (list, tuple)) else (made,) if made is not None else ()
        plain = plain_options(primitive, bound, function if len(self._functions) > 1 else None)
        self._steps += self._named(bound)
        self._steps.append(TraceStep(primitive.name, *plain, results, not isinstance(made, (list, tuple))))
        self._handles.update(results)
        return made

    def _sampled(self, made: Any, function: str) -> Any:
        """Name the numbers that a step returns."""
        if isinstance(made, (list, tuple)):
            return [self._sampled(each, function) for each in made]
        if not isinstance(made, int):
            return made
        self._drawn += 1
        return Sampled(made, function, f"v{self._drawn - 1}")

    def _changed(self, primitive: Primitive, edit: Edit, bound: inspect.BoundArguments, shown: str) -> Any:
        """Apply a primitive to a tree. Blame an argument of a wrong type, or the primitive's bug, for failures."""
        function = self._functions.operations[edit.tree.name]
        with function.context, function.location, blaming_at(shown, primitive.function, function, Refused):
            given = [plain_numbers(arg) for arg in bound.args]
            named = {name: plain_numbers(kwarg) for name, kwarg in bound.kwargs.items()}
            return types_checked(primitive.function)(edit, *given, **named)

    def _check_tensorized(self, function: str, edit: Edit, shown: str) -> None:
        """Check that an intrinsic still computes each tensorized loop."""
        for loop in self._functions.trees[function].loops():
            if loop.kind != TENSORIZED:
                continue
            name = str(loop.annotations[INTRIN])
            now = next((each for each in edit.tree.loops() if each.name == loop.name), None)
            problem = "the loop would be gone"
            if now is not None:
                try:
                    operands_of(edit.tree, now, find_intrin(name))
                    continue
                except Mismatch as mismatch:
                    problem = str(mismatch)
            place = self._functions.operations[function].location
            raise located_error(f"{shown}: '{name}' could no longer compute '{loop.name}': {problem}", place)

    def _named(self, bound: inspect.BoundArguments) -> list[TraceStep]:
        """Return the steps that get the blocks which were passed by name."""
        given = (each for value in bound.arguments.values() for each in handles_in(value))
        blocks = dict.fromkeys(each for each in given if isinstance(each, BlockRV) and each not in self._handles)
        self._handles.update(blocks)
        several = len(self._functions) > 1
        return [
            TraceStep("get_block", (block.name,), (("func_name", block.function),) if several else (), (block,), True)
            for block in blocks
        ]

    def _chosen(self, primitive: Primitive, bound: inspect.BoundArguments, shown: str) -> str:
        """Return the PrimFunc of a step.

        The step's handles, its `func_name`, or the name of a block determine the PrimFunc.
        """
        if primitive.name == "get_block":
            return self._functions.with_block(bound.arguments["name"], bound.arguments.get("func_name"))
        handles = [each for value in bound.arguments.values() for each in handles_in(value)]
        functions = list(dict.fromkeys(handle.function for handle in handles)) or self._without_handles(
            primitive, bound
        )
        if len(functions) != 1 or functions[0] not in self._functions:
            names = " and ".join(f"@{name}" for name in functions) or "nothing"
            raise RelaxError(
                f"{shown}: expected loops and blocks of one PrimFunc of this schedule, got those of {names}"
            )
        return functions[0]

    def _without_handles(self, primitive: Primitive, bound: inspect.BoundArguments) -> list[str]:
        """Return the candidate PrimFuncs of a step without loops and blocks: the named or current one, or all."""
        if not {"func_name", "decision"} & set(primitive.signature.parameters):
            return []
        named = bound.arguments.get("func_name") or self._working
        return [self._functions.symbol_of(named)] if named else list(self._functions)

    @types_checked
    def work_on(self, func_name: str) -> None:
        """Set the PrimFunc of later steps that name no loop and no block."""
        self._functions.tree(self._functions.symbol_of(func_name))
        self._working = self._functions.symbol_of(func_name)

    def copy(self, seed: int | None = None) -> Schedule:
        """Return an independent schedule of a copy of the module with the same steps."""
        schedule = Schedule(self.mod, seed=seed)
        schedule._working, schedule._drawn = self._working, self._drawn
        if self._decider is not None:
            schedule.decide_by(self._decider)
        return schedule

    def read_of(self, function: str) -> tuple[Read, Tree]:
        """Return a PrimFunc as it was read, and its current tree."""
        scratch, tree = self.scratch_of(function)
        return scratch.read, tree

    def scratch_of(self, function: str) -> tuple[Scratch, Tree]:
        """Return the copy of a PrimFunc that was read, and its current tree."""
        return self._functions.scratch(function), self._functions.tree(function)

    def decide_by(self, decider: Decider) -> None:
        """Take the decisions of later steps from a search or the defaults: the schedule of a rule draws nothing."""
        self._decider, self._random = decider, Random(0)

    def start_from(self, function: str, scratch: Scratch) -> None:
        """Use a copy of a PrimFunc that has been read already."""
        self._functions.start_from(function, scratch)


def _called(schedule: Schedule, primitive: Primitive, *arguments: object, **options: object) -> Any:
    return schedule._do(primitive, arguments, options)
